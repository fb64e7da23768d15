// Where the boxes stand: an icicle, root on top, one row a level, widths by weight. Boxes narrower than
// `NARROW_PX_MAX` merge, with all that is below them, into one grey run where they are neighbours, which knows how many they are: one per parent
// if the heaviest stand first.
// Cost goes with what is drawn, not with the size of the tree.
import type { BoxIndex, Count, Px, Weighed, Weight } from "../units";
import type { Tree } from "./tree";
import { parentOf, pathTo, placeOf, ROOT } from "./tree";

export const NARROW_PX_MAX = 1.5;

export interface Slot {
  readonly x: Px;
  readonly width: Px;
  readonly shows: { readonly kind: "box"; readonly box: BoxIndex } | Run;
}
/** Boxes too narrow to draw: neighbours among the children of `parent`. */
export interface Run {
  readonly kind: "run";
  readonly parent: BoxIndex;
  readonly children: readonly BoxIndex[];
  /** With everything below them. */
  readonly boxes: Count;
  readonly weight: Weighed;
}
export interface Layout {
  /** By depth; each row from left to right. */
  readonly rows: readonly (readonly Slot[])[];
  readonly zoom: BoxIndex;
  readonly width: Px;
}

export function layOut(tree: Tree, at: { zoom: BoxIndex; weight: Weight; width: Px }): Layout {
  const { zoom, weight, width } = at;
  const rows: Slot[][] = pathTo(tree, zoom).map((box) => [{ x: 0 as Px, width, shows: { kind: "box", box } }]);
  let row = rows.at(-1) ?? [];
  while (row.length > 0) {
    const next: Slot[] = [];
    for (const slot of row) if (slot.shows.kind === "box") layOutChildren(tree, weight, slot, slot.shows.box, next);
    if (next.length > 0) rows.push(next);
    row = next;
  }
  return { rows, zoom, width };
}

function layOutChildren(tree: Tree, weight: Weight, slot: Slot, box: BoxIndex, out: Slot[]): void {
  const weights = tree.total[weight];
  const whole = weights[box] ?? 0;
  if (whole <= 0) return;
  const perWeight = slot.width / whole;
  const children = tree.childrenOf(box, weight);
  let x: number = slot.x;
  let narrow: BoxIndex[] = [];
  const endRun = (): void => {
    if (narrow.length === 0) return;
    const sum = narrow.reduce((sum, at) => sum + (weights[at] ?? 0), 0);
    const boxes = narrow.reduce((count, at) => count + 1 + (tree.below[at] ?? 0), 0) as Count;
    out.push({ x: x as Px, width: (sum * perWeight) as Px, shows: { kind: "run", parent: box, children: narrow, boxes, weight: sum as Weighed } });
    x += sum * perWeight;
    narrow = [];
  };
  for (const child of children) {
    const width = (weights[child] ?? 0) * perWeight;
    if (width < NARROW_PX_MAX) {
      narrow.push(child);
      continue;
    }
    endRun();
    out.push({ x: x as Px, width: width as Px, shows: { kind: "box", box: child } });
    x += width;
  }
  endRun();
}

/** The slot at a point, or null where nothing is drawn. A run is as easy to hit as it is drawn. */
export function slotAt(layout: Layout, point: { depth: number; x: Px }): Slot | null {
  const row = layout.rows[point.depth];
  if (row === undefined) return null;
  let low = 0;
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((row[middle]?.x ?? 0) <= point.x) low = middle + 1;
    else high = middle;
  }
  const slot = row[low - 1];
  return slot !== undefined && point.x < slot.x + drawnWidth(slot) ? slot : null;
}

export function slotOf(layout: Layout, tree: Tree, box: BoxIndex): Slot | null {
  const row = layout.rows[tree.depth[box] ?? 0] ?? [];
  return row.find(({ shows }) => shows.kind === "box" && shows.box === box) ?? null;
}

/** A run is at least a pixel wide: nothing that was measured is invisible. */
export function drawnWidth(slot: Slot): Px {
  return (slot.shows.kind === "run" ? Math.max(slot.width, 1) : slot.width) as Px;
}

/** Where to go from a box: down to its heaviest child, up to its parent, sideways among its siblings. */
export type Direction = "up" | "down" | "left" | "right" | "first" | "last";
export function neighbour(tree: Tree, weight: Weight, box: BoxIndex, direction: Direction): BoxIndex {
  if (direction === "up") return parentOf(tree, box);
  if (direction === "down") return tree.childrenOf(box, weight)[0] ?? box;
  const siblings = siblingsOf(tree, weight, box);
  const here = siblings.indexOf(box);
  const to = { left: here - 1, right: here + 1, first: 0, last: siblings.length - 1 }[direction];
  return siblings[to] ?? box;
}
export function siblingsOf(tree: Tree, weight: Weight, box: BoxIndex): readonly BoxIndex[] {
  return box === ROOT ? [ROOT] : tree.childrenOf(parentOf(tree, box), weight);
}

/** The box to zoom to so that `box` can be read: the nearest of the user's own functions above it, else itself. */
export function zoomFor(tree: Tree, box: BoxIndex): BoxIndex {
  const own = pathTo(tree, box).findLast((at) => at !== box && placeOf(tree, at).kind === "function");
  return own ?? box;
}
