// The views and the filters, in a real Chromium. The recordings are made by hand (made.mjs).
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn } from "./chromium.mjs";
import { python, recording, slices, twoCallers } from "./made.mjs";
import { address, all, selected, until, useViewer, words } from "./viewer-page.mjs";

const VIEWS = ["where", "flame", "tree", "sandwich", "source", "functions", "threads", "memory", "gc"];
const { onPage } = useViewer();

for (const [theme, width] of [["light", 1280], ["dark", 390]]) {
  test(`each view opens by its key and by its tab, ${theme}, ${width} pixels wide`, async () => {
    await onPage(slices(), async (page) => {
      for (const [number, name] of VIEWS.entries()) {
        await page.keyboard.press(`${number + 1}`);
        await drawn(page);
        assert.equal(await page.locator(`[data-view=${name}]`).getAttribute("aria-selected"), "true", name);
        assert.ok((await page.locator(".stage").innerText()).length > 0 || (await page.locator(".stage canvas").count()) > 0, name);
        assert.equal(await page.locator("[data-accounting]").isVisible(), true, "the accounting is in sight");
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${name} is wider than the screen`);
      }
      await page.locator("[data-view=flame]").click();
      assert.equal(await page.locator("[data-flame]").count(), 1);
      assert.equal(await page.locator("[data-hit]").count(), 0);
    }, { theme, width });
  });
}

test("a view without data says which flag fills it", async () => {
  await onPage(twoCallers(), async (page) => {
    await page.keyboard.press("8");
    assert.match(await words(page, ".absent"), /genba run --mem/);
    await page.keyboard.press("9");
    assert.match(await words(page, ".absent"), /No sample was taken while the collector ran/);
    await page.keyboard.press("5");
    assert.match(await words(page, ".absent"), /No source text is in this recording/);
  });
});

test("the tree is walked, opened and closed by keys, with totals and selves of both clocks", async () => {
  await onPage(twoCallers(), async (page) => {
    await page.keyboard.press("3");
    await page.keyboard.press("Home");
    assert.deepEqual(await all(page, "[data-tree] [role=treeitem] .name"), ["▾python3.15 two.py", "▸foo two.py:1", "▸bar two.py:5"]);
    await page.keyboard.press("ArrowDown");
    assert.equal(await selected(page), "foo");
    assert.equal(await words(page, "[data-tree] .on"), "55.0 % 110 ms 0 ns 110 ms 0 ns 110 ▸foo two.py:1");
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
    assert.equal(await selected(page), "sum12");
    await page.keyboard.press("ArrowRight");
    assert.deepEqual(await all(page, "[data-tree] [role=treeitem] .name"), [
      "▾python3.15 two.py", "▾foo two.py:1", "▾sum12 two.py:9", "▸sum2 two.py:30", "▸sum1 two.py:20", "▸bar two.py:5",
    ]);
    assert.equal(await selected(page), "sum2");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await selected(page), "sum12");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await page.locator("[data-tree] [role=treeitem]").count(), 4);
    await page.keyboard.press("ArrowLeft");
    assert.equal(await selected(page), "foo");
  }, { width: 1500 });
});

test("the rows of the tree are sorted by the column that is clicked, and the address says by which", async () => {
  const call = (name) => ({ kind: "python", owner: "user", name, file: "/home/me/two.py", first_line: 1 });
  const stacks = [[[call("one"), call("inner")], { samples: 90 }], [[call("one")], { samples: 10 }], [[call("two")], { samples: 60 }]];
  await onPage(recording({ title: "python3.15 two.py", stacks }), async (page) => {
    await page.keyboard.press("3");
    await page.keyboard.press("Home");
    const names = async () => (await all(page, "[data-tree] [role=treeitem] .name")).slice(1);
    assert.deepEqual(await names(), ["▸one two.py:1", "two two.py:1"]);
    await page.locator("[data-sort='cpu self']").click();
    assert.deepEqual(await names(), ["two two.py:1", "▸one two.py:1"]);
    assert.match(await address(page), /sort=self/);
    await page.locator("[data-sort='wall total']").click();
    assert.deepEqual(await names(), ["▸one two.py:1", "two two.py:1"]);
    assert.match(await address(page), /weight=wall/);
    assert.deepEqual(await page.locator(".tree-head [aria-pressed=true]").allInnerTexts(), ["wall"]);
  }, { width: 1500 });
});

test("the keys go on in the rows after a click on the head of a column, and where the selection leaves from there", async () => {
  await onPage(twoCallers(), async (page) => {
    const isInRows = () => page.evaluate(() => document.activeElement.matches("[data-tree]"));
    await page.keyboard.press("3");
    await page.keyboard.press("Home");
    await page.locator("[data-sort='wall total']").click();
    await page.keyboard.press("ArrowDown");
    assert.equal(await selected(page), "foo");
    assert.equal(await isInRows(), true);
    await page.keyboard.press("/");
    await page.keyboard.type("sum2");
    await page.keyboard.press("Enter");
    const first = await page.locator("[data-tree] .on").getAttribute("id");
    await page.locator("[data-sort='wall total']").focus();
    assert.equal(await isInRows(), false);
    await page.keyboard.press("n");
    assert.notEqual(await page.locator("[data-tree] .on").getAttribute("id"), first);
    assert.equal(await isInRows(), true);
  }, { width: 1500 });
});

test("the tree and the table are each sorted by their own column", async () => {
  await onPage(slices(), async (page) => {
    const ofTable = () => page.locator("th[aria-sort=descending]").innerText();
    const ofTree = () => page.locator(".tree-head [aria-pressed=true]").innerText();
    await page.keyboard.press("6");
    await page.locator("[data-sort=self]").click();
    for (const key of ["w", "w", "3"]) await page.keyboard.press(key);
    // Of samples the tree has no column of selves.
    assert.equal(await ofTree(), "samples");
    assert.doesNotMatch(await address(page), /sort=/);
    await page.locator("[data-sort='wall self']").click();
    await page.keyboard.press("6");
    await page.locator("[data-sort=total]").click();
    // Back in each of them it is as the reader left it.
    await page.keyboard.press("3");
    assert.equal(await ofTree(), "wall self");
    for (const head of ["samples", "CPU self", "wall self"]) {
      await page.keyboard.press("w");
      assert.equal(await ofTree(), head);
    }
    assert.match(await address(page), /sort=self/);
    await page.keyboard.press("6");
    assert.equal(await ofTable(), "Wall total");
    assert.match(await address(page), /sort=total/);
    // A step back tells nothing of the view that it leaves.
    await page.goBack();
    assert.equal(await ofTree(), "wall self");
    await page.keyboard.press("6");
    assert.equal(await ofTable(), "Wall total");
  }, { width: 1500 });
});

test("one function with two callers: apart in the tree, together in the sandwich, which names both callers' shares", async () => {
  await onPage(twoCallers(), async (page) => {
    await page.keyboard.press("6");
    await page.locator("[data-row]", { hasText: "sum12" }).click();
    await page.keyboard.press("s");
    assert.equal(await words(page, ".middle"), "sum12 100.0 % · 2 callers · foo 55.0 % · bar 45.0 %");
    const spoken = await all(page, ".sandwich [role=treeitem]");
    assert.deepEqual(spoken, ["sum12, two.py:9, 100.0 %", "foo, two.py:1, 55.0 %", "bar, two.py:5, 45.0 %", "sum12, two.py:9, 100.0 %", "sum2, two.py:30, 65.0 %", "sum1, two.py:20, 35.0 %"]);
  });
});

for (const width of [1280, 390]) {
  test(`the sandwich says under which caller the time goes elsewhere, ${width} pixels wide`, async () => {
    await onPage(twoCallers(), async (page) => {
      await page.keyboard.press("6");
      await page.locator("[data-row]", { hasText: "sum12" }).click();
      await page.keyboard.press("s");
      // On a narrow screen the panel is a sheet over half of it.
      await page.keyboard.press("Escape");
      assert.equal(await words(page, ".split p"), "The split differs by caller: under bar, 66.7 % is sum1 Shares of each caller's time in sum12.");
      assert.equal(await words(page, ".split .odd"), "66.7 %");
      assert.deepEqual(await all(page, ".split tr"), ["caller CPU sum2 sum1", "foo two.py:1 110 ms 90.9 % 9.1 %", "bar two.py:5 90.0 ms 33.3 % 66.7 %", "all 2 callers 200 ms 65.0 % 35.0 %"]);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "wider than the screen");
      await page.locator(".split button", { hasText: "bar" }).click();
      assert.match(await words(page, ".middle"), /^bar 45\.0 %/, "a caller becomes the middle");
      assert.equal(await page.locator(".split").count(), 0, "which has one caller");
    }, { width });
  });
}

test("the source has a bar a line and an underlined expression that leads to its box", async () => {
  await onPage(slices(), async (page) => {
    await page.keyboard.press("5");
    // The selected line says which of its expressions costs what, and where in C: drawn as a bar, spoken as text.
    assert.equal(
      await words(page, "[data-line='7']"),
      "7 91.1 % 1.0 % n += len(b[i:][:2]) b[i:] 90.0 % b[i:] bytes.__getitem__ → PyBytes_FromStringAndSize → memmove 90 % len(b[i:][:2]) 1.0 % len(b[i:][:2])",
    );
    const bar = await page.locator("[data-line='7'] .mark-bar").first().boundingBox();
    const underlined = await page.locator("[data-line='7'] u").nth(1).boundingBox();
    // The browser lays out in fractions of a pixel.
    assert.ok(Math.abs(bar.x - underlined.x) < 1 && Math.abs(bar.width - underlined.width) < 1, `${bar.x} ${underlined.x}`);
    assert.deepEqual(await all(page, "[data-line='7'] u"), ["len(", "b[i:]", "[:2])"]);
    await page.locator("[data-line='14'] u").first().click();
    assert.equal(await selected(page), "b[i:i + 2]");
    assert.equal(await page.locator(".source-view li.on").getAttribute("data-line"), "14");
    assert.equal(await page.locator("[data-line='14'] .marks li").count(), 1);
    assert.equal(await words(page, "[data-line='7']"), "7 91.1 % 1.0 % n += len(b[i:][:2])");
  });
});

test("tables by expression, line, function, file and whose code it is, by total or self", async () => {
  await onPage(slices(), async (page) => {
    await page.keyboard.press("6");
    assert.equal((await all(page, "[data-row]"))[0], "92.3 % 1.76 s 92.3 % 1.76 s memmovelibc.so.6");
    await page.locator("[data-sort=total]").click();
    assert.match((await all(page, "[data-row]"))[0], /^100.0 % 1.91 s 0.0 % 0 ns <module>slices.py:1$/);
    await page.locator("[data-by=owner]").click();
    assert.deepEqual((await all(page, "[data-row] .name")).slice(0, 2), ["your own code", "interpreter"]);
    await page.locator("[data-by=expression]").click();
    await page.locator("[data-row]", { hasText: "b[i:]" }).first().click();
    assert.equal(await selected(page), "b[i:]");
  });
});

test("the heads of a table are above their columns", async () => {
  await onPage(slices(), async (page) => {
    await page.keyboard.press("6");
    // Of the text, not of the cell: the first two columns end, and the third one begins, where their heads do.
    const edges = (row) => page.locator(`.table-view ${row}`).first().evaluate((cells) => [...cells.children].map((cell, column) => {
      const text = document.createRange();
      text.selectNodeContents(cell);
      const { left, right } = text.getBoundingClientRect();
      return Math.round(column < 2 ? right : left);
    }));
    assert.deepEqual(await edges("thead tr"), await edges("tbody tr"));
  });
});

test("a thread is kept by a click, its share is said, and the chip takes the filter away", async () => {
  await onPage(twoCallers(), async (page) => {
    await page.keyboard.press("7");
    assert.deepEqual(await all(page, ".thread b"), ["python3.15", "worker"]);
    await page.locator(".thread", { hasText: "worker" }).click();
    assert.equal(await words(page, ".chips"), "worker × 45.0 % of the recording. Shares below are of what is kept.");
    await page.keyboard.press("3");
    await page.keyboard.press("Home");
    assert.deepEqual(await all(page, "[data-tree] [role=treeitem] .name"), ["▾python3.15 two.py", "▸bar two.py:5"]);
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("[data-tree] [role=treeitem]").count(), 1);
    await page.locator(".chip").click();
    assert.equal(await page.locator(".chips").count(), 0);
    assert.deepEqual(await all(page, "[data-tree] [role=treeitem] .name"), ["▾python3.15 two.py", "▸foo two.py:1", "▸bar two.py:5"]);
  });
});

test("processes are listed as the tree in which they were started, and one of them is kept", async () => {
  const stacks = ["first", "child", "second", "grandchild"].map((name, thread) => [[python(name, 1, 2, 4, 8, "work")], { samples: 10 * (thread + 1), thread }]);
  await onPage(recording({ title: "python3.15 app.py", stacks, processes: 4, parents: [null, 0, null, 1] }), async (page) => {
    await page.locator("[data-filter] summary").click();
    const options = await page.locator("[data-process] option").allTextContents();
    assert.deepEqual(options.map((option) => option.replace(/ · .*/, "").replaceAll("\u00a0", ".")), [
      "all processes", "4127 python3.15 app.py", "...4128 python3.15 app.py", "......4130 python3.15 app.py", "4129 python3.15 app.py",
    ]);
    await page.locator("[data-process]").selectOption("3");
    assert.match(await address(page), /process=3/);
    await page.keyboard.press("6");
    await page.locator("[data-by=function]").click();
    assert.deepEqual(await all(page, "[data-row] .name"), ["grandchildslices.py:1"]);
  });
});

test("focus and hide by key and by pattern; one that is none says so and changes nothing", async () => {
  await onPage(slices(), async (page) => {
    await page.keyboard.press("6");
    await page.locator("[data-row]", { hasText: "memmove" }).click();
    await page.keyboard.press("f");
    assert.equal(await words(page, ".chips"), "stacks with ^memmove$ × 92.3 % of the recording. Shares below are of what is kept.");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".chips").count(), 0);
    await page.keyboard.press("x");
    assert.equal(await page.locator("[data-row]", { hasText: "memmove" }).count(), 0);
    await page.keyboard.press("Escape");
    await page.locator("[data-filter] summary").click();
    await page.locator("[data-pattern=focus]").fill("(");
    await page.locator("[data-pattern=focus]").press("Enter");
    assert.match(await words(page, ".wrong"), /^not a pattern: /);
    assert.equal(await page.locator(".chips").count(), 0);
    // Stacks that are taken out whole are one box, and no time of the program's own.
    await page.locator("[data-pattern=hide]").fill(".");
    await page.locator("[data-pattern=hide]").press("Enter");
    assert.match(await words(page, "[data-row]"), /hidden/);
  });
});

test("Python only, C only", async () => {
  await onPage(slices(), async (page) => {
    await page.keyboard.press("6");
    await page.keyboard.press("p");
    assert.equal(await words(page, ".chips"), "Python only × 100.0 % of the recording. Shares below are of what is kept.");
    assert.equal(await page.locator("[data-row]", { hasText: "memmove" }).count(), 0);
    await page.keyboard.press("p");
    assert.equal(await page.locator("[data-layers=c]").getAttribute("aria-pressed"), "true");
    assert.equal(await page.locator("[data-row]", { hasText: "before" }).count(), 0);
  });
});

test("Y copies the stack of the selected box, and C names are grouped by their source", async () => {
  await onPage(slices(), async (page) => {
    await page.evaluate(() => {
      Object.defineProperty(navigator, "clipboard", { value: { writeText: (text) => { window.copied = text; return Promise.resolve(); } } });
    });
    await page.keyboard.press("Y");
    const lines = (await page.evaluate(() => window.copied)).split("\n");
    assert.equal(lines.at(-1).split("  ")[0], await selected(page));
    assert.ok(lines.length > 2 && lines.every((line) => line !== ""), lines.join("|"));
    assert.match(lines[1], /  slices\.py:\d+$/);
    await page.keyboard.press("6");
    await page.locator("[data-by=origin]").click();
    assert.match(await words(page, ".table-view tbody"), /inferred, /);
  });
});

test("the selected place is a link into the reader's editor, once one is chosen", async () => {
  await onPage(slices(), async (page) => {
    assert.equal(await page.locator(".editor a").count(), 0);
    await page.locator(".editor select").selectOption("VS Code");
    assert.match(await page.locator(".editor a").getAttribute("href"), /^vscode:\/\/file\/.*slices\.py:\d+:\d+$/);
    await page.locator(".editor select").selectOption("own");
    await page.locator(".editor input").fill("javascript:alert({path})");
    await page.keyboard.press("Tab");
    assert.equal(await page.locator(".editor a").count(), 0, "nothing that runs in the page");
    assert.equal(await page.locator(".editor [role=alert]").count(), 1);
    await page.locator(".editor input").fill("ed:{path}+{line}");
    await page.keyboard.press("Tab");
    assert.match(await page.locator(".editor a").getAttribute("href"), /^ed:\/.*slices\.py\+\d+$/);
  });
});

test("recursion is one call by key and by switch, and lies in the address", async () => {
  await onPage(twoCallers(), async (page) => {
    await page.keyboard.press("r");
    assert.match(await words(page, ".chips"), /^recursion as one call × 100\.0 %/);
    assert.match(await address(page), /recursion=folded/);
    await page.locator("[data-filter] summary").click();
    assert.equal(await page.locator("[type=checkbox]").isChecked(), true);
    await page.locator("[type=checkbox]").click();
    assert.equal(await page.locator(".chips").count(), 0);
  });
});

test("the menu closes by Esc and by a click elsewhere, and what was chosen in it stays", async () => {
  await onPage(twoCallers(), async (page) => {
    const menu = page.locator(".menu[open]");
    await page.locator("[data-filter] summary").click();
    await page.locator("[data-thread]").selectOption({ index: 1 });
    await page.keyboard.press("Escape");
    await menu.waitFor({ state: "detached" });
    assert.equal(await page.locator(".chip").count(), 1);
    await page.locator("[data-filter] summary").click();
    await page.locator("[data-thread]").focus();
    await page.keyboard.press("Escape");
    await menu.waitFor({ state: "detached" });
    await page.locator("[data-filter] summary").click();
    await page.locator(".run").click();
    await menu.waitFor({ state: "detached" });
    assert.equal(await page.locator(".chip").count(), 1);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".chip").count(), 0);
  });
});

test("on a narrow page the tree has the columns of the weight that is chosen", async () => {
  await onPage(slices(), async (page) => {
    await page.keyboard.press("3");
    const heads = () => all(page, ".tree-head button:visible");
    assert.deepEqual(await heads(), ["CPU", "CPU self"]);
    await page.locator("[data-weight=wall]").click();
    assert.deepEqual(await heads(), ["wall", "wall self"]);
  }, { width: 1280 });
});

test("where filters leave nothing, the picture says that they do", async () => {
  await onPage(twoCallers(), async (page) => {
    await page.keyboard.press("2");
    await page.locator("[data-filter] summary").click();
    await page.locator("[data-pattern=focus]").fill("^nobody$");
    await page.keyboard.press("Enter");
    await until(page, ".empty", "The filters keep nothing of CPU. Esc takes them away.");
  });
});
