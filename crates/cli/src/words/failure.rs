//! A failure of genba's own: what failed, where, what was found and expected, and hints; and how it is printed.
//! Owns: the words `error:`, `warning:` and `hint:` and the exit codes 1, 2 and 130. Never: is used for the program's own
//! exit code. Every line of a failure goes to stderr.

use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use genba_profile::report::printable;
use genba_profile::shell;

use super::commands::{self, slips_max};
use super::of_others;

/// As a shell has it for a command that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Why a verb ended without doing what was asked. Built with `no`, `usage` or `ours`, then `detail` and `hint`.
#[derive(Debug)]
pub struct Failure {
    what: String,
    details: Vec<String>,
    hints: Vec<String>,
    exit_code: u8,
}

impl Failure {
    /// Asked, and the answer is no: a bad file, an unsupported interpreter. Exit code 1.
    pub fn no(what: impl Into<String>) -> Failure {
        Failure { what: what.into(), details: Vec::new(), hints: Vec::new(), exit_code: 1 }
    }

    /// The command line cannot be carried out as written. Exit code 2.
    pub fn usage(what: impl Into<String>) -> Failure {
        Failure { exit_code: 2, ..Failure::no(what) }
    }

    /// genba itself failed. Exit code 2.
    pub fn ours(what: impl Into<String>) -> Failure {
        Failure { exit_code: 2, ..Failure::no(what) }
    }

    /// Ctrl-C, before all was done. Exit code 130.
    pub fn interrupted(what: impl Into<String>) -> Failure {
        Failure { exit_code: INTERRUPTED, ..Failure::no(what) }
    }

    pub fn is_interrupt(&self) -> bool {
        self.exit_code == INTERRUPTED
    }

    /// One more fact: where, what was found, what was expected.
    pub fn detail(mut self, line: impl Into<String>) -> Failure {
        self.details.push(line.into());
        self
    }

    /// What the reader can do about it; asks no more than is needed.
    pub fn hint(mut self, line: impl Into<String>) -> Failure {
        self.hints.push(line.into());
        self
    }

    /// Where it is, in front of what it is.
    pub fn within(mut self, place: &str) -> Failure {
        self.what = format!("{place}: {}", self.what);
        self
    }

    /// The same of another verb than `run` that takes the same targets.
    pub fn of_verb(mut self, verb: &str) -> Failure {
        for line in &mut self.hints {
            *line = line.replace("genba run", &format!("genba {verb}"));
        }
        self
    }

    /// For a page that shows it among other facts: what it is, and what helps.
    pub fn in_two(&self) -> (String, String) {
        let what = [std::slice::from_ref(&self.what), &self.details].concat();
        (what.join(": "), self.hints.join("; "))
    }

    /// The exit code that the program ended with takes the place of genba's own.
    pub fn with_exit_code(mut self, exit_code: u8) -> Failure {
        self.exit_code = exit_code;
        self
    }

    /// Writes it to stderr where the rest goes on without what failed.
    pub fn warn(&self) {
        say(&self.page("warning"));
    }

    fn page(&self, kind: &str) -> String {
        let details = self.details.iter().map(|line| format!("\n  {line}"));
        let hints = self.hints.iter().map(|line| format!("\nhint: {line}"));
        format!("{kind}: {}{}", self.what, details.chain(hints).collect::<String>())
    }

    /// Writes the failure to stderr and gives the exit code.
    pub fn print(&self) -> ExitCode {
        say(&self.to_string());
        ExitCode::from(self.exit_code)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, page: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        page.write_str(&self.page("error"))
    }
}

impl std::error::Error for Failure {}

/// Writes one line (or several) of words to stderr. Words may come from a recording, which is somebody else's: what would steer the
/// terminal is written as its number.
pub fn say(words: &str) {
    let lines: Vec<String> = words.split('\n').map(printable).collect();
    show(&lines.join("\n"));
}

/// The same of a view, which has escaped what it shows and is in colour. In one piece: what the program writes there comes before or after.
/// A closed stderr is no reason to fail.
pub fn show(page: &str) {
    let _ = std::io::stderr().write_all(format!("{page}\n").as_bytes());
}

