// Boxes and bars of a comparison, from a made one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { barOf, boxBeside, pathOf, placedBoxes, toneOf } from "./changes";
import { decodeComparison } from "./tables/comparison";
import type { ChangedBox, Estimate } from "./tables/comparison";

const estimate = (change: number, margin: number, tooFew = false): Record<string, unknown> => ({
  change: `${change}`, interval: "", before: "", after: "", change_value: change, low: change - margin, high: change + margin,
  certain: !tooFew && Math.abs(change) > margin, too_few: tooFew,
});
const box = (parent: number | null, name: string, width: number, change = 0): Record<string, unknown> => ({
  parent, name, place: "", kind: parent === null ? "all" : "function", remark: "", width, ...estimate(change, 5),
});
const page = (boxes: unknown[], rows: unknown[] = []): unknown => ({
  version: 1, verdict: "", before: "a", after: "b", accounts: [], counts: "", rows, functions: [], notes: [], warnings: [], boxes, boxes_note: "",
});
const decoded = (boxes: unknown[]): readonly ChangedBox[] => decodeComparison({ field: "", value: page(boxes) }).boxes;
const row = (change: number, margin: number, tooFew = false): Estimate =>
  decodeComparison({ field: "", value: page([box(null, "all", 1)], [{ name: "", expression: null, remark: "", ...estimate(change, margin, tooFew) }]) }).rows[0] as Estimate;

const tree = decoded([box(null, "all", 100), box(0, "bar", 20), box(0, "foo", 60, 40), box(2, "sum", 30, -30), box(1, "sum", 20)]);

test("the widest child stands at the left, and a zoomed box has the whole width", () => {
  const shown = placedBoxes(tree, 0).map(({ at, depth, left, width }) => [at, depth, left, width]);
  assert.deepEqual(shown.sort(), [[0, 0, 0, 1], [1, 1, 0.6, 0.2], [2, 1, 0, 0.6], [3, 2, 0, 0.3], [4, 2, 0.6, 0.2]]);
  const zoomed = placedBoxes(tree, 2).map(({ at, left, width }) => [at, left, width]);
  assert.deepEqual(zoomed, [[0, 0, 1], [2, 0, 1], [3, 0, 0.5]]);
});

test("arrows lead to the caller, the widest callee and the neighbours", () => {
  assert.deepEqual(pathOf(tree, 3), [0, 2, 3]);
  const steps: [number, string, number][] = [[0, "ArrowDown", 2], [2, "ArrowRight", 1], [1, "ArrowLeft", 2], [3, "ArrowUp", 2], [0, "ArrowUp", 0], [2, "End", 1], [4, "ArrowDown", 4]];
  for (const [from, key, to] of steps) assert.equal(boxBeside(tree, from, key), to, `${key} from ${from}`);
});

test("only a certain change has a colour", () => {
  assert.deepEqual([row(40, 5), row(-40, 5), row(3, 5), row(40, 5, true)].map(toneOf), ["more", "less", "open", "few"]);
});

test("bars of all rows have one scale, and rows that were not compared have none and stretch none", () => {
  const all = [row(60, 20), row(-10, 10), row(500, 500, true)];
  assert.deepEqual(barOf(all[0] as Estimate, all), { zero: 0.2, change: 0.8, low: 0.6, high: 1 });
  assert.deepEqual(barOf(all[1] as Estimate, all), { zero: 0.2, change: 0.1, low: 0, high: 0.2 });
  assert.equal(barOf(all[2] as Estimate, all), null);
});

test("a damaged comparison is refused", () => {
  assert.throws(() => decoded([box(null, "all", 1), box(1, "its own caller", 1)]), /boxes\[1\]\.parent/);
  assert.throws(() => decoded([box(null, "all", 1), box(null, "another root", 1)]), /boxes\[1\]\.parent/);
  assert.throws(() => decodeComparison({ field: "", value: { ...(page([]) as object), version: 2 } }), /version/);
});
