// All nine views of a real recording, and the comparison of two of its times, dark and light, wide and narrow: a picture of each is kept in
// build/screens for somebody to look at.
// Needs the built command, as html.test.mjs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { drawn, openPage } from "./chromium.mjs";
import { closed, useChromium } from "./viewer-page.mjs";

const GENBA = process.env.GENBA ?? fileURLToPath(new URL("../../target/release/genba", import.meta.url));
const PYTHON = process.env.GENBA_PYTHON ?? "python3";
const PICTURES = fileURLToPath(new URL("../../build/screens", import.meta.url));
/** What each view shows when it has its data. */
const SHOWN = {
  where: "[data-hit]", flame: "canvas", tree: "[data-tree] [role=treeitem]", sandwich: ".middle", source: "[data-line] u",
  functions: "[data-row]", threads: ".lane", memory: ".memory-view polyline", gc: ".pauses rect",
};

// Two processes, two threads in one of them, memory that grows, cycles for the collector, and something to wait for.
const PROGRAM = `
import gc, hashlib, json, os, subprocess, sys, threading, time

ORDERS = [{"number": n, "name": f"order {n}", "lines": list(range(20))} for n in range(300)]

def digest(until):
    block = bytes(200_000)
    while time.monotonic() < until:
        hashlib.sha256(block[1:]).hexdigest()
        time.sleep(0.01)

def render(orders):
    return json.dumps(orders, indent=2)

def cycles(count):
    for _ in range(count):
        own = []
        own.append(own)

def serve(until):
    kept = []
    while time.monotonic() < until:
        kept.append(render(ORDERS))
        cycles(2_000)
    gc.collect()
    return kept

until = time.monotonic() + 3
if len(sys.argv) > 1:
    serve(until)
else:
    child = subprocess.Popen([sys.executable, __file__, "child"])
    worker = threading.Thread(target=digest, args=(until,), name="digests")
    worker.start()
    serve(until)
    worker.join()
    child.wait()
`;

const at = useChromium(({ folder }) => {
  assert.ok(existsSync(GENBA), `${GENBA} is not there: run \`make build\` first`);
  const genba = (...words) => execFileSync(GENBA, words, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  writeFileSync(join(folder, "shop.py"), PROGRAM);
  genba("run", "--quiet", "--mem", "--gc", "--heap-every", "1s", "-o", "shop.genba", PYTHON, "shop.py");
  genba("html", "shop.genba", "-o", "shop.html");
  genba("html", "--before-time", "500ms..1500ms", "--after-time", "1500ms..2500ms", "shop.genba", "-o", "times.html");
  rmSync(PICTURES, { recursive: true, force: true });
  mkdirSync(PICTURES, { recursive: true });
});

for (const theme of ["light", "dark"]) {
  for (const width of [1280, 390]) {
    // Each theme and each width once; `make test-all` has all pairs.
    if (process.env.GENBA_ALL !== "1" && (theme === "light") !== (width === 1280)) continue;
    test(`nine views, ${theme}, ${width} pixels wide`, async () => {
      const page = await openPage(at, join(at.folder, "shop.html"), { theme, width });
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), theme);
      for (const [number, [name, shown]] of Object.entries(SHOWN).entries()) {
        await page.keyboard.press(`${number + 1}`);
        await page.locator(shown).first().waitFor();
        await drawn(page);
        const tab = page.locator(`[data-view=${name}]`);
        assert.equal(await tab.getAttribute("aria-selected"), "true", name);
        await page.waitForFunction((name) => {
          const { left, right } = document.querySelector(`[data-view=${name}]`).getBoundingClientRect();
          const list = document.querySelector(".tab-list").getBoundingClientRect();
          return left >= list.left - 1 && right <= list.right + 1;
        }, name).catch(() => assert.fail(`the tab ${name} is out of sight`));
        assert.ok(await page.locator("[data-accounting]").isVisible(), "the accounting is in sight");
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${name} is wider than the screen`);
        // The tables of the collector have six columns; on a narrow screen that view is moved sideways.
        const wide = name === "gc" ? [] : await page.locator(".stage, .stage > *").evaluateAll((parts) => parts.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(({ className }) => className));
        assert.deepEqual(wide, [], `${name}: wider than their place`);
        await page.screenshot({ path: join(PICTURES, `${number + 1}-${name}-${theme}-${width}.png`) });
      }
      await closed(page);
    });

    test(`what changed, ${theme}, ${width} pixels wide`, async () => {
      const page = await openPage(at, join(at.folder, "times.html"), { theme, width });
      await page.locator(".compare-verdict").waitFor();
      assert.ok(await page.locator(".change-tree [role=treeitem]").count() > 1);
      assert.ok(await page.locator("[data-accounting]").isVisible(), "the accounting is in sight");
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "wider than the screen");
      await page.screenshot({ path: join(PICTURES, `10-compare-${theme}-${width}.png`) });
      await closed(page);
    });
  }
}
