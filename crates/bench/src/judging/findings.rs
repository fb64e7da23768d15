//! What a session shows: a summary of each command, its ratio to the reference, and to itself at other times.
//! Owns: which command is the reference, which pairs are compared, what counts as slower. Never: measures; lays out text.

use crate::statistics::comparison::{Comparison, Ratio, all_pairs};
use crate::statistics::earlier::{Apart, Sample};
use crate::statistics::needed::runs_needed;
use crate::statistics::noise;
use crate::statistics::summary::Summary;
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

/// A file of `--against`: names and times of its commands.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    pub file: String,
    pub times: Vec<(String, Vec<f64>)>,
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
    /// Files of `--against`.
    pub sessions: usize,
}

#[derive(Debug)]
pub struct Row<'a> {
    pub measured: &'a Measured,
    pub summary: Summary,
    /// So far apart two commands may seem that are both this one; 0.01 is 1 %. None: too few runs.
    pub noise: Option<f64>,
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
            Beside::Apart(apart) => Some((apart.low, apart.high)),
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
            let apart = row.apart.map(|apart| (apart.low, apart.high));
            for (interval, than) in [(beside, reference.as_str()), (apart, "at other times")] {
                if let Some((low, high)) = interval.filter(|(low, _)| *low > 1.0 + most) {
                    slower.push(Slower { name: name.clone(), than: than.to_owned(), low, high });
                }
            }
        }
        slower
    }
}

fn besides(session: &Session, measured: &[&Measured], reference: usize, asked: &Asked) -> Vec<Option<Beside>> {
    let times: Vec<Vec<f64>> = measured.iter().map(|one| one.times()).collect();
    let others = (0..times.len()).map(|other| (other != reference).then_some(other));
    if !session.is_interleaved {
        let samples: Vec<Option<Sample>> = times.iter().map(|times| Sample::of(times)).collect();
        let compared = times.len().saturating_sub(1).max(1);
        let beside = |other: usize| {
            let (one, other) = (samples[reference].as_ref()?, samples[other].as_ref()?);
            Apart::of(std::slice::from_ref(one), other, compared).map(Beside::Apart)
        };
        return others.map(|other| other.and_then(beside)).collect();
    }
    // The fastest is chosen by the same times: then each pair may be the one that is shown.
    let pairs = match asked.reference {
        Some(_) => (0..times.len()).filter(|other| *other != reference).map(|other| (reference, other)).collect(),
        None => all_pairs(times.len()),
    };
    let comparison = Comparison::of(&times, &pairs);
    let beside = |other: usize| {
        let ratio = comparison.ratio(reference, other)?;
        let runs_needed = runs_needed(&ratio, asked.difference, comparison.compared);
        Some(Beside::Interleaved { ratio, runs_needed })
    };
    others.map(|other| other.and_then(beside)).collect()
}

/// By name: the same command in each of the files that has it.
fn aparts(measured: &[&Measured], earlier: &[Earlier]) -> Vec<Option<Apart>> {
    let then = |one: &&Measured| -> Vec<Sample> {
        let of_file = |file: &Earlier| {
            let found = file.times.iter().find(|(name, _)| *name == one.line.name);
            let found = found.or_else(|| file.times.iter().find(|(name, _)| *name == one.line.command));
            found.and_then(|(_, times)| Sample::of(times))
        };
        earlier.iter().filter_map(of_file).collect()
    };
    let samples: Vec<Vec<Sample>> = measured.iter().map(then).collect();
    let compared = samples.iter().filter(|samples| !samples.is_empty()).count();
    let apart = |(one, then): (&&Measured, &Vec<Sample>)| Apart::of(then, &Sample::of(&one.times())?, compared);
    measured.iter().zip(&samples).map(apart).collect()
}

#[cfg(test)]
mod tests {
    use super::{Asked, Beside, Earlier, Findings};
    use crate::subjects::lines::{Line, Parameters};
    use crate::subjects::measured::{Measured, Run, Session};

    fn session(times: &[(&str, &[f64])], is_interleaved: bool) -> Session {
        let measured = times.iter().map(|(name, times)| Measured {
            line: Line { name: (*name).into(), command: (*name).into(), parameters: Parameters::default() },
            runs: times.iter().map(|time_ns| Run { time_ns: *time_ns, ..Run::default() }).collect(),
            loops: None,
        });
        Session {
            measured: measured.collect(),
            is_interleaved,
            shell_ns: None,
            memory_floor_bytes: 0,
            interrupted_of: None,
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
