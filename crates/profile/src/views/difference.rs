//! A comparison of recordings for its readers: the sentence that comes first, and what text, Markdown and JSON say alike.
//! Owns: the words. Never: decides what is certain (`rules::difference` does); names a row without its sign.

mod box_words;
pub mod json;
pub mod markdown;
pub mod page;
pub mod text;

use std::collections::{BTreeMap, BTreeSet};

use crate::rules::difference::certainty::{ERRORS_IN_ALL_ROWS, Estimate, LONGER_RUN_NS_MAX, Longer, SAMPLES_MIN};
use crate::rules::difference::comparable::{Facts, allowed_for};
use crate::rules::difference::{
    ADVISED_CHANGE, Advice, Code, Difference, Row, SAMPLES_OF_EACH_SIDE_MIN, SAMPLES_OF_ONE_SIDE_MIN, Subject,
    are_too_few, difference as compare,
};
pub use crate::rules::difference::{Run, bins_of, without};
use crate::rules::pace::Pace;
use crate::rules::warnings::warning::Warning;
use crate::rules::warnings::warnings;
use crate::rules::weight::{Choice, Weight};
use crate::tables::file_names::shortest;
use crate::tables::window::Window;
use crate::views::summary::{kept_line, law_line, who};
use crate::words::figures::{count, counted, duration, percent, size};

/// Two sides, and what is said of them.
pub struct Comparison<'r> {
    pub before: &'r [Run],
    pub after: &'r [Run],
    pub difference: Difference,
    short: BTreeMap<String, String>,
}

/// `asked`: the weight. Each side has one recording or more.
#[must_use]
pub fn comparison<'r>(before: &'r [Run], after: &'r [Run], asked: Option<Weight>) -> Comparison<'r> {
    let difference = compare(before, after, asked);
    let rows = difference.rows.iter().chain(&difference.functions);
    let files: BTreeSet<&str> = rows.flat_map(|row| codes(&row.subject)).map(|code| code.file.as_str()).collect();
    let short = short_names(&files, &difference);
    Comparison { before, after, difference, short }
}

/// Of files by their paths. A file may have two, A's and B's, which need not be told apart.
fn short_names(paths: &BTreeSet<&str>, difference: &Difference) -> BTreeMap<String, String> {
    let moved = difference.moved_files();
    let are_one_file = |one: &str, other: &str| moved.contains(&(one, other)) || moved.contains(&(other, one));
    let named = paths.iter().map(|&path| {
        let others = paths.iter().copied().filter(|&other| !are_one_file(path, other));
        (path.to_string(), shortest(path, others).to_string())
    });
    named.collect()
}

fn codes(subject: &Subject) -> impl Iterator<Item = &Code> {
    let (code, caller) = match subject {
        Subject::Code { code, caller } => (Some(code), caller.as_ref()),
        Subject::Phase(_) | Subject::NoPython => (None, None),
    };
    code.into_iter().chain(caller)
}

