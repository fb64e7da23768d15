// Recordings made by hand, as docs/json.md and the report's JSON describe them: stacks in words, with what they weigh.
// A stack is a list of frames, root first; a frame is `{ name, … }` with the fields of docs/json.md that matter.

const MS = 1_000_000;
const blank = {
  kind: "python", owner: "user", file: null, first_line: null, line: null, end_line: null, column: null, end_column: null,
  byte_column: null, byte_end_column: null, expression: null, module: null, origin: null,
};

/** `stacks`: [frames, { samples, state?, cpu_ns?, wall_ns?, thread? }]. Gives the two documents that lie in a page. */
export function recording({ title, stacks, sources = [], rows = [], verdict = null, refused = {}, warnings = [], processes = 1, parents = [], missed_ns = 0, rss = [] }) {
  const frames = [];
  const frameRows = new Map();
  const nodes = { parent: [], frame: [] };
  const nodeRows = new Map();
  const states = ["running"];
  const samples = { node: [], thread: [], state: [], samples: [], ticks: [], cpu_ns: [], wall_ns: [] };
  for (const [stack, seen] of stacks) {
    let parent = null;
    for (const frame of stack) {
      const row = rowOf(frameRows, JSON.stringify(frame), () => frames.push({ ...blank, ...frame }) - 1);
      const above = parent;
      parent = rowOf(nodeRows, `${above} ${row}`, () => (nodes.parent.push(above), nodes.frame.push(row) - 1));
    }
    const state = seen.state ?? "running";
    const running = state === "running" || state === "in gc";
    if (!states.includes(state)) states.push(state);
    samples.node.push(parent);
    samples.thread.push(seen.thread ?? 0);
    samples.state.push(states.indexOf(state));
    samples.samples.push(seen.samples);
    samples.ticks.push(seen.samples);
    samples.cpu_ns.push(seen.cpu_ns ?? (running ? seen.samples * MS : 0));
    samples.wall_ns.push(seen.wall_ns ?? seen.samples * MS);
  }
  const sum = (column) => column.reduce((total, at) => total + at, 0);
  const sampled = sum(samples.ticks);
  const lost = sum(Object.values(refused));
  const cpuSampled = sum(samples.cpu_ns);
  const genba = 2 * MS;
  const accounting = { ticks: sampled + lost, sampled, dropped: {}, refused };
  const clocks = { cpu_ns: cpuSampled + missed_ns + genba, cpu_sampled_ns: cpuSampled, cpu_not_sampled_ns: missed_ns, cpu_genba_ns: genba };
  const profile = {
    format: "genba-profile",
    version: 1,
    meta: {
      title, recording: "made.genba", genba_version: "0.1.0", argv: title.split(" "), exit_code: 0, exit_signal: null,
      wall_ns: sum(samples.wall_ns), cpu_ns: clocks.cpu_ns, interval_ns: MS, start_realtime_ns: 1_795_183_320_000_000_000,
      native: true, tags: [], default_weight: cpuSampled > 0 ? "cpu" : "wall", default_weight_why: cpuSampled > 0 ? null : "the program waited 100 % of its wall time",
      rss_max_bytes: null, rss_mean_bytes: null,
    },
    accounting: { ...accounting, ...clocks, wall_not_sampled_ns: 0 },
    processes: Array.from({ length: processes }, (_, at) => ({
      pid: 4127 + at, parent: parents[at] ?? null, python: "3.15.2", executable: "/usr/bin/python3.15", argv: title.split(" "), cwd: "/home/me",
      refused: null, imported: null, ended: "exit", threads: 1, ...clocks, accounting,
    })),
    threads: Array.from({ length: processes }, (_, at) => ({ process: at, tid: 4127 + at, name: "python3.15", kernel_name: null, former_names: [], start_ns: 0, ended: false })),
    frames, nodes, states, samples,
    sources: sources.map(([path, text]) => ({ path, lines: text.split("\n").length, sha256: "", chunks: [{ first_line: 1, text }] })),
    rss, marks: [], warnings,
  };
  const report = (weight) => {
    const key = weight === "samples" ? "samples" : `${weight}_ns`;
    const whole = sum(samples[key].map((value, at) => (weight === "samples" && samples.cpu_ns[at] === 0 ? 0 : value)));
    const shown = rows.filter((row) => row[key] > 0).sort((a, b) => b[key] - a[key]);
    return { version: 1, weight, verdict, rows: shown.map((row) => ({ ...row, share: row[key] / whole })), folded: { rows: 0, share: 0 } };
  };
  return { profile, reports: { cpu: report("cpu"), wall: report("wall"), samples: report("samples") } };
}

