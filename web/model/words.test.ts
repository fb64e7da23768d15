// Numbers and accounting in words. What both say is what the terminal says: crates/profile/tests/profiles/page_words.rs reads the same files.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { madeProfile } from "./tables/made";
import type { BoxIndex, Count, Ns, Px, Share, Weighed, Weight } from "./units";
import { buildTree, placeOf, share } from "./tree/tree";
import { accountingWords, bytesWords, callersWords, cells, coresWords, countWords, exactWords, fitted, intervalWords, keptWords, paceWords, partWords, placeNature, placeWhere, shareWords, shown, stateName, timeWords, visible } from "./words";

test("times carry a unit and at most three digits", () => {
  const said = [0, 999, 1_000, 12_345, 999_600, 1_970_000_000, 61_234_000_000].map((ns) => timeWords(ns as Ns));
  assert.deepEqual(said, ["0 ns", "999 ns", "1.00 µs", "12.3 µs", "1.00 ms", "1.97 s", "61.2 s"]);
  assert.equal(timeWords(1_234_000_000_000 as Ns), "1,234 s");
  assert.deepEqual([1_000_000, 50_000, 1_500_000].map((ns) => intervalWords(ns as Ns)), ["1 ms", "50 µs", "1.5 ms"]);
});

/** Of each subject rows of numbers, and behind them what is said. */
type Figures = Readonly<Record<string, readonly (readonly (number | string)[])[]>>;

/** But for a share below 0.05 %, which is `< 0.1 %` on the page alone: the terminal says `0.0 %`. */
test("numbers are said as in the terminal", () => {
  const figures = JSON.parse(readFileSync("../testdata/page/figures.json", "utf8")) as Figures;
  const said: Readonly<Record<string, (numbers: readonly number[]) => string>> = {
    durations: ([duration]) => timeWords(duration as Ns),
    settings: ([duration]) => intervalWords(duration as Ns),
    shares: ([part, whole]) => shareWords(share(part ?? 0, whole ?? 0)),
    sizes: ([bytes]) => bytesWords(bytes ?? 0),
    counts: ([count]) => countWords(count as Count),
  };
  assert.deepEqual(Object.keys(figures), Object.keys(said));
  for (const [subject, rows] of Object.entries(figures)) {
    assert.deepEqual(rows.map((row) => said[subject]?.(row.slice(0, -1) as number[])), rows.map((row) => row.at(-1)), subject);
  }
});

test("parts and cores between two numbers become the even one, as the terminal rounds them", () => {
  assert.deepEqual([0.125, 0.375, 0.625].map((part) => partWords(part as Share)), ["12 %", "38 %", "62 %"]);
  assert.deepEqual([0.125, 0.375, 1, 2.625].map(coresWords), ["0.12 cores", "0.38 cores", "1.00 core", "2.62 cores"]);
});

interface Accounted {
  readonly accounting: Readonly<Record<string, unknown>>;
  readonly clocks: Readonly<Record<string, number>>;
  readonly ticks: string;
  /** Null: nothing is said of it. */
  readonly covered: string | null;
  readonly lost: string | null;
  readonly not_sampled: string | null;
  readonly not_recorded: string | null;
}

test("the accounting is said as in the terminal", () => {
  const cases = JSON.parse(readFileSync("../testdata/page/accounting.json", "utf8")) as readonly Accounted[];
  assert.ok(cases.length > 0);
  for (const { ticks, covered, lost, not_sampled, not_recorded, ...tables } of cases) {
    const { accounting, clocks } = madeProfile("main x1", { accounting: { cpu_ns: 0, cpu_genba_ns: 0, ...tables.accounting, ...tables.clocks } });
    const words = accountingWords(accounting, clocks);
    assert.deepEqual([words.ticks, words.covered], [ticks, covered === null ? "no CPU time" : `CPU covered ${covered}`]);
    const strain = (number: string | null, said: string): string[] => (number === null ? [] : [`${number} of ${said}`]);
    assert.deepEqual(words.strains, [...strain(lost, "the ticks gave no sample"), ...strain(not_sampled, "CPU are in no sample"), ...strain(not_recorded, "CPU not recorded")], ticks);
  }
});

