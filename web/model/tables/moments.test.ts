// Ranges of time are what the moments say: the numbers are those of the Rust side (crates/profile/tests/profiles/moments.rs writes them).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decodeProfile } from "./decode";
import { ALL, keptProfile } from "./kept";
import { beside, binCount, samplesIn } from "./moments";
import type { Samples } from "./profile";

interface Golden {
  readonly profile: unknown;
  readonly ranges: readonly { readonly first_bin: number; readonly end_bin: number; readonly rows: readonly GoldenRow[] }[];
}
interface GoldenRow {
  readonly node: number | null;
  readonly thread: number;
  readonly state: string;
  readonly samples: number;
  readonly cpu_ns: number;
  readonly wall_ns: number;
}

const golden = JSON.parse(readFileSync("../testdata/page/moments.json", "utf8")) as Golden;
const profile = decodeProfile({ field: "", value: golden.profile });

function words({ stack, thread, state, samples, cpu, wall }: Samples): string[] {
  const rows = stack.map((leaf, row) => `${leaf} ${thread[row]} ${profile.states[state[row] ?? 0]} ${samples[row]} ${cpu[row]} ${wall[row]}`);
  return rows.sort();
}

test("a range holds what the other side says", () => {
  assert.equal(golden.ranges.length, 5);
  for (const range of golden.ranges) {
    const wanted = range.rows.map((row) => `${row.node} ${row.thread} ${row.state} ${row.samples} ${row.cpu_ns} ${row.wall_ns}`).sort();
    assert.ok(wanted.length > 0);
    const time = { first: range.first_bin, end: range.end_bin };
    assert.deepEqual(words(samplesIn(profile, time).samples), wanted, `${range.first_bin}..${range.end_bin}`);
    assert.deepEqual(words(keptProfile(profile, { ...ALL, time }).samples), wanted);
  }
});

test("all bins hold all samples", () => {
  assert.ok(profile.moments !== null);
  const all = { first: 0, end: binCount(profile.moments) };
  assert.ok(all.end > 5);
  assert.deepEqual(words(samplesIn(profile, all).samples), words(profile.samples));
  assert.deepEqual(samplesIn(profile, { first: all.end, end: all.end + 5 }).samples.stack, []);
});

test("a range is compared with as much before it, or behind it", () => {
  assert.deepEqual(beside({ first: 5, end: 8 }, 10), [{ first: 2, end: 5 }, { first: 5, end: 8 }]);
  assert.deepEqual(beside({ first: 0, end: 4 }, 10), [{ first: 0, end: 4 }, { first: 4, end: 8 }]);
  assert.equal(beside({ first: 2, end: 8 }, 10), null);
});
