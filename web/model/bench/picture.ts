// Where the runs of a command, its histogram and the intervals of ratios are in their pictures. Pictures are 1 wide and 1 high, up is up.
import { axisTicks } from "../time/axis";
import type { Command, Ratio, Session } from "./session";

export interface Range {
  readonly first: number;
  readonly last: number;
}

/** Beside the outermost values. */
const MARGIN = 0.06;
export const CELLS = 24;
const POINTS_MIN = 3;
/** From here on an axis of ratios has numbers of 1, 2 and 5. */
const WIDE = 8;
/** Of a logarithm: where all ratios are 1. */
const EQUAL = 0.01;

/** Around these values, which are at least one. `room`: to each side, where all of them are 0. */
export function rangeAround(values: Iterable<number>, room: number): Range {
  let [first, last] = [Infinity, -Infinity];
  for (const value of values) [first, last] = [Math.min(first, value), Math.max(last, value)];
  // Equal values are in the middle.
  const beside = first === last ? Math.abs(first) * MARGIN || room : (last - first) * MARGIN;
  return { first: first - beside, last: last + beside };
}

/** 0 at its first value, 1 at its last. */
export function placeIn({ first, last }: Range, value: number): number {
  return (value - first) / (last - first);
}

/** Of a run in the order in which they were made, in the middle of its part of the width. */
export function placeOfRun(run: number, runs: number): number {
  return (run + 0.5) / runs;
}

export function runAt(place: number, runs: number): number {
  return Math.min(runs - 1, Math.max(0, Math.floor(place * runs)));
}

/** How many of the values fall to each of CELLS equal parts of the range. */
export function histogram(values: readonly number[], range: Range): readonly number[] {
  const cells = new Array<number>(CELLS).fill(0);
  for (const value of values) {
    const cell = Math.min(CELLS - 1, Math.max(0, Math.floor(placeIn(range, value) * CELLS)));
    cells[cell] = (cells[cell] ?? 0) + 1;
  }
  return cells;
}

/** A ratio, and how it came about. */
export interface RatioRow {
  readonly name: string;
  readonly kind: "turns" | "beyond" | "against";
  readonly ratio: Ratio;
}

/** All that is compared, command by command. */
export function ratioRows(session: Session): readonly RatioRow[] {
  return session.commands.flatMap(({ name, relative, beyond, against }) => {
    const rows: RatioRow[] = [];
    if (relative !== null) rows.push({ name, kind: "turns", ratio: relative });
    if (beyond !== null) rows.push({ name, kind: "beyond", ratio: beyond });
    if (against !== null) rows.push({ name, kind: "against", ratio: against });
    return rows;
  });
}

/** Of logarithms, so that twice as long is as far from 1 as half as long: 1, all ratios, and the intervals that show a difference. Others are as wide as they
 * like: they are cut where the range would be more than three times as wide. */
export function ratioRange(rows: readonly RatioRow[]): Range {
  const logs = (shown: boolean): number[] =>
    rows.flatMap(({ ratio: { ratio, interval, isShown } }) => [ratio, ...(interval !== null && isShown === shown ? interval : [])]).filter((value) => value > 0 && value < Infinity).map(Math.log);
  const certain = rangeAround([0, ...logs(true)], EQUAL);
  const room = certain.last - certain.first;
  return rangeAround([certain.first, certain.last, ...logs(false).map((log) => Math.min(certain.last + room, Math.max(certain.first - room, log)))], EQUAL);
}

/** Where a ratio is on that range, at its edge where it is outside. */
export function placeOfRatio(range: Range, ratio: number): number {
  return ratio > 0 ? Math.min(1, Math.max(0, placeIn(range, Math.log(ratio)))) : 0;
}

/** At most so many round numbers in a range of logarithms, or one in each so many powers of ten. */
export function ratioTicks({ first, last }: Range, most: number): readonly number[] {
  const [low, high] = [Math.exp(first), Math.exp(last)];
  if (high / low < WIDE) return axisTicks(low, high, most);
  const by = Math.ceil((Math.log10(high) - Math.log10(low)) / most);
  const [from, to] = [Math.floor(Math.log10(low) / by), Math.ceil(Math.log10(high) / by)];
  const powers = Array.from({ length: to - from + 1 }, (_, at) => 10 ** ((from + at) * by));
  const within = (steps: readonly number[]): readonly number[] => powers.flatMap((power) => steps.map((step) => step * power)).filter((tick) => tick >= low && tick <= high);
  const fine = within([1, 2, 5]);
  return by === 1 && fine.length <= most ? fine : within([1]);
}

/** A parameter scan as points: the mean of each command by its one parameter. */
export interface Scan {
  readonly name: string;
  readonly points: readonly { readonly at: number; readonly command: Command }[];
}

/** Null: these commands do not differ by one number alone. */
export function scanOf({ commands }: Session): Scan | null {
  const name = commands[0]?.parameters[0]?.[0];
  if (name === undefined) return null;
  const points: { at: number; command: Command }[] = [];
  for (const command of commands) {
    const [first, ...others] = command.parameters;
    const at = first === undefined || first[1].trim() === "" ? NaN : Number(first[1]);
    if (first?.[0] !== name || others.length > 0 || !Number.isFinite(at)) return null;
    points.push({ at, command });
  }
  // Several commands for one number are not one line.
  const different = new Set(points.map(({ at }) => at)).size;
  return different < POINTS_MIN || different < points.length ? null : { name, points };
}
