// Commands that do in a terminal what a page does, ready to paste.
import { quoted } from "../shell";
import type { Scope } from "./people";

export const EXPIRIES = ["30d", "1y", "never"] as const;
export type Expiry = (typeof EXPIRIES)[number];
export const EXPIRY_WORDS: Readonly<Record<Expiry, string>> = { "30d": "30 days", "1y": "1 year", never: "never" };
export const EXPIRY_DAYS: Readonly<Record<Expiry, number | null>> = { "30d": 30, "1y": 365, never: null };

export function tokenCommand(name: string, scopes: readonly Scope[], expiry: Expiry): string {
  return `genba serve token add ${quoted(name === "" ? "NAME" : name)} --scope ${scopes.join(",")} --expires ${expiry}`;
}

/** Of the page that says how a recording gets here. */
export function pushCommands(url: string): { readonly run: string; readonly push: string; readonly dryRun: string } {
  return { run: `genba run --push ${url} app.py`, push: `genba push app.genba ${url}`, dryRun: `genba push --dry-run app.genba ${url}` };
}
