//! What people type who know another profiler, or expect one verb to do the work of another.
//! Owns: what to type instead, made of the words on the command line. Never: decides that a command line is wrong; clap does.

mod tables;

use std::path::{Path, PathBuf};

use genba_profile::shell;

use tables::{
    ATTACH, HEAP, NAMES, OF_A_PROCESS, OPTIONS, RECORDS, RUN, RUN_ALLOC, RUN_ALLOC_APP, RUN_APP, Renamed,
    STARTS_OR_ATTACHES, TOP, VALUES, VERB, VERBS,
};

/// What is said instead of clap's words.
pub struct Answer {
    pub what: String,
    pub why: String,
    pub hint: String,
}

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
    let hint = hint_for(other.hint, verb, rest);
    Some(Answer { what: format!("`{verb}` is not a verb of genba"), why: other.why.to_owned(), hint })
}

/// The hint for these words, with the process that they name. One for a process is another for a program.
fn hint_for(hint: &str, verb: &str, rest: &[String]) -> String {
    let number = || rest.first().map(String::as_str).filter(|word| is_number(word));
    match pid_in(rest).or_else(number) {
        // With py-spy one verb starts programs and attaches to processes.
        Some(pid) if hint == RUN || hint == RUN_APP => attach(pid),
        // Of a process that runs, allocations cannot be recorded.
        Some(pid) if hint == RUN_ALLOC || hint == RUN_ALLOC_APP => HEAP.replace("PID", pid),
        Some(pid) if hint == TOP => filled(TOP, verb, pid),
        Some(pid) if hint.contains("PID") => hint.replace("PID", pid),
        None if hint == HEAP && rest.iter().any(|word| begins(word)) => filled(RUN_ALLOC, verb, &as_run_has_them(rest)),
        _ if hint == RUN => of_run(rest),
        _ => filled(hint, verb, &rest.join(" ")),
    }
}

/// Another profiler's `-o` names the picture; `run` writes a recording, of which the picture is made.
fn of_run(words: &[String]) -> String {
    let begin = words.iter().position(|word| begins(word)).unwrap_or(words.len());
    let (options, program) = words.split_at(begin);
    let option = ["--output", "-o"].into_iter().find(|option| value_of(options, option).is_some());
    // The words are quoted for a shell.
    let bare = |word: &str| PathBuf::from(word.trim_matches('\''));
    let named = option.and_then(|option| Some((option, bare(value_of(options, option)?))));
    let Some((option, name)) = named.filter(|(_, name)| ending(name).is_some()) else {
        return filled(RUN, "run", &as_run_has_them(words));
    };
    let recording = shell::path(&name.with_extension("genba"));
    let renamed: Vec<String> = options
        .iter()
        .map(|word| match word.strip_prefix(option).map(|value| value.trim_start_matches('=')) {
            Some(value) if bare(value) == name => format!("{option}={recording}"),
            _ if bare(word) == name => recording.clone(),
            _ => word.clone(),
        })
        .collect();
    let run = filled(RUN, "run", &as_run_has_them(&[renamed.as_slice(), program].concat()));
    match name.extension().and_then(|ending| ending.to_str()) {
        Some("prof") => filled(RUN, "trace", &as_run_has_them(words)).replacen("genba run", "genba trace", 1),
        Some("html" | "htm" | "svg" | "png" | "pdf") => format!("{run}, then genba html {recording}"),
        _ => format!("{run}, then genba export --to FORMAT {recording}"),
    }
}

