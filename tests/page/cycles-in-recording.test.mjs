// The view GC of a recording made with --gc-cycles, on the page of `genba html` and of `genba view`, in a real Chromium: what its files say, and
// no others.
// Needs the built command, as html.test.mjs.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openPage } from "./chromium.mjs";
import { useChromium } from "./viewer-page.mjs";

const GENBA = process.env.GENBA ?? fileURLToPath(new URL("../../target/release/genba", import.meta.url));
const PYTHON = process.env.GENBA_PYTHON ?? "python3";
/** Of one kind: crates/cli/src/verbs/gc/cycles/graph.rs. */
const ARROWS_MAX = 24;
/** Until there are two files, which are a second apart. */
const PROGRAM = `
import gc, glob, time

class Node:
    pass

gc.disable()
end = time.monotonic() + 60
while len(glob.glob("app.cycles-*.json")) < 2 and time.monotonic() < end:
    for _ in range(50):
        parent, child = Node(), Node()
        parent.child, child.parent = child, parent
    gc.collect()
    sum(range(100_000))
`;

const at = useChromium();
let folder;
/** Their names, the first one first, and their JSON. */
let kept;
const genba = (...words) => execFileSync(GENBA, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

before(() => {
  assert.ok(existsSync(GENBA), `${GENBA} is not there: run \`make build\` first`);
  folder = mkdtempSync(join(tmpdir(), "genba-gc-cycles-"));
  writeFileSync(join(folder, "app.py"), PROGRAM);
  genba("run", "--quiet", "--gc", "--gc-cycles", "-o", "app.genba", PYTHON, "app.py");
  kept = [];
  for (let number = 1; existsSync(join(folder, `app.cycles-${number}.json`)); number += 1) {
    const file = `app.cycles-${number}.json`;
    kept.push({ file, json: JSON.parse(genba("gc", "cycles", file, "--format", "json", "--limit", "10")) });
  }
  assert.ok(kept.length >= 2, `${kept.length} files were kept`);
  // Of another process, and of nobody.
  const other = readFileSync(join(folder, kept[0].file), "utf8").replace(`"pid": ${kept[0].json.pid},`, '"pid": 4294967295,');
  writeFileSync(join(folder, "app.cycles-90.json"), other);
  writeFileSync(join(folder, "app.cycles-91.json"), "no JSON");
});
after(() => rmSync(folder, { recursive: true, force: true }));

const graphs = (page) => page.locator(".gc-cycles");

/** In the view GC: the words and the graphs of that file. */
async function assertShown(page, { file, json }) {
  const place = graphs(page);
  const printed = genba("gc", "cycles", file);
  const about = await place.locator(`[data-about="${file}"]`).textContent();
  assert.ok((await place.locator("option:checked").textContent()).endsWith(` (${file})`));
  assert.ok(printed.startsWith(`${about}\n`), about);
  const kinds = place.locator("[data-kind]");
  assert.equal(await kinds.count(), json.kinds.length);
  for (const [at, kind] of json.kinds.entries()) {
    const section = kinds.nth(at);
    assert.ok(printed.includes(`\n${await section.locator("h2").textContent()}\n`));
    // Of more shapes than genba tells apart; or not all are drawn.
    if (kind.references.length === 0 || kind.references.length > ARROWS_MAX) continue;
    await section.locator("figure").scrollIntoViewIfNeeded();
    await section.locator("svg").waitFor();
    const counts = await section.locator(".beside text:last-child").allTextContents();
    assert.deepEqual(counts, kind.references.map(({ count }) => `× ${count.toLocaleString("en")}`));
  }
  const drawn = (await place.locator(".class title").allTextContents()).filter((name) => name.includes("Node"));
  assert.ok(drawn.length > 0, "the cycles of the program");
  const dropped = await place.locator(".beside.dropped .first").first().evaluate((text) => getComputedStyle(text).fill);
  const hot = await page.evaluate(() => {
    const swatch = document.body.appendChild(document.createElement("i"));
    swatch.style.color = "var(--hot)";
    const { color } = getComputedStyle(swatch);
    swatch.remove();
    return color;
  });
  assert.equal(dropped, hot, "what to drop is red");
}

async function assertQuiet(page) {
  assert.deepEqual(page.complaints, [], "the console complained");
  const isWider = await page.evaluate(() => [document.documentElement, ...document.querySelectorAll(".gc-cycles")].some((part) => part.scrollWidth > part.clientWidth));
  assert.ok(!isWider, "wider than the screen");
}

for (const [theme, width] of [["light", 1280], ["dark", 390]]) {
  test(`the files of the recording are in its view GC, ${theme}, ${width} pixels wide`, async () => {
    genba("html", "app.genba", "-o", "app.html");
    const page = await openPage(at, join(folder, "app.html"), { theme, width });
    assert.equal(await graphs(page).count(), 0, "in the view GC only");
    await page.keyboard.press("9");
    await graphs(page).locator("select").waitFor();
    const options = await graphs(page).locator("option").allTextContents();
    assert.deepEqual(options.map((label) => /\((.*)\)$/.exec(label)[1]), kept.map(({ file }) => file));
    await assertShown(page, kept.at(-1));
    await graphs(page).locator("select").selectOption({ index: 0 });
    // Its keys are its own.
    await graphs(page).locator("select").blur();
    await assertShown(page, kept[0]);
    assert.match(await graphs(page).locator("[data-note]").innerText(), /^Not shown: app\.cycles-91\.json is not a file of --gc-cycles/);

    // Behind all that the viewer has there, also after it has changed that, and as it was left.
    const isLast = () => page.locator(".gc-view > .gc-cycles:last-child").waitFor();
    await page.keyboard.press("w");
    await isLast();
    await page.keyboard.press("1");
    await graphs(page).waitFor({ state: "detached" });
    await page.keyboard.press("9");
    await isLast();
    assert.equal(await graphs(page).count(), 1);
    await assertShown(page, kept[0]);
    await assertQuiet(page);
    assert.deepEqual(page.asked, [], "the page asked for something");
    await page.context().close();
  });
}

test("genba view shows them, too, and allows their script", async () => {
  const view = spawn(GENBA, ["view", "--no-open", "app.genba"], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [address] = await once(createInterface({ input: view.stdout }), "line");
    const context = await at.browser.newContext();
    const page = Object.assign(await context.newPage(), { complaints: [] });
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) page.complaints.push(message.text());
    });
    page.on("pageerror", (error) => page.complaints.push(String(error)));
    await page.goto(address);
    await page.waitForSelector("html[data-painted]");
    await page.keyboard.press("9");
    await assertShown(page, kept.at(-1));
    await assertQuiet(page);
    await context.close();
  } finally {
    view.kill("SIGINT");
    await once(view, "exit");
  }
});

test("a recording of another name has none of them", async () => {
  copyFileSync(join(folder, "app.genba"), join(folder, "copy.genba"));
  genba("html", "copy.genba", "-o", "copy.html");
  assert.ok(!readFileSync(join(folder, "copy.html"), "utf8").includes("data-cycles"));
  // They go with it when they are named like it.
  renameSync(join(folder, kept[0].file), join(folder, "copy.cycles-1.json"));
  genba("html", "copy.genba", "-o", "named.html");
  assert.ok(readFileSync(join(folder, "named.html"), "utf8").includes("data-cycles"));
});
