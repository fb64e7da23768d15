//! How `genba bench` ends when not all is well: the words of each failure, and its exit code.
//! Owns: the words. Never: shows what was measured; `bench` does before.

use genba_bench::Ended;
use genba_bench::comparison::ROUNDS_MIN;
use genba_bench::earlier::RUNS_MIN;
use genba_bench::findings::{Findings, Slower, Unjudged, Why};
use genba_bench::measured::{Early, Session};
use genba_bench::refusal::Refusal;
use genba_profile::figures;

use crate::words::failure::{self, Failure};

pub fn refused(refusal: Refusal) -> Failure {
    let failure = if refusal.is_usage { Failure::usage(refusal.what) } else { Failure::no(refusal.what) };
    refusal.details.into_iter().fold(failure, Failure::detail).hint(refusal.hint)
}

pub fn ended(ended: Ended) -> Failure {
    match ended {
        Ended::Interrupted => Failure::interrupted("interrupted before anything was measured"),
        Ended::Refused(refusal) => refused(refusal),
    }
}

/// What became of what was measured. `written`: each export; one that cannot be written has a failure of its own.
pub fn kept(is_shown: bool, written: &[Result<(), Failure>]) -> &'static str {
    let is_all = written.iter().all(Result::is_ok);
    let is_any = written.iter().any(Result::is_ok);
    match (is_shown, is_any, is_all) {
        (true, true, true) => "shown and exported",
        (true, true, false) => "shown, and exported in part",
        (true, false, _) => "shown",
        (false, true, true) => "exported",
        (false, true, false) => "exported in part",
        (false, false, _) => "neither shown nor exported",
    }
}

/// Each failure is told. An interrupt has the exit code, else the last one; who gets that failure tells it.
pub fn told(all: impl IntoIterator<Item = Result<(), Failure>>) -> Result<(), Failure> {
    let mut failures: Vec<Failure> = all.into_iter().filter_map(Result::err).collect();
    failures.sort_by_key(Failure::is_interrupt);
    let last = failures.pop();
    failures.iter().for_each(|one| failure::say(&one.to_string()));
    last.map_or(Ok(()), Err)
}

/// `made`: what was measured, and what became of it (`kept`). None: nothing was measured.
pub fn ended_early(early: &Early, made: Option<(&Session, &str)>) -> Failure {
    let failure = match (&early.failure, made) {
        (Some(refusal), _) => refused(refusal.clone()),
        (None, None) => Failure::interrupted("interrupted before anything was measured"),
        (None, Some((made, _))) => {
            let rounds = made.is_interleaved.then(|| made.rounds());
            Failure::interrupted(interrupted(rounds, made.runs(), early.planned))
        }
    };
    let kept = made.map(|(_, kept)| format!("what was measured until then is {kept}"));
    let failure = kept.into_iter().fold(failure, Failure::detail);
    let Some(cleanup) = &early.cleanup_failure else { return failure };
    let failure = failure.detail(format!("afterwards {}", cleanup.what));
    cleanup.details.iter().fold(failure, |failure, line| failure.detail(line.clone()))
}

/// How far it came: one after the other there are no rounds. `rounds`: of commands in turns.
fn interrupted(rounds: Option<usize>, runs: usize, planned: Option<usize>) -> String {
    let kept = figures::counted(runs as u64, "run", "runs");
    match (rounds, planned) {
        (Some(0), _) => format!("interrupted in the first round, after {kept}"),
        (Some(rounds), Some(planned)) => format!("interrupted after {rounds} of {planned} rounds"),
        (None, Some(planned)) => format!("interrupted after {runs} of {planned} runs"),
        (_, None) => format!("interrupted after {kept}"),
    }
}

/// Fewer runs give no interval: before they cost any time. `is_beside`: the first command is measured in the same rounds.
pub fn check_can_judge(runs_max: Option<usize>, is_beside: bool) -> Result<(), Failure> {
    let needed = if is_beside { ROUNDS_MIN } else { RUNS_MIN };
    match runs_max {
        Some(runs) if runs < needed => {
            Err(Failure::usage(format!("--fail-if-slower cannot judge {runs} of the {needed} runs that it needs"))
                .detail("fewer runs have no interval, so nothing would ever be slower")
                .hint(format!("--runs {needed}, or more")))
        }
        _ => Ok(()),
    }
}

/// By `--fail-if-slower`.
pub fn judge(findings: &Findings<'_>) -> Result<(), Failure> {
    let slower = findings.slower();
    if !slower.is_empty() {
        return Err(too_slow(&slower, findings.slower_max.unwrap_or(0.0)));
    }
    let unjudged = findings.unjudged();
    match (unjudged.commands.as_slice(), unjudged.is_any_judged) {
        ([], _) => Ok(()),
        (_, false) => Err(not_judged(&unjudged)),
        (commands, true) => {
            for (name, why) in commands {
                failure::say(&format!("warning: --fail-if-slower did not judge {name}: {}", reason(*why)));
            }
            Ok(())
        }
    }
}

