// From the JSON in the page, `{ profile, reports: { cpu, wall, samples } }`, to typed tables: what `genba export --to json`
// gives (docs/json.md), and `genba report --format json` in each weight, all rows. The only
// place where plain numbers become units and indices. Keeps: what it gives is consistent, or it throws `Damaged`.
import { decodeCollections } from "./collections";
import { decodeHeaps } from "./heaps";
import type { Filters, Folded, Frame, Mark, Moments, Process, Profile, Rare, Reason, Recording, Row, Rss, Samples, Source, Stacks, Thread, Totals, Verdict, VerdictPiece } from "./profile";
import { counts, damaged, fraction, index, integer, list, object, oneOf, orNull, text, whole, yes } from "./read";
import type { Value } from "./read";
import { WEIGHTS } from "../units";
import type { Bytes, Count, FrameIndex, Ns, ProcessIndex, Share, StackIndex, StateIndex, ThreadIndex, Weight } from "../units";

const FORMAT_VERSION_MAX = 1;
/** The command makes fewer. */
const BINS_MAX = 1 << 16;
const KINDS = ["python", "c", "inferred", "inlined", "mark"] as const;
const OWNERS = ["user", "library", "stdlib", "interpreter", "extension", "libc", "native"] as const;

export function decodeRecording(value: unknown): Recording {
  const page = object({ field: "", value });
  const reports = object(page("reports"));
  const rows = (weight: Weight): Row[] => {
    const report = object(reports(weight));
    oneOf(report("weight"), [weight]);
    return list(report("rows"), decodeRow);
  };
  const folded = (weight: Weight): Folded => {
    const found = object(object(reports(weight))("folded"));
    return { rows: whole(found("rows")), share: fraction(found("share")) as Share };
  };
  const [hasCopied, hasAllocated] = [reports("copied").value !== null, reports("allocated").value !== null];
  const none: Folded = { rows: 0, share: 0 as Share };
  // The same in each of them.
  const verdict = orNull(object(reports("cpu"))("verdict"), decodeVerdict);
  const profile = decodeProfile(page("profile"));
  const collections = orNull(page("collections"), (at) => decodeCollections(at, profile.processes.length));
  const heaps = orNull(page("heaps"), (at) => decodeHeaps(at, profile.processes.length));
  return { profile, collections, heaps, rare: orNull(page("rare"), decodeRare), verdict, rows: { cpu: rows("cpu"), wall: rows("wall"), samples: rows("samples"), copied: hasCopied ? rows("copied") : [], allocated: hasAllocated ? rows("allocated") : [] }, folded: { cpu: folded("cpu"), wall: folded("wall"), samples: folded("samples"), copied: hasCopied ? folded("copied") : none, allocated: hasAllocated ? folded("allocated") : none } };
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

  const frames = list(top("frames"), decodeFrame);
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
      title: orNull(meta("title"), text),
      recording: orNull(meta("recording"), text),
      genbaVersion: text(meta("genba_version")),
      wall: ns(meta("wall_ns")),
      cpu: ns(meta("cpu_ns")),
      interval: orNull(meta("interval_ns"), ns),
      intervalMostly: orNull(meta("interval_mostly_ns"), ns),
      budgetPerMille: orNull(meta("budget_per_mille"), whole),
      startRealtimeMs: realtimeNs === null ? null : Math.floor(realtimeNs / 1_000_000),
      exitCode: orNull(meta("exit_code"), integer),
      exitSignal: orNull(meta("exit_signal"), integer),
      defaultWeight: oneOf(meta("default_weight"), WEIGHTS),
      defaultWeightWhy: orNull(meta("default_weight_why"), text),
      rssMaxBytes: orNull(meta("rss_max_bytes"), whole),
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
    sources: list(top("sources"), decodeSource),
    rss: list(top("rss"), (row) => decodeRss(row, processes.length)),
    warnings: list(top("warnings"), text),
  };
}

