// The tree with the interpreter's runs folded: text in, text out, as in tree.test.ts. The runs are those of `genba tree`:
// crates/profile/tests/profiles/tree_fold.rs writes them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { foldTree, standsFor } from "./fold";
import { decodeProfile } from "../tables/decode";
import { madeProfile } from "../tables/made";
import { buildTree, pathTo, placeOf, ROOT } from "./tree";
import type { Place, Tree, Weights } from "./tree";
import type { BoxIndex, Weight } from "../units";
import { fileName } from "../tables/file-names";
import { placeName } from "../words";

const nameOf = (tree: Tree, box: BoxIndex): string => placeName(placeOf(tree, box), { title: "app.py", processes: [], threads: [] });
function drawn(tree: Tree, box: BoxIndex = ROOT): string {
  const self = tree.self.samples[box] ?? 0;
  const below = tree.childrenOf(box, "samples").map((child) => drawn(tree, child));
  return `${nameOf(tree, box)} ${tree.total.samples[box] ?? 0}${self === 0 ? "" : `(${self})`}${below.length === 0 ? "" : ` [${below.join(", ")}]`}`;
}
function checkFold(text: string, expected: string): void {
  assert.equal(drawn(foldTree(buildTree(madeProfile(text)), "samples", new Set())), expected);
}

test("a stack begins at the program's first frame, beside the branches that are light", () => {
  checkFold("+_start;%start_main;+run_mod;main x9", "app.py 9 [(3 frames of the interpreter) 9 [main 9(9)]]");
  checkFold(
    "+_start;%start_main;+run_mod;main x998 | +_start;%start_main;+init x1 | +_start x1",
    "app.py 1000 [(3 frames of the interpreter) 1000(1) [main 998(998), init 1(1)]]",
  );
});

test("a frame with two heavy children, or with time of its own, is a box", () => {
  checkFold(
    "+_start;+main;+run;+run_mod;main x60 | +_start;+main;+run;+end x40",
    "app.py 100 [(3 frames of the interpreter) 100 [run_mod 60 [main 60(60)], end 40(40)]]",
  );
  checkFold("+_start;+run_mod x9 | +_start;+run_mod;main x9", "app.py 18 [_start 18 [run_mod 18(9) [main 9(9)]]]");
});

test("between two functions only calls that are passed on are folded", () => {
  checkFold(
    "main;^PyObject_Vectorcall;^cfunction_vectorcall_O;+list_sort;^_PyEval_Vector;^_PyEval_EvalFrame;@key x4",
    "app.py 4 [main 4 [(2 frames of the interpreter) 4 [list_sort 4 [(2 frames of the interpreter) 4 [key 4(4)]]]]]",
  );
  checkFold("main;+PyObject_GetItem;+bytes.__getitem__;%memmove x4", "app.py 4 [main 4 [PyObject_GetItem 4 [bytes.__getitem__ 4 [memmove 4(4)]]]]");
});

test("a thread that runs no Python keeps its frames", () => {
  checkFold("%clone3;+thread_run;+mi_free x4", "app.py 4 [clone3 4 [thread_run 4 [mi_free 4(4)]]]");
});

test("each process begins at its program's first frame", () => {
  checkFold(
    "+_start;+run_mod;main x2 | p2/+_start;+run_mod;main x3",
    "app.py 5 [process 3 [(2 frames of the interpreter) 3 [main 3(3)]], process 2 [(2 frames of the interpreter) 2 [main 2(2)]]]",
  );
});

test("a run that was opened has all its boxes; folded, it is its first box alone", () => {
  const whole = buildTree(madeProfile("+_start;%start_main;+run_mod;main x9"));
  const folded = foldTree(whole, "samples", new Set());
  const [first, , last, main] = [1, 2, 3, 4] as BoxIndex[];
  assert.ok(first !== undefined && last !== undefined && main !== undefined);
  assert.equal(standsFor(folded, last), first);
  assert.equal(standsFor(folded, main), main);
  assert.deepEqual(pathTo(folded, main), [ROOT, first, main]);
  assert.equal(folded.depth[main], 2);
  const open = foldTree(whole, "samples", new Set([last]));
  assert.equal(drawn(open), drawn(whole));
  assert.equal(open.depth[main], 4);
});

/** Samples, CPU and wall time. */
type Sums = readonly [number, number, number];
interface Line {
  readonly depth: number;
  readonly name: string;
  readonly total: Sums;
  readonly self: Sums;
}
interface Golden {
  readonly profile: unknown;
  readonly trees: readonly { readonly weight: Weight; readonly lines: readonly Line[] }[];
}

/** As the terminal writes it. */
function lineName(place: Place): string {
  switch (place.kind) {
    case "function":
      return `${place.frame.name} (${fileName(place.frame.file ?? "")}:${place.frame.firstLine ?? 0})`;
    case "foreign":
      return `${place.frame.name} [${fileName(place.frame.module ?? "")}]`;
    case "state":
      return place.state;
    default:
      return placeName(place, { title: "app.py", processes: [], threads: [] });
  }
}

/** The lines of the terminal's tree: what an expression calls its function calls, and calls below 1 % have no line. */
function linesOf(tree: Tree, weight: Weight): Line[] {
  const weights = tree.total[weight];
  const isExpression = (box: BoxIndex): boolean => placeOf(tree, box).kind === "expression";
  const callsOf = (box: BoxIndex): readonly BoxIndex[] => tree.childrenOf(box, weight);
  const sums = ({ samples, cpu, wall }: Weights, boxes: readonly BoxIndex[]): Sums => {
    const sum = (column: Float64Array): number => boxes.reduce((all, box) => all + (column[box] ?? 0), 0);
    return [sum(samples), sum(cpu), sum(wall)];
  };
  const below = (box: BoxIndex, depth: number): Line[] => {
    const parts = [box, ...callsOf(box).filter(isExpression)];
    const calls = parts.flatMap(callsOf).filter((call) => !isExpression(call) && (weights[call] ?? 0) >= 0.01 * (weights[ROOT] ?? 0));
    const line = { depth, name: lineName(placeOf(tree, box)), total: sums(tree.total, [box]), self: sums(tree.self, parts) };
    return [line, ...calls.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0)).flatMap((call) => below(call, depth + 1))];
  };
  return below(ROOT, -1).slice(1);
}

test("runs and their figures are those of the terminal's tree", () => {
  const golden = JSON.parse(readFileSync("../testdata/page/fold.json", "utf8")) as Golden;
  const whole = buildTree(decodeProfile({ field: "", value: golden.profile }));
  assert.equal(golden.trees.length, 3);
  for (const { weight, lines } of golden.trees) {
    assert.ok(lines.some(({ name }) => name.endsWith("frames of the interpreter)")), weight);
    assert.deepEqual(linesOf(foldTree(whole, weight, new Set()), weight), lines, weight);
  }
  // The thread that waits has no weight in CPU, so its frames fold in wall time only.
  const [cpu, wall] = golden.trees.map(({ lines }) => lines.filter(({ name }) => name.startsWith("(")).length);
  assert.deepEqual([cpu, wall], [4, 5]);
});
