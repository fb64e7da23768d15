//! How many instructions a command takes: one more run of each, counted by the processor where its counter can be read. In containers and virtual
//! machines it mostly cannot: there the run is in valgrind's callgrind, which counts one by one. So is a further run of a command of which the
//! processor counted a part only.
//! Owns: which of the two counts, how callgrind is started, and what its files add up to. Never: times such a run: callgrind's takes some fifty times
//! as long.
//!
//! Source: valgrind's manual, 6.3 (callgrind's options) and "Callgrind Format Specification".

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::commands::{CommandRuns, Counting};
use super::counters;
use super::process::Random;
use super::rounds::{self, Plan, Progress, Subject};
use super::shell::Shell;
use crate::subjects::lines::Line;
use crate::subjects::measured::{CountedBy, Early, Instructions, Measured};
use crate::words::refusal::{Refusal, of_system};

const ONE_RUN: Plan = Plan::with_runs(1, false);

/// Before anything is measured.
///
/// # Errors
/// The processor's counter cannot be read, and there is no valgrind.
pub fn check() -> Result<(), Refusal> {
    if counters::instructions().is_ok() { Ok(()) } else { check_valgrind() }
}

fn check_valgrind() -> Result<(), Refusal> {
    let hint = "apt-get install valgrind, or leave out --instructions";
    let asked = Command::new("valgrind").arg("--version").stdin(Stdio::null()).output();
    match asked {
        Ok(answer) if answer.status.success() => Ok(()),
        Ok(answer) => Err(Refusal::usage(format!("valgrind --version {}", answer.status), hint)),
        Err(error) => Err(Refusal::usage(format!("cannot start valgrind: {}", of_system(&error)), hint)
            .detail("it counts the instructions of --instructions")),
    }
}

