// Where classes and references stand: nothing on top of another class, nothing outside of the picture, the reference to drop leads back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawingOf } from "./drawing";
import type { Drawing, Lines } from "./drawing";
import { madeCycles, madeKind } from "./made";
import { decodePicture } from "./kinds";

const LETTER_PX = 7;
const measure = (text: string): number => text.length * LETTER_PX;

function drawn(...kind: Parameters<typeof madeKind>): Drawing {
  const [read] = decodePicture(madeCycles(madeKind(...kind))).kinds;
  assert.ok(read);
  return drawingOf(read.graph, measure);
}

function overlap(one: Lines, other: Lines): boolean {
  return Math.abs(one.x - other.x) < (one.width + other.width) / 2 && Math.abs(one.y - other.y) < (one.height + other.height) / 2;
}

function checkPlaces({ width, height, boxes, arrows }: Drawing): void {
  for (const [place, box] of boxes.entries()) {
    for (const other of boxes.slice(place + 1)) assert.ok(!overlap(box, other), `${box.lines.join()} lies on ${other.lines.join()}`);
    for (const arrow of arrows) assert.ok(!overlap(box, arrow), `${arrow.lines.join()} lies on ${box.lines.join()}`);
  }
  for (const { x, y, width: wide, height: high, lines } of [...boxes, ...arrows]) {
    assert.ok(x - wide / 2 >= 0 && x + wide / 2 <= width && y - high / 2 >= 0 && y + high / 2 <= height, `${lines.join()} is outside`);
  }
  for (const [place, arrow] of arrows.entries()) {
    for (const other of arrows.slice(place + 1)) assert.ok(!overlap(arrow, other), `${arrow.lines.join()} lies on ${other.lines.join()}`);
    assert.match(arrow.path, /^M[\d.]+ [\d.]+[LQ]/);
    assert.match(arrow.head, /^M[\d.]+ [\d.]+L.*Z$/);
  }
}

test("an object that refers to itself", () => {
  const drawing = drawn(["dict"], [{ from: 0, to: 0, name: '["key"]', dropped: true }]);
  checkPlaces(drawing);
  assert.deepEqual(drawing.arrows[0]?.lines, ['["key"]', "× 150"]);
});

test("the reference to drop leads back to the left", () => {
  const drawing = drawn(["list", "Node"], [{ from: 0, to: 1, name: "[…]" }, { from: 1, to: 0, name: ".children" }, { from: 1, to: 1, name: ".parent", dropped: true }]);
  checkPlaces(drawing);
  for (const dropped of [0, 1, 2]) {
    const arrows = [0, 1, 2].map((from) => ({ from, to: (from + 1) % 3, name: ".next", dropped: from === dropped }));
    const around = drawn(["A", "B", "C"], arrows);
    checkPlaces(around);
    const leftward = arrows.filter(({ from, to }) => (around.boxes[from]?.x ?? 0) > (around.boxes[to]?.x ?? 0)).map(({ from }) => from);
    assert.deepEqual(leftward, [dropped]);
  }
});

test("several references of a class to itself have ends of their own", () => {
  const drawing = drawn(["a.module.with.a.Class"], ["next", "before", "parent"].map((name) => ({ from: 0, to: 0, name: `.${name}` })));
  checkPlaces(drawing);
  assert.equal(new Set(drawing.arrows.map(({ head }) => head)).size, 3);
});

test("fifteen classes with twenty-four references between them", () => {
  const classes = Array.from({ length: 15 }, (_, place) => `package.module.Class${place}`);
  const arrows = classes.flatMap((_, from) => ["a", "b", "c"].map((name) => ({ from, to: (from * 7 + name.charCodeAt(0)) % 15, name: `.${name}` })));
  checkPlaces(drawn(classes, arrows.slice(0, 24)));
});

test("a long name is cut", () => {
  const { boxes } = drawn(["x".repeat(1000)], []);
  assert.equal(boxes[0]?.lines[0], `${"x".repeat(40)}…`);
});
