// What a filter keeps: stacks as text in, the tree that is left out; and paths that name a box in both. The flags of the same names keep the
// same: crates/profile/tests/profiles/moments.rs writes that.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { boxOf, wordOf } from "../tree/box-path";
import { decodeProfile } from "./decode";
import { ALL, keptProfile } from "./kept";
import type { Kept } from "./kept";
import { madeProfile } from "./made";
import type { Profile } from "./profile";
import { threadRows } from "../time/threads";
import { weightOfAll } from "./totals";
import { buildTree, pathTo, placeOf, ROOT } from "../tree/tree";
import type { Tree } from "../tree/tree";
import type { BoxIndex, ProcessIndex, StackIndex, ThreadIndex } from "../units";
import { placeName } from "../words";

const STACKS = "main;load;+loads;%memcpy x5 | main;load x1 | main;save;+write x2 in poll(2) | @lib;main;load x1";
const nameOf = (tree: Tree, box: BoxIndex): string => placeName(placeOf(tree, box), { title: "app.py", processes: [], threads: [] });

function drawn(tree: Tree, box: BoxIndex = ROOT): string {
  const below = tree.childrenOf(box, "wall").map((child) => drawn(tree, child));
  return `${nameOf(tree, box)} ${(tree.total.wall[box] ?? 0) / 1_000_000}${below.length === 0 ? "" : ` [${below.join(", ")}]`}`;
}
function left(kept: Partial<Kept>, text = STACKS): string {
  return drawn(buildTree(keptProfile(madeProfile(text), { ...ALL, ...kept })));
}

test("without a filter it is the profile itself", () => {
  const profile = madeProfile(STACKS);
  assert.equal(keptProfile(profile, ALL), profile);
});

test("one language: the other's frames leave their time to their callers", () => {
  assert.equal(left({ layers: "python" }), "app.py 9 [main 8 [load 6, save 2 [waiting in poll 2]], lib 1 [main 1 [load 1]]]");
  assert.equal(left({ layers: "c" }), "app.py 9 [loads 5 [memcpy 5], write 2 [waiting in poll 2]]");
});

test("focus keeps whole stacks, hide takes frames out of them", () => {
  assert.equal(left({ focus: "^save$" }), "app.py 2 [main 2 [save 2 [write 2 [waiting in poll 2]]]]");
  assert.equal(left({ hide: "^(lib|load)$" }), "app.py 9 [main 9 [loads 5 [memcpy 5], save 2 [write 2 [waiting in poll 2]]]]");
  assert.equal(left({ focus: "memcpy", hide: "^loads$" }), "app.py 5 [main 5 [load 5 [memcpy 5]]]");
  assert.equal(left({ focus: "nowhere" }), "app.py 0");
  assert.throws(() => left({ focus: "(" }), SyntaxError);
});

test("a stack that is taken out whole is marked; what is of the other language leaves its time to the program", () => {
  assert.equal(left({ hide: "^main$" }, "main x3 | work x1"), "app.py 4 [hidden 3, work 1]");
  assert.equal(left({ hide: "^(main|load)$" }, "main;load x3 | main x2 in poll(2) | work x1"), "app.py 6 [hidden 5 [waiting in poll 2], work 1]");
  assert.equal(left({ layers: "python" }, "%spin x3 | work x1"), "app.py 4 [work 1]");
  assert.equal(left({ layers: "python", hide: "^main$" }, "main;%spin x3 | main x2 | work x1"), "app.py 6 [hidden 2, work 1]");
  assert.equal(left({ focus: "main", hide: "^main$" }, "main x3 | work x1"), "app.py 3 [hidden 3]");
});

test("a mark has no name", () => {
  assert.equal(left({ focus: "cut" }, "!stack cut;main x3 | cut x1"), "app.py 1 [cut 1]");
  assert.equal(left({ hide: "cut" }, "!stack cut;main x3 | cut x1"), "app.py 4 [stack cut 3 [main 3], hidden 1]");
});

interface Asked {
  /** Numbers of the operating system; null: all. */
  readonly process: number | null;
  readonly thread: number | null;
  readonly focus: string;
  readonly hide: string;
  /** Samples, CPU and wall time. */
  readonly kept: readonly number[];
  readonly rows: readonly string[];
  readonly threads: readonly string[];
}

