// Tables: what each expression, line, function, file, kind of code or source of C names weighs, wherever it stands. In a recursion a group's total counts once.
import type { Place, Tree } from "./tree/tree";
import { parentOf, placeOf, ROOT } from "./tree/tree";
import type { BoxIndex, Weight } from "./units";
import { nothing, WEIGHTS } from "./units";

export const GROUPINGS = ["expression", "line", "function", "file", "owner", "origin"] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface GroupRow {
  readonly key: string;
  /** The heaviest box of it: says the name, and is where a click leads. */
  readonly box: BoxIndex;
  readonly total: Readonly<Record<Weight, number>>;
  readonly self: Readonly<Record<Weight, number>>;
}

/** In no order. The time of an expression is also its function's own. */
export function groupRows(tree: Tree, by: Grouping, heaviestBy: Weight): GroupRow[] {
  const groupOf = groups(tree, by);
  const rows: { key: string; box: BoxIndex; total: Record<Weight, number>; self: Record<Weight, number> }[] = groupOf.keys.map((key) => ({
    key, box: ROOT, total: nothing(), self: nothing(),
  }));
  const inside = new Int32Array(rows.length);
  walk(tree, (box, isEntered) => {
    const group = groupOf.ofBox[box] ?? -1;
    const row = rows[group];
    if (row === undefined) return;
    if (!isEntered) {
      inside[group] = (inside[group] ?? 0) - 1;
      return;
    }
    const isOutermost = inside[group] === 0;
    inside[group] = (inside[group] ?? 0) + 1;
    for (const weight of WEIGHTS) {
      row.self[weight] += tree.self[weight][box] ?? 0;
      if (isOutermost) row.total[weight] += tree.total[weight][box] ?? 0;
    }
    const weights = tree.total[heaviestBy];
    if (row.box === ROOT || (weights[box] ?? 0) > (weights[row.box] ?? 0)) row.box = box;
  });
  // A place may have no box: an expression that called nothing.
  return rows.filter(({ box }) => box !== ROOT);
}

/** Of each box its group, or -1. */
function groups(tree: Tree, by: Grouping): { keys: string[]; ofBox: Int32Array } {
  const keys: string[] = [];
  const indexOf = new Map<string, number>();
  const ofPlace = tree.places.map((place, at) => {
    const key = keyOf(place, by, tree.keys[at] ?? "");
    if (key === null) return -1;
    const known = indexOf.get(key);
    if (known !== undefined) return known;
    indexOf.set(key, keys.length);
    return keys.push(key) - 1;
  });
  const isPartOfFunction = by === "function" || by === "file" || by === "owner";
  const ofBox = new Int32Array(tree.parent.length);
  for (let box = 0; box < ofBox.length; box += 1) {
    const isExpression = placeOf(tree, box as BoxIndex).kind === "expression";
    ofBox[box] = isExpression && isPartOfFunction ? (ofBox[parentOf(tree, box as BoxIndex)] ?? -1) : (ofPlace[tree.place[box] ?? 0] ?? -1);
  }
  return { keys, ofBox };
}

function keyOf(place: Place, by: Grouping, key: string): string | null {
  if (by === "origin") {
    if (place.kind !== "foreign" || place.frame.kind === "mark") return null;
    return `${place.frame.kind}:${place.frame.origin ?? ""}`;
  }
  if (place.kind === "expression") {
    if (by === "expression") return key;
    return by === "line" ? `${place.frame.line ?? ""} ${place.frame.file ?? ""}` : null;
  }
  if (place.kind === "state") return by === "function" ? key : by === "owner" ? (place.state === "in gc" ? "gc" : "waiting") : null;
  if (place.kind !== "function" && place.kind !== "foreign") return null;
  if (by === "function") return key;
  if (by === "file") return place.frame.file ?? place.frame.module ?? null;
  return by === "owner" ? (place.frame.owner ?? "native") : null;
}

/** Depth first, each box once when it is entered and once when it is left. A loop, not a recursion: trees are deep. */
function walk(tree: Tree, visit: (box: BoxIndex, isEntered: boolean) => void): void {
  const boxes = tree.parent.length;
  const [firstChild, nextSibling] = [new Int32Array(boxes).fill(-1), new Int32Array(boxes).fill(-1)];
  for (let box = boxes - 1; box > ROOT; box -= 1) {
    const above = tree.parent[box] ?? ROOT;
    nextSibling[box] = firstChild[above] ?? -1;
    firstChild[above] = box;
  }
  visit(ROOT, true);
  for (let box: number = ROOT; ; ) {
    const child = firstChild[box] ?? -1;
    if (child >= 0) {
      box = child;
      visit(box as BoxIndex, true);
      continue;
    }
    for (;;) {
      visit(box as BoxIndex, false);
      if (box === ROOT) return;
      const sibling = nextSibling[box] ?? -1;
      if (sibling >= 0) {
        box = sibling;
        visit(box as BoxIndex, true);
        break;
      }
      box = tree.parent[box] ?? ROOT;
    }
  }
}
