// The rows of a tree that is partly open, from the top down.
import type { Tree } from "./tree";
import { ROOT } from "./tree";
import type { BoxIndex, Weight } from "../units";

/** Heaviest first among siblings. A loop, not a recursion: trees are deep. */
export function flattened(tree: Tree, weight: Weight, isOpen: (box: BoxIndex) => boolean): BoxIndex[] {
  const rows: BoxIndex[] = [];
  const waiting: BoxIndex[] = [ROOT];
  for (let box = waiting.pop(); box !== undefined; box = waiting.pop()) {
    rows.push(box);
    if (isOpen(box)) waiting.push(...[...tree.childrenOf(box, weight)].reverse());
  }
  return rows;
}