/// Prints what clap found: help and version to stdout with exit code 0, anything else as a failure of the command line.
pub fn of_command_line(refusal: &clap::Error, definition: &clap::Command) -> ExitCode {
    use clap::error::ErrorKind;
    let typed = typed();
    let of_commands = |words: commands::Words| Failure::usage(words.what).hint(words.hint);
    let no_command = |word: &str| commands::unknown(definition, &typed, word).map(of_commands);
    match refusal.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = refusal.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            let no_verb = || {
                Failure::usage("a verb is missing")
                    .hint("genba run app.py records a program; genba --help lists the verbs")
            };
            commands::missing(definition, &typed).map_or_else(no_verb, of_commands).print()
        }
        ErrorKind::InvalidSubcommand => {
            refused_word(refusal).and_then(no_command).unwrap_or_else(|| unknown_verb(refusal)).print()
        }
        // One word too many for a verb that has commands, which clap takes for one of them.
        ErrorKind::ArgumentConflict => {
            let message = refusal.to_string();
            let word = refused_word(refusal).filter(|word| !commands::is_known(definition, &typed, word));
            let meant = word.and_then(|word| commands::meant(definition, &typed, word)).and_then(no_command);
            let one_more = || word.map_or_else(|| message.clone(), |word| in_place_of_first_line(&message, word));
            meant.unwrap_or_else(|| in_our_words(&one_more())).print()
        }
        _ => in_our_words(&refusal.to_string()).print(),
    }
}

fn typed() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// What clap took for a verb, or for a verb's command.
fn refused_word(refusal: &clap::Error) -> Option<&str> {
    match refusal.get(ContextKind::InvalidSubcommand)? {
        ContextValue::String(word) => Some(word),
        _ => None,
    }
}

fn in_place_of_first_line(message: &str, word: &str) -> String {
    let rest = message.split_once('\n').map_or("", |(_, rest)| rest);
    format!("error: unexpected argument '{word}' found\n{rest}")
}

/// `genba app.py`: the first word is no verb. When it can be run, say how; when it is like a verb, which.
fn unknown_verb(refusal: &clap::Error) -> Failure {
    let words = typed();
    let is_verb = |word: &&String| !word.starts_with('-') && *word != "help";
    let first = words.iter().find(is_verb).cloned().unwrap_or_default();
    let failure = Failure::usage(format!("`{first}` is not a verb of genba"));
    let rest = words.iter().skip_while(|word| **word != first).skip(1);
    let rest: Vec<String> = rest.map(|word| shell::word(word)).collect();
    let all = || words.iter().map(|word| shell::word(word)).collect::<Vec<_>>().join(" ");
    if let Some(answer) = of_others::verb(&first, &rest, false) {
        return answered(answer);
    }
    if !first.is_empty() && first.bytes().all(|digit| digit.is_ascii_digit()) {
        return failure.hint(format!("genba attach {first} records that process, genba top {first} shows it"));
    }
    if [".genba", ".vmprof", ".prof"].iter().any(|ending| first.ends_with(ending)) {
        return failure.hint(format!("genba report {}", all()));
    }
    let looks_runnable = first.contains('/')
        || std::path::Path::new(&first).exists()
        || [".py", ".pyz"].iter().any(|ending| first.ends_with(ending))
        || first.starts_with("python")
        || ["pytest", "gunicorn", "uvicorn", "flask", "celery"].contains(&first.as_str());
    if looks_runnable {
        return failure.hint(format!("genba run {}", all()));
    }
    if let Some(ContextValue::Strings(verbs)) = refusal.get(ContextKind::SuggestedSubcommand)
        && !verbs.is_empty()
    {
        let distance = |verb: &&String| strsim::osa_distance(verb, &first);
        let nearest = verbs.iter().map(|verb| distance(&verb)).min();
        let verbs: Vec<&str> =
            verbs.iter().filter(|verb| Some(distance(verb)) == nearest).map(String::as_str).collect();
        if nearest.is_some_and(|nearest| nearest <= slips_max(&first)) {
            return failure.hint(format!("did you mean `{}`?", verbs.join("` or `")));
        }
    }
    match of_others::verb(&first, &rest, true) {
        Some(answer) => answered(answer),
        None => failure.hint("genba --help lists the verbs"),
    }
}

