// Who may do what: the server itself, the session, tokens and settings, as the server describes them.
import { exactText, list, object, oneOf, orNull, whole } from "../tables/read";
import type { Value } from "../tables/read";
import type { Ms } from "../units";
import { flag, moment } from "./recordings";

export const SCOPES = ["read", "write", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

export interface Server {
  readonly version: string;
  /** Whether a token is needed here. */
  readonly login: boolean;
}
export interface Session {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly login: boolean;
}
export interface Token {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly made: Ms;
  readonly expires: Ms | null;
  readonly used: Ms | null;
  readonly revoked: Ms | null;
}
export interface Settings {
  readonly keepDays: number | null;
  readonly version: string;
  readonly database: string;
  readonly store: string;
}

export function decodeServer(at: Value): Server {
  const field = object(at);
  return { version: exactText(field("version")), login: flag(field("login")) };
}

export function decodeSession(at: Value): Session {
  const field = object(at);
  return { name: exactText(field("name")), scopes: scopes(field("scopes")), login: flag(field("login")) };
}

export function decodeToken(at: Value): Token {
  const field = object(at);
  return {
    name: exactText(field("name")),
    scopes: scopes(field("scopes")),
    made: whole(field("made_ms")) as Ms,
    expires: moment(field("expires_ms")),
    used: moment(field("used_ms")),
    revoked: moment(field("revoked_ms")),
  };
}

/** Only the answer that made a token has its secret. */
export function decodeSecret(at: Value): string {
  return exactText(object(at)("token"));
}

export function decodeSettings(at: Value): Settings {
  const field = object(at);
  return {
    keepDays: orNull(field("keep_days"), whole),
    version: exactText(field("version")),
    database: exactText(field("database")),
    store: exactText(field("store")),
  };
}

export function isAdmin(session: Session | null): boolean {
  return session?.scopes.includes("admin") ?? false;
}

function scopes(at: Value): Scope[] {
  return list(at, (row) => oneOf(row, SCOPES));
}
