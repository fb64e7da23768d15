//! The listings, byte by byte as pstats prints them.
//! Owns: columns and their widths. Never: adds up or orders.

use std::fmt::{self, Write};

use crate::functions::{Callers, FunctionId};
use crate::restriction::Restriction;
use crate::stats::{Stats, spelled_out};

const NO_AWAITS: &str = "No awaits: genba trace counts those of coroutines.\n";

/// One of the listings. It goes to the page piece by piece: a function may have callers by the million.
pub type Listing = fn(&Stats, &[Restriction], &mut dyn Write) -> fmt::Result;

impl Stats {
    /// Each function with its counts and times.
    ///
    /// # Errors
    /// The page's, as of each listing.
    pub fn listing(&self, restrictions: &[Restriction], page: &mut dyn Write) -> fmt::Result {
        for file in &self.files {
            writeln!(page, "{file}")?;
        }
        if !self.files.is_empty() {
            writeln!(page)?;
        }
        let indent = " ".repeat(8);
        for function in &self.top_level {
            writeln!(page, "{indent} {}", spelled_out(self.functions[*function].name.to_string()))?;
        }
        write!(page, "{indent} {} function calls ", self.calls)?;
        if self.calls != self.primitive_calls {
            write!(page, "({} primitive calls) ", self.primitive_calls)?;
        }
        writeln!(page, "in {:.3} seconds\n", self.own_s)?;
        let Some(chosen) = self.chosen(restrictions) else { return Ok(()) };
        page.write_str(&chosen.words)?;
        page.write_str(match self.is_sampled {
            true => " nsamples  tottime persample cumtime persample filename:lineno(function)\n",
            false => "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n",
        })?;
        for row in chosen.rows.iter().map(|row| &self.rows[*row]) {
            let calls = counts(row.calls, row.primitive_calls);
            let (own, total) = (seconds(row.own_s), seconds(row.total_s));
            let (own_each, total_each) = (each(row.own_s, row.calls), each(row.total_s, row.primitive_calls));
            writeln!(page, "{calls:>9} {own} {own_each} {total} {total_each} {}", self.name_of(row.function))?;
        }
        page.write_str("\n\n")
    }

    /// Each function with those that called it.
    ///
    /// # Errors
    /// The page's.
    pub fn callers_listing(&self, restrictions: &[Restriction], page: &mut dyn Write) -> fmt::Result {
        let Some(chosen) = self.chosen(restrictions) else { return Ok(()) };
        write!(page, "{}{}", chosen.words, self.heading(chosen.width, "was called by..."))?;
        for row in chosen.rows.iter().map(|row| &self.rows[*row]) {
            self.write_calls(chosen.width, row.function, Some(&row.callers), "<-", page)?;
        }
        page.write_str("\n\n")
    }

    /// Each function with those that it called.
    ///
    /// # Errors
    /// The page's.
    pub fn callees_listing(&self, restrictions: &[Restriction], page: &mut dyn Write) -> fmt::Result {
        let Some(chosen) = self.chosen(restrictions) else { return Ok(()) };
        let callees = self.callees(&chosen.rows);
        write!(page, "{}{}", chosen.words, self.heading(chosen.width, "called..."))?;
        for row in chosen.rows.iter().map(|row| &self.rows[*row]) {
            self.write_calls(chosen.width, row.function, callees.get(&row.function), "->", page)?;
        }
        page.write_str("\n\n")
    }

    /// Each function whose coroutines waited, the longest first: not one of pstats' listings.
    ///
    /// # Errors
    /// The page's.
    pub fn awaits_listing(&self, restrictions: &[Restriction], page: &mut dyn Write) -> fmt::Result {
        let Some(all) = self.awaits() else { return page.write_str(NO_AWAITS) };
        // Their times are no sum: a coroutine waits while the one that it awaits does, and beside others.
        write!(page, "{} {} awaits", " ".repeat(8), all.count)?;
        if all.open > 0 {
            write!(page, " ({} had not ended)", all.open)?;
        }
        page.write_str("\n\n   Ordered by: time awaited\n")?;
        let mut rows: Vec<usize> = (0..self.awaits.len()).collect();
        rows.sort_by(|one, other| {
            let ((one, one_awaits), (other, other_awaits)) = (&self.awaits[*one], &self.awaits[*other]);
            other_awaits
                .waited_s
                .total_cmp(&one_awaits.waited_s)
                .then_with(|| self.functions[*one].cmp(&self.functions[*other]))
        });
        for restriction in restrictions {
            let (kept, said) = restriction.applied(rows, |row| self.name_of(self.awaits[row].0));
            rows = kept;
            page.write_str(&said)?;
        }
        page.write_str("\n   awaits  awaited  percall  cumtime filename:lineno(function)\n")?;
        for (function, awaits) in rows.iter().map(|row| &self.awaits[*row]) {
            let (waited, each) = (seconds(awaits.waited_s), each(awaits.waited_s, awaits.count));
            // What it ran is what its calls add up to: an await is not part of them.
            let ran = seconds(self.row_of.get(*function).map_or(0.0, |row| self.rows[row].total_s));
            writeln!(page, "{:>9} {waited} {each} {ran} {}", awaits.count, self.name_of(*function))?;
        }
        page.write_str("\n\n")
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

    fn write_calls(
        &self,
        width: usize,
        function: FunctionId,
        others: Option<&Callers>,
        arrow: &str,
        page: &mut dyn Write,
    ) -> fmt::Result {
        write!(page, "{:<width$}{arrow} ", self.name_of(function))?;
        match others {
            None => writeln!(page)?,
            Some(others) if others.is_empty() => writeln!(page)?,
            Some(Callers::Timed(others)) => {
                for (place, (other, timing)) in self.by_function(others).into_iter().enumerate() {
                    // The first has the arrow before it.
                    let (indent, column) = if place == 0 { (0, 7) } else { (width + 1, 9) };
                    let calls = counts(timing.calls, timing.primitive_calls);
                    let (own, total) = (seconds(timing.own_s), seconds(timing.total_s));
                    writeln!(page, "{:indent$}{calls:>column$} {own} {total}  {}", "", self.name_of(*other))?;
                }
            }
            Some(Callers::Counted(others)) => {
                for (place, (other, calls)) in self.by_function(others).into_iter().enumerate() {
                    let indent = if place == 0 { 0 } else { width + 3 };
                    // A caller without a row of its own has no time.
                    let total = self.row_of.get(*other).map_or(String::new(), |row| seconds(self.rows[row].total_s));
                    writeln!(page, "{:indent$}{}({calls}) {total}", "", self.name_of(*other))?;
                }
            }
        }
        Ok(())
    }

    /// Each is there once: no two are equal.
    fn by_function<'a, Of>(&self, others: &'a [(FunctionId, Of)]) -> Vec<&'a (FunctionId, Of)> {
        let mut others: Vec<_> = others.iter().collect();
        others.sort_unstable_by(|(left, _), (right, _)| self.functions[*left].cmp(&self.functions[*right]));
        others
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
