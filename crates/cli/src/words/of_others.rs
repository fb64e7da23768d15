//! What people type who know another profiler, or expect one verb to do the work of another.
//! Owns: those words, and what to type instead. Never: decides that a command line is wrong; clap does.

/// Words that are no verbs of genba.
struct Other {
    words: &'static [&'static str],
    /// What genba has for them.
    why: &'static str,
    /// `…`: the rest of the command line.
    hint: &'static str,
}

/// Words that are no options of some of genba's verbs.
struct Instead {
    of: &'static [&'static str],
    words: &'static [&'static str],
    /// What genba has for them.
    why: &'static str,
    /// `…`: the rest of the command line; `VERB`: the verb.
    hint: &'static str,
}

/// Options that have another name here, and the same values.
struct Renamed {
    of: &'static [&'static str],
    words: &'static [&'static str],
    name: &'static str,
}

/// What is said instead of clap's words.
pub struct Answer {
    pub what: String,
    pub why: String,
    pub hint: String,
}

const STARTS_OR_ATTACHES: &str = "`run` starts a program and records it, `attach` records one that runs";
const ALLOCATES: &str = "`run --alloc` records what allocates, `heap` counts the objects of a process";
const RUN: &str = "genba run …";
const ATTACH: &str = "genba attach PID";

const VERBS: &[Other] = &[
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
        hint: "genba heap PID",
    },
    Other { words: &["alloc", "allocations"], why: ALLOCATES, hint: "genba run --alloc …" },
    Other { words: &["memray"], why: ALLOCATES, hint: "genba run --alloc app.py" },
    Other {
        words: &["live", "watch"],
        why: "`top` shows where the time goes while the program runs",
        hint: "genba top …",
    },
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
    Other { words: &["version"], why: "it is an option", hint: "genba --version" },
];

const RECORDS: &[&str] = &["run", "attach"];
const OF_A_PROCESS: &[&str] = &["attach", "top", "dump", "heap", "doctor"];
const READS: &[&str] = &["report", "tree", "lines", "diff"];
const LOOKS: &[&str] = &["ps", "dump", "heap", "gc"];

const VERB: &str = "genba VERB …";
const PRINTED: &str = "it is printed; `html` writes a page, `export` other formats";
const MADE_FROM_IT: &str =
    "genba html --open makes the page of the newest recording here, genba export --to FORMAT app.genba another format";

