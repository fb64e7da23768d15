//! The listings, byte by byte as pstats prints them.
//! Owns: columns and their widths. Never: adds up or orders.

use crate::functions::{Callers, FunctionId};
use crate::restriction::Restriction;
use crate::stats::{Stats, spelled_out};

const NO_AWAITS: &str = "No awaits: genba trace counts those of coroutines, on CPython 3.12 and later.\n";

impl Stats {
    /// Each function with its counts and times.
    #[must_use]
    pub fn listing(&self, restrictions: &[Restriction]) -> String {
        let mut page: String = self.files.iter().map(|file| format!("{file}\n")).collect();
        if !self.files.is_empty() {
            page.push('\n');
        }
        let indent = " ".repeat(8);
        for function in &self.top_level {
            page += &format!("{indent} {}\n", spelled_out(self.functions[*function].name.to_string()));
        }
        page += &format!("{indent} {} function calls ", self.calls);
        if self.calls != self.primitive_calls {
            page += &format!("({} primitive calls) ", self.primitive_calls);
        }
        page += &format!("in {:.3} seconds\n\n", self.own_s);
        let Some(chosen) = self.chosen(restrictions) else { return page };
        page += &chosen.words;
        page += match self.is_sampled {
            true => " nsamples  tottime persample cumtime persample filename:lineno(function)\n",
            false => "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n",
        };
        for row in chosen.rows.iter().map(|row| &self.rows[*row]) {
            let calls = counts(row.calls, row.primitive_calls);
            let (own, total) = (seconds(row.own_s), seconds(row.total_s));
            let (own_each, total_each) = (each(row.own_s, row.calls), each(row.total_s, row.primitive_calls));
            page += &format!("{calls:>9} {own} {own_each} {total} {total_each} {}\n", self.name_of(row.function));
        }
        page + "\n\n"
    }

    /// Each function with those that called it.
    #[must_use]
    pub fn callers_listing(&self, restrictions: &[Restriction]) -> String {
        let Some(chosen) = self.chosen(restrictions) else { return String::new() };
        let mut page = chosen.words.clone() + &self.heading(chosen.width, "was called by...");
        for row in chosen.rows.iter().map(|row| &self.rows[*row]) {
            page += &self.calls_of(chosen.width, row.function, Some(&row.callers), "<-");
        }
        page + "\n\n"
    }

    /// Each function with those that it called.
    #[must_use]
    pub fn callees_listing(&self, restrictions: &[Restriction]) -> String {
        let Some(chosen) = self.chosen(restrictions) else { return String::new() };
        let callees = self.callees(&chosen.rows);
        let mut page = chosen.words.clone() + &self.heading(chosen.width, "called...");
        for row in chosen.rows.iter().map(|row| &self.rows[*row]) {
            page += &self.calls_of(chosen.width, row.function, callees.get(&row.function), "->");
        }
        page + "\n\n"
    }

    /// Each function whose coroutines waited, the longest first: not one of pstats' listings.
    #[must_use]
    pub fn awaits_listing(&self, restrictions: &[Restriction]) -> String {
        let Some(all) = self.awaits() else { return NO_AWAITS.to_owned() };
        // Their times are no sum: a coroutine waits while the one that it awaits does, and beside others.
        let mut page = format!("{} {} awaits", " ".repeat(8), all.count);
        if all.open > 0 {
            page += &format!(" ({} had not ended)", all.open);
        }
        page += "\n\n   Ordered by: time awaited\n";
        let mut rows: Vec<usize> = (0..self.awaits.len()).collect();
        rows.sort_by(|one, other| {
            let ((one, one_awaits), (other, other_awaits)) = (&self.awaits[*one], &self.awaits[*other]);
            other_awaits.waited_s.total_cmp(&one_awaits.waited_s).then_with(|| one.cmp(other))
        });
        for restriction in restrictions {
            let (kept, said) = restriction.applied(rows, |row| self.name_of(self.awaits[row].0));
            rows = kept;
            page += &said;
        }
        page += "\n   awaits  awaited  percall  cumtime filename:lineno(function)\n";
        for (function, awaits) in rows.iter().map(|row| &self.awaits[*row]) {
            let (waited, each) = (seconds(awaits.waited_s), each(awaits.waited_s, awaits.count));
            // What it ran is what its calls add up to: an await is not part of them.
            let ran = seconds(self.row_of.get(*function).map_or(0.0, |row| self.rows[row].total_s));
            page += &format!("{:>9} {waited} {each} {ran} {}\n", awaits.count, self.name_of(*function));
        }
        page + "\n\n"
    }

