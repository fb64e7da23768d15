// From the JSON in the page, `{ profile, reports: { cpu, wall, samples } }`, to typed tables: what `genba export --to json`
// gives (docs/json.md), and `genba report --format json` in each weight, all rows. The only
// place where plain numbers become units and indices. Keeps: what it gives is consistent, or it throws `Damaged`.
import { decodeCollections } from "./collections";
import { fileName, fileNames } from "./file-names";
import { decodeHeaps } from "./heaps";
import type { Caller, Filters, Folded, Frame, Mark, Meta, Moments, Process, Profile, Rare, Reason, Recording, Row, Rss, Samples, Source, Stacks, Thread, Totals, Verdict, VerdictPiece } from "./profile";
import { counts, damaged, fraction, index, indices, indicesOrNull, integer, list, listOf, nullable, object, oneOf, orNull, record, text, whole, wholes, yes } from "./read";
import type { Value } from "./read";
import { byWeight, WEIGHTS } from "../units";
import type { Bytes, Count, FrameIndex, Ns, ProcessIndex, Share, StackIndex, Weight } from "../units";

const FORMAT_VERSION_MAX = 1;
/** The command makes fewer. */
const BINS_MAX = 1 << 16;
const KINDS = ["python", "c", "inferred", "inlined", "mark"] as const;
const OWNERS = ["user", "library", "stdlib", "interpreter", "extension", "libc", "native"] as const;

const [textOrNull, wholeOrNull, texts] = [nullable(text), nullable(whole), listOf(text)];
const share = (at: Value): Share => fraction(at) as Share;

const decodeFolded = record<Folded>({ rows: whole, share });
const decodeFrame = record<Omit<Frame, "fileName">>({
  kind: (at) => oneOf(at, KINDS),
  name: text,
  owner: nullable((at) => oneOf(at, OWNERS)),
  file: textOrNull,
  // 0: the file tells no first line (collapsed stacks).
  firstLine: (at) => wholeOrNull(at) || null,
  line: wholeOrNull,
  endLine: wholeOrNull,
  column: wholeOrNull,
  endColumn: wholeOrNull,
  byteColumn: wholeOrNull,
  byteEndColumn: wholeOrNull,
  expression: textOrNull,
  module: textOrNull,
  origin: textOrNull,
  fullName: textOrNull,
  passesOn: (at) => orNull(at, yes) ?? false,
});
/** In place of a stack that was taken out whole (kept.ts). The command has the same mark: crates/profile/src/rules/filter.rs. */
export const HIDDEN: Frame = { ...decodeFrame({ field: "", value: { kind: "mark", name: "hidden" } }), fileName: null };
const decodeCode = record<Omit<Row, keyof Totals | "fileName" | "callers">>({
  file: textOrNull,
  line: wholeOrNull,
  endLine: wholeOrNull,
  function: textOrNull,
  expression: textOrNull,
  column: wholeOrNull,
  endColumn: wholeOrNull,
  byteColumn: wholeOrNull,
  byteEndColumn: wholeOrNull,
  share,
  chain: texts,
  chainShare: nullable(share),
  split: listOf(record<{ readonly name: string; readonly share: Share }>({ name: text, share })),
  phase: textOrNull,
});
const decodeCallers = listOf(record<Omit<Caller, "fileName">>({ file: textOrNull, line: wholeOrNull, function: text, share }));
const decodeMeta = record<Omit<Meta, "wall" | "cpu" | "interval" | "intervalMostly" | "startRealtimeMs">>({
  title: textOrNull,
  recording: textOrNull,
  genbaVersion: text,
  budgetPerMille: wholeOrNull,
  exitCode: nullable(integer),
  exitSignal: nullable(integer),
  defaultWeight: (at) => oneOf(at, WEIGHTS),
  defaultWeightWhy: textOrNull,
  rssMaxBytes: wholeOrNull,
});
const decodeProgram = record<Omit<Process, "parent" | "cpu">>({
  pid: wholeOrNull,
  python: textOrNull,
  executable: textOrNull,
  argv: (at) => orNull(at, texts) ?? [],
  refused: textOrNull,
  imported: textOrNull,
  // None on a page of an earlier genba.
  countsCalls: (at) => orNull(at, yes) ?? false,
  threads: whole,
});
const decodeFilters = record<Filters>({ flags: texts, kept: decodeTotals, whole: decodeTotals });
const decodeVerdict = record<Verdict>({ name: text, lines: listOf(listOf(decodePiece)) });

