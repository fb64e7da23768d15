//! What a session shows: a summary of each command, its ratio to the reference, and to itself at other times.
//! Owns: which command is the reference, which pairs are compared, what counts as slower. Never: measures; lays out text.

use std::collections::BTreeSet;

use crate::statistics::comparison::{Comparison, Ratio, all_pairs};
use crate::statistics::earlier::{Apart, Sample};
use crate::statistics::needed::runs_needed;
use crate::statistics::noise::{self, Floor};
use crate::statistics::summary::Summary;
use crate::statistics::trend::Trend;
use crate::subjects::lines::Line;
use crate::subjects::measured::{Measured, Session};

#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The command that the others are compared with; else the fastest.
    pub reference: Option<usize>,
    /// For how large a difference the runs are told that would show it, as a part.
    pub difference: f64,
    /// More than that much slower fails, as a part.
    pub slower_max: Option<f64>,
    pub earlier: Vec<Earlier>,
}

/// A file of `--against`, or a history: names and times of its commands.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    pub file: String,
    pub times: Vec<(String, Vec<f64>)>,
}

impl Earlier {
    /// By its name, else by its command line. None: it was not measured then.
    #[must_use]
    pub fn times_of(&self, line: &Line) -> Option<&[f64]> {
        let named = |name: &String| self.times.iter().find(|(one, _)| one == name);
        let (_, times) = named(&line.name).or_else(|| named(&line.command))?;
        Some(times)
    }
}

#[derive(Debug)]
pub struct Findings<'a> {
    pub session: &'a Session,
    /// Of each command that was measured at least once, in their order.
    pub rows: Vec<Row<'a>>,
    /// Into `rows`.
    pub reference: usize,
    pub is_reference_asked: bool,
    pub difference: f64,
    pub slower_max: Option<f64>,
    /// Files of `--against`, and a history.
    pub sessions: usize,
    /// Of the commands in these, each once.
    pub names_before: Vec<String>,
    pub start_up: Option<StartUp<'a>>,
}

/// What all commands do before their work, and what is left without it.
#[derive(Debug)]
pub struct StartUp<'a> {
    pub measured: &'a Measured,
    pub summary: Summary,
    pub beyond: Box<Findings<'a>>,
}

#[derive(Debug)]
pub struct Row<'a> {
    pub measured: &'a Measured,
    pub summary: Summary,
    /// So far apart two commands may seem that are both this one. None: too few runs.
    pub noise: Option<Floor>,
    /// From its first run to its last.
    pub trend: Option<Trend>,
    /// None: it is the reference, or there is no ratio.
    pub ratio: Option<Beside>,
    /// To the same command at other times.
    pub apart: Option<Apart>,
}

/// To the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beside {
    /// Measured in turns.
    Interleaved {
        ratio: Ratio,
        /// Of each, to show `difference`; None: too many to tell.
        runs_needed: Option<usize>,
    },
    /// Measured one after the other: as uncertain as two sessions.
    Apart(Apart),
}

impl Beside {
    #[must_use]
    pub fn ratio(&self) -> f64 {
        match self {
            Beside::Interleaved { ratio, .. } => ratio.ratio,
            Beside::Apart(apart) => apart.ratio,
        }
    }

    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        match self {
            Beside::Interleaved { ratio, .. } => ratio.interval,
            Beside::Apart(apart) => apart.interval,
        }
    }

    #[must_use]
    pub fn is_shown(&self) -> bool {
        match self {
            Beside::Interleaved { ratio, .. } => ratio.is_shown(),
            Beside::Apart(apart) => apart.is_shown(),
        }
    }
}

/// A command that is certainly slower than it may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Slower {
    pub name: String,
    pub than: String,
    pub low: f64,
    pub high: f64,
}