function decodeFilters(at: Value): Filters {
  const filters = object(at);
  return { flags: list(filters("flags"), text), kept: decodeTotals(filters("kept")), whole: decodeTotals(filters("whole")) };
}

function decodeTotals(at: Value): Totals {
  const total = object(at);
  return { samples: count(total("samples")), cpu: ns(total("cpu_ns")), wall: ns(total("wall_ns")), copied: bytes(total("copied_bytes")), allocated: bytes(total("allocated_bytes")) };
}

function decodeRare(at: Value): Rare {
  const rare = object(at);
  return { calls: whole(rare("calls")), share: fraction(rare("share")) as Share, totals: decodeTotals(at) };
}

function decodeFrame(at: Value): Frame {
  const frame = object(at);
  return {
    kind: oneOf(frame("kind"), KINDS),
    name: text(frame("name")),
    owner: orNull(frame("owner"), (owner) => oneOf(owner, OWNERS)),
    file: orNull(frame("file"), text),
    // 0: the file tells no first line (collapsed stacks).
    firstLine: orNull(frame("first_line"), whole) || null,
    line: orNull(frame("line"), whole),
    endLine: orNull(frame("end_line"), whole),
    column: orNull(frame("column"), whole),
    endColumn: orNull(frame("end_column"), whole),
    byteColumn: orNull(frame("byte_column"), whole),
    byteEndColumn: orNull(frame("byte_end_column"), whole),
    expression: orNull(frame("expression"), text),
    module: orNull(frame("module"), text),
    origin: orNull(frame("origin"), text),
    fullName: orNull(frame("full_name"), text),
  };
}

function decodeStacks(at: Value, frames: number): Stacks {
  const nodes = object(at);
  const frame = list(nodes("frame"), (row) => index(row, frames) as FrameIndex);
  let child = 0;
  // A parent stands before its children: its index is below the child's own.
  const parent = list(nodes("parent"), (row) => {
    const found = orNull(row, (value) => index(value, child) as StackIndex);
    child += 1;
    return found;
  });
  sameLength(nodes("parent"), parent, frame);
  return { parent, frame };
}

function decodeSamples(at: Value, rows: { stacks: number; threads: number; states: number }): Samples {
  const columns = object(at);
  const stack = list(columns("node"), (row) => orNull(row, (value) => index(value, rows.stacks) as StackIndex));
  const samples = {
    stack,
    thread: list(columns("thread"), (row) => index(row, rows.threads) as ThreadIndex),
    state: list(columns("state"), (row) => index(row, rows.states) as StateIndex),
    samples: list(columns("samples"), count),
    cpu: list(columns("cpu_ns"), ns),
    wall: list(columns("wall_ns"), ns),
    copied: orNull(columns("copied_bytes"), (column) => list(column, bytes)) ?? [],
    allocated: orNull(columns("allocated_bytes"), (column) => list(column, bytes)) ?? [],
  };
  if (samples.copied.length > 0) sameLength(columns("copied_bytes"), samples.copied, stack);
  if (samples.allocated.length > 0) sameLength(columns("allocated_bytes"), samples.allocated, stack);
  sameLength(columns("thread"), samples.thread, stack);
  sameLength(columns("state"), samples.state, stack);
  sameLength(columns("samples"), samples.samples, stack);
  sameLength(columns("cpu_ns"), samples.cpu, stack);
  sameLength(columns("wall_ns"), samples.wall, stack);
  return samples;
}

function decodeMoments(at: Value, samples: number): Moments {
  const columns = object(at);
  const row = list(columns("row"), (at) => index(at, samples));
  let bin = 0;
  const moments = {
    binLength: ns(columns("bin_ns")),
    bin: list(columns("bins_later"), (at) => (bin += whole(at))),
    row,
    samples: list(columns("samples"), count),
    cpu: list(columns("cpu_ns"), ns),
    wall: list(columns("wall_ns"), ns),
  };
  if (bin >= BINS_MAX) throw damaged({ field: columns("bins_later").field, value: bin }, `at most ${BINS_MAX} bins`);
  if (moments.binLength === 0) throw damaged(columns("bin_ns"), "a length");
  sameLength(columns("bins_later"), moments.bin, row);
  sameLength(columns("samples"), moments.samples, row);
  sameLength(columns("cpu_ns"), moments.cpu, row);
  sameLength(columns("wall_ns"), moments.wall, row);
  return moments;
}