/// Where the options of the verb on this command line are explained.
fn help_of_verb() -> String {
    let verb = std::env::args_os()
        .nth(1)
        .and_then(|word| word.into_string().ok())
        .filter(|word| word.bytes().all(|letter| letter.is_ascii_lowercase()));
    verb.map_or_else(
        || "genba --help lists the verbs".to_owned(),
        |verb| format!("genba {verb} --help tells its options"),
    )
}

/// `unexpected argument '--pid' found`, where it is known what was meant.
fn unknown_option(what: &str) -> Option<Failure> {
    let option = what.strip_prefix("unexpected argument '")?.strip_suffix("' found")?;
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| shell::word(&word.to_string_lossy())).collect();
    let (verb, rest) = words.split_first()?;
    let answer = match verb.starts_with('-') {
        true => of_others::instead_of_verb(&words),
        false => of_others::option(verb, option, rest),
    };
    answer.map(answered)
}

/// `invalid value 'svg' for '--to <FORMAT>'`, where there is something else for it.
fn hint_of_value(what: &str) -> Option<&'static str> {
    let (value, rest) = what.strip_prefix("invalid value '")?.split_once("' for '")?;
    let option = rest.split([' ', '\'']).next()?;
    of_others::value(option, value)
}

/// clap's tip to take an option whose name is like what was typed (`--push` for `--gpu`), which is no slip of the fingers.
fn is_far_fetched(what: &str, tip: &str) -> bool {
    let in_quotes = |words: &str| words.split('\'').nth(1).map(|word| word.trim_start_matches('-').to_owned());
    let (Some(typed), Some(meant)) = (in_quotes(what), in_quotes(tip)) else { return false };
    let is_longer = meant.starts_with(&typed) || typed.starts_with(&meant);
    tip.contains("argument") && !is_longer && strsim::osa_distance(&typed, &meant) > slips_max(&typed)
}

fn answered(answer: of_others::Answer) -> Failure {
    Failure::usage(answer.what).detail(answer.why).hint(answer.hint)
}

/// clap's message begins with `error: …`; its paragraphs become details, its tips hints.
fn in_our_words(message: &str) -> Failure {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let what = lines.next().unwrap_or("the command line cannot be read").trim_start_matches("error: ");
    if let Some(answered) = unknown_option(what) {
        return answered;
    }
    let mut failure = Failure::usage(what);
    match std::env::args_os().nth(1) {
        Some(verb) if verb == "run" && what.starts_with("unexpected argument '-c'") => {
            failure = failure.hint("genba run python -c CODE");
        }
        Some(verb) if verb == "attach" && is_second_pid(what) => {
            failure = failure.hint("genba attach takes one process; its children are recorded, too");
        }
        _ => {}
    }
    let mut usage = Vec::new();
    for line in lines {
        match line.strip_prefix("Usage: ") {
            Some(first) => usage.push(first),
            None if line.starts_with("For more information") => {}
            None if !usage.is_empty() => usage.push(line),
            None => match line.strip_prefix("tip: ") {
                // A tip on how to pass an option as a value only leads away from a mistyped option.
                Some(tip) if tip.contains("as a value") || is_far_fetched(what, tip) => {}
                Some(tip) => failure = failure.hint(tip),
                None => failure = failure.detail(line),
            },
        }
    }
    match usage.as_slice() {
        [] => failure.hint(hint_of_value(what).map_or_else(help_of_verb, str::to_owned)),
        usage => failure.hint(format!("usage: {}", usage.join("\n   or: "))),
    }
}

/// `unexpected argument '4127' found`
fn is_second_pid(what: &str) -> bool {
    let word = what.strip_prefix("unexpected argument '").and_then(|rest| rest.strip_suffix("' found"));
    word.is_some_and(|word| word.parse::<u32>().is_ok())
}

/// The system's words without Rust's `(os error 13)`.
pub fn of_system(error: &std::io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = plain.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
