// Command lines that are offered for copying.
// Keeps: a word is one word for a POSIX shell, whatever is in it.
import type { Kept } from "./tables/kept";
import type { Profile } from "./tables/profile";

// Those that steer a terminal, end a line or turn the direction of writing, as crates/text has them.
const HARMFUL = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

/** One word for a POSIX shell, whatever is in it. A harmful one is written by its bytes (POSIX.1-2024, 2.2.4). */
export function quoted(word: string): string {
  if (HARMFUL.test(word)) {
    return `$'${Array.from(new TextEncoder().encode(word), (byte) => `\\${byte.toString(8)}`).join("")}'`;
  }
  return /^(?!-)[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A flag's name, without dashes, and its value. */
export type Flag = readonly [string, string];

/** The flags of the readers that keep the same, but for the time. Which layer is shown, and recursion as one call, are the page's alone. */
export function flagsOf({ process, thread, focus, hide }: Kept, { processes, threads }: Pick<Profile, "processes" | "threads">): Flag[] {
  const pid = process === null ? null : processes[process]?.pid;
  const tid = thread === null ? null : threads[thread]?.tid;
  const flags: Flag[] = [["process", `${pid ?? ""}`], ["thread", `${tid ?? ""}`], ["focus", focus], ["hide", hide]];
  return flags.filter(([, value]) => value !== "");
}

/** As words of a command, each behind a space. */
export function flagWords(flags: readonly Flag[]): string {
  return flags.map(([flag, value]) => ` --${flag}=${quoted(value)}`).join("");
}
