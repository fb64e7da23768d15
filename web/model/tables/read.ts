// Reading values of unknown shape: each reader gives a typed value or throws `Damaged`, which names the field, what was
// expected there and what was found.

export class Damaged extends Error {
  constructor(
    readonly field: string,
    readonly expected: string,
    readonly found: string,
  ) {
    super(`field ${field}: expected ${expected}, found ${found}`);
    this.name = "Damaged";
  }
}

export interface Value {
  /** Its name, or its row, in `within`. Put together with the others only for `Damaged`: a page may have millions of values. */
  readonly field: string | number;
  readonly value: unknown;
  readonly within?: Value;
}

export function object(at: Value): (key: string) => Value {
  const { value } = at;
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw damaged(at, "an object");
  return (key) => ({ field: key, value: Object.hasOwn(value, key) ? ((value as Record<string, unknown>)[key] ?? null) : null, within: at });
}

export function list<T>(at: Value, read: (row: Value) => T): T[] {
  if (!Array.isArray(at.value)) throw damaged(at, "a list");
  return at.value.map((value: unknown, row) => read({ field: row, value, within: at }));
}

/** As it is: what is sent back to the server. */
export function exactText(at: Value): string {
  if (typeof at.value !== "string") throw damaged(at, "text");
  return at.value;
}

/** For a reader, as in the terminal: marks that turn the direction of what follows are shown. A column of a line stays where it was. */
export function text(at: Value): string {
  return exactText(at).replace(/\p{Bidi_C}/gu, "\ufffd");
}

/** A whole number from 0 on. */
export function whole(at: Value): number {
  const { value } = at;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0) throw damaged(at, "a whole number from 0 on");
  return value;
}

export function integer(at: Value): number {
  if (typeof at.value !== "number" || !Number.isInteger(at.value)) throw damaged(at, "a whole number");
  return at.value;
}

export function finite(at: Value): number {
  if (typeof at.value !== "number" || !Number.isFinite(at.value)) throw damaged(at, "a number");
  return at.value;
}

export function yes(at: Value): boolean {
  if (typeof at.value !== "boolean") throw damaged(at, "true or false");
  return at.value;
}

/** 0 to 1. */
export function fraction(at: Value): number {
  const { value } = at;
  if (typeof value !== "number" || !(value >= 0 && value <= 1)) throw damaged(at, "a number from 0 to 1");
  return value;
}

export function oneOf<T extends string>(at: Value, words: readonly T[]): T {
  const found = words.find((word) => word === at.value);
  if (found === undefined) throw damaged(at, `one of ${words.join(", ")}`);
  return found;
}

/** A row of a table of `rows` rows. */
export function index(at: Value, rows: number): number {
  const row = whole(at);
  if (row >= rows) throw damaged(at, `an index below ${rows}`);
  return row;
}

export function orNull<T>(at: Value, read: (value: Value) => T): T | null {
  return at.value === null ? null : read(at);
}

/** The same as a reader. */
export function nullable<T>(read: (at: Value) => T): (at: Value) => T | null {
  return (at) => orNull(at, read);
}

export function listOf<T>(read: (row: Value) => T): (at: Value) => T[] {
  return (at) => list(at, read);
}

/** Fields that are named `firstLine` here and `first_line` there, each with its reader. */
export function record<T extends object>(fields: { readonly [Name in keyof T]: (at: Value) => T[Name] }): (at: Value) => T {
  const reads = Object.entries<(at: Value) => unknown>(fields).map(([name, read]) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), read] as const);
  return (at) => {
    const field = object(at);
    const made: Record<string, unknown> = {};
    for (const [name, there, read] of reads) made[name] = read(field(there));
    return made as unknown as T;
  };
}

/** A list of that length: of a table of columns. */
export function column<T>(at: Value, rows: number, read: (row: Value) => T): T[] {
  return ofLength(at, rows, list(at, read));
}

/** The list itself, of whole numbers below `limit`: a page may have millions of them. */
export function indices<T extends number>(at: Value, limit: number, rows?: number): T[] {
  return listBelow(at, () => limit, rows, undefined) as T[];
}

export function wholes<T extends number>(at: Value, rows?: number): T[] {
  return indices(at, Infinity, rows);
}

/** The same with nulls. `limit`: of a row. */
export function indicesOrNull<T extends number>(at: Value, limit: (row: number) => number, rows?: number): (T | null)[] {
  return listBelow(at, limit, rows, null) as (T | null)[];
}

/** `none`: what may be there beside numbers. JSON has no undefined. */
function listBelow(at: Value, limit: (row: number) => number, rows: number | undefined, none: null | undefined): unknown[] {
  if (!Array.isArray(at.value)) throw damaged(at, "a list");
  const found: unknown[] = at.value;
  found.forEach((value, row) => {
    const isRight = value === none || (Number.isInteger(value) && (value as number) >= 0 && (value as number) < limit(row));
    if (!isRight) index({ field: row, value, within: at }, limit(row));
  });
  return ofLength(at, rows ?? found.length, found);
}

function ofLength<T>(at: Value, rows: number, found: T[]): T[] {
  if (found.length !== rows) throw damaged({ ...at, value: found.length }, `a column of ${rows} rows`);
  return found;
}

export function counts(at: Value): [string, number][] {
  const read = object(at);
  return Object.keys(at.value as object).map((key) => [key, whole(read(key))]);
}

export function damaged(at: Value, expected: string): Damaged {
  const shown = JSON.stringify(at.value) as string | undefined;
  const found = shown === undefined ? "nothing" : shown.length > 60 ? `${shown.slice(0, 60)}… (${shown.length} characters)` : shown;
  return new Damaged(wholeName(at) || "(whole text)", expected, found);
}

function wholeName({ field, within }: Value): string {
  const above = within === undefined ? "" : wholeName(within);
  return typeof field === "number" ? `${above}[${field}]` : above === "" ? field : `${above}.${field}`;
}
