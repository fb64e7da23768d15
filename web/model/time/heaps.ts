// What a heap holds by class, and what has grown since another one.
import type { Heap, Heaps } from "../tables/profile";
import type { ProcessIndex } from "../units";

/** Rows of `Heaps.rows`. `before` null: nothing is compared. */
export interface HeapPair {
  readonly before: number | null;
  readonly after: number;
}

export interface HeapRow {
  /** Null: all classes that have no row of their own. */
  readonly name: string | null;
  readonly objects: number;
  readonly bytes: number;
  /** Since `before`; 0 where nothing is compared. */
  readonly objectsGrown: number;
  readonly bytesGrown: number;
  /** One of the two heaps does not tell the class: it is not among its largest, and is taken for nothing there. */
  readonly isAbout: boolean;
}

/** The first and the last heap of the process that has most of them. `process`: that one alone. Null: it has none. */
export function firstPair({ rows }: Pick<Heaps, "rows">, process: ProcessIndex | null): HeapPair | null {
  const of = new Map<ProcessIndex | null, number[]>();
  rows.forEach((heap, at) => {
    if (process !== null && heap.process !== process) return;
    of.set(heap.process, [...(of.get(heap.process) ?? []), at]);
  });
  const most = [...of.values()].reduce<number[]>((most, heaps) => (heaps.length > most.length ? heaps : most), []);
  const [first, last] = [most[0], most.at(-1)];
  if (first === undefined || last === undefined) return null;
  return { before: first === last ? null : first, after: last };
}

/** Those that grew most first; where nothing is compared, the largest. */
export function heapRows({ classes, rows }: Pick<Heaps, "classes" | "rows">, { before, after }: HeapPair): HeapRow[] {
  const [now, then] = [rows[after], before === null ? undefined : rows[before]];
  if (now === undefined) return [];
  const found = classes.flatMap((name, at): HeapRow[] => {
    const [ours, theirs] = [now.classes.get(at), then?.classes.get(at)];
    if (ours === undefined && theirs === undefined) return [];
    const isAbout = then !== undefined && ((ours === undefined && now.unlistedMax > 0) || (theirs === undefined && then.unlistedMax > 0));
    return [rowOf(name, ours ?? NONE, then === undefined ? null : (theirs ?? NONE), isAbout)];
  });
  const others = rowOf(null, rest(now), then === undefined ? null : rest(then), then !== undefined && found.some(({ isAbout }) => isAbout));
  if (others.objects > 0 || others.objectsGrown !== 0) found.push(others);
  return found.sort((a, b) => (then === undefined ? 0 : b.bytesGrown - a.bytesGrown) || b.bytes - a.bytes);
}

interface Sums {
  readonly objects: number;
  readonly bytes: number;
}
const NONE: Sums = { objects: 0, bytes: 0 };

function rowOf(name: string | null, now: Sums, then: Sums | null, isAbout: boolean): HeapRow {
  return { name, isAbout, objects: now.objects, bytes: now.bytes, objectsGrown: then === null ? 0 : now.objects - then.objects, bytesGrown: then === null ? 0 : now.bytes - then.bytes };
}

function rest({ objects, bytes, classes }: Heap): Sums {
  const shown = [...classes.values()];
  const sum = (of: (row: Sums) => number): number => shown.reduce((all, row) => all + of(row), 0);
  return { objects: Math.max(0, objects - sum((row) => row.objects)), bytes: Math.max(0, bytes - sum((row) => row.bytes)) };
}
