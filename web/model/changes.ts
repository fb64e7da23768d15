// Where the boxes and bars of a comparison stand. Parts of a whole, 0 to 1: the page's style makes pixels of them.
// Never: decides what is certain. Keeps: boxes of one caller do not overlap, and none is wider than its caller.
import type { ChangedBox, Estimate } from "./tables/comparison";

/** How an estimate is drawn: more and less are certain. */
export type Tone = "more" | "less" | "open" | "few";

export function toneOf(estimate: Estimate): Tone {
  if (estimate.certain) return estimate.changeValue < 0 ? "less" : "more";
  return estimate.tooFew ? "few" : "open";
}

export interface PlacedBox {
  /** Row of `Comparison.boxes`. */
  readonly at: number;
  readonly depth: number;
  readonly left: number;
  readonly width: number;
}

/** Narrower boxes would be no target for a pointer; zooming to their caller shows them. */
const WIDTH_MIN = 0.002;

/** The callers of the zoomed box over the whole width, and everything below it, the widest at the left. */
export function placedBoxes(boxes: readonly ChangedBox[], zoom: number): PlacedBox[] {
  const below = childrenOf(boxes);
  const path = pathOf(boxes, zoom);
  const placed: PlacedBox[] = path.map((at, depth) => ({ at, depth, left: 0, width: 1 }));
  const waiting = placed.slice(-1);
  for (let from = waiting.pop(); from !== undefined; from = waiting.pop()) {
    const whole = boxes[from.at]?.width ?? 0;
    let left = from.left;
    for (const child of below[from.at] ?? []) {
      const width = whole > 0 ? (from.width * (boxes[child]?.width ?? 0)) / whole : 0;
      const box = { at: child, depth: from.depth + 1, left, width };
      left += width;
      if (width < WIDTH_MIN) continue;
      placed.push(box);
      waiting.push(box);
    }
  }
  return placed;
}

export function childrenOf(boxes: readonly ChangedBox[]): readonly (readonly number[])[] {
  const below: number[][] = boxes.map(() => []);
  for (const [at, { parent }] of boxes.entries()) if (parent !== null) below[parent]?.push(at);
  const widthOf = (at: number): number => boxes[at]?.width ?? 0;
  for (const children of below) children.sort((one, other) => widthOf(other) - widthOf(one) || one - other);
  return below;
}

/** From the root to the box. */
export function pathOf(boxes: readonly ChangedBox[], box: number): number[] {
  const path: number[] = [];
  for (let at: number | null = box; at !== null && path.length <= boxes.length; at = boxes[at]?.parent ?? null) path.unshift(at);
  return path;
}

/** The box that an arrow leads to; the same one if there is none. */
export function boxBeside(boxes: readonly ChangedBox[], box: number, key: string): number {
  const below = childrenOf(boxes);
  const parent = boxes[box]?.parent ?? null;
  const siblings = parent === null ? [box] : (below[parent] ?? []);
  const here = siblings.indexOf(box);
  switch (key) {
    case "ArrowUp":
      return parent ?? box;
    case "ArrowDown":
      return below[box]?.[0] ?? box;
    case "ArrowLeft":
      return siblings[here - 1] ?? box;
    case "ArrowRight":
      return siblings[here + 1] ?? box;
    case "Home":
      return siblings[0] ?? box;
    case "End":
      return siblings.at(-1) ?? box;
    default:
      return box;
  }
}

/** Parts of the bar's room, 0 to 1: where zero is, the change, and its interval. */
export interface Bar {
  readonly zero: number;
  readonly change: number;
  readonly low: number;
  readonly high: number;
}

/** On one scale for all rows that were compared, so that bars of two rows compare. */
export function barOf(estimate: Estimate, all: readonly Estimate[]): Bar | null {
  if (estimate.tooFew) return null;
  const compared = all.filter((other) => !other.tooFew);
  const low = Math.min(0, ...compared.map((other) => other.low));
  const high = Math.max(0, ...compared.map((other) => other.high));
  const part = (value: number): number => (high > low ? (value - low) / (high - low) : 0);
  return { zero: part(0), change: part(estimate.changeValue), low: part(estimate.low), high: part(estimate.high) };
}
