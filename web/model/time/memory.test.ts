// Memory in a range of time, and the stacks that were there: stacks as text in, names out.
// Ranges of a recording are the same here and for who asks the server: crates/profile/tests/profiles/memory.rs writes them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { commonStack, frequentStack, memoryLines } from "./memory";
import { decodeProfile } from "../tables/decode";
import { ALL, keptProfile } from "../tables/kept";
import { madeProfile } from "../tables/made";
import { buildTree, placeOf } from "../tree/tree";
import type { Tree } from "../tree/tree";
import type { BoxIndex, Ns, ProcessIndex, Weight } from "../units";
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

interface Frame {
  readonly kind: string;
  readonly name: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly module: string | null;
}
interface Golden {
  readonly profile: unknown;
  readonly ranges: readonly {
    readonly bins: readonly [number, number] | null;
    readonly answer: {
      readonly process: number;
      readonly weight: Weight;
      readonly windows: readonly { readonly mean_bytes: number | null; readonly max_bytes: number | null }[];
      readonly common: readonly Frame[];
      readonly most_frequent: { readonly frames: readonly Frame[]; readonly cpu_ns: number; readonly wall_ns: number; readonly samples: number };
    };
  }[];
}

function framesOf(tree: Tree, stack: readonly BoxIndex[]): Frame[] {
  return stack.flatMap((box): Frame[] => {
    const place = placeOf(tree, box);
    const absent = { file: null, line: null, module: null };
    switch (place.kind) {
      case "function":
        return [{ ...absent, kind: place.kind, name: place.frame.name, file: place.frame.file, line: place.frame.firstLine }];
      case "expression":
        return [{ ...absent, kind: place.kind, name: place.frame.expression ?? "", file: place.frame.file, line: place.frame.line }];
      case "foreign":
        return [{ ...absent, kind: place.kind, name: place.frame.name, module: place.frame.module }];
      case "state":
        return [{ ...absent, kind: place.kind, name: place.state }];
      default:
        return [];
    }
  });
}

test("a range is what the other side says", () => {
  const golden = JSON.parse(readFileSync("../testdata/page/memory.json", "utf8")) as Golden;
  const profile = decodeProfile({ field: "", value: golden.profile });
  assert.equal(golden.ranges.length, 5);
  const length = profile.moments?.binLength ?? 0;
  for (const { bins, answer } of golden.ranges) {
    const process = answer.process as ProcessIndex;
    const time = bins === null ? null : { first: bins[0], end: bins[1] };
    const tree = buildTree(keptProfile(profile, { ...ALL, process, time }));
    const { stack } = frequentStack(tree, answer.weight);
    const leaf = stack.at(-1) ?? (0 as BoxIndex);
    assert.deepEqual(framesOf(tree, commonStack(tree, answer.weight)), answer.common);
    assert.deepEqual(framesOf(tree, stack), answer.most_frequent.frames);
    const { cpu_ns, wall_ns, samples } = answer.most_frequent;
    assert.deepEqual([tree.self.cpu[leaf], tree.self.wall[leaf], tree.self.samples[leaf]], [cpu_ns, wall_ns, samples]);
    const kept = time === null ? null : { start: (time.first * length) as Ns, end: (time.end * length) as Ns };
    const line = memoryLines(profile, kept).lines.find((line) => line.process === process);
    const [window] = answer.windows;
    assert.deepEqual([line === undefined ? null : Math.round(line.mean), line?.max ?? null], [window?.mean_bytes, window?.max_bytes]);
  }
});
