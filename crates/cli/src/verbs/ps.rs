//! `genba ps`: the Python processes of this machine, and what genba may do with each.
//! Owns: the list. Never: shows a process that is no Python, unless its name says that it is one.

use std::process::ExitCode;

use clap::Args;
use genba_process::facts::{Facts, all_pids};
use genba_process::interpreter::{Interpreter, Search, find_in};
use genba_process::refusal::Refusal;
use genba_process::rights;
use genba_profile::report::printable;
use serde::Serialize;

use crate::files::packages;
use crate::read;
use crate::verbs::attach::permission::{Permission, permissions};
use crate::words::failure::Failure;

const COMMAND_CHARACTERS_MAX: usize = 60;

#[derive(Args)]
pub struct Arguments {
    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// What an instrument may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Yes,
    /// Running threads cannot be stopped.
    Unverified,
    /// Only a try tells.
    Tried,
    No,
}

#[derive(Serialize)]
struct Row {
    pid: u32,
    /// 0: the first process, or one that was started outside of this PID namespace.
    parent: u32,
    user: u32,
    /// Null where this machine has no name for it, or the process is in another user namespace.
    user_name: Option<String>,
    threads: u32,
    /// Null where it cannot be told.
    python: Option<String>,
    /// Whose build it is and of which kind, in words. Null where neither can be told.
    build: Option<String>,
    dump: Answer,
    /// `attach` and `top`.
    attach: Answer,
    heap: Answer,
    /// Whether `genba dump` reads it.
    readable: bool,
    /// Whether its threads may be stopped.
    stoppable: bool,
    reason: Option<String>,
    hint: Option<String>,
    argv: Vec<String>,
}

#[derive(Serialize)]
struct Page<'a> {
    format: &'static str,
    version: u32,
    processes: &'a [Row],
}

