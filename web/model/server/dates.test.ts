// Moments and spans in words. All dates are made in the zone of the machine, so that the test holds in every zone.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Ms, Ns } from "../units";
import { dayWords, exactMoment, momentWords, spanWords, usedWords, weekdayWords } from "./dates";

const at = (year: number, month: number, day: number, hour = 0, minute = 0): Ms => new Date(year, month - 1, day, hour, minute).getTime() as Ms;
const now = at(2026, 11, 21, 9, 52);

test("moments", () => {
  assert.equal(momentWords(at(2026, 11, 21, 9, 40), now), "today 09:40");
  assert.equal(momentWords(at(2026, 11, 20, 14, 2), now), "20 Nov 14:02");
  assert.equal(momentWords(at(2025, 11, 2, 14, 2), now), "2 Nov 2025");
  assert.equal(weekdayWords(at(2026, 11, 17, 14, 2), now), "Tue 17 Nov 14:02");
  assert.equal(weekdayWords(at(2026, 11, 21, 9, 40), now), "today 09:40");
  assert.equal(exactMoment(at(2026, 1, 2, 3, 4)), "2026-01-02 03:04:00");
});

test("days", () => {
  assert.equal(dayWords(at(2026, 12, 9), now), "9 Dec");
  assert.equal(dayWords(at(2027, 11, 2), now), "2 Nov 2027");
});

test("when a token was used", () => {
  assert.equal(usedWords(null, now), "–");
  assert.equal(usedWords(at(2026, 11, 21, 9, 41), now), "today 09:41");
  assert.equal(usedWords(at(2026, 11, 20, 23, 59), now), "yesterday");
  assert.equal(usedWords(at(2026, 10, 31), now), "21 days ago");
  assert.equal(usedWords(at(2026, 3, 3), now), "3 Mar");
  // A clock that is behind: no "-1 days ago".
  assert.equal(usedWords(at(2026, 11, 22), now), "22 Nov");
});

test("spans", () => {
  const seconds = (value: number): string => spanWords((value * 1e9) as Ns);
  assert.deepEqual([0, 0.096, 0.118, 2.7, 96, 99.94].map(seconds), ["0 s", "96.0 ms", "118 ms", "2.70 s", "96.0 s", "99.9 s"]);
  assert.deepEqual([99.96, 178, 300, 3599.6, 7500, 7200].map(seconds), ["1 min 40 s", "2 min 58 s", "5 min", "1 h", "2 h 5 min", "2 h"]);
});
