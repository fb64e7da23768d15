// `genba export --to speedscope` on a recording of a real program, opened in speedscope itself, in a real Chromium.
// Needs the built command: target/release/genba, or GENBA; and a Python: GENBA_PYTHON, or python3.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { withChromium } from "./chromium.mjs";
import { until } from "./viewer-page.mjs";

const GENBA = process.env.GENBA ?? fileURLToPath(new URL("../../target/release/genba", import.meta.url));
const PYTHON = process.env.GENBA_PYTHON ?? "python3";
const web = createRequire(new URL("../../web/package.json", import.meta.url));
const SPEEDSCOPE = join(dirname(web.resolve("speedscope/package.json")), "dist/release/index.html");
const PROGRAM = `
def before(b):
    n = 0
    for i in range(len(b)):
        n += len(b[i:][:2])
    return n

for _ in range(5):
    before(bytes(100_000))
`;

test("speedscope reads the export: the thread, its functions, and the sum of its weights", async () => {
  assert.ok(existsSync(GENBA), `${GENBA} is not there: run \`make build\` first`);
  await withChromium(async ({ browser, folder }) => {
    const inFolder = (name) => join(folder, name);
    const genba = (...words) => execFileSync(GENBA, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    writeFileSync(inFolder("slices.py"), PROGRAM);
    genba("run", "--quiet", "-o", "slices.genba", PYTHON, "slices.py");
    genba("export", "slices.genba", "--to", "speedscope", "--weight", "cpu", "-o", "slices.speedscope.json");
    const exported = JSON.parse(readFileSync(inFolder("slices.speedscope.json"), "utf8"));
    genba("export", "slices.genba", "--to", "json", "-o", "slices.json");
    const whole = JSON.parse(readFileSync(inFolder("slices.json"), "utf8"));
    const sum = (numbers) => numbers.reduce((left, right) => left + right, 0);
    assert.equal(sum(exported.profiles.flatMap((profile) => profile.weights)), whole.accounting.cpu_sampled_ns);

    const page = await browser.newPage();
    const complaints = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      complaints.push(dialog.message());
      return dialog.dismiss();
    });
    await page.goto(pathToFileURL(SPEEDSCOPE).href);
    await page.setInputFiles("input[type=file]", inFolder("slices.speedscope.json"));
    await page.getByText("Sandwich").click();
    // Only the rows in sight are on the page: those with the most below them come first.
    await page.getByText("Total", { exact: true }).click();
    // The program has a <module>, and so may what the interpreter runs before it.
    for (const name of ["before", "<module>"]) await page.getByText(name, { exact: true }).first().waitFor();
    await until(page, "body", exported.profiles[0].name);
    assert.deepEqual(complaints, []);
  });
});
