// The call tree in its three orders, in a real Chromium: by weight, in time, upside down; and the switches, which are a menu on a narrow page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage } from "./chromium.mjs";
import { firstFooThenBar, twoCallers } from "./made.mjs";
import { all, selected, useViewer, words } from "./viewer-page.mjs";

const { at, onPage } = useViewer();
const rows = (page) => all(page, "[data-tree] [role=treeitem]");

test("upside down: what has time of its own, below it its callers with their parts", async () => {
  await onPage(twoCallers(), async (page) => {
    await page.keyboard.press("3");
    await page.keyboard.press("i");
    await page.keyboard.press("Home");
    const shown = await rows(page);
    assert.match(shown[0], /^100.0 % .*python3.15 two.py$/);
    // Selves of the call tree stand here as totals, and add up to the recording.
    const shares = shown.slice(1).map((row) => Number(/^([\d.]+) %/.exec(row)[1]));
    assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 100) < 0.3, shown.join("\n"));
    assert.match(shown[1], /▸/);
    await page.keyboard.press("ArrowDown");
    const leaf = await selected(page);
    await page.keyboard.press("ArrowRight");
    assert.equal((await page.locator("[data-panel] h3").allInnerTexts()).some((title) => /^called by$/i.test(title)), true);
    // The same function is selected when the tree is turned back.
    await page.keyboard.press("i");
    assert.equal(await selected(page), leaf);
    assert.doesNotMatch(await page.evaluate(() => location.hash), /order=/);
  });
});

test("a link opens the same order with the same box", async () => {
  await onPage(twoCallers(), async (page, path) => {
    await page.keyboard.press("i");
    assert.equal(await page.locator("[data-view=flame]").getAttribute("aria-selected"), "true", "a view that has the order");
    await page.locator("[data-flame]").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const [box, hash] = [await selected(page), await page.evaluate(() => location.hash)];
    assert.match(hash, /^#view=flame&order=inverted&at=/);
    const fresh = await openPage(at, path, {});
    await fresh.goto("about:blank");
    await fresh.goto(`file://${path}${hash}`);
    await fresh.waitForSelector("html[data-painted]");
    assert.equal(await selected(fresh), box);
    await fresh.context().close();
    // Rows are of the call tree: a click on one finds its box.
    await page.keyboard.press("6");
    await page.locator("[data-row]").first().click();
    const row = await selected(page);
    await page.keyboard.press("2");
    assert.equal(await selected(page), row);
  });
});

test("in time: threads stand side by side, and calls in the order in which they ran", async () => {
  await onPage(firstFooThenBar(), async (page) => {
    await page.keyboard.press("2");
    await page.keyboard.press("o");
    await page.locator("[data-flame]").focus();
    const walked = [];
    await page.keyboard.press("ArrowDown");
    for (let step = 0; step < 3; step += 1) {
      walked.push(await selected(page));
      await page.keyboard.press("ArrowDown");
    }
    assert.match(walked.join(" > "), /^thread .* > foo > sum12$/);
    // One thread alone has no box of its own.
    await page.locator("[data-filter] summary").click();
    await page.locator("select[data-thread]").selectOption("0");
    await page.locator("[data-flame]").focus();
    await page.keyboard.press("Home");
    for (let up = 0; up < 6; up += 1) await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowDown");
    assert.equal(await selected(page), "foo");
    await page.keyboard.press("o");
    assert.doesNotMatch(await page.evaluate(() => location.hash), /order=/);
  });
});

test("without moments there is no order of time to choose", async () => {
  await onPage(twoCallers(), async (page) => {
    await page.keyboard.press("2");
    await page.locator("[data-filter] summary").click();
    assert.deepEqual(await page.locator("[data-order]").allInnerTexts(), ["Heaviest first", "Inverted"]);
  });
});

test("the switches are in the menu on a narrow page, beside it on a wide one", async () => {
  for (const [width, inMenu] of [[1399, true], [1400, false], [390, true]]) {
    await onPage(twoCallers(), async (page) => {
      await page.keyboard.press("2");
      assert.equal(await page.locator("[data-layers=c]").isVisible(), !inMenu, `${width}`);
      await page.locator("[data-filter] summary").click();
      assert.equal(await page.locator("[data-filter] [data-layers=c]").count(), inMenu ? 1 : 0);
      await page.locator("[data-layers=c]").click();
      assert.match(await words(page, ".chips"), /^C only ×/);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "wider than the screen");
    }, { width });
  }
});
