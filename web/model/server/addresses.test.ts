// Addresses of the pages, and where a login may lead.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fragmentOf, fragmentWords, listAddress, loginAddress, nextOf, takeListAddress } from "./addresses";

const ORIGIN = "http://127.0.0.1:8970";

test("the list's filters are in the address", () => {
  const asked = { query: 'host:a or b "x & y"', sort: "cpu" } as const;
  assert.deepEqual(takeListAddress(new URL(listAddress(asked), ORIGIN).search), asked);
  assert.equal(listAddress({ query: "", sort: "newest" }), "/");
  assert.deepEqual(takeListAddress("?sort=nonsense"), { query: "", sort: "newest" });
});

test("a login leads to a path of this server, or to the list", () => {
  const leads = (next: string): string => nextOf(`?next=${encodeURIComponent(next)}`, ORIGIN);
  assert.equal(leads("/r/ab12?x=1#view=flame"), "/r/ab12?x=1#view=flame");
  const elsewhere = ["//evil.example/x", "/\\evil.example", "https://evil.example/", "javascript:alert(1)", "evil", "", "/login?next=/", "/\t/evil.example", "/.//evil.example", "/%2e//evil.example", " //evil.example"];
  assert.deepEqual(elsewhere.map(leads), elsewhere.map(() => "/"));
  assert.equal(nextOf("", ORIGIN), "/");
  // A browser keeps what is behind the `#` of the address that led to the login.
  assert.equal(nextOf("?next=/r/ab12", ORIGIN, "#view=threads"), "/r/ab12#view=threads");
  assert.equal(nextOf(new URL(loginAddress("/tokens"), ORIGIN).search, ORIGIN), "/tokens");
});

test("a view out of a pasted address", () => {
  assert.equal(fragmentOf("http://127.0.0.1:8970/r/ab12#view=flame&weight=wall"), "#view=flame&weight=wall");
  assert.deepEqual(["", "#", "http://127.0.0.1:8970/r/ab12", "#x", "#a=b c"].map(fragmentOf), [null, null, null, null, null]);
  assert.equal(fragmentWords("#view=flame&weight=wall"), "view flame, weight wall");
  assert.equal(fragmentWords(""), "the first view");
});
