//! What people type who know another profiler, as tables: verbs, options and values that genba does not have, and what to type instead.
//! Owns: those words. Never: fills in a command line (`of_others.rs` does).

/// Words that are no verbs of genba.
pub struct Other {
    pub words: &'static [&'static str],
    /// What genba has for them.
    pub why: &'static str,
    /// `…`: the rest of the command line.
    pub hint: &'static str,
}

/// Words that are no options of some of genba's verbs.
pub struct Instead {
    pub of: &'static [&'static str],
    pub words: &'static [&'static str],
    /// What genba has for them.
    pub why: &'static str,
    /// `…`: the rest of the command line; `VERB`: the verb.
    pub hint: &'static str,
}

/// Options that have another name here, and the same values.
pub struct Renamed {
    pub of: &'static [&'static str],
    pub words: &'static [&'static str],
    pub name: &'static str,
}

pub const STARTS_OR_ATTACHES: &str = "`run` starts a program and records it, `attach` records one that runs";
pub const ALLOCATES: &str = "`run --alloc` records what allocates, `heap` counts the objects of a process";
pub const RUN: &str = "genba run …";
pub const RUN_APP: &str = "genba run app.py";
pub const RUN_ALLOC: &str = "genba run --alloc …";
pub const RUN_ALLOC_APP: &str = "genba run --alloc app.py";
pub const TOP: &str = "genba top …";
pub const ATTACH: &str = "genba attach PID";
pub const HEAP: &str = "genba heap PID";

pub const VERBS: &[Other] = &[
    Other { words: &["record", "profile", "sample"], why: STARTS_OR_ATTACHES, hint: RUN },
    Other {
        words: &["cprofile", "cProfile"],
        why: "`trace` counts every call, as cProfile does; `run` samples",
        hint: "genba trace …",
    },
    Other {
        words: &["kernprof"],
        why: "`run` records every function, then `lines` shows what each line costs",
        hint: "genba run app.py",
    },
    Other {
        words: &["flamegraph", "flame", "svg"],
        why: "`html` writes a page with the call tree, `export` what flame graph tools read",
        hint: "genba html --open …",
    },
    Other {
        words: &["stats", "summary", "table", "parse", "info"],
        why: "`report` shows where the time went, `trace` counts each call",
        hint: "genba report …",
    },
    Other {
        words: &["source", "annotate"],
        why: "`lines` prints the source with what each line costs",
        hint: "genba lines …",
    },
    Other {
        words: &["show", "web", "ui", "gui", "open", "snakeviz"],
        why: "`report` prints where the time went, `view` shows a recording in the browser",
        hint: "genba view …",
    },
    Other {
        words: &["convert", "transform", "script"],
        why: "`export` writes other formats; without --to it lists them",
        hint: "genba export --to speedscope …",
    },
    Other {
        words: &["compare", "cmp"],
        why: "`diff` says what changed between two recordings, and whether the samples can tell",
        hint: "genba diff …",
    },
    Other {
        words: &["memory", "mem", "leak", "leaks"],
        why: "`heap` counts the objects of a process by class, `run --alloc` records what allocates",
        hint: HEAP,
    },
    Other { words: &["alloc", "allocations"], why: ALLOCATES, hint: RUN_ALLOC },
    Other { words: &["memray"], why: ALLOCATES, hint: RUN_ALLOC_APP },
    Other { words: &["live", "watch"], why: "`top` shows where the time goes while the program runs", hint: TOP },
    Other {
        words: &["threads", "stack", "stacks", "backtrace", "pstack"],
        why: "`dump` shows what every thread of a process does now",
        hint: "genba dump PID",
    },
    Other { words: &["list", "processes"], why: "`ps` lists the Python processes", hint: "genba ps" },
    Other {
        words: &["stop", "detach"],
        why: "Ctrl-C ends what `attach` and `top` record, and the process goes on; so does a time limit",
        hint: "genba attach --duration 30s PID",
    },
    Other {
        words: &["stat", "time", "hyperfine"],
        why: "`bench` measures how long commands take, each in quotes",
        hint: "genba bench 'python app.py'",
    },
    Other { words: &["timeit"], why: "`bench --py` measures statements of Python", hint: "genba bench --py …" },
    Other { words: &["config", "settings"], why: "each verb tells its settings", hint: "genba run --show-config" },
    Other { words: &["upload"], why: "`push` sends a recording to a server of genba's", hint: "genba push …" },
    Other {
        words: &["speedscope"],
        why: "`export` writes what speedscope reads",
        hint: "genba export --to speedscope …",
    },
    Other { words: &["perf"], why: STARTS_OR_ATTACHES, hint: RUN_APP },
    Other { words: &["version"], why: "it is an option", hint: "genba --version" },
];