const OPTIONS: &[Instead] = &[
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
        // py-spy's -F; perf's has a number.
        words: &["--by", "--limit", "--function", "-F", "--lines", "--line"],
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

const NAMES: &[Renamed] = &[
    Renamed { of: RECORDS, words: &["-d", "--seconds", "--time", "--timeout", "--exposure"], name: "--duration" },
    Renamed { of: RECORDS, words: &["-F", "--freq", "--frequency", "--hz", "--sampling-rate"], name: "--rate" },
    Renamed { of: RECORDS, words: &["--outfile"], name: "--output" },
    Renamed { of: READS, words: &["-n", "--top", "--max-rows"], name: "--limit" },
    Renamed { of: &["report"], words: &["--group", "--group-by"], name: "--by" },
    Renamed { of: &["report", "tree", "lines"], words: &["-s"], name: "--sort" },
    Renamed { of: READS, words: &["-f"], name: "--format" },
    Renamed { of: READS, words: &["--json", "-j"], name: "--format json" },
    Renamed { of: LOOKS, words: &["--json", "-j"], name: "--format json" },
    Renamed { of: &["export"], words: &["-f", "--format", "-t", "--type"], name: "--to" },
    Renamed { of: &["dump"], words: &["-l"], name: "--locals" },
    Renamed { of: &["dump"], words: &["-n"], name: "--native" },
    Renamed { of: &["dump"], words: &["-s", "--subprocesses"], name: "--children" },
    Renamed { of: &["view"], words: &["-p"], name: "--port" },
];

/// An option, values that it does not have, and the nearest that there is.
const VALUES: &[(&str, &[&str], &str)] = &[
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
    ("--sort", &["cumulative", "cumtime", "cum"], "--sort total is what cProfile calls cumulative"),
    ("--sort", &["time", "tottime", "cpu"], "--sort self is what cProfile calls tottime"),
    ("--by", &["file", "files"], "--by module; genba lines shows the source of a file"),
];

/// What can be before a verb by mistake, and is an option of `run`.
const OF_RUN: [&str; 9] = ["-m", "-o", "--output", "-r", "--rate", "--interval", "--duration", "-q", "--native"];
/// Those that have no value.
const FLAGS_OF_RUN: [&str; 2] = ["-q", "--native"];

/// `verb` is none of genba's: what to type instead, where that is known. `is_near`: a mistyped one counts, too.
pub fn verb(verb: &str, rest: &[String], is_near: bool) -> Option<Answer> {
    let is_meant = |word: &str| match is_near {
        true => word.len() > 4 && verb.len() > 4 && strsim::osa_distance(word, verb) <= 2,
        false => word == verb,
    };
    let other = VERBS.iter().find(|other| other.words.iter().any(|word| is_meant(word)))?;
    // With py-spy one verb starts programs and attaches to processes.
    let hint = match pid_in(rest).filter(|_| other.hint == RUN) {
        Some(pid) => attach(pid),
        None => filled(other.hint, verb, &rest.join(" ")),
    };
    Some(Answer { what: format!("`{verb}` is not a verb of genba"), why: other.why.to_owned(), hint })
}

/// The same of an option, with its dashes, of one of genba's verbs.
pub fn option(verb: &str, option: &str, words: &[String]) -> Option<Answer> {
    let what = format!("`genba {verb}` has no option {option}");
    let is_it = |of: &[&str], words: &[&str]| of.contains(&verb) && words.contains(&option);
    let is_number = |given: &str| given.bytes().all(|digit| digit.is_ascii_digit());
    let is_renamed = option != "-F" || value_of(words, option).is_some_and(is_number);
    if let Some(other) = NAMES.iter().find(|other| is_it(other.of, other.words) && is_renamed) {
        // With a value that the other name does not have either, the command would be refused again.
        let instead = value_of(words, option).and_then(|given| value(other.name, given));
        let hint = instead.map_or_else(|| filled(VERB, verb, &replaced(words, option, other.name)), str::to_owned);
        return Some(Answer { what, why: format!("here it is {}", other.name), hint });
    }
    let other = OPTIONS.iter().find(|other| is_it(other.of, other.words))?;
    let hint = match pid_in(words).filter(|_| other.hint == ATTACH) {
        Some(pid) => attach(pid),
        None => filled(other.hint, verb, &replaced(words, option, "")),
    };
    Some(Answer { what, why: other.why.to_owned(), hint })
}

/// An option where the verb is expected: `genba -m cProfile app.py`, `genba -p 12`.
pub fn instead_of_verb(words: &[String]) -> Option<Answer> {
    let (first, rest) = words.split_first()?;
    let what = format!("`{first}` is not a verb of genba");
    if let Some(pid) = pid_in(words) {
        let why = "`attach` records a process that runs, `top` shows where its time goes, `dump` what it does now";
        return Some(Answer { what, why: why.to_owned(), hint: attach(pid) });
    }
    let all = words.join(" ");
    let (why, hint) = match (first.as_str(), rest.first().map(String::as_str)) {
        ("-m", Some("cProfile" | "profile")) => {
            ("`trace` counts every call, as cProfile does", filled("genba trace …", "", &rest[1..].join(" ")))
        }
        ("-c", Some(_)) => (STARTS_OR_ATTACHES, format!("genba run python {all}")),
        ("-v", None) => ("the version has a capital letter", "genba -V".to_owned()),
        (option, Some(_)) if OF_RUN.contains(&option) => (STARTS_OR_ATTACHES, behind_the_verb(words)),
        _ => return None,
    };
    Some(Answer { what, why: why.to_owned(), hint })
}

/// `-q attach 12` → `genba attach -q 12`. Without a verb it is `run`; what is behind `-m MODULE` is the module's.
fn behind_the_verb(words: &[String]) -> String {
    let option = words.first().map_or("", String::as_str);
    let option_words = if FLAGS_OF_RUN.contains(&option) { 1 } else { 2 };
    let (before, behind) = words.split_at(option_words.min(words.len()));
    match behind.split_first() {
        Some((verb, rest)) if option != "-m" && RECORDS.contains(&verb.as_str()) => {
            filled(VERB, verb, &[before, rest].concat().join(" "))
        }
        _ => format!("genba run {}", words.join(" ")),
    }
}

/// What there is instead of a value that an option does not have.
pub fn value(option: &str, value: &str) -> Option<&'static str> {
    let found = VALUES.iter().find(|(of, values, _)| *of == option && values.contains(&value));
    found.map(|(_, _, hint)| *hint)
}

