// The viewer in a real Chromium: what somebody sees, clicks, types and reads. The recording is made by hand (made.mjs), so
// every number below can be added up there.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { drawn, openPage, pageOf } from "./chromium.mjs";
import { fromTheStart, slices } from "./made.mjs";
import { closed, selected, until, useViewer, words } from "./viewer-page.mjs";

const ROW_PX = 22;
const MARGIN_PX = 16;
const { at, onPage } = useViewer();

const figure = (page, name) => words(page, `[data-panel] [data-figure="${name}"]`);

/** Where in the picture: the row, and how far along its width. */
async function spot(page, depth, along) {
  await drawn(page);
  const box = await page.locator("canvas").boundingBox();
  return [box.x + MARGIN_PX + (box.width - 2 * MARGIN_PX) * along, box.y + depth * ROW_PX + ROW_PX / 2];
}
const click = async (page, depth, along) => page.mouse.click(...(await spot(page, depth, along)));

/** The colour at a place of the canvas, as `#rrggbb`, and a token's. */
async function colour(page, depth, along) {
  const [x, y] = await spot(page, depth, along);
  return page.locator("canvas").evaluate((canvas, point) => {
    const box = canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio;
    // Copied first: reading back from the page's own canvas would change how the browser keeps it.
    const copy = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, Math.floor((point.x - box.left) * ratio), Math.floor((point.y - box.top) * ratio), 1, 1, 0, 0, 1, 1);
    const pixel = copy.getImageData(0, 0, 1, 1).data;
    return `#${Array.from(pixel.slice(0, 3), (part) => part.toString(16).padStart(2, "0")).join("")}`;
  }, { x, y });
}
const token = (page, name) => page.evaluate((key) => getComputedStyle(document.documentElement).getPropertyValue(key).trim(), `--${name}`);

