// Resident memory over time, one line a process.
import type { Profile } from "../tables/profile";
import type { Ns, ProcessIndex } from "../units";

export interface MemoryLine {
  readonly process: ProcessIndex;
  /** Nanoseconds since the recording began, and bytes, in the order of time. */
  readonly points: readonly (readonly [number, number])[];
  readonly first: number;
  readonly max: number;
  readonly last: number;
}

export function memoryLines({ rss, processes }: Pick<Profile, "rss" | "processes">): { lines: MemoryLine[]; maxBytes: number; end: Ns } {
  const points = processes.map((): [number, number][] => []);
  for (const { process, at, bytes } of rss) points[process]?.push([at, bytes]);
  const lines = points.flatMap((of, process) => {
    of.sort((a, b) => a[0] - b[0]);
    const bytes = of.map(([, value]) => value);
    const [first, last] = [bytes[0], bytes.at(-1)];
    return first === undefined || last === undefined ? [] : [{ process: process as ProcessIndex, points: of, first, last, max: Math.max(...bytes) }];
  });
  const maxBytes = Math.max(1, ...lines.map(({ max }) => max));
  const end = Math.max(1, ...lines.flatMap((line) => line.points.map(([at]) => at))) as Ns;
  return { lines, maxBytes, end };
}
