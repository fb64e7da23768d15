// `genba html` on a recording of a real program: the page says what `genba report` says, in a real Chromium.
// Needs the built command: target/release/genba, or GENBA; and a Python: GENBA_PYTHON, or python3.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { drawn, openPage } from "./chromium.mjs";
import { byPath, openAll, rowsOf } from "./tree-rows.mjs";
import { closed, plain, useChromium, words } from "./viewer-page.mjs";

const GENBA = process.env.GENBA ?? fileURLToPath(new URL("../../target/release/genba", import.meta.url));
const PYTHON = process.env.GENBA_PYTHON ?? "python3";
const at = useChromium();
before(() => assert.ok(existsSync(GENBA), `${GENBA} is not there: run \`make build\` first`));
const inFolder = (name) => join(at.folder, name);
const genba = (...command) => execFileSync(GENBA, command, { cwd: at.folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

const PROGRAM = `
def before(b):
    n = 0
    for i in range(len(b)):
        n += len(b[i:][:2])
    return n

def after(b):
    n = 0
    for i in range(len(b)):
        n += len(b[i:i + 2])  # 表 </script>
    return n

for _ in range(3):
    before(bytes(100_000))
    after(bytes(100_000))
`;

test("a recorded program, opened: the same rows, a box to click, no request", async () => {
  writeFileSync(inFolder("slices.py"), PROGRAM);
  genba("run", "--quiet", "-o", "slices.genba", PYTHON, "slices.py");
  genba("html", "slices.genba", "-o", "slices.html");
  const report = JSON.parse(genba("report", "slices.genba", "--weight", "cpu", "--format", "json"));
  const page = await openPage(at, inFolder("slices.html"));

  await page.locator('[data-weight="cpu"]').click();
  assert.equal(await page.locator("p.kept").count(), 0);
  const [row] = report.rows;
  assert.equal(row.expression, "b[i:]");
  assert.match(await words(page, "[data-hit]"), new RegExp(`^${(row.share * 100).toFixed(1)} % .* before slices\\.py:${row.line} `));
  assert.equal(await page.locator("[data-hit] u").first().innerText(), row.expression);
  assert.match(await words(page, "[data-accounting]"), new RegExp(`^ticks ${report.accounting.ticks.toLocaleString("en-US")} = sampled `));
  assert.equal(await words(page, "[data-panel] h2"), row.expression);

  // The box under the root leads to everything: clicked, it is selected, and its figures are those of the whole tree.
  await drawn(page);
  await page.locator("[data-flame]").evaluate((element) => element.scrollTo(0, 0));
  // A click before the scroll is told would meet the picture of the last frame.
  await drawn(page);
  const canvas = await page.locator("canvas").boundingBox();
  await page.mouse.click(canvas.x + canvas.width * 0.3, canvas.y + 11);
  assert.equal(await words(page, '[data-panel] [data-figure="share-here"]'), "100.0 %");
  // Not those of the report's rows: one that got no CPU is in none of them.
  const { samples } = JSON.parse(genba("tree", "slices.genba", "--weight", "cpu", "--format", "json"));
  assert.equal(await words(page, '[data-panel] [data-figure="Samples here"]'), samples.toLocaleString("en-US"));

  await page.keyboard.press("/");
  await page.keyboard.type("memmove");
  assert.match(await words(page, "header output"), /^\d+ · \d+\.\d %$/);
  await closed(page);
  assert.equal(readFileSync(inFolder("slices.html"), "utf8").split("</script>").length, 4, "only the page's own three script elements end");

  genba("html", "slices.genba", "-o", "after.html", "--focus", "after");
  const kept = JSON.parse(genba("report", "slices.genba", "--weight", "cpu", "--format", "json", "--focus", "after"));
  const part = await openPage(at, inFolder("after.html"));
  const said = await part.locator("p.kept").innerText();
  assert.ok(said.startsWith(`kept: ${(kept.filters.share * 100).toFixed(1)} % of `) && said.includes("(--focus after)"), said);
  await closed(part);
});

// Genba asks for the collections soon after the start, and is heard where the main thread comes back to the interpreter's loop.
const CYCLES = `
import gc, time
gc.disable()
def cycles():
    for _ in range(2_000):
        own = []
        own.append(own)
until = time.monotonic() + 1.5
while time.monotonic() < until:
    cycles()
    gc.collect()
    time.sleep(0.02)
`;

test("a recording with --gc, opened: the view GC counts what genba gc counts", async () => {
  writeFileSync(inFolder("cycles.py"), CYCLES);
  genba("run", "--quiet", "--gc", "-o", "cycles.genba", PYTHON, "cycles.py");
  genba("html", "cycles.genba", "-o", "cycles.html");
  const { collections } = JSON.parse(genba("gc", "cycles.genba", "--format", "json"));
  assert.ok(collections.some(({ reason }) => reason === "explicit"));
  const page = await openPage(at, inFolder("cycles.html"));
  await page.keyboard.press("9");
  const count = (number) => number.toLocaleString("en-US");
  assert.ok((await page.locator(".gc-view > p").first().innerText()).startsWith(collections.length === 1 ? "1 collection held" : `${count(collections.length)} collections held`));
  const rows = await page.locator(".gc-view table tbody tr").allInnerTexts();
  const collected = collections.filter(({ generation }) => generation === 2).reduce((sum, row) => sum + row.collected, 0);
  assert.ok(rows.some((row) => /^2\s/.test(row) && row.trim().endsWith(count(collected))), rows.join("\n"));
  await closed(page);
});

const COLLECTING = `
import gc
kept = [[] for _ in range(300_000)]
for _ in range(60):
    gc.collect()
`;

test("a program that mostly collects, opened: the view GC has the share that the verdict has", async () => {
  writeFileSync(inFolder("collecting.py"), COLLECTING);
  genba("run", "--quiet", "-o", "collecting.genba", PYTHON, "collecting.py");
  genba("html", "collecting.genba", "-o", "collecting.html");
  const { verdict } = JSON.parse(genba("report", "collecting.genba", "--weight", "cpu", "--format", "json"));
  assert.equal(verdict.name, "gc");
  const page = await openPage(at, inFolder("collecting.html"));
  await page.locator("[data-weight=cpu]").click();
  await page.keyboard.press("9");
  const share = `${((verdict.figures.gc_cpu_ns / verdict.figures.cpu_ns) * 100).toFixed(1)} %`;
  assert.equal(await page.locator("[data-gc] b").first().innerText(), share);
  await closed(page);
});

// The leak begins when genba has kept a heap, and is in the last one. On a slow machine imports go on behind the first heap, too: they are little beside it.
// Where genba keeps no heap, the program ends after a minute, and the page lacks them.
const LEAK = `
import glob, time
class Leak: pass
kept = [Leak()]
end = time.monotonic() + 60
heaps = lambda: len(glob.glob("leak.heap-*.json"))
def wait_for(count):
    while heaps() < count and time.monotonic() < end:
        time.sleep(0.02)
wait_for(1)
kept += [Leak() for _ in range(100_000)]
# The next one may have begun before.
wait_for(heaps() + 2)
`;

test("a recording with heaps, opened: the view Memory tells what has grown as genba heap diff tells it", async () => {
  writeFileSync(inFolder("leak.py"), LEAK);
  genba("run", "--quiet", "--heap-every", "200ms", "-o", "leak.genba", PYTHON, "leak.py");
  genba("html", "leak.genba", "-o", "leak.html");
  const page = await openPage(at, inFolder("leak.html"));
  await page.keyboard.press("8");
  // The page names the command that compares the same two.
  const [, ...command] = (await page.locator(".heap-view code", { hasText: "heap diff" }).innerText()).split(" ");
  const told = JSON.parse(genba(...command, "--format", "json"));
  const count = (number) => number.toLocaleString("en-US");
  const grown = (before, after) => (after === before ? "–" : `${after < before ? "−" : "+"}${count(Math.abs(after - before))}`);
  const said = plain(await page.locator(".heap-view p").nth(1).innerText());
  assert.ok(said.includes(` in ${count(told.objects_after)} objects: `) && said.includes(`, ${grown(told.objects_before, told.objects_after)} objects since then`), said);

  const rows = await page.locator(".heap-view tbody tr").evaluateAll((found) => found.map(({ cells: [, bytes, objects, more, name] }) => ({
    name: name.innerText, bytes: bytes.title, objects: objects.innerText, more: more.innerText,
  })));
  const nameOf = ({ module, name }) => (module === "builtins" ? name : `${module}.${name}`);
  assert.deepEqual([rows[0].name, nameOf(told.classes[0])], ["__main__.Leak", "__main__.Leak"]);
  const classes = new Map(told.classes.map((row) => [nameOf(row), row]));
  // With ≈ the recording does not have both sides.
  const both = rows.filter(({ name, more }) => classes.has(name) && !more.startsWith("≈"));
  assert.ok(both.length > 1, `${rows.length} rows`);
  const exact = both.map(({ name }) => {
    const { count_before, count_after, bytes_after } = classes.get(name);
    return { name, bytes: `${count(bytes_after)} bytes`, objects: count(count_after), more: grown(count_before, count_after) };
  });
  assert.deepEqual(both, exact);
  await closed(page);
});

const CALLS = `def leaf(n): return len([n])
def branch(n):
    for _ in range(n): leaf(n)
def deep(n): return n and deep(n - 1)
for _ in range(3): branch(7)
for n in range(2): leaf(n)
deep(4)
`;
/** By function: with the calls that it made itself, and the function's own. */
const CALLS_OF = { "<module>": [7, 1], branch: [24, 3], leaf: [46, 23], deep: [5, 5] };
/** By caller. A caller is a row of its own, with the calls that it made. */
const CALLS_BY = {
  "<module>": 7, "<module> › branch": 3, "<module> › leaf": 2, "<module> › deep": 1,
  branch: 21, "branch › leaf": 21, leaf: 23, "leaf › built-in method builtins.len": 23, deep: 4, "deep › deep": 4,
};

test("a recording of genba trace, opened: it is called traced, and the calls of functions and callers are exact", async () => {
  writeFileSync(inFolder("calls.py"), CALLS);
  genba("trace", "--quiet", "-o", "calls.genba", PYTHON, "calls.py");
  genba("html", "--all-samples", "-o", "calls.html", "calls.genba");
  const { processes: [{ imported }], accounting } = JSON.parse(genba("report", "calls.genba", "--format", "json"));
  const page = await openPage(at, inFolder("calls.html"), { width: 1280, height: 2400 });

  assert.match(imported, /^traced: counts exact, times include the tracer's[ ;]/);
  const head = await words(page, ".meta");
  assert.ok(head.includes(imported), head);
  assert.ok((await words(page, "[data-accounting]")).startsWith(`ticks ${accounting.ticks} = sampled ${accounting.ticks} + dropped 0 + refused 0`));
  // Counts tell no CPU time.
  assert.equal(await page.locator('[data-weight="wall"]').getAttribute("aria-pressed"), "true");

  await page.locator('[data-weight="samples"]').click();
  await page.keyboard.press("6");
  const rows = await page.locator(".table-view [data-row]").evaluateAll((found) => found.map((row) => ({
    name: row.querySelector("button").innerText,
    where: row.querySelector(".where").innerText,
    calls: [...row.querySelectorAll("[data-figure]")].map(({ innerText }) => Number(innerText.trim().split(/\s+/).at(-1))),
  })));
  assert.deepEqual(Object.fromEntries(rows.filter(({ where }) => where.startsWith("calls.py:")).map(({ name, calls }) => [name, calls])), CALLS_OF);
  await page.locator("[data-row]", { hasText: "leaf" }).click();
  assert.equal(await words(page, "[data-panel] h2"), "leaf");
  assert.equal(await words(page, '[data-panel] [data-figure="Samples self everywhere"]'), "23");

  // That leaf is the caller of len, too, makes nothing its caller.
  await page.locator("[data-view=sandwich]").click();
  assert.match(await words(page, ".middle"), /^leaf \S+ % · 2 callers · branch 91\.3 % · <module> 8\.7 %$/);

  await page.keyboard.press("3");
  await page.keyboard.press("Home");
  await openAll(page);
  const tree = byPath(await rowsOf(page));
  assert.deepEqual(Object.fromEntries(Object.keys(CALLS_BY).map((path) => [path, Number(tree.get(path)?.samples)])), CALLS_BY, [...tree.keys()].join("\n"));

  for (const name of ["where", "flame", "tree", "sandwich", "source", "functions", "threads", "memory", "gc"]) {
    const tab = page.locator(`[data-view=${name}]`);
    await tab.click();
    assert.equal(await tab.getAttribute("aria-selected"), "true", name);
    assert.ok((await page.locator(".stage").innerText()).length > 0 || (await page.locator(".stage canvas").count()) > 0, name);
    assert.equal(await page.locator(".failed, [role=alert]").count(), 0, name);
    if (name === "source") assert.match(await words(page, "[data-line='1']"), /def leaf\(n\): return len\(\[n\]\)/);
  }
  await closed(page);
});