function decodeMark(at: Value, processes: number): Mark {
  const mark = object(at);
  return { process: index(mark("process"), processes) as ProcessIndex, at: ns(mark("at_ns")), kind: text(mark("kind")), text: orNull(mark("text"), text) };
}

function decodeProcess(at: Value, processes: number): Process {
  const process = object(at);
  return {
    pid: orNull(process("pid"), whole),
    parent: orNull(process("parent"), (parent) => index(parent, processes) as ProcessIndex),
    cpu: ns(process("cpu_ns")),
    python: orNull(process("python"), text),
    executable: orNull(process("executable"), text),
    argv: orNull(process("argv"), (argv) => list(argv, text)) ?? [],
    refused: orNull(process("refused"), text),
    imported: orNull(process("imported"), text),
    // None on a page of an earlier genba.
    countsCalls: orNull(process("counts_calls"), yes) ?? false,
    threads: whole(process("threads")),
  };
}

function decodeThread(at: Value, processes: number): Thread {
  const thread = object(at);
  const name = orNull(thread("name"), text) ?? "";
  const kernelName = orNull(thread("kernel_name"), text);
  const before = list(thread("former_names"), text);
  return { process: index(thread("process"), processes) as ProcessIndex, tid: orNull(thread("tid"), whole), name, kernelName, formerNames: before };
}

function decodeSource(at: Value): Source {
  const source = object(at);
  return {
    path: text(source("path")),
    chunks: list(source("chunks"), (row) => {
      const chunk = object(row);
      return { firstLine: whole(chunk("first_line")), lines: text(chunk("text")).split(/\r\n|\r|\n/) };
    }),
  };
}

function decodeVerdict(at: Value): Verdict {
  const verdict = object(at);
  return { name: text(verdict("name")), lines: list(verdict("lines"), (line) => list(line, decodePiece)) };
}

function decodePiece(at: Value): VerdictPiece {
  const piece = object(at);
  const file = orNull(piece("file"), text);
  return {
    text: text(piece("text")),
    place: file === null ? null : { file, line: orNull(piece("line"), whole), function: text(piece("function")) },
  };
}

function decodeRow(at: Value): Row {
  const row = object(at);
  return {
    file: orNull(row("file"), text),
    line: orNull(row("line"), whole),
    endLine: orNull(row("end_line"), whole),
    function: orNull(row("function"), text),
    expression: orNull(row("expression"), text),
    column: orNull(row("column"), whole),
    endColumn: orNull(row("end_column"), whole),
    byteColumn: orNull(row("byte_column"), whole),
    byteEndColumn: orNull(row("byte_end_column"), whole),
    samples: count(row("samples")),
    cpu: ns(row("cpu_ns")),
    wall: ns(row("wall_ns")),
    copied: bytes(row("copied_bytes")),
    allocated: bytes(row("allocated_bytes")),
    share: fraction(row("share")) as Share,
    chain: list(row("chain"), text),
    chainShare: orNull(row("chain_share"), fraction) as Share | null,
    split: list(row("split"), (at) => {
      const step = object(at);
      return { name: text(step("name")), share: fraction(step("share")) as Share };
    }),
    phase: orNull(row("phase"), text),
    callers: list(row("callers"), (at) => {
      const caller = object(at);
      return {
        file: orNull(caller("file"), text),
        line: orNull(caller("line"), whole),
        function: text(caller("function")),
        share: fraction(caller("share")) as Share,
      };
    }),
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

function sameLength(at: Value, column: readonly unknown[], first: readonly unknown[]): void {
  if (column.length !== first.length) throw damaged({ field: at.field, value: column.length }, `a column of ${first.length} rows`);
}
