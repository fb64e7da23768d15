// The page of `genba view` while its recording grows, in a real Chromium, with a server that plays the two addresses: the page, and its state.
// What the command itself does is view.test.mjs's.
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { until, useChromium, words } from "./viewer-page.mjs";

const FOLLOW = readFileSync(new URL("../../web/dist/follow.js", import.meta.url), "utf8");
/** As long as Playwright waits for what a page shows. */
const ASKED_MS_MAX = 30_000;
const at = useChromium();

/** One page at this address. `view.state` is what it was made of, and what it is told; null: nobody knows the page any more. */
async function startView(madeMs = 0) {
  const [view, asked] = [{ state: "a1", loads: 0, asked: 0 }, new EventEmitter()];
  const head = '<!doctype html><link rel="icon" href="data:,"><title>viewer</title><style>:root{--sheet:#fff}</style><body><input aria-label="filter"><section class="gc-cycles"><select aria-label="moment"><option>1</option></select></section>';
  const page = () => `${head}<script type="text/plain" data-state="${view.state}" data-made-ms="${madeMs}"></script><script>${FOLLOW}</script></body>`;
  const server = createServer((request, answer) => {
    const isState = new URL(request.url, "http://view").pathname === "/secret/compare/state";
    view[isState ? "asked" : "loads"] += 1;
    view.search = new URL(request.url, "http://view").search;
    answer.writeHead(view.state === null ? 404 : 200, { "Content-Type": isState ? "text/plain" : "text/html; charset=utf-8", "Cache-Control": "no-store" });
    answer.end(isState ? `${view.state}\n` : page());
    if (isState) asked.emit("state");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(view, {
    address: `http://127.0.0.1:${server.address().port}/secret/compare?before=0&after=1`,
    asks: async (count) => {
      const enough = view.asked + count;
      while (view.asked < enough) await once(asked, "state", { signal: AbortSignal.timeout(ASKED_MS_MAX) });
    },
    stop: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(done));
    },
  });
}

/** `isHidden`: as if another tab were in front, which a headless browser has not. */
const hide = (page, isHidden) =>
  page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);

/** `window.asks`: how often the page has asked, whether or not that has come to the server. */
const COUNT = () => {
  const { fetch } = window;
  window.asks = 0;
  window.fetch = (...what) => {
    window.asks += 1;
    return fetch(...what);
  };
};

async function onView(use, madeMs) {
  const view = await startView(madeMs);
  const context = await at.browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(COUNT);
  await page.goto(`${view.address}#view=flame`);
  try {
    await use(page, view);
  } finally {
    await context.close();
    await view.stop();
  }
}
const controls = (page) => page.locator("[data-follow]").count();

test("no switch is shown until a file has grown, and then the page follows, pauses and stays where it was", async () => {
  await onView(async (page, view) => {
    await view.asks(2);
    assert.equal(view.search, "?before=0&after=1", "the state of just these files");
    assert.equal(await controls(page), 0);
    // A file that is written anew is not there for a moment.
    view.state = "-";
    await view.asks(2);
    assert.equal(await controls(page), 0);

    const reloaded = page.waitForEvent("load");
    view.state = "b2";
    await until(page, "[data-follow]", "live · following");
    await reloaded;
    assert.equal(view.loads, 2);
    assert.ok(page.url().endsWith("#view=flame"), "what is seen stays");
    assert.equal(await words(page, "[data-follow]"), "live · following Pause");

    await page.getByRole("button", { name: "Pause" }).click();
    view.state = "c3";
    await until(page, "[data-follow]", "paused: there is more");
    await page.getByRole("textbox").focus();
    await page.evaluate(() => document.querySelector("[data-follow] button").click());
    await page.waitForFunction(() => performance.now() > 5_500);
    await view.asks(2);
    assert.equal(view.loads, 2, "not while somebody types");
    await page.getByRole("combobox").focus();
    await view.asks(2);
    assert.equal(view.loads, 2, "nor while somebody chooses a moment of graphs");
    const last = page.waitForEvent("load");
    await page.evaluate(() => document.activeElement.blur());
    await last;
    assert.equal(view.loads, 3);
  });
});

test("nothing is asked while the tab is hidden", async () => {
  await onView(async (page, view) => {
    await view.asks(1);
    await hide(page, true);
    const asks = () => page.evaluate(() => window.asks);
    const before = await asks();
    // A timer of the page's own: the one that would ask is set for a second, and comes before it on the slowest machine.
    await page.evaluate(() => new Promise((done) => setTimeout(done, 2_500)));
    assert.equal(await asks(), before);
    view.state = "b2";
    await hide(page, false);
    await until(page, "[data-follow]", "live · following");
  });
});

test("a page that takes long is made seldom", async () => {
  await onView(async (page, view) => {
    view.state = "b2";
    await until(page, "[data-follow]", "live · following");
    await page.waitForFunction(() => performance.now() > 5_500);
    await view.asks(2);
    assert.equal(view.loads, 1, "ten times what the page took, which this test does not take");
  }, 60_000);
});

test("the end of genba view is no reload", async () => {
  await onView(async (page, view) => {
    // Somebody types: the page is not loaded again before the end is there.
    await page.getByRole("textbox").focus();
    view.state = "b2";
    await until(page, "[data-follow]", "live · following");
    view.state = null;
    await until(page, "[data-follow]", "genba view has ended");
    assert.equal(await page.getByRole("button", { name: "Pause" }).isVisible(), false);
    await page.evaluate(() => document.activeElement.blur());
    // As soon as a page may be loaded again, and behind the timer that would do it now.
    await page.waitForFunction(() => performance.now() > 5_500);
    await page.evaluate(() => new Promise((done) => setTimeout(done, 1_500)));
    assert.equal(view.loads, 1);
  });
});
