// Names that want to be something else.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hashWords, shortProgram, shown, visible } from "./names";

test("characters that hide or turn text are written out", () => {
  assert.equal(visible("report\u202egpj.py"), "report⟨202E⟩gpj.py");
  assert.equal(visible("a\nb\u0000c\u200bd"), "a⟨000A⟩b⟨0000⟩c⟨200B⟩d");
  assert.equal(visible("<img src=x onerror=alert(1)> é 表 עברית"), "<img src=x onerror=alert(1)> é 表 עברית");
});

test("what is cut says how much", () => {
  assert.equal(shown("x".repeat(10), 10), "x".repeat(10));
  assert.equal(shown("x".repeat(5_000), 100), `${"x".repeat(100)}… (4,900 more characters)`);
  // Not in the middle of a character.
  assert.equal(shown("😀".repeat(3), 2), "😀😀… (1 more character)");
});

test("short words for hashes and programs", () => {
  assert.equal(hashWords(`9f31${"0".repeat(58)}c2`), "9f31…c2");
  assert.equal(shortProgram("import_orders.py october.csv"), "import_orders.py");
  assert.equal(shortProgram(""), "");
});
