// What people come with, as a task each: what they ask, the keys and clicks they need, and the answer that is then on the screen.
// None needs more than four.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openPage, pageOf, withChromium } from "./chromium.mjs";
import { slices, twoCallers } from "./made.mjs";

const STEPS_MAX = 4;
const key = (name) => (page) => page.keyboard.press(name);
const click = (selector, hasText) => (page) => page.locator(selector, hasText === undefined ? {} : { hasText }).first().click();
const words = async (page, selector) => (await page.locator(selector).first().innerText()).replace(/\s+/g, " ").trim();

const TASKS = [
  {
    asks: "Which expression of mine does the time go to, and what happens below it?",
    of: slices, steps: [],
    shows: ["[data-hit]", /^90.0 % 1.72 s before slices.py:7 n \+= len\(b\[i:\]\[:2\]\) bytes.__getitem__ → PyBytes_FromStringAndSize → memmove 90 %$/],
  },
  {
    asks: "May I believe it?",
    of: slices, steps: [],
    shows: ["[data-accounting]", /^ticks 2,008 = sampled 2,006 \+ dropped 0 \+ refused 2 \(moved 2\) CPU covered 99.7 %$/],
  },
  {
    asks: "Who calls sum12, and in which parts?",
    of: twoCallers, steps: [key("3"), click("[data-tree] .turn >> nth=1"), click("[data-tree] .name", "sum12"), key("s")],
    shows: ["[data-middle]", /^sum12 100.0 % · 2 callers · foo 55.0 % · bar 45.0 %$/],
  },
  {
    asks: "What does the worker thread do?",
    of: twoCallers, steps: [key("7"), click("[data-thread-row]", "worker"), key("1")],
    shows: ["[data-row]", /^66.7 % 60.0 ms 66.7 % 60.0 ms n \+ 1two.py:21:5$/],
  },
  {
    asks: "How much is memmove, over all its callers?",
    of: slices, steps: [key("6")],
    shows: ["[data-row]", /^92.3 % 1.76 s 92.3 % 1.76 s memmove/],
  },
  {
    asks: "What does each line of the file cost?",
    of: slices, steps: [key("5")],
    shows: ["[data-line='7']", /^7 91.1 % 1.0 %/],
  },
  {
    asks: "What did it wait for?",
    of: slices, steps: [key("w"), key("7")],
    shows: ["[data-thread-row]", /waiting in clock_nanosleep 5.0 %/],
  },
  {
    asks: "How much is the collector, and where did it run?",
    of: slices, steps: [key("9")],
    shows: ["[data-gc]", /^0.3 % \(6.00 ms\) was spent in collections.*n slices.py:19/],
  },
  {
    asks: "Whose code is it: mine, a library's, the interpreter's?",
    of: slices, steps: [key("6"), click("[data-by=owner]"), click("[data-sort=self]")],
    shows: ["[data-row]", /^93.0 % 1.77 s 93.0 % 1.77 s C library$/],
  },
  {
    asks: "Where does the time go in Python alone?",
    of: slices, steps: [key("p"), key("6")],
    shows: ["[data-row]", /^91.1 % 1.74 s 91.1 % 1.74 s before/],
  },
];

let at;
let finish;
before(async () => {
  const started = new Promise((resolve) => {
    withChromium((handles) => new Promise((done) => resolve({ handles, done })));
  });
  const { handles, done } = await started;
  at = handles;
  finish = done;
});
after(() => finish());

for (const task of TASKS) {
  test(`${task.asks} ${task.steps.length} steps`, async () => {
    assert.ok(task.steps.length <= STEPS_MAX);
    const page = await openPage(at, await pageOf(at, task.of()), { width: 1500 });
    for (const step of task.steps) await step(page);
    const [selector, answer] = task.shows;
    assert.match(await words(page, selector), answer);
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  });
}
