// The other pages of `genba serve` in a real Chromium: login, tokens, settings, a server that is away, and the viewer of a live recording.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startFake, team } from "./server-fake.mjs";
import { onPage as openPage } from "./server-page.mjs";
import { until, useChromium, words } from "./viewer-page.mjs";

const at = useChromium();
const onPage = (path, use, made) => openPage(at.browser, path, use, made);

test("without a session the login, and then the page that was asked for", async () => {
  const fake = await startFake();
  const context = await at.browser.newContext();
  const page = await context.newPage();
  await page.goto(`${fake.origin}/?q=tag:main`);
  await page.waitForURL(/\/login\?next=/);
  await page.getByLabel("Your token").fill("genba_wrong");
  await page.keyboard.press("Enter");
  await until(page, "[data-problem]", "It is wrong, expired or revoked.");
  assert.equal(await words(page, "[data-problem]"), "This token is not known It is wrong, expired or revoked. genba serve token list shows the names");
  const second = page.waitForResponse(`${fake.origin}/api/session`);
  await page.getByRole("button", { name: "Log in" }).click();
  await second;
  assert.equal(fake.failedLogins, 2);
  await page.getByRole("button", { name: "Log in" }).click();
  await until(page, "[data-problem]", "Too many wrong tokens");
  assert.equal(await words(page, "[data-problem]"), "Too many wrong tokens Try again in 30 s");
  fake.failedLogins = 0;
  await page.getByLabel("Your token").fill("genba_right");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${fake.origin}/?q=tag:main`);
  await until(page, "[data-matched]", "2 of 12");

  await page.locator("[data-person]").click();
  await page.locator("[data-log-out]").click();
  await page.waitForURL(`${fake.origin}/login`);
  for (const next of ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"]) {
    await page.goto(`${fake.origin}/login?next=${encodeURIComponent(next)}`);
    await page.getByLabel("Your token").fill("genba_right");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${fake.origin}/`);
  }
  await context.close();
  await fake.stop();
});

test("tokens: made, shown once, rotated, revoked in place", async () => {
  await onPage("/tokens", async (page, fake) => {
    assert.match(await words(page, '[data-token="sam"]'), /^sam read write admin \d+ \w+ now, this page .* Rotate · Revoke$/);
    assert.match(await words(page, '[data-token="dashboard"]'), /^dashboard read .* 21 days ago never Rotate · Revoke$/);
    assert.match(await words(page, '[data-token="old-laptop"]'), /^old-laptop read .* – revoked \d+ \w+$/);
    const name = page.getByLabel("Name of the new token");
    await name.fill("ci-orders");
    await page.getByRole("button", { name: "write", exact: true }).click();
    await page.getByRole("button", { name: "30 days" }).click();
    assert.equal(await words(page, "[data-tokens] > .field code"), "genba serve token add ci-orders --scope write --expires 30d");
    await page.getByRole("button", { name: "Make" }).click();
    assert.match(await words(page, "[data-secret]"), /^genba_made_9Qx2 Copy ci-orders: shown once, now; only its hash is kept\.$/);
    assert.deepEqual(fake.asked.findLast(({ method }) => method === "POST").body.scopes, ["write"]);
    await name.fill("ci");
    await page.keyboard.press("Enter");
    await until(page, "[data-problem]", "There is a token of this name");

    await page.locator('[data-token="lena"] [data-rotate]').click();
    assert.match(await words(page, "[data-sure]"), /^Rotate lena\? The secret that is in use now stops working at once\. Rotate Keep$/);
    await page.locator("[data-sure]").getByRole("button", { name: "Rotate" }).click();
    await until(page, "[data-secret]", "genba_rotated_4uJ7");
    await page.locator('[data-token="ci"] [data-revoke]').click();
    await page.locator("[data-sure]").getByRole("button", { name: "Keep" }).click();
    await page.locator('[data-token="ci"] [data-revoke]').click();
    await page.locator("[data-sure]").getByRole("button", { name: "Revoke" }).click();
    await until(page, '[data-token="ci"]', "revoked");
    assert.equal(await page.locator('[data-token="ci"] button').count(), 0);
    await page.reload();
    await page.locator('[data-token="ci-orders"]').waitFor();
    assert.equal(await page.locator("[data-secret]").count(), 0);
  }, { allowed: ["status of 409"] });
});

