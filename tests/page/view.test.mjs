// `genba view` in a real Chromium: the list, a recording, a comparison, a reload, a run that is followed while it grows, and a file that cannot be
// read.
// Needs the built command, as html.test.mjs.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { reloaded, withChromium } from "./chromium.mjs";

const GENBA = process.env.GENBA ?? fileURLToPath(new URL("../../target/release/genba", import.meta.url));
const PYTHON = process.env.GENBA_PYTHON ?? "python3";
const program = (count) => `
def load(n):
    return sum(range(n))

for _ in range(200):
    load(${count})
`;

/** Until its standard input ends. */
const LIVE = `
import sys, threading

isOver = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), isOver.set())).start()
while not isOver.is_set():
    sum(range(100_000))
`;

let folder;
let view;
let address;
before(async () => {
  assert.ok(existsSync(GENBA), `${GENBA} is not there: run \`make build\` first`);
  folder = mkdtempSync(join(tmpdir(), "genba-view-"));
  for (const [name, count] of [["short", "100_000"], ["long", "1_000_000"]]) {
    writeFileSync(join(folder, "app.py"), program(count));
    execFileSync(GENBA, ["run", "--quiet", "-o", `${name}.genba`, PYTHON, "app.py"], { cwd: folder });
  }
  writeFileSync(join(folder, "broken.genba"), "no recording");
  view = spawn(GENBA, ["view", "--no-open", "short.genba", "long.genba", "broken.genba"], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  [address] = await once(createInterface({ input: view.stdout }), "line");
});
after(async () => {
  view.kill("SIGINT");
  const [code] = await once(view, "exit");
  rmSync(folder, { recursive: true, force: true });
  assert.equal(code, 0, "Ctrl-C ends it well");
});

for (const [theme, width] of [["light", 1280], ["dark", 390]]) {
  test(`listed, opened and compared, ${theme}, ${width} pixels wide`, async () => {
    await withChromium(async ({ browser }) => {
      const context = await browser.newContext({ viewport: { width, height: 860 }, colorScheme: theme });
      const page = await context.newPage();
      const [asked, complaints] = [[], []];
      page.on("request", (request) => {
        if (!request.url().startsWith(address) && !request.url().startsWith("data:")) asked.push(request.url());
      });
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(String(error)));
      const words = (selector) => page.locator(selector).first().innerText();
      const ticks = async () => Number(/ticks ([\d,]+) = /.exec(await words("[data-accounting]"))[1].replaceAll(",", ""));

      await page.goto(address);
      assert.deepEqual(await page.locator("li a").allInnerTexts(), ["short.genba", "long.genba", "broken.genba"]);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "wider than the screen");
      await page.getByRole("link", { name: "short.genba" }).click();
      await page.waitForSelector("html[data-painted]");
      assert.ok(await page.locator("[data-hit]").count() > 0);
      const first = await ticks();

      await page.goBack();
      await page.getByRole("button", { name: "Compare" }).click();
      await page.waitForSelector("html[data-painted]");
      assert.match(await words(".compare-verdict"), /^B (takes|differs)/);
      await page.keyboard.press("1");
      await page.waitForSelector("[data-flame]");

      // The file grows: a reload shows the new state.
      await page.goto(`${address}recording/0#view=tree`);
      const kept = readFileSync(join(folder, "short.genba"));
      copyFileSync(join(folder, "long.genba"), join(folder, "short.genba"));
      await page.reload();
      await page.waitForSelector("[data-tree]");
      assert.ok(await ticks() > first);
      writeFileSync(join(folder, "short.genba"), kept);
      assert.deepEqual(complaints, [], "the console complained");

      await page.goto(`${address}recording/2`);
      assert.match(await words("pre"), /^error: broken\.genba is not a recording\n[^]*hint: genba run app\.py makes one$/);
      await page.goto(`${address}recording/1`);
      await page.waitForSelector("html[data-painted]");
      assert.deepEqual(asked, [], "something elsewhere was asked");
      await context.close();
    });
  });
}

test("two times of one recording are compared by a click, from the list and without one", async () => {
  const alone = spawn(GENBA, ["view", "--no-open", "long.genba"], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  const [only] = await once(createInterface({ input: alone.stdout }), "line");
  await withChromium(async ({ browser }) => {
    for (const shown of [`${address}recording/1`, only]) {
      const page = await browser.newPage();
      const complaints = [];
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(String(error)));
      await page.goto(shown);
      await page.waitForSelector("html[data-painted]");
      const strip = await page.locator(".strip .chart").boundingBox();
      const at = (share) => [strip.x + share * strip.width, strip.y + strip.height / 2];
      await page.mouse.move(...at(0.5));
      await page.mouse.down();
      await page.mouse.move(...at(0.7));
      await page.mouse.move(...at(0.9));
      await page.mouse.up();
      await page.keyboard.press("c");
      await page.locator("a[href*='before-time=']").click();
      await page.waitForSelector(".compare-verdict");
      assert.match(await page.locator("h1.run").innerText(), /^A long\.genba --time \S+ → B long\.genba --time \S+$/);
      assert.ok(await page.locator("[data-changes=rows] tbody tr").count() > 0);
      await page.goBack();
      await page.locator("a[href*='before-time=']").waitFor();
      assert.equal(await page.locator(".chips .chip").count(), 1, "the range is still kept");
      assert.deepEqual(complaints, [], "the console complained");
      await page.close();
    }
  });
  alone.kill("SIGINT");
  await once(alone, "exit");
});

test("a run is followed while it grows, and its page is an ordinary one at its end", async () => {
  writeFileSync(join(folder, "live.py"), LIVE);
  const run = spawn(GENBA, ["run", "--quiet", "-o", "live.genba", PYTHON, "live.py"], { cwd: folder, stdio: ["pipe", "ignore", "ignore"] });
  // Its first block comes within milliseconds of the start.
  while (!existsSync(join(folder, "live.genba")) || statSync(join(folder, "live.genba")).size === 0) {
    assert.equal(run.exitCode, null, "genba run has ended without a recording");
    await new Promise((soon) => setTimeout(soon, 10));
  }
  const live = spawn(GENBA, ["view", "--no-open", "live.genba"], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  const [shown] = await once(createInterface({ input: live.stdout }), "line");
  await withChromium(async ({ browser }) => {
    const page = await browser.newPage();
    const complaints = [];
    page.on("console", (message) => {
      // The page of a recording without a sample says so with status 500.
      if (["error", "warning"].includes(message.type()) && !/status of 500/.test(message.text())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    await page.goto(shown);
    await page.locator("[data-follow]").waitFor({ timeout: 60_000 });
    await reloaded(page);
    await page.waitForSelector("html[data-painted]", { timeout: 60_000 });
    assert.match(await page.locator("[data-follow]").innerText(), /^live · following/);
    run.stdin.end();
    await once(run, "exit");
    // The reload that the end asks for leaves nothing that follows. A page that is on its way has not come to it yet.
    const isOrdinary = () => document.readyState === "complete" && document.querySelector("html[data-painted]") !== null && document.querySelector("script[data-state]") === null;
    await page.waitForFunction(isOrdinary, null, { timeout: 60_000 });
    assert.equal(await page.locator("[data-follow]").count(), 0);
    assert.deepEqual(complaints, [], "the console complained");
  });
  live.kill("SIGINT");
  await once(live, "exit");
});
