// The list of `genba serve` in a real Chromium: what somebody sees, finds, chooses, shares and deletes. Pictures are kept in build/pictures-of-tests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { madeRecording } from "./server-fake.mjs";
import { copiedBy, onPage as openPage, pictures, programs, selected } from "./server-page.mjs";
import { plain, until, useChromium, words } from "./viewer-page.mjs";

const at = useChromium();
const onPage = (path, use, made) => openPage(at.browser, path, use, made);

/** Each theme and each width once; `make test-all` has all pairs. */
const SCREENS = [["light", 1440], ["dark", 390], ...(process.env.GENBA_ALL === "1" ? [["dark", 1280], ["light", 390]] : [])];

for (const [theme, width] of SCREENS) {
  test(`every page, ${theme}, ${width} pixels wide`, async () => {
    const keep = (page, name) => page.screenshot({ path: `${pictures}server-${name}-${theme}-${width}.png` });
    const screen = { theme, width, height: 860 };
    await onPage("/?q=since:30d", async (page) => {
      const sealed = page.locator(".rec:not(.live) input");
      await sealed.nth(0).click();
      await sealed.nth(5).click();
      await page.locator("[data-link]").first().waitFor({ state: "attached" });
      await keep(page, "list");
      if (width === 390) {
        await page.locator("[data-sheet]").click();
        await keep(page, "sheet");
      }
    }, screen);
    await onPage("/tokens", async (page) => {
      await page.getByLabel("Name of the new token").fill("ci-orders");
      await page.getByRole("button", { name: "Make" }).click();
      await page.locator("[data-secret]").waitFor();
      await keep(page, "tokens");
    }, screen);
    await onPage("/settings", async (page) => keep(page, "settings"), screen);
    await onPage("/login", async (page) => keep(page, "login"), { ...screen, session: false });
    await onPage("/", async (page) => keep(page, "empty"), { ...screen, recordings: [] });
    await onPage("/?q=host:api-9%20since:30d", async (page) => {
      await page.locator("[data-without]").first().waitFor();
      await keep(page, "no-match");
    }, screen);
  });
}

test("the list answers without opening anything, live recordings first", async () => {
  await onPage("/", async (page) => {
    assert.equal((await programs(page))[0], "orders.serve --workers 4");
    assert.equal(await words(page, ".rec.live [data-verdict]"), "live: so far 68 % of the work waited for the GIL");
    assert.match(await words(page, ".rec.live"), /2 min 58 s 3 min 12 s api-3 production 1\.90 MB so far sam follow$/);
    const row = page.locator(".rec:not(.live):not(.rec-head)").first();
    assert.match(plain(await row.innerText()), /^import_orders\.py october\.csv one place: 17\.7 % of CPU is datetime\.strptime\(row\[3\], fmt\) ← load 2\.70 s 2\.81 s build-7 · 214 kB any-date-format lena (today|\d+ \w+) \d\d:\d\d$/);
    assert.equal(await words(page, "[data-matched]"), "12 of 12");
    assert.equal(await words(page, "[data-counted]"), "12 recordings");
    assert.match(await words(page, "[data-meta]"), /^127\.0\.0\.1:\d+ · 12 recordings · 9\.\d+ MB$/);
    assert.equal(await words(page, "[data-kept]"), "kept 30 days");
    // The first that is not live is selected: its panel is there.
    assert.match(await words(page, "[data-panel]"), /^Share this recording import_orders\.py october\.csv · lena · (today|\d+ \w+) \d\d:\d\d/);
  });
});

test("the mark of a live recording pulses, and holds still with reduced motion", async () => {
  const animation = (page) => page.locator(".pulse").evaluate((mark) => getComputedStyle(mark, "::after").animationName);
  await onPage("/", async (page) => assert.equal(await animation(page), "none"));
  await onPage("/", async (page) => assert.equal(await animation(page), "pulse"), { motion: "no-preference" });
});

