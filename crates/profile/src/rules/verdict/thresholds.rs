//! How much is enough for each reason; docs/verdicts explains each number.
//! Owns: the numbers. Never: compares them with anything.

/// A verdict rests on so much wall time, and on so many samples of what ran. How long a wait took is measured, however few samples it has.
pub(in crate::rules) const TIME_NS_MIN: u64 = 100_000_000;
pub(in crate::rules) const SAMPLES_MIN: u64 = 50;
/// Of the sampled CPU: what lost blocks took the stacks of. Where that is more, nothing is judged.
pub(super) const LOST_MAX: f64 = 0.1;
/// Of the program's CPU: what a process without an end used after its last block. Where that is more, or where it is more than `LOST_MAX` and
/// with it there was work for half of the time, nothing is judged.
pub(super) const STOPPED_MAX: f64 = 0.5;
/// Importing took so much of a process's wall time, in processes that used so much of the CPU.
pub(super) const START_UP_MIN: f64 = 0.5;
pub(super) const START_UP_CPU_MIN: f64 = 0.5;
/// Threads that had work waited for the GIL for so much of it.
pub(super) const GIL_WAIT_MIN: f64 = 0.3;
/// Of the CPU of a process's Python threads: on others than the busiest one.
pub(super) const GIL_OTHERS_MIN: f64 = 0.1;
/// Of the CPU: in the collector.
pub(super) const GC_MIN: f64 = 0.2;
/// Of the CPU: on threads on which no Python runs.
pub(super) const NATIVE_MIN: f64 = 0.3;
/// Of the CPU: in one expression, in the expressions of one line, of one function.
pub(super) const ONE_PLACE_MIN: f64 = 0.4;
pub(super) const ONE_LINE_MIN: f64 = 0.4;
pub(super) const ONE_FUNCTION_MIN: f64 = 0.4;
/// Of the CPU: below a function that calls itself, at least so deep.
pub(super) const RECURSION_MIN: f64 = 0.5;
pub(super) const RECURSION_DEPTH_MIN: u64 = 3;
/// Of the CPU: the largest expression at most, and what runs outside of Python; and the ten largest together.
pub(super) const SPREAD_LARGEST_MAX: f64 = 0.1;
pub(super) const SPREAD_TEN_MAX: f64 = 0.5;
pub(super) const TEN: usize = 10;
/// A share exceeds those two when it does so by its margin of 95 %; of fewer samples than these it is taken as it is.
pub(super) const MARGIN_SAMPLES_MIN: f64 = 200.0;
/// The share of the time with work is close to a half within the margin of 95 % of its ticks, and within so much at least: programs that
/// work and wait in turns differ by that from run to run, however often they are looked at.
pub(super) const WAITING_MARGIN_MIN: f64 = 0.03;
/// Copies are worth a line from so many bytes on, and of all copied bytes a place has so much: at most five places.
pub(super) const COPIED_BYTES_MIN: u64 = 50_000_000;
pub(super) const COPIED_MIN: f64 = 0.2;
/// The size of one copy is told where the margin of the bytes is so much of them at most, and where it is below the least distance between
/// two samples.
pub(super) const CALLS_MARGIN_MAX: f64 = 0.1;
pub(super) const CALL_BYTES_MAX: u64 = 500_000;
/// A callback of an event loop blocks it when it takes so much CPU, or is so long in calls that block.
pub(super) const BLOCKS_NS_MIN: u64 = 50_000_000;
/// Calls that block for less than that, and for so long at least, are told where together they are so much of the thread's wall time.
pub(super) const SHORT_BLOCK_NS_MIN: u64 = 5_000_000;
pub(super) const SHORT_BLOCKS_MIN: f64 = 0.2;
/// Of the CPU: within readings of a clock. What a slow one costs is worth a look then.
pub(super) const CLOCK_MIN: f64 = 0.1;