function sampleWords({ frames, stacks, states, samples }: Profile): string[] {
  const namesOf = (stack: StackIndex | null): string[] => (stack === null ? [] : [...namesOf(stacks.parent[stack] ?? null), frames[stacks.frame[stack] ?? 0]?.name ?? "?"]);
  return samples.stack.map((stack, row) => `${samples.thread[row]} ${namesOf(stack).join(";")} ${states[samples.state[row] ?? 0]}: ${samples.samples[row]} ${samples.cpu[row]} ${samples.wall[row]}`).sort();
}

test("filters keep what the flags of the report keep", () => {
  const { profile: tables } = JSON.parse(readFileSync("../testdata/page/moments.json", "utf8")) as { readonly profile: unknown };
  const profile = decodeProfile({ field: "", value: tables });
  const golden = JSON.parse(readFileSync("../testdata/page/filters.json", "utf8")) as readonly Asked[];
  assert.ok(golden.length > 0);
  for (const asked of golden) {
    const process = asked.process === null ? null : (profile.processes.findIndex(({ pid }) => pid === asked.process) as ProcessIndex);
    const thread = asked.thread === null ? null : (profile.threads.findIndex(({ tid }) => tid === asked.thread) as ThreadIndex);
    const shown = keptProfile(profile, { ...ALL, process, thread, focus: asked.focus, hide: asked.hide });
    const about = JSON.stringify([asked.process, asked.thread, asked.focus, asked.hide]);
    assert.deepEqual(sampleWords(shown), asked.rows, about);
    assert.deepEqual((["samples", "cpu", "wall"] as const).map((weight) => weightOfAll(shown, weight)), asked.kept, about);
    assert.deepEqual(threadRows(shown).map(({ thread, cpu, wall }) => `${thread}: ${cpu} ${wall}`).sort(), asked.threads, about);
  }
});

test("one process, one thread", () => {
  const two = "main x3 | p2/main;work x4";
  assert.equal(left({ process: 1 as ProcessIndex }, two), "app.py 4 [process 4 [main 4 [work 4]]]");
  assert.equal(left({ thread: 0 as ThreadIndex }, two), "app.py 3 [process 3 [main 3]]");
});

test("a box keeps its word through a filter, or the nearest box above it", () => {
  const whole = buildTree(madeProfile(STACKS));
  const named = (path: string): BoxIndex => whole.place.findIndex((_, box) => pathTo(whole, box as BoxIndex).map((at) => nameOf(whole, at)).join(" ") === path) as BoxIndex;
  const box = named("app.py main load loads");
  assert.equal(boxOf(whole, wordOf(whole, box)), box);
  assert.equal(boxOf(whole, wordOf(whole, ROOT)), ROOT);
  const python = buildTree(keptProfile(madeProfile(STACKS), { ...ALL, layers: "python" }));
  assert.equal(nameOf(python, boxOf(python, wordOf(whole, box))), "load");
  assert.equal(boxOf(whole, "no.such.word"), ROOT);
});

test("a box is found again below frames that a filter takes out, and with them back", () => {
  const profile = madeProfile("+start;main;+call;work;+copy x3 | +start;other;work x9 | +start;main x1");
  const [whole, python] = [buildTree(profile), buildTree(keptProfile(profile, { ...ALL, layers: "python" }))];
  const at = (tree: typeof whole, box: BoxIndex): string => pathTo(tree, box).map((above) => nameOf(tree, above)).join(" ");
  const named = (tree: typeof whole, path: string): BoxIndex => tree.place.findIndex((_, box) => at(tree, box as BoxIndex) === path) as BoxIndex;
  const work = named(whole, "app.py start main call work");
  assert.equal(at(python, boxOf(python, wordOf(whole, work))), "app.py main work");
  assert.equal(boxOf(whole, wordOf(python, named(python, "app.py main work"))), work);
  assert.equal(at(python, boxOf(python, wordOf(whole, named(whole, "app.py start main call work copy")))), "app.py main work");
});

test("recursion as one call: each function once, with the line it was at, and no sample lost", () => {
  const text = "main;fib:3[fib(n)];fib:3[fib(n)];fib:4[add(n)];+add x5 | main;fib:3[fib(n)];fib x2 | main;fib x1 | main;even;odd;even;odd x4 | main;+sort;+sort;key x3";
  const shown = left({ foldsRecursion: true }, text);
  assert.equal(shown, "app.py 15 [main 15 [fib 8 [add(n) 5 [add 5]], even 4 [odd 4 [even 4 [odd 4]]], sort 3 [key 3]]]");
  // A function that is taken out does not keep the calls around it apart.
  assert.equal(left({ foldsRecursion: true, hide: "^odd$" }, "even;odd;even;odd x4"), "app.py 4 [even 4]");
});
