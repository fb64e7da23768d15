// The rows' chains and the verdict's places, each tied to the boxes below.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeRecording } from "./tables/decode";
import { madeDocument } from "./tables/made";
import type { Recording } from "./tables/profile";
import { whereRows } from "./rows";
import { buildTree, placeOf } from "./tree/tree";
import { verdictLines } from "./verdict";
import { placeName } from "./words";

interface Said {
  readonly line: number;
  readonly expression: string;
  readonly share: number;
  readonly chain: readonly string[];
  readonly split?: readonly string[];
}
function recorded(text: string, rows: readonly Said[], verdict?: unknown): Recording {
  const report = (weight: string): unknown => ({
    weight,
    verdict,
    folded: { rows: 0, share: 0 },
    rows: rows.map(({ line, expression, share, chain, split = [] }) => ({
      file: "/app.py", line, end_line: line, byte_column: null, byte_end_column: null, function: "main", expression, column: 4, end_column: 4 + expression.length,
      samples: 3, cpu_ns: 3_000_000, wall_ns: 3_000_000, share, chain, chain_share: chain.length > 0 ? 0.9 : null, split: split.map((name) => ({ name, share: 0.2 })), callers: [], phase: null,
    })),
  });
  return decodeRecording({ profile: madeDocument(text), reports: { cpu: report("cpu"), wall: report("wall"), samples: report("samples") } });
}
function checkChains(text: string, rows: readonly Said[], expected: string[]): void {
  const recording = recorded(text, rows);
  const marked = whereRows(buildTree(recording.profile), recording, "cpu").map(({ linked }) => linked()).map(({ chain, split }) =>
    [...chain, ...split.map(({ link }) => link)].map(({ name, inferred }) => (inferred ? `~${name}` : name)).join(" "),
  );
  assert.deepEqual(marked, expected);
}

test("a chip is inferred if its frame is: the same name may be inferred in one stack only", () => {
  checkChains(
    "main:1[f()];~get;+copy;%memmove x6 | main:2[g()];+get;~copy x3",
    [{ line: 1, expression: "f()", share: 0.6, chain: ["get", "copy"], split: ["memmove"] }, { line: 2, expression: "g()", share: 0.3, chain: ["get", "copy"] }],
    ["~get copy memmove", "get ~copy"],
  );
});

test("the heavier of two frames with one name decides, and inlined frames are skipped", () => {
  checkChains(
    "main:1[f()];~get;&inline;+copy x6 | main:1[f()];+get;+copy x3",
    [{ line: 1, expression: "f()", share: 1, chain: ["get", "copy"] }],
    ["~get copy"],
  );
});

test("a chain with a cut stack is not shown under a small row", () => {
  const chain = ["get", "C stack cut: no room"];
  checkChains(
    "main:1[f()];+get;!C stack cut: no room x6 | main:2[g()];+get;!C stack cut: no room x94",
    [{ line: 2, expression: "g()", share: 0.94, chain }, { line: 1, expression: "f()", share: 0.019, chain, split: ["get"] }],
    ["get C stack cut: no room", ""],
  );
});

test("a place of the verdict leads to the heaviest box in that line", () => {
  const at = (line: number | null, text: string, file = "/app.py"): unknown => ({ text, file, line, function: "main" });
  const lines = [
    [{ text: "60.0 % of 1.14 s CPU is " }, at(1, "app.py:1 main"), { text: "   f()" }],
    [{ text: "and 30.0 % is " }, at(2, "app.py:2 main"), { text: ", beside " }, at(7, "other.py:7 main", "/other.py")],
    [{ text: "next: " }, at(null, "main (app.py)")],
    [at(9, "app.py:9 main")],
  ];
  const verdict = { name: "one place", lines };
  const recording = recorded("main:1[f()];+copy x6 | main:2[g()] x3 | main:1[h] x1", [], verdict);
  const tree = buildTree(recording.profile);
  assert.ok(recording.verdict !== null);
  const said = verdictLines(tree, recording.verdict, "cpu").map((line) =>
    line.map(({ text, box }) => {
      const place = box === null ? null : placeOf(tree, box);
      return place === null ? text : `⟦${text}→${placeName(place, { title: "", processes: [], threads: [] })}⟧`;
    }).join(""),
  );
  assert.deepEqual(said, [
    "60.0 % of 1.14 s CPU is ⟦app.py:1 main→f()⟧   f()",
    "and 30.0 % is ⟦app.py:2 main→g()⟧, beside other.py:7 main",
    "next: ⟦main (app.py)→main⟧",
    // No sample is in that line any more: where the function is.
    "⟦app.py:9 main→main⟧",
  ]);
});

test("the page of an earlier genba has no verdict", () => {
  assert.equal(recorded("main x1", []).verdict, null);
});
