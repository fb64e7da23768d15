// The samples of a range of time: the rows of `Samples` again, with what each has within the range.
// Keeps: the ranges of a division of all bins add up to the samples, to the nanosecond.
import type { Moments, Profile, Samples } from "./profile";

/** What moments have of their row, each its part. */
const SUMMED = ["samples", "cpu", "wall"] as const;

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
  const { binLength, ...columns } = moments;
  const kept = rowsOf<typeof columns>(columns, momentsIn(moments, range).filter((at) => rowOf.has(moments.row[at] ?? -1)));
  return { ...kept, binLength, row: kept.row.map((row) => rowOf.get(row) ?? 0) };
}

/** `rows`: which they were. */
export function samplesIn({ samples, moments }: Profile, range: Range): { samples: Samples; rows: readonly number[] } {
  const all = samples.stack.map((_, row) => row);
  if (moments === null) return { samples, rows: all };
  const sums = { samples: new Float64Array(all.length), cpu: new Float64Array(all.length), wall: new Float64Array(all.length) };
  for (const at of momentsIn(moments, range)) {
    const row = moments.row[at] ?? 0;
    for (const name of SUMMED) sums[name][row] = (sums[name][row] ?? 0) + (moments[name][at] ?? 0);
  }
  const rows = all.filter((row) => SUMMED.some((name) => sums[name][row] !== 0));
  // A recording does not tell when copies and allocations were made.
  return { rows, samples: { ...rowsOf<Samples>({ ...samples, ...sums }, rows), copied: [], allocated: [] } };
}

/** Columns with those rows alone. One that a recording does not tell stays empty. */
export function rowsOf<Columns extends object>(columns: { readonly [Name in keyof Columns]: ArrayLike<unknown> }, rows: readonly number[]): Columns {
  const kept = Object.entries<ArrayLike<unknown>>(columns).map(([name, values]) => [name, values.length === 0 ? [] : rows.map((row) => values[row])] as const);
  return Object.fromEntries(kept) as unknown as Columns;
}

/** Which moments those are. A page has few of them (ROWS_MAX in crates/profile/src/views/export/moments.rs): each is looked at. */
function momentsIn({ bin }: Moments, { first, end }: Range): number[] {
  return bin.map((_, at) => at).filter((at) => (bin[at] ?? 0) >= first && (bin[at] ?? 0) < end);
}
