// The two halves of a sandwich: all that is below one place wherever it stands, merged, and all that leads to it. Each is a tree whose root
// is the place. A recursion counts once: both begin at its outermost boxes.
import { Column, Pairs } from "./columns";
import { sumEverywhere } from "./everywhere";
import type { FoldedTree } from "./fold";
import type { Tree } from "./tree";
import { childrenByWeight, emptyWeights, parentOf, ROOT } from "./tree";
import type { BoxIndex, PlaceIndex } from "../units";
import { WEIGHTS } from "../units";

export interface Sandwich {
  readonly callers: FoldedTree;
  readonly callees: FoldedTree;
}

export function sandwich(tree: Tree, place: PlaceIndex): Sandwich {
  const seeds = sumEverywhere(tree, place).outermost;
  return { callers: callers(tree, place, seeds), callees: callees(tree, place, seeds) };
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
    if (row < 0) return;
    for (const weight of WEIGHTS) merged.add(row, weight, tree.self[weight][box] ?? 0);
  });
  return merged.finished();
}

/** Here the root's children are those that call it, and what a box weighs is what it spends in the place. */
function callers(tree: Tree, place: PlaceIndex, seeds: readonly BoxIndex[]): FoldedTree {
  const merged = new Merged(tree, place);
  for (const seed of seeds) {
    let row: number = ROOT;
    for (let at = seed; at !== ROOT; ) {
      at = parentOf(tree, at);
      row = merged.child(row, tree.place[at] ?? 0);
    }
    for (const weight of WEIGHTS) merged.add(row, weight, tree.total[weight][seed] ?? 0);
  }
  return merged.finished();
}

/** A tree that grows by (parent, place). */
class Merged {
  private readonly parent = new Column();
  private readonly place = new Column();
  private readonly children: Pairs;
  private readonly self = { cpu: [0], wall: [0], samples: [0] };

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

  add(row: number, weight: (typeof WEIGHTS)[number], value: number): void {
    this.self[weight][row] = (this.self[weight][row] ?? 0) + value;
  }

  finished(): FoldedTree {
    const [parent, place] = [this.parent.finished(), this.place.finished()];
    const boxes = parent.length;
    const [self, total] = [emptyWeights(boxes), emptyWeights(boxes)];
    const [depth, below] = [new Int32Array(boxes), new Int32Array(boxes)];
    for (const weight of WEIGHTS) {
      self[weight].set(this.self[weight]);
      total[weight].set(this.self[weight]);
    }
    for (let box = ROOT + 1; box < boxes; box += 1) depth[box] = (depth[parent[box] ?? ROOT] ?? 0) + 1;
    for (let box = boxes - 1; box > ROOT; box -= 1) {
      const above = parent[box] ?? ROOT;
      below[above] = (below[above] ?? 0) + (below[box] ?? 0) + 1;
      for (const weight of WEIGHTS) total[weight][above] = (total[weight][above] ?? 0) + (total[weight][box] ?? 0);
    }
    const { places, keys } = this.tree;
    return { places, keys, parent, place, depth, below, self, total, childrenOf: childrenByWeight(parent, total), runOf: new Map() };
  }
}
