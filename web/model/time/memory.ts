// Resident memory over time, one line a process, and what the program did meanwhile.
import type { Profile } from "../tables/profile";
import { pathTo, ROOT } from "../tree/tree";
import type { Tree } from "../tree/tree";
import type { BoxIndex, Ns, ProcessIndex, Weight } from "../units";

export interface MemoryLine {
  readonly process: ProcessIndex;
  /** Nanoseconds since the recording began, and bytes, in the order of time. */
  readonly points: readonly (readonly [number, number])[];
  readonly first: number;
  readonly mean: number;
  readonly max: number;
  readonly last: number;
}

export interface MemoryLines {
  readonly lines: readonly MemoryLine[];
  readonly maxBytes: number;
  readonly start: Ns;
  readonly end: Ns;
}

/** `start` and `end`: which time; null: all of it. */
export function memoryLines({ rss, processes }: Pick<Profile, "rss" | "processes">, kept: { start: Ns; end: Ns } | null = null): MemoryLines {
  const points = processes.map((): [number, number][] => []);
  for (const { process, at, bytes } of rss) if (kept === null || (at >= kept.start && at < kept.end)) points[process]?.push([at, bytes]);
  const lines = points.flatMap((of, process) => {
    of.sort((a, b) => a[0] - b[0]);
    const bytes = of.map(([, value]) => value);
    const [first, last] = [bytes[0], bytes.at(-1)];
    if (first === undefined || last === undefined) return [];
    const mean = bytes.reduce((sum, value) => sum + value, 0) / bytes.length;
    return [{ process: process as ProcessIndex, points: of, first, last, mean, max: bytes.reduce((most, value) => Math.max(most, value), 0) }];
  });
  const maxBytes = lines.reduce((most, { max }) => Math.max(most, max), 1);
  const last = lines.reduce((latest, line) => Math.max(latest, line.points.at(-1)?.[0] ?? 0), 1) as Ns;
  return { lines, maxBytes, start: kept?.start ?? (0 as Ns), end: kept?.end ?? last };
}

/** The calls that are on every stack: empty if there is none but the program. */
export function commonStack(tree: Tree, weight: Weight): BoxIndex[] {
  const total = tree.total[weight];
  let box: BoxIndex = ROOT;
  for (;;) {
    const child: BoxIndex | undefined = tree.childrenOf(box, weight)[0];
    if (child === undefined || (total[child] ?? 0) === 0 || total[child] !== total[box]) return pathTo(tree, box).slice(1);
    box = child;
  }
}

/** The stack with the most time of its own, and how much that is. */
export function frequentStack(tree: Tree, weight: Weight): { readonly stack: BoxIndex[]; readonly self: number } {
  let most: BoxIndex = ROOT;
  const self = tree.self[weight];
  for (let box = 0; box < self.length; box += 1) if ((self[box] ?? 0) > (self[most] ?? 0)) most = box as BoxIndex;
  return { stack: pathTo(tree, most).slice(1), self: self[most] ?? 0 };
}
