// Time in a real Chromium: a range that is dragged or typed is kept in every view and lies in the address; the threads' lanes are drawn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BIN_NS, firstFooThenBar, python, recording, threeCollections, threeHeaps, twoCallers } from "./made.mjs";
import { address, all, until, useViewer, words } from "./viewer-page.mjs";

const { at, onPage } = useViewer();
const callers = async (page) => {
  await page.keyboard.press("3");
  await page.keyboard.press("Home");
  return (await all(page, "[data-tree] [role=treeitem] .name")).slice(1);
};

async function drag(page, from, to) {
  const box = await page.locator(".strip .chart").boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + from * box.width, y);
  await page.mouse.down();
  await page.mouse.move(box.x + ((from + to) / 2) * box.width, y);
  await page.mouse.move(box.x + to * box.width, y);
  await page.mouse.up();
}

for (const [theme, width] of [["light", 1280], ["dark", 390]]) {
  test(`a range that is dragged is kept in every view, and Esc takes it away, ${theme}, ${width} pixels wide`, async () => {
    await onPage(firstFooThenBar(), async (page) => {
      assert.deepEqual(await callers(page), ["▸foo two.py:1", "▸bar two.py:5"]);
      await drag(page, 0.01, 0.49);
      assert.match(await words(page, ".chips"), /^0 s to 100 ms × 55\.0 % of the recording/);
      assert.match(await words(page, ".kept-time"), /^0 s to 100 ms · 1\.10 cores$/);
      assert.deepEqual(await callers(page), ["▸foo two.py:1"]);
      await drag(page, 0.51, 0.99);
      assert.match(await words(page, ".chips"), /^100 ms to 200 ms × 45\.0 %/);
      assert.deepEqual(await callers(page), ["▸bar two.py:5"]);
      await page.keyboard.press("6");
      assert.doesNotMatch(await words(page, ".stage"), /foo/);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "wider than the screen");
      await page.keyboard.press("Escape");
      assert.equal(await page.locator(".chips").count(), 0);
      assert.deepEqual(await callers(page), ["▸foo two.py:1", "▸bar two.py:5"]);
    }, { theme, width });
  });
}

for (const [theme, width] of [["light", 1280], ["dark", 390]]) {
  test(`each collection is told, and a range keeps those that began in it, ${theme}, ${width} pixels wide`, async () => {
    await onPage({ ...firstFooThenBar(), collections: threeCollections() }, async (page) => {
      await page.keyboard.press("9");
      assert.match(await words(page, ".gc-view > p"), /^3 collections held the program up for 31\.5 ms in all, 15\.8 % of 200 ms; the longest for 30\.0 ms\./);
      assert.match(await words(page, "[data-advice]"), /^Advice: with gc\.set_threshold\(5000\)/);
      assert.equal(await page.locator(".pauses rect").count(), 3);
      assert.match(await page.locator(".pauses rect[data-generation='2'] title").textContent(), /^At 150 ms: generation 2, explicit, 30\.0 ms; 90,000 objects examined, 12 collected; ran at two\.py:6 bar$/);
      assert.deepEqual(await all(page, ".pause-bins tbody tr"), ["below 1 ms 1", "below 10 ms 1", "below 100 ms 1"]);
      assert.match(await words(page, ".stage"), /two\.py:6 bar 1 30\.0 ms 30\.0 ms 90,000 12 two\.py:2 foo 2 1\.50 ms 1\.00 ms 1,400 0/);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "wider than the screen");
      await drag(page, 0.01, 0.49);
      assert.match(await words(page, ".gc-view > p"), /^2 collections held the program up for 1\.50 ms; the longest for 1\.00 ms\./);
      assert.equal(await page.locator("[data-advice]").count(), 0, "advice is for the whole recording");
    }, { theme, width });
  });
}

