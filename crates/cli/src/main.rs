//! The genba command: its verbs, and the one place where a failure becomes words and an exit code.
//! Owns: the list of verbs and the groups they stand in. Never: does a verb's work (a file per verb), decides about
//! another process, prints to stdout except help and version.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod files;
mod finish;
mod read;
mod recording;
mod settings;
mod upload;
mod verbs;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use genba_profile::wrap::wrapped_on_screen;

use crate::read::Stream;
use crate::verbs::{
    attach, bench, check, completions, diff, doctor, dump, export, gc, heap, html, lines, man, ps, pstats, push,
    report, run, serve, top, trace, tree, view, within,
};
use crate::words::failure::{self, Failure};

/// Where the time of a Python program goes, and what happens underneath in C.
#[derive(Parser)]
#[command(name = "genba", version, disable_help_subcommand = true, subcommand_value_name = "VERB")]
struct Genba {
    #[command(subcommand)]
    verb: Verb,
}

/// One line a verb: `Name(name::Arguments)`, carried out by `name::name(&Arguments) -> Result<ExitCode, Failure>`.
#[derive(Subcommand)]
enum Verb {
    /// Start a program and record it
    Run(run::Arguments),
    /// Record a process that is running already, and leave it as it was
    Attach(attach::Arguments),
    /// Watch a recording grow, live in the terminal: where the time goes while the program runs
    Top(top::Arguments),
    /// Count every call of a program, as cProfile does: exact calls, and times of every function and caller
    Trace(trace::Arguments),
    /// The answer: which expressions of your own code the time goes to, and what happens underneath
    Report(report::Arguments),
    /// Whole call paths, from root to leaf: callers apart, the lines of one caller together
    Tree(tree::Arguments),
    /// Annotated source: what each line costs, and which of its expressions
    Lines(lines::Arguments),
    /// What changed between two recordings, or two sets of them, and whether the samples can tell
    Diff(diff::Arguments),
    /// Garbage collections: pauses, where they ran, what they gained, and what would spare the program some (recorded with --gc)
    Gc(gc::Arguments),
    /// What python -m pstats shows of counts by cProfile or genba trace: its shell, and its words as options
    Pstats(pstats::Arguments),
    /// Look at recordings in the browser, and compare them; the pages are served on this machine only
    View(view::Arguments),
    /// Check that blocks are intact and both laws hold; exit code 0 or 1
    Check(check::Arguments),
    /// Python processes on this machine, and what genba may do with each
    Ps(ps::Arguments),
    /// What every thread of a running Python process is doing now
    Dump(dump::Arguments),
    /// Which classes fill the heap of a running Python process
    Heap(heap::Arguments),
    /// What is slow or forbidden here, in an interpreter, a process or the clock; and the smallest remedy
    Doctor(doctor::Arguments),
    /// Write one page that shows the recording in any browser, without a network
    Html(html::Arguments),
    /// Write the recording in another format
    Export(export::Arguments),
    /// Send a recording to a genba server, and print the address of its page
    Push(push::Arguments),
    /// The server of a team: keep recordings, find them again, share them
    Serve(serve::Arguments),
    /// Which command is faster, measured in turns, and whether the difference is certain; Python snippets too
    Bench(Box<bench::Arguments>),
    /// What a shell needs to complete genba's words: source <(genba completions bash)
    #[command(hide = true)]
    Completions(completions::Arguments),
    /// The manual page: genba man | man -l -
    #[command(hide = true)]
    Man(man::Arguments),
    /// What `import genba` needs
    #[command(hide = true)]
    Within(within::Arguments),
}

/// The groups of `--help`, in order. A verb that is in none of them, and not hidden, fails the test below.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Record", &["run", "attach", "top", "trace"]),
    ("Read", &["report", "tree", "lines", "diff", "gc", "pstats", "view", "check"]),
    ("Look at a process", &["ps", "dump", "heap", "doctor"]),
    ("Share", &["html", "export", "push", "serve"]),
    ("Prove", &["bench"]),
];

const MORE: &str = "\
The verbs that read take recordings of genba, logs of vmprof (plain, gzip, bz2),
.prof files of cProfile and collapsed stacks, told by their content.
genba VERB --help tells the options of a verb; genba man [VERB] and
genba completions bash|zsh|fish write manual pages and completions.";

