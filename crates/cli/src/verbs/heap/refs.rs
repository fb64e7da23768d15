//! `genba heap refs`: what keeps the objects of a class alive.
//! Owns: the options, and which class is meant. Never: finds a way itself: the agent does, inside the process.

use std::process::ExitCode;

use clap::Args;
use genba_heap::answer::{Answer, Class};
use genba_heap::chains::{Called, is_called};
use genba_process::interpreter;
use genba_profile::report::printable;

use super::asking::{self, Sought, Wants};
use super::choice::{self, Wish};
use super::interrupt::Interrupt;
use super::page::{Format, Page, Row};
use super::ways::{Ways, text};
use crate::read;
use crate::verbs::attach::entering;
use crate::words::failure::Failure;
use crate::words::numbers;
use crate::words::pids;
use crate::words::progress::during;
use crate::words::refused::refused;

const SAMPLE: u64 = 1000;
const NEAR_MAX: usize = 5;
/// Of two names, from 0 to 1.
const NEAR_MIN: f64 = 0.75;

#[derive(Args)]
pub struct Arguments {
    /// The process; genba ps lists those of Python
    #[arg(value_name = "PID", value_parser = pids::pid)]
    pid: u32,

    /// The class: module.Name, or Name where no other has it
    #[arg(long, value_name = "CLASS")]
    class: String,

    /// Follow the ways to so many of its objects, evenly from all of them
    #[arg(long, value_name = "N", default_value_t = SAMPLE, value_parser = numbers::from_to::<u64>(1, 100_000))]
    sample: u64,

    /// Look at a copy of the process, or fail: the program is held only while the copy is made
    #[arg(long, conflicts_with = "in_place")]
    fork: bool,

    /// Hold the program for the whole time, and make no copy
    #[arg(long)]
    in_place: bool,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

pub fn refs(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let interpreter = interpreter::find(arguments.pid).map_err(|refusal| refused(&refusal))?;
    entering::check(&interpreter)?;
    let choice = choice::choose(&interpreter, Wish::of(arguments.fork, arguments.in_place));
    let sought = Sought { class: arguments.class.clone(), sample: arguments.sample };
    let wants = Wants { held: Some(sought), ..Wants::default() };
    let interrupt = Interrupt::watch()?;
    let mut asked = during("following references", || asking::ask(&interpreter, &choice, wants, &interrupt))?;
    let class = meant(arguments.pid, &arguments.class, &asked.answer)?;
    let held = asked.answer.held.unwrap_or_default();
    let chains = std::mem::take(&mut asked.answer.chains);
    let names: Vec<(u64, String)> =
        asked.answer.classes.iter().map(|class| (class.row, Row::of(class.clone()).full_name())).collect();
    let ways = Ways::new(Page::new(&interpreter, &choice, asked), class, held, &chains, &names);
    match arguments.format {
        Format::Text => read::print_wrapped(&text(&ways))?,
        Format::Json => read::print(&ways.json()?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The full name of the class that the words mean.
fn meant(pid: u32, wanted: &str, answer: &Answer) -> Result<String, Failure> {
    let called = |class: &&Class| {
        is_called(class.module.as_deref().map(str::as_bytes), class.name.as_bytes(), wanted.as_bytes())
    };
    let all = |by: Called| {
        let mut names: Vec<String> = answer
            .classes
            .iter()
            .filter(|class| called(class) == by)
            .map(|class| Row::of(class.clone()).full_name())
            .collect();
        names.sort();
        names.dedup();
        names
    };
    let wholly = all(Called::Wholly);
    let names = if wholly.is_empty() { all(Called::ByItsName) } else { wholly };
    match names.as_slice() {
        [name] => Ok(name.clone()),
        [] => {
            Err(Failure::no(format!("process {pid} has no object of a class {wanted}")).hint(near(wanted, answer, pid)))
        }
        [first, ..] => Err(Failure::no(format!("process {pid} has {} classes of the name {wanted}", names.len()))
            .detail(printable(&names.join(", ")))
            .hint(printable(&format!("--class {first}")))),
    }
}

fn near(wanted: &str, answer: &Answer, pid: u32) -> String {
    let mut names: Vec<(f64, String)> = answer
        .classes
        .iter()
        .map(|class| {
            let full = Row::of(class.clone()).full_name();
            let likeness = |name: &str| strsim::jaro_winkler(&name.to_lowercase(), &wanted.to_lowercase());
            (likeness(&full).max(likeness(&class.name)), full)
        })
        .filter(|(likeness, _)| *likeness >= NEAR_MIN)
        .collect();
    names.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    names.dedup_by(|one, other| one.1 == other.1);
    let names: Vec<String> = names.into_iter().take(NEAR_MAX).map(|(_, name)| name).collect();
    match names.is_empty() {
        true => format!("genba heap {pid} lists the classes"),
        false => format!("it has {}; genba heap {pid} lists all", printable(&names.join(", "))),
    }
}
