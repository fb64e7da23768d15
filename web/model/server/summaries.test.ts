// Recordings, links and their facts in words, out of what the server answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Damaged } from "../tables/read";
import type { Ms } from "../units";
import { SORTS } from "./addresses";
import { decodeLink, decodeListed, decodeRecording, isBehind } from "./recordings";
import { isWorking, linkWords, readerRows, sizeWords, sparkPath, verdictOf } from "./summaries";

const facts = {
  program: "app.py", verdict: { kind: "one place", words: "17.7 % of CPU is x" }, cpu_ns: 2_700_000_000, wall_ns: null, samples: 2700, processes: 1, threads: 1,
  started_ms: null, pythons: ["3.13.0"], tags: [], spark: [0, 2, 1], span_ns: 1, accounting: "ticks 1 = sampled 1", masked: 1, sources: "own files whole", faults: [], ended: true,
};
const recording = {
  id: "ab12", name: "app.genba", program: "app.py", state: "sealed", live: false, owner: "sam", host: null, tags: ["main"], created_ms: 1, sealed_ms: 2, bytes: 214_000, sha256: "9f31",
  url: "/r/ab12", facts, kept_until_ms: null, may: { change: true },
};
const decoded = (change: object): ReturnType<typeof decodeRecording> => decodeRecording({ field: "", value: { ...recording, ...change } });
const said = (change: object): string => Object.values(verdictOf(decoded(change))).join(": ");

test("the verdict of a row, or why there is none", () => {
  assert.equal(said({}), "one place: 17.7 % of CPU is x");
  assert.equal(said({ live: true, state: "open" }), "live: so far 17.7 % of CPU is x");
  assert.equal(said({ live: true, state: "open", facts: null }), "live: nothing to judge yet");
  assert.equal(said({ state: "open", facts: null }), "uploading: the rest has not arrived yet");
  assert.equal(said({ facts: null }), "no summary: open the recording to see why");
  assert.equal(said({ facts: { ...facts, verdict: null } }), "not judged: 2,700 samples");
  assert.equal(sizeWords(decoded({})), "214 kB");
  assert.equal(sizeWords(decoded({ state: "open" })), "214 kB so far");
});

test("a summary that is not as expected never hides its recording", () => {
  assert.equal(decoded({ facts: { ...facts, spark: ["x"] } }).facts, null);
  assert.throws(() => decoded({ bytes: -1 }), Damaged);
});

test("links lead to this server", () => {
  for (const url of ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example"]) assert.throws(() => decoded({ url }), Damaged, url);
});

test("a whole list", () => {
  const listed = decodeListed({ field: "", value: { recordings: [recording], next: "b", reached: { place: 1, id: "ab12" }, looked: 10_000, matched: 1, matched_is_least: false, all: 412, all_bytes: 5, live: 0, chips: [{ query: "tag:main", label: "main", count: 11 }] } });
  assert.deepEqual([listed.recordings.length, listed.reached, listed.looked, listed.all, listed.chips[0]?.label], [1, { place: 1, id: "ab12" }, 10_000, 412, "main"]);
});

test("what is behind the place that a page reached, in each order", () => {
  const row = (id: string, place: number): ReturnType<typeof decodeRecording> => decoded({ id, created_ms: place, bytes: place, facts: { ...facts, cpu_ns: place, wall_ns: place } });
  for (const sort of SORTS) {
    const isAfter = (id: string, place: number): boolean => isBehind(row(id, place), sort, { place: 50, id: "m" });
    const isDown = sort !== "oldest";
    assert.deepEqual([isAfter("a", 49), isAfter("z", 51)], [isDown, !isDown], sort);
    // Equal ones are ordered by their ids; the one that was reached was listed.
    assert.deepEqual([isAfter("a", 50), isAfter("m", 50), isAfter("z", 50)], [isDown, false, !isDown], sort);
    assert.equal(isBehind(row("a", 49), sort, null), false);
  }
  // As the server orders those of which nothing is known yet.
  assert.equal(isBehind(decoded({ facts: null }), "cpu", { place: 1, id: "m" }), true);
});

test("what a reader can see", () => {
  const rows = readerRows(decoded({}).facts ?? assert.fail());
  assert.deepEqual(rows.map(([, value]) => value), ["1 secret masked", "all", "own files, whole", "yes", "never recorded"]);
});

test("links in words", () => {
  const now = new Date(2026, 10, 21, 9, 52).getTime() as Ms;
  const day = (at: number): number => new Date(2026, 10, at, 12).getTime();
  const link = { code: "k7", url: "/s/k7", recording: "ab12", made_by: "sam", made_ms: 1, expires_ms: day(28), revoked_ms: null, revoked_by: null, needs_token: false, fragment: "", opened: 0 };
  const words = (change: object): string => linkWords(decodeLink({ field: "", value: { ...link, ...change } }), now);
  assert.equal(words({}), "28 Nov, not opened yet");
  assert.equal(words({ opened: 6, needs_token: true }), "28 Nov, with a token, opened 6 times");
  assert.equal(words({ expires_ms: null, opened: 1 }), "never expires, opened once");
  assert.equal(words({ expires_ms: day(20) }), "expired 20 Nov, not opened yet");
  assert.equal(words({ revoked_ms: day(20), revoked_by: "sam" }), "revoked by sam, 20 Nov");
  assert.ok(isWorking(decodeLink({ field: "", value: link }), now));
});

test("the outline of CPU over time", () => {
  assert.equal(sparkPath([0, 2, 1], 30, 10), "M0 10V10H10V0H20V5H30V10Z");
  assert.equal(sparkPath([0, 0], 30, 10), "");
  assert.equal(sparkPath([], 30, 10), "");
});
