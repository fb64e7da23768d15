// The search language as the page needs it: where its terms are, what they say in words, and a query with one more or one less.
// Never: decides what matches; the server does, and it says so when it does not understand a query.

const KEYS = ["program", "host", "tag", "function", "who", "verdict", "name", "since", "until"];
const COMPARED = ["cpu", "wall", "size"];

export interface Term {
  /** Place in the query, the end not included. */
  readonly from: number;
  readonly to: number;
  /** Null: words that are looked for everywhere. */
  readonly key: string | null;
  readonly operator: "" | ":" | ">" | "<";
  readonly values: readonly string[];
}

/** `word`, `"two words"`, `key:value`, `key:"two words" or value`, `cpu>2s` */
export function termsOf(query: string): Term[] {
  const terms: Term[] = [];
  const token = /(?:([a-z]+)([:<>]))?("[^"]*"?|[^\s"]+)/gy;
  for (let at = skipBlanks(query, 0); at < query.length; at = skipBlanks(query, at)) {
    token.lastIndex = at;
    const found = token.exec(query);
    // A key that has no value yet, or a stray character.
    if (found === null) {
      at += 1;
      continue;
    }
    const [whole, name, sign, value = ""] = found;
    const known = name !== undefined && (sign === ":" ? KEYS : COMPARED).includes(name);
    const from = at;
    at += whole.length;
    if (!known) {
      terms.push({ from, to: at, key: null, operator: "", values: [unquoted(whole)] });
      continue;
    }
    const values = [unquoted(value)];
    const more = /\s+or\s+("[^"]*"?|[^\s":<>]+)(?=\s|$)/gy;
    more.lastIndex = at;
    for (let other = more.exec(query); other !== null; other = more.exec(query)) {
      values.push(unquoted(other[1] ?? ""));
      at = more.lastIndex;
    }
    terms.push({ from, to: at, key: name, operator: sign as Term["operator"], values });
  }
  return terms;
}

/** The query in pieces, so that keys can have a colour of their own. */
export function piecesOf(query: string): { readonly text: string; readonly isKey: boolean }[] {
  const pieces: { text: string; isKey: boolean }[] = [];
  let at = 0;
  for (const { from, key, operator } of termsOf(query)) {
    if (key === null) continue;
    const end = from + key.length + operator.length;
    if (from > at) pieces.push({ text: query.slice(at, from), isKey: false });
    pieces.push({ text: query.slice(from, end), isKey: true });
    at = end;
  }
  if (at < query.length) pieces.push({ text: query.slice(at), isKey: false });
  return pieces;
}

export function withoutTerm(query: string, { from, to }: Term): string {
  return `${query.slice(0, from).trimEnd()} ${query.slice(to).trimStart()}`.trim();
}

export function withQuery(query: string, more: string): string {
  return `${query.trim()} ${more}`.trim();
}

/** Whether every term of `part` is one of the query already. */
export function holdsQuery(query: string, part: string): boolean {
  const have = termsOf(query).map(canonical);
  const wanted = termsOf(part).map(canonical);
  return wanted.length > 0 && wanted.every((term) => have.includes(term));
}

/** `last 30 days`, `host api-*, build-*`, `CPU > 2s` */
export function termWords({ key, operator, values }: Term): string {
  const named = values.join(", ");
  switch (key) {
    case null:
      return named;
    case "since": {
      const span = spanOf(named);
      return span === null ? `since ${named}` : `last ${span}`;
    }
    case "until": {
      const span = spanOf(named);
      return span === null ? `until ${named}` : `until ${span} ago`;
    }
    case "cpu":
      return `CPU ${operator} ${named}`;
    default:
      return operator === ":" ? `${key} ${named}` : `${key} ${operator} ${named}`;
  }
}

/** As it was typed. */
export function termText(query: string, { from, to }: Term): string {
  return query.slice(from, to);
}

function spanOf(word: string): string | null {
  const { count, unit } = /^(?<count>\d{1,6})(?<unit>[mhdwy])$/.exec(word)?.groups ?? {};
  if (count === undefined || unit === undefined) return null;
  const name = { m: "minute", h: "hour", d: "day", w: "week", y: "year" }[unit] ?? unit;
  return Number(count) === 1 ? name : `${count} ${name}s`;
}

function canonical({ key, operator, values }: Term): string {
  return JSON.stringify([key, operator, values]).toLowerCase();
}

function unquoted(word: string): string {
  return word.startsWith('"') ? word.slice(1).replace(/"$/, "") : word;
}

function skipBlanks(query: string, at: number): number {
  while (at < query.length && /\s/.test(query.charAt(at))) at += 1;
  return at;
}
