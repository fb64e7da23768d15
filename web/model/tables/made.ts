// Recordings written as text, for tests: `main;load;+memmove x3 | main;load x1 in poll(2)`. A stack is its frames, root
// first; `x3` its samples, each 1 ms; words behind that are its state.
//   name            a function of the user's own        name:7[b[i:]]  … standing at an expression of line 7
//   @name           a library's                         +name          a C function of the interpreter
//   %name           one of libc                         ~name          an inferred one of the interpreter
//   !words          a mark
//   &name           one that was inlined                 +name#7         … in line 7 of its source
//   p2/name…        the stack is of the second process (any frame may say so, the first is enough)
import { decodeProfile } from "./decode";
import type { Profile } from "./profile";

const MS = 1_000_000;

interface Made {
  readonly [key: string]: unknown;
}

export function madeProfile(text: string, changes: Made = {}): Profile {
  return decodeProfile({ field: "", value: { ...madeDocument(text), ...changes } });
}

export function madeDocument(text: string): Made {
  const frames = new Rows<string>();
  const nodes = { parent: [] as (number | null)[], frame: [] as number[] };
  const nodeRows = new Rows<string>();
  const states = new Rows<string>();
  states.row("running");
  const samples = { node: [] as number[], thread: [] as number[], state: [] as number[], samples: [] as number[], cpu_ns: [] as number[], wall_ns: [] as number[] };
  let processes = 1;
  for (const stack of text.split(" | ")) {
    const parts = /^(?:p(?<process>\d+)\/)?(?<frames>.+) x(?<samples>\d+)(?: (?<state>.+))?$/.exec(stack.trim())?.groups;
    if (parts === undefined) throw new Error(`not a stack: ${stack}`);
    const process = Number(parts["process"] ?? 1) - 1;
    processes = Math.max(processes, process + 1);
    let parent: number | null = null;
    for (const name of (parts["frames"] ?? "").split(";")) {
      const frame = frames.row(name);
      const row: number = nodeRows.row(`${parent ?? "root"} ${frame}`);
      if (row === nodes.frame.length) {
        nodes.parent.push(parent);
        nodes.frame.push(frame);
      }
      parent = row;
    }
    const state = parts["state"] ?? "running";
    const time = Number(parts["samples"]) * MS;
    samples.node.push(parent ?? 0);
    samples.thread.push(process);
    samples.state.push(states.row(state));
    samples.samples.push(Number(parts["samples"]));
    samples.cpu_ns.push(state === "running" || state === "in gc" ? time : 0);
    samples.wall_ns.push(time);
  }
  const cpu = samples.cpu_ns.reduce((sum, at) => sum + at, 0);
  const ticks = samples.samples.reduce((sum, at) => sum + at, 0);
  return {
    format: "genba-profile",
    version: 1,
    meta: { title: "app.py", recording: null, genba_version: "0.1.0", wall_ns: cpu, cpu_ns: cpu, interval_ns: MS, interval_mostly_ns: MS, budget_per_mille: 20, start_realtime_ns: null, exit_code: 0, exit_signal: null, default_weight: "cpu", default_weight_why: null, rss_max_bytes: null },
    accounting: { ticks, sampled: ticks, dropped: {}, refused: {}, cpu_ns: cpu, cpu_sampled_ns: cpu, cpu_not_sampled_ns: 0, cpu_genba_ns: 0 },
    processes: Array.from({ length: processes }, (_, at) => ({ pid: 100 + at, parent: null, cpu_ns: MS, python: "3.15.2", executable: "/usr/bin/python3.15", argv: [], refused: null, imported: null, counts_calls: false, threads: 1 })),
    threads: Array.from({ length: processes }, (_, process) => ({ process, name: "main", kernel_name: null, former_names: [] })),
    frames: frames.all.map(madeFrame),
    nodes,
    states: states.all,
    samples,
    sources: [], rss: [],
    warnings: [],
  };
}

function madeFrame(text: string): Made {
  const absent = { file: null, first_line: null, line: null, end_line: null, column: null, end_column: null, byte_column: null, byte_end_column: null, expression: null, module: null, origin: null, full_name: null };
  const c: Readonly<Record<string, Made>> = {
    "+": { kind: "c", owner: "interpreter", module: "/usr/bin/python3" },
    "^": { kind: "c", owner: "interpreter", module: "/usr/bin/python3", passes_on: true },
    "%": { kind: "c", owner: "libc", module: "/usr/lib/libc.so.6" },
    "&": { kind: "inlined", owner: "interpreter", module: "/usr/bin/python3", file: "/src/listobject.c" },
    "~": { kind: "inferred", owner: "interpreter", module: "/usr/bin/python3" },
  };
  if (text.startsWith("!")) return { ...absent, kind: "mark", owner: null, name: text.slice(1) };
  const found = c[text.charAt(0)];
  if (found !== undefined) {
    const [name, line] = text.slice(1).split("#");
    return { ...absent, ...found, name, line: line === undefined ? null : Number(line) };
  }
  const parts = /^(?<library>@?)(?<name>[^:]+)(?::(?<line>\d+)(?:\[(?<expression>.*)\])?)?$/.exec(text)?.groups ?? {};
  const owner = parts["library"] === "@" ? "library" : "user";
  const line = parts["line"] === undefined ? null : Number(parts["line"]);
  const expression = parts["expression"] ?? null;
  const columns = expression === null ? {} : { column: 4, end_column: 4 + expression.length, expression };
  return { ...absent, kind: "python", owner, name: parts["name"], file: owner === "user" ? "/app.py" : "/lib.py", first_line: 1, line, end_line: line, ...columns };
}

class Rows<Key> {
  readonly all: Key[] = [];
  private readonly known = new Map<Key, number>();
  row(key: Key): number {
    const found = this.known.get(key);
    if (found !== undefined) return found;
    this.known.set(key, this.all.length);
    this.all.push(key);
    return this.all.length - 1;
  }
}
