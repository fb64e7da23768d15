// The tables of a recording as the page holds them: what docs/json.md says, with units and indices typed.
// Immutable; numbers of a view stay in the view.
import type { Bytes, Count, FrameIndex, Ns, ProcessIndex, Share, StackIndex, StateIndex, ThreadIndex, Weight } from "../units";

export type FrameKind = "python" | "c" | "inferred" | "inlined" | "mark";
export type Owner = "user" | "library" | "stdlib" | "interpreter" | "extension" | "libc" | "native";

/** A place: a function, and for Python the expression that was being executed in it. */
export interface Frame {
  readonly kind: FrameKind;
  readonly name: string;
  readonly owner: Owner | null;
  readonly file: string | null;
  /** A short name, which no other file of the recording has. */
  readonly fileName: string | null;
  readonly firstLine: number | null;
  readonly line: number | null;
  readonly endLine: number | null;
  /** From 0, in characters of the source line; `endColumn` exclusive. */
  readonly column: number | null;
  readonly endColumn: number | null;
  /** The same in bytes, of an expression whose text is not known; else null. */
  readonly byteColumn: number | null;
  readonly byteEndColumn: number | null;
  readonly expression: string | null;
  readonly module: string | null;
  readonly origin: string | null;
  /** With argument types or hash, where the name leaves something out. */
  readonly fullName: string | null;
  /** The interpreter's own, and only passes a call or an import on. */
  readonly passesOn: boolean;
}

/** A parent stands before its children. */
export interface Stacks {
  readonly parent: readonly (StackIndex | null)[];
  readonly frame: readonly FrameIndex[];
}

/** One row for each (stack, thread, state) that was seen. */
export interface Samples {
  readonly stack: readonly (StackIndex | null)[];
  readonly thread: readonly ThreadIndex[];
  readonly state: readonly StateIndex[];
  readonly samples: readonly Count[];
  readonly cpu: readonly Ns[];
  readonly wall: readonly Ns[];
  /** Empty: the recording does not tell copied bytes. */
  readonly copied: readonly Bytes[];
  /** The same of allocated ones. */
  readonly allocated: readonly Bytes[];
}

/** When the samples were, in the order of time: columns of equal length. */
export interface Moments {
  readonly binLength: Ns;
  /** From 0. */
  readonly bin: readonly number[];
  /** A row of `Samples`. */
  readonly row: readonly number[];
  readonly samples: readonly Count[];
  readonly cpu: readonly Ns[];
  readonly wall: readonly Ns[];
}

/** What happened at one moment: a fork, an exec, words of the program. */
export interface Mark {
  readonly process: ProcessIndex;
  /** Since the recording began. */
  readonly at: Ns;
  readonly kind: string;
  readonly text: string | null;
}

export interface Accounting {
  readonly ticks: Count;
  readonly sampled: Count;
  readonly dropped: readonly Reason[];
  readonly refused: readonly Reason[];
}
export interface Reason {
  readonly name: string;
  readonly ticks: Count;
}

export interface Clocks {
  readonly cpu: Ns;
  readonly cpuSampled: Ns;
  /** Of the sampled: in lost blocks. */
  readonly cpuLost: Ns;
  readonly cpuNotSampled: Ns;
  /** Part of it: what had passed when genba was loaded. */
  readonly cpuBefore: Ns;
  /** Used after a process's last block. */
  readonly cpuNotRecorded: Ns;
  readonly cpuGenba: Ns;
}

export interface Process {
  readonly pid: number | null;
  /** None: what started it was not recorded. */
  readonly parent: ProcessIndex | null;
  readonly cpu: Ns;
  readonly python: string | null;
  /** Path of the interpreter. */
  readonly executable: string | null;
  readonly argv: readonly string[];
  readonly refused: string | null;
  /** From which other profiler's file: clocks that the file does not tell are 0. */
  readonly imported: string | null;
  /** A sample is a call, and a stack is a function below its caller: what led to the caller is not told. */
  readonly countsCalls: boolean;
  readonly threads: number;
}

export interface Thread {
  readonly process: ProcessIndex;
  readonly tid: number | null;
  /** What `threading` called it last; else the kernel's name. */
  readonly name: string;
  /** Where it tells more. */
  readonly kernelName: string | null;
  readonly formerNames: readonly string[];
}

export interface Source {
  readonly path: string;
  readonly fileName: string;
  readonly chunks: readonly { readonly firstLine: number; readonly lines: readonly string[] }[];
}

export interface Rss {
  readonly process: ProcessIndex;
  /** Since the recording began. */
  readonly at: Ns;
  readonly bytes: number;
}

export interface Meta {
  readonly title: string | null;
  readonly recording: string | null;
  readonly genbaVersion: string;
  readonly wall: Ns;
  readonly cpu: Ns;
  readonly interval: Ns | null;
  /** For most of the time; another than `interval` where a budget slowed genba down. */
  readonly intervalMostly: Ns | null;
  readonly budgetPerMille: number | null;
  readonly startRealtimeMs: number | null;
  readonly exitCode: number | null;
  readonly exitSignal: number | null;
  readonly defaultWeight: Weight;
  readonly defaultWeightWhy: string | null;
  readonly rssMaxBytes: number | null;
}

/** What a filter kept of all that was recorded. */
export interface Filters {
  /** As on the command line. */
  readonly flags: readonly string[];
  readonly kept: Totals;
  readonly whole: Totals;
}
export interface Totals {
  readonly samples: Count;
  readonly cpu: Ns;
  readonly wall: Ns;
  readonly copied: Bytes;
  readonly allocated: Bytes;
}

