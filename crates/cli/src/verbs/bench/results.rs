//! What becomes of a session of `genba bench`: it is exported, shown, explained and added to the history as far as it can be, whatever fails of that.
//! Owns: in which order, and which of these needs another. Never: lays out text; has words of its own (outcome.rs).

use genba_bench::findings::Findings;
use genba_bench::lines::Line;
use genba_bench::measured::{Early, Session};
use genba_bench::report::{self, Shown};
use genba_bench::units::Unit;

use super::choice::{Sort, Style};
use super::exports::Exports;
use super::outcome;
use super::why::{self, Recordings};
use crate::read::{self, Stream};
use crate::words::failure::Failure;

/// Where the results go, and how.
pub struct Results<'a> {
    pub lines: &'a [Line],
    pub exports: &'a Exports,
    pub recordings: Option<&'a Recordings>,
    pub style: Style,
    pub sort: Sort,
    /// None: the one that fits.
    pub unit: Option<Unit>,
}

impl Results<'_> {
    /// `recorded`: whether the recordings came about, where they are asked for. Each failure is told; the last one by the caller.
    pub fn tell(&self, findings: &Findings<'_>, recorded: Result<(), Early>) -> Result<(), Failure> {
        let shown = Shown { unit: self.unit, is_in_order: self.sort == Sort::Command, ..Shown::default() };
        let written = self.exports.write(findings, self.sort.is_by_time_in_tables(), &shown);
        let printed = self.show(findings, shown);
        let added = self.add(findings);
        let is_shown = self.style != Style::None && printed.is_ok();
        let kept = outcome::kept(is_shown, &written);
        let explained = self.explain(findings.session, recorded, is_shown, kept);
        let verdict = explained.and_then(|()| outcome::judge(findings));
        outcome::told([verdict, printed, added].into_iter().chain(written))
    }

    /// Words make way for an export.
    fn stream(&self) -> Stream {
        if self.exports.has_stdout { Stream::Stderr } else { Stream::Stdout }
    }

    fn show(&self, findings: &Findings<'_>, shown: Shown) -> Result<(), Failure> {
        if self.style == Style::None {
            return Ok(());
        }
        let paint = read::paint(self.style.colour(), self.stream());
        read::show(&report::text(findings, &Shown { paint, ..shown }), self.stream())
    }

    /// What fails is no measure for the next session.
    fn add(&self, findings: &Findings<'_>) -> Result<(), Failure> {
        let is_measure = findings.session.ended_early.is_none() && findings.slower().is_empty();
        if is_measure { self.exports.append(findings) } else { Ok(()) }
    }

    /// Why the session ended early; else what the recordings say of the results on the screen. `kept`: what became of the results.
    fn explain(
        &self,
        session: &Session,
        recorded: Result<(), Early>,
        is_shown: bool,
        kept: &str,
    ) -> Result<(), Failure> {
        if let Some(early) = &session.ended_early {
            return Err(outcome::ended_early(early, Some((session, kept))));
        }
        let Some(recordings) = self.recordings else { return Ok(()) };
        recorded.map_err(|early| why::ended_early(&early, kept))?;
        if is_shown { recordings.say(self.lines, &session.measured, self.stream()) } else { Ok(()) }
    }
}
