// The two halves of a sandwich: all that is below one place wherever it stands, merged, and all that leads to it. Each is a tree whose root
// is the place. A recursion counts once: both begin at its outermost boxes. Counted calls have the callers that made them, itself among these.
import { entriesOf, sumEverywhere } from "./everywhere";
import type { Entries, Everywhere } from "./everywhere";
import type { FoldedTree } from "./fold";
import { Merged } from "./merged";
import type { Tree } from "./tree";
import { parentOf, ROOT } from "./tree";
import type { BoxIndex, PlaceIndex } from "../units";

export interface Sandwich {
  readonly callers: FoldedTree;
  readonly callees: FoldedTree;
  /** Of the place in the middle. */
  readonly everywhere: Everywhere;
}

/** `isCounted`: a stack is a function below its caller, so that nothing leads to the caller. */
export function sandwich(tree: Tree, place: PlaceIndex, isCounted: boolean): Sandwich {
  const everywhere = sumEverywhere(tree, place);
  const entries = entriesOf(tree, everywhere, isCounted);
  return { callers: callers(tree, place, entries, isCounted), callees: callees(tree, place, everywhere.outermost), everywhere };
}

function callees(tree: Tree, place: PlaceIndex, seeds: readonly BoxIndex[]): FoldedTree {
  const merged = new Merged(tree, place);
  const rowOf = new Int32Array(tree.parent.length).fill(-1);
  for (const seed of seeds) rowOf[seed] = ROOT;
  // A parent stands before its children.
  for (let box = ROOT + 1; box < tree.parent.length; box += 1) {
    const above = rowOf[parentOf(tree, box as BoxIndex)] ?? -1;
    if (above >= 0) rowOf[box] = merged.child(above, tree.place[box] ?? 0);
  }
  rowOf.forEach((row, box) => {
    if (row >= 0) merged.add(row, tree.self, box);
  });
  return merged.finished();
}

/** Here the root's children are those that call it, and what a box weighs is what it spends in the place. */
function callers(tree: Tree, place: PlaceIndex, { boxes, weights }: Entries, isCounted: boolean): FoldedTree {
  const merged = new Merged(tree, place);
  for (const entry of boxes) {
    let row: number = ROOT;
    for (let at = entry; at !== ROOT; ) {
      at = parentOf(tree, at);
      row = merged.child(row, tree.place[at] ?? 0);
      if (isCounted) break;
    }
    merged.add(row, weights, entry);
  }
  return merged.finished();
}
