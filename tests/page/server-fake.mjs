// A server that plays the interface of `genba serve` with made-up recordings, links and tokens, and the pages as they were built.
// Owns: what it was asked (`asked`), and switches for a test: `isAway`, `cursors`. Never: more of the search language than the tests use.
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";

const dist = new URL("../../web/dist/", import.meta.url);
const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
/** As long as Playwright waits for what a page shows. */
const FOLLOWED_MS_MAX = 30_000;
const shapes = {
  step: (at) => (at < 6 ? 30 : at > 50 ? 50 : 85), busy: () => 80, waves: (at) => 50 + 35 * Math.sin(at / 4), idle: (at) => (at % 17 < 3 ? 70 : 8),
  ramp: (at) => 20 + at, spiky: (at) => (at % 9 < 2 ? 95 : 35),
};
const spark = (kind) => Array.from({ length: 60 }, (_, at) => Math.round(shapes[kind](at) * 1e6 + ((at * 7919) % 13) * 1e6));

let made = 0;
/** `change`: fields of the recording; `facts`: of its summary. */
export function madeRecording(program, [kind, words], shape, { cpu_ns, wall_ns, facts = {}, ...change } = {}) {
  made += 1;
  const id = `rec${String(made).padStart(6, "0")}`;
  return {
    id, name: "app.genba", program, state: "sealed", live: false, owner: "sam", host: "build-7", tags: [], created_ms: Date.now() - made * MINUTE, sealed_ms: Date.now() - made * MINUTE,
    bytes: 214_000, sha256: `9f31${"ab".repeat(29)}c2`, url: `/r/${id}`, kept_until_ms: Date.now() + 30 * DAY, may: { change: true },
    facts: {
      program, verdict: { kind, words }, cpu_ns, wall_ns, samples: 2_700, processes: 1, threads: 1, started_ms: Date.now(), pythons: ["3.13.0"], tags: [], spark: spark(shape), span_ns: wall_ns,
      accounting: "ticks 2,702 = sampled 2,700 + dropped 0 + refused 2 (moved 2)", masked: 1, sources: "own files whole", faults: [], ended: true, ...facts,
    },
    ...change,
  };
}

const S = 1_000_000_000;
/** The recordings of the pictures. */
export function team() {
  made = 0;
  const at = (days, hour, minute) => new Date(new Date().setHours(hour, minute, 0, 0) - days * DAY).getTime();
  const rows = [
    madeRecording("orders.serve --workers 4", ["GIL", "68 % of the work waited for the GIL"], "waves", { cpu_ns: 178 * S, wall_ns: 192 * S, host: "api-3", tags: ["production"], state: "open", live: true, bytes: 1_900_000, sha256: null, sealed_ms: null }),
    madeRecording("import_orders.py october.csv", ["one place", "17.7 % of CPU is datetime.strptime(row[3], fmt) ← load"], "step", { cpu_ns: 2.7 * S, wall_ns: 2.81 * S, tags: ["any-date-format"], owner: "lena" }),
    madeRecording("pytest -q tests", ["no single cause", "22.1 % is import pandas; the next has 4.0 %"], "spiky", { cpu_ns: 61.2 * S, wall_ns: 48.1 * S, host: "build-12", bytes: 1_410_000, tags: ["pull-418"], owner: "ci" }),
    madeRecording("orders.serve --workers 4", ["GIL", "7 threads used 1.21 cores; 71 % of their work waited"], "waves", { cpu_ns: 11.9 * S, wall_ns: 12.4 * S, host: "api-3", bytes: 688_000, tags: ["production"], created_ms: at(1, 14, 2) }),
    madeRecording("-m orders.jobs nightly", ["one line", "63.2 % of CPU is pricing.py:45 rules_for(cart, on)"], "busy", { cpu_ns: 221 * S, wall_ns: 232 * S, host: "api-1", bytes: 934_000, tags: ["production", "nightly"], owner: "cron", created_ms: at(1, 3, 0) }),
    madeRecording("gunicorn orders.wsgi", ["waiting", "82 % of wall is recv from db-1:5432 ← Order.save"], "idle", { cpu_ns: 41 * S, wall_ns: 600 * S, host: "api-2", bytes: 2_020_000, tags: ["production"], created_ms: at(2, 16, 31) }),
    madeRecording("import_orders.py october.csv", ["one place", "13.4 % of CPU is Decimal(row[5]) ← load"], "step", { cpu_ns: 2.29 * S, wall_ns: 2.41 * S, bytes: 203_000, tags: ["main"], owner: "lena", created_ms: at(4, 14, 2) }),
    madeRecording("celery -A orders worker", ["gc", "12.4 % of CPU is the cycle collector; worst pause 41.0 ms"], "spiky", { cpu_ns: 88.3 * S, wall_ns: 300 * S, host: "api-1", bytes: 1_120_000, tags: ["production"], created_ms: at(5, 11, 20) }),
    madeRecording("report.py --month 2026-10", ["copies", "41.2 GB copied by frame.append(row) ← load_frame"], "ramp", { cpu_ns: 52.6 * S, wall_ns: 54 * S, host: "build-3", bytes: 402_000, tags: ["main"], owner: "ines", created_ms: at(8, 17, 48) }),
    madeRecording("slices.py", ["one place", "97.6 % of CPU is b[i:]"], "busy", { cpu_ns: 1.94 * S, wall_ns: 1.97 * S, host: "build-3", bytes: 61_000, owner: "lena", created_ms: at(9, 10, 5) }),
    madeRecording("-m orders.mail --flush", ["waiting", "91 % of wall is sleep in time.sleep(1) ← retry"], "idle", { cpu_ns: 1.12 * S, wall_ns: 96 * S, host: "api-1", bytes: 88_000, tags: ["production"], owner: "cron", created_ms: at(10, 23, 0), may: { change: false } }),
    madeRecording("-c 'import orders'", ["too short to judge", "96 samples, shares are ± 10 points"], "ramp", { cpu_ns: 0.096 * S, wall_ns: 0.118 * S, bytes: 41_000, owner: "ines", created_ms: at(11, 15, 22) }),
  ];
  return rows;
}