function rowOf(rows, key, make) {
  if (!rows.has(key)) rows.set(key, make());
  return rows.get(key);
}

const file = "/home/me/slices.py";
export const python = (name, first_line, line, column, end_column, expression) => ({ kind: "python", owner: "user", name, file, first_line, line, end_line: line, column, end_column, expression });
const c = (name, owner, origin) => ({ kind: "c", owner, name, module: owner === "libc" ? "/usr/lib/x86_64-linux-gnu/libc.so.6" : "/usr/bin/python3.15", origin });
const inferred = (name) => ({ ...c(name, "interpreter", "method table"), kind: "inferred" });

/** The program of the README: one slice that copies too much, its cure, some waiting, a collection, a recursion. */
export function slices() {
  const source = [
    "import time", "", "", "def before(b):", "    n = 0", "    for i in range(len(b)):", "        n += len(b[i:][:2])", "    return n", "", "",
    "def after(b):", "    n = 0", "    for i in range(len(b)):", "        n += len(b[i:i + 2])  # 表 </script>", "    return n", "", "",
    "def fib(n):", "    return n if n < 2 else fib(n - 1) + fib(n - 2)", "", "",
    "def main():", "    b = bytes(200_000)", "    before(b)", "    after(b)", "    fib(20)", "    time.sleep(0.1)", "", "", "main()", "",
  ].join("\n");
  const top = python("<module>", 1, 30, 0, 6, "main()");
  const main = (line, expression) => python("main", 22, line, 4, 4 + expression.length, expression);
  const slice = python("before", 4, 7, 17, 22, "b[i:]");
  const whole = python("before", 4, 7, 13, 27, "len(b[i:][:2])");
  const good = python("after", 11, 14, 17, 27, "b[i:i + 2]");
  const fib = python("fib", 18, 19, 27, 37, "fib(n - 1)");
  const base = python("fib", 18, 19, 11, 12, "n");
  const copy = [inferred("PyObject_GetItem"), inferred("bytes.__getitem__"), c("PyBytes_FromStringAndSize", "interpreter", "symbol table")];
  const stacks = [
    [[top, main(24, "before(b)"), slice, ...copy, c("memmove", "libc", "IFUNC")], { samples: 1700 }],
    [[top, main(24, "before(b)"), slice, ...copy, c("malloc", "libc", "symbol table")], { samples: 12 }],
    [[top, main(24, "before(b)"), slice, ...copy.slice(0, 2)], { samples: 4 }],
    [[top, main(24, "before(b)"), whole], { samples: 20 }],
    [[top, main(25, "after(b)"), good, ...copy, c("memmove", "libc", "IFUNC")], { samples: 60 }],
    [[top, main(25, "after(b)"), good], { samples: 44 }],
    [[top, main(26, "fib(20)"), fib, fib, fib, base], { samples: 40 }],
    [[top, main(26, "fib(20)"), fib, base], { samples: 20 }],
    [[top, main(26, "fib(20)"), base], { samples: 6, state: "in gc" }],
    [[top, main(27, "time.sleep(0.1)"), c("time.sleep", "interpreter", "method table")], { samples: 100, state: "in clock_nanosleep(2)" }],
  ];
  const row = (at, samples, chain) => ({
    file, line: at.line, end_line: at.end_line, function: at.name, expression: at.expression, column: at.column, end_column: at.end_column,
    byte_column: null, byte_end_column: null, chain_share: chain.length > 0 ? 0.9 : null, split: [], callers: [], phase: null, samples, cpu_ns: samples * MS, wall_ns: samples * MS, chain,
  });
  const rows = [
    row(slice, 1716, ["bytes.__getitem__", "PyBytes_FromStringAndSize", "memmove"]),
    row(good, 104, ["bytes.__getitem__", "PyBytes_FromStringAndSize", "memmove"]),
    row(base, 66, []),
    row(whole, 20, []),
    { ...row(main(27, "time.sleep(0.1)"), 0, ["time.sleep"]), wall_ns: 100 * MS },
  ];
  const at = (line, name) => ({ text: `slices.py:${line} ${name}`, file, line, function: name });
  const lines = [[{ text: "90.0 % of 1.91 s CPU is " }, at(7, "before")], [{ text: "and 5.5 % is " }, at(14, "after")]];
  const verdict = { name: "one place", lines };
  return recording({ title: "python3.15 slices.py", stacks, rows, verdict, sources: [[file, source]], refused: { moved: 2 }, missed_ns: 4 * MS });
}

