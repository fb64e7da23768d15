// A box of one tree in another tree of the same program: by the way to it where both have the root on top, else by what it says.
import { boxOf, wordOf } from "../box-path";
import { functionOf, heaviest } from "../everywhere";
import type { Tree } from "../tree";
import { parentOf, ROOT } from "../tree";
import type { BoxIndex, Weight } from "../../units";

/** A tree and whether it is upside down. */
export interface Standing {
  readonly tree: Tree;
  readonly isInverted: boolean;
}

/** The nearest box there is. */
export function counterpart(from: Standing, box: BoxIndex, to: Standing, weight: Weight): BoxIndex {
  if (from.tree === to.tree) return box;
  if (from.isInverted === to.isInverted) return boxOf(to.tree, wordOf(from.tree, box));
  if (box === ROOT) return ROOT;
  // What an inverted path is about is its top; what has no time of its own is found as a caller.
  const said = from.isInverted ? topOf(from.tree, box) : box;
  const same = (at: BoxIndex): BoxIndex | null => {
    const wanted = to.tree.keys.indexOf(keyOf(from.tree, at));
    return heaviest(to.tree, weight, (place) => place === wanted);
  };
  return same(said) ?? same(functionOf(from.tree, said)) ?? ROOT;
}

function keyOf(tree: Tree, box: BoxIndex): string {
  return tree.keys[tree.place[box] ?? 0] ?? "";
}

function topOf(tree: Tree, box: BoxIndex): BoxIndex {
  let at = box;
  while (parentOf(tree, at) !== ROOT) at = parentOf(tree, at);
  return at;
}
