import assert from "node:assert/strict";
import { test } from "node:test";
import { forkTree } from "./processes";
import { madeDocument } from "./tables/made";
import { decodeProfile } from "./tables/decode";

const document = madeDocument("main x1 | p5/main x1");
const processes = document["processes"] as Record<string, unknown>[];
const decoded = (parents: readonly (number | null)[]): readonly (readonly [number, number])[] => {
  const made = { ...document, processes: processes.map((process, at) => ({ ...process, parent: parents[at] })) };
  return forkTree(decodeProfile({ field: "", value: made }).processes).map(({ process, depth }) => [process, depth]);
};

test("a process stands below the one that started it, in the order of the recording", () => {
  assert.deepEqual(decoded([null, 0, 0, 1, null]), [[0, 0], [1, 1], [3, 2], [2, 1], [4, 0]]);
});

test("a parent may come later, and none is left out where parents are a circle", () => {
  assert.deepEqual(decoded([2, null, null, null, null]), [[1, 0], [2, 0], [0, 1], [3, 0], [4, 0]]);
  assert.deepEqual(decoded([1, 0, null, 3, 0]), [[2, 0], [0, 0], [1, 1], [4, 1], [3, 0]]);
  assert.throws(() => decoded([5, null, null, null, null]), /processes\[0\]\.parent/);
});