/** A script with the frames of the interpreter that start it. */
export function fromTheStart() {
  const above = [c("_start", "interpreter", "symbol table"), c("__libc_start_main", "libc", "symbol table"), c("Py_RunMain", "interpreter", "symbol table")];
  return recording({ title: "python3.15 slices.py", stacks: [[[...above, python("<module>", 1, 30, 0, 6, "main()")], { samples: 50 }]] });
}

/** `boxes` boxes or a few more, from a seed: wide, deep, and with thousands of narrow ones. */
export function large(boxes) {
  let seed = 42;
  const random = (below) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const owners = ["user", "library", "stdlib", "interpreter", "extension", "libc"];
  const known = Array.from({ length: 4000 }, (_, at) => {
    const owner = owners[at % owners.length];
    const isPython = at % owners.length < 3;
    return isPython
      ? { kind: "python", owner, name: `function_${at}`, file: `/home/me/module_${at % 97}.py`, first_line: at, line: at + 1, end_line: at + 1, column: 4, end_column: 9, expression: `f(${at})` }
      : { kind: "c", owner, name: `c_function_${at}`, module: "/usr/lib/libc.so.6", origin: "symbol table" };
  });
  const stacks = [];
  let made = 0;
  while (made < boxes) {
    const shared = stacks.length === 0 ? [] : stacks[random(stacks.length)][0];
    const stack = shared.slice(0, random(shared.length + 1));
    const grown = 1 + random(24);
    for (let at = 0; at < grown; at += 1) stack.push(known[random(known.length)]);
    made += grown;
    stacks.push([stack, { samples: 1 + random(30) }]);
  }
  return recording({ title: "python3.15 large.py", stacks });
}

/** One function called from two places with different arguments, in two threads. */
export function twoCallers() {
  const at = (name, first_line, line, expression) => ({ ...python(name, first_line, line, 4, 4 + expression.length, expression), file: "/home/me/two.py" });
  const sum12 = (line, expression) => at("sum12", 9, line, expression);
  const stacks = [
    [[at("foo", 1, 2, "sum12(1)"), sum12(10, "sum1()"), at("sum1", 20, 21, "n + 1")], { samples: 10 }],
    [[at("foo", 1, 2, "sum12(1)"), sum12(11, "sum2()"), at("sum2", 30, 31, "n + 2")], { samples: 100 }],
    [[at("bar", 5, 6, "sum12(9)"), sum12(10, "sum1()"), at("sum1", 20, 21, "n + 1")], { samples: 60, thread: 1 }],
    [[at("bar", 5, 6, "sum12(9)"), sum12(11, "sum2()"), at("sum2", 30, 31, "n + 2")], { samples: 30, thread: 1 }],
  ];
  const made = recording({ title: "python3.15 two.py", stacks });
  made.profile.threads.push({ ...made.profile.threads[0], tid: 4128, name: "worker" });
  made.profile.processes[0].threads = 2;
  return made;
}

