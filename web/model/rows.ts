// The first view: the report's rows, each tied to the box of the tree that shows it. Every number is the report's own.
import type { Frame, Recording, Row } from "./profile";
import type { Tint } from "./tint";
import { ownerTint, tintOf } from "./tint";
import type { Tree } from "./tree";
import { expressionKey } from "./tree";
import type { BoxIndex, Share, Weighed, Weight } from "./units";
import { stateName } from "./words";

export interface WhereRow {
  readonly row: Row;
  readonly weight: Weighed;
  /** The heaviest box of this expression, or of its function where it is not the user's own; null: none shows it. */
  readonly box: BoxIndex | null;
  /** Of the same line of source as the row before. */
  readonly isFurther: boolean;
  readonly chain: readonly Link[];
  readonly split: readonly { readonly link: Link; readonly share: Share }[];
}
/** A name of the chain into C, and whose code it is as far as a frame of that name tells. */
export interface Link {
  readonly name: string;
  readonly tint: Tint;
  readonly inferred: boolean;
}

export function whereRows(tree: Tree, recording: Recording, weight: Weight): WhereRow[] {
  const boxes = heaviestBoxes(tree, weight);
  const byName = new Map<string, Frame>();
  const { frames, states } = recording.profile;
  for (const frame of frames) if (!byName.has(frame.name)) byName.set(frame.name, frame);
  const linkOf = (name: string): Link => (states.includes(name) ? stateLink(name) : link(name, byName));
  return besideTheirLine(recording.rows[weight]).map(({ row, isFurther }) => ({
    row,
    isFurther,
    weight: (weight === "samples" ? row.samples : row[weight]) as number as Weighed,
    box: boxes.get(expressionKey(row)) ?? boxes.get(functionKey(row.function, row.file)) ?? null,
    chain: row.chain.map(linkOf),
    split: row.split.map(({ name, share }) => ({ link: linkOf(name), share })),
  }));
}

/** The rows of one line of source come after its first one. */
function besideTheirLine(rows: readonly Row[]): { row: Row; isFurther: boolean }[] {
  const lines = new Map<string, Row[]>();
  for (const row of rows) {
    // A row whose text is not known says nothing without its place.
    const key = row.expression === null ? `${lines.size}` : JSON.stringify([row.file, row.line, row.function]);
    const line = lines.get(key);
    if (line === undefined) lines.set(key, [row]);
    else line.push(row);
  }
  return [...lines.values()].flatMap((line) => line.map((row, at) => ({ row, isFurther: at > 0 })));
}

function link(name: string, byName: ReadonlyMap<string, Frame>): Link {
  const frame = byName.get(name);
  return { name, tint: ownerTint(frame?.owner ?? null), inferred: frame?.kind === "inferred" };
}
function stateLink(state: string): Link {
  return { name: stateName(state), tint: tintOf({ kind: "state", state }), inferred: false };
}

function heaviestBoxes(tree: Tree, weight: Weight): Map<string, BoxIndex> {
  const weights = tree.total[weight];
  const heaviest = new Map<string, BoxIndex>();
  const keys = tree.places.map((place) => {
    if (place.kind === "expression") return expressionKey(place.frame);
    return place.kind === "function" ? functionKey(place.frame.name, place.frame.file) : null;
  });
  // By place first: a key for each of millions of boxes takes longer than all else.
  const boxOf = new Int32Array(tree.places.length).fill(-1);
  for (let at = 0; at < tree.place.length; at += 1) {
    const place = tree.place[at] ?? 0;
    const known = boxOf[place] ?? -1;
    if (known < 0 || (weights[at] ?? 0) > (weights[known] ?? 0)) boxOf[place] = at;
  }
  boxOf.forEach((at, place) => {
    const key = keys[place] ?? null;
    if (key === null || at < 0) return;
    const known = heaviest.get(key);
    if (known === undefined || (weights[at] ?? 0) > (weights[known] ?? 0)) heaviest.set(key, at as BoxIndex);
  });
  return heaviest;
}

function functionKey(name: string | null, file: string | null): string {
  return `function ${name ?? ""} ${file ?? ""}`;
}
