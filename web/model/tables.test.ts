// Tables over a tree, and sandwiches: stacks as text in, text out. What functions and lines weigh is what the other side says:
// crates/profile/tests/profiles/lines.rs writes it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { groupRows } from "./groups";
import type { Grouping } from "./groups";
import { lineShares } from "./source";
import { decodeProfile } from "./tables/decode";
import { sumEverywhere } from "./tree/everywhere";
import { sandwich } from "./tree/sandwich";
import { CALLERS_MAX, oddest, splitOf } from "./tree/split";
import { madeProfile } from "./tables/made";
import { buildTree, placeOf, ROOT } from "./tree/tree";
import type { Tree } from "./tree/tree";
import type { BoxIndex, PlaceIndex, Weight } from "./units";
import { originName, placeName } from "./words";

const nameOf = (tree: Tree, box: BoxIndex): string => placeName(placeOf(tree, box), { title: "app.py", processes: [], threads: [] });
function table(text: string, by: Grouping): string {
  const tree = buildTree(madeProfile(text));
  const rows = groupRows(tree, by, "samples").sort((a, b) => b.total.samples - a.total.samples || (a.key < b.key ? -1 : 1));
  return rows.map((row) => `${by === "owner" || by === "file" || by === "origin" ? row.key : nameOf(tree, row.box)} ${row.total.samples}(${row.self.samples})`).join(", ");
}
function drawn(tree: Tree, box: BoxIndex = ROOT): string {
  const self = tree.self.samples[box] ?? 0;
  const below = tree.childrenOf(box, "samples").map((child) => drawn(tree, child));
  return `${nameOf(tree, box)} ${tree.total.samples[box] ?? 0}${self === 0 ? "" : `(${self})`}${below.length === 0 ? "" : ` [${below.join(", ")}]`}`;
}
function halves(text: string, name: string, isCounted = false): { callers: string; callees: string } {
  const tree = buildTree(madeProfile(text));
  const place = tree.places.findIndex((at) => placeName(at, { title: "app.py", processes: [], threads: [] }) === name) as PlaceIndex;
  const made = sandwich(tree, place, isCounted);
  return { callers: drawn(made.callers), callees: drawn(made.callees) };
}

test("a function's total counts a recursion once, and an expression's time is its function's own", () => {
  assert.equal(table("main;fib;fib;fib x2 | main;fib x1", "function"), "fib 3(3), main 3(0)");
  assert.equal(table("main:1[f()];f:7[b[i:]];+getitem x5 | main:1[f()];f:7[b[i:]] x2", "function"), "f 7(2), main 7(0), getitem 5(5)");
});

test("expressions, files and whose code it is", () => {
  const text = "main:1[f()];f:7[b[i:]];+getitem;%memmove x5 | main:2[g()];@lib x3";
  assert.equal(table(text, "expression"), "b[i:] 5(0), g() 3(0)");
  assert.equal(table(text, "line"), "b[i:] 5(0), g() 3(0)");
  assert.equal(table(text, "owner"), "user 8(0), interpreter 5(0), libc 5(5), library 3(3)");
});

test("C functions by what they are and where their names are from", () => {
  assert.equal(table("main:1[f()];+getitem;~copy;%memmove x5 | main;&inline x2 | !cut x1", "origin"), "c: 5(5), inferred: 5(0), inlined: 2(2)");
  assert.deepEqual(["c:symbol table", "inferred:symbol table", "inlined:debug information", "c:"].map(originName), ["symbol table", "inferred, symbol table", "inlined, debug information", "no name"]);
});

test("callers and callees of one function, merged over all places where it stands", () => {
  assert.deepEqual(halves("foo;sum12;sum1 x1 | foo;sum12;sum2 x10 | bar;sum12;sum1 x3 | bar;sum12;sum2 x1", "sum12"), {
    callers: "sum12 15 [foo 11 [app.py 11(11)], bar 4 [app.py 4(4)]]",
    callees: "sum12 15 [sum2 11(11), sum1 4(4)]",
  });
});

test("a recursion is entered from outside only", () => {
  assert.deepEqual(halves("main;fib;fib;fib x2 | main;fib x1", "fib"), {
    callers: "fib 3 [main 3 [app.py 3(3)]]",
    callees: "fib 3(1) [fib 2 [fib 2(2)]]",
  });
});

test("counted calls have the callers that were counted, and nothing above them", () => {
  const text = "main x1 | main;branch x3 | main;deep x1 | branch;leaf x21 | deep;deep x4 | leaf;+len x21";
  assert.deepEqual(halves(text, "branch", true), { callers: "branch 3 [main 3(3)]", callees: "branch 24(3) [leaf 21(21)]" });
  assert.deepEqual(halves(text, "leaf", true), { callers: "leaf 21 [branch 21(21)]", callees: "leaf 42(21) [len 21(21)]" });
  assert.deepEqual(halves(text, "deep", true), { callers: "deep 5 [deep 4(4), main 1(1)]", callees: "deep 5(1) [deep 4(4)]" });
  // It was called by nothing that was counted.
  assert.deepEqual(halves(text, "main", true), { callers: "main 1 [app.py 1(1)]", callees: "main 5(1) [branch 3(3), deep 1(1)]" });
});

