// Numbers, places and names into words, the one place where nanoseconds stop being integers. Three significant digits at most;
// `exact` keeps them all.
import type { Accounting, Caller, Clocks, Filters, Frame, Meta, Process, Profile, Rare, Reason, Thread } from "./tables/profile";
import { fileName } from "./tables/file-names";
import { weightOfAll } from "./tables/totals";
import { share } from "./tree/tree";
import type { Place } from "./tree/tree";
import type { Count, Ns, Px, Share, Weighed, Weight } from "./units";

/** From large to small. */
type Steps = readonly (readonly [number, string])[];
const TIMES: Steps = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
const SIZES: Steps = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];

export function timeWords(ns: Ns): string {
  return stepWords(ns, TIMES, `${ns} ns`);
}
/** As in the list of processes: its number, what was started, and its CPU. */
export function processWords({ pid, argv, cpu, imported }: Process): string {
  const words = [String(pid ?? "?"), ...argv.slice(0, 3)].join(" ");
  return imported === null ? `${words} · ${timeWords(cpu)} CPU` : words;
}

/** A moment since the recording began. */
export function momentWords(ns: Ns): string {
  return ns === 0 ? "0 s" : timeWords(ns);
}
/** As it was asked for: `1 ms`, `50 µs`. */
export function intervalWords(ns: Ns): string {
  const step = TIMES.find(([size]) => ns >= size);
  return step === undefined ? `${ns} ns` : `${ns / step[0]} ${step[1]}`;
}
/** `sampled every 1 ms`, `sampled every 1 ms, mostly 5 ms (budget 2 %)` */
export function paceWords(meta: Pick<Meta, "interval" | "intervalMostly" | "budgetPerMille">): string | null {
  if (meta.interval === null) return null;
  const begun = `sampled every ${intervalWords(meta.interval)}`;
  if (meta.intervalMostly === null || meta.intervalMostly === meta.interval) return begun;
  const budget = meta.budgetPerMille === null ? "" : ` (budget ${meta.budgetPerMille / 10} %)`;
  return `${begun}, mostly ${intervalWords(meta.intervalMostly)}${budget}`;
}
export function exactTime(ns: Ns): string {
  return `${grouped(ns)} ns`;
}
export function countWords(count: Count): string {
  return grouped(count);
}
/** For a title; a count of samples is exact as it is. */
export function exactWords(value: Weighed, weight: Weight): string | undefined {
  if (weight === "samples") return undefined;
  return weight === "copied" || weight === "allocated" ? `${grouped(value)} bytes` : exactTime(value as number as Ns);
}
export function weightWords(value: Weighed, weight: Weight): string {
  if (weight === "copied" || weight === "allocated") return bytesWords(value);
  return weight === "samples" ? grouped(value) : timeWords(value as number as Ns);
}
export function shareWords(share: Share): string {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  return `${fixed(share * 100, 1)} %`;
}
/** A part of a row's own weight, as the report rounds it. */
export function partWords(share: Share): string {
  return `${fixed(share * 100, 0)} %`;
}
export function coresWords(cores: number): string {
  return cores > 0 && cores < 0.005 ? "< 0.01 cores" : `${fixed(cores, 2)} ${cores === 1 ? "core" : "cores"}`;
}
export function bytesWords(bytes: number): string {
  return stepWords(bytes, SIZES, plural(bytes, "byte"));
}
/** `least`: where no step is small enough. */
function stepWords(value: number, steps: Steps, least: string): string {
  const step = steps.find(([size]) => value >= size * 0.9995);
  return step === undefined ? least : `${threeDigits(value / step[0])} ${step[1]}`;
}
function threeDigits(value: number): string {
  const digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return digits === 0 ? grouped(Math.round(value)) : fixed(value, digits);
}
/** With at most two decimals. As in the terminal, what is exactly between two of them becomes the even one: 6.25 is 6.2, and 18.75 is 18.8. */
export function fixed(value: number, decimals: number): string {
  // JavaScript rounds all of these up.
  return ((value * 2 ** (decimals + 1)) % 4 === 1 ? value - 1e-9 : value).toFixed(decimals);
}
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}
export const WEIGHT_WORDS: Readonly<Record<Weight, string>> = { cpu: "CPU", wall: "Wall", samples: "Samples", copied: "Copied", allocated: "Allocated" };

