// The names are those of crates/profile/src/tables/file_names.rs, which has the same table.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileNames } from "./file-names";

void test("a name is as long as tells it from all others", () => {
  const named: readonly (readonly [string, string])[] = [
    ["/app/views.py", "app/views.py"],
    ["/app/users/views.py", "users/views.py"],
    ["views.py", "views.py"],
    ["/app/main.py", "main.py"],
    ["<string>", "<string>"],
    ["", ""],
  ];
  assert.deepEqual([...fileNames(named.map(([path]) => path))].sort(), [...named].sort());
});