test("letters without a pause between them are one question", async () => {
  await onPage("/", async (page) => {
    // Those, too, that the page gives up before the server has them.
    const queries = [];
    page.on("request", (request) => queries.push(new URL(request.url()).searchParams.get("q")));
    // Between keys a busy machine may make pauses.
    await page.getByRole("searchbox").evaluate((input) => {
      for (const letter of "tag:main") {
        input.value += letter;
        input.dispatchEvent(new InputEvent("input", { bubbles: true }));
      }
    });
    // "12 of 12" ends like this: the address tells that the question was asked.
    await page.waitForURL(({ search }) => search === "?q=tag%3Amain");
    await until(page, "[data-matched]", "2 of 12");
    assert.deepEqual(queries.filter((query) => query?.startsWith("t")), ["tag:main"]);
  });
});

test("search, chips and order are in the address; the back button undoes them", async () => {
  await onPage("/", async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("host:build-* or api-2");
    // What the letters before the last one find may be as many: on a busy machine they are asked for.
    await page.waitForURL(({ search }) => search === "?q=host%3Abuild-*+or+api-2");
    await until(page, "[data-matched]", "7 of 12");
    assert.equal(await words(page, ".chip.on"), "host build-*, api-2 ✕");

    await page.locator('[data-chip="tag:main"]').click();
    await until(page, "[data-matched]", "2 of 12");
    await page.locator("[data-sort]").selectOption("cpu");
    await page.waitForURL(/sort=cpu/);
    await page.locator(".rec-program").first().filter({ hasText: "report.py" }).waitFor();
    assert.deepEqual(await programs(page), ["report.py --month 2026-10", "import_orders.py october.csv"]);
    await page.reload();
    await page.waitForSelector("html[data-painted]");
    assert.deepEqual(await programs(page), ["report.py --month 2026-10", "import_orders.py october.csv"]);
    assert.equal(await page.getByRole("searchbox").inputValue(), "host:build-* or api-2 tag:main");

    await page.goBack();
    await page.goBack();
    await until(page, "[data-matched]", "7 of 12");
    assert.equal(await page.getByRole("searchbox").inputValue(), "host:build-* or api-2");
    await page.locator(".chip.on").click();
    await until(page, "[data-matched]", "12 of 12");
    await page.locator("[data-example]").first().click();
    assert.equal(await page.getByRole("searchbox").inputValue(), "program:import_orders tag:main");
  });
});

test("a search that is not understood says why", async () => {
  await onPage("/", async (page) => {
    await page.getByRole("searchbox").fill("cpu>x");
    await page.keyboard.press("Enter");
    assert.equal(await words(page, "[data-problem]"), "The search is not understood cpu>x: expected a time cpu>2s");
    await page.getByRole("searchbox").fill("pytest");
    await until(page, "[data-matched]", "1 of 12");
    assert.equal(await page.locator("[data-problem]").count(), 0);
  }, { allowed: ["status of 400"] });
});

