// What is said of collections: times and pauses in, sums, bins and bars out. The sums are those of `genba gc`:
// crates/profile/tests/profiles/collections.rs writes them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { keptPauses, pauseBars, pauseBins, pauseSum, pausesBy } from "./pauses";
import type { PauseSum } from "./pauses";
import { decodeCollections } from "../tables/collections";
import type { Collections } from "../tables/profile";
import { Damaged } from "../tables/read";
import type { Ns, ProcessIndex } from "../units";
import { intervalWords } from "../words";

const PAGE = {
  rows: {
    process: [0, 0, 1, 0],
    at_ns: [10, 20, 30, 90],
    pause_ns: [9_000, 20_000, 2_000_000, 30_000],
    generation: [0, 0, 2, 1],
    reason: ["threshold", "threshold", "explicit", "threshold"],
    examined: [5, 6, null, 7],
    collected: [0, 1, 2, 3],
    uncollectable: [0, 0, 0, 0],
    place: [0, 0, 1, 0],
  },
  places: ["app.py:7 work", "app.py:9 tidy"],
  left_out: 0,
  before: 2,
  lost: 0,
  incremental: false,
  wall_ns: 1_000,
  advice: ["with gc.set_threshold(5000) …"],
};

const decoded = (changes: object = {}): Collections => decodeCollections({ field: "collections", value: { ...PAGE, ...changes } }, 2);

test("columns become rows, and must fit each other", () => {
  assert.deepEqual(decoded().rows[2], { process: 1, at: 30, pause: 2_000_000, generation: 2, reason: "explicit", examined: null, collected: 2, uncollectable: 0, place: 1 });
  assert.throws(() => decoded({ rows: { ...PAGE.rows, place: [0] } }), Damaged);
  assert.throws(() => decoded({ rows: { ...PAGE.rows, place: [0, 0, 2, 0] } }), Damaged);
  assert.throws(() => decoded({ rows: { ...PAGE.rows, process: [0, 0, 2, 0] } }), Damaged);
});

test("collections in increments are told as such", () => {
  assert.deepEqual([decoded().isIncremental, decoded({ incremental: true }).isIncremental], [false, true]);
});

test("a range of time and a process keep what began in them", () => {
  const kept = (time: [number, number] | null, process: number | null): number[] =>
    keptPauses(decoded(), { time: time === null ? null : { start: time[0] as Ns, end: time[1] as Ns }, process: process as ProcessIndex | null }).map(({ at }) => at);
  assert.deepEqual(kept(null, null), [10, 20, 30, 90]);
  assert.deepEqual(kept([20, 90], null), [20, 30]);
  assert.deepEqual(kept(null, 0), [10, 20, 90]);
  assert.deepEqual(kept([20, 91], 1), [30]);
});

test("sums, and what one that does not tell takes away from them", () => {
  const { rows } = decoded();
  assert.deepEqual(pauseSum(rows), { collections: 4, pause: 2_059_000, longest: 2_000_000, examined: null, collected: 6 });
  assert.deepEqual(pausesBy(rows, ({ place }) => place), [
    [1, { collections: 1, pause: 2_000_000, longest: 2_000_000, examined: null, collected: 2 }],
    [0, { collections: 3, pause: 59_000, longest: 30_000, examined: 18, collected: 4 }],
  ]);
  assert.deepEqual(pauseSum([]), { collections: 0, pause: 0, longest: 0, examined: 0, collected: 0 });
});

test("bins reach from the shortest pause to the longest", () => {
  assert.deepEqual(pauseBins(decoded().rows), [{ below: 1e4, collections: 1 }, { below: 1e5, collections: 2 }, { below: 1e6, collections: 0 }, { below: 1e7, collections: 1 }]);
  assert.deepEqual(pauseBins([]), []);
});

test("a column shows its longest pause of each generation", () => {
  const bars = pauseBars(decoded().rows, { start: 0 as Ns, end: 100 as Ns }, 4);
  assert.deepEqual(bars.map(({ column, row, collections }) => [column, row.at, collections]), [[0, 20, 2], [3, 90, 1], [1, 30, 1]]);
});

interface Sum {
  readonly collections: number;
  readonly pause_ns: number;
  readonly longest_ns: number;
  readonly examined: number | null;
  readonly collected: number;
}
interface Golden {
  readonly page: unknown;
  readonly all: Sum;
  readonly by_generation: readonly (readonly [number, Sum])[];
  readonly by_place: readonly (readonly [string, Sum])[];
  readonly pauses: readonly (readonly [string, number])[];
}

test("sums and bins are those of genba gc", () => {
  const golden = JSON.parse(readFileSync("../testdata/page/collections.json", "utf8")) as Golden;
  const { rows, places } = decodeCollections({ field: "collections", value: golden.page }, 1);
  const told = ({ collections, pause, longest, examined, collected }: PauseSum): Sum => ({ collections, pause_ns: pause, longest_ns: longest, examined, collected });
  assert.deepEqual(told(pauseSum(rows)), golden.all);
  const generations = pausesBy(rows, ({ generation }) => generation).sort(([a], [b]) => a - b);
  assert.deepEqual(generations.map(([generation, sum]) => [generation, told(sum)]), golden.by_generation);
  assert.deepEqual(pausesBy(rows, ({ place }) => place).map(([place, sum]) => [places[place], told(sum)]), golden.by_place);
  assert.deepEqual(pauseBins(rows).map(({ below, collections }) => [`below ${below === null ? "?" : intervalWords(below)}`, collections]), golden.pauses);
});
