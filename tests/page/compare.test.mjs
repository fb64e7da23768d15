// A comparison as one page, of real recordings, in a real Chromium: the words of `genba diff`, colours with signs, hatched what the samples
// cannot tell, links, and both recordings' own views. Needs the built command, as html.test.mjs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openPage, pageOf } from "./chromium.mjs";
import { slices } from "./made.mjs";
import { address, closed, useChromium, words } from "./viewer-page.mjs";

const GENBA = process.env.GENBA ?? fileURLToPath(new URL("../../target/release/genba", import.meta.url));
const PYTHON = process.env.GENBA_PYTHON ?? "python3";
// So much more that a machine which others use cannot hide it: genba's intervals grow with the time that a run waited for a CPU.
const program = (argument) => `
def sum1(n):
    return sum(range(n))

def sum2(m):
    return sum(range(m))

def sum12(n, m):
    return sum1(n) + sum2(m)

def foo():
    return sum12(10_000, ${argument})

def bar():
    return sum12(100_000, 100_000)

for _ in range(150):
    foo()
    bar()
`;

const at = useChromium();
let folder;
const genba = (...words) => execFileSync(GENBA, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const inFolder = (name) => join(folder, name);
const record = (name, argument) => {
  writeFileSync(inFolder("two.py"), program(argument));
  genba("run", "--quiet", "--force", "-o", `${name}.genba`, PYTHON, "two.py");
};
/** Where other programs used the machine beside one of the two only, genba says so: that pair is recorded anew. */
const recordPair = (before, after, argument) => {
  for (let tries = 1; ; tries += 1) {
    record(before, "20_000");
    record(after, argument);
    if (JSON.parse(genba("diff", `${before}.genba`, `${after}.genba`, "--format", "json")).comparable || tries === 5) return;
  }
};
before(() => {
  assert.ok(existsSync(GENBA), `${GENBA} is not there: run \`make build\` first`);
  folder = mkdtempSync(join(tmpdir(), "genba-compare-"));
  recordPair("before", "after", "1_000_000");
  recordPair("one", "again", "20_000");
  recordPair("other", "equal", "20_000");
  genba("html", "before.genba", "after.genba", "-o", "changed.html");
  genba("html", "one.genba", "again.genba", "-o", "equal.html");
  genba("html", "other.genba", "equal.genba", "-o", "equal-too.html");
});
after(() => rmSync(folder, { recursive: true, force: true }));

async function onPage(name, use, screen = {}) {
  const page = await openPage(at, inFolder(name), { width: 1280, ...screen });
  await use(page);
  await closed(page);
}
/** Names from the root, and the tone, of each box that is on the page. */
const boxes = (page) => page.locator(".change-tree [role=treeitem]").evaluateAll((items) => items.map((item) => ({
  tone: item.dataset.tone, level: Number(item.ariaLevel), label: item.getAttribute("aria-label"), text: item.innerText, fill: getComputedStyle(item).backgroundColor, image: getComputedStyle(item).backgroundImage,
})));

for (const [theme, width] of [["light", 1280], ["dark", 390]]) {
  test(`what changed comes first, in the words of genba diff, ${theme}, ${width} pixels wide`, async () => {
    const diff = JSON.parse(genba("diff", "before.genba", "after.genba", "--format", "json"));
    const text = genba("diff", "before.genba", "after.genba");
    await onPage("changed.html", async (page) => {
      assert.equal(await page.locator("[data-view=compare]").getAttribute("aria-selected"), "true");
      assert.equal(await words(page, ".compare-verdict"), diff.verdict);
      const accounts = await page.locator("[data-accounting] > span").allInnerTexts();
      assert.equal(accounts.filter((line) => /ticks [\d,]+ = sampled/.test(line)).length, 2);
      for (const line of accounts) assert.ok(text.includes(line.trim()), `${line} in\n${text}`);
      assert.equal(await page.locator("[data-changes=rows] tbody tr").count() + Number(/^(\d+) more/.exec(await words(page, "[data-changes=rows] tfoot"))?.[1] ?? 0), diff.differences.length);
      await page.locator("[data-changes=rows] [data-more]").click();
      assert.equal(await page.locator("[data-changes=rows] tbody tr").count(), diff.differences.length, "no row is left out");
      const again = await openPage(at, inFolder("changed.html"), { width: 1280 });
      await again.evaluate((hash) => {
        location.hash = hash;
      }, await address(page));
      await again.waitForFunction((count) => document.querySelectorAll("[data-changes=rows] tbody tr").length === count, diff.differences.length);
      await again.context().close();
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "wider than the screen");
    }, { theme, width });
  });
}

