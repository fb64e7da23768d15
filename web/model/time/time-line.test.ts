// CPU over time: samples with their moments in, busy CPUs by column out.
import assert from "node:assert/strict";
import { test } from "node:test";
import { coresTop, cpuLine } from "./time-line";
import { madeProfile } from "../tables/made";
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
