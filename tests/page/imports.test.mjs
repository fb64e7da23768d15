// Files of other profilers (testdata/imports) in a real Chromium, by `genba html` and by `genba view`: the view Tree has every call of
// `genba tree`, with the same samples and times. Needs the built command, as html.test.mjs.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openPage } from "./chromium.mjs";
import { branchesOf, byPath, openAll, rowsOf } from "./tree-rows.mjs";
import { useChromium } from "./viewer-page.mjs";

const GENBA = process.env.GENBA ?? fileURLToPath(new URL("../../target/release/genba", import.meta.url));
const IMPORTS = fileURLToPath(new URL("../../testdata/imports", import.meta.url));
const PLAIN = "format-7-plain.vmprof";
/** Of Python and C: each of the two alone, too. */
const NATIVE = "format-7-native.vmprof";
const FILES = [PLAIN, `${PLAIN}.gz`, `${PLAIN}.bz2`, "format-7-lines-memory.vmprof", NATIVE, "format-7-wall-threads.vmprof", "format-7-killed.vmprof", "format-6-lines-memory.vmprof", "format-6-threads.vmprof", "py-spy.txt"];
/** Counts of calls: some functions took no time that could be measured. */
const COUNTED = ["cprofile-3.13.0.prof", "genba-3.13.0.prof"];

const at = useChromium();
before(() => assert.ok(existsSync(GENBA), `${GENBA} is not there: run \`make build\` first`));

const genba = (...words) => execFileSync(GENBA, words, { cwd: at.folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const treeOf = (file, flags) => JSON.parse(genba("tree", "--min-share", "0", "--format", "json", ...flags, join(IMPORTS, file)));
const nanoseconds = (title) => Number(title.replace(/[ ,ns]/g, ""));

/** A sample without any call is a row of its own in `genba tree`, and is the whole program's own in the view. */
const NO_STACK = "no stack";
async function assertSameTree(page, file, ...flags) {
  await page.keyboard.press("3");
  await page.keyboard.press("Home");
  await openAll(page);
  const rows = byPath(await rowsOf(page));
  const tree = treeOf(file, flags);
  const told = branchesOf(tree);
  assert.ok(told.size > 3, `${file} has a tree`);
  for (const [path, { total_samples, total_cpu_ns, total_wall_ns }] of told) {
    if (path === NO_STACK) continue;
    const row = rows.get(path);
    assert.ok(row !== undefined, `${file}: ${path} is not among\n${[...rows.keys()].join("\n")}`);
    assert.deepEqual([row.samples, nanoseconds(row.cpu), nanoseconds(row.wall)], [total_samples.toLocaleString("en-US"), total_cpu_ns, total_wall_ns], `${file}: ${path}`);
  }
  assert.equal(rows.get("").samples, tree.samples.toLocaleString("en-US"), `${file}: the whole program`);
}

for (const file of FILES) {
  test(`genba html ${file}: each call as genba tree tells it`, async () => {
    genba("html", "--all-samples", "-o", `${file}.html`, join(IMPORTS, file));
    const page = await openPage(at, join(at.folder, `${file}.html`), { width: 1280, height: 2400 });
    const { accounting } = JSON.parse(genba("report", "--format", "json", join(IMPORTS, file)));
    assert.ok((await page.locator("[data-accounting]").innerText()).replace(/\s+/g, " ").includes(`ticks ${accounting.ticks} = sampled ${accounting.sampled} `));
    await assertSameTree(page, file);
    if (file === PLAIN) {
      await page.keyboard.press("i");
      await assertSameTree(page, file, "--inverted");
      await page.keyboard.press("i");
    }
    if (file === NATIVE) {
      for (const language of ["python", "c"]) {
        await page.keyboard.press("p");
        await assertSameTree(page, file, "--show", language);
      }
    }
    for (const name of ["where", "flame", "sandwich", "source", "functions", "threads", "memory", "gc"]) await page.locator(`[data-view=${name}]`).click();
    assert.deepEqual(page.asked, [], "the page asked the network");
    assert.deepEqual(page.complaints, [], "the console complained");
    await page.context().close();
  });
}

for (const file of COUNTED) {
  test(`genba html ${file}: each function below its callers, as genba tree tells it`, async () => {
    genba("html", "--all-samples", "-o", `${file}.html`, join(IMPORTS, file));
    const page = await openPage(at, join(at.folder, `${file}.html`), { width: 1280, height: 2400 });
    await page.locator('[data-weight="samples"]').click();
    await assertSameTree(page, file);
    assert.deepEqual(page.asked, [], "the page asked the network");
    assert.deepEqual(page.complaints, [], "the console complained");
    await page.context().close();
  });
}

test("genba view lists the files of other profilers and opens each", async () => {
  const view = spawn(GENBA, ["view", "--no-open", ...FILES.map((file) => join(IMPORTS, file))], { cwd: at.folder, stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [address] = await once(createInterface({ input: view.stdout }), "line");
    const context = await at.browser.newContext({ viewport: { width: 1280, height: 2400 } });
    const page = await context.newPage();
    const complaints = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    await page.goto(address);
    assert.deepEqual((await page.locator("li a").allInnerTexts()).map((name) => basename(name)), FILES);
    for (const [number, file] of FILES.entries()) {
      await page.goto(`${address}recording/${number}`);
      await page.waitForSelector("html[data-painted]");
      await assertSameTree(page, file);
    }
    assert.deepEqual(complaints, [], "the console complained");
    await context.close();
  } finally {
    view.kill("SIGINT");
    await once(view, "exit");
  }
});