/// A name for a recording that is the name of something else.
pub fn ending(name: &std::path::Path) -> Option<&'static str> {
    const MADE_LATER: [&str; 11] =
        ["html", "htm", "svg", "png", "pdf", "json", "txt", "folded", "collapsed", "speedscope", "prof"];
    let ending = name.extension()?.to_str()?.to_ascii_lowercase();
    MADE_LATER.contains(&ending.as_str()).then_some(match ending.as_str() {
        "html" | "htm" | "svg" | "png" | "pdf" => "then genba html makes a page of it",
        "prof" => "genba trace -o writes what cProfile does",
        _ => "then genba export --to FORMAT writes it in another format",
    })
}

fn attach(pid: &str) -> String {
    ATTACH.replace("PID", pid)
}

fn filled(hint: &str, verb: &str, rest: &str) -> String {
    hint.replace("VERB", verb).replace(" …", &format!(" {rest}")).trim_end().to_owned()
}

/// The words with another one in place of the option. A value that is written in one word with it becomes a word of its own.
fn replaced(words: &[String], option: &str, by: &str) -> String {
    let found = words.iter().enumerate().find_map(|(at, word)| Some((at, word.strip_prefix(option)?)));
    let Some((at, value)) = found else { return words.join(" ") };
    let mut others: Vec<&str> = words.iter().map(String::as_str).collect();
    others[at] = by;
    others.insert(at + 1, value.trim_start_matches('='));
    others.retain(|word| !word.is_empty());
    others.join(" ")
}

/// Of the first of the words that begins with the option.
fn value_of<'w>(words: &'w [String], option: &str) -> Option<&'w str> {
    let (at, value) = words.iter().enumerate().find_map(|(at, word)| Some((at, word.strip_prefix(option)?)))?;
    match value.trim_start_matches('=') {
        "" => words.get(at + 1).map(String::as_str),
        attached => Some(attached),
    }
}

/// `--pid 12`, `--pid=12`, `-p 12` or `-p12`, before the program begins.
fn pid_in(words: &[String]) -> Option<&str> {
    let is_script = |word: &str| [".py", ".pyz"].iter().any(|ending| word.ends_with(ending));
    let begins = |word: &str| matches!(word, "--" | "-m") || word.starts_with("python") || is_script(word);
    let options = words.iter().map(String::as_str).take_while(|word| !begins(word));
    options.enumerate().find_map(|(at, word)| {
        let value = ["--pid", "-p"].into_iter().find_map(|option| word.strip_prefix(option))?;
        let value = match value.trim_start_matches('=') {
            "" => words.get(at + 1)?.as_str(),
            attached => attached,
        };
        (!value.is_empty() && value.bytes().all(|digit| digit.is_ascii_digit())).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn an_option_is_replaced_where_it_is() {
        assert_eq!(replaced(&words("-q -F 99 app.py"), "-F", "--rate"), "-q --rate 99 app.py");
        assert_eq!(replaced(&words("--pid=12 --locals"), "--pid", ""), "12 --locals");
        assert_eq!(replaced(&words("app.py"), "-n", ""), "app.py");
    }

    #[test]
    fn a_value_that_the_other_name_does_not_have_is_told() {
        let hint = |verb: &str, name: &str, line: &str| option(verb, name, &words(line)).map(|answer| answer.hint);
        let total = Some("--sort total is what cProfile calls cumulative".to_owned());
        assert_eq!(hint("report", "-s", "-s cumulative app.genba"), total);
        assert_eq!(hint("tree", "-s", "-scumtime"), total);
        assert_eq!(hint("report", "-s", "-s total").as_deref(), Some("genba report --sort total"));
        assert_eq!(hint("run", "-F", "-F 99 app.py").as_deref(), Some("genba run --rate 99 app.py"));
        assert_eq!(hint("run", "-F", "-F app.py").as_deref(), Some("genba report --by function"));
    }

    #[test]
    fn an_option_goes_behind_the_verb() {
        let hint = |line: &str| instead_of_verb(&words(line)).map(|answer| answer.hint);
        assert_eq!(hint("-q run app.py").as_deref(), Some("genba run -q app.py"));
        assert_eq!(hint("--duration 5s attach 12").as_deref(), Some("genba attach --duration 5s 12"));
        assert_eq!(hint("-r 100 app.py run").as_deref(), Some("genba run -r 100 app.py run"));
        assert_eq!(hint("-m manage run").as_deref(), Some("genba run -m manage run"));
        assert_eq!(hint("-m cProfile").as_deref(), Some("genba trace"));
    }

    #[test]
    fn a_process_is_named_before_the_program_begins() {
        assert_eq!(pid_in(&words("-o profile.svg --pid 12")), Some("12"));
        assert_eq!(pid_in(&words("-p12")), Some("12"));
        assert_eq!(pid_in(&words("-- python app.py -p 80")), None);
        assert_eq!(pid_in(&words("--pid")), None);
    }
}
