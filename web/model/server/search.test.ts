// Queries into terms and back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { holdsQuery, piecesOf, termsOf, termText, termWords, withoutTerm, withQuery } from "./search";

const said = (query: string): string[] => termsOf(query).map(termWords);

test("terms in words", () => {
  assert.deepEqual(said("since:30d  host:api-* or build-* "), ["last 30 days", "host api-*, build-*"]);
  assert.deepEqual(said('function:parse cpu>2s size<1MB "two words" pytest'), ["function parse", "CPU > 2s", "size < 1MB", "two words", "pytest"]);
  assert.deepEqual(said("since:yesterday until:2026-11-17 since:1h until:2d"), ["since yesterday", "until 2026-11-17", "last hour", "until 2 days ago"]);
  assert.deepEqual(said('tag:"a b" or c or "d'), ["tag a b, c, d"]);
});

test("`or` belongs to a key that stands before it, and ends at the next key", () => {
  assert.deepEqual(said("host:a or tag:b"), ["host a", "or", "tag b"]);
  assert.deepEqual(said("one or two"), ["one", "or", "two"]);
});

test("what is half typed, or no key of ours, is a word", () => {
  assert.deepEqual(said("host: "), ["host:"]);
  assert.deepEqual(said("foo:bar http://x cpu:2s"), ["foo:bar", "http://x", "cpu:2s"]);
  assert.deepEqual(said('"'), [""]);
  assert.deepEqual(said("  "), []);
});

test("the pieces are the query", () => {
  for (const query of ["since:30d  host:api-* or b ", "", " x", "cpu>2s", 'a "b host:c" d:', "host:"]) {
    assert.equal(piecesOf(query).map(({ text }) => text).join(""), query);
  }
  assert.deepEqual(piecesOf("x host:a").map(({ isKey }) => isKey), [false, true, false]);
});

test("a term less, a term more", () => {
  const query = "since:30d  host:api-* or build-* cpu>1s";
  const [since, host] = termsOf(query);
  assert.ok(since !== undefined && host !== undefined);
  assert.equal(withoutTerm(query, host), "since:30d cpu>1s");
  assert.equal(withoutTerm(query, since), "host:api-* or build-* cpu>1s");
  assert.equal(termText(query, host), "host:api-* or build-*");
  assert.equal(withQuery(" a ", "tag:main"), "a tag:main");
  assert.equal(withQuery("", "tag:main"), "tag:main");
});

test("a query that is there already", () => {
  assert.ok(holdsQuery("x TAG:main since:30d".toLowerCase(), "tag:main"));
  assert.ok(!holdsQuery("tag:main", "tag:mai"));
  assert.ok(!holdsQuery("tag:main", ""));
});