test("keys: arrows, Enter, Space and c; the keys are listed", async () => {
  await onPage("/", async (page, fake) => {
    const [, second, third] = fake.recordings.map(({ id }) => id);
    assert.equal(await selected(page), second);
    await page.keyboard.press("ArrowDown");
    assert.equal(await selected(page), third);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.row), third);
    await page.keyboard.press(" ");
    await page.keyboard.press("c");
    assert.match(await words(page, "[data-compare-bar]"), /^1 chosen A pytest, (today|\w+ \d+ \w+) \d\d:\d\d Choose another/);
    await page.keyboard.press("Home");
    await page.keyboard.press(" ");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press(" ");
    // The older one is A. A live recording is not chosen.
    assert.match(await words(page, "[data-compare-bar]"), /^2 chosen A pytest, .* B import_orders\.py, .* swap clear Compare c$/);
    await page.keyboard.press("?");
    assert.match(await words(page, "[data-keys]"), /c ?compare the two that are chosen/);
    await page.keyboard.press("Escape");
    await page.reload();
    await page.locator("[data-compare]").waitFor();
    await page.keyboard.press("c");
    await page.waitForURL(`**/compare/${third}/${second}`);
    await page.goBack();
    await page.locator("[data-compare]").waitFor();
    assert.equal(await selected(page), second);
    await page.locator(`[data-row="${second}"]`).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/r/${second}`);
  });
});

for (const width of [800, 1024, 1200]) {
  test(`beside the panel each row has its program and verdict, ${width} pixels wide`, async () => {
    await onPage("/", async (page) => {
      const name = await page.locator(".rec-program").first().boundingBox();
      assert.ok(name.width >= 150, `${name.width} pixels`);
      const who = await page.locator(".rec-who").last().boundingBox();
      const list = await page.locator(".list").boundingBox();
      assert.ok(who.x + who.width <= list.x + list.width, "cut at the right");
    }, { width });
  });
}

test("the program is a link to its page; the rest of the row selects", async () => {
  await onPage("/", async (page, fake) => {
    const row = page.locator(`[data-row="${fake.recordings[4].id}"]`);
    await row.locator(".rec-spark").click();
    assert.equal(await selected(page), fake.recordings[4].id);
    assert.match(await words(page, "[data-panel]"), /-m orders\.jobs nightly · cron/);
    await row.locator("[data-open]").click();
    await page.waitForURL(`**/r/${fake.recordings[4].id}`);
  });
});

test("more rows come when the end of the list is in view", async () => {
  const recordings = Array.from({ length: 130 }, (_, at) => madeRecording(`app-${at}.py`, ["one place", "x"], "busy", { cpu_ns: 1e9, wall_ns: 1e9 }));
  await onPage("/", async (page) => {
    assert.equal(await page.locator("[data-row]").count(), 50);
    await page.keyboard.press("End");
    await page.locator('[data-row]').nth(99).waitFor({ state: "attached" });
    await page.keyboard.press("End");
    await page.locator('[data-row]').nth(129).waitFor({ state: "attached" });
    assert.equal(await page.locator("[data-more]").count(), 0);
    assert.equal(new Set(await programs(page)).size, 130);
  }, { recordings });
});

test("where a newer server refuses the cursor of the one before it, the list begins anew", async () => {
  const recordings = Array.from({ length: 130 }, (_, at) => madeRecording(`app-${at}.py`, ["one place", "x"], "busy", { cpu_ns: 1e9, wall_ns: 1e9 }));
  const cursors = ({ asked }) => asked.filter(({ path }) => path.startsWith("/api/recordings?")).map(({ path }) => new URL(path, "http://fake").searchParams.get("cursor"));
  await onPage("/", async (page, fake) => {
    fake.cursors = "v2-";
    await page.keyboard.press("End");
    await page.locator('[data-row]').nth(99).waitFor({ state: "attached" });
    assert.deepEqual(cursors(fake).slice(0, 4), [null, "50", null, "v2-50"]);
    assert.equal(await page.locator("[data-problem]").count(), 0);
  }, { recordings, allowed: ["status of 400"] });
  // One that refuses its own, too, is not asked again and again.
  await onPage("/", async (page, fake) => {
    await page.route((url) => url.searchParams.has("cursor"), (route) => route.fulfill({ status: 400, contentType: "application/problem+json", body: JSON.stringify({ title: "no cursor", status: 400 }) }));
    await page.keyboard.press("End");
    await until(page, "[data-problem]", "no cursor");
    assert.deepEqual(cursors(fake), [null, null]);
  }, { recordings, allowed: ["status of 400"] });
});

test("a search that finds more than the server counts says so", async () => {
  const recordings = Array.from({ length: 130 }, (_, at) => madeRecording(`app-${at}.py`, ["one place", "x"], "busy", { cpu_ns: 1e9, wall_ns: 1e9 }));
  await onPage("/?q=who%3Asam", async (page) => {
    assert.equal(await words(page, "[data-matched]"), "100+ of 130");
    assert.equal(await words(page, "[data-counted]"), "100+ of 130 recordings");
    assert.equal(await words(page, "[data-more]"), "more recordings");
    await page.keyboard.press("End");
    await page.locator('[data-row]').nth(99).waitFor({ state: "attached" });
    await page.keyboard.press("End");
    await page.locator('[data-row]').nth(129).waitFor({ state: "attached" });
  }, { recordings, countedMax: 100 });
});

test("a search of which the server looks at a part at a time goes on by itself", async () => {
  const recordings = Array.from({ length: 130 }, (_, at) => madeRecording(`app-${at}.py`, ["one place", "x"], "busy", { cpu_ns: 1e9, wall_ns: 1e9, owner: at === 129 ? "lena" : "sam" }));
  await onPage("/?q=who%3Alena", async (page) => {
    await page.locator("[data-row]").waitFor({ state: "attached" });
    assert.deepEqual(await programs(page), ["app-129.py"]);
    assert.equal(await page.locator("[data-more]").count(), 0);
    // The server counted in its first part, which has none.
    assert.equal(await words(page, "[data-matched]"), "1 of 130");
  }, { recordings, lookedMax: 50 });
  // The next search ends the one before while that goes on, and has the same cursor.
  await onPage("/", async (page) => {
    const isSecondPart = (url) => url.searchParams.get("cursor") === "50" && url.searchParams.get("q") === "who:nobody";
    await page.route(isSecondPart, () => {});
    const asked = page.waitForRequest((request) => isSecondPart(new URL(request.url())));
    await page.getByRole("searchbox").fill("who:nobody");
    await asked;
    // Nothing was found yet: how far it has come is told meanwhile.
    await until(page, "[data-more]", "Loading… · looked through 50 of 130");
    await page.getByRole("searchbox").fill("who:lena");
    await page.locator("[data-row]").waitFor({ state: "attached" });
    assert.deepEqual(await programs(page), ["app-129.py"]);
  }, { recordings, lookedMax: 50 });
  // Only at the end of the list does it say that nothing matches.
  await onPage("/?q=who%3Anobody", async (page, fake) => {
    await page.locator("[data-no-match]").waitFor();
    const parts = fake.asked.filter(({ path }) => path.startsWith("/api/recordings?")).map(({ path }) => new URL(path, "http://fake").searchParams.get("cursor"));
    assert.deepEqual(parts.slice(0, 3), [null, "50", "100"]);
  }, { recordings, lookedMax: 50 });
});

test("what was deleted in a part of the list leaves it, although nothing else matches there; what was found behind that part stays", async () => {
  const recordings = Array.from({ length: 130 }, (_, at) => madeRecording(`app-${at}.py`, ["one place", "x"], "busy", { cpu_ns: 1e9, wall_ns: 1e9, owner: [0, 1, 129].includes(at) ? "lena" : "sam" }));
  await onPage("/?q=who%3Alena", async (page, fake) => {
    const [others, own, last] = [0, 1, 129].map((at) => fake.recordings[at].id);
    await page.locator(`[data-row="${last}"]`).waitFor({ state: "attached" });
    await page.locator("[data-link], [data-no-links]").first().waitFor({ state: "attached" });
    assert.deepEqual(await programs(page), ["app-0.py", "app-1.py", "app-129.py"]);
    // Somebody else deletes one, and who looks at the list another one.
    fake.recordings.shift();
    await page.locator(`[data-row="${own}"] .rec-spark`).click();
    await page.locator("[data-delete]").click();
    await page.locator("[data-sure]").getByRole("button", { name: "Delete" }).click();
    await page.locator(`[data-row="${others}"]`).waitFor({ state: "detached" });
    assert.deepEqual(await programs(page), ["app-129.py"]);
    assert.equal(await words(page, "[data-matched]"), "1 of 128");
  }, { recordings, lookedMax: 50 });
});

test("the count of a search is that of the last time it was read anew, and no negative number is left", async () => {
  const recordings = Array.from({ length: 130 }, (_, at) => madeRecording(`app-${at}.py`, ["one place", "x"], "busy", { cpu_ns: 1e9, wall_ns: 1e9, owner: at < 45 ? "lena" : "sam" }));
  /** As a server that counted something else. */
  const count = (page, isAsked, matched) => page.route((url) => url.pathname === "/api/recordings" && isAsked(url.searchParams), async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), matched } });
  });
  await onPage("/?q=who%3Alena", async (page) => {
    assert.equal(await words(page, "[data-matched]"), "45+ of 130");
    // Each further page repeats what the first one counted.
    await count(page, (asked) => asked.has("cursor"), 45);
    await page.locator("[data-link], [data-no-links]").first().waitFor({ state: "attached" });
    await page.locator("[data-delete]").click();
    await page.locator("[data-sure]").getByRole("button", { name: "Delete" }).click();
    await until(page, "[data-matched]", "44+ of 129");
    await page.keyboard.press("End");
    await until(page, "[data-matched]", "44 of 129");
  }, { recordings: [...recordings], lookedMax: 50 });
  await onPage("/", async (page) => {
    await count(page, () => true, 40);
    await page.reload();
    await until(page, "[data-matched]", "40 of 130");
    assert.equal(await words(page, "[data-more]"), "more recordings");
  }, { recordings });
});

test("a live row that grows past the rows of a page stays where it was listed", async () => {
  const live = { state: "open", live: true, bytes: 1_000, sha256: null, sealed_ms: null, owner: "lena" };
  const made = (at) => madeRecording(`app-${at}.py`, ["one place", "x"], "busy", { cpu_ns: 1e9, wall_ns: 1e9, ...(at === 129 ? live : { owner: at > 126 ? "lena" : "sam" }) });
  const recordings = Array.from({ length: 130 }, (_, at) => made(at));
  await onPage("/?q=who%3Alena&sort=size", async (page, fake) => {
    const [others, own, last] = [128, 127, 129].map((at) => fake.recordings[at].id);
    await page.locator(`[data-row="${last}"]`).waitFor({ state: "attached" });
    await page.locator("[data-link], [data-no-links]").first().waitFor({ state: "attached" });
    await fake.followed(last);
    for (const bytes of [2_000, 2_500_000]) fake.tell(last, "grown", { bytes, facts: fake.recordings[129].facts });
    await until(page, "[data-grown]", "2.50 MB so far");
    // What the server answers next is of the time before it grew, and of a part of the list that ends above it.
    fake.recordings.splice(128, 1);
    await page.locator(`[data-row="${own}"] .rec-spark`).click();
    await page.locator("[data-delete]").click();
    await page.locator("[data-sure]").getByRole("button", { name: "Delete" }).click();
    await page.locator(`[data-row="${others}"]`).waitFor({ state: "detached" });
    assert.deepEqual(await programs(page), ["app-129.py"]);
    // The panel may still ask for what somebody else deleted.
  }, { recordings, lookedMax: 50, allowed: ["404 (Not Found)"] });
});

test("an owner makes a link, copies it, and revokes any link to the recording", async () => {
  await onPage("/", async (page, fake) => {
    assert.match(await words(page, '[data-link="aR3v-9Lpe"]'), /^aR3v-9Lpe \d+ \w+, opened 6 times Revoke$/);
    assert.match(await words(page, '[data-link="t0Zc-Wn4d"]'), /^t0Zc-Wn4d revoked by sam, \d+ \w+$/);
    await page.locator('[data-choice="token"]').click();
    await page.locator('[data-choice="1"]').click();
    await page.locator("[data-place]").fill("not a view");
    assert.ok(await page.locator("[data-make-link]").isDisabled());
    await page.locator("[data-place]").fill(`${fake.origin}/r/x#view=flame&weight=wall`);
    await page.locator("[data-make-link]").click();
    const text = await words(page, "[data-share] [data-text]");
    assert.equal(text, `${fake.origin}/s/new-2`);
    const { body } = fake.asked.findLast(({ method }) => method === "POST");
    assert.deepEqual([body.needs_token, body.fragment], [true, "#view=flame&weight=wall"]);
    assert.ok(Math.abs(body.expires_ms - Date.now() - 86_400_000) < 60_000);
    assert.match(await words(page, "[data-link-words]"), /^Whoever opens it with a token of this server sees this recording and nothing else, until /);
    assert.equal(await copiedBy(page, page.locator("[data-share] [data-copy]")), text);
    await page.locator('[data-link="new-2"] [data-revoke]').click();
    await until(page, '[data-link="new-2"]', "revoked by sam");
    assert.equal(await page.locator("[data-share] [data-text]").count(), 0);
    // Another person's.
    await page.locator('[data-link="aR3v-9Lpe"] [data-revoke]').click();
    await until(page, '[data-link="aR3v-9Lpe"]', "revoked by sam");
  }, { scopes: ["read", "write"] });
});

