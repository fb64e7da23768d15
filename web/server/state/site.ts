// What every page knows: the server, who is logged in, the theme, and what time it is.
import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { Server, Session, Settings } from "../../model/server/people";
import type { Matched } from "../../model/server/recordings";
import type { Ms } from "../../model/units";

export interface Site {
  readonly server: Server;
  readonly session: Session;
  /** Null: this token may not read them. */
  readonly settings: Signal<Settings | null>;
  readonly counts: Signal<Counts | null>;
  readonly now: Signal<Ms>;
  readonly keysShown: Signal<boolean>;
}
export interface Counts extends Matched {
  readonly all: number;
  readonly allBytes: number;
  readonly live: number;
}

const TICK_MS = 30_000;

export function createSite(server: Server, session: Session, settings: Settings | null): Site {
  const now = signal(Date.now() as Ms);
  setInterval(() => {
    now.value = Date.now() as Ms;
  }, TICK_MS);
  return { server, session, settings: signal(settings), counts: signal(null), now, keysShown: signal(false) };
}

/** As the system has it, until the key `t`. */
export function startTheme(): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const take = (): void => {
    document.documentElement.dataset["theme"] = dark.matches ? "dark" : "light";
  };
  take();
  dark.addEventListener("change", take);
}

export function switchTheme(): void {
  const { dataset } = document.documentElement;
  dataset["theme"] = dataset["theme"] === "dark" ? "light" : "dark";
}
