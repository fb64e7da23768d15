// Where boxes stand: each row as `name@x+width`, runs as `«boxes»@x+width`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { find } from "./find";
import { layOut, neighbour, slotAt, zoomFor } from "./layout";
import type { Direction } from "./layout";
import { madeProfile } from "../tables/made";
import { buildTree, placeOf, ROOT } from "./tree";
import type { Tree } from "./tree";
import type { BoxIndex, Px } from "../units";
import { placeName } from "../words";

const nameOf = (tree: Tree, box: BoxIndex): string => placeName(placeOf(tree, box), { title: "app.py", processes: [], threads: [] });
const boxNamed = (tree: Tree, name: string): BoxIndex => tree.parent.findIndex((_, box) => nameOf(tree, box as BoxIndex) === name) as BoxIndex;

function checkRows(text: string, at: { zoom?: string; width: number }, expected: string[]): void {
  const tree = buildTree(madeProfile(text));
  const zoom = at.zoom === undefined ? ROOT : boxNamed(tree, at.zoom);
  const layout = layOut(tree, { zoom, weight: "samples", width: at.width as Px });
  const rows = layout.rows.map((row) =>
    row.map(({ x, width, shows }) => `${shows.kind === "run" ? `«${shows.boxes}»` : nameOf(tree, shows.box)}@${x}+${width}`).join(" "),
  );
  assert.deepEqual(rows, expected);
}

test("widths are weights, heaviest first", () => {
  checkRows("a;b x1 | a;c x3 | d x4", { width: 80 }, ["app.py@0+80", "a@0+40 d@40+40", "c@0+30 b@30+10"]);
});

test("zoomed, the way to the box keeps its rows at full width", () => {
  checkRows("a;b x1 | a;c x3 | d x4", { width: 80, zoom: "a" }, ["app.py@0+80", "a@0+80", "c@0+60 b@60+20"]);
});

test("narrow boxes merge into one run that counts what it hides", () => {
  checkRows("a x997 | b;x;y x1 | c x1 | d x1", { width: 1000 }, ["app.py@0+1000", "a@0+997 «5»@997+3"]);
  checkRows("a x9 | b x1", { width: 15 }, ["app.py@0+15", "a@0+13.5 b@13.5+1.5"]);
});

test("everything measured is under the pointer, gaps are nothing", () => {
  const tree = buildTree(madeProfile("a;b x6 | a x2 | d x2"));
  const layout = layOut(tree, { zoom: ROOT, weight: "samples", width: 100 as Px });
  const at = (depth: number, x: number): string => {
    const slot = slotAt(layout, { depth, x: x as Px });
    return slot === null ? "nothing" : slot.shows.kind === "run" ? "run" : nameOf(tree, slot.shows.box);
  };
  assert.deepEqual([at(0, 99), at(1, 79), at(1, 80), at(2, 59), at(2, 60), at(3, 1), at(1, 100)], ["app.py", "a", "d", "b", "nothing", "nothing", "nothing"]);
});

test("arrows walk to the caller, the heaviest below, and the siblings; at an end they stay", () => {
  const tree = buildTree(madeProfile("a;b x1 | a;c x3 | d x4 | e x5"));
  const walk = (from: string, ...directions: Direction[]): string =>
    nameOf(tree, directions.reduce((box, direction) => neighbour(tree, "samples", box, direction), boxNamed(tree, from)));
  assert.equal(walk("app.py", "up"), "app.py");
  assert.equal(walk("app.py", "down"), "e");
  assert.equal(walk("e", "right", "right", "right"), "d");
  assert.equal(walk("d", "first"), "e");
  assert.equal(walk("a", "down", "right"), "b");
  assert.equal(walk("b", "down"), "b");
});

test("a row is read under its function", () => {
  const tree = buildTree(madeProfile("main;f:7[b[i:]];+getitem x5"));
  assert.equal(nameOf(tree, zoomFor(tree, boxNamed(tree, "b[i:]"))), "f");
});

test("search counts each sample once and stops at the outermost boxes", () => {
  const tree = buildTree(madeProfile("main;fib;fib x2 | main;fib x1 | other;FIBRE x4 | main;x x3"));
  const found = find(tree, "samples", " Fib ");
  assert.ok(found !== null);
  assert.deepEqual(found.stops.map((box) => nameOf(tree, box)), ["FIBRE", "fib"]);
  assert.equal(found.weight, 7);
  assert.equal(found.share, 0.7);
  assert.equal(find(tree, "samples", "  "), null);
  assert.deepEqual(find(tree, "samples", "nobody")?.stops, []);
  assert.deepEqual(["nobody", "/(/"].map((query) => find(tree, "samples", query)?.isWrong), [false, true]);
  const waits = buildTree(madeProfile("main x1 | main x2 in futex(2)"));
  assert.deepEqual(["waiting in futex", "in futex(2)"].map((query) => find(waits, "wall", query)?.stops.length), [1, 1]);
  const names = (query: string): string[] | undefined => find(tree, "samples", query)?.stops.map((box) => nameOf(tree, box));
  assert.deepEqual(names("/^(fib|x)$/"), ["fib", "x"]);
  assert.deepEqual(names("/(/"), []);
});
