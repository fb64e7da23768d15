// Heaps of a recording: which two are compared at first, and what is said of each class.
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstPair, heapRows } from "./heaps";
import { decodeHeaps } from "../tables/heaps";
import { Damaged } from "../tables/read";
import type { ProcessIndex } from "../units";

type Class = readonly [number, number, number];

function row(at: number, process: number | null, [objects, bytes]: readonly [number, number], classes: readonly Class[]): Record<string, unknown> {
  const [of, counts, sizes] = [0, 1, 2].map((column) => classes.map((one) => one[column]));
  return { process, at_ns: at, moment: "interval", collected: false, objects, bytes, pause_ns: 5, unlisted_bytes_max: 40, file: `app.heap-${at}.json`, class: of, class_objects: counts, class_bytes: sizes };
}

const PAGE = {
  classes: ["app.Leak", "list", "str"],
  rows: [
    row(1, 0, [12, 1_200], [[0, 1, 100], [1, 9, 900]]),
    row(2, 1, [3, 300], [[1, 3, 300]]),
    row(3, 0, [60, 6_000], [[0, 50, 5_000], [2, 4, 400]]),
  ],
  left_out: 2,
};

const decoded = decodeHeaps({ field: "heaps", value: PAGE }, 2);

test("the first and the last heap of a process are compared at first", () => {
  assert.deepEqual(firstPair(decoded, null), { before: 0, after: 2 });
  assert.deepEqual(firstPair(decoded, 1 as ProcessIndex), { before: null, after: 1 });
  assert.equal(firstPair({ rows: [] }, null), null);
});

test("what grew most comes first, and no object is left out", () => {
  const rows = heapRows(decoded, { before: 0, after: 2 });
  assert.deepEqual(
    rows.map(({ name, bytesGrown, objectsGrown, objects }) => [name, bytesGrown, objectsGrown, objects]),
    [["app.Leak", 4_900, 49, 50], [null, 400, 4, 6], ["str", 400, 4, 4], ["list", -900, -9, 0]],
  );
  assert.deepEqual(rows.filter(({ isAbout }) => isAbout).map(({ name }) => name), [null, "str", "list"], "these are not among the largest of one heap");
  assert.equal(rows.reduce((sum, { bytesGrown }) => sum + bytesGrown, 0), 6_000 - 1_200);
});

test("one heap alone is told by size", () => {
  const rows = heapRows(decoded, { before: null, after: 0 });
  assert.deepEqual(rows.map(({ name, bytes, bytesGrown }) => [name, bytes, bytesGrown]), [["list", 900, 0], [null, 200, 0], ["app.Leak", 100, 0]]);
});

test("columns of unequal length are damaged", () => {
  const value = { ...PAGE, rows: [{ ...PAGE.rows[0], class_bytes: [1] }] };
  assert.throws(() => decodeHeaps({ field: "heaps", value }, 2), Damaged);
});