export interface Profile {
  readonly meta: Meta;
  /** Null: this is all that was recorded. */
  readonly filters: Filters | null;
  readonly accounting: Accounting;
  readonly clocks: Clocks;
  /** Programs of the run that are not in the recording, in words. */
  readonly notFollowed: string | null;
  readonly processes: readonly Process[];
  readonly threads: readonly Thread[];
  readonly frames: readonly Frame[];
  readonly stacks: Stacks;
  readonly states: readonly string[];
  readonly samples: Samples;
  /** Null: of several recordings, of samples without times, or a page of an earlier genba. */
  readonly moments: Moments | null;
  readonly marks: readonly Mark[];
  readonly sources: readonly Source[];
  /** Resident memory, in no order; empty without `--mem`. */
  readonly rss: readonly Rss[];
  readonly warnings: readonly string[];
}

/** A row of the report: an expression of the user's own code and what was below it. */
export interface Row {
  readonly file: string | null;
  readonly fileName: string | null;
  readonly line: number | null;
  readonly endLine: number | null;
  /** Null: no Python was on the stack. */
  readonly function: string | null;
  readonly expression: string | null;
  readonly column: number | null;
  readonly endColumn: number | null;
  readonly byteColumn: number | null;
  readonly byteEndColumn: number | null;
  readonly samples: Count;
  readonly cpu: Ns;
  readonly wall: Ns;
  readonly copied: Bytes;
  readonly allocated: Bytes;
  /** Of the weight that the report was asked for. */
  readonly share: Share;
  readonly chain: readonly string[];
  /** Of the row's own weight, what took the whole chain; null: there is none. */
  readonly chainShare: Share | null;
  /** Where the chain goes on, the largest first. */
  readonly split: readonly { readonly name: string; readonly share: Share }[];
  /** The interpreter's own work, in words. Null: the row is code. */
  readonly phase: string | null;
  /** For code with several callers: the nearest callers in your code, the largest first, with their parts of the row's self weight. */
  readonly callers: readonly Caller[];
}

export interface Caller {
  readonly file: string | null;
  readonly fileName: string | null;
  readonly line: number | null;
  readonly function: string;
  readonly share: Share;
}

/** Why the program is slow, in words. */
export interface Verdict {
  readonly name: string;
  /** First the line that follows the name, then the details. */
  readonly lines: readonly (readonly VerdictPiece[])[];
}

export interface VerdictPiece {
  readonly text: string;
  readonly place: SourcePlace | null;
}

/** `line` null: the function. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number | null;
  readonly function: string;
}

/** Calls that a page has no room for: each is part of a mark below its caller. */
export interface Rare {
  readonly calls: number;
  /** Of all; each of them is below it. */
  readonly share: Share;
  /** Together. */
  readonly totals: Totals;
}

export interface Folded {
  readonly rows: number;
  readonly share: Share;
}

/** What a page holds. */
/** One run of the cycle collector: the program waits for its end. */
export interface Collection {
  readonly process: ProcessIndex;
  /** Since the recording began. */
  readonly at: Ns;
  readonly pause: Ns;
  readonly generation: number;
  readonly reason: string;
  /** Null: this CPython does not tell. */
  readonly examined: Count | null;
  readonly collected: Count;
  readonly uncollectable: Count;
  /** Row of `Collections.places`. */
  readonly place: number;
}

export interface Collections {
  readonly rows: readonly Collection[];
  /** Where they ran: the line that runs is seldom the one that fills a generation. */
  readonly places: readonly string[];
  /** With shorter pauses than all rows, where a page has no room for all. */
  readonly leftOut: Count;
  /** Ran before they were recorded. */
  readonly before: Count;
  /** There was no room for them while recording. */
  readonly lost: Count;
  readonly isIncremental: boolean;
  /** Of the processes whose collections were recorded. */
  readonly wall: Ns;
  readonly advice: readonly string[];
}

/** What the heap of a process held at one moment, by class. */
export interface Heap {
  /** Null: it is not in this recording. */
  readonly process: ProcessIndex | null;
  /** Since the recording began. */
  readonly at: Ns;
  /** Why then: `interval`, `signal`, `rss`, `before_gc`, `after_gc`, `exit`. */
  readonly moment: string;
  /** A full collection ran just before. */
  readonly isCollected: boolean;
  /** Of all classes, also those that have no row. */
  readonly objects: Count;
  readonly bytes: Bytes;
  readonly pause: Ns;
  /** Name of the file that has all classes. */
  readonly file: string;
  /** A class that is not in `classes` had at most so much; 0: it had nothing. */
  readonly unlistedMax: Bytes;
  /** By row of `Heaps.classes`. */
  readonly classes: ReadonlyMap<number, { readonly objects: Count; readonly bytes: Bytes }>;
}

export interface Heaps {
  /** Names with their modules. */
  readonly classes: readonly string[];
  /** In the order of time. */
  readonly rows: readonly Heap[];
  /** Heaps for which a page has no room. */
  readonly leftOut: number;
}

export interface Recording {
  readonly profile: Profile;
  /** Null: every call is there. */
  readonly rare: Rare | null;
  /** Null: the page is of an earlier genba. */
  readonly verdict: Verdict | null;
  /** Null: the recording was made without `--gc`, or the page is of an earlier genba. */
  readonly collections: Collections | null;
  /** Null: no heap was walked while it was recorded, or the page is of an earlier genba. */
  readonly heaps: Heaps | null;
  /** Of the report in that weight. */
  readonly rows: (weight: Weight) => readonly Row[];
  /** Rows that a page has no room for. */
  readonly folded: Readonly<Record<Weight, Folded>>;
}
