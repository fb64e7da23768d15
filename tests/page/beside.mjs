// The flame graph in use, beside speedscope's on the same stacks, in one real Chromium: until it is drawn, frames while it is zoomed and
// scrolled, memory. Prints one JSON line a viewer and size, claims none. `node beside.mjs [BOXES…]`.
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { pageOf, withChromium } from "./chromium.mjs";
import { large } from "./made.mjs";

const web = createRequire(new URL("../../web/package.json", import.meta.url));
const SPEEDSCOPE = join(dirname(web.resolve("speedscope/package.json")), "dist/release/index.html");
const SIZES = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1_000, 10_000, 100_000];
const TURNS = 6;
const STEPS = 10;
const SCREEN = { width: 1440, height: 860 };

const VIEWERS = {
  genba: {
    async file(at, documents) {
      return pageOf(at, documents);
    },
    async open(page, path) {
      await page.goto(pathToFileURL(path).href);
      await page.waitForSelector("html[data-painted]");
    },
    /** The whole height for the flame graph, as the other has it. */
    prepare: (page) => page.keyboard.press("2"),
    async zoomIn(page, { x, y, width }) {
      await page.mouse.click(x + width * 0.2, y + 3 * 22 + 11);
    },
    zoomOut: (page) => page.keyboard.press("Backspace"),
  },
  speedscope: {
    async file({ folder }, documents) {
      const path = join(folder, "stacks.speedscope.json");
      await writeFile(path, JSON.stringify(asSpeedscope(documents.profile)));
      return path;
    },
    async open(page, path) {
      await page.goto(pathToFileURL(SPEEDSCOPE).href);
      await page.setInputFiles("input[type=file]", path);
      // As wide as genba draws it: the heaviest first, equal stacks as one.
      await page.getByText("Left Heavy").click();
    },
    prepare: async () => {},
    zoomIn: (page) => zoom(page, -120),
    zoomOut: (page) => zoom(page, 120),
  },
};

await withChromium(async (at) => {
  for (const boxes of SIZES) {
    const documents = large(boxes);
    for (const [name, viewer] of Object.entries(VIEWERS)) {
      const measured = await measure(at, viewer, await viewer.file(at, documents));
      console.log(JSON.stringify({ boxes, viewer: name, ...measured }));
    }
  }
});

async function measure({ browser }, viewer, path) {
  const context = await browser.newContext({ viewport: SCREEN, reducedMotion: "no-preference" });
  const page = await context.newPage();
  const began = performance.now();
  await viewer.open(page, path);
  await nextFrame(page);
  const opened_ms = performance.now() - began;
  await viewer.prepare(page);
  await nextFrame(page);
  const frames = await framesDuring(page, () => use(page, viewer));
  const heap_bytes = await heap(page, context);
  await context.close();
  return { opened_ms, ...frames, heap_bytes };
}

async function use(page, viewer) {
  const canvas = await largestCanvas(page);
  for (let turn = 0; turn < TURNS; turn += 1) {
    await page.mouse.move(canvas.x + canvas.width * 0.2, canvas.y + canvas.height / 2);
    await viewer.zoomIn(page, canvas);
    for (let step = 0; step < STEPS; step += 1) await page.mouse.wheel(0, turn % 2 === 0 ? 60 : -60);
    await viewer.zoomOut(page);
    for (let step = 0; step < STEPS; step += 1) await page.mouse.wheel(0, turn % 2 === 0 ? -60 : 60);
  }
}

async function zoom(page, delta) {
  await page.keyboard.down("Control");
  for (let step = 0; step < STEPS; step += 1) await page.mouse.wheel(0, delta);
  await page.keyboard.up("Control");
}

async function largestCanvas(page) {
  const boxes = await Promise.all((await page.locator("canvas").all()).map((canvas) => canvas.boundingBox()));
  return boxes.filter((box) => box !== null).sort((a, b) => b.width * b.height - a.width * a.height)[0];
}

/** Two: the first may have been under way already. */
function nextFrame(page) {
  return page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/** Frames a second, and the times between them. */
async function framesDuring(page, act) {
  await page.evaluate(() => {
    window.gaps = [];
    let last = performance.now();
    const step = (now) => {
      window.gaps.push(now - last);
      last = now;
      if (window.gaps !== null) window.next = requestAnimationFrame(step);
    };
    window.next = requestAnimationFrame(step);
  });
  await act();
  const gaps = await page.evaluate(() => {
    cancelAnimationFrame(window.next);
    return window.gaps.slice(1).sort((a, b) => a - b);
  });
  const sum = gaps.reduce((total, gap) => total + gap, 0);
  return { frames: gaps.length, frames_per_second: (gaps.length * 1_000) / sum, frame_p99_ms: gaps[Math.floor(gaps.length * 0.99)], frame_max_ms: gaps.at(-1) };
}

/** What JavaScript keeps, its buffers included, after a collection. */
async function heap(page, context) {
  const session = await context.newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize, backingStorageSize = 0 } = await session.send("Runtime.getHeapUsage");
  return usedSize + backingStorageSize;
}

function asSpeedscope({ frames, nodes, samples }) {
  const stackOf = (node) => {
    const stack = [];
    for (let at = node; at !== null; at = nodes.parent[at]) stack.unshift(nodes.frame[at]);
    return stack;
  };
  const weights = samples.samples;
  const endValue = weights.reduce((sum, weight) => sum + weight, 0);
  const profile = { type: "sampled", name: "large", unit: "none", startValue: 0, endValue, samples: samples.node.map(stackOf), weights };
  return { $schema: "https://www.speedscope.app/file-format-schema.json", shared: { frames: frames.map(({ name, file }) => ({ name, ...(file === null ? {} : { file }) })) }, profiles: [profile] };
}