test("what a reader can see, and this recording: tags, name, download, deletion", async () => {
  await onPage("/", async (page, fake) => {
    const { id } = fake.recordings[1];
    assert.equal(await words(page, "[data-reader]"), "command line 1 secret masked paths and names all source text own files, whole host, user, interpreter yes values of variables never recorded");
    assert.equal(await words(page, "[data-hash]"), "sha256 9f31…c2");
    assert.equal(await words(page, "[data-accounting]"), "ticks 2,702 = sampled 2,700 + dropped 0 + refused 2 (moved 2)");
    await page.locator("[data-add-tag]").click();
    await page.locator("[data-entry]:focus").waitFor();
    await page.keyboard.type("main");
    await page.keyboard.press("Enter");
    await page.locator('[data-untag="main"]').waitFor();
    assert.match(await words(page, `[data-row="${id}"]`), /any-date-format main lena/);
    await page.locator('[data-untag="any-date-format"]').click();
    await page.locator('[data-untag="any-date-format"]').waitFor({ state: "detached" });
    await page.locator("[data-rename]").click();
    await page.locator("[data-entry]:focus").waitFor();
    await page.keyboard.type("october.genba");
    await page.keyboard.press("Enter");
    await until(page, "[data-name]", "october.genba");
    assert.deepEqual(fake.asked.filter(({ method }) => method === "PATCH").map(({ body }) => body), [{ tags: ["any-date-format", "main"] }, { tags: ["main"] }, { name: "october.genba" }]);
    assert.equal(await page.locator("[data-download]").getAttribute("href"), `/api/recordings/${id}/content`);

    await page.locator("[data-delete]").click();
    assert.match(await words(page, "[data-sure]"), /^Delete import_orders\.py\? Its links stop working\. Nobody can bring it back\. Delete Keep$/);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("[data-sure]").count(), 0);
    await page.locator("[data-delete]").click();
    await page.locator("[data-sure]").getByRole("button", { name: "Delete" }).click();
    await page.locator(`[data-row="${id}"]`).waitFor({ state: "detached" });
    await until(page, "[data-matched]", "11 of 11");
    assert.equal(await selected(page), fake.recordings[1].id);
  });
});