fn not_judged(unjudged: &Unjudged) -> Failure {
    let failure = Failure::usage("--fail-if-slower could judge nothing");
    let failure = unjudged
        .commands
        .iter()
        .fold(failure, |failure, (name, why)| failure.detail(format!("{name}: {}", reason(*why))));
    let has = |why: Why| unjudged.commands.iter().any(|(_, found)| *found == why);
    let failure = if has(Why::NotInFiles) { failure.hint(names_in_words(&unjudged.names_before)) } else { failure };
    let more_runs = has(Why::TooFewRuns) || !has(Why::NotInFiles);
    if more_runs { failure.hint("--runs 10, here and in earlier sessions") } else { failure }
}

/// A command is found again by its name.
fn names_in_words(before: &[String]) -> String {
    const NAMES_MAX: usize = 3;
    let named: Vec<String> = before.iter().take(NAMES_MAX).map(|name| format!("`{name}`")).collect();
    let more = before.len().saturating_sub(NAMES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("earlier sessions have {}{more}: -n NAME gives a command one of these names", named.join(", "))
}

fn reason(why: Why) -> String {
    match why {
        Why::TooFewRuns => format!(
            "too few runs for an interval: {ROUNDS_MIN} beside the first command, {RUNS_MIN} in each session or one after the other"
        ),
        Why::NotInFiles => "no earlier session has it".to_owned(),
        Why::NoTime => "no time that could be measured".to_owned(),
    }
}

fn too_slow(slower: &[Slower], most: f64) -> Failure {
    let percent = most * 100.0;
    let failure = Failure::no(format!("slower by more than {percent} %, and certainly so"));
    slower.iter().fold(failure, |failure, one| {
        failure.detail(format!("{}: {:.3} to {:.3} times as long as {}", one.name, one.low, one.high, one.than))
    })
}

#[cfg(test)]
mod tests {
    use super::{interrupted, kept, not_judged, told};
    use crate::words::failure::Failure;
    use genba_bench::findings::{Unjudged, Why};

    /// More runs do not bring a command into an earlier session.
    #[test]
    fn what_helps_follows_from_why_nothing_was_judged() {
        let hints = |whys: &[Why], before: &[&str]| {
            let unjudged = Unjudged {
                commands: whys.iter().map(|why| ("sleep 0.03".to_owned(), *why)).collect(),
                names_before: before.iter().map(ToString::to_string).collect(),
                ..Unjudged::default()
            };
            let said = not_judged(&unjudged).to_string();
            let hints = said.lines().filter_map(|line| line.strip_prefix("hint: "));
            hints.map(str::to_owned).collect::<Vec<_>>()
        };
        let runs = "--runs 10, here and in earlier sessions";
        assert_eq!(hints(&[Why::TooFewRuns], &["sleep 0.01"]), [runs]);
        let names = "earlier sessions have `sleep 0.01`: -n NAME gives a command one of these names";
        assert_eq!(hints(&[Why::NotInFiles], &["sleep 0.01"]), [names]);
        assert_eq!(hints(&[Why::NotInFiles, Why::TooFewRuns], &["sleep 0.01"]), [names, runs]);
        let many = hints(&[Why::NotInFiles], &["a", "b", "c", "d", "e"]);
        assert_eq!(
            many,
            ["earlier sessions have `a`, `b`, `c` and 2 more: -n NAME gives a command one of these names"]
        );
    }

    #[test]
    fn of_several_failures_an_interrupt_has_the_exit_code_or_the_last_one() {
        let last_of = |first: Failure| {
            let found = told([Err(first), Ok(()), Err(Failure::usage("cannot write a.json"))]);
            found.map_err(|failure| failure.to_string())
        };
        assert_eq!(last_of(Failure::no("slower")), Err("error: cannot write a.json".to_owned()));
        assert_eq!(last_of(Failure::interrupted("interrupted")), Err("error: interrupted".to_owned()));
        assert!(told([Ok(()), Ok(())]).is_ok());
    }

    #[test]
    fn what_was_measured_is_kept_as_far_as_it_could_be() {
        let failed = || Err(Failure::usage("cannot write a.json"));
        assert_eq!((kept(true, &[]), kept(false, &[])), ("shown", "neither shown nor exported"));
        assert_eq!((kept(true, &[Ok(())]), kept(false, &[Ok(())])), ("shown and exported", "exported"));
        assert_eq!((kept(true, &[failed()]), kept(false, &[failed()])), ("shown", "neither shown nor exported"));
        let in_part = [failed(), Ok(())];
        assert_eq!((kept(true, &in_part), kept(false, &in_part)), ("shown, and exported in part", "exported in part"));
    }

    #[test]
    fn an_interrupt_says_how_many_runs_are_kept() {
        assert_eq!(interrupted(Some(2), 5, Some(9)), "interrupted after 2 of 9 rounds");
        assert_eq!(interrupted(Some(0), 1, Some(9)), "interrupted in the first round, after 1 run");
        assert_eq!(interrupted(None, 35, Some(120)), "interrupted after 35 of 120 runs");
        assert_eq!(interrupted(None, 35, None), "interrupted after 35 runs");
    }
}