export async function startFake({ recordings = team(), login = true, scopes = ["read", "write", "admin"], countedMax = 1_000, lookedMax = Infinity, viewer = "<!doctype html><link rel=icon href=data:,><title>viewer</title><p data-viewer>" } = {}) {
  const sessions = new Set();
  const [streams, opened, follows] = [new Map(), new Map(), new EventEmitter()];
  const fake = {
    asked: [], recordings, isAway: false, /** How they begin in this version; others are refused. */ cursors: "", failedLogins: 0, settings: { keep_days: 30, version: "0.1.0", database: "sqlite", store: "folder" }, viewer,
    links: [
      { code: "aR3v-9Lpe", url: "/s/aR3v-9Lpe", recording: recordings[1]?.id, made_by: "lena", made_ms: Date.now() - DAY, expires_ms: Date.now() + DAY, revoked_ms: null, revoked_by: null, needs_token: false, fragment: "", opened: 6 },
      { code: "t0Zc-Wn4d", url: "/s/t0Zc-Wn4d", recording: recordings[1]?.id, made_by: "sam", made_ms: Date.now() - 3 * DAY, expires_ms: null, revoked_ms: Date.now() - DAY, revoked_by: "sam", needs_token: false, fragment: "", opened: 2 },
    ],
    tokens: [
      ["sam", ["read", "write", "admin"], 19, 0, 346], ["lena", ["read", "write"], 19, 0, 346], ["ci", ["write"], 73, 0, 18], ["dashboard", ["read"], 99, 21, null],
      ["old-laptop", ["read"], 263, null, null, 51],
    ].map(([name, may, madeDays, usedDays, expiresDays, revokedDays]) => ({
      name, scopes: may, made_ms: Date.now() - madeDays * DAY, used_ms: usedDays === null ? null : Date.now() - usedDays * DAY, expires_ms: expiresDays === null ? null : Date.now() + expiresDays * DAY,
      revoked_ms: revokedDays === undefined ? null : Date.now() - revokedDays * DAY,
    })),
    /** To everybody who follows the recording. */
    tell: (id, event, data = {}) => {
      for (const answer of streams.get(id) ?? []) answer.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    /** Until somebody follows the recording for this time: the stream of a page that is gone may end behind the begin of the next one. */
    followed: async (id, times = 1) => {
      while ((opened.get(id) ?? 0) < times) await once(follows, id, { signal: AbortSignal.timeout(FOLLOWED_MS_MAX) });
    },
  };

  const problem = (answer, status, title, more = {}, headers = {}) => {
    answer.writeHead(status, { "Content-Type": "application/problem+json", "Cache-Control": "no-store", ...headers });
    answer.end(JSON.stringify({ title, status, ...more }));
  };
  const json = (answer, body, status = 200, headers = {}) => {
    answer.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store", ...headers });
    answer.end(body === null ? undefined : JSON.stringify(body));
  };
  const page = async (answer, name) => {
    answer.writeHead(200, { "Content-Type": name.endsWith(".js") ? "text/javascript" : "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff" });
    answer.end(name === "viewer" ? fake.viewer : await readFile(new URL(name, dist)));
  };

  /** Where a list goes on behind so many. */
  const goesOn = (list, end, place) => (end < list.length ? { next: `${fake.cursors}${end}`, reached: { place: place(list[end - 1]), id: list[end - 1].id } } : { next: null, reached: null });

  /** Of a list that is too long to look at all of it: the cursor counts what was looked at. */
  const listedPart = ({ query, sort, place, from }) => {
    const part = [...fake.recordings].sort(sort);
    const matching = (at) => part.slice(at, at + lookedMax).filter((recording) => matches(recording, query));
    return {
      recordings: matching(from), ...goesOn(part, from + lookedMax, place), looked: from + lookedMax < part.length ? from + lookedMax : null, matched: matching(0).length, matched_is_least: true, all: part.length,
      all_bytes: part.reduce((sum, { bytes }) => sum + bytes, 0), live: 0, chips: [],
    };
  };

  const listed = (url) => {
    const query = url.searchParams.get("q") ?? "";
    const limit = Number(url.searchParams.get("limit") ?? 50);
    const from = Number(url.searchParams.get("cursor")?.slice(fake.cursors.length) ?? 0);
    const counted = query === "" ? Infinity : countedMax;
    const order = url.searchParams.get("sort");
    const place = { cpu: ({ facts }) => facts.cpu_ns, wall: ({ facts }) => facts.wall_ns, size: ({ bytes }) => bytes }[order] ?? (({ created_ms }) => created_ms);
    const ascending = (a, b) => place(a) - place(b) || (a.id < b.id ? -1 : 1);
    const sort = (a, b) => (order === "oldest" ? ascending(a, b) : ascending(b, a));
    const found = fake.recordings.filter((recording) => matches(recording, query)).sort(sort);
    if (query !== "" && lookedMax < fake.recordings.length) return listedPart({ query, sort, place, from });
    const tags = ["production", "main"].map((tag) => ({ query: `tag:${tag}`, label: tag, count: found.filter((recording) => recording.tags.includes(tag)).length }));
    const mine = { query: "who:sam", label: "mine", count: found.filter(({ owner }) => owner === "sam").length };
    return {
      recordings: found.slice(from, from + limit), ...goesOn(found, from + limit, place), looked: null, matched: Math.min(found.length, counted), matched_is_least: found.length > counted, all: fake.recordings.length,
      all_bytes: fake.recordings.reduce((sum, { bytes }) => sum + bytes, 0), live: found.filter(({ live }) => live).length, chips: [mine, ...tags].filter(({ count }) => count > 0),
    };
  };

  const server = createServer(async (request, answer) => {
    const url = new URL(request.url, "http://fake");
    const [, first, second, third, fourth] = url.pathname.split("/").map(decodeURIComponent);
    const { method } = request;
    if (fake.isAway) return request.socket.destroy();
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : null;
    fake.asked.push({ method, path: `${url.pathname}${url.search}`, body });
    const session = !login || sessions.has(/genba_session=(\w+)/.exec(request.headers.cookie ?? "")?.[1]);
    if (["", "tokens", "settings", "login"].includes(first)) return page(answer, "server.html");
    if (first === "r" || first === "compare" || first === "s") return page(answer, "viewer");
    if (url.pathname === "/follow.js") return page(answer, "follow.js");
    if (first !== "api") return problem(answer, 404, "Nothing is here");

    if (second === undefined) return json(answer, { name: "genba", version: "0.1.0", login, limits: { chunk_bytes_max: 1, recording_bytes_max: 1 } });
    if (second === "session" && method === "POST") {
      if (fake.failedLogins >= 2) return problem(answer, 429, "Too many wrong tokens", {}, { "Retry-After": "30" });
      if (body.token !== "genba_right") {
        fake.failedLogins += 1;
        return problem(answer, 401, "This token is not known", { detail: "It is wrong, expired or revoked.", hint: "genba serve token list shows the names" });
      }
      sessions.add("s1");
      return json(answer, null, 204, { "Set-Cookie": "genba_session=s1; HttpOnly; SameSite=Strict; Path=/" });
    }
    if (second === "session" && method === "DELETE") {
      sessions.clear();
      return json(answer, null, 204);
    }
    if (!session) return problem(answer, 401, "A token is needed");
    if (second === "session") return json(answer, { name: login ? "sam" : "local", scopes, login });
    if (second === "settings") {
      if (method === "PATCH") fake.settings = { ...fake.settings, ...body };
      return json(answer, fake.settings);
    }
    if (second === "tokens") return tokens({ method, name: third, verb: fourth, body, answer });
    if (second === "links") {
      const link = fake.links.find(({ code }) => code === third);
      Object.assign(link, { revoked_ms: Date.now(), revoked_by: "sam" });
      return json(answer, null, 204);
    }
    if (third === undefined) {
      const query = url.searchParams.get("q") ?? "";
      if (query.includes("cpu>x")) return problem(answer, 400, "The search is not understood", { detail: "cpu>x: expected a time", hint: "cpu>2s" });
      if (!(url.searchParams.get("cursor") ?? fake.cursors).startsWith(fake.cursors)) return problem(answer, 400, "this cursor is none of this server's", { hint: "leave it out: the list begins anew" });
      return json(answer, listed(url));
    }
    const at = fake.recordings.findIndex(({ id }) => id === third);
    const recording = fake.recordings[at];
    if (recording === undefined) return problem(answer, 404, "No such recording");
    if (fourth === "links" && method === "POST") {
      const code = `new-${fake.links.length}`;
      const link = { code, url: `/s/${code}`, recording: third, made_by: "sam", made_ms: Date.now(), revoked_ms: null, revoked_by: null, opened: 0, ...body };
      fake.links.unshift(link);
      return json(answer, link, 201);
    }
    if (fourth === "links") return json(answer, { links: fake.links.filter((link) => link.recording === third) });
    if (fourth === "events") {
      answer.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
      answer.write(": hello\n\n");
      if (recording.state === "open") answer.write(`event: grown\ndata: ${JSON.stringify({ bytes: recording.bytes, facts: recording.facts })}\n\n`);
      if (!streams.has(third)) streams.set(third, new Set());
      streams.get(third).add(answer);
      opened.set(third, (opened.get(third) ?? 0) + 1);
      follows.emit(third);
      request.socket.on("close", () => streams.get(third).delete(answer));
      return undefined;
    }
    if (method === "PATCH") Object.assign(recording, body);
    if (method === "DELETE") {
      fake.recordings.splice(at, 1);
      return json(answer, null, 204);
    }
    return json(answer, recording);
  });

  function tokens({ method, name, verb, body, answer }) {
    if (!scopes.includes("admin")) return problem(answer, 403, "Only admins see tokens");
    const token = fake.tokens.find((other) => other.name === name);
    if (method === "GET") return json(answer, { tokens: fake.tokens });
    if (verb === "rotate") return json(answer, { ...token, token: "genba_rotated_4uJ7" });
    if (method === "DELETE") {
      token.revoked_ms = Date.now();
      return json(answer, null, 204);
    }
    if (fake.tokens.some((other) => other.name === body.name)) return problem(answer, 409, "There is a token of this name", { hint: "Rotate it, or take another name" });
    const fresh = { made_ms: Date.now(), used_ms: null, revoked_ms: null, ...body };
    fake.tokens.push(fresh);
    return json(answer, { ...fresh, token: "genba_made_9Qx2" }, 201);
  }

  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return Object.assign(fake, {
    origin: `http://127.0.0.1:${server.address().port}`,
    logIn: () => sessions.add("s1"),
    cookie: { name: "genba_session", value: "s1" },
    stop: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(done));
    },
  });
}

/** Words of program and verdict, `host:` (with `*` and `or`), `tag:`, `who:`; every other key matches everything. */
function matches({ program, facts, host, tags, owner }, query) {
  const terms = query.replace(/(\S+:\S+)((?: or [^\s:]+)+)/g, (_, first, more) => `${first}${more.replaceAll(" or ", "|")}`).split(/\s+/).filter((term) => term !== "");
  return terms.every((term) => {
    const [, key, value = ""] = /^(\w+):(.*)$/.exec(term) ?? [];
    const fits = (text) => value.split("|").some((glob) => new RegExp(`^${glob.replaceAll("*", ".*")}$`).test(text ?? ""));
    if (key === "host") return fits(host);
    if (key === "tag") return tags.some(fits);
    if (key === "who") return fits(owner);
    if (key !== undefined || /[<>]/.test(term)) return true;
    return `${program} ${facts?.verdict?.words}`.includes(term.replaceAll('"', ""));
  });
}
