// Numbers of an axis are round, inside of it, and not too many.
import assert from "node:assert/strict";
import { test } from "node:test";
import { axisTicks } from "./axis";

test("round numbers from end to end", () => {
  assert.deepEqual(axisTicks(0, 90, 5), [0, 20, 40, 60, 80]);
  assert.deepEqual(axisTicks(0, 100, 6), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(axisTicks(130, 290, 4), [150, 200, 250]);
  assert.deepEqual(axisTicks(7, 7, 4), [7]);
});

test("at most so many, and at least two in any range", () => {
  for (const first of [0, 3, 99_999_999]) {
    for (const length of [2, 7, 9.99e5, 1e6, 1.01e6, 123_456_789]) {
      const ticks = axisTicks(first, first + length, 5);
      assert.ok(ticks.length >= 2 && ticks.length <= 5, `${first} ${length}: ${ticks.join(" ")}`);
      assert.ok(ticks.every((at) => at >= first && at <= first + length));
    }
  }
});
