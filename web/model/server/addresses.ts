// Addresses of the server's pages: the list's filters, where a login leads, what a shared link opens at.

export const SORTS = ["newest", "oldest", "cpu", "wall", "size"] as const;
export type Sort = (typeof SORTS)[number];
export const SORT_WORDS: Readonly<Record<Sort, string>> = { newest: "newest first", oldest: "oldest first", cpu: "most CPU first", wall: "longest first", size: "largest first" };

export interface Asked {
  readonly query: string;
  readonly sort: Sort;
}

/** What is as at the beginning is left out. */
export function listAddress({ query, sort }: Asked): string {
  const words = new URLSearchParams([...(query === "" ? [] : [["q", query]]), ...(sort === "newest" ? [] : [["sort", sort]])]).toString();
  return words === "" ? "/" : `/?${words}`;
}

export function takeListAddress(search: string): Asked {
  const words = new URLSearchParams(search);
  return { query: words.get("q") ?? "", sort: SORTS.find((sort) => sort === words.get("sort")) ?? "newest" };
}

export function loginAddress(from: string): string {
  return from === "/" ? "/login" : `/login?next=${encodeURIComponent(from)}`;
}

/** A path of this server, whatever the address asks for: a login never leads elsewhere. `hash`: of the login's own address, where a browser keeps
 * that of the address which led to it. */
export function nextOf(search: string, origin: string, hash = ""): string {
  const wanted = new URLSearchParams(search).get("next") ?? "/";
  if (!/^\/(?![/\\])/.test(wanted)) return "/";
  const url = resolved(wanted, origin);
  if (url?.origin !== origin || url.pathname === "/login") return "/";
  // `/.//elsewhere` is resolved to `//elsewhere`, which would be another server.
  return url.pathname.startsWith("//") ? "/" : `${url.pathname}${url.search}${url.hash === "" ? hash : url.hash}`;
}

function resolved(path: string, origin: string): URL | null {
  try {
    return new URL(path, origin);
  } catch {
    return null;
  }
}

/** Of an address copied from the viewer, what comes after `#`; null: it names no view. */
export function fragmentOf(pasted: string): string | null {
  const at = pasted.indexOf("#");
  const fragment = at < 0 ? "" : pasted.slice(at).trim();
  return fragment.length > 1 && fragment.includes("=") && !/\s/.test(fragment) ? fragment : null;
}

/** `view flame, weight wall` */
export function fragmentWords(fragment: string): string {
  const words = [...new URLSearchParams(fragment.slice(1))].map(([key, value]) => `${key} ${value}`);
  return words.length === 0 ? "the first view" : words.join(", ");
}
