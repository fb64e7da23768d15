//! Two profiles side by side, by function: their calls, and their times.
//! Owns: the order of the rows, and the words about what cannot be told. Never: says that a difference of times is certain: each file is one run.

use serde::Serialize;

use crate::functions::{Function, Row};
use crate::pairing::pairs;
use crate::stats::Stats;

/// A function in both files, or in one of them: then the other has 0 calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changed {
    pub function: String,
    pub calls: [u64; 2],
    pub primitive_calls: [u64; 2],
    pub tottime_s: [f64; 2],
    pub cumtime_s: [f64; 2],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub files: [Vec<String>; 2],
    pub calls: [u64; 2],
    pub primitive_calls: [u64; 2],
    pub tottime_s: [f64; 2],
    pub rows: Vec<Changed>,
    /// Rows that are as they were, in calls and in printed times, and those beyond the limit.
    pub rows_left_out: u64,
}

/// What a script reads first, with the keys of a comparison of recordings.
#[derive(Serialize)]
struct Page<'d> {
    version: u32,
    comparable: bool,
    reason: &'static str,
    verdict: String,
    whole: Whole,
    #[serde(flatten)]
    difference: &'d Difference,
}

/// The times. How large the change may be by chance nobody knows.
#[derive(Serialize)]
struct Whole {
    before_ns: u64,
    after_ns: u64,
    low: Option<i64>,
    high: Option<i64>,
    certain: bool,
}

const NOT_COMPARABLE: &str = "each file is one run, and nothing in it tells how much the times of runs differ";

/// By what rows are ordered: the largest change first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Time,
    Calls,
}

/// `rows_max`: none is all of them, those that did not change as well.
#[must_use]
pub fn difference(before: &Stats, after: &Stats, order: Order, rows_max: Option<usize>) -> Difference {
    let [old, new] = [before, after]
        .map(|stats| stats.rows().iter().map(|row| &stats.functions[row.function]).collect::<Vec<&Function>>());
    let pairs = pairs(&old, &new);
    let mut rows: Vec<Changed> = old.iter().map(|function| Changed::of(function)).collect();
    for (place, row) in before.rows().iter().enumerate() {
        rows[place].add(0, row);
    }
    for (place, row) in after.rows().iter().enumerate() {
        let function = new[place];
        let changed = match pairs[place] {
            // Its line and its file are those of the newer program.
            Some(old) => {
                rows[old].function = function.standard_name();
                old
            }
            None => {
                rows.push(Changed::of(function));
                rows.len() - 1
            }
        };
        rows[changed].add(1, row);
    }
    let all = rows.len();
    if let Some(rows_max) = rows_max {
        rows.retain(Changed::is_visible);
        sort(&mut rows, order);
        rows.truncate(rows_max);
    } else {
        sort(&mut rows, order);
    }
    Difference {
        files: [before.files.clone(), after.files.clone()],
        calls: [before.calls, after.calls],
        primitive_calls: [before.primitive_calls, after.primitive_calls],
        tottime_s: [before.own_s, after.own_s],
        rows_left_out: (all - rows.len()) as u64,
        rows,
    }
}

fn sort(rows: &mut [Changed], order: Order) {
    let time = |row: &Changed| (row.tottime_s[1] - row.tottime_s[0]).abs();
    let calls = |row: &Changed| row.calls[1].abs_diff(row.calls[0]);
    rows.sort_by(|left, right| {
        let by_time = time(right).total_cmp(&time(left));
        let by_calls = calls(right).cmp(&calls(left));
        let both = if order == Order::Time { by_time.then(by_calls) } else { by_calls.then(by_time) };
        both.then_with(|| left.function.cmp(&right.function))
    });
}

impl Changed {
    fn of(function: &Function) -> Changed {
        let function = function.standard_name();
        Changed { function, calls: [0; 2], primitive_calls: [0; 2], tottime_s: [0.0; 2], cumtime_s: [0.0; 2] }
    }

    fn add(&mut self, side: usize, row: &Row) {
        self.calls[side] = row.calls;
        self.primitive_calls[side] = row.primitive_calls;
        self.tottime_s[side] = row.own_s;
        self.cumtime_s[side] = row.total_s;
    }

    fn is_visible(&self) -> bool {
        let is_apart = |[before, after]: [f64; 2]| (after - before).abs() >= 0.000_5;
        self.calls[0] != self.calls[1] || is_apart(self.tottime_s) || is_apart(self.cumtime_s)
    }
}

impl Difference {
    #[must_use]
    pub fn text(&self) -> String {
        let [before, after] = &self.files;
        let files = |files: &[String]| files.join(" + ");
        let mut page = format!("before: {}\nafter:  {}\n", files(before), files(after));
        page += &format!("calls:  {} → {}\n", grouped(self.calls[0]), grouped(self.calls[1]));
        page += &format!("time:   {}\n", self.time_in_words());
        page += "Calls are exact. Times are those of one run on each side: how much runs differ is not known.\n\n";
        if self.rows.is_empty() {
            return page + "no function has other counts or times\n";
        }
        page += &format!(
            "{:>12} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10}  function\n",
            "calls before", "after", "tottime", "after", "change", "cumtime", "after"
        );
        for row in &self.rows {
            let [calls_before, calls_after] = row.calls.map(grouped);
            let ([own_before, own_after], [total_before, total_after]) = (row.tottime_s, row.cumtime_s);
            let change = own_after - own_before;
            // Less than is printed is no change.
            let change = if change.abs() < 0.000_5 { 0.0 } else { change };
            page += &format!(
                "{calls_before:>12} {calls_after:>12} {own_before:>10.3} {own_after:>10.3} {change:>+10.3} {total_before:>10.3} {total_after:>10.3}  {}\n",
                row.function
            );
        }
        if self.rows_left_out > 0 {
            page += &format!("{} more functions (--limit 0 shows them all)\n", grouped(self.rows_left_out));
        }
        page
    }

    /// # Errors
    /// Never, in practice.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let ns = |seconds: f64| (seconds * 1e9).round() as u64;
        let [before_ns, after_ns] = self.tottime_s.map(ns);
        genba_text::json::pretty(&Page {
            version: 1,
            comparable: false,
            reason: NOT_COMPARABLE,
            verdict: format!("times are not comparable: {NOT_COMPARABLE}; {}", self.time_in_words()),
            whole: Whole { before_ns, after_ns, low: None, high: None, certain: false },
            difference: self,
        })
    }

    fn time_in_words(&self) -> String {
        let [before_s, after_s] = self.tottime_s;
        format!("{before_s:.3} s → {after_s:.3} s ({:+.3} s)", after_s - before_s)
    }
}

/// `4,496,160`
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut written = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}