/** Of each caller its weight and parts, and what is said of them. */
function split(text: string, name: string, columnsMax = 4, weight: Weight = "samples"): { rows: string[]; says: string | null } {
  const tree = buildTree(madeProfile(text));
  const place = tree.places.findIndex((at) => placeName(at, { title: "app.py", processes: [], threads: [] }) === name) as PlaceIndex;
  const made = splitOf(tree, sumEverywhere(tree, place), weight, columnsMax);
  const odd = oddest(made);
  const heads = [...made.columns.map((box) => nameOf(tree, box)), "itself", "others"];
  const rows = [...made.rows, made.all].map(({ caller, weight, parts }) => `${nameOf(tree, caller)} ${weight}: ${parts.map((part, at) => `${heads[at] ?? "?"} ${part}`).join(", ")}`);
  return { rows, says: odd === null ? null : `${nameOf(tree, odd.row.caller)}: ${heads[odd.part] ?? "?"}` };
}

test("what a function spends under each of its callers, and where one differs", () => {
  const text = "foo;sum12;sum1 x10 | foo;sum12;sum2 x100 | bar;sum12;sum1 x60 | bar;sum12;sum2 x30 | bar;sum12 x10";
  assert.deepEqual(split(text, "sum12"), {
    rows: ["foo 110: sum2 100, sum1 10, itself 0, others 0", "bar 100: sum2 30, sum1 60, itself 10, others 0", "foo 210: sum2 130, sum1 70, itself 10, others 0"],
    says: "foo: sum2",
  });
  assert.deepEqual(split(text, "sum12", 1).rows, ["foo 110: sum2 100, itself 0, others 10", "bar 100: sum2 30, itself 10, others 60", "foo 210: sum2 130, itself 10, others 70"]);
  // A recursion is entered from outside only.
  assert.deepEqual(split("main;fib;fib;fib x2 | main;fib x1", "fib").rows, ["main 3: fib 2, itself 1, others 0", "main 3: fib 2, itself 1, others 0"]);
});

test("a split of few samples, and one that is alike, is no claim", () => {
  assert.equal(split("foo;f;a x3 | bar;f;b x3", "f").says, null);
  assert.equal(split("foo;f;a x30 | bar;f;b x30", "f").says, "foo: a");
  assert.equal(split("foo;f;a x520 | foo;f;b x480 | bar;f;a x480 | bar;f;b x520", "f").says, null);
});

test("a wait of any length is no claim: what ran beside it does not tell how certain it is", () => {
  const text = "foo;f;a x30 | foo;f;recv x5000 in recvfrom(2) | bar;f;a x30 | bar;f;b x5000";
  assert.equal(split(text, "f", 4, "cpu").says, "foo: a");
  assert.equal(split(text, "f", 4, "wall").says, null);
});

test("a caller that has no row in the table is not named", () => {
  const alike = Array.from({ length: CALLERS_MAX }, (_, at) => `caller${at};f;a x100`);
  assert.equal(split([...alike, "rare;f;b x90"].join(" | "), "f").says, null);
  assert.equal(split([...alike.slice(1), "rare;f;b x90"].join(" | "), "f").says, "rare: b");
});

interface Golden {
  readonly profile: unknown;
  readonly weights: readonly {
    readonly weight: Weight;
    /** Of each line its share of the whole. */
    readonly functions: readonly { readonly file: string; readonly name: string; readonly total: number; readonly lines: readonly (readonly [number, number])[] }[];
  }[];
}

test("functions and lines of the user's own weigh what the other side says", () => {
  const golden = JSON.parse(readFileSync("../testdata/page/lines.json", "utf8")) as Golden;
  const profile = decodeProfile({ field: "", value: golden.profile });
  const tree = buildTree(profile);
  assert.equal(golden.weights.length, 3);
  for (const { weight, functions } of golden.weights) {
    assert.equal(functions.length, 3, weight);
    const rows = groupRows(tree, "function", weight).flatMap((row) => {
      const place = placeOf(tree, row.box);
      return place.kind === "function" && place.frame.owner === "user" ? `${place.frame.file ?? ""} ${place.frame.name} ${row.total[weight]}` : [];
    });
    assert.deepEqual(rows.sort(), functions.map(({ file, name, total }) => `${file} ${name} ${total}`).sort());
    const own = new Set(functions.map(({ file }) => file));
    const shares = [...lineShares(profile, weight)].filter(([file]) => own.has(file)).flatMap(([file, lines]) => [...lines].map(([line, share]) => `${file}:${line} ${share}`));
    const wanted = functions.flatMap(({ file, lines }) => lines.map(([line, share]) => `${file}:${line} ${share}`));
    assert.deepEqual(shares.sort(), wanted.sort(), weight);
  }
});