pub fn ps(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let own = std::process::id();
    let names = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user_namespace = Facts::own().ok().and_then(|own| own.namespaces.user);
    let facts = all_pids().into_iter().filter(|&pid| pid != own).filter_map(|pid| Facts::of(pid).ok());
    let rows: Vec<Row> = facts
        .filter_map(|facts| {
            let is_here = facts.namespaces.user.is_none_or(|its| Some(its) == user_namespace);
            let row = row(facts)?;
            let user_name = if is_here { name_of(row.user, &names) } else { None };
            Some(Row { user_name, ..row })
        })
        .collect();
    match arguments.format {
        Format::Json => {
            let page = Page { format: "genba-ps", version: 1, processes: &rows };
            let text = genba_text::json::pretty(&page);
            read::print(&text.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?)?;
        }
        Format::Text => read::print(&text(&rows))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// `None`: no Python, as far as can be told.
fn row(facts: Facts) -> Option<Row> {
    let mut row = Row {
        pid: facts.pid,
        parent: facts.parent,
        user: facts.users[1],
        user_name: None,
        threads: facts.threads,
        python: None,
        build: None,
        dump: Answer::No,
        attach: Answer::No,
        heap: Answer::No,
        readable: false,
        stoppable: false,
        reason: None,
        hint: None,
        argv: facts.command_line.clone(),
    };
    let name =
        facts.executable.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    let program = facts.command_line.first().map(|word| word.rsplit('/').next().unwrap_or(word).to_owned());
    let is_named = |name: &Option<String>| {
        name.as_ref().is_some_and(|name| name.starts_with("python") || name.starts_with("pypy"))
    };
    let is_likely = is_named(&name) || is_named(&program) || facts.name.starts_with("python");
    let stop = rights::check_stop(&facts);
    match find_in(facts, Search::Likely) {
        Ok(interpreter) => {
            row.build = build(&interpreter);
            row.readable = true;
            row.stoppable = stop.is_ok();
            row.dump = if row.stoppable { Answer::Yes } else { Answer::Unverified };
            if let Err(refusal) = stop {
                row.explain(&refusal);
            }
            let (attach, heap) = permissions(&interpreter);
            (row.attach, row.heap) = (row.answer(attach), row.answer(heap));
            row.python = Some(interpreter.version);
        }
        Err(refusal) => {
            if !refusal.is_of_python().unwrap_or(is_likely) {
                return None;
            }
            match &refusal {
                Refusal::UnknownVersion { version, reason, .. } => {
                    row.python = Some(version.clone());
                    let kinds = ["debug", "free-threaded"].into_iter().find(|kind| reason.contains(kind));
                    row.build = kinds.map(str::to_owned);
                }
                Refusal::Musl { version, .. } | Refusal::Misfit { version, .. } => row.python = Some(version.clone()),
                _ => {}
            }
            row.explain(&refusal);
        }
    }
    Some(row)
}

impl Row {
    fn explain(&mut self, refusal: &Refusal) {
        self.reason = Some(refusal.details().first().cloned().unwrap_or_else(|| refusal.to_string()));
        self.hint = Some(refusal.hint());
    }

    /// What is said first stays.
    fn answer(&mut self, permission: Permission) -> Answer {
        match permission {
            Permission::Allowed(_) => Answer::Yes,
            Permission::Open(why) => {
                self.reason.get_or_insert_with(|| why.to_owned());
                Answer::Tried
            }
            Permission::Refused(why, remedy) => {
                if self.reason.is_none() {
                    (self.reason, self.hint) = (Some(why), Some(remedy));
                }
                Answer::No
            }
        }
    }

    /// In a word, for the list.
    const fn in_a_word(&self) -> &'static str {
        match (self.dump, self.attach) {
            (Answer::No, _) => "no",
            (Answer::Yes, Answer::Yes) => "yes",
            (Answer::Yes, Answer::No) => "dump only",
            (Answer::Yes, _) => "to try",
            (_, Answer::No) => "read only",
            (..) => "unverified",
        }
    }
}

/// `pyenv, BOLT`
fn build(interpreter: &Interpreter) -> Option<String> {
    let owner = packages::owner_by_path(&interpreter.file_inside(), &interpreter.root_here());
    let kind = interpreter.is_bolted().then_some("BOLT");
    let words: Vec<&str> = owner.into_iter().chain(kind).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// From the text of /etc/passwd.
fn name_of(user: u32, names: &str) -> Option<String> {
    names.lines().find_map(|line| {
        let mut words = line.split(':');
        let name = words.next()?;
        (words.nth(1)?.parse::<u32>().ok()? == user).then(|| name.to_owned())
    })
}

/// `python3 -m shop`: the folder of the interpreter would take the room of the words that tell programs apart.
fn shorten_command(argv: &[String]) -> String {
    let Some((first, rest)) = argv.split_first() else { return String::new() };
    // A title that a program gave itself is one word with blanks.
    let is_path = first.starts_with('/') && !first.contains(' ');
    let program: &str = if is_path { first.rsplit('/').next().unwrap_or(first) } else { first };
    let words: Vec<&str> = std::iter::once(program).chain(rest.iter().map(String::as_str)).collect();
    let line = printable(&words.join(" "));
    match line.char_indices().nth(COMMAND_CHARACTERS_MAX) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

fn text(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no Python process is visible here\n".to_owned();
    }
    let user = |row: &Row| row.user_name.clone().unwrap_or_else(|| row.user.to_string());
    let width = |words: &dyn Fn(&Row) -> usize, least: usize| rows.iter().map(words).max().unwrap_or(0).max(least);
    let parents = width(&|row| row.parent.to_string().len(), "PPID".len());
    let users = width(&|row| user(row).chars().count(), "USER".len());
    let builds = width(&|row| row.build.as_ref().map_or(0, |build| build.chars().count()), "BUILD".len());
    let pythons = width(&|row| row.python.as_ref().map_or(0, |python| python.chars().count()), "PYTHON".len());
    let mut page = format!(
        "{:>8}  {:>parents$}  {:<users$}  {:<pythons$}  {:<builds$}  {:>7}  {:<10}  {}\n",
        "PID", "PPID", "USER", "PYTHON", "BUILD", "THREADS", "GENBA", "COMMAND"
    );
    for row in rows {
        let python = row.python.as_deref().unwrap_or("?");
        let build = row.build.as_deref().unwrap_or("-");
        let command = shorten_command(&row.argv);
        page += format!(
            "{:>8}  {:>parents$}  {:<users$}  {python:<pythons$}  {build:<builds$}  {:>7}  {:<10}  {command}",
            row.pid,
            row.parent,
            printable(&user(row)),
            row.threads,
            row.in_a_word()
        )
        .trim_end();
        page.push('\n');
        if let Some(reason) = &row.reason {
            page += &format!("{:10}{}\n", "", printable(reason));
        }
        if let Some(hint) = &row.hint {
            page += &format!("{:10}hint: {}\n", "", printable(hint));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{name_of, shorten_command};

    #[test]
    fn a_user_has_the_name_of_the_list() {
        let names = "root:x:0:0:root:/root:/bin/sh\n# nobody\nbroken\nnobody:x:65534:65534::/:/bin/false\n";
        assert_eq!((name_of(0, names).as_deref(), name_of(65534, names).as_deref()), (Some("root"), Some("nobody")));
        assert_eq!((name_of(7, names), name_of(0, "")), (None, None));
    }

    #[test]
    fn a_command_begins_with_the_name_of_its_interpreter() {
        let line = |words: &[&str]| shorten_command(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        assert_eq!(
            line(&["/srv/venv/bin/python3", "/srv/venv/bin/gunicorn", "-w"]),
            "python3 /srv/venv/bin/gunicorn -w"
        );
        assert_eq!(line(&["/usr/bin/python3 -m shop", "x"]), "/usr/bin/python3 -m shop x");
        assert_eq!(
            (line(&["gunicorn: master [shop]"]), line(&[])),
            ("gunicorn: master [shop]".to_owned(), String::new())
        );
        let long = "x".repeat(80);
        assert_eq!(line(&["/bin/python", &long]), format!("python {}…", "x".repeat(53)));
    }
}
