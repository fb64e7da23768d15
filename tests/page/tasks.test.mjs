// What people come with, as a task each: what they ask, the keys and clicks they need, and the answer that is then on the screen.
// None needs more than four. The last one is of a program that is recorded for real: it needs the built command, as html.test.mjs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { openPage, pageOf } from "./chromium.mjs";
import { slices, twoCallers } from "./made.mjs";
import { useChromium, words } from "./viewer-page.mjs";

const GENBA = process.env.GENBA ?? fileURLToPath(new URL("../../target/release/genba", import.meta.url));
const PYTHON = process.env.GENBA_PYTHON ?? "python3";
const STEPS_MAX = 4;
const key = (name) => (page) => page.keyboard.press(name);
const click = (selector, hasText) => (page) => page.locator(selector, hasText === undefined ? {} : { hasText }).first().click();
/** Over the strip, from one share of the recording to another. */
const drag = (from, to) => async (page) => {
  const box = await page.locator(".strip .chart").boundingBox();
  const at = (share) => [box.x + share * box.width, box.y + box.height / 2];
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at((from + to) / 2));
  await page.mouse.move(...at(to));
  await page.mouse.up();
};

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
    shows: [".middle", /^sum12 100.0 % · 2 callers · foo 55.0 % · bar 45.0 %$/],
  },
  {
    asks: "What does the worker thread do?",
    of: twoCallers, steps: [key("7"), click(".thread", "worker"), key("1")],
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
    shows: [".thread", /waiting in clock_nanosleep 5.0 %/],
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

const at = useChromium();

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

// Two lines of views.py wait on a socket, and a third sleeps between them. Which of the two waits longer changes in the middle: each half goes on
// until that is so, however long the machine left the other one waiting. Prints when each half ended, in a sleep: the place to cut.
const VIEWS = `
import json, socket, time

ours, theirs = socket.socketpair()
waited = [{"user": 0, "orders": 0}, {"user": 0, "orders": 0}]
ends_ns = []

def user(seconds):
    ours.settimeout(seconds)
    try:
        ours.recv(1)  # waits: user
    except TimeoutError:
        pass

def orders(seconds):
    ours.settimeout(seconds)
    try:
        ours.recv(1)  # waits: orders
    except TimeoutError:
        pass

def page(half, **seconds):
    for view in (user, orders):
        start = time.monotonic()
        view(seconds[view.__name__])
        waited[half][view.__name__] += time.monotonic() - start
    time.sleep(0.06)

def serve(half, longer, shorter):
    pages = 0
    while pages < 12 or waited[half][longer] < 2 * waited[half][shorter]:
        page(half, **{longer: 0.04, shorter: 0.01})
        pages += 1
    time.sleep(0.06)
    ends_ns.append(time.time_ns())
    time.sleep(0.06)

serve(0, "user", "orders")
serve(1, "orders", "user")
print(json.dumps(ends_ns))
`;

test("Which line of views.py waits longest on a socket in the second half? 3 steps", async () => {
  assert.ok(existsSync(GENBA), `${GENBA} is not there: run \`make build\` first`);
  writeFileSync(join(at.folder, "views.py"), VIEWS);
  const genba = (...words) => execFileSync(GENBA, words, { cwd: at.folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  const endsNs = JSON.parse(genba("run", "--quiet", "-o", "views.genba", PYTHON, "views.py"));
  genba("html", "views.genba", "-o", "views.html");
  const packed = /data-numbers="gzip\+base64">([^<]*)</.exec(readFileSync(join(at.folder, "views.html"), "utf8"))[1];
  const { meta, moments } = JSON.parse(gunzipSync(Buffer.from(packed, "base64")).toString()).profile;
  const strip_ns = (moments.bins_later.reduce((sum, later) => sum + later, 0) + 1) * moments.bin_ns;
  const [middle, end] = endsNs.map((end_ns) => (end_ns - meta.start_realtime_ns) / strip_ns);
  // From the middle: at the edges of the strip are the handles of a range.
  for (const [longest, to] of [["user", 0], ["orders", end]]) {
    const steps = [drag(middle, to), key("6"), click("[data-row]", /^\S.*waiting in \w+ on a socket/s)];
    assert.ok(steps.length <= STEPS_MAX);
    const page = await openPage(at, join(at.folder, "views.html"), { width: 1500 });
    for (const step of steps) await step(page);
    const line = VIEWS.split("\n").findIndex((text) => text.endsWith(`# waits: ${longest}`)) + 1;
    assert.match(await words(page, "[data-panel] h2"), /^waiting in \w+ on a socket$/);
    assert.match(await words(page, "[data-panel]"), new RegExp(`called at views\\.py:${line}:\\d+ in ${longest} `));
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  }
});
