// CPU over time and lanes: samples with their moments in, busy CPUs by column and what each thread did out.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { coresTop, cpuLine, threadLanes } from "./time-line";
import { decodeProfile } from "../tables/decode";
import { madeProfile } from "../tables/made";
import { binCount } from "../tables/moments";
import { TINTS } from "../tint";
import type { Tint } from "../tint";
import type { Count, Ns } from "../units";

test("a last column of fewer bins counts as many CPUs as the others", () => {
  const moments = {
    binLength: 10 as Ns,
    bin: [0, 1, 2],
    row: [0, 0, 0],
    samples: [1, 1, 1] as Count[],
    cpu: [20, 20, 20] as Ns[],
    wall: [20, 20, 20] as Ns[],
  };
  assert.deepEqual(cpuLine(madeProfile("main x3"), moments, 2), { cores: [2, 2], gc: [0, 0], coresMax: 2, columns: 1.5 });
});

test("a little more than a CPU is a CPU, not two", () => {
  const tops = [0, 0.4, 1, 1.03, 1.1, 1.2, 2.05, 3.5].map((coresMax) => coresTop({ cores: [], gc: [], coresMax, columns: 1 }));
  assert.deepEqual(tops, [1, 1, 1, 1, 1, 2, 2, 4]);
});

/** What runs Python, and collections: nobody does that without the GIL. */
const HELD: readonly Tint[] = ["own", "own-2", "lib", "gc"];

test("the warm colours and red of a lane are the time in which its thread surely held the GIL", () => {
  const { profile: tables } = JSON.parse(readFileSync("../testdata/page/moments.json", "utf8")) as { readonly profile: unknown };
  const golden = JSON.parse(readFileSync("../testdata/page/held.json", "utf8")) as readonly { readonly bin: number; readonly thread: number; readonly wall_ns: number }[];
  const profile = decodeProfile({ field: "", value: tables });
  const { moments } = profile;
  assert.ok(moments !== null);
  const bins = binCount(moments);
  const { columns, lanes } = threadLanes(profile, moments, { range: { first: 0, end: bins }, process: null, columnsMax: bins });
  assert.equal(columns, bins);
  const held = lanes.flatMap(({ thread, walls }) => Array.from({ length: columns }, (_, bin) => {
    const wall_ns = HELD.reduce((sum, tint) => sum + (walls[bin * TINTS.length + TINTS.indexOf(tint)] ?? 0), 0);
    return { bin, thread, wall_ns };
  }));
  assert.deepEqual(held.filter(({ wall_ns }) => wall_ns > 0), golden);
  // A thread in C code may have given it up.
  const all = lanes.reduce((sum, { walls }) => sum + walls.reduce((of, wall) => of + wall, 0), 0);
  assert.ok(all > golden.reduce((sum, { wall_ns }) => sum + wall_ns, 0));
});

test("whose colours say that a thread held the GIL", () => {
  const text = "main;@load x1 | main;+sort x1 | main;%memcpy x1 | main;~encode x1 | main;+collect x1 in gc | main x1 in poll(2) | main x1 waiting for GIL";
  const made = madeProfile(text);
  const once = made.samples.stack.map(() => 1);
  const moments = { binLength: 1 as Ns, bin: once.map((_, row) => row), row: once.map((_, row) => row), samples: once as Count[], cpu: once as Ns[], wall: once as Ns[] };
  const [lane] = threadLanes(made, moments, { range: { first: 0, end: once.length }, process: null, columnsMax: once.length }).lanes;
  const tints = once.map((_, bin) => TINTS.find((_, at) => (lane?.walls[bin * TINTS.length + at] ?? 0) > 0));
  assert.deepEqual(tints, ["lib", "interp", "libc", "interp", "gc", "wait", "gil"]);
});
