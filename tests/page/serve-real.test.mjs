// `genba serve` itself in a real Chromium, with recordings that `genba push` brought: the list, a search, a recording, a deep link, a shared link in a
// browser without a login, revoked and expired, and a run that is followed while it grows. Needs the built command, as html.test.mjs.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { reloaded, withChromium } from "./chromium.mjs";
import { pictures } from "./server-page.mjs";

const GENBA = process.env.GENBA ?? fileURLToPath(new URL("../../target/release/genba", import.meta.url));
const PYTHON = process.env.GENBA_PYTHON ?? "python3";
const program = (count) => `
def load(n):
    return sum(range(n))

for _ in range(200):
    load(${count})
`;
// Runs until its standard input ends.
const LIVE = `
import sys, threading

isOver = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), isOver.set())).start()
while not isOver.is_set():
    sum(range(100_000))
`;

let folder;
let server;
let address;
let token;
const pushed = {};
const genba = (words, more = {}) => execFileSync(GENBA, words, { cwd: join(folder, "elsewhere"), encoding: "utf8", env: { ...process.env, GENBA_TOKEN: token }, ...more }).trim();

before(async () => {
  assert.ok(existsSync(GENBA), `${GENBA} is not there: run \`make build\` first`);
  folder = mkdtempSync(join(tmpdir(), "genba-serve-"));
  mkdirSync(join(folder, "elsewhere"));
  token = genba(["serve", "token", "add", "sam", "--scope", "admin", "--data", join(folder, "data")]);
  assert.match(token, /^genba_/);
  server = spawn(GENBA, ["serve", "--listen", "127.0.0.1:0", "--data", join(folder, "data")], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  [address] = await once(createInterface({ input: server.stdout }), "line");
  address = address.replace(/\/$/, "");
  for (const [name, count] of [["short", "100_000"], ["long", "1_000_000"]]) {
    writeFileSync(join(folder, "elsewhere", `${name}.py`), program(count));
    genba(["run", "--quiet", "-o", `${name}.genba`, PYTHON, `${name}.py`]);
    pushed[name] = genba(["push", `${name}.genba`, address, "--tag", `length=${name}`]);
    assert.match(pushed[name], new RegExp(`^${address}/r/[\\w-]+$`));
  }
});
after(async () => {
  server.kill("SIGTERM");
  const [code] = await once(server, "exit");
  rmSync(folder, { recursive: true, force: true });
  assert.equal(code, 0, "SIGTERM ends it well");
});

/** A page of a fresh browser, with or without a login, that keeps what it asked of others and complained about. */
async function onPage(use, { isLoggedIn = true, next = "/" } = {}) {
  await withChromium(async ({ browser }) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
    const page = await context.newPage();
    const [elsewhere, complaints] = [[], []];
    page.on("request", (request) => {
      if (!request.url().startsWith(`${address}/`) && !request.url().startsWith("data:")) elsewhere.push(request.url());
    });
    page.on("console", (message) => {
      // Answers that say no are part of what is tried here.
      if (["error", "warning"].includes(message.type()) && !/status of (401|404|410)/.test(message.text())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    if (isLoggedIn) {
      await page.goto(`${address}${next}`);
      await page.waitForURL(/\/login/);
      await page.getByLabel("Your token").fill(token);
      await page.keyboard.press("Enter");
      await page.waitForURL(`${address}${next}`);
    }
    await use(page);
    assert.deepEqual(elsewhere, [], "something elsewhere was asked");
    assert.deepEqual(complaints, [], "the console complained");
    await context.close();
  });
}
const painted = (page) => page.waitForSelector("html[data-painted]");
const words = async (page, selector) => (await page.locator(selector).first().innerText()).replace(/\s+/g, " ").trim();

test("the list, a search, a recording, a deep link and a comparison", async () => {
  await onPage(async (page) => {
    await painted(page);
    assert.equal(await words(page, "[data-matched]"), "2 of 2");
    assert.match(await words(page, "[data-row] [data-verdict]"), /^[^:]+: \S/);
    await page.screenshot({ path: join(pictures, "serve-real-list.png") });
    await page.getByRole("searchbox").fill("program:short tag:length=short function:load since:1h");
    await page.locator("[data-matched]", { hasText: "1 of 2" }).waitFor();
    await page.locator("[data-row] [data-open]").click();
    // The list is painted, too.
    await page.waitForURL(({ href }) => href.split("#")[0] === pushed.short);
    await painted(page);
    assert.ok(await page.locator("[data-hit]").count() > 0);

    await page.goto(`${pushed.long}#view=tree`);
    await page.waitForSelector("[data-tree]");

    await page.goto(`${address}/`);
    await painted(page);
    for (const box of await page.locator(".rec-choice input").all()) await box.click();
    await page.keyboard.press("c");
    await page.waitForURL(/\/compare\//);
    await painted(page);
    // In the order of the page. Where the machine was busy beside one of the two runs only, both say that it cannot be told.
    const order = new URL(page.url()).pathname.split("/").slice(-2).map((id) => Object.keys(pushed).find((name) => pushed[name].endsWith(`/${id}`)));
    const { verdict } = JSON.parse(genba(["diff", ...order.map((name) => `${name}.genba`), "--format", "json"]));
    assert.equal(await words(page, ".compare-verdict"), verdict);
    assert.match(verdict, /^(B (takes|differs)|not comparable: .*(waited for a CPU|of CPU are in no sample))/);
  });
});

test("a shared link in a browser without a login: open, revoked, expired", async () => {
  let [shared, soon] = ["", ""];
  await onPage(async (page) => {
    await painted(page);
    await page.locator("[data-row] .rec-spark").first().click();
    await page.locator("[data-place]").fill(`${pushed.long}#view=flame`);
    await page.locator("[data-make-link]").click();
    shared = await words(page, "[data-share] [data-text]");
    await onPage(async (guest) => {
      await guest.goto(shared);
      await painted(guest);
      assert.match(guest.url(), /#view=flame/);
      assert.ok(await guest.locator("[data-flame]").count() > 0);
      await guest.goto(pushed.short);
      await guest.waitForURL(/\/login\?next=/);
    }, { isLoggedIn: false });

    await page.reload();
    await painted(page);
    await page.locator("[data-link]", { hasText: "opened once" }).locator("[data-revoke]").click();
    await page.locator("[data-link]", { hasText: "revoked by sam" }).waitFor();
    const made = await page.evaluate(async (id) => {
      const answer = await fetch(`/api/recordings/${id}/links`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ expires_ms: Date.now() + 1_500, needs_token: false, fragment: "" }) });
      return answer.json();
    }, pushed.long.split("/").at(-1));
    soon = `${address}${made.url}`;
  });
  await onPage(async (guest) => {
    const revoked = await guest.goto(shared);
    assert.equal(revoked.status(), 410);
    assert.match(await words(guest, "body"), /revoked/);
    // Its own time says when it is over.
    while ((await guest.goto(soon)).status() !== 410);
    assert.match(await words(guest, "body"), /expired/);
    assert.equal((await guest.goto(`${address}/s/notthere1`)).status(), 404);
  }, { isLoggedIn: false });
});

test("a run is followed while it grows, and is an ordinary recording at its end", async () => {
  writeFileSync(join(folder, "elsewhere", "live.py"), LIVE);
  const run = spawn(GENBA, ["run", "--push", address, PYTHON, "live.py"], { cwd: join(folder, "elsewhere"), env: { ...process.env, GENBA_TOKEN: token }, stdio: ["pipe", "ignore", "ignore"] });
  await onPage(async (page) => {
    await painted(page);
    const row = page.locator(".rec.live");
    await row.waitFor({ timeout: 60_000 });
    const grown = async () => Number(/[\d.]+/.exec(await row.locator("[data-grown]").innerText())[0]);
    await row.locator(".rec-what a").click();
    await page.waitForURL(/\/r\//);
    await painted(page);
    await page.locator("[data-follow]").waitFor();
    await page.screenshot({ path: join(pictures, "serve-real-live.png") });
    await reloaded(page);
    await painted(page);
    await page.goto(`${address}/`);
    await painted(page);
    assert.ok((await grown()) > 0);
    run.stdin.end();
    await once(run, "exit");
    await row.waitFor({ state: "detached", timeout: 60_000 });
    assert.equal(await words(page, "[data-matched]"), "3 of 3");
  });
});