test("the first screen names the line, the expression and the chain, and accounts for itself", async () => {
  await onPage(slices(), async (page) => {
    const hit = page.locator("[data-hit]").first();
    assert.equal(await words(page, "[data-hit]"), "90.0 % 1.72 s before slices.py:7 n += len(b[i:][:2]) bytes.__getitem__ → PyBytes_FromStringAndSize → memmove 90 %");
    assert.equal(await hit.locator("u").innerText(), "b[i:]");
    assert.equal(await words(page, "[data-accounting]"), "ticks 2,008 = sampled 2,006 + dropped 0 + refused 2 (moved 2) CPU covered 99.7 %");
    assert.match(await words(page, ".meta"), /^CPython 3\.15\.2 · 2\.01 s wall · 1\.91 s CPU \+ 2\.00 ms genba's · 1 process, 1 thread · sampled every 1 ms/);
    assert.equal(await page.locator("h1").getAttribute("title"), "python3.15 slices.py\n/usr/bin/python3.15");
    assert.equal(await page.locator(".strained").count(), 0);
    assert.equal(await page.locator("[aria-label=Warnings]").count(), 0);
  });
});

test("the verdict says why, and each of its places leads to a box", async () => {
  await onPage(slices(), async (page) => {
    assert.equal(await words(page, ".verdict"), "one place: 90.0 % of 1.91 s CPU is slices.py:7 before and 5.5 % is slices.py:14 after");
    await page.locator(".verdict button", { hasText: "slices.py:14" }).click();
    assert.equal(await selected(page), "b[i:i + 2]");
    assert.equal(await colour(page, 2, 0.99), await token(page, "own"));
    await page.locator(".verdict button", { hasText: "slices.py:7" }).press("Enter");
    assert.equal(await selected(page), "b[i:]");
  });
});

test("outside of Where the verdict is one line, without the words that open its list", async () => {
  const list = [[{ text: " 12.0 %   230 ms  " }, { text: "slices.py:7 before", file: "/home/me/slices.py", line: 7, function: "before" }]];
  const place = { text: "slices.py:6 before", file: "/home/me/slices.py", line: 6, function: "before" };
  for (const [name, first, shown] of [
    ["gc", [{ text: "26.1 % of 1.92 s CPU is the cycle collector, set off by:" }], "26.1 % of 1.92 s CPU is the cycle collector"],
    ["GIL", [{ text: "9 threads ran 0.98 cores; 81.1 % of their runnable time was waiting for it, 7.96 s. The CPU went to:" }], "9 threads ran 0.98 cores; 81.1 % of their runnable time was waiting for it, 7.96 s."],
    ["spread", [{ text: "no expression over 3.1 %; the top ten make 14.9 % of 1.92 s CPU. By library:" }], "no expression over 3.1 %; the top ten make 14.9 % of 1.92 s CPU."],
    ["one function", [{ text: "90.1 % of 1.88 s CPU is " }, { text: "before (slices.py)", file: "/home/me/slices.py", line: null, function: "before" }, { text: ", in 5 lines" }], "90.1 % of 1.88 s CPU is before (slices.py), in 5 lines"],
    ["one place", [{ text: "61.0 % of 1.88 s CPU is " }, place, { text: "   " }, { text: "for i, x in f(b):" }], "61.0 % of 1.88 s CPU is slices.py:6 before for i, x in f(b):"],
  ]) {
    const documents = slices();
    for (const report of Object.values(documents.reports)) report.verdict = { name, lines: [first, ...list] };
    await onPage(documents, async (page) => {
      const whole = `${name}: ${first.map(({ text }) => text).join("").replace(/\s+/g, " ")} 12.0 % 230 ms slices.py:7 before`;
      assert.equal(await words(page, ".verdict"), whole);
      await page.keyboard.press("7");
      assert.equal(await words(page, ".verdict"), `${name}: ${shown}`);
    });
  }
});

test("beside shares of what is kept the verdict says that it is of the whole recording", async () => {
  const said = "90.0 % of 1.91 s CPU is slices.py:7 before";
  await onPage(slices(), async (page) => {
    assert.ok((await words(page, ".verdict")).startsWith(`one place: ${said}`));
    await page.keyboard.press("f");
    assert.match(await words(page, ".chips"), /Shares below are of what is kept\.$/);
    assert.ok((await words(page, ".verdict")).startsWith(`one place, of the whole recording: ${said}`));
    await page.keyboard.press("4");
    assert.equal(await words(page, ".verdict"), `one place, of the whole recording: ${said}`);
    await page.keyboard.press("Escape");
    assert.equal(await words(page, ".verdict"), `one place: ${said}`);
  });
});

test("the first picture does not wait for an observer", async () => {
  const page = await openPage(at, await pageOf(at, slices()), { before: () => { globalThis.ResizeObserver = class { observe() {} disconnect() {} }; } });
  assert.equal(await colour(page, 0, 0.5), await token(page, "root"));
  await page.context().close();
});

test("a click zooms and selects, the panel reads here and everywhere, Backspace and a click above go back", async () => {
  await onPage(slices(), async (page) => {
    await click(page, 6, 0.1);
    assert.equal(await selected(page), "bytes.__getitem__");
    assert.equal(await figure(page, "share-here"), "90.0 %");
    assert.equal(await figure(page, "share-everywhere"), "93.2 %");
    assert.equal(await figure(page, "CPU total here"), "1.72 s");
    assert.equal(await figure(page, "CPU self here"), "4.00 ms");
    assert.equal(await figure(page, "Wall total everywhere"), "1.78 s");
    assert.equal(await figure(page, "Samples here"), "1,716");
    assert.match(await words(page, "[data-panel]"), /called at slices\.py:7:18 in before · C function of the interpreter · inferred, as a tail call had taken it off the stack · name from the method table/);
    assert.equal(await words(page, ".peek .on"), "7 91.1 n += len(b[i:][:2])");

    // Zoomed: its one child reaches 1712/1716 of the width, where before it ended at 90 %.
    assert.equal(await colour(page, 7, 0.99), await token(page, "interp"));
    await page.keyboard.press("Backspace");
    assert.equal(await selected(page), "bytes.__getitem__");
    await click(page, 0, 0.5);
    assert.equal(await selected(page), "python3.15 slices.py");
    assert.equal(await colour(page, 7, 0.99), await token(page, "ground"));
  });
});

test("hovering tells what is under the pointer, in both clocks, and goes when the pointer goes", async () => {
  await onPage(slices(), async (page) => {
    await page.mouse.move(...(await spot(page, 8, 0.2)));
    assert.equal(
      await words(page, ".tip"),
      "memmove libc.so.6 C function of the C library · name from the IFUNC here everywhere Share 89.2 % 92.3 % CPU total 1.70 s 1.76 s CPU self 1.70 s 1.76 s " +
        "Wall total 1.70 s 1.76 s Wall self 1.70 s 1.76 s Samples 1,700 1,760 Samples self 1,700 1,760",
    );
    await page.mouse.move(...(await spot(page, 12, 0.2)));
    assert.equal(await page.locator(".tip").count(), 0);
  });
});

test("a stack begins at the program's first frame; a click shows the frames of the interpreter, a button folds them", async () => {
  await onPage(fromTheStart(), async (page) => {
    await click(page, 2, 0.5);
    assert.equal(await selected(page), "<module>");
    await page.mouse.move(...(await spot(page, 1, 0.5)));
    assert.match(await words(page, ".tip"), /^\(3 frames of the interpreter\) /);
    await click(page, 1, 0.5);
    assert.equal(await selected(page), "_start");
    assert.equal(await figure(page, "CPU total here"), "50.0 ms");
    await click(page, 3, 0.5);
    assert.equal(await selected(page), "Py_RunMain");
    assert.equal(await words(page, "[data-fold]"), "Fold the interpreter's frames");
    await page.locator("[data-fold]").click();
    assert.equal(await selected(page), "(3 frames of the interpreter)");
    assert.equal(await figure(page, "share-everywhere"), "100.0 %");
    await page.locator("[data-flame]").focus();
    await page.keyboard.press("ArrowDown");
    assert.equal(await selected(page), "<module>");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    assert.equal(await selected(page), "_start");
  });
});

test("a search finds a folded frame and goes to it", async () => {
  await onPage(fromTheStart(), async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("Py_RunMain");
    assert.equal(await words(page, "header output"), "1 · 100.0 %");
    await page.keyboard.press("Enter");
    assert.equal(await selected(page), "Py_RunMain");
    assert.equal(await words(page, ".spoken[aria-selected=true]"), "Py_RunMain, python3.15, 100.0 %");
  });
});

