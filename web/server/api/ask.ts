// One request to the server that this page came from. Owns: what an answer that is no answer means. Never: another address than /api.
import { signal } from "@preact/signals";
import { loginAddress } from "../../model/server/addresses";
import { Damaged, object, orNull, text } from "../../model/tables/read";
import type { Value } from "../../model/tables/read";

/** The server said no, or something that is not understood. */
export class Problem extends Error {
  constructor(
    readonly title: string,
    readonly detail: string | null = null,
    readonly hint: string | null = null,
    readonly status = 0,
  ) {
    super(title);
    this.name = "Problem";
  }
}

/** Nothing answered: the server is down, or the network is. */
export class Away extends Problem {
  constructor() {
    super("The server does not answer", null, null);
    this.name = "Away";
  }
}

/** Whether the last request was answered. Every page shows it. */
export const isAway = signal(false);

export interface Request {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Throws `Problem`. Without a session the browser goes to the login, and the promise stays open until it is there. */
export async function ask(path: `/api${string}`, { method = "GET", body, signal }: Request = {}): Promise<Value> {
  const answer = await send(path, { method, signal: signal ?? null, ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }) });
  if (answer.status === 401 && location.pathname !== "/login") {
    location.replace(loginAddress(`${location.pathname}${location.search}${location.hash}`));
    return new Promise(() => undefined);
  }
  const said = await answer.text();
  if (!answer.ok) throw problemOf(answer, said);
  return { field: "", value: said === "" ? null : parsed(said) };
}

/** What went wrong, for a reader; an aborted request went not wrong. */
export function problemFrom(error: unknown): Problem | null {
  if (error instanceof Problem) return error;
  if (error instanceof DOMException && error.name === "AbortError") return null;
  if (error instanceof Damaged) return new Problem("The server's answer is not understood", error.message, "Reload the page: the server may be newer than it");
  throw error;
}

async function send(path: string, request: RequestInit): Promise<Response> {
  try {
    const answer = await fetch(path, { ...request, credentials: "same-origin", redirect: "error" });
    isAway.value = false;
    return answer;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    isAway.value = true;
    throw new Away();
  }
}

function problemOf(answer: Response, said: string): Problem {
  const wait = answer.headers.get("Retry-After");
  const later = wait === null ? null : `Try again in ${wait} s`;
  try {
    const field = object({ field: "", value: parsed(said) });
    return new Problem(text(field("title")), orNull(field("detail"), text), orNull(field("hint"), text) ?? later, answer.status);
  } catch (error) {
    if (!(error instanceof Problem || error instanceof Damaged)) throw error;
    return new Problem(`The server answered ${answer.status}`, answer.statusText === "" ? null : answer.statusText, later, answer.status);
  }
}

function parsed(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch (error) {
    throw new Problem("The server's answer is not understood", error instanceof Error ? error.message : null, "Reload the page");
  }
}
