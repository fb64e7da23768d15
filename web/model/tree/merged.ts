// A tree that is made of another one by merging some of its boxes: the halves of a sandwich, and the tree upside down. Its places are those of
// the other one.
import { Column, Pairs } from "./columns";
import type { FoldedTree } from "./fold";
import type { Tree, Weights } from "./tree";
import { childrenByWeight, emptyWeights, ROOT, sumUpwards } from "./tree";
import type { PlaceIndex } from "../units";
import { byWeight, WEIGHTS } from "../units";

/** A tree that grows by (parent, place). */
export class Merged {
  private readonly parent = new Column();
  private readonly place = new Column();
  private readonly children: Pairs;
  private readonly self = byWeight(() => [0]);

  constructor(private readonly tree: Tree, root: PlaceIndex) {
    this.children = new Pairs(this.parent, this.place, 2048);
    this.parent.push(ROOT);
    this.place.push(root);
  }

  child(parent: number, place: number): number {
    const found = this.children.row(parent, place);
    if (found !== null) return found;
    const row = this.parent.length;
    this.parent.push(parent);
    this.place.push(place);
    this.children.add(row);
    for (const weight of WEIGHTS) this.self[weight].push(0);
    return row;
  }

  /** What `weights` say of a box of the other tree. */
  add(row: number, weights: Weights, box: number): void {
    for (const weight of WEIGHTS) this.self[weight][row] = (this.self[weight][row] ?? 0) + (weights[weight][box] ?? 0);
  }

  finished(): FoldedTree {
    const [parent, place] = [this.parent.finished(), this.place.finished()];
    const boxes = parent.length;
    const [self, depth] = [emptyWeights(boxes), new Int32Array(boxes)];
    for (const weight of WEIGHTS) self[weight].set(this.self[weight]);
    for (let box = ROOT + 1; box < boxes; box += 1) depth[box] = (depth[parent[box] ?? ROOT] ?? 0) + 1;
    const { total, below } = sumUpwards(parent, self);
    const { places, keys } = this.tree;
    return { places, keys, parent, place, depth, below, self, total, childrenOf: childrenByWeight(parent, total), runOf: new Map() };
  }
}
