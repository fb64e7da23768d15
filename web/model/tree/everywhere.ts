// What one place weighs wherever it stands, its heaviest box, and who called it. A recursion counts once: only its outermost box is summed.
// Asked for one place at a time: of three million boxes all sums together take seconds, those of one place a glance.
import type { Tree, Weights } from "./tree";
import { parentOf, ROOT } from "./tree";
import type { BoxIndex, PlaceIndex, Weighed, Weight } from "../units";
import { nothing, WEIGHTS } from "../units";

export interface Everywhere {
  readonly total: Readonly<Record<Weight, number>>;
  readonly self: Readonly<Record<Weight, number>>;
  /** Boxes of the place, in the order of the tree. */
  readonly boxes: readonly BoxIndex[];
  /** Those with no other one above them. */
  readonly outermost: readonly BoxIndex[];
}

export function sumEverywhere(tree: Tree, place: PlaceIndex): Everywhere {
  const total = nothing();
  const self = nothing();
  const ofPlace: BoxIndex[] = [];
  const outermost: BoxIndex[] = [];
  const boxes = tree.parent.length;
  // 1: the box or one above it is of the place. A parent stands before its children.
  const inside = new Uint8Array(boxes);
  for (let row = 0; row < boxes; row += 1) {
    const box = row as BoxIndex;
    const isBelow = row > 0 && inside[parentOf(tree, box)] === 1;
    const isThere = tree.place[row] === place;
    if (isBelow || isThere) inside[row] = 1;
    if (!isThere) continue;
    ofPlace.push(box);
    for (const weight of WEIGHTS) {
      self[weight] += tree.self[weight][row] ?? 0;
      if (!isBelow) total[weight] += tree.total[weight][row] ?? 0;
    }
    if (!isBelow) outermost.push(box);
  }
  return { total, self, boxes: ofPlace, outermost };
}

export interface Caller {
  /** One of the boxes above: says the name. */
  readonly box: BoxIndex;
  readonly weight: Weighed;
}

export interface Entries {
  readonly boxes: readonly BoxIndex[];
  /** What each of them weighs for its caller. */
  readonly weights: Weights;
}

/**
 * Boxes by which callers lead to a place. Of counted calls a stack is a function below its caller: a caller is an outermost box with the
 * weight of its callees, which does not tell who called it. So only the calls that end in a box count, also those of a recursion.
 */
export function entriesOf(tree: Tree, everywhere: Everywhere, isCounted: boolean): Entries {
  return isCounted ? { boxes: everywhere.boxes, weights: tree.self } : { boxes: everywhere.outermost, weights: tree.total };
}

/** Who leads to this place, heaviest first. */
export function callersOf(tree: Tree, everywhere: Everywhere, weight: Weight, isCounted: boolean): Caller[] {
  const byPlace = new Map<PlaceIndex, { box: BoxIndex; weight: number }>();
  const entries = entriesOf(tree, everywhere, isCounted);
  for (const box of entries.boxes) {
    if (box === ROOT) continue;
    const above = parentOf(tree, box);
    const key = (tree.place[above] ?? 0) as PlaceIndex;
    const known = byPlace.get(key) ?? { box: above, weight: 0 };
    known.weight += entries.weights[weight][box] ?? 0;
    byPlace.set(key, known);
  }
  return [...byPlace.values()]
    .filter((caller) => caller.weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map((caller) => ({ box: caller.box, weight: caller.weight as Weighed }));
}

/** The heaviest box that is wanted, never the root; null: none is. */
export function heaviest(tree: Tree, weight: Weight, isWanted: (place: PlaceIndex, weighs: number) => boolean): BoxIndex | null {
  const weights = tree.total[weight];
  let best: number | null = null;
  tree.place.forEach((place, box) => {
    const weighs = weights[box] ?? 0;
    if (box !== ROOT && isWanted(place as PlaceIndex, weighs) && (best === null || weighs > (weights[best] ?? 0))) best = box;
  });
  return best;
}

/** The function a box belongs to: itself, or of an expression the function it stands in. */
export function functionOf(tree: Tree, box: BoxIndex): BoxIndex {
  return tree.places[tree.place[box] ?? 0]?.kind === "expression" ? parentOf(tree, box) : box;
}