for (const [theme, width] of [["light", 1280], ["dark", 390]]) {
  test(`two heaps are compared, and the address says which, ${theme}, ${width} pixels wide`, async () => {
    await onPage({ ...firstFooThenBar(), heaps: threeHeaps() }, async (page) => {
      const rows = () => all(page, ".heap-view tbody tr");
      await page.keyboard.press("8");
      assert.match(await words(page, ".heap-view p >> nth=1"), /^298 kB in 3,090 objects: \+198 kB, \+1,990 objects since then\./);
      assert.deepEqual(await rows(), ["+200 kB 201 kB 67.4 % 2,010 +2,000 two.Leak", "– 80.0 kB 26.8 % 900 – str", "– 10.0 kB 3.4 % 100 – all other classes", "−2.00 kB 7.00 kB 2.3 % 80 −10 list"]);
      await page.locator(".heap-view select").nth(1).selectOption("1");
      assert.match(await address(page), /heaps=1\.\.2/);
      assert.match((await rows())[0], /^\+100 kB .* \+1,000 two\.Leak$/);
      await page.locator(".heap-view select").nth(1).selectOption("");
      assert.match((await rows())[0], /^201 kB 67\.4 % 2,010 two\.Leak$/);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "wider than the screen");
      await page.goto(page.url().replace(/#.*/, "#view=memory&heaps=0..1"));
      await until(page, ".heap-view p", "200 kB in 2,100 objects");
      assert.match(await words(page, ".heap-view p >> nth=1"), /^200 kB in 2,100 objects: \+100 kB/);
    }, { theme, width });
  });
}

test("a click takes the range away, and is none", async () => {
  await onPage(firstFooThenBar(), async (page) => {
    await drag(page, 0.2, 0.6);
    assert.equal(await page.locator(".chips").count(), 1);
    await drag(page, 0.8, 0.8);
    assert.equal(await page.locator(".chips").count(), 0);
  });
});

test("both ends move by keys, and say where they are", async () => {
  await onPage(firstFooThenBar(), async (page) => {
    const [first, end] = [page.locator(".handle >> nth=0"), page.locator(".handle >> nth=1")];
    await end.focus();
    assert.deepEqual([await end.getAttribute("aria-valuetext"), await end.getAttribute("aria-valuemax")], ["200 ms", "20"]);
    for (let press = 0; press < 10; press += 1) await page.keyboard.press("ArrowLeft");
    assert.equal(await end.getAttribute("aria-valuetext"), "100 ms");
    await first.focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await words(page, ".chips"), /^10\.0 ms to 100 ms/);
    await page.keyboard.press("End");
    assert.equal(await first.getAttribute("aria-valuetext"), "90.0 ms", "the ends do not cross");
    await page.keyboard.press("Home");
    await end.focus();
    await page.keyboard.press("End");
    assert.equal(await page.locator(".chips").count(), 0, "all of the time is no filter");
  });
});

test("the range lies in the address, and a fresh browser shows the same", async () => {
  await onPage(firstFooThenBar(), async (page, path) => {
    await drag(page, 0.51, 0.99);
    await page.keyboard.press("2");
    const hash = await page.evaluate(() => location.hash);
    assert.match(hash, /time=100000000\.\.200000000/);
    const fresh = await (await at.browser.newContext()).newPage();
    await fresh.goto(`file://${path}${hash}`);
    await fresh.waitForSelector("html[data-painted]");
    assert.match(await words(fresh, ".chips"), /^100 ms to 200 ms/);
    await fresh.evaluate(() => { location.hash = "#time=900000000..950000000"; });
    await fresh.waitForFunction(() => document.querySelector(".chips") === null);
    await fresh.context().close();
    await page.goBack();
    await page.goBack();
    assert.equal(await page.locator(".chips").count(), 0, "the back button undoes it");
  });
});

