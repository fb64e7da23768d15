// The page of `genba bench`: what it reads, and what it refuses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Damaged } from "../tables/read";
import { decodeSession } from "./session";
import { sessionPage } from "./made";

test("commands have their runs, their words and what they are compared with", () => {
  const session = decodeSession(sessionPage());
  assert.deepEqual([session.reference, session.rounds, session.isInterleaved, session.isCut, session.unit], ["fast", 4, true, false, null]);
  const [slow, fast] = session.commands;
  assert.deepEqual(slow?.relative, { to: "fast", ratio: 2, interval: [1.9, 2.1], isShown: true });
  assert.deepEqual(slow.times, [0.2, 0.21, 0.19, 0.2]);
  assert.equal(slow.words, "block of slow");
  assert.equal(fast?.relative, null);
  assert.deepEqual(fast.parameters, [["n", "3"]]);
});

test("too few runs have no interval, and a session that ended early says so", () => {
  const few = { to: "fast", ratio: 2, low: null, high: null, shown: false };
  const session = decodeSession(sessionPage({ relative: few, about: { failed: "b" }, unit: "ms" }));
  assert.deepEqual(session.commands[0]?.relative, { to: "fast", ratio: 2, interval: null, isShown: false });
  assert.deepEqual([session.isCut, session.unit], [true, "ms"]);
});

test("an interval without an end", () => {
  const session = decodeSession(sessionPage({ relative: { to: "fast", ratio: 2, low: 0, high: null, shown: false } }));
  assert.deepEqual(session.commands[0]?.relative?.interval, [0, Infinity]);
});

for (const [change, words] of [
  [{ times: [] }, "field export.results[0].times: expected at least one time, found []"],
  [{ blocks: ["one alone"] }, "field blocks: expected a block for each result, found [\"one alone\"]"],
  [{ unit: "h" }, "field unit: expected one of ns, µs, ms, s, found \"h\""],
  [{ times: [0.1, "0.2"] }, "field export.results[0].times[1]: expected a number, found \"0.2\""],
] as const) {
  test(words, () => {
    assert.throws(() => decodeSession(sessionPage(change)), (error) => error instanceof Damaged && error.message === words);
  });
}

test("a page without numbers is refused", () => {
  for (const value of [null, [], {}, { export: {} }]) assert.throws(() => decodeSession(value), Damaged);
});