impl<'a> Findings<'a> {
    /// None: nothing was measured.
    #[must_use]
    pub fn of(session: &'a Session, asked: &Asked) -> Option<Findings<'a>> {
        let measured: Vec<&Measured> = session.measured.iter().filter(|one| !one.runs.is_empty()).collect();
        let summaries: Vec<Summary> = measured.iter().filter_map(|one| Summary::of(&one.times())).collect();
        let fastest = |one: &usize, other: &usize| summaries[*one].mean.total_cmp(&summaries[*other].mean);
        let reference = asked.reference.filter(|reference| *reference < measured.len());
        let reference = reference.or_else(|| (0..summaries.len()).min_by(fastest))?;
        let besides = besides(session, &measured, reference, asked);
        let aparts = aparts(&measured, &asked.earlier);
        let rows = measured.into_iter().zip(summaries).zip(besides).zip(aparts);
        let rows = rows.map(|(((measured, summary), ratio), apart)| Row {
            noise: noise::floor(&measured.times()),
            trend: Trend::of(&measured.times()),
            measured,
            summary,
            ratio,
            apart,
        });
        Some(Findings {
            session,
            rows: rows.collect(),
            reference,
            is_reference_asked: asked.reference.is_some(),
            difference: asked.difference,
            slower_max: asked.slower_max,
            sessions: asked.earlier.len(),
            names_before: names(&asked.earlier),
            start_up: session.start_up.as_ref().and_then(|start_up| {
                let asked = Asked { earlier: Vec::new(), ..asked.clone() };
                Some(StartUp {
                    measured: &start_up.measured,
                    summary: Summary::of(&start_up.measured.times())?,
                    beyond: Box::new(Findings::of(&start_up.beyond, &asked)?),
                })
            }),
        })
    }

    /// Rows but the reference, the fastest first.
    #[must_use]
    pub fn by_time(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by(|one, other| self.rows[*one].summary.mean.total_cmp(&self.rows[*other].summary.mean));
        order
    }

    /// Those whose whole interval lies beyond `slower_max`: beside the reference that was asked for, and beside themselves at other times.
    #[must_use]
    pub fn slower(&self) -> Vec<Slower> {
        let Some(most) = self.slower_max else { return Vec::new() };
        let reference = &self.rows[self.reference].measured.line.name;
        let mut slower = Vec::new();
        for row in &self.rows {
            let name = &row.measured.line.name;
            let beside = row.ratio.filter(|_| self.is_reference_asked).and_then(|ratio| ratio.interval());
            let apart = row.apart.and_then(|apart| apart.interval);
            for (interval, than) in [(beside, reference.as_str()), (apart, "at other times")] {
                if let Some((low, high)) = interval.filter(|(low, _)| *low > 1.0 + most) {
                    slower.push(Slower { name: name.clone(), than: than.to_owned(), low, high });
                }
            }
        }
        slower
    }

    /// Commands of which nobody can say whether they are slower.
    #[must_use]
    pub fn unjudged(&self) -> Unjudged {
        let mut unjudged = Unjudged { names_before: self.names_before.clone(), ..Unjudged::default() };
        let is_asked = |position: &usize| self.is_beside_asked(*position) || self.sessions > 0;
        for position in (0..self.rows.len()).filter(|position| self.slower_max.is_some() && is_asked(position)) {
            let row = &self.rows[position];
            let beside = row.ratio.filter(|_| self.is_beside_asked(position));
            let has_interval = beside.and_then(|beside| beside.interval()).is_some();
            if has_interval || row.apart.is_some_and(|apart| apart.interval.is_some()) {
                unjudged.is_any_judged = true;
                continue;
            }
            let why = match (beside.is_some() || row.apart.is_some(), row.summary.mean > 0.0) {
                (true, _) => Why::TooFewRuns,
                (false, true) if self.sessions > 0 => Why::NotInFiles,
                (false, _) => Why::NoTime,
            };
            unjudged.commands.push((row.measured.line.name.clone(), why));
        }
        unjudged
    }

    /// Its ratio to the first command is judged.
    fn is_beside_asked(&self, position: usize) -> bool {
        self.is_reference_asked && position != self.reference
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unjudged {
    pub commands: Vec<(String, Why)>,
    /// There are others.
    pub is_any_judged: bool,
    /// What earlier sessions have.
    pub names_before: Vec<String>,
}

/// Why `slower_max` cannot judge a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A ratio without an interval.
    TooFewRuns,
    /// Of `--against`, or in the history.
    NotInFiles,
    /// It took none that could be measured, or what it is compared with did.
    NoTime,
}

fn besides(session: &Session, measured: &[&Measured], reference: usize, asked: &Asked) -> Vec<Option<Beside>> {
    let times: Vec<Vec<f64>> = measured.iter().map(|one| one.times()).collect();
    let others = (0..times.len()).map(|other| (other != reference).then_some(other));
    // The fastest is chosen by the same times: then each pair may be the one that is shown.
    let pairs = match asked.reference {
        Some(_) => (0..times.len()).filter(|other| *other != reference).map(|other| (reference, other)).collect(),
        None => all_pairs(times.len()),
    };
    if !session.is_interleaved {
        let samples: Vec<Option<Sample>> = times.iter().map(|times| Sample::of(times)).collect();
        let compared = pairs.len();
        let beside = |other: usize| {
            let (one, other) = (samples[reference].as_ref()?, samples[other].as_ref()?);
            Apart::of(std::slice::from_ref(one), other, compared).map(Beside::Apart)
        };
        return others.map(|other| other.and_then(beside)).collect();
    }
    let comparison = Comparison::of(&times, &pairs);
    let beside = |other: usize| {
        let ratio = comparison.ratio(reference, other)?;
        let runs_needed = runs_needed(&ratio, asked.difference, comparison.compared);
        Some(Beside::Interleaved { ratio, runs_needed })
    };
    others.map(|other| other.and_then(beside)).collect()
}

fn names(earlier: &[Earlier]) -> Vec<String> {
    let all: BTreeSet<&String> = earlier.iter().flat_map(|file| &file.times).map(|(name, _)| name).collect();
    all.into_iter().cloned().collect()
}

/// By name: the same command in each of the files that has it.
fn aparts(measured: &[&Measured], earlier: &[Earlier]) -> Vec<Option<Apart>> {
    let then = |one: &&Measured| -> Vec<Sample> {
        earlier.iter().filter_map(|file| Sample::of(file.times_of(&one.line)?)).collect()
    };
    let samples: Vec<Vec<Sample>> = measured.iter().map(then).collect();
    let compared = samples.iter().filter(|samples| !samples.is_empty()).count();
    let apart = |(one, then): (&&Measured, &Vec<Sample>)| Apart::of(then, &Sample::of(&one.times())?, compared);
    measured.iter().zip(&samples).map(apart).collect()
}

#[cfg(test)]
mod tests {
    use super::{Asked, Beside, Earlier, Findings, Why};
    use crate::subjects::lines::{Line, Parameters};
    use crate::subjects::measured::{Measured, Run, Session};

    fn session(times: &[(&str, &[f64])], is_interleaved: bool) -> Session {
        let measured = times.iter().map(|(name, times)| Measured {
            line: Line { name: (*name).into(), command: (*name).into(), parameters: Parameters::default() },
            runs: times.iter().map(|time_ns| Run { time_ns: *time_ns, ..Run::default() }).collect(),
            loops: None,
            instructions: None,
        });
        Session {
            measured: measured.collect(),
            is_interleaved,
            shell_ns: None,
            memory_floor_bytes: 0,
            ended_early: None,
            start_up: None,
        }
    }

    const A: [f64; 10] = [100.0, 101.0, 99.0, 100.5, 100.0, 99.5, 100.0, 101.0, 99.0, 100.0];
    const B: [f64; 10] = [110.0, 111.0, 109.0, 110.5, 110.0, 109.5, 110.5, 111.0, 109.0, 110.0];

    #[test]
    fn the_fastest_is_the_reference_unless_another_is_asked_for() {
        let session = session(&[("b", &B), ("a", &A)], true);
        let found = Findings::of(&session, &Asked { difference: 0.01, ..Asked::default() }).unwrap();
        assert_eq!((found.reference, found.by_time()), (1, vec![1, 0]));
        assert!(found.rows[1].ratio.is_none());
        let ratio = found.rows[0].ratio.unwrap();
        assert!(ratio.is_shown() && (ratio.ratio() - 1.1).abs() < 0.01, "{ratio:?}");
        let asked = Asked { reference: Some(0), ..Asked::default() };
        let ratio = Findings::of(&session, &asked).unwrap().rows[1].ratio.unwrap();
        assert!((ratio.ratio() - 1.0 / 1.1).abs() < 0.01, "{ratio:?}");
    }

    #[test]
    fn only_what_is_certain_is_slower() {
        let slower = |session: &Session, most: f64| {
            let asked = Asked { reference: Some(0), slower_max: Some(most), ..Asked::default() };
            Findings::of(session, &asked).unwrap().slower().into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        let clear = session(&[("a", &A), ("b", &B)], true);
        assert_eq!(slower(&clear, 0.03), ["b"]);
        assert_eq!(slower(&clear, 0.12), [""; 0]);
        assert_eq!(slower(&session(&[("b", &B), ("a", &A)], true), 0.03), [""; 0], "faster is no failure");
        // One after the other the same times are as uncertain as two sessions: ± 7 %.
        assert_eq!(slower(&session(&[("a", &A), ("b", &B)], false), 0.03), [""; 0]);
        let none = Findings::of(&clear, &Asked { reference: Some(0), ..Asked::default() }).unwrap().slower();
        assert!(none.is_empty(), "{none:?}");
    }

    #[test]
    fn what_cannot_be_judged_is_named() {
        let unjudged = |session: &Session, earlier: &[(&str, &[f64])]| {
            let file = |(name, times): &(&str, &[f64])| Earlier {
                file: "1".into(),
                times: vec![((*name).into(), times.to_vec())],
            };
            let earlier: Vec<Earlier> = earlier.iter().map(file).collect();
            let reference = (session.measured.len() > 1).then_some(0);
            let asked = Asked { reference, slower_max: Some(0.01), earlier, ..Asked::default() };
            let findings = Findings::of(session, &asked).unwrap();
            assert!(findings.slower().is_empty(), "{findings:?}");
            let unjudged = findings.unjudged();
            let commands: Vec<_> =
                unjudged.commands.iter().map(|(name, why)| (name.as_str().to_owned(), *why)).collect();
            (commands, unjudged.is_any_judged)
        };
        let too_few = |name: &str| vec![(name.to_owned(), Why::TooFewRuns)];
        let pair = |runs: usize, is_interleaved| session(&[("a", &A[..runs]), ("b", &A[..runs])], is_interleaved);
        assert_eq!(unjudged(&pair(10, true), &[]), (vec![], true));
        assert_eq!(unjudged(&pair(7, true), &[]), (too_few("b"), false));
        assert_eq!(unjudged(&pair(2, false), &[]), (vec![], true));
        assert_eq!(unjudged(&session(&[("a", &A[..1]), ("b", &B[..1])], false), &[]), (too_few("b"), false));
        let alone = session(&[("a", &A)], true);
        assert_eq!(unjudged(&alone, &[("a", &A[..2])]), (vec![], true));
        assert_eq!(unjudged(&alone, &[("a", &[1.0])]), (too_few("a"), false));
        assert_eq!(unjudged(&session(&[("a", &B[..1])], true), &[("a", &A)]), (too_few("a"), false));
        assert_eq!(unjudged(&alone, &[("x", &A)]), (vec![("a".to_owned(), Why::NotInFiles)], false));
        let no_time = session(&[("a", &A), ("b", &[0.0; 10])], true);
        assert_eq!(unjudged(&no_time, &[]), (vec![("b".to_owned(), Why::NoTime)], false));
    }

    /// Of four equal commands the fastest is chosen by the same times.
    #[test]
    fn equal_commands_one_after_the_other_seldom_differ() {
        let mut random = fastrand::Rng::with_seed(12);
        let mut times = || {
            let mut run = || 100.0 * (1.0 + 0.1 * ((0..12).map(|_| random.f64()).sum::<f64>() - 6.0));
            (0..8).map(|_| run()).collect::<Vec<f64>>()
        };
        let claims = (0..1_000).filter(|_| {
            let times = [times(), times(), times(), times()];
            let session = session(&[("a", &times[0]), ("b", &times[1]), ("c", &times[2]), ("d", &times[3])], false);
            let findings = Findings::of(&session, &Asked::default()).unwrap();
            findings.rows.iter().any(|row| row.ratio.is_some_and(|ratio| ratio.is_shown()))
        });
        // 5 % are 50; five standard deviations (6.9) above.
        let claims = claims.count();
        assert!(claims <= 84, "{claims} of 1000");
    }

    #[test]
    fn a_command_is_compared_with_itself_at_other_times() {
        let now = session(&[("b", &B)], true);
        let file = |file: &str, times: &[f64]| Earlier { file: file.into(), times: vec![("b".into(), times.to_vec())] };
        let found = |earlier: Vec<Earlier>| {
            let asked = Asked { slower_max: Some(0.02), earlier, ..Asked::default() };
            let findings = Findings::of(&now, &asked).unwrap();
            (findings.rows[0].apart.map(|apart| apart.is_shown()), findings.slower().len())
        };
        assert_eq!(found(vec![file("1", &A)]), (Some(true), 1));
        assert_eq!(found(vec![file("1", &B)]), (Some(false), 0));
        assert_eq!(found(vec![Earlier { file: "1".into(), times: vec![("x".into(), A.to_vec())] }]), (None, 0));
    }

    #[test]
    fn what_an_interrupt_left_unmeasured_is_left_out() {
        let session = session(&[("a", &A[..1]), ("b", &[])], true);
        let found = Findings::of(&session, &Asked::default()).unwrap();
        assert_eq!((found.rows.len(), found.reference), (1, 0));
        let uneven = super::Session { measured: vec![], ..session.clone() };
        assert!(Findings::of(&uneven, &Asked::default()).is_none());
        let few = self::session(&[("a", &A[..3]), ("b", &B[..2])], true);
        let found = Findings::of(&few, &Asked::default()).unwrap();
        assert!(matches!(found.rows[1].ratio, Some(Beside::Interleaved { ratio, .. }) if ratio.interval.is_none()));
    }
}
