// The numbers of the viewer's page, read and checked.
import { decodeComparison } from "../../model/tables/comparison";
import type { Comparison } from "../../model/tables/comparison";
import { decodeRecording } from "../../model/tables/decode";
import type { Recording } from "../../model/tables/profile";
import { unpackedNumbers } from "./packed";

/** One recording, or two with what changed between them. */
export type Numbers = { readonly recording: Recording } | { readonly comparison: Comparison; readonly before: Recording; readonly after: Recording };

export async function readNumbers(): Promise<Numbers> {
  const value = await unpackedNumbers();
  if (typeof value !== "object" || value === null || !("comparison" in value)) return { recording: decodeRecording(value) };
  const side = (name: "before" | "after"): Recording => decodeRecording(name in value ? (value as Record<string, unknown>)[name] : null);
  return { comparison: decodeComparison({ field: "comparison", value: value.comparison }), before: side("before"), after: side("after") };
}
