// The samples of a range of time: the rows of `Samples` again, with what each has within the range.
// Keeps: the ranges of a division of all bins add up to the samples, to the nanosecond.
import type { Moments, Profile, Samples } from "./profile";
import type { Count, Ns } from "../units";

/** Bins, the last one exclusive. */
export interface Range {
  readonly first: number;
  readonly end: number;
}

/** How many bins there are, the last one being the last with anything in it. */
export function binCount(moments: Moments): number {
  return (moments.bin.at(-1) ?? -1) + 1;
}

/** A range and its neighbour of the same length, the earlier one first: the neighbour before it if there is room, else the one behind it. Null: neither. */
export function beside(range: Range, bins: number): readonly [Range, Range] | null {
  const length = range.end - range.first;
  if (range.first >= length) return [{ first: range.first - length, end: range.first }, range];
  return range.end + length <= bins ? [range, { first: range.end, end: range.end + length }] : null;
}

/** What is in the range, with moments of its own. */
export function profileIn(profile: Profile, range: Range): Profile {
  const { samples, rows } = samplesIn(profile, range);
  return { ...profile, samples, moments: profile.moments === null ? null : momentsOf(profile.moments, rows, range) };
}

/** Of those rows of the samples, which have the numbers from 0 now. */
export function momentsOf(moments: Moments, rows: readonly number[], range: Range = { first: 0, end: Infinity }): Moments {
  const rowOf = new Map(rows.map((row, at) => [row, at]));
  const kept: number[] = [];
  for (let at = firstAt(moments, range.first); at < moments.bin.length && (moments.bin[at] ?? 0) < range.end; at += 1) if (rowOf.has(moments.row[at] ?? -1)) kept.push(at);
  const column = <T>(values: readonly T[]): T[] => kept.map((at) => values[at] as T);
  return {
    binLength: moments.binLength,
    bin: column(moments.bin),
    row: kept.map((at) => rowOf.get(moments.row[at] ?? -1) ?? 0),
    samples: column(moments.samples),
    cpu: column(moments.cpu),
    wall: column(moments.wall),
  };
}

/** `rows`: which they were. */
export function samplesIn({ samples, moments }: Profile, range: Range): { samples: Samples; rows: readonly number[] } {
  if (moments === null) return { samples, rows: samples.stack.map((_, row) => row) };
  const length = samples.stack.length;
  const [count, cpu, wall] = [new Float64Array(length), new Float64Array(length), new Float64Array(length)];
  for (let at = firstAt(moments, range.first); at < moments.bin.length && (moments.bin[at] ?? 0) < range.end; at += 1) {
    const row = moments.row[at] ?? 0;
    count[row] = (count[row] ?? 0) + (moments.samples[at] ?? 0);
    cpu[row] = (cpu[row] ?? 0) + (moments.cpu[at] ?? 0);
    wall[row] = (wall[row] ?? 0) + (moments.wall[at] ?? 0);
  }
  const rows: number[] = [];
  for (let row = 0; row < length; row += 1) if (count[row] !== 0 || cpu[row] !== 0 || wall[row] !== 0) rows.push(row);
  return {
    rows,
    samples: {
      stack: rows.map((row) => samples.stack[row] ?? null),
      thread: rows.map((row) => samples.thread[row] as Samples["thread"][number]),
      state: rows.map((row) => samples.state[row] as Samples["state"][number]),
      samples: rows.map((row) => count[row] as Count),
      cpu: rows.map((row) => cpu[row] as Ns),
      wall: rows.map((row) => wall[row] as Ns),
      // A recording does not tell when copies and allocations were made.
      copied: [],
      allocated: [],
    },
  };
}

/** The first moment of that bin or a later one. */
function firstAt({ bin }: Moments, wanted: number): number {
  let [low, high] = [0, bin.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((bin[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
