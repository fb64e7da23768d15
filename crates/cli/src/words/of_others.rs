//! What people type who know another profiler, or expect one verb to do the work of another.
//! Owns: those words, and what to type instead. Never: decides that a command line is wrong; clap does.

/// A verb or an option that genba does not have.
struct Other {
    word: &'static str,
    /// What genba has for it.
    why: &'static str,
    /// `…`: the rest of the command line.
    hint: &'static str,
}

/// What is said instead of clap's words.
pub struct Answer {
    pub what: String,
    pub why: &'static str,
    pub hint: String,
}

const STARTS_OR_ATTACHES: &str = "`run` starts a program and records it, `attach` records one that runs";

const VERBS: [Other; 8] = [
    Other { word: "record", why: STARTS_OR_ATTACHES, hint: "genba run …" },
    Other { word: "profile", why: STARTS_OR_ATTACHES, hint: "genba run …" },
    Other {
        word: "flamegraph",
        why: "`html` writes a page with the call tree, `export` what flame graph tools read",
        hint: "genba html --open …",
    },
    Other {
        word: "stats",
        why: "`report` shows where the time went, `trace` counts each call",
        hint: "genba report …",
    },
    Other {
        word: "memory",
        why: "`heap` counts the objects of a process by class, `run --alloc` records what allocates",
        hint: "genba heap PID",
    },
    Other {
        word: "show",
        why: "`report` prints where the time went, `view` shows a recording in the browser",
        hint: "genba view …",
    },
    Other {
        word: "compare",
        why: "`diff` says what changed between two recordings, and whether the samples can tell",
        hint: "genba diff …",
    },
    Other { word: "version", why: "it is an option", hint: "genba --version" },
];

const WRITES_A_RECORDING: &str = "a recording is written, and pages and other formats are made from it";
const MADE_FROM_IT: &str =
    "genba html --open makes the page of the newest recording here, genba export --to FORMAT app.genba another format";

const OPTIONS: [(&str, Other); 11] = [
    (
        "run",
        Other {
            word: "--pid",
            why: "`run` starts a program; `attach` records one that runs",
            hint: "genba attach PID",
        },
    ),
    (
        "run",
        Other {
            word: "--subprocesses",
            why: "child processes are recorded anyway; --no-children leaves them out",
            hint: "genba run …",
        },
    ),
    ("run", Other { word: "-d", why: "a time limit has no short name", hint: "genba run --duration 30s app.py" }),
    ("run", Other { word: "--format", why: WRITES_A_RECORDING, hint: MADE_FROM_IT }),
    ("attach", Other { word: "--format", why: WRITES_A_RECORDING, hint: MADE_FROM_IT }),
    ("run", Other { word: "--html", why: WRITES_A_RECORDING, hint: MADE_FROM_IT }),
    (
        "run",
        Other {
            word: "--web-auth",
            why: "every user of the machine could read a token on the command line",
            hint: "put it into GENBA_TOKEN, or into a file that --token-file names",
        },
    ),
    (
        "html",
        Other {
            word: "--force",
            why: "an earlier page is replaced where -o names it, any other file never",
            hint: "genba html -o app.html app.genba",
        },
    ),
    ("report", Other { word: "--html", why: "`html` writes a page", hint: "genba html --open …" }),
    ("report", Other { word: "--json", why: "JSON is a format", hint: "genba report --format json …" }),
    ("tree", Other { word: "--json", why: "JSON is a format", hint: "genba tree --format json …" }),
];

/// `verb` is none of genba's: what to type instead, where that is known. `is_near`: a mistyped one counts, too.
pub fn verb(verb: &str, rest: &str, is_near: bool) -> Option<Answer> {
    let is_meant = |other: &&Other| match is_near {
        true => other.word.len() > 4 && verb.len() > 4 && strsim::osa_distance(other.word, verb) <= 2,
        false => other.word == verb,
    };
    let other = VERBS.iter().find(is_meant)?;
    Some(answered(other, format!("`{verb}` is not a verb of genba"), rest))
}

/// The same of an option, with its dashes, of one of genba's verbs.
pub fn option(verb: &str, option: &str, rest: &str) -> Option<Answer> {
    let (_, other) = OPTIONS.iter().find(|(of, other)| *of == verb && other.word == option)?;
    Some(answered(other, format!("`genba {verb}` has no option {option}"), rest))
}

/// A name for a recording that is the name of something else.
pub fn ending(name: &std::path::Path) -> Option<&'static str> {
    const MADE_LATER: [&str; 10] =
        ["html", "htm", "svg", "png", "pdf", "json", "txt", "folded", "collapsed", "speedscope"];
    let ending = name.extension()?.to_str()?.to_ascii_lowercase();
    MADE_LATER.contains(&ending.as_str()).then_some(match ending.as_str() {
        "html" | "htm" | "svg" | "png" | "pdf" => "then genba html makes a page of it",
        _ => "then genba export --to FORMAT writes it in another format",
    })
}

fn answered(other: &Other, what: String, rest: &str) -> Answer {
    let hint = other.hint.replace(" …", &format!(" {rest}"));
    Answer { what, why: other.why, hint: hint.trim_end().to_owned() }
}
