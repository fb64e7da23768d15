// Command lines that are offered for copying.
// Keeps: a word is one word for a POSIX shell, whatever is in it.
import type { Kept } from "./tables/kept";
import type { Profile } from "./tables/profile";

/** One word for a POSIX shell, whatever is in it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) && !word.startsWith("-") ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The flags of the readers that keep the same, but for the time. Which layer is shown, and recursion as one call, are the page's alone. */
export function flagsOf({ process, thread, focus, hide }: Kept, { processes, threads }: Pick<Profile, "processes" | "threads">): string {
  const pid = process === null ? null : (processes[process]?.pid ?? null);
  const tid = thread === null ? null : (threads[thread]?.tid ?? null);
  const flags: [string, string | null][] = [["--process", pid === null ? null : `${pid}`], ["--thread", tid === null ? null : `${tid}`], ["--focus", focus], ["--hide", hide]];
  return flags.map(([flag, value]) => (value === null || value === "" ? "" : ` ${flag}=${quoted(value)}`)).join("");
}
