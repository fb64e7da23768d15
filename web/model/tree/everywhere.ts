// What one place weighs wherever it stands, and who called it. A recursion counts once: only its outermost box is summed.
// Asked for one place at a time: of three million boxes all sums together take seconds, those of one place a glance.
import type { Tree } from "./tree";
import { parentOf, ROOT } from "./tree";
import type { BoxIndex, PlaceIndex, Weighed, Weight } from "../units";
import { WEIGHTS } from "../units";

export interface Everywhere {
  readonly total: Readonly<Record<Weight, number>>;
  readonly self: Readonly<Record<Weight, number>>;
  /** Boxes of the place with no other one above them. */
  readonly outermost: readonly BoxIndex[];
}

export function sumEverywhere(tree: Tree, place: PlaceIndex): Everywhere {
  const total = { cpu: 0, wall: 0, samples: 0, copied: 0, allocated: 0 };
  const self = { cpu: 0, wall: 0, samples: 0, copied: 0, allocated: 0 };
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
    for (const weight of WEIGHTS) {
      self[weight] += tree.self[weight][row] ?? 0;
      if (!isBelow) total[weight] += tree.total[weight][row] ?? 0;
    }
    if (!isBelow) outermost.push(box);
  }
  return { total, self, outermost };
}

export interface Caller {
  /** One of the boxes above: says the name. */
  readonly box: BoxIndex;
  readonly weight: Weighed;
}

/** Who leads to this place, heaviest first. */
export function callersOf(tree: Tree, everywhere: Everywhere, weight: Weight): Caller[] {
  const byPlace = new Map<PlaceIndex, { box: BoxIndex; weight: number }>();
  for (const box of everywhere.outermost) {
    if (box === ROOT) continue;
    const above = parentOf(tree, box);
    const key = (tree.place[above] ?? 0) as PlaceIndex;
    const known = byPlace.get(key) ?? { box: above, weight: 0 };
    known.weight += tree.total[weight][box] ?? 0;
    byPlace.set(key, known);
  }
  return [...byPlace.values()]
    .filter((caller) => caller.weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map((caller) => ({ box: caller.box, weight: caller.weight as Weighed }));
}

/** The function a box belongs to: itself, or of an expression the function it stands in. */
export function functionOf(tree: Tree, box: BoxIndex): BoxIndex {
  return tree.places[tree.place[box] ?? 0]?.kind === "expression" ? parentOf(tree, box) : box;
}
