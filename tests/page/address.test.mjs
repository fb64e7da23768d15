// The page's address, in a real Chromium: what it holds, a fresh browser shows, and the back button undoes. The recordings are made by hand (made.mjs).
import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage, pageOf } from "./chromium.mjs";
import { fromTheStart, python, recording, slices, twoCallers } from "./made.mjs";
import { address, all, selected, useViewer, words } from "./viewer-page.mjs";

const { at, onPage } = useViewer();

/** This address in a fresh browser, which has nothing to complain of. */
async function openedAt(path, hash, use) {
  const fresh = await openPage(at, path);
  await fresh.goto("about:blank");
  await fresh.goto(`file://${path}${hash}`);
  await fresh.waitForSelector("html[data-painted], [data-tree], .table-view, .source-view, .threads-view");
  await use(fresh);
  assert.deepEqual(fresh.complaints, []);
  await fresh.context().close();
}
const opened = async (page, path, use) => openedAt(path, await address(page), use);

test("the address is what is seen: a fresh browser shows the same, and back undoes a step", async () => {
  await onPage(twoCallers(), async (page, path) => {
    await page.keyboard.press("3");
    await page.keyboard.press("w");
    await page.locator("[data-filter] summary").click();
    await page.locator("select[data-thread]").selectOption("1");
    await page.locator("[data-tree]").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    assert.match(await address(page), /^#view=tree&weight=wall&thread=1&at=/);
    await opened(page, path, async (fresh) => {
      assert.equal(await selected(fresh), "bar");
      assert.equal(await words(fresh, ".chip"), "worker ×");
      assert.equal(await fresh.locator("[data-weight=wall]").getAttribute("aria-pressed"), "true");
    });

    await page.goBack();
    assert.equal(await selected(page), "python3.15 two.py");
    assert.equal(await words(page, ".chip"), "worker ×");
  });
});

test("the address has the table's rows and order, also of the table in Where", async () => {
  await onPage(slices(), async (page, path) => {
    await page.keyboard.press("6");
    await page.locator("[data-by=line]").click();
    await page.locator("[data-sort=total]").click();
    assert.match(await address(page), /&by=line&sort=total&/);
    const rows = await all(page, "[data-row]");
    await opened(page, path, async (fresh) => {
      assert.equal(await fresh.locator("[data-by=line]").getAttribute("aria-pressed"), "true");
      assert.equal(await fresh.locator("th[aria-sort=descending]").innerText(), "CPU total");
      assert.deepEqual(await all(fresh, "[data-row]"), rows);
    });
    await page.goBack();
    assert.equal(await page.locator("th[aria-sort=descending]").innerText(), "CPU self");
    await page.goBack();
    assert.equal(await page.locator("[data-by=function]").getAttribute("aria-pressed"), "true");
    await page.keyboard.press("1");
    await page.keyboard.press("f");
    assert.equal(await page.locator("th[aria-sort=descending]").innerText(), "CPU total");
    await page.locator("[data-sort=self]").click();
    await opened(page, path, async (fresh) => {
      assert.equal(await fresh.locator("th[aria-sort=descending]").innerText(), "CPU self");
    });
  });
});

test("the address has the file that was chosen in the source, until a box of another one is selected", async () => {
  const documents = slices();
  documents.profile.sources.push({ path: "/home/me/other.py", lines: 1, sha256: "", chunks: [{ first_line: 1, text: "other = 1" }] });
  await onPage(documents, async (page, path) => {
    await page.keyboard.press("5");
    await page.locator(".source-view select").selectOption("/home/me/other.py");
    assert.equal(new URLSearchParams((await address(page)).slice(1)).get("file"), "/home/me/other.py");
    const isOther = async (shown) => (await words(shown, ".source-view ol")).endsWith("other = 1");
    assert.equal(await isOther(page), true);
    await opened(page, path, async (fresh) => {
      assert.equal(await isOther(fresh), true);
      await fresh.evaluate(() => { location.hash = "#view=source&file=/home/me/nowhere.py"; });
      await fresh.waitForFunction(() => document.querySelector(".source-view ol").innerText.includes("def before"));
    });
    await page.goBack();
    assert.equal(await isOther(page), false);
    await page.goForward();
    assert.equal(await isOther(page), true);
    await page.keyboard.press("3");
    await page.keyboard.press("Home");
    assert.doesNotMatch(await address(page), /file=/);
    await page.keyboard.press("5");
    assert.equal(await isOther(page), false);
  });
});

test("the address has the rows of the tree that were opened and closed", async () => {
  await onPage(twoCallers(), async (page, path) => {
    await page.keyboard.press("3");
    await page.keyboard.press("Home");
    const names = (shown) => all(shown, "[data-tree] [role=treeitem] .name");
    await page.locator("[role=treeitem]", { hasText: "bar" }).locator(".turn").click();
    const open = ["▾python3.15 two.py", "▸foo two.py:1", "▾bar two.py:5", "▸sum12 two.py:9"];
    assert.deepEqual(await names(page), open);
    await opened(page, path, async (fresh) => {
      assert.deepEqual(await names(fresh), open);
      // Of another recording: not the nearest caller that is there.
      await fresh.evaluate(() => { location.hash = "#view=tree&rows=nobody_-"; });
      await fresh.waitForFunction(() => document.querySelectorAll("[data-tree] [role=treeitem]").length === 1);
      assert.deepEqual(await names(fresh), ["▸python3.15 two.py"]);
    });
    await page.goBack();
    assert.deepEqual(await names(page), ["▾python3.15 two.py", "▸foo two.py:1", "▸bar two.py:5"]);
    assert.equal(await page.locator("[data-tree] .on").innerText().then((row) => row.includes("two.py")), true);
  });
});

test("the address has the frames of the interpreter that were opened", async () => {
  await onPage(fromTheStart(), async (page, path) => {
    await page.keyboard.press("3");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    assert.equal(await selected(page), "(3 frames of the interpreter)");
    assert.doesNotMatch(await address(page), /frames=/);
    await page.locator("[data-fold]").click();
    assert.equal(await selected(page), "_start");
    assert.equal(await words(page, "[data-fold]"), "Fold the interpreter's frames");
    await opened(page, path, async (fresh) => {
      assert.equal(await selected(fresh), "_start");
      await fresh.locator("[data-fold]").click();
      assert.equal(await selected(fresh), "(3 frames of the interpreter)");
      assert.doesNotMatch(await address(fresh), /frames=/);
    });
    await page.goBack();
    assert.equal(await selected(page), "(3 frames of the interpreter)");
    await page.goForward();
    assert.equal(await selected(page), "_start");
  }, { width: 1500 });
});

test("frames of the interpreter that were opened stay open in another weight, in which they begin elsewhere", async () => {
  const { frames } = fromTheStart().profile;
  // By wall `_start` has two ways on, and the frames that a reader can do without are the two below it.
  const stacks = [[frames, { samples: 50 }], [frames.slice(0, 1), { samples: 50, state: "in read(2)" }]];
  await onPage(recording({ title: "python3.15 slices.py", stacks }), async (page, path) => {
    await page.keyboard.press("3");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    assert.equal(await selected(page), "(3 frames of the interpreter)");
    await page.locator("[data-fold]").click();
    await page.locator("[data-tree]").focus();
    for (let step = 0; step < 4; step += 1) await page.keyboard.press("ArrowRight");
    assert.equal(await selected(page), "Py_RunMain");
    await page.keyboard.press("w");
    assert.equal(await selected(page), "Py_RunMain");
    assert.equal((await address(page)).match(/frames=[^&]*/)[0].split("_").length, 1, "a run is one word of the address");
    await opened(page, path, async (fresh) => {
      assert.equal(await selected(fresh), "Py_RunMain");
      for (let times = 0; times < 2; times += 1) await fresh.keyboard.press("w");
      assert.equal(await fresh.locator("[data-weight=cpu]").getAttribute("aria-pressed"), "true");
      assert.equal(await selected(fresh), "Py_RunMain");
    });
    await page.locator("[data-fold]").click();
    assert.equal(await selected(page), "(2 frames of the interpreter)");
  }, { width: 1500 });
});

test("the address has a frame of the interpreter that was found by a search", async () => {
  await onPage(fromTheStart(), async (page, path) => {
    await page.keyboard.press("/");
    await page.keyboard.type("Py_RunMain");
    await page.keyboard.press("Enter");
    assert.equal(await selected(page), "Py_RunMain");
    await opened(page, path, async (fresh) => {
      assert.equal(await selected(fresh), "Py_RunMain");
    });
  });
});

test("the address has the lists that were unfolded in Where", async () => {
  await onPage(slices(), async (page, path) => {
    await page.locator(".rows .more").click();
    assert.equal(await page.locator("[data-hit]").count(), 4);
    assert.match(await address(page), /[#&]where=whole/);
    await opened(page, path, async (fresh) => {
      assert.equal(await fresh.locator("[data-hit]").count(), 4);
      await fresh.locator(".rows .more").click();
      assert.equal(await fresh.locator("[data-hit]").count(), 3);
      assert.doesNotMatch(await address(fresh), /where=/);
    });
    await page.goBack();
    assert.equal(await page.locator("[data-hit]").count(), 3);
  });
});

test("the address has the threads that were unfolded", async () => {
  const documents = recording({ title: "python3.15 two.py", stacks: [[[python("foo", 1, 2, 4, 8, "work")], { samples: 10, state: "in poll(2)" }]] });
  await onPage(documents, async (page, path) => {
    await page.keyboard.press("7");
    assert.equal(await page.locator(".threads-view .thread").count(), 0);
    await page.locator("[data-folded] summary").click();
    await page.waitForSelector(".threads-view .thread");
    assert.match(await address(page), /&idle=whole/);
    await opened(page, path, async (fresh) => {
      await fresh.waitForSelector(".threads-view .thread");
      assert.equal(await fresh.locator("[data-folded]").evaluate((element) => element.open), true);
    });
    await page.goBack();
    await page.waitForFunction(() => document.querySelector(".threads-view .thread") === null);
    assert.equal(await page.locator("[data-folded]").evaluate((element) => element.open), false);
  });
});

test("the first step back is the page as it was opened", async () => {
  await onPage(slices(), async (page) => {
    assert.equal(await address(page), "");
    await page.keyboard.press("3");
    assert.match(await address(page), /^#view=tree&at=/);
    await page.keyboard.press("Home");
    await page.goBack();
    await page.goBack();
    assert.equal(await address(page), "");
    assert.equal(await page.locator("[data-view=where]").getAttribute("aria-selected"), "true");
    assert.equal(await selected(page), "b[i:]");
  });
});

test("an address that says nothing useful opens the page as it is", async () => {
  await openedAt(await pageOf(at, slices()), "#view=nowhere&thread=99&at=no.such.box&focus=(", async (page) => {
    assert.equal(await page.locator("[data-view=where]").getAttribute("aria-selected"), "true");
    assert.equal(await page.locator(".chips").count(), 0);
  });
});