test("boxes too narrow to draw are one grey run that says how many it is, and is a way in", async () => {
  await onPage(slices(), async (page) => {
    // Under PyBytes_FromStringAndSize: malloc is 12 of 1,906 samples, under 1.5 px beside memmove.
    const box = await page.locator("canvas").boundingBox();
    const along = 1700.5 / 1906;
    assert.ok((12 / 1906) * (box.width - 2 * MARGIN_PX) < 1.5, "the screen is narrow enough for this test");
    assert.equal(await colour(page, 8, along), await token(page, "run"));
    await page.mouse.move(...(await spot(page, 8, along)));
    assert.match(await words(page, ".tip"), /^1 box too narrow to draw 0\.6 % together, 1 with all below; under PyBytes_FromStringAndSize malloc/);
    await click(page, 8, along);
    assert.equal(await words(page, "[data-panel] .sheet-handle"), "PyBytes_FromStringAndSize Details");
  }, { width: 260, height: 860 });
});

test("the keyboard reaches everything, and a screen reader hears where it is", async () => {
  await onPage(slices(), async (page) => {
    const spoken = () => page.evaluate(() => {
      const item = document.getElementById(document.querySelector("[data-flame]").getAttribute("aria-activedescendant"));
      return `${item.textContent} · level ${item.ariaLevel}, ${item.ariaPosInSet} of ${item.ariaSetSize}`;
    });
    await page.locator("[data-flame]").focus();
    assert.equal(await spoken(), "b[i:], slices.py:7:18, 90.0 % · level 5, 1 of 2");
    await page.keyboard.press("ArrowDown");
    assert.equal(await spoken(), "PyObject_GetItem, python3.15, 90.0 % · level 6, 1 of 1");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowRight");
    assert.equal(await spoken(), "after, slices.py:11, 5.5 % · level 4, 2 of 3");
    await page.keyboard.press("Enter");
    assert.equal(await colour(page, 3, 0.99), await token(page, "own"));
    await page.keyboard.press("Backspace");
    await page.keyboard.press("End");
    assert.equal(await spoken(), "fib, slices.py:18, 3.5 % · level 4, 3 of 3");
    await page.keyboard.press("?");
    await page.locator("dialog[open]").waitFor();
    assert.match(await words(page, "dialog"), /\/ find a function, file or expression/);
    await page.keyboard.press("Escape");
    await page.locator("dialog[open]").waitFor({ state: "detached" });
  });
});

