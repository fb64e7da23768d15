// The pauses of collections: those that are kept, their sums, and what is drawn of them.
import type { Collection, Collections } from "../tables/profile";
import type { Count, Ns, ProcessIndex } from "../units";

export interface PauseSum {
  readonly collections: number;
  readonly pause: Ns;
  readonly longest: Ns;
  /** Null: at least one of them does not tell. */
  readonly examined: Count | null;
  readonly collected: Count;
}

/** `end` exclusive; null: all. A collection is where it began. */
export function keptPauses(collections: Collections, kept: { time: { start: Ns; end: Ns } | null; process: ProcessIndex | null }): Collection[] {
  return collections.rows.filter(({ at, process }) => (kept.time === null || (at >= kept.time.start && at < kept.time.end)) && (kept.process === null || process === kept.process));
}

export function pauseSum(rows: readonly Collection[]): PauseSum {
  let [pause, longest, collected] = [0, 0, 0];
  let examined: number | null = 0;
  for (const row of rows) {
    pause += row.pause;
    longest = Math.max(longest, row.pause);
    collected += row.collected;
    examined = examined === null || row.examined === null ? null : examined + row.examined;
  }
  return { collections: rows.length, pause: pause as Ns, longest: longest as Ns, examined: examined as Count | null, collected: collected as Count };
}

/** By what `key` says of each, the longest sum of pauses first. */
export function pausesBy<Key>(rows: readonly Collection[], key: (row: Collection) => Key): [Key, PauseSum][] {
  const groups = new Map<Key, Collection[]>();
  for (const row of rows) {
    const group = groups.get(key(row));
    if (group === undefined) groups.set(key(row), [row]);
    else group.push(row);
  }
  return [...groups].map(([of, group]): [Key, PauseSum] => [of, pauseSum(group)]).sort(([, a], [, b]) => b.pause - a.pause);
}

/** Up to 10 µs, then ten times as much each; the last has no end. */
export const PAUSE_LIMITS: readonly Ns[] = [1e4, 1e5, 1e6, 1e7, 1e8, 1e9] as Ns[];

export interface PauseBin {
  /** Null: there is no limit. */
  readonly below: Ns | null;
  readonly collections: number;
}

/** From the first that has any to the last. */
export function pauseBins(rows: readonly Collection[]): PauseBin[] {
  const counts = new Array<number>(PAUSE_LIMITS.length + 1).fill(0);
  for (const { pause } of rows) {
    const bin = PAUSE_LIMITS.filter((limit) => pause >= limit).length;
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  const bins = counts.map((collections, bin): PauseBin => ({ below: PAUSE_LIMITS[bin] ?? null, collections }));
  const last = counts.findLastIndex((count) => count > 0);
  return bins.slice(Math.max(0, counts.findIndex((count) => count > 0)), last + 1);
}

export interface PauseBar {
  readonly column: number;
  /** The longest of the column and generation. */
  readonly row: Collection;
  /** With it. */
  readonly collections: number;
}

/** For each column of the time and each generation one bar; the highest generation lies on top. */
export function pauseBars(rows: readonly Collection[], { start, end }: { start: Ns; end: Ns }, columns: number): PauseBar[] {
  const bars = new Map<string, PauseBar>();
  for (const row of rows) {
    const column = Math.min(columns - 1, Math.max(0, Math.floor(((row.at - start) / Math.max(1, end - start)) * columns)));
    const key = `${column} ${row.generation}`;
    const known = bars.get(key);
    bars.set(key, { column, row: known === undefined || row.pause > known.row.pause ? row : known.row, collections: (known?.collections ?? 0) + 1 });
  }
  return [...bars.values()].sort((a, b) => a.row.generation - b.row.generation || a.column - b.column);
}
