// The page of `genba gc cycles`: what it reads, and what it refuses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Damaged } from "../tables/read";
import { madeCycles, madeKind } from "./made";
import { decodePicture } from "./kinds";

test("a kind has its classes, its references and what to drop", () => {
  const { argv, kinds: [kind] } = decodePicture(madeCycles(madeKind(["Node", "list"], [{ from: 0, to: 1, name: ".children" }, { from: 1, to: 0, name: "[…]", dropped: true }])));
  assert.deepEqual(argv, ["python3", "app.py"]);
  assert.deepEqual(kind?.graph.boxes, [{ name: "Node", objects: "150 objects" }, { name: "list", objects: "150 objects" }]);
  assert.deepEqual(kind.graph.arrows.map(({ line, isDropped }) => [line, isDropped]), [["Node.children → list", false], ["list[…] → Node", true]]);
  assert.equal(kind.advice, "drop Node.parent: make it a weakref");
});

test("a reference to a class that is not there is refused", () => {
  const words = "field kinds[0].graph.arrows[0].to: expected an index below 1, found 1";
  assert.throws(() => decodePicture(madeCycles(madeKind(["Node"], [{ from: 0, to: 1, name: "" }]))), (error) => error instanceof Damaged && error.message === words);
});

test("a page without numbers is refused", () => {
  for (const value of [null, [], {}, { kinds: [] }]) assert.throws(() => decodePicture(value), Damaged);
});