impl Comparison<'_> {
    /// Who was recorded, with the laws: two lines for a recording, one for each of several, and one more with filters.
    fn accounts(&self) -> Vec<String> {
        let weight = self.difference.choice.weight;
        let of_side = |side: &'static str, runs: &[Run]| {
            let mut lines = Vec::new();
            for run in runs {
                let (name, laws) = (&run.name, law_line(&run.reading));
                match runs.len() {
                    1 => lines.extend([format!("{side}: {name} · {}", who(&run.reading)), format!("   {laws}")]),
                    _ => {
                        lines.push(format!("{side}: {name} · {} · {laws}", who(&run.reading)));
                    }
                }
                lines.extend(kept_line(&run.reading, weight).map(|kept| format!("   {kept}")));
            }
            lines
        };
        let weight = match &self.difference.choice {
            Choice { weight: Weight::Cpu, .. } => None,
            Choice { weight, why: Some(why) } => Some(format!("weight: {weight}, because {why}")),
            Choice { weight, why: None } => Some(format!("weight: {weight}")),
        };
        let unlike = &self.difference.unlike;
        let unlike = (!unlike.is_empty()).then(|| format!("the sides are unlike: {}", unlike.join(", ")));
        let wall = match &self.difference.choice {
            Choice { weight: Weight::Cpu, why } => why.clone(),
            _ => None,
        };
        let first = wall.into_iter().chain(unlike).chain(self.allowed_for());
        first.chain(of_side("A", self.before)).chain(of_side("B", self.after)).chain(weight).collect()
    }

    /// Where there is an obstacle, nothing is certain anyway.
    fn allowed_for(&self) -> Vec<String> {
        let facts = |runs: &[Run]| runs.iter().map(Facts::of).collect::<Vec<_>>();
        if !self.difference.obstacles.is_empty() {
            return Vec::new();
        }
        allowed_for(&facts(self.before), &facts(self.after), self.difference.choice.weight)
    }

    /// The answer in a sentence or two.
    #[must_use]
    pub fn verdict(&self) -> String {
        let difference = &self.difference;
        if !difference.obstacles.is_empty() {
            let whole = self.margin(&difference.whole);
            return format!(
                "not comparable: {}. Nothing below is certain; B − A is {whole}{}",
                difference.obstacles.join("; "),
                self.of_each()
            );
        }
        let (a, b) = (difference.samples_before, difference.samples_after);
        if self.is_too_few() {
            let have = format!("too few samples to tell: A has {}, B has {}", count(a), count(b));
            let (fewer, more) = (a.min(b), a.max(b));
            let times = SAMPLES_OF_EACH_SIDE_MIN.checked_div(fewer);
            let times = times.map(|times| 1 + times.max(SAMPLES_OF_ONE_SIDE_MIN / more));
            let longer = match (times, self.is_of_parts()) {
                (None, false) => "record longer runs, or with a higher --rate".to_string(),
                (None, true) => "compare longer times, or record with a higher --rate".to_string(),
                (Some(times), false) => {
                    format!("record runs {times} times as long, or with a --rate {times} times as high")
                }
                (Some(times), true) => {
                    format!("compare times {times} times as long, or record with a --rate {times} times as high")
                }
            };
            return format!(
                "{have}, and genba compares from {SAMPLES_OF_ONE_SIDE_MIN} on one side and {SAMPLES_OF_EACH_SIDE_MIN} on the other; {longer}"
            );
        }
        let whole = &difference.whole;
        let measured = self.margin(whole);
        let largest = difference.largest_certain();
        match (whole.certain, largest) {
            (true, largest) => {
                let share = relative(whole);
                let takes = match (difference.choice.weight, whole.change() > 0.0) {
                    (Weight::Samples, true) => format!("B has {share} more samples than A"),
                    (Weight::Samples, false) => format!("B has {share} fewer samples than A"),
                    (_, true) => format!("B takes {share} longer than A"),
                    (_, false) => format!("B takes {share} less than A"),
                };
                let most = largest.filter(|row| row.estimate.change() / whole.change() >= 0.5);
                let most = most.map_or(String::new(), |row| format!(", most of it in {}", self.name(row)));
                format!("{takes}: {measured}{}{most}", self.of_each())
            }
            (false, Some(largest)) => {
                let rows = match (self.certain(|_| true), self.certain(|row| row.is_rewritten)) {
                    (0 | 1, _) => String::new(),
                    (several, 0) => format!(" {} are certain.", counted(several, "row", "rows")),
                    (several, rewritten) => format!(
                        " {} are certain, {} of them code that was rewritten or moved.",
                        counted(several, "row", "rows"),
                        count(rewritten)
                    ),
                };
                let change = self.margin(&largest.estimate);
                format!(
                    "B differs from A in {}: {change}{}.{rows} The change of the whole, {measured}, is not certain",
                    self.name(largest),
                    self.of_each()
                )
            }
            (false, None) => {
                let rewritten = match self.certain(|row| row.is_rewritten) {
                    0 => String::new(),
                    rows => format!(
                        ". Code was rewritten or moved ({} only in A or only in B), and no change of its time is certain",
                        counted(rows, "row is", "rows are")
                    ),
                };
                format!(
                    "no difference that these recordings can tell: B − A is {measured}{}{rewritten}",
                    self.of_each()
                )
            }
        }
    }

    /// How many rows are certain.
    fn certain(&self, is: impl Fn(&Row) -> bool) -> u64 {
        self.difference.rows.iter().filter(|row| row.estimate.certain && is(row)).count() as u64
    }

    fn is_too_few(&self) -> bool {
        are_too_few(self.difference.samples_before, self.difference.samples_after)
    }

    /// Of each recording, with its name; and where the two sides were not recorded alike.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let weight = self.difference.choice.weight;
        let runs = || self.before.iter().chain(self.after);
        let of_run = |run: &Run| {
            let said = warnings(&run.reading, weight).into_iter();
            said.map(|warning| format!("{}: {warning}", run.name)).collect::<Vec<_>>()
        };
        // One recording can be both sides.
        let mut said = BTreeSet::new();
        let mut all: Vec<String> = runs().flat_map(of_run).filter(|warning| said.insert(warning.clone())).collect();
        let pace = |run: &Run| Pace::within(&run.reading, run.reading.window()).mostly_ns;
        let paces: BTreeSet<Option<u64>> = runs().map(pace).collect();
        if weight == Weight::Samples && paces.len() > 1 {
            let what = "the recordings have different intervals between ticks, so counts of samples differ";
            all.push(Warning::new(what, "--weight cpu compares time").to_string());
        }
        all
    }

    /// How many rows there are of each kind.
    fn counts(&self) -> String {
        let rows = &self.difference.rows;
        let of = |is: &dyn Fn(&Estimate) -> bool| rows.iter().filter(|row| is(&row.estimate)).count() as u64;
        let few = of(&|estimate| estimate.is_too_few);
        let certain = of(&|estimate| estimate.certain);
        let open = rows.len() as u64 - few - certain;
        let few = match few {
            0 => String::new(),
            _ if self.is_too_few() => format!("; {} not compared", count(few)),
            few => format!("; {} fewer than {SAMPLES_MIN} samples", counted(few, "has", "have")),
        };
        format!(
            "{}: {} certain, {} cannot tell{few}",
            counted(rows.len() as u64, "row", "rows"),
            count(certain),
            count(open)
        )
    }

    /// What the intervals rest on, and what would tell more.
    fn notes(&self) -> Vec<String> {
        let certainty = &self.difference.certainty;
        let confidence = (1.0 - ERRORS_IN_ALL_ROWS) * 100.0;
        let rows = counted(certainty.compared as u64, "sum", "sums");
        let part = format!("{:.1} %", certainty.spread.part * 100.0);
        let spread = match certainty.spread.freedom {
            Some(_) => {
                format!("runs of one side differ by {part} (standard deviation), beside what their samples tell")
            }
            None if certainty.is_shown() => {
                format!("runs of one side differ by {part}, and fewer than three on a side are too few to measure it")
            }
            None => {
                let busy = self.difference.busy.larger() * 100.0;
                let busy = if busy < 1.0 {
                    String::new()
                } else {
                    format!(", as a run waited for a CPU {busy:.0} % of its time")
                };
                format!(
                    "so few recordings do not tell how much runs of one program differ: genba assumes {part} (standard deviation){busy}"
                )
            }
        };
        let mut notes = vec![format!("intervals: {confidence} % for all {rows} together; {spread}")];
        notes.extend(self.merged());
        notes.extend(self.difference.advice.as_ref().map(|advice| self.advice(advice)));
        notes
    }

    fn merged(&self) -> Option<String> {
        let name = |(file, function): &(String, String)| {
            format!("{} {function}", self.short.get(file).map_or(file.as_str(), String::as_str))
        };
        // A's file and B's may have one short name.
        let names: BTreeSet<String> = self.difference.merged.iter().map(name).collect();
        let names: Vec<String> = names.into_iter().collect();
        (!names.is_empty()).then(|| {
            format!(
                "several functions of one name, which nothing tells apart in these recordings, are one: {}",
                names.join(", ")
            )
        })
    }

    fn advice(&self, advice: &Advice) -> String {
        let change = format!("a change of {} % in {}", ADVISED_CHANGE * 100.0, self.subject(&advice.subject));
        let runs = counted(u64::from(advice.runs), "recording", "recordings");
        if let Some((first, second)) = self.times_of_one() {
            let command = format!("genba diff --before-time {first} --after-time {second} A1 A2 … -- B1 B2 …");
            return format!("to tell {change}: at least {runs} for each of the two times ({command})");
        }
        if advice.is_enough && self.difference.certainty.spread.freedom.is_some() {
            return format!("{change} is certain with {runs} of each, or fewer");
        }
        let at_least = if self.difference.certainty.spread.freedom.is_none() { "at least " } else { "" };
        // Many short runs take less time in all than a few long ones, so they come first.
        let as_now = advice.times_longer.map(f64::ceil).filter(|times| *times > 1.0);
        // A time that was chosen is as long in a longer run.
        let can_be_longer = |times: f64| !self.is_of_parts() && self.longest_ns() as f64 * times <= LONGER_RUN_NS_MAX;
        let as_now = as_now.map(|times| match can_be_longer(times) {
            true => format!(", or as many as now, each {times:.0} times as long or with so much higher a --rate"),
            false => format!(", or as many as now, each with a --rate {times:.0} times as high"),
        });
        let longer = as_now.or_else(|| self.fewer_longer(advice.fewer_longer?)).unwrap_or_default();
        format!("to tell {change}: {at_least}{runs} of each{longer} (genba diff A1 A2 … -- B1 B2 …)")
    }

    /// `, or 10 of runs 6 times as long, 5.47 s`. None: a part of a run has another length.
    fn fewer_longer(&self, longer: Longer) -> Option<String> {
        let (longest_ns, times) = (self.longest_ns(), longer.times.ceil());
        let length = duration((longest_ns as f64 * times) as u64);
        let is_made = longest_ns > 0 && !self.is_of_parts();
        is_made.then(|| format!(", or {} of runs {times:.0} times as long, {length}", longer.runs))
    }

    fn longest_ns(&self) -> u64 {
        self.before.iter().chain(self.after).map(|run| run.reading.wall_ns()).max().unwrap_or(0)
    }

    /// `orders.py:16 parse ← orders.py:29 load`
    fn name(&self, row: &Row) -> String {
        self.subject(&row.subject)
    }

    fn subject(&self, subject: &Subject) -> String {
        let place = |code: &Code| {
            let file = self.short.get(&code.file).unwrap_or(&code.file);
            let line = code.line.map_or(String::new(), |line| format!(":{line}"));
            format!("{file}{line} {}", code.function)
        };
        match subject {
            Subject::Code { code, caller: None } => place(code),
            Subject::Code { code, caller: Some(caller) } => format!("{} ← {}", place(code), place(caller)),
            Subject::Phase(phase) => phase.name().to_string(),
            Subject::NoPython => "outside of Python".to_string(),
        }
    }

    /// The rows to list, and those that are folded. Of rows with too few samples nothing is known: they are listed where all are asked for, and
    /// a few where there is no other.
    fn listed(rows: &[Row], rows_max: Option<usize>) -> (Vec<&Row>, Vec<&Row>) {
        const UNTOLD_MAX: usize = 3;
        let Some(most) = rows_max else { return (rows.iter().collect(), Vec::new()) };
        let is_told = |row: &&Row| row.estimate.certain || !row.estimate.is_too_few;
        let (mut told, mut untold): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(is_told);
        if told.is_empty() {
            let folded = untold.split_off(untold.len().min(most).min(UNTOLD_MAX));
            return (untold, folded);
        }
        let mut folded = told.split_off(told.len().min(most));
        folded.append(&mut untold);
        (told, folded)
    }

    /// Behind a row: on which side it is, and whether the samples can tell.
    fn remark(row: &Row) -> &'static str {
        match (row.samples_before, row.samples_after, row.estimate.certain, row.estimate.is_too_few) {
            (0, _, true, _) => "only in B",
            (_, 0, true, _) => "only in A",
            (_, _, true, _) => "",
            (_, _, false, true) => "too few samples",
            (_, _, false, false) => "cannot tell",
        }
    }

    /// Of times in a run.
    fn is_of_parts(&self) -> bool {
        self.before.iter().chain(self.after).any(|run| run.reading.window().is_some())
    }

    /// Where one recording is both sides. No recording of it holds a time twice, so more of them are needed for each.
    fn times_of_one(&self) -> Option<(Window, Window)> {
        let ([one], [other]) = (self.before, self.after) else { return None };
        one.reading.window().zip(other.reading.window()).filter(|_| one.name == other.name)
    }

    /// ` of CPU a run`; of times in a run ` of CPU`
    fn of_each(&self) -> String {
        let a_run = if self.is_of_parts() { "" } else { " a run" };
        format!("{}{a_run}", self.unit())
    }

    fn unit(&self) -> &'static str {
        match self.difference.choice.weight {
            Weight::Cpu => " of CPU",
            Weight::Wall => " of wall time",
            Weight::Samples => " samples",
            Weight::Copied => " copied",
            Weight::Allocated => " allocated",
        }
    }

    /// `412 ms`, `1,234`
    fn amount(&self, value: f64) -> String {
        let value = value.abs().round() as u64;
        match self.difference.choice.weight {
            Weight::Cpu | Weight::Wall => duration(value),
            Weight::Samples => count(value),
            Weight::Copied | Weight::Allocated => size(value),
        }
    }

    /// `+412 ms`, `−3.10 ms`
    fn signed(&self, value: f64) -> String {
        let sign = match value.round() {
            0.0 => "",
            rounded if rounded > 0.0 => "+",
            _ => "−",
        };
        format!("{sign}{}", self.amount(value))
    }

    /// `+412 ms ± 60.0 ms`
    fn margin(&self, estimate: &Estimate) -> String {
        format!("{} ± {}", self.signed(estimate.change()), self.amount(estimate.margin()))
    }

    /// `+352 ms to +472 ms`
    fn interval(&self, estimate: &Estimate) -> String {
        format!("{} to {}", self.signed(estimate.low), self.signed(estimate.high))
    }
}

/// Of the side before: `18.1 %`
fn relative(estimate: &Estimate) -> String {
    format!("{} %", percent(estimate.change().abs().round() as u64, estimate.before.round() as u64))
}