export function decodeRecording(value: unknown): Recording {
  const page = object({ field: "", value });
  const reports = object(page("reports"));
  // Bytes have a report only where the recording tells them. Each is read when it is first asked for: few readers look at a second weight.
  const read: Partial<Record<Weight, Row[]>> = {};
  const rows = (weight: Weight): readonly Row[] => read[weight] ??= orNull(reports(weight), (at) => list(object(at)("rows"), (row) => decodeRow(row, names))) ?? [];
  const folded = byWeight((weight) => orNull(reports(weight), (at) => {
    const report = object(at);
    oneOf(report("weight"), [weight]);
    return decodeFolded(report("folded"));
  }) ?? { rows: 0, share: 0 as Share });
  // The same in each of them.
  const verdict = orNull(object(reports("cpu"))("verdict"), decodeVerdict);
  const profile = decodeProfile(page("profile"));
  const names = new Map(profile.frames.flatMap(({ file, fileName: name }) => (file === null || name === null ? [] : [[file, name] as const])));
  const collections = orNull(page("collections"), (at) => decodeCollections(at, profile.processes.length));
  const heaps = orNull(page("heaps"), (at) => decodeHeaps(at, profile.processes.length));
  return { profile, collections, heaps, rare: orNull(page("rare"), decodeRare), verdict, rows, folded };
}

/** 0: the recording does not tell them. */
function bytes(at: Value): Bytes {
  return (orNull(at, whole) ?? 0) as Bytes;
}

function decodeRss(at: Value, processes: number): Rss {
  const row = object(at);
  return { process: index(row("process"), processes) as ProcessIndex, at: ns(row("at_ns")), bytes: whole(row("bytes")) };
}

export function decodeProfile(at: Value): Profile {
  const top = object(at);
  oneOf(top("format"), ["genba-profile"]);
  const version = integer(top("version"));
  if (version > FORMAT_VERSION_MAX) throw damaged(top("version"), `at most ${FORMAT_VERSION_MAX}, which this page knows`);

  const told = list(top("frames"), decodeFrame);
  const names = fileNames(told.flatMap(({ kind, file }) => (kind === "python" ? (file ?? []) : [])));
  const frames = told.map((frame): Frame => Object.assign(frame, { fileName: shortName(frame.file, names) }));
  const stacks = decodeStacks(top("nodes"), frames.length);
  const states = list(top("states"), text);
  const known = list(top("processes"), object).length;
  const processes = list(top("processes"), (row) => decodeProcess(row, known));
  const threads = list(top("threads"), (row) => decodeThread(row, processes.length));
  const accounting = object(top("accounting"));
  const meta = object(top("meta"));
  const samples = decodeSamples(top("samples"), { stacks: stacks.frame.length, threads: threads.length, states: states.length });
  const realtimeNs = orNull(meta("start_realtime_ns"), integer);
  return {
    meta: {
      ...decodeMeta(top("meta")),
      wall: ns(meta("wall_ns")),
      cpu: ns(meta("cpu_ns")),
      interval: orNull(meta("interval_ns"), ns),
      intervalMostly: orNull(meta("interval_mostly_ns"), ns),
      startRealtimeMs: realtimeNs === null ? null : Math.floor(realtimeNs / 1_000_000),
    },
    // A page of an earlier genba has no such key.
    filters: orNull(top("filters"), decodeFilters),
    accounting: {
      ticks: count(accounting("ticks")),
      sampled: count(accounting("sampled")),
      dropped: reasons(accounting("dropped")),
      refused: reasons(accounting("refused")),
    },
    clocks: {
      cpu: ns(accounting("cpu_ns")),
      cpuSampled: ns(accounting("cpu_sampled_ns")),
      cpuLost: orNull(accounting("cpu_lost_ns"), ns) ?? (0 as Ns),
      cpuNotSampled: ns(accounting("cpu_not_sampled_ns")),
      // A page of an earlier genba has no such keys.
      cpuBefore: orNull(accounting("cpu_before_ns"), ns) ?? (0 as Ns),
      cpuNotRecorded: orNull(accounting("cpu_not_recorded_ns"), ns) ?? (0 as Ns),
      cpuGenba: ns(accounting("cpu_genba_ns")),
    },
    // A page of an earlier genba has no such key.
    notFollowed: orNull(top("not_followed_words"), text),
    processes,
    threads,
    frames,
    stacks,
    states,
    samples,
    moments: orNull(top("moments"), (at) => decodeMoments(at, samples.stack.length)),
    // A page of an earlier genba has no such key.
    marks: orNull(top("marks"), (at) => list(at, (row) => decodeMark(row, processes.length))) ?? [],
    sources: list(top("sources"), (row) => decodeSource(row, names)),
    rss: list(top("rss"), (row) => decodeRss(row, processes.length)),
    warnings: list(top("warnings"), text),
  };
}

