// What one place spends under each of its callers. The halves of a sandwich are merged: they cannot show that under one caller its time goes
// elsewhere than under the others. Of counted calls nobody knows that.
// Keeps: the parts of a row are all its weight, and the rows are all that the place weighs.
import type { Everywhere } from "./everywhere";
import type { Tree } from "./tree";
import { parentOf, ROOT } from "./tree";
import type { BoxIndex, Weight } from "../units";

/** As many are shown, and compared: a claim names one that is there to see. */
export const CALLERS_MAX = 12;
/** Shares that are no further apart are alike. */
const APART_MIN = 0.1;
/** Of a share's standard deviation, by the samples of its row: chance alone comes so far from the share of all in one of a thousand. */
const DEVIATIONS = 3;

export interface SplitRow {
  /** One of the boxes that call: says the name. */
  readonly caller: BoxIndex;
  readonly weight: number;
  /** Of running threads. 0 where they do not tell how certain the weight is: one wait may be as long as all that ran; bytes are observed apart. */
  readonly samples: number;
  /** As `Split.columns`; then what the place spends itself; then its other callees. */
  readonly parts: readonly number[];
}

export interface Split {
  /** Of each of the heaviest callees one box: says the name. */
  readonly columns: readonly BoxIndex[];
  /** The heaviest first. */
  readonly rows: readonly SplitRow[];
  readonly all: SplitRow;
}

export function splitOf(tree: Tree, { outermost }: Pick<Everywhere, "outermost">, weight: Weight, columnsMax: number): Split {
  const total = tree.total[weight];
  const isSampled = weight === "cpu" || weight === "samples";
  const callees = groupsOf(tree, outermost.flatMap((box) => tree.childrenOf(box, weight)), (box) => box).sort((a, b) => sum(b, total) - sum(a, total));
  const columns = callees.slice(0, columnsMax).flatMap((boxes) => boxes.slice(0, 1));
  const columnOf = new Map(columns.map((box, at): [number, number] => [tree.place[box] ?? 0, at]));
  const row = (boxes: readonly BoxIndex[]): SplitRow => {
    const parts = new Array<number>(columns.length + 2).fill(0);
    const add = (part: number, value: number): void => {
      parts[part] = (parts[part] ?? 0) + value;
    };
    for (const box of boxes) {
      add(columns.length, tree.self[weight][box] ?? 0);
      for (const child of tree.childrenOf(box, weight)) add(columnOf.get(tree.place[child] ?? 0) ?? columns.length + 1, total[child] ?? 0);
    }
    return { caller: parentOf(tree, boxes[0] ?? ROOT), weight: sum(boxes, total), samples: isSampled ? sum(boxes, tree.total.samples) : 0, parts };
  };
  const rows = groupsOf(tree, outermost, (box) => parentOf(tree, box)).map(row).filter((caller) => caller.weight > 0);
  return { columns, rows: rows.sort((a, b) => b.weight - a.weight), all: row(outermost) };
}

/** The part of a caller that is furthest above that of all, where its samples can tell. Null: the callers are alike. */
export function oddest({ columns, rows, all }: Split): { readonly row: SplitRow; readonly part: number } | null {
  let found: { readonly row: SplitRow; readonly part: number } | null = null;
  let most = APART_MIN;
  for (const row of rows.slice(0, CALLERS_MAX)) {
    const chance = DEVIATIONS * Math.sqrt(0.25 / row.samples);
    for (let part = 0; part <= columns.length; part += 1) {
      const apart = (row.parts[part] ?? 0) / row.weight - (all.parts[part] ?? 0) / all.weight;
      if (apart <= most || apart <= chance) continue;
      found = { row, part };
      most = apart;
    }
  }
  return found;
}

/** Those that `of` leads to one place. */
function groupsOf(tree: Tree, boxes: readonly BoxIndex[], of: (box: BoxIndex) => BoxIndex): BoxIndex[][] {
  const groups = new Map<number, BoxIndex[]>();
  for (const box of boxes) {
    const key = tree.place[of(box)] ?? 0;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [box]);
    else group.push(box);
  }
  return [...groups.values()];
}

function sum(boxes: readonly BoxIndex[], weights: Float64Array): number {
  return boxes.reduce<number>((all, box) => all + (weights[box] ?? 0), 0);
}
