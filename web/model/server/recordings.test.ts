// Counts of a search in words.
import assert from "node:assert/strict";
import { test } from "node:test";
import { lookedWords, matchWords } from "./recordings";

test("how many match, as far as the server looked", () => {
  const words = (matched: number, isLeast: boolean): string => matchWords({ matched, isLeast });
  assert.equal(words(1, false), "1 recording matches");
  assert.equal(words(6, false), "6 recordings match");
  assert.equal(words(1, true), "1+ recordings match");
  assert.equal(words(1_000, true), "1,000+ recordings match");
  assert.equal(words(0, true), "Older recordings may match");
});

test("how far a search has come", () => {
  assert.equal(lookedWords(4_000, 10_000), "looked through 4,000 of 10,000");
  // Others deleted some meanwhile.
  assert.equal(lookedWords(10_000, 9_999), "looked through 9,999 of 9,999");
});
