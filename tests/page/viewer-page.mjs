// What tests of pages share: one real Chromium for all tests of a file, a page around documents in it, and what is read from a page.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { openPage, pageOf, withChromium } from "./chromium.mjs";

/** One Chromium for all tests of a file: `at.browser` and `at.folder` are there when the first begins. A file with work of its own in that folder
 * hands it over: node does not wait for one `before` until it begins the next. */
export function useChromium(prepare = () => {}) {
  const at = { browser: null, folder: null };
  let finish;
  before(async () => {
    const started = new Promise((resolve) => {
      withChromium((handles) => new Promise((done) => resolve({ handles, done })));
    });
    const { handles, done } = await started;
    Object.assign(at, handles);
    finish = done;
    await prepare(at);
  });
  after(() => finish?.());
  return at;
}

/** One Chromium, and how one page around documents is used in it, then asked whether it kept quiet. */
export function useViewer() {
  const at = useChromium();
  const onPage = async (documents, use, screen = {}) => {
    const path = await pageOf(at, documents);
    const page = await openPage(at, path, screen);
    await use(page, path);
    await closed(page);
  };
  return { at, onPage };
}

/** It asked for nothing and complained of nothing until now. */
export async function closed(page) {
  assert.deepEqual(page.asked, [], "the page asked the network");
  assert.deepEqual(page.complaints, [], "the console complained");
  await page.context().close();
}

export const plain = (words) => words.replace(/\s+/g, " ").trim();
export const words = async (page, selector) => plain(await page.locator(selector).first().innerText());
export const all = async (page, selector) => (await page.locator(selector).allInnerTexts()).map(plain);
export const selected = (page) => words(page, "[data-panel] h2");
export const address = (page) => page.evaluate(() => location.hash);
/** Until the page says so: never by a sleep. */
export const until = (page, selector, text) => page.locator(selector).filter({ hasText: text }).first().waitFor();