test("an exact number has the unit of its weight", () => {
  const exact = (weight: Weight): string | undefined => exactWords(1_234_567 as Weighed, weight);
  assert.deepEqual((["cpu", "wall", "samples", "copied", "allocated"] as const).map(exact), ["1,234,567 ns", "1,234,567 ns", undefined, "1,234,567 bytes", "1,234,567 bytes"]);
});

test("the interval of most of the time stands beside the one it began with", () => {
  const meta = { interval: 1_000_000 as Ns, intervalMostly: 5_000_000 as Ns, budgetPerMille: 20 };
  assert.equal(paceWords(meta), "sampled every 1 ms, mostly 5 ms (budget 2 %)");
  assert.equal(paceWords({ ...meta, budgetPerMille: 5 }), "sampled every 1 ms, mostly 5 ms (budget 0.5 %)");
  assert.equal(paceWords({ ...meta, intervalMostly: meta.interval }), "sampled every 1 ms");
  // Written by an older genba.
  assert.equal(paceWords({ ...meta, intervalMostly: null, budgetPerMille: null }), "sampled every 1 ms");
  assert.equal(paceWords({ ...meta, interval: null }), null);
});

test("a share that is not nothing never reads as nothing", () => {
  assert.deepEqual([0, 0.0004, 0.0005, 0.976, 1].map((at) => shareWords(at as Share)), ["0.0 %", "< 0.1 %", "0.1 %", "97.6 %", "100.0 %"]);
});

test("the callers of a row, and the share of the others", () => {
  const caller = (line: number, share: number): { file: string; fileName: string; line: number; function: string; share: Share } => ({ file: "/app/views.py", fileName: "views.py", line, function: "page", share: share as Share });
  assert.equal(callersWords([caller(88, 0.5), caller(20, 0.3)]), "← views.py:88 page 50 %, ← views.py:20 page 30 %, others 20 %");
  assert.equal(callersWords([caller(88, 0.7), caller(20, 0.3)]), "← views.py:88 page 70 %, ← views.py:20 page 30 %");
  assert.equal(callersWords([]), "");
});

test("what a filter kept, in each weight", () => {
  const totals = (samples: number, cpu_ns: number, wall_ns: number): Record<string, number> => ({ samples, cpu_ns, wall_ns });
  const filters = { flags: ["--thread worker", "--focus 'a b'"], share: 0.25, kept: totals(1, 250_000_000, 0), whole: totals(3, 1_000_000_000, 0) };
  const { filters: decoded } = madeProfile("main x1", { filters });
  assert.ok(decoded);
  assert.deepEqual((["cpu", "wall", "samples"] as const).map((weight) => keptWords(decoded, weight)), [
    "kept: 25.0 % of 1.00 s CPU (--thread worker --focus 'a b'). Shares are of what is kept.",
    "kept: 0.0 % of 0 ns wall (--thread worker --focus 'a b'). Shares are of what is kept.",
    "kept: 33.3 % of 3 samples (--thread worker --focus 'a b'). Shares are of what is kept.",
  ]);
  assert.equal(madeProfile("main x1").filters, null);
});

test("bytes", () => {
  assert.deepEqual([12, 41_000, 19_900_000_000].map(bytesWords), ["12 bytes", "41.0 kB", "19.9 GB"]);
});

test("a name is cut with a mark, wide characters count double, and nothing is better than a crumb", () => {
  const fit = (name: string, room: number): string | null => fitted(name, room as Px, 1 as Px);
  assert.deepEqual([fit("memmove", 7), fit("memmove", 5), fit("memmove", 2), fit("表表表", 6), fit("表表表", 5)], ["memmove", "memm…", null, "表表表", "表表…"]);
  assert.equal(cells("表[i:]"), 6);
});

test("a reader waits; the recording names the call", () => {
  assert.deepEqual(["in poll(2)", "in read(2) on a pipe", "waiting for GIL", "asleep", "in gc"].map(stateName), ["waiting in poll", "waiting in read on a pipe", "waiting for GIL", "asleep", "in gc"]);
});

