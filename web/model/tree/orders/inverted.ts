// The tree upside down: below the root all that had time of its own, below each its callers. A box weighs what the place at the top of its
// path spent itself, where it was reached by this path.
import type { FoldedTree } from "../fold";
import { Merged } from "../merged";
import type { Tree } from "../tree";
import { emptyWeights, parentOf, ROOT } from "../tree";
import type { BoxIndex, PlaceIndex } from "../../units";
import { WEIGHTS } from "../../units";

export function inverted(tree: Tree): FoldedTree {
  const merged = new Merged(tree, 0 as PlaceIndex);
  for (let row = ROOT as number; row < tree.parent.length; row += 1) {
    const leaf = row as BoxIndex;
    if (WEIGHTS.every((weight) => tree.self[weight][leaf] === 0)) continue;
    let at: number = ROOT;
    for (let box = leaf; box !== ROOT; box = parentOf(tree, box)) {
      at = merged.child(at, tree.place[box] ?? 0);
    }
    merged.add(at, tree.self, leaf);
  }
  const finished = merged.finished();
  const self = emptyWeights(finished.parent.length);
  for (let box = ROOT + 1; box < finished.parent.length; box += 1) {
    if (parentOf(finished, box as BoxIndex) !== ROOT) continue;
    for (const weight of WEIGHTS) self[weight][box] = finished.total[weight][box] ?? 0;
  }
  return { ...finished, self };
}
