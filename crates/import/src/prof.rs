//! `.prof` files of cProfile, profile and CPython's sampling profiler: functions and their callers, with what each caller had of a function.
//! Owns: what a sample stands for, and the words about it. Never: makes a call tree: a stack is a function below one caller, or alone
//! where the file does not tell what a caller had of its time.

use std::sync::Arc;

use genba_format::{Recording, proto};
use genba_pstats::{Callers, Function, Functions, Prof, Row};

use crate::builder::{Builder, Frame, Sample};
use crate::room::Room;
use crate::{Imported, Refused};

const KIND: &str = "a .prof file";

pub fn read(bytes: &[u8], mut room: Room) -> Result<Imported, Refused> {
    let prof = prof_of(bytes, room)?;
    if prof.rows.is_empty() {
        return Err(Refused::Unsupported("a .prof file without functions: nothing was profiled".to_owned()));
    }
    let rest = prof.rest_bytes;
    let faults = (rest > 0).then(|| format!("{rest} bytes behind the end of the profile are not read"));
    Ok(Imported {
        recording: recording(&prof, bytes, proto::Start { native: true, ..proto::Start::default() }, &mut room)?,
        words: words(&prof).to_owned(),
        unknown: UNKNOWN.to_owned(),
        faults: Vec::from_iter(faults),
        notes: Vec::new(),
        timeless: Some("a .prof file tells sums, not moments"),
        counts_calls: !prof.is_sampled,
    })
}

const UNKNOWN: &str =
    "a .prof file tells sums alone: no clock of the process beside them for law 2, and no ticks for law 1";

/// Takes at most half of `room`, and none of it in the end: `room` is what the views of the recording have, and before the first of them this is
/// dropped. While both are there, functions, calls and samples take less than half of what they take in a view.
pub(crate) fn prof_of(bytes: &[u8], room: Room) -> Result<Prof, Refused> {
    let mut left = room.left() / 2;
    genba_pstats::read_within(bytes, &mut left).map_err(|damaged| match damaged.needs_more_memory {
        true => room.refusal(),
        false => Refused::Damaged { kind: KIND, byte: damaged.byte, expected: damaged.expected, found: damaged.found },
    })
}

/// `bytes`: of the file. What the recording takes is taken from `room`.
///
/// # Errors
/// It needs more room.
pub(crate) fn recording(prof: &Prof, bytes: &[u8], start: proto::Start, room: &mut Room) -> Result<Recording, Refused> {
    let mut samples = Samples::new(prof.is_sampled, *room)?;
    prof.rows.iter().try_for_each(|row| samples.row(row, &prof.functions))?;
    *room = samples.builder.room();
    Ok(samples.builder.finish(bytes, start, 0))
}

struct Samples {
    builder: Builder,
    thread: u32,
    is_sampled: bool,
}

impl Samples {
    fn new(is_sampled: bool, room: Room) -> Result<Samples, Refused> {
        let mut builder = Builder::within(room);
        let thread = builder.thread(0, "")?;
        Ok(Samples { builder, thread, is_sampled })
    }

    fn row(&mut self, row: &Row, functions: &Functions) -> Result<(), Refused> {
        let function = &functions[row.function];
        let own_ns = nanoseconds(row.own_s);
        match &row.callers {
            // Its counts are those of whole stacks: only the function's own are its samples.
            _ if self.is_sampled => self.add(None, function, row.primitive_calls, own_ns),
            Callers::Timed(callers) => {
                let (mut calls_left, mut own_left_ns) = (row.calls, own_ns);
                for (caller, timing) in callers {
                    let (calls, own_ns) = (timing.calls, nanoseconds(timing.own_s));
                    self.add(Some(&functions[*caller]), function, calls, own_ns)?;
                    calls_left = calls_left.saturating_sub(calls);
                    own_left_ns = own_left_ns.saturating_sub(own_ns);
                }
                self.add(None, function, calls_left, own_left_ns)
            }
            Callers::Counted(callers) => {
                // Which part of the time is whose is known of one caller alone.
                let only = callers.first().filter(|(_, calls)| callers.len() == 1 && *calls == row.calls);
                self.add(only.map(|(caller, _)| &functions[*caller]), function, row.calls, own_ns)
            }
        }
    }

    /// A sample is a call or several: time without one, of a call that did not end, is in none.
    fn add(
        &mut self,
        caller: Option<&Function>,
        function: &Function,
        calls: u64,
        mut wall_ns: u64,
    ) -> Result<(), Refused> {
        if calls == 0 {
            self.builder.not_sampled(0, wall_ns);
            return Ok(());
        }
        let caller = caller.map(|caller| self.builder.node(None, &frame(caller))).transpose()?;
        let leaf = Some(self.builder.node(caller, &frame(function))?);
        let mut calls_left = calls;
        while calls_left > 0 {
            // A sample has room for 32 bits.
            let ticks = u32::try_from(calls_left).unwrap_or(u32::MAX);
            self.builder.sample(Sample { thread: self.thread, leaf, ticks, wall_ns, ..Sample::default() })?;
            calls_left -= u64::from(ticks);
            wall_ns = 0;
        }
        Ok(())
    }
}

/// cProfile's `~`, 0 and `<built-in method …>` are a function of C, and profile's names without a file.
fn frame(function: &Function) -> Frame {
    match (&*function.file, function.line) {
        ("~" | "", 0) => {
            let name = function.name.strip_prefix('<').and_then(|name| name.strip_suffix('>'));
            Frame::C { name: name.map_or_else(|| Arc::clone(&function.name), Arc::from), module: Some("C".into()) }
        }
        (_, line) => Frame::Python {
            name: Arc::clone(&function.name),
            file: Arc::clone(&function.file),
            first_line: u32::try_from(line).unwrap_or(0),
            line: None,
        },
    }
}

/// What calibration made less than nothing is nothing.
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

fn words(prof: &Prof) -> &'static str {
    let is_timed = prof.rows.iter().any(|row| matches!(&row.callers, Callers::Timed(callers) if !callers.is_empty()));
    match (prof.is_sampled, is_timed) {
        (true, _) => {
            "imported from a .prof file of CPython's sampling profiler: time in functions themselves, without callers; no call \
             tree, no clocks, no accounting; genba pstats has callers and cumulative times"
        }
        (false, true) => {
            "imported from a .prof file: one sample is one call, and all were counted; wall is the time in a function itself, below \
             the function that called it; no call tree, no accounting; genba pstats has cumulative times"
        }
        (false, false) => {
            "imported from a .prof file: one sample is one call, and all were counted; wall is the time in a function itself, \
             below its caller where it has one caller alone; no call tree, no accounting; genba pstats has the others"
        }
    }
}