/// The options before the program by the names that they have for `run`, without those that ask for what `run` does anyway.
fn as_run_has_them(words: &[String]) -> String {
    let begin = words.iter().position(|word| begins(word)).unwrap_or(0);
    let is_needless =
        |word: &str| OPTIONS.iter().any(|other| other.hint == VERB && is_it(other.of, other.words, "run", word));
    let options = words[..begin]
        .iter()
        .enumerate()
        .filter(|(_, word)| !is_needless(word))
        .map(|(at, word)| renamed("run", word, &words[at..]).map_or(word.as_str(), |other| other.name));
    options.chain(words[begin..].iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

fn is_it(of: &[&str], words: &[&str], verb: &str, option: &str) -> bool {
    of.contains(&verb) && words.contains(&option)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|digit| digit.is_ascii_digit())
}

/// The option by its other name. perf's -F has a number, py-spy's has none.
fn renamed(verb: &str, option: &str, words: &[String]) -> Option<&'static Renamed> {
    let found = NAMES.iter().find(|other| is_it(other.of, other.words, verb, option))?;
    (option != "-F" || value_of(words, option).is_some_and(is_number)).then_some(found)
}

/// The same of an option, with its dashes, of one of genba's verbs.
pub fn option(verb: &str, option: &str, words: &[String]) -> Option<Answer> {
    let what = format!("`genba {verb}` has no option {option}");
    if let Some(other) = renamed(verb, option, words) {
        // With a value that the other name does not have either, the command would be refused again.
        let instead = value_of(words, option).and_then(|given| value(other.name, given));
        let hint = instead.map_or_else(|| filled(VERB, verb, &replaced(words, option, other.name)), str::to_owned);
        return Some(Answer { what, why: format!("here it is {}", other.name), hint });
    }
    let other = OPTIONS.iter().find(|other| is_it(other.of, other.words, verb, option))?;
    let rest = replaced(words, option, "");
    let names_one = || rest.split(' ').any(|word| !word.is_empty() && !word.starts_with('-'));
    let hint = match pid_in(words).filter(|_| other.hint == ATTACH) {
        Some(pid) => attach(pid),
        None if other.of == OF_A_PROCESS && !names_one() => {
            filled(other.hint, verb, format!("{rest} PID").trim_start())
        }
        None => filled(other.hint, verb, &rest),
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

/// A name for an export that is the name of a page or a picture: what makes these.
pub fn not_exported(name: &Path, recordings: &str) -> Option<String> {
    let ending = name.extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "html" | "htm" => Some(filled("genba html -o …", "html", &format!("{} {recordings}", shell::path(name)))),
        "svg" | "png" | "pdf" => value("--to", "svg").map(str::to_owned),
        _ => None,
    }
}

/// `.html`, as a message shows it.
pub fn shown_ending(name: &Path) -> String {
    format!(".{}", name.extension().unwrap_or_default().display())
}

/// A name for a recording that is one of a page, a picture or another format: what makes these.
pub fn ending(name: &Path) -> Option<&'static str> {
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
    let options = words.iter().map(String::as_str).take_while(|word| !begins(word));
    options.enumerate().find_map(|(at, word)| {
        let value = ["--pid", "-p"].into_iter().find_map(|option| word.strip_prefix(option))?;
        let value = match value.trim_start_matches('=') {
            "" => words.get(at + 1)?.as_str(),
            attached => attached,
        };
        is_number(value).then_some(value)
    })
}

