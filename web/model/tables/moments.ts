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

export function samplesIn({ samples, moments }: Profile, range: Range): Samples {
  if (moments === null) return samples;
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
    stack: rows.map((row) => samples.stack[row] ?? null),
    thread: rows.map((row) => samples.thread[row] as Samples["thread"][number]),
    state: rows.map((row) => samples.state[row] as Samples["state"][number]),
    samples: rows.map((row) => count[row] as Count),
    cpu: rows.map((row) => cpu[row] as Ns),
    wall: rows.map((row) => wall[row] as Ns),
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
