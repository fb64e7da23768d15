// The tree of boxes: text in, text out. A box reads `name total(self)`, children in brackets, heaviest first.
import assert from "node:assert/strict";
import { test } from "node:test";
import { callersOf, sumEverywhere } from "./everywhere";
import { madeProfile } from "../tables/made";
import { buildTree, placeOf, ROOT } from "./tree";
import type { Tree } from "./tree";
import type { BoxIndex, PlaceIndex, Weight } from "../units";
import { placeName } from "../words";

function drawn(tree: Tree, weight: Weight, box: BoxIndex = ROOT): string {
  const divisor = weight === "samples" ? 1 : 1_000_000;
  const total = (tree.total[weight][box] ?? 0) / divisor;
  const self = (tree.self[weight][box] ?? 0) / divisor;
  const below = tree.childrenOf(box, weight).map((child) => drawn(tree, weight, child));
  const name = placeName(placeOf(tree, box), { title: "app.py", processes: [], threads: [] });
  return `${name} ${total}${self === 0 ? "" : `(${self})`}${below.length === 0 ? "" : ` [${below.join(", ")}]`}`;
}
function checkTree(text: string, expected: string, weight: Weight = "samples"): void {
  assert.equal(drawn(buildTree(madeProfile(text)), weight), expected);
}

test("equal stacks are one, totals are selves summed up", () => {
  checkTree("main;load;+loads x3 | main;load x1", "app.py 4 [main 4 [load 4(1) [loads 3(3)]]]");
});

test("one function's different callers are never merged", () => {
  checkTree(
    "foo;sum12;sum1 x1 | foo;sum12;sum2 x10 | bar;sum12;sum1 x3 | bar;sum12;sum2 x1",
    "app.py 15 [foo 11 [sum12 11 [sum2 10(10), sum1 1(1)]], bar 4 [sum12 4 [sum1 3(3), sum2 1(1)]]]",
  );
});

test("a C function is one box, whichever line of it was executed; inlined ones stand under it", () => {
  checkTree("main;+sort#7;&merge#9 x2 | main;+sort#8;&merge#5 x1 | main;+sort#8 x4", "app.py 7 [main 7 [sort 7(4) [merge 3(3)]]]");
  checkTree("main;+sort;&sort x2", "app.py 2 [main 2 [sort 2 [sort 2(2)]]]");
});

test("each depth of a recursion is a box of its own", () => {
  checkTree("main;fib;fib;fib x2 | main;fib x1", "app.py 3 [main 3 [fib 3(1) [fib 2 [fib 2(2)]]]]");
});

test("an expression stands where the user's own code hands over, not between two own functions", () => {
  checkTree(
    "main:1[f()];f:7[b[i:]];+getitem x5 | main:2[g()];f:7[b[i:]];+getitem x1 | main:1[f()];f:8[x] x2",
    "app.py 8 [main 8 [f 8 [b[i:] 6 [getitem 6(6)], x 2(2)]]]",
  );
});

test("library functions get no expression of their own, own ones called by them stand on", () => {
  checkTree("main:1[s()];@sort:9[key()];key:3[k] x4", "app.py 4 [main 4 [s() 4 [sort 4 [key 4 [k 4(4)]]]]]");
});

test("waiting weighs wall time only and ends in a box that says what for", () => {
  const text = "main:4[sleep()];+sleep x9 in poll(2) | main:5[x] x1";
  checkTree(text, "app.py 1 [main 1 [x 1(1)]]", "cpu");
  checkTree(text, "app.py 10 [main 10 [sleep() 9 [sleep 9 [waiting in poll 9(9)]], x 1(1)]]", "wall");
});

test("a collection is running time with a box of its own", () => {
  checkTree("main;+gc_collect x2 in gc | main x1", "app.py 3 [main 3(1) [gc_collect 2 [in gc 2(2)]]]", "cpu");
});

test("several processes stand beside each other", () => {
  checkTree("main x2 | p2/main x3", "app.py 5 [process 3 [main 3(3)], process 2 [main 2(2)]]");
});

test("everywhere, a recursion counts once and every caller is named", () => {
  const tree = buildTree(madeProfile("main;fib;fib;fib x2 | main;fib x1 | other;fib x4"));
  const fib = tree.places.findIndex((place) => place.kind === "function" && place.frame.name === "fib") as PlaceIndex;
  const everywhere = sumEverywhere(tree, fib);
  assert.equal(everywhere.total.samples, 7);
  assert.equal(everywhere.self.samples, 7);
  const callers = callersOf(tree, everywhere, "samples", false).map(({ box, weight }) => `${placeName(placeOf(tree, box), { title: "", processes: [], threads: [] })} ${weight}`);
  assert.deepEqual(callers, ["other 4", "main 3"]);
});

test("everywhere, counted calls have the callers that made them", () => {
  const tree = buildTree(madeProfile("main;branch x3 | main;deep x1 | branch;leaf x21 | deep;deep x4"));
  const callersOfName = (name: string): string[] => {
    const place = tree.places.findIndex((at) => at.kind === "function" && at.frame.name === name) as PlaceIndex;
    return callersOf(tree, sumEverywhere(tree, place), "samples", true)
      .map(({ box, weight }) => `${placeName(placeOf(tree, box), { title: "", processes: [], threads: [] })} ${weight}`);
  };
  assert.deepEqual(["branch", "leaf", "deep"].map(callersOfName), [["main 3"], ["branch 21"], ["deep 4", "main 1"]]);
});