/// Whether a program begins with this word.
fn begins(word: &str) -> bool {
    let is_script = [".py", ".pyz"].iter().any(|ending| word.ends_with(ending));
    matches!(word, "--" | "-m") || word.starts_with("python") || is_script
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
        assert_eq!(hint("run", "--limit", "--limit 3 app.py").as_deref(), Some("genba report --limit 3"));
        assert_eq!(hint("run", "--function", "--function f app.py").as_deref(), Some("genba lines --function REGEX"));
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

    #[test]
    fn what_is_offered_for_a_verb_is_what_genba_takes() {
        let hint = |line: &str| {
            let words = words(line);
            verb(&words[0], &words[1..], false).map(|answer| answer.hint)
        };
        assert_eq!(hint("memory 12").as_deref(), Some("genba heap 12"));
        assert_eq!(hint("memory --pid 12").as_deref(), Some("genba heap 12"));
        assert_eq!(hint("memory app.py 9").as_deref(), Some("genba run --alloc app.py 9"));
        assert_eq!(hint("memory").as_deref(), Some("genba heap PID"));
        assert_eq!(hint("threads 12").as_deref(), Some("genba dump 12"));
        assert_eq!(hint("alloc 12").as_deref(), Some("genba heap 12"));
        assert_eq!(hint("alloc app.py").as_deref(), Some("genba run --alloc app.py"));
        assert_eq!(hint("live --pid 12").as_deref(), Some("genba top 12"));
        assert_eq!(hint("live app.genba").as_deref(), Some("genba top app.genba"));
        assert_eq!(hint("perf record -g -p 12").as_deref(), Some("genba attach 12"));
        assert_eq!(
            hint("record -g -d 5 -- python app.py -g").as_deref(),
            Some("genba run --duration 5 -- python app.py -g")
        );
        // Which word begins the program is not known here.
        assert_eq!(hint("record start -g").as_deref(), Some("genba run start -g"));
        for (line, expected) in [
            ("record -o x.svg -- python app.py", "genba run -o x.genba -- python app.py, then genba html x.genba"),
            (
                "record --output=a/x.html app.py -o y.svg",
                "genba run --output=a/x.genba app.py -o y.svg, then genba html a/x.genba",
            ),
            (
                "record -r 99 -o x.txt app.py",
                "genba run -r 99 -o x.genba app.py, then genba export --to FORMAT x.genba",
            ),
            ("record -ox.svg app.py", "genba run -o=x.genba app.py, then genba html x.genba"),
            ("record -o 'x.svg' app.py", "genba run -o x.genba app.py, then genba html x.genba"),
            ("record -o app.prof app.py", "genba trace -o app.prof app.py"),
            ("record -o x.genba app.py", "genba run -o x.genba app.py"),
            ("record app.py -o x.svg", "genba run app.py -o x.svg"),
        ] {
            assert_eq!(hint(line).as_deref(), Some(expected), "{line}");
        }
        assert_eq!(hint("upload app.genba").as_deref(), Some("genba push app.genba"));
        assert_eq!(hint("speedscope app.genba").as_deref(), Some("genba export --to speedscope app.genba"));
        assert_eq!(hint("perf record -g app.py").as_deref(), Some("genba run app.py"));
    }

    #[test]
    fn what_is_offered_for_an_option_is_what_genba_takes() {
        let hint = |verb: &str, name: &str, line: &str| option(verb, name, &words(line)).map(|answer| answer.hint);
        assert_eq!(hint("dump", "--pid", "--pid").as_deref(), Some("genba dump PID"));
        assert_eq!(hint("dump", "-p", "-p --locals").as_deref(), Some("genba dump --locals PID"));
        assert_eq!(hint("dump", "--pid", "--pid 12 --locals").as_deref(), Some("genba dump 12 --locals"));
        assert_eq!(hint("report", "--pid", "--pid 3 app.genba").as_deref(), Some("genba report --process 3 app.genba"));
        assert_eq!(hint("report", "--lines", "--lines app.genba").as_deref(), Some("genba lines app.genba"));
        assert_eq!(
            hint("report", "--to", "--to json app.genba").as_deref(),
            Some("genba report --format json app.genba")
        );
        assert_eq!(hint("report", "--to", "--to=speedscope").as_deref(), value("--format", "speedscope"));
        assert_eq!(hint("tree", "--depth", "--depth 3").as_deref(), Some("genba tree --max-depth 3"));
        assert!(["html", "csv", "speedscope", "collapsed"].iter().all(|given| value("--format", given).is_some()));
    }

    #[test]
    fn a_page_is_not_exported() {
        let hint = |name: &str, files: &str| not_exported(Path::new(name), files);
        assert_eq!(hint("out.html", "app.genba").as_deref(), Some("genba html -o out.html app.genba"));
        assert_eq!(hint("an out.HTM", "").as_deref(), Some("genba html -o 'an out.HTM'"));
        assert_eq!(hint("out.svg", "").as_deref(), value("--to", "svg"));
        assert_eq!(
            [hint("out.json", ""), hint("out.txt", ""), hint("-", ""), hint("html", "")],
            [None, None, None, None]
        );
    }
}
