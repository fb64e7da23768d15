// A comparison as it lies in the page: the words of `genba diff`, the numbers that its bars are drawn from, and the call trees as one.
// Never: computes a number, or says what is certain. Keeps: a parent stands before its children, or the page is `Damaged`.
import { damaged, index, integer, list, object, oneOf, orNull, text, whole, yes } from "./read";
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

export function decodeComparison(at: Value): Comparison {
  const page = object(at);
  if (integer(page("version")) > VERSION_MAX) throw damaged(page("version"), `at most ${VERSION_MAX}, which this page knows`);
  let known = 0;
  const boxes = list(page("boxes"), (row): ChangedBox => {
    const box = object(row);
    const parent = orNull(box("parent"), (value) => index(value, known));
    if ((parent === null) !== (known === 0)) throw damaged(box("parent"), "one box without a caller, the first");
    known += 1;
    return {
      parent,
      name: text(box("name")),
      place: text(box("place")),
      kind: oneOf(box("kind"), KINDS),
      remark: text(box("remark")),
      width: whole(box("width")),
      ...decodeEstimate(row),
    };
  });
  return {
    verdict: text(page("verdict")),
    before: text(page("before")),
    after: text(page("after")),
    accounts: list(page("accounts"), text),
    counts: text(page("counts")),
    rows: list(page("rows"), decodeRow),
    functions: list(page("functions"), decodeRow),
    notes: list(page("notes"), text),
    warnings: list(page("warnings"), text),
    boxes,
    boxesNote: text(page("boxes_note")),
  };
}

function decodeRow(at: Value): ChangedRow {
  const row = object(at);
  return { name: text(row("name")), expression: orNull(row("expression"), text), remark: text(row("remark")), ...decodeEstimate(at) };
}

function decodeEstimate(at: Value): Estimate {
  const of = object(at);
  return {
    change: text(of("change")),
    interval: text(of("interval")),
    before: text(of("before")),
    after: text(of("after")),
    changeValue: integer(of("change_value")),
    low: integer(of("low")),
    high: integer(of("high")),
    certain: yes(of("certain")),
    tooFew: yes(of("too_few")),
  };
}