test("who is no admin sees no tokens and changes no settings", async () => {
  await onPage("/tokens", async (page) => {
    assert.match(await words(page, "main"), /Only admins see tokens\. You are sam, who may read\./);
    assert.deepEqual(await page.locator("nav a").allInnerTexts(), ["Recordings", "Settings"]);
  }, { scopes: ["read"] });
  await onPage("/settings", async (page) => {
    assert.match(await words(page, "[data-settings]"), /Recordings are kept 30 days\. This server version genba 0\.1\.0 database SQLite, in the server's own folder recordings in a folder/);
    assert.equal(await page.locator("[data-keep]").count(), 0);
  }, { scopes: ["read"] });
});

test("settings: how long recordings are kept", async () => {
  await onPage("/settings", async (page, fake) => {
    const save = page.getByRole("button", { name: "Save" });
    assert.ok(await save.isDisabled());
    await page.getByLabel("Days").fill("0");
    assert.ok(await save.isDisabled());
    await page.getByLabel("Days").fill("90");
    await save.click();
    await until(page, "[data-saved]", "Saved.");
    assert.equal(fake.settings.keep_days, 90);
    assert.equal(await words(page, "footer [data-kept]"), "kept 90 days");
    await page.locator('[data-choice="always"]').click();
    await save.click();
    await until(page, "footer [data-kept]", "kept until somebody deletes them");
    assert.equal(fake.settings.keep_days, null);
  });
});

/** Presses a key as soon as there is something to see, which no frame has shown yet. */
const FIRST_KEY = () => {
  new MutationObserver((_, watch) => {
    if (document.querySelector("main") === null) return;
    watch.disconnect();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "t", bubbles: true }));
  }).observe(document, { childList: true, subtree: true });
};

for (const path of ["/", "/settings"]) {
  test(`keys are heard as soon as a page is there, and the list of them opens before another frame: ${path}`, async () => {
    await onPage(path, async (page) => {
      assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
      const isOpen = await page.evaluate(async () => {
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));
        // Neither a frame nor a timer comes in between.
        for (let turn = 0; turn < 10; turn += 1) await null;
        return document.querySelector("[data-keys]").open;
      });
      assert.equal(isOpen, true);
    }, { before: FIRST_KEY });
  });
}

test("a server without login says so", async () => {
  await onPage("/", async (page) => {
    assert.equal(await words(page, "[data-person]"), "local · no login");
    await page.locator("[data-person]").click();
    assert.equal(await page.locator("[data-log-out]").count(), 0);
  }, { login: false });
});

test("while the server is away the page says so, and goes on when it is back", async () => {
  await onPage("/", async (page, fake) => {
    fake.isAway = true;
    await page.getByRole("searchbox").fill("pytest");
    await page.locator("[data-away]").waitFor();
    assert.match(await words(page, "[data-problem]"), /^The server does not answer/);
    fake.isAway = false;
    await until(page, "[data-matched]", "1 of 12");
    await page.locator("[data-away]").waitFor({ state: "detached" });
  }, { allowed: ["ERR_EMPTY_RESPONSE", "ERR_CONNECTION", "ERR_INCOMPLETE"] });
});

test("the viewer of a live recording follows it, pauses, and reloads once more at the end", async () => {
  const viewer = "<!doctype html><title>viewer</title><style>:root{--sheet:#fff}</style><p data-viewer></p><script src=/follow.js></script>";
  const recordings = team();
  const { id } = recordings[0];
  const fake = await startFake({ recordings, viewer });
  fake.logIn();
  const context = await at.browser.newContext();
  await context.addCookies([{ ...fake.cookie, url: fake.origin }]);
  const page = await context.newPage();
  const loads = () => fake.asked.filter(({ path }) => path === `/r/${id}`).length;
  await page.goto(`${fake.origin}/r/${id}#view=flame`);
  await fake.followed(id);
  assert.equal(await words(page, "[data-follow]"), "live · following Pause");
  const reloaded = page.waitForEvent("load");
  fake.tell(id, "grown", { bytes: 1 });
  fake.tell(id, "grown", { bytes: 2 });
  await reloaded;
  assert.equal(loads(), 2);
  assert.ok(page.url().endsWith("#view=flame"), "what is seen stays");
  await fake.followed(id, 2);

  await page.getByRole("button", { name: "Pause" }).click();
  fake.tell(id, "grown", { bytes: 3 });
  await until(page, "[data-follow]", "paused: there is more");
  await page.reload();
  await fake.followed(id, 3);
  // The first words of a stream, and the same again, are no news: a program that writes nothing has a page that stays.
  fake.tell(id, "grown", { bytes: recordings[0].bytes, facts: recordings[0].facts });
  assert.equal(await words(page, "[data-follow]"), "live · paused Follow");
  fake.tell(id, "sealed", {});
  await until(page, "[data-follow]", "ended");
  const last = page.waitForEvent("load");
  await page.getByRole("button", { name: "Follow" }).click();
  await last;
  assert.equal(loads(), 4);
  assert.equal(await page.locator("[data-follow]").count(), 0, "the end is reloaded once");
  await context.close();
  await fake.stop();
});
