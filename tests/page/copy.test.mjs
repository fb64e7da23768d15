// The key y in a real Chromium, read back from the browser's own clipboard: path:line of the selected box, or the name of what has no file.
import assert from "node:assert/strict";
import { test } from "node:test";
import { python, recording, slices } from "./made.mjs";
import { useViewer } from "./viewer-page.mjs";

const viewer = useViewer();

/** Keeps the clipboard for the test, and takes it from the page, as a browser does where the page came over HTTP from another machine. */
const WITHOUT_CLIPBOARD = () => {
  window.ownClipboard = navigator.clipboard;
  Object.defineProperty(navigator, "clipboard", { value: undefined });
};
const onPage = (documents, use, screen) => viewer.onPage(documents, async (page) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await use(page);
}, screen);
/** What is in the clipboard after the key: never what was there before. */
async function copied(page, key) {
  await page.evaluate(() => (window.ownClipboard ?? navigator.clipboard).writeText("nothing was copied"));
  await page.keyboard.press(key);
  await page.waitForFunction(async () => (await (window.ownClipboard ?? navigator.clipboard).readText()) !== "nothing was copied");
  return page.evaluate(() => (window.ownClipboard ?? navigator.clipboard).readText());
}
const choose = async (page, name) => {
  const row = page.locator("[data-tree] [role=treeitem]").filter({ has: page.locator(".name", { hasText: name }) }).first();
  await row.click();
  await page.waitForFunction((name) => document.querySelector("[data-panel] h2")?.textContent?.startsWith(name), name);
};
/** Opens the call tree down to the leaf of each path. */
async function openTree(page) {
  await page.keyboard.press("3");
  await page.keyboard.press("Home");
  const closed = page.locator("[data-tree] [role=treeitem][aria-expanded=false] .turn");
  while (await closed.count() > 0) await closed.first().evaluate((button) => button.click());
}

for (const before of [null, WITHOUT_CLIPBOARD]) {
  test(`y copies path:line of an expression and of a function, and the name of what has no file${before === null ? "" : ", where the browser has no clipboard"}`, async () => {
    await onPage(slices(), async (page) => {
      assert.equal(await copied(page, "y"), "/home/me/slices.py:7", "the line that ran");
      await page.keyboard.press("w");
      await openTree(page);
      assert.equal(await copied(page, "y"), "python3.15 slices.py", "the whole program");
      for (const [name, expected] of [["before", "/home/me/slices.py:4"], ["memmove", "memmove"], ["waiting in clock_nanosleep", "waiting in clock_nanosleep"]]) {
        await choose(page, name);
        assert.equal(await copied(page, "y"), expected);
      }
      assert.equal((await copied(page, "Y")).split("\n").at(-1), "waiting in clock_nanosleep");
      assert.equal(await page.evaluate(() => document.querySelector("textarea")), null);
    }, { before, height: 1200 });
  });
}

test("a function whose line is not known is its file, on the screen and in the clipboard", async () => {
  const spied = { ...python("main", 0, 5, 0, 1, null), file: "/srv/spied.py", column: null, end_column: null };
  await onPage(recording({ title: "spied", stacks: [[[spied], { samples: 3 }]] }), async (page) => {
    await openTree(page);
    await choose(page, "main");
    assert.equal(await page.locator("[data-tree] .on .where").innerText(), "spied.py");
    assert.equal(await copied(page, "y"), "/srv/spied.py");
    await choose(page, "line 5");
    assert.equal(await copied(page, "y"), "/srv/spied.py:5");
  });
});
