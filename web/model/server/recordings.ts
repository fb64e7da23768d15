// What the server says of a recording and of its links. Owns: the shapes and their decoders. Never: reads a recording; the facts were read by the server.
import { damaged, Damaged, exactText, integer, list, object, oneOf, orNull, whole } from "../tables/read";
import type { Value } from "../tables/read";
import type { Count, Ms, Ns } from "../units";
import { grouped } from "../words";
import type { Sort } from "./addresses";

export interface Facts {
  readonly program: string;
  /** Null: nothing could be judged. */
  readonly verdict: { readonly kind: string; readonly words: string } | null;
  readonly cpu: Ns | null;
  readonly wall: Ns | null;
  readonly samples: Count;
  readonly processes: number;
  readonly threads: number;
  readonly started: Ms | null;
  readonly pythons: readonly string[];
  /** CPU in each of equally long parts of the recording. */
  readonly spark: readonly number[];
  readonly accounting: string;
  /** How many words of command lines were masked as secrets. */
  readonly masked: number;
  readonly sources: string;
  readonly faults: readonly string[];
}

export interface Recording {
  readonly id: string;
  readonly name: string;
  readonly program: string;
  readonly state: "open" | "sealed";
  readonly live: boolean;
  readonly owner: string;
  readonly host: string | null;
  readonly tags: readonly string[];
  readonly created: Ms;
  readonly bytes: number;
  readonly sha256: string | null;
  /** Path of its page. */
  readonly url: string;
  readonly facts: Facts | null;
  readonly keptUntil: Ms | null;
  readonly mayChange: boolean;
}

export interface Chip {
  readonly query: string;
  readonly label: string;
  readonly count: number;
}

/** How many recordings a search finds. */
export interface Matched {
  readonly matched: number;
  /** There are more, and the server did not count them. */
  readonly isLeast: boolean;
}

/** `322`; `1,000+`, where no more were counted. */
export function matchedWords({ matched, isLeast }: Matched): string {
  return `${grouped(matched)}${isLeast ? "+" : ""}`;
}

/** Of a search from the newest on: `1 recording matches`, `1,000+ recordings match`. Where none of the newest does, older ones may. */
export function matchWords(counted: Matched): string {
  const { matched, isLeast } = counted;
  if (isLeast && matched === 0) return "Older recordings may match";
  return `${matchedWords(counted)} ${matched === 1 && !isLeast ? "recording matches" : "recordings match"}`;
}

/** The last recording that the server looked at for a page: what the list is ordered by, and the id among equal ones. */
export interface Reached {
  readonly place: number;
  readonly id: string;
}

/** As the server orders recordings whose clock is not known. */
const NOT_TOLD = -1;

/** Whether the list has it behind what a page reached. Nothing is behind the end of the list. */
export function isBehind({ id, created, bytes, facts }: Recording, sort: Sort, reached: Reached | null): boolean {
  if (reached === null || id === reached.id) return false;
  const place = { newest: created, oldest: created, cpu: facts?.cpu ?? NOT_TOLD, wall: facts?.wall ?? NOT_TOLD, size: bytes }[sort];
  const isLess = place === reached.place ? id < reached.id : place < reached.place;
  return isLess === (sort !== "oldest");
}

/** How far a search has come that the server makes a part at a time. Some may be deleted meanwhile. */
export function lookedWords(looked: number, all: number): string {
  return `looked through ${grouped(Math.min(looked, all))} of ${grouped(all)}`;
}

export interface Listed extends Matched {
  readonly recordings: readonly Recording[];
  readonly next: string | null;
  /** Where `next` goes on. */
  readonly reached: Reached | null;
  /** How many the server looked at so far, where each page looks at a part of the list. */
  readonly looked: number | null;
  readonly all: number;
  readonly allBytes: number;
  readonly live: number;
  readonly chips: readonly Chip[];
}