test("a changed argument shows under its caller only, with a sign beside the colour", async () => {
  await onPage("changed.html", async (page) => {
    const row = page.locator("[data-changes=rows] tbody tr").first();
    assert.match(await row.innerText(), /^\+\d.*sum\(range\(m\)\)\s+two\.py:6 sum2 ← two\.py:12 foo$/s);
    assert.equal(await row.locator(".bar-change").count(), 1);
    const open = page.locator(".change-open");
    assert.ok(await open.count() >= 2, "rows of bar are there");
    assert.equal(await open.locator(".bar-change").count(), 0, "what the samples cannot tell has no bar");
    assert.ok((await open.first().innerText()).includes("cannot tell"));
    assert.notEqual(await open.first().locator(".hatched").evaluate((element) => getComputedStyle(element).backgroundImage), "none");

    const shown = await boxes(page);
    const under = (name) => {
      const first = shown.findIndex((box) => box.label.startsWith(`${name},`));
      assert.ok(first >= 0, `${name} in ${JSON.stringify(shown)}`);
      return shown[first];
    };
    assert.equal(under("foo").tone, "more");
    assert.match(under("foo").text, /^\+\d/);
    assert.notEqual(under("bar").tone, "more");
    assert.notEqual(under("bar").image, "none", "hatched");
    for (const box of shown.filter(({ tone }) => tone === "more")) assert.match(box.label, /, \+[\d.]+ /);
    for (const box of shown.filter(({ tone }) => tone === "less")) assert.match(box.label, /, −[\d.]+ /);
  });
});

test("the same program twice: nothing is claimed, and nothing is left out", async () => {
  // One pair in fifty may claim a difference in a row, and one in a box: of two pairs both do in fewer than one of 600.
  const claimed = [];
  for (const name of ["equal.html", "equal-too.html"]) {
    await onPage(name, async (page) => {
      const shown = await boxes(page);
      assert.ok(shown.length > 5);
      const isColoured = shown.some(({ tone }) => tone === "more" || tone === "less");
      const bars = await page.locator(".bar-change").count();
      if (isColoured || bars > 0) claimed.push(name);
      else assert.match(await words(page, ".compare-verdict"), /^no difference that these recordings can tell/);
      assert.equal(bars, await page.locator(".change-more, .change-less").count());
      assert.ok(await page.locator(".change-open").count() > 0);
    });
  }
  assert.ok(claimed.length < 2, "both pairs claim a difference");
});

test("boxes by pointer and by keys, and the address of what is seen", async () => {
  await onPage("changed.html", async (page) => {
    await page.locator(".change-tree [role=treeitem]", { hasText: "foo" }).first().click();
    assert.match(await words(page, ".change-chosen"), /› foo two\.py A .* · B .* · \+/);
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label")?.startsWith("sum12"));
    await page.keyboard.press("Enter");
    assert.match(await words(page, ".change-chosen"), /› foo › sum12 /);
    const link = await address(page);
    assert.match(link, /change=\d+/);
    const again = await openPage(at, inFolder("changed.html"), { width: 1280 });
    await again.evaluate((hash) => {
      location.hash = hash;
    }, link);
    await again.waitForFunction(() => document.querySelector(".change-chosen")?.textContent?.includes("sum12"));
    await again.context().close();
    await page.keyboard.press("Backspace");
    assert.match(await words(page, ".change-chosen"), /› foo two/);
    await page.goBack();
    assert.match(await words(page, ".change-chosen"), /› foo › sum12 /);
  });
});

test("each recording has its own views on the same page", async () => {
  const sampled = (name) => JSON.parse(genba("report", name, "--format", "json")).accounting.sampled.toLocaleString("en-US");
  await onPage("changed.html", async (page) => {
    await page.keyboard.press("1");
    await page.waitForSelector("[data-flame]");
    assert.match(await words(page, "[data-accounting]"), new RegExp(`sampled ${sampled("after.genba")} `));
    await page.locator("[data-side=before]").click();
    await page.waitForFunction((count) => document.querySelector("[data-accounting]")?.textContent?.includes(`sampled ${count} `), sampled("before.genba"));
    assert.equal(await address(page).then((hash) => new URLSearchParams(hash.slice(1)).get("side")), "before");
    await page.keyboard.press("3");
    assert.equal(await page.locator("[data-side=before]").getAttribute("aria-pressed"), "true");
    await page.locator("[data-side=after]").click();
    await page.waitForFunction((count) => document.querySelector("[data-accounting]")?.textContent?.includes(`sampled ${count} `), sampled("after.genba"));
    assert.equal(await page.locator("[data-view=tree]").getAttribute("aria-selected"), "true", "the view stays");
    await page.keyboard.press("c");
    assert.match(await words(page, ".compare-verdict"), /^B (takes|differs)/);
    await page.goBack();
    await page.waitForSelector("[data-tree]");
    await page.goBack();
    await page.waitForFunction((count) => document.querySelector("[data-accounting]")?.textContent?.includes(`sampled ${count} `), sampled("before.genba"));
  });
});

test("the theme changes on every view", async () => {
  await onPage("changed.html", async (page) => {
    await page.keyboard.press("t");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await page.locator("[data-side=before]").click();
    await page.waitForSelector("[data-flame]");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  });
});

test("a page of one recording says which command compares two", async () => {
  const path = await pageOf(at, slices());
  const page = await openPage(at, path, { width: 1280 });
  await page.keyboard.press("c");
  assert.match(await words(page, ".absent"), /genba html before\.genba after\.genba writes a page that compares two/);
  assert.equal(await address(page).then((hash) => new URLSearchParams(hash.slice(1)).get("view")), "compare");
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});
