// A real Chromium, headless: opens one page from a file and keeps what it asked of the network and complained about.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const web = new URL("../../web/", import.meta.url);
const { chromium } = createRequire(new URL("package.json", web))("playwright-core");
const CHROMIUM = process.env.GENBA_CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];

export async function withChromium(use) {
  const folder = await mkdtemp(join(tmpdir(), "genba-viewer-"));
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  try {
    return await use({ browser, folder });
  } finally {
    await browser.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The built page around documents made by a test, as `genba html` does it around a recording. */
export async function pageOf({ folder }, documents) {
  const shell = await readFile(new URL("dist/viewer.html", web), "utf8");
  const packed = typeof documents === "string" ? documents : gzipSync(JSON.stringify(documents)).toString("base64");
  const path = join(folder, "page.html");
  await writeFile(path, shell.replace("@GENBA_NUMBERS@", () => packed));
  return path;
}

/** `width` and `height` in CSS pixels; `before` runs in the page before its own script. `page.asked` and `page.complaints` grow while the page lives. */
export async function openPage({ browser }, path, { width = 1440, height = 860, theme = "light", motion = "reduce", before = null } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: motion });
  const page = await context.newPage();
  if (before !== null) await page.addInitScript(before);
  const asked = [];
  const complaints = [];
  const own = pathToFileURL(path).href;
  page.on("request", (request) => {
    if (request.url() !== own && !request.url().startsWith("data:")) asked.push(request.url());
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(own);
  await page.waitForSelector("html[data-painted], .failed");
  return Object.assign(page, { asked, complaints });
}

/** Until what was done is on the canvas, and has scrolled it: words change at once, pictures with the next frame, and a scroll is told with the one
 * behind it. A page calls what it left for a frame, or for behind one, in the order in which it was left: this is the last. */
export const drawn = (page) => page.evaluate(async () => {
  for (let frame = 0; frame < 2; frame += 1) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
});

/** Until the page that is shown has made room for the next one: an event may come before somebody waits for it, or be of a load before. */
export async function reloaded(page, { timeout = 60_000 } = {}) {
  // Also while it is just about to go: that ends an evaluation, but not what waits.
  await page.waitForFunction(() => {
    window.isBefore = true;
    return true;
  });
  await page.waitForFunction(() => window.isBefore === undefined && document.readyState === "complete", null, { timeout });
}

export const here = fileURLToPath(new URL(".", import.meta.url));
