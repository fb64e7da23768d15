// Short names of a server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashWords, shortProgram } from "./names";

test("short words for hashes and programs", () => {
  assert.equal(hashWords(`9f31${"0".repeat(58)}c2`), "9f31…c2");
  assert.equal(shortProgram("import_orders.py october.csv"), "import_orders.py");
  assert.equal(shortProgram(""), "");
});
