// The tree in its other orders, text in, text out. A box reads `name total(self)`, children in brackets.
import assert from "node:assert/strict";
import { test } from "node:test";
import { counterpart } from "./counterpart";
import { foldTree } from "../fold";
import { inTime } from "./in-time";
import { inverted } from "./inverted";
import { madeProfile } from "../../tables/made";
import { ALL, keptProfile } from "../../tables/kept";
import type { Moments, Profile } from "../../tables/profile";
import { buildTree, pathTo, placeOf, ROOT } from "../tree";
import type { Tree } from "../tree";
import type { BoxIndex, Count, Ns, ThreadIndex, Weight } from "../../units";
import { placeName } from "../../words";

function named(tree: Tree, box: BoxIndex): string {
  return placeName(placeOf(tree, box), { title: "app.py", processes: [], threads: [] });
}
function drawn(tree: Tree, weight: Weight, box: BoxIndex = ROOT): string {
  const [total, self] = [tree.total[weight][box] ?? 0, tree.self[weight][box] ?? 0];
  const below = tree.childrenOf(box, weight).map((child) => drawn(tree, weight, child));
  return `${named(tree, box)} ${total}${self === 0 ? "" : `(${self})`}${below.length === 0 ? "" : ` [${below.join(", ")}]`}`;
}

/** Each moment one sample of a row, in a bin of its own. */
function withMoments(text: string, rows: readonly number[]): Profile {
  const profile = madeProfile(text);
  const ones = rows.map(() => 1);
  const moments: Moments = { binLength: 1 as Ns, bin: rows.map((_, bin) => bin), row: rows, samples: ones as Count[], cpu: ones as Ns[], wall: ones as Ns[] };
  return { ...profile, moments };
}
function timed(profile: Profile): Tree {
  assert.ok(profile.moments !== null);
  return inTime(foldTree(buildTree(profile), "samples", new Set()), profile, profile.moments);
}

test("upside down, each place of its own time stands above its callers", () => {
  const tree = inverted(buildTree(madeProfile("foo;sum x1 | bar;sum x3 | bar x2")));
  assert.equal(drawn(tree, "samples"), "app.py 6 [sum 4(4) [bar 3, foo 1], bar 2(2)]");
});

test("upside down, all boxes of a level weigh what the recording weighs", () => {
  const tree = inverted(buildTree(madeProfile("a;b;c x5 | a;b x2 | d;b;c x4 | a;a;a x3")));
  const sum = tree.childrenOf(ROOT, "samples").reduce((sum, box) => sum + (tree.total.samples[box] ?? 0), 0);
  assert.equal(sum, 14);
  assert.equal(tree.total.samples[ROOT], 14);
  assert.equal(drawn(tree, "samples"), "app.py 14 [c 9(9) [b 9 [a 5, d 4]], a 3(3) [a 3 [a 3]], b 2(2) [a 2]]");
});

test("in time, equal calls merge only where one follows the other", () => {
  const profile = withMoments("main;load x2 | main;parse x2", [0, 1, 1, 0]);
  assert.equal(drawn(timed(profile), "samples"), "app.py 4 [main 4 [load 1(1), parse 2(2), load 1(1)]]");
  assert.equal(drawn(buildTree(profile), "samples"), "app.py 4 [main 4 [load 2(2), parse 2(2)]]");
});

test("in time, the interpreter's calls are folded", () => {
  const profile = withMoments("+_start;+Py_Main;main;load x1 | +_start;+Py_Main;main;parse x1", [0, 1, 0]);
  assert.equal(drawn(timed(profile), "samples"), "app.py 3 [(2 frames of the interpreter) 3 [main 3 [load 1(1), parse 1(1), load 1(1)]]]");
});

test("in time, each thread stands by itself", () => {
  const profile = withMoments("main;load x2 | main;work x3", [0, 1, 0, 1, 1]);
  const threads = [0, 1].map(() => ({ process: 0, tid: 1, name: "t", kernelName: null, formerNames: [] })) as unknown as Profile["threads"];
  const thread = profile.samples.stack.map((_, row) => row as ThreadIndex);
  const several = { ...profile, threads, samples: { ...profile.samples, thread } };
  assert.equal(drawn(timed(several), "samples"), "app.py 5 [thread ? 3 [main 3 [work 3(3)]], thread ? 2 [main 2 [load 2(2)]]]");
  // The moments of what is left are those of its rows.
  const kept = keptProfile(several, { ...ALL, thread: 1 as ThreadIndex });
  assert.equal(drawn(timed(kept), "samples"), "app.py 3 [main 3 [work 3(3)]]");
  const hidden = keptProfile(several, { ...ALL, focus: "load", time: { first: 1, end: 4 } });
  assert.equal(drawn(timed(hidden), "samples"), "app.py 1 [main 1 [load 1(1)]]");
});

test("a box is found again when the tree is turned, and turned back", () => {
  const tree = buildTree(madeProfile("foo;sum x1 | bar;sum x3 | bar x2"));
  const turned = inverted(tree);
  const [upright, upended] = [{ tree, isInverted: false }, { tree: turned, isInverted: true }];
  const sum = tree.childrenOf(tree.childrenOf(ROOT, "samples")[1] as BoxIndex, "samples")[0] as BoxIndex;
  const there = counterpart(upright, sum, upended, "samples");
  assert.deepEqual(pathTo(turned, there).map((box) => named(turned, box)), ["app.py", "sum"]);
  const foo = turned.childrenOf(there, "samples")[1] as BoxIndex;
  assert.equal(named(turned, foo), "foo");
  // The path is about sum, and the heaviest sum is below bar.
  assert.deepEqual(pathTo(tree, counterpart(upended, foo, upright, "samples")).map((box) => named(tree, box)), ["app.py", "bar", "sum"]);
  assert.equal(counterpart(upright, ROOT, upended, "samples"), ROOT);
});
