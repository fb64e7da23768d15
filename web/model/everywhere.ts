// What a place weighs wherever it stands, and who called it. A recursion counts once: only its outermost box is summed.
import type { Tree, Weights } from "./tree";
import { parentOf, placeOf, ROOT } from "./tree";
import type { BoxIndex, PlaceIndex, Weighed, Weight } from "./units";

export interface Everywhere {
  /** Columns by place. */
  readonly total: Weights;
  readonly self: Weights;
  readonly outermost: ReadonlyMap<PlaceIndex, readonly BoxIndex[]>;
}

export function sumEverywhere(tree: Tree): Everywhere {
  const places = tree.places.length;
  const total = { cpu: new Float64Array(places), wall: new Float64Array(places), samples: new Float64Array(places) };
  const self = { cpu: new Float64Array(places), wall: new Float64Array(places), samples: new Float64Array(places) };
  const outermost = new Map<PlaceIndex, BoxIndex[]>();
  const inner = markInner(tree);
  tree.place.forEach((place, row) => {
    const box = row as BoxIndex;
    add(self, place, tree.self, box);
    if (inner[row] === 1) return;
    add(total, place, tree.total, box);
    const known = outermost.get(place);
    if (known === undefined) outermost.set(place, [box]);
    else known.push(box);
  });
  return { total, self, outermost };
}

export interface Caller {
  /** One of the boxes above: says the name. */
  readonly box: BoxIndex;
  readonly weight: Weighed;
}

/** Who leads to this place, heaviest first. */
export function callersOf(tree: Tree, everywhere: Everywhere, place: PlaceIndex, weight: Weight): Caller[] {
  const byPlace = new Map<PlaceIndex, { box: BoxIndex; weight: number }>();
  for (const box of everywhere.outermost.get(place) ?? []) {
    if (box === ROOT) continue;
    const above = parentOf(tree, box);
    const key = tree.place[above] ?? (0 as PlaceIndex);
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
  return placeOf(tree, box).kind === "expression" ? parentOf(tree, box) : box;
}

/** 1 for each box with a box of the same place above it. One walk down with a count of the open places. */
function markInner(tree: Tree): Uint8Array {
  const inner = new Uint8Array(tree.parent.length);
  const open = new Int32Array(tree.places.length);
  const firstChild = new Int32Array(tree.parent.length);
  const nextSibling = new Int32Array(tree.parent.length);
  for (let box = tree.parent.length - 1; box > ROOT; box -= 1) {
    const parent = tree.parent[box] ?? ROOT;
    nextSibling[box] = firstChild[parent] ?? 0;
    firstChild[parent] = box;
  }
  const enter = (box: number): void => {
    const place = tree.place[box] ?? 0;
    if ((open[place] ?? 0) > 0) inner[box] = 1;
    open[place] = (open[place] ?? 0) + 1;
  };
  const leave = (box: number): void => {
    const place = tree.place[box] ?? 0;
    open[place] = (open[place] ?? 0) - 1;
  };
  let box: number = ROOT;
  enter(box);
  for (;;) {
    const child = firstChild[box] ?? 0;
    if (child !== 0) {
      box = child;
      enter(box);
      continue;
    }
    while (box !== ROOT && (nextSibling[box] ?? 0) === 0) {
      leave(box);
      box = tree.parent[box] ?? ROOT;
    }
    if (box === ROOT) return inner;
    leave(box);
    box = nextSibling[box] ?? 0;
    enter(box);
  }
}

function add(into: Weights, place: PlaceIndex, from: Weights, box: BoxIndex): void {
  for (const weight of ["cpu", "wall", "samples"] as const) {
    into[weight][place] = (into[weight][place] ?? 0) + (from[weight][box] ?? 0);
  }
}
