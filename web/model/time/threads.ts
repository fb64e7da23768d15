// What each thread did in its wall time: running, collecting, waiting for what.
import type { Profile } from "../tables/profile";
import type { Ns, ThreadIndex } from "../units";

export interface ThreadRow {
  readonly thread: ThreadIndex;
  readonly wall: Ns;
  readonly cpu: Ns;
  /** Largest first. */
  readonly states: readonly { readonly state: string; readonly wall: Ns }[];
}

/** The busiest first; threads without a sample are not there. */
export function threadRows({ samples, states, threads }: Profile): ThreadRow[] {
  const sums = threads.map(() => ({ wall: 0, cpu: 0, states: new Map<string, number>() }));
  samples.thread.forEach((thread, row) => {
    const sum = sums[thread];
    if (sum === undefined) return;
    const state = states[samples.state[row] ?? 0] ?? "running";
    sum.wall += samples.wall[row] ?? 0;
    sum.cpu += samples.cpu[row] ?? 0;
    sum.states.set(state, (sum.states.get(state) ?? 0) + (samples.wall[row] ?? 0));
  });
  const rows = sums.map(({ wall, cpu, states }, thread) => ({
    thread: thread as ThreadIndex,
    wall: wall as Ns,
    cpu: cpu as Ns,
    states: [...states].map(([state, wall]) => ({ state, wall: wall as Ns })).sort((a, b) => b.wall - a.wall),
  }));
  return rows.filter(({ wall }) => wall > 0).sort((a, b) => b.cpu - a.cpu || b.wall - a.wall);
}
