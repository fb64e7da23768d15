// A comparison as it lies in the page: the words of `genba diff`, the numbers that its bars are drawn from, and the call trees as one.
// Never: computes a number, or says what is certain. Keeps: a parent stands before its children, or the page is `Damaged`.
import { damaged, index, integer, list, listOf, nullable, object, oneOf, orNull, record, text, whole, yes } from "./read";
import type { Value } from "./read";

export interface Estimate {
  /** In words: `+192 ms`, `+75.1 ms to +309 ms`, `384 ms`. */
  readonly change: string;
  readonly interval: string;
  readonly before: string;
  readonly after: string;
  readonly changeValue: number;
  readonly low: number;
  readonly high: number;
  readonly certain: boolean;
  /** Not compared. */
  readonly tooFew: boolean;
}

export interface ChangedRow extends Estimate {
  readonly name: string;
  readonly expression: string | null;
  /** `cannot tell`, `only in B`, or nothing. */
  readonly remark: string;
}

export interface ChangedBox extends Estimate {
  /** Row of `Comparison.boxes`. */
  readonly parent: number | null;
  readonly name: string;
  readonly place: string;
  readonly kind: (typeof KINDS)[number];
  readonly remark: string;
  readonly width: number;
}

export interface Comparison {
  readonly verdict: string;
  /** The recordings' names. */
  readonly before: string;
  readonly after: string;
  /** Who was recorded, with the accounting of each recording. */
  readonly accounts: readonly string[];
  readonly counts: string;
  readonly rows: readonly ChangedRow[];
  readonly functions: readonly ChangedRow[];
  readonly notes: readonly string[];
  readonly warnings: readonly string[];
  readonly boxes: readonly ChangedBox[];
  readonly boxesNote: string;
}

const VERSION_MAX = 1;
const KINDS = ["all", "function", "expression", "c", "words"] as const;

const decodeEstimate = record<Estimate>({
  change: text,
  interval: text,
  before: text,
  after: text,
  changeValue: integer,
  low: integer,
  high: integer,
  certain: yes,
  tooFew: yes,
});
const decodeNames = record<Omit<ChangedRow, keyof Estimate>>({ name: text, expression: nullable(text), remark: text });
const decodeRow = (at: Value): ChangedRow => ({ ...decodeNames(at), ...decodeEstimate(at) });
const decodeBox = record<Omit<ChangedBox, keyof Estimate | "parent">>({ name: text, place: text, kind: (at) => oneOf(at, KINDS), remark: text, width: whole });
const decodeRest = record<Omit<Comparison, "boxes">>({
  verdict: text,
  before: text,
  after: text,
  accounts: listOf(text),
  counts: text,
  rows: listOf(decodeRow),
  functions: listOf(decodeRow),
  notes: listOf(text),
  warnings: listOf(text),
  boxesNote: text,
});

export function decodeComparison(at: Value): Comparison {
  const page = object(at);
  if (integer(page("version")) > VERSION_MAX) throw damaged(page("version"), `at most ${VERSION_MAX}, which this page knows`);
  let known = 0;
  const boxes = list(page("boxes"), (row): ChangedBox => {
    const above = object(row)("parent");
    const parent = orNull(above, (value) => index(value, known));
    if ((parent === null) !== (known === 0)) throw damaged(above, "one box without a caller, the first");
    known += 1;
    return { parent, ...decodeBox(row), ...decodeEstimate(row) };
  });
  return { boxes, ...decodeRest(at) };
}