export interface Link {
  readonly code: string;
  /** Path of the shared page. */
  readonly url: string;
  readonly madeBy: string;
  readonly expires: Ms | null;
  readonly revoked: Ms | null;
  readonly revokedBy: string | null;
  readonly needsToken: boolean;
  readonly fragment: string;
  readonly opened: number;
}

export function decodeListed(at: Value): Listed {
  const field = object(at);
  return {
    recordings: list(field("recordings"), decodeRecording),
    next: orNull(field("next"), exactText),
    reached: orNull(field("reached"), (value) => {
      const reached = object(value);
      return { place: integer(reached("place")), id: exactText(reached("id")) };
    }),
    looked: orNull(field("looked"), whole),
    matched: whole(field("matched")),
    isLeast: flag(field("matched_is_least")),
    all: whole(field("all")),
    allBytes: whole(field("all_bytes")),
    live: whole(field("live")),
    chips: list(field("chips"), (row) => {
      const chip = object(row);
      return { query: exactText(chip("query")), label: exactText(chip("label")), count: whole(chip("count")) };
    }),
  };
}

export function decodeRecording(at: Value): Recording {
  const field = object(at);
  const facts = decodeFacts(field("facts"));
  return {
    id: exactText(field("id")),
    name: exactText(field("name")),
    program: exactText(field("program")),
    state: oneOf(field("state"), ["open", "sealed"]),
    live: flag(field("live")),
    owner: exactText(field("owner")),
    host: orNull(field("host"), exactText),
    tags: list(field("tags"), exactText),
    created: whole(field("created_ms")) as Ms,
    bytes: whole(field("bytes")),
    sha256: orNull(field("sha256"), exactText),
    url: ownPath(field("url")),
    facts,
    keptUntil: moment(field("kept_until_ms")),
    mayChange: flag(object(field("may"))("change")),
  };
}

/** Null also where a field is not as expected: a summary never hides the recording that it is of. */
export function decodeFacts(at: Value): Facts | null {
  if (at.value === null) return null;
  try {
    const field = object(at);
    return {
      program: exactText(field("program")),
      verdict: orNull(field("verdict"), (value) => {
        const verdict = object(value);
        return { kind: exactText(verdict("kind")), words: exactText(verdict("words")) };
      }),
      cpu: orNull(field("cpu_ns"), whole) as Ns | null,
      wall: orNull(field("wall_ns"), whole) as Ns | null,
      samples: whole(field("samples")) as Count,
      processes: whole(field("processes")),
      threads: whole(field("threads")),
      started: moment(field("started_ms")),
      pythons: list(field("pythons"), exactText),
      spark: list(field("spark"), amount),
      accounting: exactText(field("accounting")),
      masked: whole(field("masked")),
      sources: exactText(field("sources")),
      faults: list(field("faults"), exactText),
    };
  } catch (error) {
    if (error instanceof Damaged) return null;
    throw error;
  }
}

export function decodeLink(at: Value): Link {
  const field = object(at);
  return {
    code: exactText(field("code")),
    url: ownPath(field("url")),
    madeBy: exactText(field("made_by")),
    expires: moment(field("expires_ms")),
    revoked: moment(field("revoked_ms")),
    revokedBy: orNull(field("revoked_by"), exactText),
    needsToken: flag(field("needs_token")),
    fragment: exactText(field("fragment")),
    opened: whole(field("opened")),
  };
}

export function moment(at: Value): Ms | null {
  return orNull(at, whole) as Ms | null;
}

export function flag(at: Value): boolean {
  if (typeof at.value !== "boolean") throw damaged(at, "true or false");
  return at.value;
}

function amount(at: Value): number {
  if (typeof at.value !== "number" || !(at.value >= 0)) throw damaged(at, "a number from 0 on");
  return at.value;
}

/** A link leads to this server, never to another one or to a script. */
function ownPath(at: Value): string {
  const path = exactText(at);
  if (!/^\/[^/\\]/.test(path)) throw damaged(at, "a path of this server");
  return path;
}
