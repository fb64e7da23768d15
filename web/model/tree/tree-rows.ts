// The rows of a tree that is partly open, from the top down.
import type { Tree } from "./tree";
import { ROOT } from "./tree";
import type { BoxIndex, Weight } from "../units";

/** Heaviest first among siblings, in total or by themselves. A loop, not a recursion: trees are deep. */
export function flattened(tree: Tree, weight: Weight, isOpen: (box: BoxIndex) => boolean, sort: "total" | "self"): BoxIndex[] {
  const weights = tree[sort][weight];
  const rows: BoxIndex[] = [];
  const waiting: BoxIndex[] = [ROOT];
  for (let box = waiting.pop(); box !== undefined; box = waiting.pop()) {
    rows.push(box);
    if (isOpen(box)) waiting.push(...[...tree.childrenOf(box, weight)].sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0)).reverse());
  }
  return rows;
}
