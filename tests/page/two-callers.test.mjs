// The casebook's two-callers, recorded for real: what the page's view Tree says of each caller's `sum12` is what `genba tree` says.
// Needs the built command, as html.test.mjs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { openPage, withChromium } from "./chromium.mjs";
import { branchesOf, byPath, rowsOf } from "./tree-rows.mjs";

const GENBA = process.env.GENBA ?? fileURLToPath(new URL("../../target/release/genba", import.meta.url));
const PYTHON = process.env.GENBA_PYTHON ?? "python3";
const SLOW = fileURLToPath(new URL("../../casebook/two-callers/slow.py", import.meta.url));
const PARTS = ["sum1", "sum2"];
const PATHS = ["foo", "bar"].flatMap((caller) => [[caller], [caller, "sum12"], ...PARTS.map((part) => [caller, "sum12", part])]).map((path) => ["<module>", ...path]);

test("each caller's sum12 has its own split, and each share is that of genba tree", async () => {
  assert.ok(existsSync(GENBA), `${GENBA} is not there: run \`make build\` first`);
  await withChromium(async (at) => {
    const genba = (...words) => execFileSync(GENBA, words, { cwd: at.folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    // A rate that is asked for is kept: where others take the CPU, the budget would leave the rarest of the parts a dozen samples.
    genba("run", "--quiet", "--rate", "1000", "-o", "slow.genba", PYTHON, SLOW);
    genba("html", "slow.genba", "-o", "slow.html");
    const told = branchesOf(JSON.parse(genba("tree", "--show", "python", "--weight", "cpu", "--min-share", "0", "--format", "json", "slow.genba")));

    const page = await openPage(at, join(at.folder, "slow.html"), { width: 1280 });
    await page.locator("[data-weight=cpu]").click();
    await page.keyboard.press("p");
    await page.keyboard.press("3");
    await page.keyboard.press("Home");
    for (const path of [["<module>"], ...PATHS].filter((names) => !PARTS.includes(names.at(-1)))) {
      const at = (await rowsOf(page)).findIndex((row) => row.path === path.join(" › "));
      const row = page.locator("[data-tree] [role=treeitem]").nth(at);
      if (await row.getAttribute("aria-expanded") === "false") await row.locator(".turn").click();
    }

    const rows = byPath(await rowsOf(page));
    const shareOf = (...path) => Number.parseFloat(rows.get(["<module>", ...path].join(" › ")).share);
    for (const path of PATHS.map((names) => names.join(" › "))) {
      const [row, branch] = [rows.get(path), told.get(path)];
      assert.ok(row !== undefined && branch !== undefined, `${path}: on the page ${row?.share}, in the tree ${branch?.total_share}; shown: ${[...rows.keys()].join(", ")}`);
      assert.equal(row.share, `${(branch.total_share * 100).toFixed(1)} %`, path);
      assert.equal(row.cpu.replace(/\D/g, ""), `${branch.total_cpu_ns}`, path);
      assert.equal(row.samples, branch.total_samples.toLocaleString("en-US"), path);
      assert.ok(row.isInSight, `${path} is in sight beside the others`);
    }
    // The bounds of the casebook's page, of shares that were read from the screen.
    const foo = shareOf("foo", "sum12", "sum2") / shareOf("foo", "sum12", "sum1");
    const bar = shareOf("bar", "sum12", "sum1") / shareOf("bar", "sum12", "sum2");
    assert.ok(foo >= 5 && foo <= 25, `under foo sum2 is ${foo} times sum1`);
    assert.ok(bar >= 1.5 && bar <= 6, `under bar sum1 is ${bar} times sum2`);
    assert.deepEqual(page.asked, [], "the page asked the network");
    assert.deepEqual(page.complaints, [], "the console complained");
  });
});
