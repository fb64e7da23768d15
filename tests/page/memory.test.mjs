// The chart of resident memory in a real Chromium: a line for each process that can be told from the others, and numbers on both axes that are where they say.
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstFooThenBar, threeHeaps, twoProcesses } from "./made.mjs";
import { useViewer } from "./viewer-page.mjs";

const viewer = useViewer();
const onPage = (documents, use, screen) => viewer.onPage(documents, async (page) => {
  await page.keyboard.press("8");
  await use(page);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "wider than the screen");
  assert.ok(await page.locator(".memory-view").evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth), "the view is wider than its place");
}, screen);

/** Each line: its colour and stroke, and its box as shares of the chart, from the left and from below. */
const linesOf = (page) => page.locator(".memory-view polyline").evaluateAll((lines) => lines.map((line) => {
  const chart = line.ownerSVGElement.getBoundingClientRect();
  const points = [...line.points].map(({ x, y }) => new DOMPoint(x, y).matrixTransform(line.getScreenCTM()));
  return {
    colour: getComputedStyle(line).stroke,
    process: line.querySelector("title").textContent,
    points: points.map(({ x, y }) => [(x - chart.left) / chart.width, (chart.bottom - y) / chart.height]),
  };
}));
const keysOf = (page) => page.locator(".memory-view li").evaluateAll((items) => items.map((item) => ({ colour: getComputedStyle(item.querySelector(".line-key")).borderTopColor, words: item.innerText.trim() })));
/** Each number of an axis, and where its middle is, as a share of the chart. */
const numbersOf = (page, axis) => page.locator(`[data-axis=${axis}] > span`).evaluateAll((numbers, axis) => numbers.map((number) => {
  const chart = document.querySelector(".memory-view .memory-chart svg").getBoundingClientRect();
  const { x, y, width, height } = number.getBoundingClientRect();
  return [number.innerText, axis === "bytes" ? (chart.bottom - (y + height / 2)) / chart.height : (x + width / 2 - chart.left) / chart.width];
}), axis);
/** The chart has a border, and text is laid out in whole pixels. */
const near = (found, expected, what) => assert.ok(Math.abs(found - expected) < 0.01, `${what}: ${found}, not ${expected}`);

for (const [theme, width] of [["light", 1280], ["dark", 390]]) {
  test(`two processes are two lines with labels and axes, ${theme}, ${width} pixels wide`, async () => {
    const documents = twoProcesses();
    const { rss } = documents.profile;
    await onPage(documents, async (page) => {
      const [lines, keys] = [await linesOf(page), await keysOf(page)];
      const [most, last] = [Math.max(...rss.map(({ bytes }) => bytes)), Math.max(...rss.map(({ at_ns }) => at_ns))];
      assert.equal(lines.length, 2);
      assert.notEqual(lines[0].colour, lines[1].colour);
      for (const [process, { pid, argv }] of documents.profile.processes.entries()) {
        const label = `process ${pid} ${argv.join(" ")}`;
        assert.equal(lines[process].process, label);
        assert.ok(keys[process].words.startsWith(`${label}: `), keys[process].words);
        assert.equal(keys[process].colour, lines[process].colour);
        for (const [number, { at_ns, bytes }] of rss.filter((row) => row.process === process).entries()) {
          near(lines[process].points[number][0], at_ns / last, `${label}, point ${number}, time`);
          near(lines[process].points[number][1], bytes / most, `${label}, point ${number}, bytes`);
        }
      }
      const bytes = await numbersOf(page, "bytes");
      assert.deepEqual(bytes.map(([words]) => words), ["0", "50.0 MB", "100 MB", "150 MB", "200 MB"]);
      for (const [words, place] of bytes) near(place, (Number.parseFloat(words) * 1e6) / most, words);
      const times = await numbersOf(page, "time");
      assert.deepEqual(times.map(([words]) => words), ["0 s", "50.0 ms", "100 ms", "150 ms"]);
      for (const [words, place] of times) near(place, (Number.parseFloat(words) * 1e6) / last, words);
    }, { theme, width });
  });
}

for (const height of [860, 500]) {
  test(`chart, stacks and heaps are one page to scroll, ${height} pixels high`, async () => {
    await onPage({ ...twoProcesses(), heaps: threeHeaps() }, async (page) => {
      for (const part of [".memory-view", ".heap-view"]) {
        const cut = await page.locator(part).evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight);
        assert.equal(cut, 0, `${part} is shown whole`);
      }
      await page.locator(".heap-view tbody tr").last().scrollIntoViewIfNeeded();
      assert.ok(await page.locator(".heap-view tbody tr").last().isVisible());
    }, { height });
  });
}

test("heaps are marked in the colour of their process, and go with it", async () => {
  await onPage({ ...twoProcesses(), heaps: threeHeaps() }, async (page) => {
    const marks = page.locator(".memory-view .heap");
    const [parent] = await linesOf(page);
    assert.deepEqual(await marks.evaluateAll((lines) => lines.map((line) => getComputedStyle(line).stroke)), [parent.colour, parent.colour, parent.colour]);
    assert.equal(await marks.first().locator("title").textContent(), "heap of process 4127 python3.15 app.py at 50.0 ms: 100 kB");
    await page.locator("[data-filter] summary").click();
    await page.locator("[data-process]").selectOption("1");
    await page.waitForFunction(() => document.querySelectorAll(".memory-view polyline").length === 1);
    assert.equal(await marks.count(), 0);
  });
});

test("a process that is kept is the only line, in the colour that it had", async () => {
  await onPage(twoProcesses(), async (page) => {
    const [, child] = await linesOf(page);
    await page.locator("[data-filter] summary").click();
    await page.locator("[data-process]").selectOption("1");
    const kept = await linesOf(page);
    assert.deepEqual(kept.map(({ process, colour }) => [process, colour]), [[child.process, child.colour]]);
    assert.equal((await keysOf(page)).length, 1);
  });
});

test("a kept range is the axis of time, and one without memory has no chart", async () => {
  const documents = firstFooThenBar();
  documents.profile.rss = [[20, 5], [60, 9], [90, 7]].map(([at_ms, kilobytes]) => ({ process: 0, at_ns: at_ms * 1e6, bytes: kilobytes * 1e3 }));
  await onPage(documents, async (page) => {
    await page.evaluate(() => { location.hash = "#view=memory&time=50000000..100000000"; });
    await page.waitForFunction(() => document.querySelector("[data-axis=time]")?.innerText.startsWith("60"));
    assert.deepEqual((await numbersOf(page, "time")).map(([words]) => words), ["60.0 ms", "80.0 ms", "100 ms"]);
    assert.equal((await linesOf(page))[0].points.length, 2);
    await page.evaluate(() => { location.hash = "#view=memory&time=100000000..200000000"; });
    await page.waitForFunction(() => document.querySelector(".memory-view")?.innerText.includes("No memory was noted in this time."));
    assert.equal(await page.locator(".memory-view svg").count(), 0);
  });
});