test("an inlined function says so, and where its source and its module are", () => {
  const tree = buildTree(madeProfile("main;+sort;&merge#9 x1"));
  const place = tree.places.find((at) => at.kind === "foreign" && at.frame.kind === "inlined") ?? placeOf(tree, 0 as BoxIndex);
  assert.equal(placeWhere(place), "listobject.c · python3");
  assert.equal(placeNature(place), "C function of the interpreter · inlined by the compiler into the function above it · no name found");
});

test("the accounting is words, and says what strains it", () => {
  const { accounting, clocks } = madeProfile("main x1000");
  const at = (changes: { refused?: number; dropped?: number; ticks?: number; missed?: number; killed?: number }): string[] => {
    const refused = (changes.refused ?? 0) as Count;
    const dropped = (changes.dropped ?? 0) as Count;
    const ticks = (changes.ticks ?? 1000 + refused + dropped) as Count;
    const missed = (changes.missed ?? 0) as Ns;
    const words = accountingWords(
      { ...accounting, ticks, refused: [{ name: "moved", ticks: refused }], dropped: [{ name: "late", ticks: dropped }] },
      { ...clocks, cpu: (clocks.cpu + missed) as Ns, cpuNotSampled: missed, cpuNotRecorded: (changes.killed ?? 0) as Ns },
    );
    return [words.ticks, words.covered, ...words.strains];
  };
  assert.deepEqual(at({}), ["ticks 1,000 = sampled 1,000 + dropped 0 + refused 0", "CPU covered 100.0 %"]);
  const ended = accountingWords({ ...accounting, ticks: 1900 as Count, refused: [{ name: "thread ended", ticks: 900 as Count }], dropped: [] }, clocks);
  assert.deepEqual([ended.ticks, ended.strains], ["ticks 1,900 = sampled 1,000 + dropped 0 + refused 900 (thread ended 900)", []]);
  const imported = accountingWords({ ...accounting, ticks: 9 as Count, sampled: 9 as Count, refused: [], dropped: [] }, { ...clocks, cpuNotSampled: 5 as Ns }, true);
  assert.deepEqual([imported.covered, imported.strains], ["CPU time not measured by genba", []]);
  assert.deepEqual(at({ refused: 2 }), ["ticks 1,002 = sampled 1,000 + dropped 0 + refused 2 (moved 2)", "CPU covered 100.0 %"]);
  assert.deepEqual(at({ dropped: 25 }).slice(2), []);
  assert.deepEqual(at({ dropped: 75 }), ["ticks 1,075 = sampled 1,000 + dropped 75 (late 75) + refused 0", "CPU covered 100.0 %", "7.0 % of the ticks gave no sample"]);
  assert.deepEqual(at({ missed: 250_000_000 }), ["ticks 1,000 = sampled 1,000 + dropped 0 + refused 0", "CPU covered 80.0 %", "250 ms of CPU are in no sample"]);
  assert.deepEqual(at({ killed: 1_000_000_000 }).slice(1), ["CPU covered 50.0 %", "0 ns of CPU are in no sample", "1.00 s of CPU not recorded"]);
  assert.deepEqual(at({ killed: 5_000_000 }).slice(1), ["CPU covered 99.5 %"]);
  assert.deepEqual(at({ missed: 10_500_000 }).at(1), "CPU covered 98.9 %");
  assert.deepEqual(at({ ticks: 1001 }), ["ticks 1,001 = sampled 1,000 + dropped 0 + refused 0", "CPU covered 100.0 %", "the ticks do not add up: this recording is damaged"]);
});

test("characters that hide or turn text are written out", () => {
  assert.equal(visible("report\u202egpj.py"), "report⟨202E⟩gpj.py");
  assert.equal(visible("a\nb\u0000c\u200bd"), "a⟨000A⟩b⟨0000⟩c⟨200B⟩d");
  assert.equal(visible("<img src=x onerror=alert(1)> é 表 עברית"), "<img src=x onerror=alert(1)> é 表 עברית");
});

test("what is cut says how much", () => {
  assert.equal(shown("x".repeat(10), 10), "x".repeat(10));
  assert.equal(shown("x".repeat(5_000), 100), `${"x".repeat(100)}… (4,900 more characters)`);
  // Not in the middle of a character.
  assert.equal(shown("😀".repeat(3), 2), "😀😀… (1 more character)");
});