fn main() -> ExitCode {
    match parse() {
        Ok(genba) => match perform(genba.verb) {
            Ok(code) => code,
            Err(failure) => failure.print(),
        },
        Err(code) => code,
    }
}

fn perform(verb: Verb) -> Result<ExitCode, Failure> {
    match verb {
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Attach(arguments) => attach::attach(&arguments),
        Verb::Top(arguments) => top::top(&arguments),
        Verb::Trace(arguments) => trace::trace(&arguments),
        Verb::Report(arguments) => report::report(&arguments),
        Verb::Tree(arguments) => tree::tree(&arguments),
        Verb::Lines(arguments) => lines::lines(&arguments),
        Verb::Diff(arguments) => diff::diff(&arguments),
        Verb::Gc(arguments) => gc::gc(&arguments),
        Verb::Pstats(arguments) => pstats::pstats(&arguments),
        Verb::View(arguments) => view::view(&arguments),
        Verb::Serve(arguments) => serve::serve(&arguments),
        Verb::Ps(arguments) => ps::ps(&arguments),
        Verb::Dump(arguments) => dump::dump(&arguments),
        Verb::Heap(arguments) => heap::heap(&arguments),
        Verb::Doctor(arguments) => doctor::doctor(&arguments),
        Verb::Check(arguments) => check::check(&arguments),
        Verb::Html(arguments) => html::html(&arguments),
        Verb::Export(arguments) => export::export(&arguments),
        Verb::Push(arguments) => push::push(&arguments),
        Verb::Bench(arguments) => bench::bench(&arguments),
        Verb::Completions(arguments) => completions::completions(&arguments, &command()),
        Verb::Man(arguments) => man::man(&arguments, command()),
        Verb::Within(arguments) => within::within(&arguments),
    }
}

/// The command line with the settings, or the exit code after its help, version, settings or error was printed.
fn parse() -> Result<Genba, ExitCode> {
    let definition = command();
    let words = match settings::applied(&definition, asking_for_help(std::env::args_os().collect())) {
        Ok(settings::Applied::Words(words)) => words,
        Ok(settings::Applied::Shown(page)) => return Err(printed(&page)),
        Err(failure) => return Err(failure.print()),
    };
    let parsed = definition.try_get_matches_from(words).and_then(|matches| Genba::from_arg_matches(&matches));
    parsed.map_err(|refusal| failure::of_command_line(&refusal, &command()))
}

/// `genba` alone and `genba help` are `genba --help`, `genba help run` is `genba run --help`.
fn asking_for_help(mut words: Vec<OsString>) -> Vec<OsString> {
    match words.get(1) {
        None => words.push("--help".into()),
        Some(word) if word == "help" => {
            words.remove(1);
            words.truncate(2);
            words.push("--help".into());
        }
        Some(_) => {}
    }
    words
}

fn printed(page: &str) -> ExitCode {
    match read::print(page) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.print(),
    }
}

/// The definition, with the verbs in groups on its help page.
fn command() -> clap::Command {
    let command = Genba::command().mut_subcommands(|verb| match verb.is_hide_set() {
        true => verb,
        false => settings::with_show_config(verb),
    });
    let groups = groups_of_help(&command);
    command
        .help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}\n\n{MORE}\n"))
}

fn groups_of_help(command: &clap::Command) -> String {
    const VERB_CELLS: usize = 11;
    let width = read::screen_width(Stream::Stdout);
    let mut page = String::new();
    for (heading, verbs) in GROUPS {
        let found: Vec<_> = verbs.iter().filter_map(|verb| command.find_subcommand(verb)).collect();
        if found.is_empty() {
            continue;
        }
        page.push_str(&format!("{heading}:\n"));
        for verb in found {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            let lines = wrapped_on_screen(&about, width.map(|width| width.saturating_sub(VERB_CELLS)));
            let below = format!("\n{:VERB_CELLS$}", "");
            page.push_str(&format!("  {:<8} {}\n", verb.get_name(), lines.join(&below)));
        }
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_stands_in_a_group_and_the_definition_holds() {
        let command = command();
        command.clone().debug_assert();
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            assert!(
                GROUPS.iter().any(|(_, verbs)| verbs.contains(&verb.get_name())),
                "`{}` is in no group of --help",
                verb.get_name()
            );
        }
    }
}