/** Of `firstFooThenBar`. */
export const BIN_NS = 10_000_000;

/** foo in bins 0 to 9, bar in bins 10 to 19: each row of samples in one bin. */
export function firstFooThenBar() {
  const made = twoCallers();
  const { nodes, frames, samples } = made.profile;
  const root = (node) => (nodes.parent[node] === null ? frames[nodes.frame[node]].name : root(nodes.parent[node]));
  const rows = samples.node.map((node, row) => ({ row, bin: (root(node) === "foo" ? 0 : 10) + (row === samples.node.length - 1 ? 9 : row % 9) })).sort((a, b) => a.bin - b.bin || a.row - b.row);
  const column = (values) => rows.map(({ row }) => values[row]);
  made.profile.moments = {
    bin_ns: BIN_NS,
    bins_later: rows.map(({ bin }, place) => bin - (rows[place - 1]?.bin ?? 0)),
    row: rows.map(({ row }) => row),
    samples: column(samples.samples), cpu_ns: column(samples.cpu_ns), wall_ns: column(samples.wall_ns),
  };
  made.profile.marks = [{ process: 0, at_ns: 5 * BIN_NS, kind: "fork", text: null, value: null }];
  return made;
}

/** Beside `firstFooThenBar`: two short ones while foo ran, a long one while bar did. */
export function threeCollections() {
  const rows = {
    process: [0, 0, 0],
    at_ns: [20, 60, 150].map((ms) => ms * MS),
    pause_ns: [0.5, 1, 30].map((ms) => ms * MS),
    generation: [0, 1, 2],
    reason: ["threshold", "threshold", "explicit"],
    examined: [700, 700, 90_000],
    collected: [0, 0, 12],
    uncollectable: [0, 0, 0],
    place: [0, 0, 1],
  };
  return { rows, places: ["two.py:2 foo", "two.py:6 bar"], left_out: 0, before: 0, lost: 0, incremental: false, wall_ns: 200 * MS, advice: ["with gc.set_threshold(5000) about one in 10 of the 2 collections may run"] };
}

/** A parent that keeps its memory, and beside it a child that fills and frees four times as much. */
export function twoProcesses() {
  const stacks = ["serve", "load"].map((name, thread) => [[python(name, 1, 2, 4, 8, "work")], { samples: 100, thread }]);
  const points = [[0, [[10, 50], [100, 60], [190, 60]]], [1, [[20, 20], [100, 240], [190, 40]]]];
  const rss = points.flatMap(([process, sizes]) => sizes.map(([at, size]) => ({ process, at_ns: at * MS, bytes: size * 1_000_000 })));
  return recording({ title: "python3.15 app.py", stacks, processes: 2, parents: [null, 0], rss });
}

/** Heaps of a program that leaks: three of the first process, in the shape of the page's `heaps`. */
export function threeHeaps() {
  const heap = (number, at_ms, objects, bytes, classes) => ({
    process: 0, at_ns: at_ms * MS, moment: "interval", collected: false, objects, bytes, pause_ns: 2 * MS, unlisted_bytes_max: 500, file: `two.heap-${number}.json`,
    class: classes.map(([name]) => name), class_objects: classes.map(([, count]) => count), class_bytes: classes.map(([, , size]) => size),
  });
  return {
    classes: ["two.Leak", "list", "str"],
    rows: [
      heap(1, 50, 1_100, 100_000, [[0, 10, 1_000], [1, 90, 9_000], [2, 900, 80_000]]),
      heap(2, 100, 2_100, 200_000, [[0, 1_010, 101_000], [1, 90, 9_000], [2, 900, 80_000]]),
      heap(3, 190, 3_090, 298_000, [[0, 2_010, 201_000], [1, 80, 7_000], [2, 900, 80_000]]),
    ],
    left_out: 0,
  };
}
