// The first view: the report's rows in the chosen weight, each tied to the boxes of the tree that show it. The numbers
// are the report's own; only their order and the whole they are shares of follow the weight.
import type { Frame, Owner, Row } from "./profile";
import type { Tree } from "./tree";
import { expressionKey, share, weightOf, ROOT } from "./tree";
import type { BoxIndex, Share, Weighed, Weight } from "./units";

export interface WhereRow {
  readonly row: Row;
  readonly weight: Weighed;
  readonly share: Share;
  /** The heaviest box of this expression, null when no box shows it. */
  readonly box: BoxIndex | null;
  readonly chain: readonly Link[];
}
/** A name of the chain into C, and whose code it is as far as a frame of that name tells. */
export interface Link {
  readonly name: string;
  readonly owner: Owner | null;
  readonly inferred: boolean;
}

export function whereRows(tree: Tree, rows: readonly Row[], frames: readonly Frame[], weight: Weight): WhereRow[] {
  const whole = weightOf(tree.total, ROOT, weight);
  const boxes = heaviestExpressions(tree, weight);
  const byName = new Map<string, Frame>();
  for (const frame of frames) if (!byName.has(frame.name)) byName.set(frame.name, frame);
  return rows
    .map((row) => {
      const value = (weight === "samples" ? row.samples : row[weight]) as number as Weighed;
      return { row, weight: value, share: share(value, whole), box: boxes.get(expressionKey(row)) ?? null, chain: row.chain.map((name) => link(name, byName)) };
    })
    .filter((row) => row.weight > 0)
    .sort((a, b) => b.weight - a.weight);
}

function link(name: string, byName: ReadonlyMap<string, Frame>): Link {
  const frame = byName.get(name) ?? byName.get(name.replace(/ \([^()]*\)$/, ""));
  return { name, owner: frame?.owner ?? null, inferred: frame?.kind === "inferred" };
}

function heaviestExpressions(tree: Tree, weight: Weight): Map<string, BoxIndex> {
  const weights = tree.total[weight];
  const heaviest = new Map<string, BoxIndex>();
  tree.place.forEach((place, at) => {
    const what = tree.places[place];
    if (what?.kind !== "expression") return;
    const key = expressionKey(what.frame);
    const known = heaviest.get(key);
    if (known === undefined || (weights[at] ?? 0) > (weights[known] ?? 0)) heaviest.set(key, at as BoxIndex);
  });
  return heaviest;
}
