// Commands to paste.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pushCommands, tokenCommand } from "./commands";

test("a token in a terminal", () => {
  assert.equal(tokenCommand("ci-orders", ["read", "write"], "1y"), "genba serve token add ci-orders --scope read,write --expires 1y");
  assert.equal(tokenCommand("", ["admin"], "never"), "genba serve token add NAME --scope admin --expires never");
});

test("pushes name the server", () => {
  assert.deepEqual(Object.values(pushCommands("http://h:8970")), ["genba run --push http://h:8970 app.py", "genba push app.genba http://h:8970", "genba push --dry-run app.genba http://h:8970"]);
});