test("search counts, dims the rest, and n walks through what was found", async () => {
  await onPage(slices(), async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("memMOVE");
    assert.equal(await words(page, "header output"), "2 · 92.3 %");
    assert.equal(await colour(page, 8, 0.5), await token(page, "libc"));
    assert.notEqual(await colour(page, 3, 0.5), await token(page, "own"));
    await page.keyboard.press("Enter");
    assert.equal(await figure(page, "Samples here"), "1,700");
    await page.locator("[data-flame]").focus();
    await page.keyboard.press("n");
    assert.equal(await figure(page, "Samples here"), "60");
    await page.keyboard.press("N");
    assert.equal(await figure(page, "Samples here"), "1,700");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("header output").count(), 0);
    await page.keyboard.press("/");
    await page.keyboard.type("nobody");
    assert.equal(await words(page, "header output"), "nothing found");
    await page.locator(".find input").fill("/^mem.*e$/");
    assert.equal(await words(page, "header output"), "2 · 92.3 %", "a regular expression");
  });
});

for (const [weight, name] of [["copied", "Copied"], ["allocated", "Allocated"]]) {
  test(`bytes are a weight where they were recorded: ${weight}`, async () => {
    const made = slices();
    await onPage(made, async (page) => {
      assert.equal(await page.locator(`[data-weight="${weight}"]`).count(), 0, "no switch without bytes");
    });
    // All of it at one stack, whose row is not the heaviest of the report.
    made.profile.samples[`${weight}_bytes`] = made.profile.samples.node.map((_, row) => (row === 5 ? 4_000_000_000 : 0));
    const rows = made.reports.cpu.rows.map((row, at) => ({ ...row, [`${weight}_bytes`]: at === 1 ? 4_000_000_000 : 0, share: at === 1 ? 1 : 0 })).sort((a, b) => b.share - a.share);
    made.reports[weight] = { ...made.reports.cpu, weight, rows };
    await onPage(made, async (page) => {
      assert.equal(await page.locator(`[data-weight="${weight}"]`).innerText(), name);
      await page.locator(`[data-weight="${weight}"]`).click();
      assert.match(await words(page, "[data-hit]"), /100\.0 %.*4\.00 GB/);
      assert.match(await words(page, "[data-hit]"), /slices\.py:14/);
    });
  });
}

test("the weight changes rows, widths and shares; waiting is wall time", async () => {
  await onPage(slices(), async (page) => {
    await page.locator('[data-weight="wall"]').click();
    assert.match(await words(page, "[data-hit]"), /^85\.5 % 1\.72 s before/);
    await page.locator(".rows .more").click();
    assert.match(await words(page, "[data-hit]:has-text('time.sleep')"), /^5\.0 % 100 ms main slices\.py:27 time\.sleep\(0\.1\)/);
    await page.locator("[data-hit]:has-text('time.sleep')").click();
    await page.locator("[data-flame]").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    assert.equal(await selected(page), "waiting in clock_nanosleep");
    assert.equal(await figure(page, "Wall total here"), "100 ms");
    assert.equal(await figure(page, "CPU total here"), "0 ns");
    await page.keyboard.press("w");
    assert.match(await words(page, "[data-hit]"), /^90\.0 % 1,716 samples/);
  });
});

test("light and dark: the canvas follows the theme", async () => {
  await onPage(slices(), async (page) => {
    assert.equal(await token(page, "own"), "#8a5410");
    assert.equal(await colour(page, 2, 0.5), "#8a5410");
    await page.keyboard.press("t");
    assert.equal(await colour(page, 2, 0.5), "#f2a33c");
  }, { theme: "dark" });
});

test("a strained law and a warning are said in words", async () => {
  const documents = slices();
  documents.profile.warnings = ["37 samples, shares are ± 16 points"];
  documents.profile.accounting.dropped = { late: 160 };
  documents.profile.accounting.ticks += 160;
  await onPage(documents, async (page) => {
    assert.equal(await words(page, ".strained"), "ticks 2,168 = sampled 2,006 + dropped 160 (late 160) + refused 2 (moved 2) CPU covered 99.7 % 7.5 % of the ticks gave no sample");
    assert.equal(await words(page, "[aria-label=Warnings]"), "37 samples, shares are ± 16 points");
  });
});

test("a loss is said once: where a warning names it the accounting only changes its colour", async () => {
  const documents = slices();
  documents.profile.accounting.dropped = { late: 160 };
  documents.profile.accounting.ticks += 160;
  Object.assign(documents.profile.accounting, { cpu_not_sampled_ns: 250_000_000, cpu_not_recorded_ns: 1_000_000_000 });
  const accounting = "ticks 2,168 = sampled 2,006 + dropped 160 (late 160) + refused 2 (moved 2) CPU covered 60.3 %";
  await onPage(documents, async (page) => {
    assert.equal(await words(page, ".strained"), `${accounting} 7.5 % of the ticks gave no sample 250 ms of CPU are in no sample 1.00 s of CPU not recorded`);
  });
  documents.profile.warnings = [
    "7.5 % of the ticks gave no sample, most of them for the reason `late` (7.4 %)",
    "samples cover 60.3 % of the program's CPU; 250 ms are in no sample; 1.00 s of 1 process that was killed came after the last block and was not recorded",
  ];
  await onPage(documents, async (page) => {
    assert.equal(await words(page, ".strained"), accounting);
    assert.deepEqual(await page.locator("[aria-label=Warnings] li").allInnerTexts(), documents.profile.warnings);
  });
});