pub const RECORDS: &[&str] = &["run", "attach"];
pub const OF_A_PROCESS: &[&str] = &["attach", "top", "dump", "heap", "doctor"];
pub const READS: &[&str] = &["report", "tree", "lines", "diff"];
pub const LOOKS: &[&str] = &["ps", "dump", "heap", "gc"];

pub const VERB: &str = "genba VERB …";
pub const PRINTED: &str = "it is printed; `html` writes a page, `export` other formats";
pub const MADE_FROM_IT: &str =
    "genba html --open makes the page of the newest recording here, genba export --to FORMAT app.genba another format";

pub const OPTIONS: &[Instead] = &[
    Instead {
        of: &["run"],
        words: &["--pid", "-p"],
        why: "`run` starts a program; `attach` records one that runs",
        hint: ATTACH,
    },
    Instead { of: OF_A_PROCESS, words: &["--pid", "-p"], why: "the process is named without an option", hint: VERB },
    Instead {
        of: RECORDS,
        words: &["--subprocesses", "--follow-fork"],
        why: "child processes are recorded anyway; --no-children leaves them out",
        hint: VERB,
    },
    Instead { of: RECORDS, words: &["-n"], why: "C is recorded anyway; --no-native leaves it out", hint: VERB },
    Instead {
        of: RECORDS,
        words: &["-i", "--idle", "-g", "--gil"],
        why: "CPU and waiting are both recorded; `report --weight wall` shows the waits",
        hint: VERB,
    },
    Instead {
        of: RECORDS,
        words: &["-t", "--threads"],
        why: "threads are recorded anyway; `report` has a row for each",
        hint: "genba report --by thread",
    },
    Instead {
        of: RECORDS,
        words: &["--limit"],
        why: "that is asked of the recording, by `report` or `lines`",
        hint: "genba report --limit 3",
    },
    Instead {
        of: RECORDS,
        words: &["--function"],
        why: "that is asked of the recording, by `lines`",
        hint: "genba lines --function REGEX",
    },
    Instead {
        of: RECORDS,
        words: &["--lines", "--line"],
        why: "that is asked of the recording, by `report` or `lines`",
        hint: "genba report --by line",
    },
    Instead {
        of: RECORDS,
        // py-spy's -F; perf's has a number.
        words: &["--by", "-F"],
        why: "that is asked of the recording, by `report` or `lines`",
        hint: "genba report --by function",
    },
    Instead {
        of: RECORDS,
        words: &["-s"],
        why: "`trace` takes cProfile's -s; child processes, as py-spy's -s has them, are recorded anyway",
        hint: "genba trace -s time app.py",
    },
    Instead { of: RECORDS, words: &["--cpu", "--cpu-only"], why: "CPU is always recorded", hint: VERB },
    Instead {
        of: RECORDS,
        words: &["--gpu"],
        why: "genba does not see what runs on a GPU, only who waits for it",
        hint: VERB,
    },
    Instead {
        of: RECORDS,
        words: &["--memory", "--trace-python-allocators"],
        why: "--alloc counts the bytes that are asked for, --mem records the resident size",
        hint: "genba run --alloc app.py",
    },
    Instead {
        of: RECORDS,
        words: &["--live"],
        why: "`top` shows where the time goes while the program runs",
        hint: "genba top …",
    },
    Instead {
        of: RECORDS,
        words: &["--format", "-f", "--html", "--json", "--flamegraph", "--cli"],
        why: "a recording is written, and pages and other formats are made from it",
        hint: MADE_FROM_IT,
    },
    Instead {
        of: RECORDS,
        words: &["--profile-all", "--reduced-profile"],
        why: "all is recorded; `report` folds small rows, `tree` shows whole call paths",
        hint: "genba tree",
    },
    Instead {
        of: RECORDS,
        words: &["-v", "--verbose"],
        why: "genba has no more to say; `--show-config` prints what it was asked",
        hint: VERB,
    },
    Instead {
        of: &["run"],
        words: &["--env"],
        why: "the program gets the environment that genba has",
        hint: "VARIABLE=value genba run app.py",
    },
    Instead {
        of: &["run"],
        words: &["--web-auth"],
        why: "every user of the machine could read a token on the command line",
        hint: "put it into GENBA_TOKEN, or into a file that --token-file names",
    },
    Instead {
        of: &["html"],
        words: &["--force"],
        why: "an earlier page is replaced where -o names it, any other file never",
        hint: "genba html -o app.html app.genba",
    },
    Instead {
        of: &["report", "tree"],
        words: &["--lines", "--line"],
        why: "`lines` prints the source with what each line costs",
        hint: "genba lines …",
    },
    Instead { of: READS, words: &["--html"], why: "`html` writes a page", hint: "genba html --open …" },
    Instead {
        of: &["report", "tree", "lines"],
        words: &["-o", "--output"],
        why: PRINTED,
        hint: "genba VERB FILE > report.txt",
    },
    Instead { of: &["diff"], words: &["-o", "--output"], why: PRINTED, hint: "genba diff BEFORE AFTER > report.txt" },
    Instead { of: READS, words: &["-g", "--call-graph"], why: "`tree` shows whole call paths", hint: "genba tree …" },
    Instead { of: READS, words: &["--stdio"], why: "it is printed anyway", hint: VERB },
    Instead {
        of: &["serve"],
        words: &["--port", "--host", "--bind"],
        why: "--listen takes the address and the port",
        hint: "genba serve --listen 127.0.0.1:8970",
    },
];

