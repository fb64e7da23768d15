// How long the viewer takes with a large recording, in a real Chromium on this machine. Prints numbers, claims none.
// `node speed.mjs [BOXES]` makes one up; `node speed.mjs PAGE.html` opens what `genba html` wrote.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { openPage, pageOf, withChromium } from "./chromium.mjs";
import { large } from "./made.mjs";

const given = process.argv[2] ?? "100000";
const isPage = given.endsWith(".html");

const documents = isPage ? null : large(Number(given));
const numbers = isPage ? numbersIn(readFileSync(given, "utf8")) : JSON.stringify(documents);
const began = performance.now();
JSON.parse(numbers);
const parsing = performance.now() - began;

await withChromium(async (at) => {
  const path = isPage ? given : await pageOf(at, documents);
  const page = await openPage(at, path, { motion: "no-preference" });
  const opened = await page.evaluate(() => {
    const navigation = performance.getEntriesByType("navigation")[0];
    const at = Object.fromEntries(performance.getEntriesByType("mark").map((mark) => [mark.name, mark.startTime]));
    return { document: navigation.domContentLoadedEventEnd, ...at };
  });
  console.log(`${given}${isPage ? "" : " boxes"}, ${page.viewportSize().width} × ${page.viewportSize().height}`);
  console.log(`  ${"JSON.parse of its numbers".padEnd(28)} ${parsing.toFixed(0)} ms in node, ${(numbers.length / 1e6).toFixed(0)} MB`);
  for (const [what, ms] of Object.entries(opened)) console.log(`  ${what.padEnd(28)} ${ms.toFixed(0)} ms after the start`);

  for (const [what, act] of [
    ["zoom in (click)", async () => click(page, 3)],
    ["zoom out (Backspace)", async () => page.keyboard.press("Backspace")],
    ["scroll", async () => page.mouse.wheel(0, 600)],
    ["next weight", async () => page.keyboard.press("w")],
    ["search, 1 letter", async () => { await page.keyboard.press("/"); await page.keyboard.press("f"); }],
  ]) {
    const frames = await framesDuring(page, act);
    console.log(`  ${what.padEnd(28)} longest task ${frames.task.toFixed(0)} ms, longest frame ${frames.longest.toFixed(0)} ms of ${frames.count}`);
  }
  await page.context().close();
});

/** As crates/page puts them there. */
function numbersIn(page) {
  const packed = /<script [^>]*data-numbers="gzip\+base64">([^<]*)</.exec(page)[1];
  return gunzipSync(Buffer.from(packed, "base64")).toString("utf8");
}

async function click(page, depth) {
  const box = await page.locator("canvas").boundingBox();
  await page.mouse.click(box.x + box.width * 0.2, box.y + depth * 22 + 11);
}

/** The longest gap between two frames, and the longest task, in the 400 ms after an action. */
async function framesDuring(page, act) {
  await page.evaluate(() => {
    const seen = { count: 0, longest: 0, task: 0 };
    let last = performance.now();
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) seen.task = Math.max(seen.task, entry.duration);
    });
    observer.observe({ type: "longtask" });
    const until = last + 400;
    window.framesSeen = new Promise((resolve) => {
      const step = (now) => {
        seen.count += 1;
        seen.longest = Math.max(seen.longest, now - last);
        last = now;
        if (now < until) requestAnimationFrame(step);
        else { observer.disconnect(); resolve(seen); }
      };
      requestAnimationFrame(step);
    });
  });
  await act();
  return page.evaluate(() => window.framesSeen);
}
