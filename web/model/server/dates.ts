// Moments, spans of time and expiry in words, in the reader's time zone. Never: reads the clock; the caller says what time it is.
import type { Ms, Ns } from "../units";
import { timeWords } from "../words";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
export const DAY_MS = 86_400_000;
const DAYS_AGO_MAX = 60;

/** `today 09:40`, `20 Nov 14:02`, `2 Nov 2025` */
export function momentWords(at: Ms, now: Ms): string {
  if (daysBetween(at, now) === 0) return `today ${clock(at)}`;
  return isSameYear(at, now) ? `${dayWords(at, now)} ${clock(at)}` : dayWords(at, now);
}

/** `today 09:40`, `Tue 17 Nov 14:02`: two of them side by side. */
export function weekdayWords(at: Ms, now: Ms): string {
  const words = momentWords(at, now);
  return words.startsWith("today") ? words : `${DAYS[new Date(at).getDay()] ?? ""} ${words}`;
}

/** `2 Nov`, `2 Nov 2027` */
export function dayWords(at: Ms, now: Ms): string {
  const date = new Date(at);
  const day = `${date.getDate()} ${MONTHS[date.getMonth()] ?? ""}`;
  return isSameYear(at, now) ? day : `${day} ${date.getFullYear()}`;
}

/** `today 09:41`, `yesterday`, `21 days ago`, `3 Mar`; of what was never used, a dash. */
export function usedWords(at: Ms | null, now: Ms): string {
  if (at === null) return "–";
  const days = daysBetween(at, now);
  if (days === 0) return `today ${clock(at)}`;
  if (days === 1) return "yesterday";
  return days > 0 && days <= DAYS_AGO_MAX ? `${days} days ago` : dayWords(at, now);
}

/** For whoever needs the second. */
export function exactMoment(at: Ms): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(at)}:${two(date.getSeconds())}`;
}

const SECOND_NS = 1_000_000_000;
const SECONDS_MAX = 99.95;
/** `2.70 s`, `3 min 41 s`, `10 min`, `2 h 5 min` */
export function spanWords(ns: Ns): string {
  if (ns < SECONDS_MAX * SECOND_NS) return ns === 0 ? "0 s" : timeWords(ns);
  const seconds = Math.round(ns / SECOND_NS);
  const parts = (large: number, small: number, [one, other]: readonly [string, string]): string => (small === 0 ? `${large} ${one}` : `${large} ${one} ${small} ${other}`);
  if (seconds < 3600) return parts(Math.floor(seconds / 60), seconds % 60, ["min", "s"]);
  const minutes = Math.round(seconds / 60);
  return parts(Math.floor(minutes / 60), minutes % 60, ["h", "min"]);
}

function clock(at: Ms): string {
  const date = new Date(at);
  return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
}

/** Midnights from one to the other; a day that changes the clocks has 23 or 25 hours. */
function daysBetween(at: Ms, now: Ms): number {
  const midnight = (moment: Ms): number => new Date(moment).setHours(0, 0, 0, 0);
  return Math.round((midnight(now) - midnight(at)) / DAY_MS);
}

function isSameYear(at: Ms, now: Ms): boolean {
  return new Date(at).getFullYear() === new Date(now).getFullYear();
}