/// In the order of the commands: of a command and all its children, in user mode, without the shell's own. `folder`: an empty one.
///
/// # Errors
/// A command failed in callgrind, or genba was interrupted: the commands before it have their numbers.
pub fn count(
    runs: &mut [CommandRuns<'_>],
    measured: &mut [Measured],
    folder: &Path,
    progress: &Progress,
) -> Result<(), Early> {
    let Some(first) = runs.first() else { return Ok(()) };
    let (host, output) = (first.host, first.output);
    let nothing = Line { command: String::new(), name: "the shell".to_owned(), parameters: Default::default() };
    let of_shell = |by: CountedBy| match host.shell {
        Shell::None => Ok(Some(0)),
        Shell::Words(_) => {
            let mut shell = CommandRuns {
                host,
                line: &nothing,
                output,
                setup: None,
                prepare: None,
                conclude: None,
                cleanup: None,
                random: Random::with_seed(0),
                through: VecDeque::new(),
                instructions: Counting::No,
            };
            count_one(&mut shell, by, folder, progress)
        }
    };
    let has_counter = counters::instructions().is_ok();
    // The shell's own, by each: valgrind's once a command needs it.
    let by_processor = if has_counter { of_shell(CountedBy::Processor)? } else { None };
    let mut by_valgrind = None;
    for (run, measured) in runs.iter_mut().zip(measured) {
        if let Some(shell) = by_processor
            && let Some(count) = count_one(run, CountedBy::Processor, folder, progress)?
        {
            let count = count.saturating_sub(shell);
            measured.instructions = Some(Instructions { count, by: CountedBy::Processor });
            continue;
        }
        if has_counter && let Err(refusal) = check_valgrind() {
            return Err(early(in_part(&run.line.name, &refusal)));
        }
        if by_valgrind.is_none() {
            by_valgrind = of_shell(CountedBy::Valgrind)?;
        }
        let count = count_one(run, CountedBy::Valgrind, folder, progress)?;
        measured.instructions = count
            .zip(by_valgrind)
            .map(|(count, shell)| Instructions { count: count.saturating_sub(shell), by: CountedBy::Valgrind });
    }
    Ok(())
}

fn early(failure: Refusal) -> Early {
    Early { planned: Some(1), failure: Some(failure), cleanup_failure: None }
}

fn in_part(name: &str, without: &Refusal) -> Refusal {
    let why = "others use the counter, the processor has two kinds of cores, or the command runs as another user";
    Refusal::no(
        format!("cannot count instructions of {name}: the processor's counter did not run all the time"),
        "apt-get install valgrind, which counts then, or leave out --instructions",
    )
    .detail(why)
    .detail(without.what.clone())
}

/// `None`: the processor counted a part of the run only.
fn count_one(
    run: &mut CommandRuns<'_>,
    by: CountedBy,
    folder: &Path,
    progress: &Progress,
) -> Result<Option<u64>, Early> {
    progress.say(format!("counting instructions of {}", run.line.name));
    match by {
        CountedBy::Processor => by_processor(run, progress),
        CountedBy::Valgrind => in_valgrind(run, folder, progress).map(Some),
    }
}

fn by_processor(run: &mut CommandRuns<'_>, progress: &Progress) -> Result<Option<u64>, Early> {
    run.instructions = Counting::Wanted;
    let made = rounds::measure(&mut [run as &mut dyn Subject], &ONE_RUN, progress)?;
    match (made.ended_early, std::mem::take(&mut run.instructions)) {
        (Some(early), _) => Err(early),
        (None, Counting::Counted(count)) => Ok(Some(count)),
        (None, Counting::InPart) => Ok(None),
        (None, Counting::No | Counting::Wanted) => {
            Err(early(Refusal::no("the run was not counted", "genba bench without --instructions")))
        }
    }
}

fn in_valgrind(run: &mut CommandRuns<'_>, folder: &Path, progress: &Progress) -> Result<u64, Early> {
    // A percent sign of the folder's is not one of callgrind's.
    let files = format!("--callgrind-out-file={}/%p", folder.display().to_string().replace('%', "%%"));
    let words = ["valgrind", "--quiet", "--tool=callgrind", "--trace-children=yes", &files];
    run.through.push_back(words.map(str::to_owned).to_vec());
    let made = rounds::measure(&mut [run as &mut dyn Subject], &ONE_RUN, progress)?;
    if let Some(early) = made.ended_early {
        return Err(early);
    }
    summed(folder).map_err(early)
}

/// Of the files of all processes, which go.
fn summed(folder: &Path) -> Result<u64, Refusal> {
    let refused = |error: &io::Error| {
        Refusal::no(
            format!("cannot read what callgrind wrote: {}", of_system(error)),
            "TMPDIR=/path/to/folder genba bench …",
        )
    };
    let mut sum = None;
    for entry in fs::read_dir(folder).map_err(|error| refused(&error))? {
        let path = entry.map_err(|error| refused(&error))?.path();
        let text = fs::read(&path).map_err(|error| refused(&error))?;
        if let Some(total) = total(&String::from_utf8_lossy(&text)) {
            sum = Some(sum.unwrap_or(0_u64).saturating_add(total));
        }
        fs::remove_file(&path).map_err(|error| refused(&error))?;
    }
    sum.ok_or_else(|| {
        Refusal::no("callgrind counted nothing", "try it without genba: valgrind --tool=callgrind COMMAND")
            .detail("a program that ends itself by a signal or as another user writes no file")
    })
}

/// Instructions are the first number of a file's totals.
fn total(text: &str) -> Option<u64> {
    let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse().ok());
    of("totals:").or_else(|| of("summary:"))
}

#[cfg(test)]
mod tests {
    use super::{summed, total};

    #[test]
    fn all_processes_are_added_up() {
        let folder = tempfile::tempdir().expect("a folder");
        for (pid, text) in [("7", "events: Ir\n\nsummary: 70\ntotals: 71\n"), ("8", "summary: 9 2\n"), ("9", "cut")] {
            std::fs::write(folder.path().join(pid), text).expect("a file");
        }
        assert_eq!(summed(folder.path()), Ok(80));
        let nothing = summed(folder.path()).expect_err("the files are gone");
        assert_eq!(nothing.what, "callgrind counted nothing");
        assert_eq!(total("totals: x\n"), None);
    }
}
