// What the decoder refuses, and how it says so; source lines and rows that it makes possible.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeProfile, decodeRecording } from "./decode";
import { madeDocument, madeProfile } from "./made";
import { countsCalls } from "./totals";
import { whereRows } from "../rows";
import { lineShares, linesAround, markExpression } from "../source";
import { buildTree, placeOf } from "../tree/tree";
import type { Source } from "./profile";

function checkRefused(change: Record<string, unknown>, message: string): void {
  assert.throws(() => decodeProfile({ field: "", value: { ...madeDocument("main x1"), ...change } }), { name: "Damaged", message });
}

test("a refusal names the field, what was expected and what was found", () => {
  checkRefused({ version: 2 }, "field version: expected at most 1, which this page knows, found 2");
  checkRefused({ format: "pprof" }, 'field format: expected one of genba-profile, found "pprof"');
  checkRefused({ nodes: { parent: [null], frame: [7] } }, "field nodes.frame[0]: expected an index below 1, found 7");
  checkRefused({ nodes: { parent: [null], frame: [null] } }, "field nodes.frame[0]: expected a whole number from 0 on, found null");
  checkRefused({ nodes: { parent: [null], frame: [0.5] } }, "field nodes.frame[0]: expected a whole number from 0 on, found 0.5");
  checkRefused({ nodes: { parent: [0], frame: [0] } }, "field nodes.parent[0]: expected an index below 0, found 0");
  checkRefused({ nodes: { parent: [null, null], frame: [0] } }, "field nodes.parent: expected a column of 1 rows, found 2");
  checkRefused({ frames: [{ kind: "python" }] }, "field frames[0].name: expected text, found null");
  checkRefused({ warnings: "many" }, 'field warnings: expected a list, found "many"');
  const reports = { cpu: { weight: "wall", rows: [], folded: { rows: 0, share: 0 } } };
  assert.throws(() => decodeRecording({ profile: madeDocument("main x1"), reports }), { message: 'field reports.cpu.weight: expected one of cpu, found "wall"' });
  assert.throws(() => decodeRecording([]), { message: "field (whole text): expected an object, found []" });
});

const source = (text: string): Source[] => [{ path: "/app.py", fileName: "app.py", chunks: [{ firstLine: 1, lines: text.split("\n") }] }];
function checkMark(text: string, spot: { line: number; column: number; endColumn: number; expression: string }, expected: string): void {
  const marked = markExpression(source(text), { file: "/app.py", ...spot });
  const more = marked === null || marked.moreLines === 0 ? "" : ` +${marked.moreLines}`;
  assert.equal(marked === null ? "nothing" : `${marked.before}⟦${marked.marked}⟧${marked.after}${more}`, expected);
}

test("the mark stands under the expression, also behind tabs and wide characters, and its indent is gone", () => {
  checkMark("    n += len(b[i:][:2])", { line: 1, column: 13, endColumn: 18, expression: "b[i:]" }, "n += len(⟦b[i:]⟧[:2])");
  checkMark("\tx = 表['😀'][i:]", { line: 1, column: 5, endColumn: 15, expression: "表['😀'][i:]" }, "x = ⟦表['😀'][i:]⟧");
  checkMark("f(\n  1,\n)", { line: 1, column: 0, endColumn: 1, expression: "f(\n  1,\n)" }, "⟦f(⟧ +2");
  checkMark("x", { line: 9, column: 0, endColumn: 1, expression: "y" }, "nothing");
});

test("a line weighs each sample once, however often it is on the stack", () => {
  const profile = madeProfile("fib:2[a];fib:2[a];fib:3[n] x3 | fib:2[a] x1");
  const shares = lineShares(profile, "cpu");
  assert.deepEqual([...(shares.get("/app.py") ?? [])].sort(), [[2, 1], [3, 0.75]]);
  const lines = linesAround({ ...profile, sources: source("\n\ndef fib(n):\n\n") }, shares, { file: "/app.py", line: 2, around: 3 });
  assert.deepEqual(lines, [{ line: 3, text: "def fib(n):", share: 0.75 }]);
});

test("the rows are the report's, in each weight, tied to their boxes", () => {
  const text = "main:1[f()];+copy;%memmove x3 | main:2[sleep()];+sleep x5 in nanosleep(2) | @work:9[q.get()];+wait x1";
  const row = (at: { name?: string; line: number; expression: string; share: number; chain: string[] }): Record<string, unknown> => ({
    file: at.name === undefined ? "/app.py" : "/lib.py", line: at.line, end_line: at.line, byte_column: null, byte_end_column: null, function: at.name ?? "main", expression: at.expression,
    column: 4, end_column: 4 + at.expression.length, samples: 3, cpu_ns: 3_000_000, wall_ns: 3_000_000, share: at.share, chain: at.chain, chain_share: 0.9, split: [{ name: "memmove", share: 0.2 }], callers: [], phase: null,
  });
  const copying = row({ line: 1, expression: "f()", share: 0.75, chain: ["copy", "memmove"] });
  const waiting = row({ line: 2, expression: "sleep()", share: 0.5, chain: ["sleep", "in nanosleep(2)"] });
  const foreign = row({ name: "work", line: 9, expression: "q.get()", share: 0.25, chain: ["wait"] });
  const report = (weight: string, rows: unknown[]): unknown => ({ weight, rows, folded: { rows: 0, share: 0 } });
  const recording = decodeRecording({
    profile: madeDocument(text),
    reports: { cpu: report("cpu", [copying, foreign]), wall: report("wall", [waiting, copying]), samples: report("samples", [copying, waiting, row({ line: 1, expression: "g()", share: 0.2, chain: [] }), row({ line: 1, expression: "h()", share: 0.009, chain: [] })]) },
  });
  const tree = buildTree(recording.profile);
  const said = (weight: "cpu" | "wall" | "samples"): string[] =>
    whereRows(tree, recording, weight).map(({ row, box, linked }) => {
      const { chain, split } = linked();
      const place = box === null ? null : placeOf(tree, box);
      return `${row.expression ?? ""} ${row.share} ${place?.kind ?? "no box"} ${chain.map(({ name, tint }) => `${name}:${tint}`).join(" ")} ${row.chainShare} | ${split.map(({ link, share }) => `${link.name}:${link.tint} ${share}`).join(" ")}`;
    });
  assert.deepEqual(said("cpu"), ["f() 0.75 expression copy:interp memmove:libc 0.9 | memmove:libc 0.2", "q.get() 0.25 function wait:interp 0.9 | memmove:libc 0.2"]);
  assert.deepEqual(said("wall"), ["sleep() 0.5 expression sleep:interp waiting in nanosleep:wait 0.9 | memmove:libc 0.2", "f() 0.75 expression copy:interp memmove:libc 0.9 | memmove:libc 0.2"]);
  const order = whereRows(tree, recording, "samples").map(({ row, isFurther }) => `${row.expression ?? ""}${isFurther ? " too" : ""}`);
  assert.deepEqual(order, ["f()", "g() too", "sleep()", "h()"]);
});

test("calls are counted where every process says so; a page of an earlier genba does not", () => {
  const process = { pid: null, parent: null, cpu_ns: 0, python: null, executable: null, argv: [], refused: null, imported: "traced", threads: 1 };
  const isCounted = (...said: (boolean | undefined)[]): boolean =>
    countsCalls(decodeProfile({ field: "", value: { ...madeDocument("main x1"), processes: said.map((counts) => ({ ...process, counts_calls: counts })) } }));
  assert.deepEqual([isCounted(true), isCounted(true, true), isCounted(true, false), isCounted(undefined)], [true, true, false, false]);
});
