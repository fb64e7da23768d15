// Which address opens a place in an editor, and which patterns are none.
import assert from "node:assert/strict";
import { test } from "node:test";
import { editorAddress, EDITORS, isEditorPattern } from "./editor";

const place = { path: "/home/me/my app/$&.py", line: 6, column: 19 };

test("a place in each editor's own words, with what an address may not hold encoded", () => {
  assert.deepEqual(EDITORS.map(({ pattern }) => editorAddress(pattern, place)), [
    "vscode://file/home/me/my%20app/%24%26.py:6:19",
    "pycharm://open?file=/home/me/my%20app/%24%26.py&line=6&column=19",
    "zed://file/home/me/my%20app/%24%26.py:6:19",
  ]);
  assert.equal(editorAddress("ed:{path}", { ...place, path: "//host/app.py" }), "ed:/host/app.py", "a path is no host");
  assert.equal(editorAddress("ed:{path}", place), "ed:/home/me/my%20app/%24%26.py");
});

test("no address into the network or the page, and none of what is no file", () => {
  for (const pattern of ["https://host/{path}", "HTTP://host/{path}", "javascript:alert('{path}')", "data:text/html,{path}", "file://{path}", "{path}", "//host/{path}", "vscode://file", "", " javascript:{path}"]) {
    assert.equal(isEditorPattern(pattern), false, pattern);
    assert.equal(editorAddress(pattern, place), null);
  }
  assert.equal(editorAddress("vscode://file{path}", { ...place, path: "<string>" }), null);
});