test("of another's recording only what may be done is there", async () => {
  await onPage("/?q=mail", async (page) => {
    assert.match(await words(page, "[data-panel]"), /^This recording -m orders\.mail/);
    for (const what of ["[data-share]", "[data-rename]", "[data-delete]", "[data-add-tag]"]) assert.equal(await page.locator(what).count(), 0, what);
    assert.equal(await page.locator("[data-download]").count(), 1);
    assert.equal(await words(page, "[data-no-links]"), "Its owner and admins make and see them.");
  });
});

test("a live row grows by events, and is an ordinary one when its run ends", async () => {
  await onPage("/", async (page, fake) => {
    const [live] = fake.recordings;
    await page.waitForFunction((id) => document.querySelector(`[data-row="${id}"]`) !== null, live.id);
    await fake.followed(live.id);
    fake.tell(live.id, "grown", { bytes: 2_500_000, facts: { ...live.facts, verdict: { kind: "GIL", words: "70 % of the work waited for the GIL" } } });
    await until(page, "[data-grown]", "2.50 MB so far");
    assert.equal(await words(page, ".rec.live [data-verdict]"), "live: so far 70 % of the work waited for the GIL");
    Object.assign(live, { state: "sealed", live: false, bytes: 2_600_000, sha256: "ab".repeat(32) });
    fake.tell(live.id, "sealed");
    await page.locator(".rec.live").waitFor({ state: "detached" });
    assert.match(await words(page, `[data-row="${live.id}"] [data-verdict]`), /^GIL: /);
  });
});