/** `← views.py:88 page 50 %, …, others 20 %`: the shares and `others` add up to the row. */
export function callersWords(callers: readonly Caller[]): string {
  if (callers.length === 0) return "";
  const named = callers.map(({ fileName: file, line, function: name, share }) => {
    const place = `${file ?? ""}${line === null ? "" : `:${line}`}`;
    return `← ${place} ${name} ${partWords(share)}`;
  });
  const others = callers.reduce((rest, { share }) => rest - share, 1);
  return [...named, ...(others >= 0.005 ? [`others ${partWords(others as Share)}`] : [])].join(", ");
}

/** `encoder (worker/3), before loader`: as the report has it. */
function threadName({ name, kernelName, formerNames }: Thread): string {
  const kernel = kernelName === null ? "" : ` (${kernelName})`;
  return `${name}${kernel}${formerNames.length > 0 ? `, before ${formerNames.slice(-3).join(", ")}` : ""}`;
}

/** What a box says. */
export function placeName(place: Place, at: { title: string; processes: readonly Process[]; threads: readonly Thread[] }): string {
  switch (place.kind) {
    case "root":
      return at.title;
    case "process": {
      const process = at.processes[place.process];
      return process === undefined ? "process" : `process ${process.pid ?? "whose first block was lost"}${process.argv.length > 0 ? `  ${process.argv.join(" ")}` : ""}`;
    }
    case "thread": {
      const thread = at.threads[place.thread];
      const of = at.processes.length > 1 && thread !== undefined ? ` of process ${at.processes[thread.process]?.pid ?? "?"}` : "";
      return `thread ${thread === undefined ? "?" : threadName(thread)}${of}`;
    }
    case "function":
    case "foreign":
      return place.frame.name;
    case "expression":
      return expressionName(place.frame);
    case "state":
      return stateName(place.state);
    case "folded":
      return `(${grouped(place.calls)} frames of the interpreter)`;
  }
}
export function expressionName(frame: Frame): string {
  return frame.expression === null ? `line ${frame.line ?? "?"}` : frame.expression.replace(/\s+/g, " ");
}
/** `in poll(2) on a socket` is what the recording says; a reader waits. */
export function stateName(state: string): string {
  const { name, on } = /^in (?<name>[^ (]+)\(2\)(?<on> on an? [a-z]+)?$/.exec(state)?.groups ?? {};
  return name === undefined ? state : `waiting in ${name}${on ?? ""}`;
}

/** Where it is, in one short line: `slices.py:6`, `libc.so.6`. */
export function placeWhere(place: Place): string {
  switch (place.kind) {
    case "root":
    case "process":
    case "thread":
    case "state":
    case "folded":
      return "";
    case "function":
      return where(place.frame.fileName, place.frame.firstLine);
    case "expression":
      return where(place.frame.fileName, place.frame.line, place.frame.column);
    case "foreign":
      return [place.frame.file, place.frame.module].flatMap((path) => (path === null ? [] : [fileName(path)])).join(" · ");
  }
}
function where(name: string | null, line: number | null, column: number | null = null): string {
  const place = name ?? "no file";
  // Columns count from 0 in the recording and from 1 in the words of editors.
  return [place, line, column === null ? null : column + 1].filter((part) => part !== null).join(":");
}

/** What it is and how its name was found. */
export function placeNature(place: Place): string {
  switch (place.kind) {
    case "root":
      return "everything that was recorded";
    case "process":
      return "one process";
    case "thread":
      return "one thread, in the order of time";
    case "function":
      return ownerWords(place.frame);
    case "expression":
      return "the expression that was being executed";
    case "folded":
      return place.opens ? "calls that lead to the next one; a click, or Enter, shows each" : "calls that lead to the next one; the order by weight can show each";
    case "state":
      return place.state === "in gc" ? "a collection was running" : "not running: wall time, no CPU";
    case "foreign": {
      const { kind, origin, owner, fullName } = place.frame;
      if (kind === "mark") return "not a frame: what is missing here";
      const parts = [
        owner === null ? "C function" : `C function of the ${OWNER_WORDS[owner]}`,
        kind === "inferred" ? "inferred, as a tail call had taken it off the stack" : null,
        kind === "inlined" ? "inlined by the compiler into the function above it" : null,
        fullName,
        origin === null ? "no name found" : `name from the ${origin}`,
      ];
      return parts.filter((part) => part !== null).join(" · ");
    }
  }
}
const OWNER_WORDS = {
  user: "user", library: "library", stdlib: "standard library", interpreter: "interpreter",
  extension: "extension", libc: "C library", native: "native library",
} as const;
/** Whose code, by the name that the recording has for it. */
export function ownerName(owner: string): string {
  return owner === "user" ? "your own code" : owner in OWNER_WORDS ? OWNER_WORDS[owner as keyof typeof OWNER_WORDS] : owner;
}
/** Of a group of C functions, by what they are and where their names are from: `c:symbol table`. */
export function originName(key: string): string {
  const [kind, origin] = key.split(":", 2);
  const source = origin === "" || origin === undefined ? "no name" : origin;
  return kind === "inferred" ? `inferred, ${source}` : kind === "inlined" ? `inlined, ${source}` : source;
}
function ownerWords(frame: Frame): string {
  return frame.owner === null || frame.owner === "user" ? "your own function" : `function of the ${OWNER_WORDS[frame.owner]}`;
}

/** What the report says above the shares of a filtered recording. */
export function keptWords(filters: Filters, weight: Weight): string {
  const [kept, whole] = [filters.kept[weight], filters.whole[weight]];
  const unit = weight === "cpu" ? "CPU" : weight;
  const words = weightWords(whole as number as Weighed, weight);
  return `kept: ${shareWords(share(kept, whole))} of ${words} ${unit} (${filters.flags.join(" ")}). Shares are of what is kept.`;
}

/** What a page has no room for: `24,310 calls below 0.02 % each, 3.4 % together, are marks` */
export function rareWords(rare: Rare, profile: Profile, weight: Weight): string {
  const together = share(rare.totals[weight], weightOfAll(profile, weight));
  return `${plural(rare.calls, "call")} below ${String(rare.share * 100)} % each, ${shareWords(together)} together, are marks`;
}

/** The accounting in words. */
export interface AccountingWords {
  readonly ticks: string;
  readonly covered: string;
  readonly isStrained: boolean;
  /** Why; without what `warnings` say already. */
  readonly strains: readonly string[];
}
const COVERED_MIN = 0.99;
const COVERED_WITH_START_MIN = 0.9;
/** ns; less is some ticks' worth. */
const UNSEEN_MIN = 5_000_000;
const LOST_MAX = 0.05;
/** As `genba report` has it: somebody stopped the process; a thread had ended, and its time is told elsewhere. */
const NO_LOSS: readonly string[] = ["stopped", "thread ended"];
export function accountingWords(accounting: Accounting, clocks: Clocks, isImported = false, warnings: readonly string[] = []): AccountingWords {
  const dropped = sum(accounting.dropped);
  const refused = sum(accounting.refused);
  const sampled = grouped(accounting.sampled);
  // Each with words of the warning about it (crates/profile/src/rules/warnings.rs).
  const strains: [string, string][] = [];
  const noLoss = sum(accounting.dropped.concat(accounting.refused).filter(({ name }) => NO_LOSS.includes(name)));
  const lost = share(dropped + refused - noLoss, accounting.ticks - noLoss);
  if (accounting.ticks !== accounting.sampled + dropped + refused) strains.push(["the ticks do not add up: this recording is damaged", "do not add up"]);
  if (lost > LOST_MAX) strains.push([`${shareWords(lost)} of the ticks gave no sample`, "gave no sample"]);
  const recorded = clocks.cpuSampled + clocks.cpuNotSampled;
  const program = recorded + clocks.cpuNotRecorded;
  const held = clocks.cpuSampled - clocks.cpuLost;
  // Rounded down: 98.96 % is not 99.
  const covered = Math.floor((program > 0 ? held / program : 1) * 1000) / 1000;
  // A start that takes a moment is nobody's worry, and no few milliseconds are.
  const coveredSinceLoaded = program > clocks.cpuBefore ? held / (program - clocks.cpuBefore) : 1;
  const unseen = program - held;
  const isLittleSeen = covered < COVERED_WITH_START_MIN && unseen >= UNSEEN_MIN;
  const isLittleSeenSinceLoaded = coveredSinceLoaded < COVERED_MIN && unseen - clocks.cpuBefore >= UNSEEN_MIN;
  if ((isLittleSeen || isLittleSeenSinceLoaded) && !isImported) strains.push([`${timeWords((recorded - held) as Ns)} of CPU are in no sample`, "are in no sample"]);
  // At least 1 %, as in the report's header: less is what the end of a healthy process costs.
  if (clocks.cpuNotRecorded > 0 && clocks.cpuNotRecorded * 100 >= program) strains.push([`${timeWords(clocks.cpuNotRecorded)} of CPU not recorded`, "after the last block"]);
  return {
    ticks:
      `ticks ${grouped(accounting.ticks)} = sampled ${sampled} + dropped ${grouped(dropped)}${byReason(accounting.dropped)}` +
      ` + refused ${grouped(refused)}${byReason(accounting.refused)}`,
    covered: isImported ? "CPU time not measured by genba" : program > 0 ? `CPU covered ${shareWords(covered as Share)}` : "no CPU time",
    isStrained: strains.length > 0,
    strains: strains.filter(([, said]) => !warnings.some((warning) => warning.includes(said))).map(([words]) => words),
  };
}
function sum(reasons: readonly Reason[]): number {
  return reasons.reduce((sum, reason) => sum + reason.ticks, 0);
}
function byReason(reasons: readonly Reason[]): string {
  const named = reasons.filter((reason) => reason.ticks > 0);
  return named.length === 0 ? "" : ` (${named.map((reason) => `${reason.name} ${grouped(reason.ticks)}`).join(", ")})`;
}

/** Control characters, and the marks that change the direction of what follows. */
const HIDDEN = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** `report‮gpj.py` as `report⟨202E⟩gpj.py` */
export function visible(name: string): string {
  return name.replace(HIDDEN, (character) => `⟨${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** At most so many characters, and how many more there are. */
export function shown(name: string, charactersMax: number): string {
  const text = visible(name);
  if (text.length <= charactersMax) return text;
  const characters = Array.from(text);
  if (characters.length <= charactersMax) return text;
  return `${characters.slice(0, charactersMax).join("")}… (${plural(characters.length - charactersMax, "more character")})`;
}

/** A name cut to what fits, with a mark that it was cut; null when not even that fits. */
export function fitted(name: string, width: Px, character: Px): string | null {
  const room = Math.floor(width / character);
  if (cells(name) <= room) return name;
  if (room < 3) return null;
  const characters = Array.from(name);
  let used = 1;
  const kept = characters.slice(0, characters.findIndex((at) => (used += cells(at)) > room));
  return `${kept.join("")}…`;
}
/** How wide a text is in characters of a monospace font: East Asian wide ones and emoji take two. */
export function cells(name: string): number {
  if (/^[\x20-\x7e]*$/.test(name)) return name.length;
  return Array.from(name).reduce((count, at) => count + (WIDE.test(at) ? 2 : 1), 0);
}
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
