// What happened when: CPU over time, and what each thread did in each column of a picture.
// Keeps: the columns of a lane add up to the thread's wall time in the range.
import { ownerTint, tintOf, TINTS } from "../tint";
import type { Tint } from "../tint";
import type { Moments, Profile } from "../tables/profile";
import { binCount } from "../tables/moments";
import type { Range } from "../tables/moments";
import { isRunning } from "../tree/tree";
import type { Ns, ProcessIndex, ThreadIndex } from "../units";

/** How many CPUs were busy in each column, and how many of these with collections of garbage. */
export interface CpuLine {
  readonly cores: readonly number[];
  readonly gc: readonly number[];
  readonly coresMax: number;
  /** Columns that end with the last bin; no whole number where the last column is not full. */
  readonly columns: number;
}

export function cpuLine({ samples, states }: Profile, moments: Moments, columnsMax: number): CpuLine {
  const bins = binCount(moments);
  const binsEach = Math.max(1, Math.ceil(bins / columnsMax));
  const columns = Math.ceil(bins / binsEach);
  const [cores, gc] = [new Array<number>(columns).fill(0), new Array<number>(columns).fill(0)];
  moments.bin.forEach((bin, at) => {
    const column = Math.floor(bin / binsEach);
    const binsHere = Math.min(binsEach, bins - column * binsEach);
    const part = (moments.cpu[at] ?? 0) / (binsHere * moments.binLength);
    cores[column] = (cores[column] ?? 0) + part;
    if (states[samples.state[moments.row[at] ?? 0] ?? 0] === "in gc") gc[column] = (gc[column] ?? 0) + part;
  });
  return { cores, gc, coresMax: cores.reduce((most, value) => Math.max(most, value), 0), columns: bins / binsEach };
}

/** A column of one busy CPU has a little more than one where a sample's time is not all its own. */
const CORES_SPARE = 0.1;

/** How many CPUs the height of a picture stands for. */
export function coresTop({ coresMax }: CpuLine): number {
  return Math.max(1, Math.ceil(coresMax - CORES_SPARE));
}

/** How many CPUs were busy in the mean. */
export function coresIn(moments: Moments, { first, end }: Range): number {
  const cpu = moments.bin.reduce((sum, bin, at) => (bin < first || bin >= end ? sum : sum + (moments.cpu[at] ?? 0)), 0);
  return cpu / (Math.max(1, end - first) * moments.binLength);
}

export interface Lane {
  readonly thread: ThreadIndex;
  /** Wall time by column and, in the order of `TINTS`, by what the thread did. */
  readonly walls: Float64Array;
}

export interface Lanes {
  readonly columns: number;
  readonly columnLength: Ns;
  /** In the order of the threads; those without a moment in the range are not there. */
  readonly lanes: readonly Lane[];
}

export function threadLanes(profile: Profile, moments: Moments, kept: { range: Range; process: ProcessIndex | null; columnsMax: number }): Lanes {
  const { first, end } = kept.range;
  const binsEach = Math.max(1, Math.ceil((end - first) / kept.columnsMax));
  const columns = Math.max(1, Math.ceil((end - first) / binsEach));
  const tints = rowTints(profile).map((tint) => TINTS.indexOf(tint));
  const lanes = new Map<ThreadIndex, Float64Array>();
  moments.bin.forEach((bin, at) => {
    if (bin < first || bin >= end) return;
    const row = moments.row[at] ?? 0;
    const thread = profile.samples.thread[row] ?? (0 as ThreadIndex);
    if (kept.process !== null && profile.threads[thread]?.process !== kept.process) return;
    // Threads that ended before a tick met them have CPU time and no wall time: no lane.
    if ((moments.wall[at] ?? 0) === 0) return;
    let walls = lanes.get(thread);
    if (walls === undefined) {
      walls = new Float64Array(columns * TINTS.length);
      lanes.set(thread, walls);
    }
    const cell = Math.floor((bin - first) / binsEach) * TINTS.length + (tints[row] ?? 0);
    walls[cell] = (walls[cell] ?? 0) + (moments.wall[at] ?? 0);
  });
  return {
    columns,
    columnLength: (binsEach * moments.binLength) as Ns,
    lanes: [...lanes].sort((a, b) => a[0] - b[0]).map(([thread, walls]) => ({ thread, walls })),
  };
}

/** Of each row of samples: whose code ran, or that the thread waited. */
function rowTints({ samples, states, stacks, frames }: Profile): Tint[] {
  return samples.stack.map((leaf, row): Tint => {
    const state = states[samples.state[row] ?? 0] ?? "running";
    if (state === "in gc" || !isRunning(state)) return tintOf({ kind: "state", state });
    return leaf === null ? "root" : ownerTint(frames[stacks.frame[leaf] ?? 0]?.owner ?? null);
  });
}

/** Round steps of time, at most so many, from 0 on. */
export function timeSteps(length: Ns, most: number): Ns[] {
  const least = length / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  const step = ([1, 2, 5, 10].find((times) => times * power >= least) ?? 10) * power;
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, at) => (at * step) as Ns);
}