/** Null: no file. A file without a Python frame is called by the last part of its path. */
function shortName(file: string | null, names: ReadonlyMap<string, string>): string | null {
  return file === null ? null : (names.get(file) ?? fileName(file));
}

function decodeRow(at: Value, names: ReadonlyMap<string, string>): Row {
  const code = decodeCode(at);
  const callers = decodeCallers(object(at)("callers")).map((caller): Caller => ({ ...caller, fileName: shortName(caller.file, names) }));
  return { ...code, fileName: shortName(code.file, names), callers, ...decodeTotals(at) };
}

function decodeTotals(at: Value): Totals {
  const total = object(at);
  return { samples: count(total("samples")), cpu: ns(total("cpu_ns")), wall: ns(total("wall_ns")), copied: bytes(total("copied_bytes")), allocated: bytes(total("allocated_bytes")) };
}

function decodeRare(at: Value): Rare {
  const rare = object(at);
  return { calls: whole(rare("calls")), share: share(rare("share")), totals: decodeTotals(at) };
}

function decodeStacks(at: Value, frames: number): Stacks {
  const nodes = object(at);
  const frame = indices<FrameIndex>(nodes("frame"), frames);
  // A parent stands before its children: its index is below the child's own.
  return { parent: indicesOrNull<StackIndex>(nodes("parent"), (child) => child, frame.length), frame };
}

function decodeSamples(at: Value, rows: { stacks: number; threads: number; states: number }): Samples {
  const columns = object(at);
  const stack = indicesOrNull<StackIndex>(columns("node"), () => rows.stacks);
  const of = <T extends number>(name: string, limit = Infinity): T[] => indices(columns(name), limit, stack.length);
  const counted = (name: string): Bytes[] => orNull(columns(name), () => of<Bytes>(name)) ?? [];
  return {
    stack,
    thread: of("thread", rows.threads),
    state: of("state", rows.states),
    samples: of("samples"),
    cpu: of("cpu_ns"),
    wall: of("wall_ns"),
    copied: counted("copied_bytes"),
    allocated: counted("allocated_bytes"),
  };
}

function decodeMoments(at: Value, samples: number): Moments {
  const columns = object(at);
  const row = indices(columns("row"), samples);
  const of = <T extends number>(name: string): T[] => wholes(columns(name), row.length);
  let bin = 0;
  const moments = {
    binLength: ns(columns("bin_ns")),
    bin: of("bins_later").map((later) => (bin += later)),
    row,
    samples: of<Count>("samples"),
    cpu: of<Ns>("cpu_ns"),
    wall: of<Ns>("wall_ns"),
  };
  if (bin >= BINS_MAX) throw damaged({ ...columns("bins_later"), value: bin }, `at most ${BINS_MAX} bins`);
  if (moments.binLength === 0) throw damaged(columns("bin_ns"), "a length");
  return moments;
}

function decodeMark(at: Value, processes: number): Mark {
  const mark = object(at);
  return { process: index(mark("process"), processes) as ProcessIndex, at: ns(mark("at_ns")), kind: text(mark("kind")), text: orNull(mark("text"), text) };
}

function decodeProcess(at: Value, processes: number): Process {
  const process = object(at);
  return { ...decodeProgram(at), parent: orNull(process("parent"), (parent) => index(parent, processes) as ProcessIndex), cpu: ns(process("cpu_ns")) };
}

function decodeThread(at: Value, processes: number): Thread {
  const thread = object(at);
  const name = orNull(thread("name"), text) ?? "";
  const kernelName = orNull(thread("kernel_name"), text);
  const before = list(thread("former_names"), text);
  return { process: index(thread("process"), processes) as ProcessIndex, tid: orNull(thread("tid"), whole), name, kernelName, formerNames: before };
}

function decodeSource(at: Value, names: ReadonlyMap<string, string>): Source {
  const source = object(at);
  const path = text(source("path"));
  return {
    path,
    fileName: names.get(path) ?? fileName(path),
    chunks: list(source("chunks"), (row) => {
      const chunk = object(row);
      return { firstLine: whole(chunk("first_line")), lines: text(chunk("text")).split(/\r\n|\r|\n/) };
    }),
  };
}

function decodePiece(at: Value): VerdictPiece {
  const piece = object(at);
  const file = orNull(piece("file"), text);
  return {
    text: text(piece("text")),
    place: file === null ? null : { file, line: orNull(piece("line"), whole), function: text(piece("function")) },
  };
}

function reasons(at: Value): Reason[] {
  return counts(at).map(([name, ticks]) => ({ name, ticks: ticks as Count }));
}

function ns(at: Value): Ns {
  return whole(at) as Ns;
}

function count(at: Value): Count {
  return whole(at) as Count;
}