test("a filtered page says what it is a part of, in the chosen weight", async () => {
  const documents = slices();
  const totals = (samples, cpu_ns, wall_ns) => ({ samples, cpu_ns, wall_ns });
  documents.profile.filters = { flags: ["--focus before"], share: 0.5, kept: totals(1_000, 1e9, 1.5e9), whole: totals(4_000, 2e9, 2e9) };
  await onPage(documents, async (page) => {
    await page.locator('[data-weight="cpu"]').click();
    assert.equal(await words(page, "p.kept"), "kept: 50.0 % of 2.00 s CPU (--focus before). Shares are of what is kept.");
    await page.locator('[data-weight="wall"]').click();
    assert.equal(await words(page, "p.kept"), "kept: 75.0 % of 2.00 s wall (--focus before). Shares are of what is kept.");
  });
  await onPage(slices(), async (page) => {
    assert.equal(await page.locator("p.kept").count(), 0);
  });
});

test("text of the program is only ever text", async () => {
  await onPage(slices(), async (page) => {
    assert.match(await words(page, "[data-hit]:has-text('after')"), /n \+= len\(b\[i:i \+ 2\]\) # 表 <\/script>/);
  });
});

test("a page whose numbers cannot be read says what is wrong with them", async () => {
  const documents = slices();
  documents.profile.nodes.frame[3] = 9999;
  const page = await openPage(at, await pageOf(at, documents));
  assert.match(await words(page, ".failed"), /field profile\.nodes\.frame\[3\]: expected an index below \d+, found 9999/);
});

test("a browser that cannot unpack a page is told which ones can", async () => {
  const page = await openPage(at, await pageOf(at, slices()), { before: () => { delete globalThis.DecompressionStream; } });
  assert.match(await words(page, ".failed"), /^This page needs Chromium 103, Firefox 113, Safari 16\.4 or newer: .*DecompressionStream/);
  await closed(page);
});

test("a page runs its own scripts and no other one", async () => {
  const path = await pageOf(at, slices());
  writeFileSync(path, readFileSync(path, "utf8").replace("</body>", "<script>document.documentElement.dataset.foreign = 'ran'</script></body>"));
  const page = await openPage(at, path);
  assert.equal(await page.locator("html[data-painted]").count(), 1);
  assert.equal(await page.locator("html[data-foreign]").count(), 0);
  const complaints = page.complaints.splice(0);
  assert.equal(complaints.length, 1);
  assert.match(complaints[0], /Content Security Policy/);
  await closed(page);
});

test("no sample, no CPU: an empty picture says why", async () => {
  const documents = slices();
  documents.profile.samples = { node: [], thread: [], state: [], samples: [], ticks: [], cpu_ns: [], wall_ns: [] };
  for (const report of Object.values(documents.reports)) report.rows = [];
  await onPage(documents, async (page) => {
    assert.match(await words(page, ".empty"), /^There is no sample in this recording\./);
  });
});

for (const width of [390, 1280, 1920]) {
  test(`under a long title the clocks, genba's part and the pace are in view, ${width} pixels wide`, async () => {
    const documents = slices();
    documents.profile.meta.title = "/home/somebody/.pyenv/versions/3.13.0/bin/python3 casebook/bytes-slice/slow.py --with several --options";
    await onPage(documents, async (page) => {
      assert.match(await words(page, ".meta"), / wall · \S+ \S+ CPU \+ \S+ \S+ genba's · 1 process, \d+ threads? · sampled every 1 ms\b/);
      const [inside, shown] = await page.locator(".meta").evaluate((meta) => [meta.scrollWidth, meta.clientWidth]);
      assert.ok(inside <= shown, `${inside} of ${shown} pixels`);
      const [meta, title] = [await page.locator(".meta").boundingBox(), await page.locator(".run").boundingBox()];
      assert.ok(meta.y >= title.y + title.height && meta.width > width / 2, `${meta.width} pixels wide, from ${meta.y}`);
    }, { width });
  });
}

test("on a phone the order stays, and the panel is a sheet from below", async () => {
  await onPage(slices(), async (page) => {
    const top = async (selector) => (await page.locator(selector).first().boundingBox()).y;
    const tops = [await top("header"), await top(".rows"), await top("canvas"), await top("[data-panel]"), await top("footer")];
    assert.deepEqual(tops, [...tops].sort((a, b) => a - b));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    assert.equal(await page.locator("[data-panel] .figures").isVisible(), false);
    await page.locator("[data-panel] .sheet-handle").click();
    assert.equal(await page.locator("[data-panel] .figures").isVisible(), true);
  }, { width: 390, height: 844 });
});

test("on a phone warnings and legend are folded behind their counts, and Where has room for more than a row", async () => {
  const documents = slices();
  documents.profile.warnings = [
    "7.5 % of the ticks gave no sample, most of them for the reason `late` (7.4 %): genba's thread got no CPU in time; fewer are lost on a quieter machine or at a lower --rate",
    "samples cover 60.3 % of the program's CPU; 250 ms are in no sample (17.1 ms of it before genba was loaded)",
  ];
  const shown = async (page) => [await page.locator("[aria-label=Warnings]").isVisible(), await page.locator(".legend").isVisible()];
  await onPage(documents, async (page) => {
    assert.deepEqual(await page.locator(".warnings summary, footer summary").allInnerTexts(), ["2 warnings", "8 colours"]);
    assert.deepEqual(await shown(page), [false, false]);
    const rows = await page.locator(".rows").boundingBox();
    const second = await page.locator("[data-hit]").nth(1).boundingBox();
    assert.ok(second.y + second.height <= rows.y + rows.height, "the second row is cut");
    assert.ok((await page.locator("main").boundingBox()).height > 844 / 2, "the views have more than half of the screen");
    for (const summary of await page.locator(".warnings summary, footer summary").all()) await summary.click();
    assert.deepEqual(await shown(page), [true, true]);
    assert.deepEqual(await page.locator("[aria-label=Warnings] li").allInnerTexts(), documents.profile.warnings);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  }, { width: 390, height: 844 });
  await onPage(documents, async (page) => {
    assert.equal(await page.locator(".warnings summary, footer summary").count(), 0);
    assert.deepEqual(await shown(page), [true, true]);
  });
});

test("what a page has no room for is counted, with what keeps it", async () => {
  const documents = slices();
  documents.rare = { calls: 24_310, share: 0.0002, samples: 20, cpu_ns: 20_000_000, wall_ns: 20_000_000 };
  for (const report of Object.values(documents.reports)) report.folded = { rows: 1_200, share: 0.034 };
  await onPage(documents, async (page) => {
    assert.match(await words(page, "footer [title*='--all-samples']"), /^24,310 calls below 0\.02 % each, \d\.\d % together, are marks$/);
    assert.match(await page.locator("footer [title*='--all-samples']").getAttribute("title"), /genba html --all-samples/);
    await page.locator(".rows .more").click();
    assert.match(await words(page, "p.quiet:has-text('more expressions')"), /^1,200 more expressions, 3\.4 % together: genba html --all-samples keeps each of them\.$/);
  });
});

test("on a phone on its side the page scrolls, and the views have room", async () => {
  const documents = slices();
  documents.profile.warnings = ["one thing", "another thing", "a third thing"];
  await onPage(documents, async (page) => {
    assert.ok((await page.locator(".stage").boundingBox()).height >= 300, "the views have no room");
    assert.equal(await words(page, ".warnings summary"), "3 warnings");
    const canvas = page.locator("canvas").first();
    await page.mouse.move(400, 20);
    await page.mouse.wheel(0, 2_000);
    await page.waitForFunction(() => document.querySelector("footer").getBoundingClientRect().bottom <= innerHeight + 1);
    assert.ok((await canvas.boundingBox()).height > 100, "the call tree is cut");
  }, { width: 844, height: 390 });
});

test("a mark that turns the direction of a name is shown, and a search for no expression says so", async () => {
  const documents = slices();
  documents.profile.frames[0].name = "photo\u202egpj.py";
  await onPage(documents, async (page) => {
    await page.keyboard.press("6");
    assert.match(await words(page, ".stage"), /photo\ufffdgpj\.py/);
    assert.doesNotMatch(await page.locator("body").innerText(), /\u202e/);
    await page.keyboard.press("/");
    await page.keyboard.type("/(/");
    await until(page, ".find output", "not a pattern");
  });
});
