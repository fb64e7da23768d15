// `genba gc cycles PID -o PAGE`, of a real process, in a real Chromium: the words of the screen, the classes and references of --format json, nothing outside.
// Needs the built command: target/release/genba, or GENBA; and a Python: GENBA_PYTHON, or python3.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openPage } from "./chromium.mjs";
import { useChromium, words } from "./viewer-page.mjs";

const GENBA = process.env.GENBA ?? fileURLToPath(new URL("../../target/release/genba", import.meta.url));
const PYTHON = process.env.GENBA_PYTHON ?? "python3";
const CYCLED = fileURLToPath(new URL("../programs/cycled.py", import.meta.url));
const at = useChromium();
let folder;

before(() => {
  folder = mkdtempSync(join(tmpdir(), "genba-cycles-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** The page of a program that leaves these cycles; what the screen said, and the JSON. */
async function cycles(kinds, look = {}) {
  const program = spawn(PYTHON, [CYCLED, ...kinds], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    await once(program.stdout, "data");
    const path = join(folder, "page.html");
    const ask = (...more) => execFileSync(GENBA, ["gc", "cycles", String(program.pid), ...more], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    const printed = ask("-o", path, "--limit", "0");
    const page = await openPage(at, path, look);
    return { page, printed, exported: JSON.parse(ask("--format", "json")) };
  } finally {
    program.kill("SIGKILL");
    await once(program, "close");
  }
}

async function close(page) {
  assert.deepEqual(page.asked, [], "the page asked for something");
  assert.deepEqual(page.complaints, [], "the console complained");
  // A section clips what is wider: it hides that from the page.
  const isWider = await page.evaluate(() => [document.documentElement, document.querySelector("main"), ...document.querySelectorAll("section")].some((part) => part.scrollWidth > part.clientWidth));
  assert.ok(!isWider, "wider than the screen");
  await page.context().close();
}

test("each kind is drawn, and the reference to drop is marked", async () => {
  const { page, printed, exported } = await cycles(["tree:50", "key:100", "slots:3"]);
  const kinds = page.locator("[data-kind]");
  assert.equal(await kinds.count(), exported.kinds.length);
  const shown = (await page.locator("[data-about], [data-end]").allTextContents()).join("\n");
  for (const line of shown.split("\n").filter((line) => !/held for|walked|meanwhile/.test(line))) assert.ok(printed.includes(line), line);
  for (const [place, kind] of exported.kinds.entries()) {
    const section = kinds.nth(place);
    await section.scrollIntoViewIfNeeded();
    await section.locator("svg").waitFor();
    const titles = (await section.locator(".class title").allTextContents()).map((name) => name.replace("__main__.", ""));
    assert.deepEqual(titles.sort(), kind.classes.map((row) => row.class.replace("__main__.", "")).sort());
    const listed = await section.locator("li").allTextContents();
    assert.deepEqual(listed.map((line) => line.split(" × ")[1].replace(", to drop", "")), kind.references.map(({ count }) => count.toLocaleString("en")));
    const counts = await section.locator(".beside text:last-child").allTextContents();
    assert.deepEqual(counts, kind.references.map(({ count }) => `× ${count.toLocaleString("en")}`));
    const dropped = await section.locator(".beside.dropped title").allTextContents();
    const lines = await section.locator(".beside title").allTextContents();
    const { each, drop } = kind.breaks;
    assert.deepEqual(dropped, lines.filter((_, reference) => (each ? drop.slice(0, 1) : drop).some((one) => one.reference === reference)));
    assert.ok(dropped.length === 1, "one is enough for these");
    for (const line of lines) assert.ok(printed.includes(`  ${line}\n`), line);
    assert.ok(printed.includes((await words(section, "[data-advice]")).replace("Break it", "break it")));
    assert.ok(printed.includes(`\n${await words(section, "h2")}\n`));
  }
  await page.keyboard.press("t");
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  await close(page);
});

test("names that HTML and terminals read are text, on a narrow screen too", async () => {
  const { page } = await cycles(["escapes", "long_name", "html"], { width: 380, theme: "dark" });
  for (const section of await page.locator("[data-kind]").all()) {
    await section.scrollIntoViewIfNeeded();
    await section.locator("svg").waitFor();
  }
  const drawn = (await page.locator("svg").allTextContents()).join();
  assert.match(drawn, /\[31m/);
  assert.ok(drawn.includes('["</script><b>"]'), drawn);
  await close(page);
});

test("no garbage, no kinds", async () => {
  const { page } = await cycles(["in_use"]);
  assert.match(await words(page, "[data-about]"), /no garbage waits for the collector/);
  assert.equal(await page.locator("[data-kind]").count(), 0);
  await close(page);
});
