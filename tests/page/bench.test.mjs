// `genba bench --export-html`, of real commands, in a real Chromium: the numbers of --export-json, the words of the screen, pictures to point at.
// Needs the built command: target/release/genba, or GENBA.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { openPage } from "./chromium.mjs";
import { plain, useChromium, words } from "./viewer-page.mjs";

const GENBA = process.env.GENBA ?? fileURLToPath(new URL("../../target/release/genba", import.meta.url));
const at = useChromium();
let folder;

before(() => {
  assert.ok(existsSync(GENBA), `${GENBA} is not there: run \`make build\` first`);
  folder = mkdtempSync(join(tmpdir(), "genba-bench-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** What the command printed, the page in Chromium, and what --export-json wrote beside it. */
async function bench(options, look = {}) {
  const printed = execFileSync(GENBA, ["bench", "-N", "--export-html", "page.html", "--export-json", "page.json", ...options], { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const page = await openPage(at, join(folder, "page.html"), look);
  return { printed, page, exported: JSON.parse(readFileSync(join(folder, "page.json"), "utf8")) };
}

async function close(page) {
  assert.deepEqual(page.asked, [], "the page asked for something");
  assert.deepEqual(page.complaints, [], "the console complained");
  const isWider = await page.evaluate(() => [document.documentElement, document.querySelector("main")].some((part) => part.scrollWidth > part.clientWidth));
  assert.ok(!isWider, "wider than the screen");
  await page.context().close();
}

const digits = (value) => value.toFixed(value >= 0.9 && value < 1.1 ? 3 : 2);
const dots = (page, place) => page.locator("[data-command]").nth(place).locator("path").getAttribute("d");

test("two commands: the screen's words, the file's numbers, each run", async () => {
  const names = ["</script><b>表", "longer"];
  const { printed, page, exported } = await bench(["-r", "9", "-n", names[0], "-n", names[1], "sleep 0.005", "sleep 0.02"]);
  const packed = await page.locator("[data-numbers]").textContent();
  const inside = JSON.parse(gunzipSync(Buffer.from(packed, "base64")).toString());
  assert.deepEqual(inside.export, exported);

  assert.deepEqual(await page.locator("[data-command] h2").allTextContents(), names);
  const said = await page.locator("pre").allTextContents();
  const [together, ...blocks] = said;
  assert.equal([...blocks, together].join("\n\n") + "\n", printed);
  assert.equal(await words(page, "[data-how]"), "2 commands, 9 rounds in turns");

  // One run that waited for a CPU may make the other command the faster one of the two.
  const slower = exported.results.findIndex(({ genba }) => genba.relative !== null);
  const { ratio, low, high, shown } = exported.results[slower].genba.relative;
  assert.equal(await words(page, "[data-ratios] .figure"), `${digits(ratio)} (${digits(low)} … ${digits(high)})${shown ? "" : ", no difference shown"}`);
  assert.ok((await words(page, "[data-ratios]")).includes(`Times as long as ${names[1 - slower]}, `));

  // Nine runs beside each other: the pointer in the middle is at the fifth.
  const first = page.locator("[data-command]").first();
  const ms = (run) => `${(exported.results[0].times[run] * 1e3).toFixed(1)} ms`;
  await first.getByRole("slider").hover();
  assert.equal(await words(page, "[data-chosen]"), `run 5 of 9: ${ms(4)}`);
  await page.keyboard.press("ArrowRight");
  assert.equal(await words(page, "[data-chosen]"), `run 5 of 9: ${ms(4)}`, "the picture has no focus yet");
  await page.mouse.move(0, 0);
  assert.match(await words(page, "[data-chosen]"), /^9 runs in order/);
  await first.getByRole("slider").focus();
  for (const [key, run] of [["ArrowRight", 0], ["ArrowRight", 1], ["ArrowLeft", 0], ["ArrowLeft", 0], ["End", 8], ["Home", 0]]) {
    await page.keyboard.press(key);
    assert.equal(await words(page, "[data-chosen]"), `run ${run + 1} of 9: ${ms(run)}`);
  }
  assert.equal(await first.getByRole("slider").getAttribute("aria-valuetext"), `run 1 of 9: ${ms(0)}`);
  await first.locator("summary").click();
  await first.locator("li").first().waitFor();
  assert.deepEqual((await first.locator("li").allTextContents()).map(plain), exported.results[0].times.map((_, run) => ms(run)));

  const [own, alone] = [await dots(page, 0), await dots(page, 1)];
  await page.keyboard.press("s");
  // A run that waited for a CPU may take longer than all of the other command: its scale is that of both already.
  const ends = exported.results.map(({ times }) => [Math.min(...times), Math.max(...times)]);
  const spansBoth = ([least, most], other) => least <= other[0] && most >= other[1];
  for (const [place, before] of [[0, own], [1, alone]]) {
    if (!spansBoth(ends[place], ends[1 - place])) assert.notEqual(await dots(page, place), before, "both have the scale of both");
  }
  await page.getByRole("button", { name: "Own scale" }).click();
  assert.deepEqual([await dots(page, 0), await dots(page, 1)], [own, alone]);
  await page.keyboard.press("t");
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  await close(page);
});

test("one command alone has nothing beside it, on a narrow screen neither", async () => {
  const { printed, page } = await bench(["-r", "2", "true"], { width: 380, theme: "dark" });
  assert.equal(await page.locator("[data-together], [data-scan], .segments").count(), 0);
  assert.equal(`${await page.locator("pre").textContent()}\n`, printed);
  await close(page);
});

test("a scan is a picture by its number, in the unit that was asked for", async () => {
  const { page, exported } = await bench(["-r", "2", "-u", "second", "-P", "delay", "0.001", "0.003", "-D", "0.001", "sleep {delay}"]);
  assert.equal(await words(page, "[data-scan] h2"), "Mean time by delay");
  const said = await page.locator("[data-scan] title").allTextContents();
  assert.deepEqual(said, exported.results.map(({ command, mean, stddev }) => `${command}: ${mean.toFixed(3)} s ± ${stddev.toFixed(3)} s`));
  assert.match(await words(page, "[data-command] [data-axis]"), /^[\d.]+ s\b/);
  // Two rounds make no interval.
  assert.match(await words(page, "[data-ratios] .figure"), /\(too few runs\)$/);
  await close(page);
});

test("what is left without the start-up has a ratio of its own", async () => {
  // A busy machine lets `true` take longer than ten milliseconds: the shorter of the two takes so long that something is left of it.
  const { page, exported } = await bench(["-r", "3", "--start-up", "true", "sleep 0.2", "sleep 0.5"]);
  assert.deepEqual(await page.locator("[data-ratios] [data-kind]").evaluateAll((rows) => rows.map((row) => row.dataset.kind)), ["turns", "beyond"]);
  // One run that waited for a CPU may make the other command the slower one of the two.
  const { command, genba } = exported.results.find(({ genba }) => genba.beyond_start_up.relative !== null);
  assert.ok((await words(page, '[data-kind="beyond"]')).startsWith(`${command} without the start-up`));
  assert.ok((await words(page, '[data-kind="beyond"] .figure')).startsWith(`${digits(genba.beyond_start_up.relative.ratio)} (`));
  await close(page);
});

test("earlier sessions, one after the other, and a session that ended early", async () => {
  const { exported } = await bench(["-r", "2", "true"]).then(async ({ page, exported }) => {
    await close(page);
    return { exported };
  });
  writeFileSync(join(folder, "earlier.json"), JSON.stringify(exported));
  const { page } = await bench(["-r", "2", "--sequential", "--against", "earlier.json", "true", "sleep 0.001"]);
  assert.equal(await words(page, "[data-how]"), "2 commands, one after the other");
  assert.match(await words(page, '[data-kind="against"]'), /^true compared with itself in earlier sessions /);
  await close(page);
  const counted = `sh -c 'echo >> runs; test $(wc -l < runs) -lt 5'`;
  assert.throws(() => execFileSync(GENBA, ["bench", "-N", "-r", "9", "--export-html", "cut.html", counted, "true"], { cwd: folder, stdio: "ignore" }));
  const cut = await openPage(at, join(folder, "cut.html"));
  assert.match(await words(cut, "[data-how]"), /, stopped early$/);
  await close(cut);
});

test("a damaged page says what is wrong with it", async () => {
  await bench(["-r", "2", "true"]).then(({ page }) => close(page));
  const path = join(folder, "page.html");
  const whole = readFileSync(path, "utf8");
  writeFileSync(path, whole.replace(/(data-numbers="gzip\+base64">)[^<]*/, (_, head) => `${head}${Buffer.from("no gzip").toString("base64")}`));
  const page = await openPage(at, path);
  assert.match(await words(page, ".failed"), /^These measurements cannot be shown /);
  await page.context().close();
});
