// The viewer by keys alone, without motion and without a network, in a real Chromium. The recordings are made by hand (made.mjs).
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn, openPage, pageOf } from "./chromium.mjs";
import { firstFooThenBar, slices, threeCollections, threeHeaps, twoCallers } from "./made.mjs";
import { closed, selected, until, useViewer } from "./viewer-page.mjs";

const { at, onPage } = useViewer();
/** Chromium also stops at areas that scroll and hold nothing else to stop at: a page has a few of them at most. */
const MORE_STOPS = 12;

/** Numbers what can be pressed or typed into, in the order of the page, and tells what these are. */
const numbered = (page) => page.evaluate(() => {
  document.activeElement.blur();
  for (const element of document.querySelectorAll("[data-stop]")) delete element.dataset.stop;
  const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")];
  const shown = all.filter((element) => element.tabIndex >= 0 && !element.disabled && element.checkVisibility({ visibilityProperty: true }));
  return shown.map((element, number) => {
    element.dataset.stop = number;
    return `${element.localName} ${(element.getAttribute("aria-label") ?? element.innerText ?? "").slice(0, 40)}`;
  });
});

/** Of each place that Tab stops at its number, and whether it is seen there. */
async function stops(page, count) {
  const reached = [];
  for (let press = 0; press < count + MORE_STOPS; press += 1) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => {
      const at = document.activeElement;
      // The field to search in has a frame of its own for that.
      return { number: at.dataset.stop, isSeen: getComputedStyle(at).outlineStyle !== "none" || at.closest(".find") !== null };
    }));
  }
  return reached.flatMap(({ number, isSeen }) => (number === undefined ? [] : [{ number: Number(number), isSeen }]));
}

for (const [name, documents, keys] of [
  ["slices", slices(), "123456"],
  ["with times", { ...firstFooThenBar(), collections: threeCollections(), heaps: threeHeaps() }, "789"],
]) {
  test(`Tab reaches everything in the order of the page, and what has the focus is seen: ${name}, views ${keys}`, async () => {
    await onPage(documents, async (page) => {
      for (const key of keys) {
        await page.evaluate(() => document.activeElement.blur());
        await page.keyboard.press(key);
        await drawn(page);
        const names = await numbered(page);
        assert.ok(names.length > 10, `view ${key}`);
        const reached = await stops(page, names.length);
        const missing = names.filter((_, number) => !reached.some((stop) => stop.number === number));
        assert.deepEqual(missing, [], `view ${key}`);
        for (const [step, { number, isSeen }] of reached.entries()) {
          assert.ok(isSeen, `view ${key}: ${names[number]} has the focus, and nothing shows that`);
          if (step > 0) assert.equal(number, (reached[step - 1].number + 1) % names.length, `view ${key}: ${names[number]} after ${names[reached[step - 1].number]}`);
        }
      }
    });
  });
}

/** While `window.isHolding` is set, no frame is drawn until `frames` draws it. */
const HOLD = () => {
  const { requestAnimationFrame } = window;
  window.held = [];
  window.requestAnimationFrame = (frame) => (window.isHolding ? window.held.push(frame) : requestAnimationFrame(frame));
};
/** The frame that is due: of a motion the picture with which it begins, however long the page took until here. */
const firstFrame = (page) => page.evaluate(() => {
  for (const next of window.held.splice(0)) next(0);
});
/** All that would be drawn until a second later. */
const frames = (page) => page.evaluate(() => {
  const late = performance.now() + 1_000;
  for (let next = window.held.shift(); next !== undefined; next = window.held.shift()) next(late);
});
const picture = (page) => page.locator("canvas").evaluate((canvas) => canvas.toDataURL());

for (const [motion, moves] of [["reduce", false], ["no-preference", true]]) {
  test(`a zoom ${moves ? "moves" : "is there at once where no motion is wanted"}`, async () => {
    const page = await openPage(at, await pageOf(at, slices()), { motion, before: HOLD });
    const box = await page.locator("canvas").boundingBox();
    // Under `before`: nine tenths of the width.
    const place = [box.x + box.width * 0.1, box.y + 6 * 22 + 11];
    await page.mouse.move(...place);
    await drawn(page);
    const whole = await picture(page);
    await page.evaluate(() => {
      window.isHolding = true;
    });
    await page.mouse.click(...place);
    await until(page, "[data-panel] h2", "bytes.__getitem__");
    await firstFrame(page);
    const first = await picture(page);
    await frames(page);
    assert.equal(await selected(page), "bytes.__getitem__");
    const last = await picture(page);
    assert.ok(last !== whole, "nothing was drawn");
    assert.equal(last !== first, moves);
    await closed(page);
  });
}

test("what a click or a key brings is there for the next key, however late the next frame is", async () => {
  await onPage(twoCallers(), async (page) => {
    await page.keyboard.press("3");
    const found = await page.evaluate(async () => {
      // Neither a frame nor a timer comes in between.
      const rendered = async () => {
        for (let turn = 0; turn < 10; turn += 1) await null;
      };
      const head = document.querySelector("[data-sort='wall total']");
      head.focus();
      head.click();
      await rendered();
      const isInRows = document.activeElement.matches("[data-tree]");
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));
      await rendered();
      return { isInRows, isOpen: document.querySelector("dialog").open };
    });
    assert.deepEqual(found, { isInRows: true, isOpen: true });
  });
});

test("the page forbids itself the network", async () => {
  const page = await openPage(at, await pageOf(at, slices()));
  await page.evaluate(async () => {
    window.refused = [];
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => window.refused.push(effectiveDirective));
    await fetch("http://localhost:12345/").catch(() => undefined);
  });
  // The browser tells of it in a task of its own.
  await page.waitForFunction(() => window.refused.length > 0);
  assert.deepEqual(await page.evaluate(() => window.refused), ["connect-src"]);
  await page.context().close();
});
