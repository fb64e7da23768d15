// Command lines to paste.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { flagsOf, flagWords, quoted } from "./shell";
import { ALL } from "./tables/kept";
import type { Profile } from "./tables/profile";
import type { ProcessIndex, ThreadIndex } from "./units";

test("a shell reads one word, whatever is in it", () => {
  for (const word of ["a b", "$(id)", "it's", "`x`", "-n", "a\nb", "*", "\u202egpj.exe\u2028\\1", "\u001b[2J7"]) {
    assert.doesNotMatch(quoted(word), /[\p{Cc}\u202e\u2028]/u);
    assert.equal(execFileSync("bash", ["-c", `printf %s ${quoted(word)}`], { encoding: "utf8" }), word);
  }
});

test("what the reader keeps, as flags of the command", () => {
  const profile = { processes: [{ pid: 7 }], threads: [{ tid: 8 }, { tid: 9 }] } as unknown as Pick<Profile, "processes" | "threads">;
  assert.deepEqual(flagsOf(ALL, profile), []);
  const kept = { ...ALL, process: 0 as ProcessIndex, thread: 1 as ThreadIndex, focus: "a b|c", hide: "-x" };
  assert.equal(flagWords(flagsOf(kept, profile)), " --process=7 --thread=9 --focus='a b|c' --hide='-x'");
});
