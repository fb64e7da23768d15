// Where runs, histograms, ratios and scans are in their pictures.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sessionPage } from "./made";
import { CELLS, histogram, placeIn, placeOfRatio, placeOfRun, rangeAround, ratioRange, ratioRows, ratioTicks, runAt, scanOf } from "./picture";
import { decodeSession } from "./session";
import type { Command, Session } from "./session";
import { fittingUnit, tickTexts, timeText, timeTicks } from "./units";

const session = decodeSession(sessionPage());
const [slow] = session.commands;

test("all values are in their range, and equal ones in its middle", () => {
  const range = rangeAround([3, 1, 2], 1);
  for (const value of [1, 2, 3]) assert.ok(placeIn(range, value) > 0 && placeIn(range, value) < 1);
  assert.equal(placeIn(range, 2), 0.5);
  assert.equal(placeIn(rangeAround([5, 5], 1), 5), 0.5);
  assert.equal(placeIn(rangeAround([0], 1e-9), 0), 0.5);
});

test("the run under the pointer is the one whose dot is there", () => {
  for (const runs of [1, 2, 7, 1_000]) for (let run = 0; run < runs; run += 1) assert.equal(runAt(placeOfRun(run, runs), runs), run);
  assert.deepEqual([runAt(-0.1, 3), runAt(1, 3)], [0, 2]);
});

test("a histogram counts each value once", () => {
  const values = [1, 1, 1.01, 2, 5];
  const cells = histogram(values, rangeAround(values, 1));
  assert.equal(cells.length, CELLS);
  assert.equal(cells.reduce((sum, count) => sum + count), values.length);
  assert.equal(cells[1], 3);
});

test("twice as long is as far from 1 as half as long", () => {
  assert.ok(slow !== undefined);
  const half = { ...slow, relative: { to: "fast", ratio: 0.5, interval: [0.4, 0.6], isShown: true } } as const;
  const range = ratioRange(ratioRows({ ...session, commands: [slow, half] }));
  const far = (ratio: number): number => placeIn(range, Math.log(ratio)) - placeIn(range, 0);
  assert.ok(Math.abs(far(2) + far(0.5)) < 1e-9);
  for (const ratio of [0.4, 1, 2.1]) assert.ok(placeIn(range, Math.log(ratio)) > 0 && placeIn(range, Math.log(ratio)) < 1);
});

test("an interval that shows nothing does not flatten those that do", () => {
  assert.ok(slow !== undefined);
  const wide = { ...slow, relative: { to: "fast", ratio: 2, interval: [0.001, 4_000], isShown: false } } as const;
  const range = ratioRange(ratioRows({ ...session, commands: [slow, wide] }));
  const width = placeOfRatio(range, 2.1) - placeOfRatio(range, 1.9);
  assert.ok(width > 0.02, `${width} of the axis`);
  assert.deepEqual([placeOfRatio(range, 0.001), placeOfRatio(range, 4_000), placeOfRatio(range, 0)], [0, 1, 0]);
  const endless = { ...slow, relative: { to: "fast", ratio: 2, interval: [1.5, Infinity], isShown: true } } as const;
  const open = ratioRange(ratioRows({ ...session, commands: [slow, endless] }));
  assert.ok(Number.isFinite(open.first) && Number.isFinite(open.last));
  assert.deepEqual([placeOfRatio(open, Infinity), placeOfRatio(open, 0)], [1, 0]);
  const equal = ratioRange(ratioRows({ ...session, commands: [{ ...slow, relative: { to: "fast", ratio: 1, interval: null, isShown: false } }] }));
  assert.ok(equal.first < 0 && equal.last > 0);
});

test("an axis of ratios has round numbers, few, and 1 among them", () => {
  for (const [low, high] of [[0.99, 1.02], [0.9, 3], [0.6, 1.9], [0.8, 19], [0.1, 120], [2e-5, 1e4], [1e-6, 1e9]] as const) {
    const ticks = ratioTicks({ first: Math.log(low), last: Math.log(high) }, 7);
    assert.ok(ticks.length >= 3 && ticks.length <= 9, `${low} to ${high}: ${ticks.join(" ")}`);
    assert.ok(ticks.some((tick) => Math.abs(tick - 1) < 1e-9), ticks.join(" "));
    assert.ok(ticks.every((tick) => tick >= low * 0.999 && tick <= high * 1.001), ticks.join(" "));
  }
  assert.deepEqual(ratioTicks({ first: Math.log(0.8), last: Math.log(19) }, 7), [1, 2, 5, 10]);
});

test("commands that differ by one number are a scan", () => {
  assert.ok(slow !== undefined);
  const scanned = (...values: readonly string[]): Session => ({ ...session, commands: values.map((value): Command => ({ ...slow, parameters: [["n", value]] })) });
  assert.deepEqual(scanOf(scanned("1", "2.5", "4"))?.points.map(({ at }) => at), [1, 2.5, 4]);
  assert.equal(scanOf(scanned("1", "2.5", "4"))?.name, "n");
  for (const others of [scanned("1", "2"), scanned("1", "2", "gzip"), scanned("1", "2", ""), scanned("1", "1", "2", "2", "3", "3"), session]) assert.equal(scanOf(others), null);
  const [first] = scanned("1").commands;
  assert.ok(first !== undefined);
  const two = { ...first, parameters: [["n", "1"], ["m", "2"]] } as const;
  assert.equal(scanOf({ ...scanned("1", "2", "3"), commands: [...scanned("1", "2", "3").commands, two] }), null);
});

test("times are shown as on the screen", () => {
  assert.deepEqual([fittingUnit(2), fittingUnit(0.02), fittingUnit(2e-5), fittingUnit(0), fittingUnit(-0.3)], ["s", "ms", "µs", "ns", "ms"]);
  assert.deepEqual([timeText(1.2346, "s"), timeText(0.0123, "ms")], ["1.235 s", "12.3 ms"]);
  assert.deepEqual(timeTicks([0.0451, 0.04515], "ms"), ["45.10 ms", "45.15 ms"]);
  assert.deepEqual([timeTicks([0.1, 0.2], "ms"), timeTicks([1, 1.5], "s"), timeTicks([0], "s")], [["100 ms", "200 ms"], ["1.0 s", "1.5 s"], ["0 s"]]);
  assert.deepEqual(tickTexts([1_000_000, 1_000_002]), ["1000000", "1000002"]);
});