test("no recordings: three ways to fill the page, with this server's address", async () => {
  await onPage("/", async (page, fake) => {
    const said = await words(page, "[data-empty]");
    for (const command of [`genba run --push ${fake.origin} app.py`, `genba push app.genba ${fake.origin}`, `genba push --dry-run app.genba ${fake.origin}`]) assert.ok(said.includes(command), said);
    assert.equal(await copiedBy(page, page.locator("[data-copy]").first()), `genba run --push ${fake.origin} app.py`);
    assert.equal(await words(page, "[data-counted]"), "no recordings");
  }, { recordings: [] });
});

test("nothing matches: what would, without one of the terms", async () => {
  await onPage("/?q=since:30d%20host:api-9%20tag:production", async (page, fake) => {
    await page.locator("[data-without]").first().waitFor();
    assert.equal(await words(page, "[data-no-match]"), "Nothing matches host:api-9 tag:production in the last 30 days 6 recordings match without host: Search without it Show all 12");
    await page.locator("[data-without]").click();
    await until(page, "[data-matched]", "6 of 12");
    assert.equal(new URL(page.url()).searchParams.get("q"), "since:30d tag:production");
    assert.ok(fake.asked.length < 20);
  });
  // Of a long list the server looks at a part.
  await onPage("/?q=host:api-9%20tag:production", async (page) => {
    await page.locator("[data-without]").first().waitFor();
    assert.equal(await words(page, "[data-no-match]"), "Nothing matches host:api-9 tag:production 3+ recordings match without host: Search without it Older recordings may match without tag: Search without it Show all 12");
  }, { lookedMax: 5 });
});

