// Where collections ran: samples taken in the collector, by the place they ran at.
import type { Tree } from "../tree/tree";
import { parentOf, placeOf } from "../tree/tree";
import type { BoxIndex, PlaceIndex, Weighed, Weight } from "../units";

export interface CollectionRow {
  /** The heaviest box of the place. */
  readonly box: BoxIndex;
  readonly weight: Weighed;
}

/** Heaviest first. The place is the nearest expression or function of Python's above the collector. */
export function collectionRows(tree: Tree, weight: Weight): CollectionRow[] {
  const rows = new Map<PlaceIndex, { box: BoxIndex; heaviest: number; weight: number }>();
  for (let row = 0; row < tree.place.length; row += 1) {
    const place = placeOf(tree, row as BoxIndex);
    const value = tree.total[weight][row] ?? 0;
    if (place.kind !== "state" || place.state !== "in gc" || value === 0) continue;
    let box = parentOf(tree, row as BoxIndex);
    while (parentOf(tree, box) !== box && !["expression", "function"].includes(placeOf(tree, box).kind)) box = parentOf(tree, box);
    const key = (tree.place[box] ?? 0) as PlaceIndex;
    const known = rows.get(key) ?? { box, heaviest: 0, weight: 0 };
    known.weight += value;
    if (value > known.heaviest) Object.assign(known, { box, heaviest: value });
    rows.set(key, known);
  }
  return [...rows.values()].sort((a, b) => b.weight - a.weight).map(({ box, weight }) => ({ box, weight: weight as Weighed }));
}