test("a lane shows when its thread ran", async () => {
  await onPage(firstFooThenBar(), async (page) => {
    await page.keyboard.press("7");
    const drawn = await page.locator(".lane").evaluateAll((lanes) => lanes.map((canvas) => {
      const { width, height } = canvas;
      const { data } = canvas.getContext("2d").getImageData(0, height - 2, width, 1);
      const columns = Array.from({ length: 20 }, (_, bin) => data[4 * Math.floor(((bin + 0.5) / 20) * width) + 3] > 0);
      return columns.map((is) => (is ? "#" : ".")).join("");
    }));
    const { moments, samples } = firstFooThenBar().profile;
    const bins = [new Set(), new Set()];
    let bin = 0;
    moments.row.forEach((row, place) => {
      bin += moments.bins_later[place];
      bins[samples.thread[row]].add(bin);
    });
    const expected = bins.map((of) => Array.from({ length: 20 }, (_, at) => (of.has(at) ? "#" : ".")).join(""));
    assert.ok(expected.every((lane) => lane.includes("#")));
    assert.deepEqual(drawn.sort(), expected.sort());
    assert.equal(await page.locator(".strip .event").count(), 1);
  });
});

for (const theme of ["light", "dark"]) {
  test(`waiting for the GIL is told from other waiting, ${theme}`, async () => {
    const stack = [python("foo", 1, 2, 4, 8, "work")];
    const documents = recording({ title: "python3.15 two.py", stacks: [[stack, { samples: 10, state: "waiting for GIL" }], [stack, { samples: 10, state: "in poll(2)" }]] });
    documents.profile.moments = { bin_ns: BIN_NS, bins_later: [0, 1], row: [0, 1], samples: [10, 10], cpu_ns: [0, 0], wall_ns: [BIN_NS, BIN_NS] };
    await onPage(documents, async (page) => {
      await page.keyboard.press("7");
      await page.locator("[data-folded] summary").click();
      const [gil, poll] = await page.locator(".lane").evaluate((canvas) => {
        const { width, height } = canvas;
        const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
        const reds = data.filter((_, at) => at % 4 === 0);
        const mean = (isIn) => {
          const found = reds.filter((_, at) => isIn(at % width));
          return found.reduce((sum, value) => sum + value, 0) / found.length;
        };
        return [mean((x) => x < width / 2 - 1), mean((x) => x > width / 2 + 1)];
      });
      // Darker on a light page, and lighter on a dark one.
      assert.ok(Math.abs(gil - poll) > 15 && (theme === "light") === (gil < poll), `${gil} and ${poll}`);
    }, { theme });
  });
}

for (const width of [1280, 390]) {
  test(`one busy CPU fills the strip, no label is cut, and a mark has its word, ${width} pixels wide`, async () => {
    const documents = firstFooThenBar();
    const column = (value) => Array.from({ length: 20 }, () => value);
    // As sampled: a bin of one busy thread has a little more time than it is long.
    documents.profile.moments = { bin_ns: BIN_NS, bins_later: [0, ...column(1).slice(1)], row: column(0), samples: column(10), cpu_ns: column(1.03 * BIN_NS), wall_ns: column(BIN_NS) };
    documents.profile.marks = [0, 5, 20].map((bin) => ({ process: 0, at_ns: bin * BIN_NS, kind: "fork", text: null, value: null }));
    await onPage(documents, async (page) => {
      assert.equal(await words(page, ".strip .top"), "1 core");
      const boxOf = (selector) => page.locator(`.strip ${selector}`).first().boundingBox();
      const [cores, bars, chart] = [await boxOf(".cores"), await boxOf("svg"), await boxOf(".chart")];
      assert.ok(bars.height >= 36 && cores.height > bars.height - 1, `${cores.height} of ${bars.height} pixels`);
      const axis = await page.locator(".strip .axis").boundingBox();
      const labels = await page.locator(".strip .axis span").all();
      assert.equal(await labels.at(-1).innerText(), "200 ms");
      for (const label of [...labels, ...(await page.locator(".strip .event span").all())]) {
        const box = await label.boundingBox();
        assert.ok(box.x >= axis.x - 6 && box.x + box.width <= axis.x + axis.width + 6, `${await label.innerText()}: ${box.x} to ${box.x + box.width} of ${axis.x} to ${axis.x + axis.width}`);
      }
      const last = await labels.at(-1).boundingBox();
      assert.ok(last.x + last.width <= axis.x + axis.width + 0.5, "the last label is cut");
      assert.deepEqual(await all(page, ".strip .event"), ["fork", "fork", "fork"]);
      const word = await boxOf(".event span");
      assert.ok(word.y >= chart.y && word.y + word.height <= cores.y, `a word from ${word.y} to ${word.y + word.height}, bars from ${cores.y}`);
      const mark = await page.locator(".strip .event").nth(1).boundingBox();
      assert.ok(mark.width >= 8 && mark.height >= 0.9 * chart.height, `${mark.width} × ${mark.height} pixels`);
      assert.equal(await page.locator(".strip .event").nth(1).getAttribute("title"), "50.0 ms: fork");
    }, { width });
  });
}

