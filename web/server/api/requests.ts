// The server's routes that the pages use, each a function from values to values.
import type { Asked } from "../../model/server/addresses";
import { decodeSecret, decodeServer, decodeSession, decodeSettings, decodeToken } from "../../model/server/people";
import type { Scope, Server, Session, Settings, Token } from "../../model/server/people";
import { decodeLink, decodeListed, decodeRecording } from "../../model/server/recordings";
import type { Link, Listed, Recording } from "../../model/server/recordings";
import { list, object } from "../../model/tables/read";
import type { Ms } from "../../model/units";
import { ask } from "./ask";

export const readServer = async (): Promise<Server> => decodeServer(await ask("/api"));
export const readSession = async (): Promise<Session> => decodeSession(await ask("/api/session"));
export async function logIn(token: string): Promise<void> {
  await ask("/api/session", { method: "POST", body: { token } });
}
export async function logOut(): Promise<void> {
  await ask("/api/session", { method: "DELETE" });
}

export async function readRecordings({ query, sort }: Asked, { limit, cursor, signal }: { limit: number; cursor?: string; signal?: AbortSignal }): Promise<Listed> {
  const words = new URLSearchParams({ q: query, sort, limit: String(limit), ...(cursor === undefined ? {} : { cursor }) });
  return decodeListed(await ask(`/api/recordings?${words.toString()}`, signal === undefined ? {} : { signal }));
}
export const readRecording = async (id: string): Promise<Recording> => decodeRecording(await ask(recordingPath(id)));
export async function changeRecording(id: string, change: { name?: string; tags?: readonly string[] }): Promise<Recording> {
  return decodeRecording(await ask(recordingPath(id), { method: "PATCH", body: change }));
}
export async function deleteRecording(id: string): Promise<void> {
  await ask(recordingPath(id), { method: "DELETE" });
}
export function recordingPath(id: string, below = ""): `/api${string}` {
  return `/api/recordings/${encodeURIComponent(id)}${below}`;
}

export async function readLinks(id: string): Promise<Link[]> {
  return list(object(await ask(recordingPath(id, "/links")))("links"), decodeLink);
}
export async function makeLink(id: string, { expires, needsToken, fragment }: { expires: Ms | null; needsToken: boolean; fragment: string }): Promise<Link> {
  return decodeLink(await ask(recordingPath(id, "/links"), { method: "POST", body: { expires_ms: expires, needs_token: needsToken, fragment } }));
}
export async function revokeLink(code: string): Promise<void> {
  await ask(`/api/links/${encodeURIComponent(code)}`, { method: "DELETE" });
}

export async function readTokens(): Promise<Token[]> {
  return list(object(await ask("/api/tokens"))("tokens"), decodeToken);
}
export interface MadeToken {
  readonly token: Token;
  /** Shown once: nobody can ask for it again. */
  readonly secret: string;
}
export async function makeToken(name: string, scopes: readonly Scope[], expires: Ms | null): Promise<MadeToken> {
  const answer = await ask("/api/tokens", { method: "POST", body: { name, scopes, expires_ms: expires } });
  return { token: decodeToken(answer), secret: decodeSecret(answer) };
}
export async function rotateToken(name: string): Promise<MadeToken> {
  const answer = await ask(`/api/tokens/${encodeURIComponent(name)}/rotate`, { method: "POST" });
  return { token: decodeToken(answer), secret: decodeSecret(answer) };
}
export async function revokeToken(name: string): Promise<void> {
  await ask(`/api/tokens/${encodeURIComponent(name)}`, { method: "DELETE" });
}

export const readSettings = async (): Promise<Settings> => decodeSettings(await ask("/api/settings"));
export async function changeSettings(keepDays: number | null): Promise<Settings> {
  return decodeSettings(await ask("/api/settings", { method: "PATCH", body: { keep_days: keepDays } }));
}
