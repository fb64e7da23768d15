// Memory in a range of time, and the stacks that were there: stacks as text in, names out.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commonStack, frequentStack, memoryLines } from "./memory";
import { madeProfile } from "../tables/made";
import { buildTree, placeOf } from "../tree/tree";
import type { Tree } from "../tree/tree";
import type { BoxIndex, Ns } from "../units";
import { placeName } from "../words";

const names = (tree: Tree, stack: readonly BoxIndex[]): string => stack.map((box) => placeName(placeOf(tree, box), { title: "app.py", processes: [], threads: [] })).join(" ");

test("the calls on every stack, and the stack with the most time of its own", () => {
  const tree = buildTree(madeProfile("main;load;read x5 | main;load;parse;walk x2 | main;load;parse;walk;walk x3 | main;load x1"));
  assert.equal(names(tree, commonStack(tree, "samples")), "main load");
  const { stack, self } = frequentStack(tree, "samples");
  assert.deepEqual([names(tree, stack), self], ["main load read", 5]);
  const apart = buildTree(madeProfile("a x1 | b x2"));
  assert.deepEqual(commonStack(apart, "cpu"), []);
});

test("memory of a range has its own mean and end", () => {
  const profile = madeProfile("main x1", { rss: [[30, 900], [10, 100], [20, 500]].map(([at_ns, bytes]) => ({ process: 0, at_ns, bytes })) });
  const shown = (kept: { start: Ns; end: Ns } | null): unknown[] => memoryLines(profile, kept).lines.map(({ first, mean, max, last }) => [first, mean, max, last]);
  assert.deepEqual(shown(null), [[100, 500, 900, 900]]);
  assert.deepEqual(shown({ start: 10 as Ns, end: 30 as Ns }), [[100, 300, 500, 500]]);
  assert.deepEqual(shown({ start: 40 as Ns, end: 50 as Ns }), []);
});