test("a recording without times has no strip, and its threads have bars", async () => {
  await onPage(twoCallers(), async (page) => {
    assert.equal(await page.locator(".strip").count(), 0);
    await page.keyboard.press("7");
    assert.equal(await page.locator(".lane").count(), 0);
    assert.equal(await page.locator(".thread .states").count(), 2);
  });
});

test("compare says how the kept time is compared with as much before it", async () => {
  await onPage(firstFooThenBar(), async (page) => {
    await page.keyboard.press("c");
    assert.match(await words(page, ".absent ~ .absent"), /^Drag over at most half of the strip above/);
    await drag(page, 0.5, 1);
    assert.equal(await words(page, ".absent ~ .absent code"), "genba html --before-time=0ms..100ms --after-time=100ms..200ms made.genba");
  });
});

test("where somebody compares two times, a link leads there, with what else is kept", async () => {
  await onPage(firstFooThenBar(), async (page) => {
    // As crates/page writes it for genba view.
    await page.evaluate(() => {
      document.body.dataset.times = "compare?before=0&after=0";
    });
    await drag(page, 0.5, 1);
    await page.keyboard.press("c");
    const link = () => page.locator("a[href*='before-time=']").getAttribute("href");
    assert.equal(await link(), "compare?before=0&after=0&before-time=0ms..100ms&after-time=100ms..200ms");
    await page.evaluate(() => {
      location.hash += "&focus=foo%7Cbar";
    });
    await page.waitForFunction(() => document.querySelector("a[href*='before-time=']")?.href.includes("focus"));
    assert.match(await link(), /&after-time=100ms\.\.200ms&focus=foo%7Cbar$/);
  });
});

test("words of marks that are near each other do not lie on each other, and labels of the axis neither", async () => {
  const documents = firstFooThenBar();
  documents.profile.marks = [50, 55, 60, 65, 150].map((at) => ({ process: 0, at_ns: at * 1_000_000, kind: "fork", text: null, value: null }));
  for (const width of [390, 1280]) {
    await onPage(documents, async (page) => {
      assert.equal(await page.locator(".event").count(), 5);
      assert.deepEqual(await all(page, ".event span"), ["fork", "fork"]);
      const boxes = await page.locator(".axis span").evaluateAll((labels) => labels.map((label) => label.getBoundingClientRect()).map(({ left, right }) => [left, right]));
      boxes.slice(1).forEach(([left], before) => assert.ok(left > boxes[before][1], `${left} after ${boxes[before][1]}`));
      await drag(page, 0.5, 0.6);
      const kept = await page.locator(".kept-time").boundingBox();
      assert.ok(kept.x >= 0 && kept.x + kept.width <= width, "the label is cut");
      assert.equal(await page.locator(".event span").count(), 0);
    }, { width });
  }
});