    /// None: nothing is left, of which pstats says nothing.
    fn chosen(&self, restrictions: &[Restriction]) -> Option<Chosen> {
        let mut rows: Vec<usize> = (0..self.rows.len()).collect();
        let mut words = "   Random listing order was used\n".to_owned();
        if let Some(order) = &self.order {
            rows.clone_from(&order.rows);
            words = format!("   Ordered by: {}\n", order.by);
        }
        for restriction in restrictions {
            let (kept, said) = restriction.applied(rows, |row| self.name_of(self.rows[row].function));
            rows = kept;
            words += &said;
        }
        if rows.is_empty() {
            return None;
        }
        let width = match rows.len() < self.rows.len() {
            true => rows.iter().map(|row| self.functions[self.rows[*row].function].width()).max().unwrap_or(0),
            false => self.width,
        };
        Some(Chosen { rows, words: words + "\n", width: width + 2 })
    }

    fn heading(&self, width: usize, column: &str) -> String {
        let heading = format!("{:<width$}{column}\n", "Function ");
        let has_times = self.rows.iter().map(|row| &row.callers).find(|callers| !callers.is_empty());
        match (has_times, self.is_sampled) {
            (Some(Callers::Timed(_)), false) => format!("{heading}{:width$}    ncalls  tottime  cumtime\n", ""),
            (Some(Callers::Timed(_)), true) => format!("{heading}{:width$}    nsamples  tottime  cumtime\n", ""),
            _ => heading,
        }
    }

    fn calls_of(&self, width: usize, function: FunctionId, others: Option<&Callers>, arrow: &str) -> String {
        let mut line = format!("{:<width$}{arrow} ", self.name_of(function));
        match others {
            None => line.push('\n'),
            Some(others) if others.is_empty() => line.push('\n'),
            Some(Callers::Timed(others)) => {
                let mut others: Vec<_> = others.iter().collect();
                others.sort_by(|(left, _), (right, _)| self.functions[*left].cmp(&self.functions[*right]));
                for (place, (other, timing)) in others.into_iter().enumerate() {
                    // The first has the arrow before it.
                    let (indent, column) = if place == 0 { (0, 7) } else { (width + 1, 9) };
                    let calls = counts(timing.calls, timing.primitive_calls);
                    let (own, total) = (seconds(timing.own_s), seconds(timing.total_s));
                    line += &format!("{:indent$}{calls:>column$} {own} {total}  {}\n", "", self.name_of(*other));
                }
            }
            Some(Callers::Counted(others)) => {
                let mut others: Vec<_> = others.iter().collect();
                others.sort_by(|(left, _), (right, _)| self.functions[*left].cmp(&self.functions[*right]));
                for (place, (other, calls)) in others.into_iter().enumerate() {
                    let indent = if place == 0 { 0 } else { width + 3 };
                    // A caller without a row of its own has no time.
                    let total = self.row_of.get(*other).map_or(String::new(), |row| seconds(self.rows[row].total_s));
                    line += &format!("{:indent$}{}({calls}) {total}\n", "", self.name_of(*other));
                }
            }
        }
        line
    }
}

struct Chosen {
    rows: Vec<usize>,
    words: String,
    /// Of the column with functions.
    width: usize,
}

fn counts(calls: u64, primitive_calls: u64) -> String {
    if calls == primitive_calls { calls.to_string() } else { format!("{calls}/{primitive_calls}") }
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:8.3}")
}

fn each(whole_s: f64, count: u64) -> String {
    if count == 0 { " ".repeat(8) } else { seconds(whole_s / count as f64) }
}
