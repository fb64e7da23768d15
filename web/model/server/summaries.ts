// What a row and the panel say of a recording.
import type { Ms } from "../units";
import { bytesWords, plural, shown, visible } from "../words";
import { dayWords } from "./dates";
import type { Facts, Link, Recording } from "./recordings";

const VERDICT_MAX = 300;

/** `bold` before a colon, then the words; of what is not known yet, why not. */
export function verdictOf({ state, live, facts }: Recording): { readonly bold: string; readonly words: string } {
  const verdict = facts?.verdict ?? null;
  if (live) return { bold: "live", words: verdict === null ? "nothing to judge yet" : `so far ${shown(verdict.words, VERDICT_MAX)}` };
  if (state === "open") return { bold: "uploading", words: "the rest has not arrived yet" };
  if (facts === null) return { bold: "no summary", words: "open the recording to see why" };
  if (verdict === null) return { bold: "not judged", words: plural(facts.samples, "sample") };
  return { bold: shown(verdict.kind, VERDICT_MAX), words: shown(verdict.words, VERDICT_MAX) };
}

export function sizeWords({ bytes, state }: Recording): string {
  return state === "open" ? `${bytesWords(bytes)} so far` : bytesWords(bytes);
}

/** What whoever opens the recording sees of the machine and the program that it was made on. */
export function readerRows(facts: Facts): readonly (readonly [string, string])[] {
  return [
    ["command line", facts.masked === 0 ? "whole, no secret found" : `${plural(facts.masked, "secret")} masked`],
    ["paths and names", "all"],
    ["source text", facts.sources.startsWith("own files") ? "own files, whole" : visible(facts.sources)],
    ["host, user, interpreter", "yes"],
    ["values of variables", "never recorded"],
  ];
}

export function linkWords({ expires, revoked, revokedBy, opened, needsToken }: Link, now: Ms): string {
  if (revoked !== null) return `revoked${revokedBy === null ? "" : ` by ${shown(revokedBy, 60)}`}, ${dayWords(revoked, now)}`;
  const uses = opened === 0 ? "not opened yet" : `opened ${opened === 1 ? "once" : `${opened} times`}`;
  const token = needsToken ? ", with a token" : "";
  if (expires !== null && expires <= now) return `expired ${dayWords(expires, now)}, ${uses}`;
  return `${expires === null ? "never expires" : dayWords(expires, now)}${token}, ${uses}`;
}

export function isWorking({ expires, revoked }: Link, now: Ms): boolean {
  return revoked === null && (expires === null || expires > now);
}

/** CPU over time as the outline of an area `width` wide and `height` high, the most busy part at the top. */
export function sparkPath(spark: readonly number[], width: number, height: number): string {
  const top = spark.reduce((most, value) => Math.max(most, value), 0);
  if (top === 0) return "";
  const step = width / spark.length;
  const round = (value: number): string => String(Math.round(value * 100) / 100);
  return `M0 ${height}${spark.map((value, at) => `V${round(height * (1 - value / top))}H${round((at + 1) * step)}`).join("")}V${height}Z`;
}