test("names from recordings are only ever text", async () => {
  const hostile = "<img src=x onerror=document.title='hacked'>";
  const change = { host: hostile, tags: [hostile, "x".repeat(5_000), "\u202eevil"], owner: `\u202e${hostile}`, name: hostile, cpu_ns: 1e9, wall_ns: 1e9, facts: { accounting: hostile, faults: [hostile], sources: hostile, pythons: [hostile] } };
  const recordings = [hostile, "y".repeat(5_000), "report\u202egnp.py\u0000\n", "עברית.py", "</script><script>document.title='hacked'</script>"].map((program) => madeRecording(program, [hostile, "x".repeat(5_000)], "busy", change));
  for (const width of [1280, 390]) {
    await onPage("/", async (page) => {
      await page.locator("[data-link], [data-no-links]").first().waitFor({ state: "attached" });
      assert.equal(await page.locator("img").count(), 0);
      assert.equal(await page.title(), "Recordings · genba");
      const shown = await programs(page);
      assert.equal(shown[0], hostile);
      assert.match(shown[1], /^y{200}… \(4,800 more characters\)$/);
      assert.equal(shown[2], "report⟨202E⟩gnp.py⟨0000⟩⟨000A⟩");
      assert.ok(await page.locator(".rec").evaluateAll((rows) => rows.every((row) => row.getBoundingClientRect().height < 120)), "a name makes its row tall");
      await page.screenshot({ path: `${pictures}server-hostile-light-${width}.png` });
    }, { recordings, width });
  }
});

test("everything can be reached with Tab, and what has the focus is seen", async () => {
  await onPage("/", async (page) => {
    await page.locator("[data-link]").first().waitFor();
    const seen = new Set();
    for (let step = 0; step < 60; step += 1) {
      await page.keyboard.press("Tab");
      seen.add(await page.evaluate(() => {
        const at = document.activeElement;
        if (at === document.body) return "body";
        const outlined = getComputedStyle(at).outlineStyle !== "none" || at.closest(".search-box") !== null;
        return `${at.dataset.row === undefined ? (at.getAttribute("aria-label") ?? at.innerText ?? at.tagName).trim() : "row"}${outlined ? "" : " (no outline)"}`;
      }));
    }
    for (const name of ["Search recordings", "row", "Make the link", "Order", "Delete", "Download", "1 day", "add"]) assert.ok(seen.has(name), `${name}: ${[...seen].join(", ")}`);
    assert.deepEqual([...seen].filter((name) => name.endsWith("(no outline)")), []);
  });
});