pub const NAMES: &[Renamed] = &[
    Renamed { of: RECORDS, words: &["-d", "--seconds", "--time", "--timeout", "--exposure"], name: "--duration" },
    Renamed { of: RECORDS, words: &["-F", "--freq", "--frequency", "--hz", "--sampling-rate"], name: "--rate" },
    Renamed { of: RECORDS, words: &["--outfile"], name: "--output" },
    Renamed { of: READS, words: &["-n", "--top", "--max-rows"], name: "--limit" },
    Renamed { of: READS, words: &["--pid"], name: "--process" },
    Renamed { of: &["report"], words: &["--group", "--group-by"], name: "--by" },
    Renamed { of: &["report", "tree", "lines"], words: &["-s"], name: "--sort" },
    Renamed { of: READS, words: &["-f", "--to"], name: "--format" },
    Renamed { of: &["tree"], words: &["--depth"], name: "--max-depth" },
    Renamed { of: READS, words: &["--json", "-j"], name: "--format json" },
    Renamed { of: LOOKS, words: &["--json", "-j"], name: "--format json" },
    Renamed { of: &["export"], words: &["-f", "--format", "-t", "--type"], name: "--to" },
    Renamed { of: &["dump"], words: &["-l"], name: "--locals" },
    Renamed { of: &["dump"], words: &["-n"], name: "--native" },
    Renamed { of: &["dump"], words: &["-s", "--subprocesses"], name: "--children" },
    Renamed { of: &["view"], words: &["-p"], name: "--port" },
];

/// An option, values that it does not have, and the nearest that there is.
pub const VALUES: &[(&str, &[&str], &str)] = &[
    (
        "--to",
        &["flamegraph", "flame", "svg", "html"],
        "genba html --open writes a page with the call tree; flame graph tools read --to collapsed",
    ),
    (
        "--to",
        &["pprof", "chrome", "perfetto", "firefox", "gecko"],
        "genba does not write that; --to speedscope and --to collapsed are what most viewers read",
    ),
    (
        "--format",
        &["html", "svg", "flamegraph"],
        "genba html --open writes the page of a recording, with the call tree",
    ),
    ("--format", &["csv", "tsv"], "--format json is for programs"),
    ("--format", &["speedscope"], "genba export --to speedscope writes it"),
    ("--format", &["collapsed", "folded", "raw"], "genba export --to collapsed writes it"),
    ("--sort", &["cumulative", "cumtime", "cum"], "--sort total is what cProfile calls cumulative"),
    ("--sort", &["time", "tottime", "cpu"], "--sort self is what cProfile calls tottime"),
    (
        "--weight",
        &["copied", "allocated"],
        "bytes are of one recording: genba report --weight copied FILE, or allocated, and its page has a switch for them",
    ),
    ("--by", &["file", "files"], "--by module; genba lines shows the source of a file"),
];
