// A page of `genba serve` in a real Chromium, with a server that plays its interface (server-fake.mjs): used, then asked whether it kept quiet.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startFake } from "./server-fake.mjs";
import { plain } from "./viewer-page.mjs";

export const pictures = fileURLToPath(new URL("../../build/pictures-of-tests/", import.meta.url));
mkdirSync(pictures, { recursive: true });

/** One page on a fake server, used, then asked whether it kept quiet. `allowed`: answers that the console may mention; `before` runs in the page
 * before its own script. */
export async function onPage(browser, path, use, { width = 1440, height = 860, theme = "light", motion = "reduce", session = true, allowed = [], before = null, ...made } = {}) {
  const fake = await startFake(made);
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: motion, permissions: ["clipboard-read", "clipboard-write"] });
  if (session) {
    fake.logIn();
    await context.addCookies([{ ...fake.cookie, url: fake.origin }]);
  }
  const page = await context.newPage();
  if (before !== null) await page.addInitScript(before);
  const [elsewhere, complaints] = [[], []];
  page.on("request", (request) => {
    if (!request.url().startsWith(`${fake.origin}/`) && !request.url().startsWith("data:")) elsewhere.push(request.url());
  });
  page.on("console", (message) => {
    const isAllowed = allowed.some((words) => message.text().includes(words));
    if (["error", "warning"].includes(message.type()) && !isAllowed) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  try {
    await page.goto(`${fake.origin}${path}`);
    await page.waitForSelector("html[data-painted]");
    await use(page, fake);
    assert.deepEqual(elsewhere, [], "something elsewhere was asked");
    assert.deepEqual(complaints, [], "the console complained");
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "wider than the screen");
  } finally {
    await context.close();
    await fake.stop();
  }
}

/** Presses a button that copies: what is in the clipboard as soon as it says so, which it does for two seconds. An observer misses none of them. */
export async function copiedBy(page, button) {
  await button.evaluate((element) => {
    window.copySaid = [];
    new MutationObserver(() => window.copySaid.push(element.innerText)).observe(element, { subtree: true, childList: true, characterData: true });
  });
  await button.click();
  await page.waitForFunction(() => window.copySaid.includes("Copied"));
  return page.evaluate(() => navigator.clipboard.readText());
}

export const programs = async (page) => (await page.locator(".rec-program").allInnerTexts()).map(plain);
export const selected = (page) => page.locator(".rec.on").getAttribute("data-row");
