// The first view: the report's rows, each tied to the box of the tree that shows it. Every number is the report's own.
import type { Frame, Recording, Row } from "./tables/profile";
import type { Tint } from "./tint";
import { ownerTint, tintOf } from "./tint";
import { passesOn } from "./tree/fold";
import type { Tree } from "./tree/tree";
import { expressionKey, placeOf } from "./tree/tree";
import type { BoxIndex, Share, Weighed, Weight } from "./units";
import { stateName } from "./words";

export interface WhereRow {
  readonly row: Row;
  readonly weight: Weighed;
  /** The heaviest box of this expression, or of its function where it is not the user's own; null: none shows it. */
  readonly box: BoxIndex | null;
  /** Of the same line of source as the row before. */
  readonly isFurther: boolean;
  /** Asked for where a row is shown: a report may have a hundred thousand. */
  readonly linked: () => Linked;
}
export interface Linked {
  readonly chain: readonly Link[];
  readonly split: readonly { readonly link: Link; readonly share: Share }[];
}
/** A name of the chain into C, whose code it is, and whether the frame was inferred there. */
export interface Link {
  readonly name: string;
  readonly tint: Tint;
  readonly inferred: boolean;
}

/** A chain with a mark in it (a stack that was cut) is not shown for a row with a smaller share than this, as in the terminal. */
const MARKED_SHARE_MIN = 0.02;

/** A smaller row of a line that is shown already would be in front of larger ones. */
const BESIDE_SHARE_MIN = 0.01;

export function whereRows(tree: Tree, recording: Recording, weight: Weight): WhereRow[] {
  const boxes = heaviestBoxes(tree, weight);
  const { frames, states } = recording.profile;
  const names = new Names(frames, states);
  return besideTheirLine(recording.rows(weight)).map(({ row, isFurther }) => {
    const box = boxes.get(expressionKey(row)) ?? boxes.get(functionKey(row.function, row.file)) ?? null;
    return { row, isFurther, weight: row[weight] as number as Weighed, box, linked: () => links({ tree, weight, names }, row, box) };
  });
}

/** What the recording says about a name. It counts if no box below the row has a frame of that name. */
class Names {
  private readonly byName = new Map<string, Frame[]>();
  constructor(frames: readonly Frame[], private readonly states: readonly string[]) {
    for (const frame of frames) {
      const known = this.byName.get(frame.name);
      if (known === undefined) this.byName.set(frame.name, [frame]);
      else known.push(frame);
    }
  }
  isMark(name: string): boolean {
    return this.byName.get(name)?.[0]?.kind === "mark";
  }
  link(name: string): Link {
    if (this.states.includes(name)) return stateLink(name);
    const frames = this.byName.get(name) ?? [];
    return { name, tint: ownerTint(frames[0]?.owner ?? null), inferred: frames.length > 0 && frames.every(({ kind }) => kind === "inferred") };
  }
}

/** Follows the chain through the boxes below the row's own: a name may be on the stack in one place and inferred in another. */
function links(at: { tree: Tree; weight: Weight; names: Names }, row: Row, box: BoxIndex | null): Linked {
  const { tree, weight, names } = at;
  if (row.share < MARKED_SHARE_MIN && row.chain.some((name) => names.isMark(name))) return { chain: [], split: [] };
  let reached = box === null ? [] : [box];
  const step = (name: string): { link: Link; boxes: BoxIndex[] } => {
    const called = name.replace(/^<module .*/, "<module>");
    const boxes = reached.flatMap((above) => namedBelow(tree, weight, above, called));
    const heaviest = boxes.reduce<BoxIndex | null>((best, each) => (best !== null && (tree.total[weight][best] ?? 0) >= (tree.total[weight][each] ?? 0) ? best : each), null);
    const place = heaviest === null ? null : placeOf(tree, heaviest);
    const link = place?.kind === "foreign" ? { name, tint: tintOf(place), inferred: place.frame.kind === "inferred" } : called === name ? names.link(name) : { ...names.link(called), name };
    return { link, boxes };
  };
  const chain = row.chain.map((name) => {
    const { link, boxes } = step(name);
    reached = boxes;
    return link;
  });
  return { chain, split: row.split.map(({ name, share }) => ({ link: step(name).link, share })) };
}

/** The next boxes of that name. A chain leaves out inlined frames, and calls that only pass a call on. */
function namedBelow(tree: Tree, weight: Weight, above: BoxIndex, name: string): BoxIndex[] {
  const found: BoxIndex[] = [];
  const waiting = [...tree.childrenOf(above, weight)];
  for (let box = waiting.pop(); box !== undefined; box = waiting.pop()) {
    const place = placeOf(tree, box);
    if (passesOn(place) || (place.kind === "foreign" && place.frame.kind === "inlined")) waiting.push(...tree.childrenOf(box, weight));
    else if ((place.kind === "foreign" || place.kind === "function") && place.frame.name === name) found.push(box);
  }
  return found;
}

/** The rows of one line of source come after its first one, but for the small ones: these keep their place by weight. */
function besideTheirLine(rows: readonly Row[]): { row: Row; isFurther: boolean }[] {
  const lines = new Map<string, Row[]>();
  for (const row of rows) {
    // A row whose text is not known says nothing without its place.
    const key = row.expression === null ? `${lines.size}` : JSON.stringify([row.file, row.line, row.function]);
    const line = lines.get(key);
    if (line === undefined) lines.set(key, [row]);
    else if (row.share >= BESIDE_SHARE_MIN) line.push(row);
    else lines.set(`${lines.size}`, [row]);
  }
  return [...lines.values()].flatMap((line) => line.map((row, at) => ({ row, isFurther: at > 0 })));
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
