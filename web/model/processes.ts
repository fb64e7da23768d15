// The processes of a recording, as the tree in which they were started.
// Never: leaves one out, whatever a page says of parents.
import type { Process } from "./tables/profile";
import type { ProcessIndex } from "./units";

export interface Forked {
  readonly process: ProcessIndex;
  /** Of a process whose parent was not recorded: 0. */
  readonly depth: number;
}

/** Each process once: parents before their children, and children in the order of the recording. */
export function forkTree(processes: readonly Process[]): readonly Forked[] {
  const children = processes.map((): ProcessIndex[] => []);
  for (const [at, { parent }] of processes.entries()) if (parent !== null) children[parent]?.push(at as ProcessIndex);
  const tree = new Map<ProcessIndex, Forked>();
  const begin = (root: ProcessIndex): void => {
    const open: Forked[] = [{ process: root, depth: 0 }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (tree.has(next.process)) continue;
      tree.set(next.process, next);
      const { depth } = next;
      for (const process of (children[next.process] ?? []).toReversed()) open.push({ process, depth: depth + 1 });
    }
  };
  for (const [at, { parent }] of processes.entries()) if (parent === null) begin(at as ProcessIndex);
  // Parents in a circle, as only a damaged page has them.
  for (const at of processes.keys()) if (!tree.has(at as ProcessIndex)) begin(at as ProcessIndex);
  return [...tree.values()];
}
