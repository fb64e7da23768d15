//! The verdict in words: lines of text in which each place can be told from the words around it.
//! Owns: what each reason, place and advice says. Never: decides which reason or places there are; knows how a terminal, Markdown or
//! the page shows them. Over 500 lines: what is said of one verdict is read beside what is said of the others.

use std::fmt;

use super::blocks::{Blocks, Elsewhere};
use super::copies::Copies;
use super::place::{About, Advice, At, Import, Place, Wait};
use super::thresholds::{SAMPLES_MIN, TIME_NS_MIN};
use super::{Reason, ShortBlocks, Verdict, WaitedForWork};
use crate::rules::pace::higher_rate;
use crate::rules::warnings::masked;
use crate::tables::file_names::FileNames;
use crate::tables::profile::{FileIndex, FrameIndex, FunctionIndex, Home, Profile};
use crate::tables::state::wait_in_words;
use crate::words::excerpt::source_cut;
use crate::words::figures::{count, counted, duration, percent, share, size};

/// Source text beside a place.
const SOURCE_CELLS_MAX: usize = 60;
/// A part of the wall time that is worth words.
const PART_MIN: f64 = 0.03;

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    /// The name of a place in Python source.
    Place(String, Target),
    /// Source text.
    Code(String),
}

/// What a place's name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub file: FileIndex,
    pub line: Option<u32>,
    pub function: String,
}

impl Piece {
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Piece::Text(text) | Piece::Place(text, _) | Piece::Code(text) => text,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(pub Vec<Piece>);

impl Line {
    pub(crate) fn text(text: impl Into<String>) -> Line {
        Line::default().and(text)
    }

    pub(crate) fn and(mut self, text: impl Into<String>) -> Line {
        self.0.push(Piece::Text(text.into()));
        self
    }

    pub(crate) fn then(mut self, other: Line) -> Line {
        self.0.extend(other.0);
        self
    }
}

impl From<String> for Line {
    fn from(text: String) -> Line {
        Line::text(text)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| text.write_str(piece.text()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// What follows `NAME: ` on the first line.
    pub first: Line,
    /// The lines below it: places, and what to do.
    pub details: Vec<Line>,
}

impl Verdict {
    #[must_use]
    pub fn said(&self, profile: &Profile) -> Said {
        let words = Words { profile, verdict: self, files: FileNames::of(profile) };
        let mut details: Vec<Line> = self.places.iter().map(|place| words.place_below(place)).collect();
        details.extend(self.advice.iter().map(|advice| words.advice(*advice)));
        details.extend(self.close());
        details.extend(self.waited_for_work.as_ref().map(|waited| words.waited_for_work(waited)));
        details.extend(self.blocks.as_ref().map(|blocks| words.blocks(blocks)));
        details.extend(self.short_blocks.as_ref().map(|blocks| words.short_blocks(blocks)));
        details.extend(self.copies.iter().map(|copies| words.copies(copies)));
        details.extend(self.allocations.iter().map(|allocations| words.allocations(allocations)));
        details.extend(masked(profile).map(|warning| Line::from(warning.what().to_string())));
        Said { first: words.first(), details }
    }

    fn close(&self) -> Option<Line> {
        let names = self.may_be.join(" or ");
        (!names.is_empty()).then(|| Line::text(format!("close to a bound: another run may be called {names}")))
    }
}

struct Words<'p> {
    profile: &'p Profile,
    verdict: &'p Verdict,
    files: FileNames,
}

impl Words<'_> {
    fn first(&self) -> Line {
        let words = match self.verdict.reason {
            Reason::StartUp { processes, wall_ns, importing_ns } => {
                let side_by_side = match processes {
                    0 | 1 => String::new(),
                    several => format!(" in {} together", counted(several, "process", "processes")),
                };
                format!("{} of {}{side_by_side} is importing", duration(importing_ns), duration(wall_ns))
            }
            Reason::Waiting { wall_ns, cpu_ns, in_queue_ns } => {
                let queue = match share(in_queue_ns, wall_ns) >= PART_MIN {
                    true => format!(", {} ready to run without a CPU", duration(in_queue_ns)),
                    false => String::new(),
                };
                let (wall, cpu) = (duration(wall_ns), duration(cpu_ns));
                format!("{wall} wall, {cpu} CPU ({} %){queue}", percent(cpu_ns, wall_ns))
            }
            Reason::Gil { threads, cpu_ns, span_ns, waited_ns, wanting_ns } => format!(
                "{} ran {:.2} cores; {} % of their runnable time was waiting for it, {}. The CPU went to:",
                counted(threads, "thread", "threads"),
                share(cpu_ns, span_ns),
                percent(waited_ns, wanting_ns),
                duration(waited_ns)
            ),
            Reason::Gc { gc_cpu_ns, cpu_ns } => {
                let (part, whole) = (percent(gc_cpu_ns, cpu_ns), duration(cpu_ns));
                format!("{part} % of {whole} CPU is the cycle collector, set off by:")
            }
            Reason::NativeThreads { threads, native_cpu_ns, cpu_ns } => {
                let threads = counted(threads, "thread", "threads");
                let (part, whole) = (percent(native_cpu_ns, cpu_ns), duration(cpu_ns));
                format!("{part} % of {whole} CPU is on {threads} without Python")
            }
            Reason::Recursion { depth_max, is_depth_cut, cpu_ns } => {
                return self.recursion(depth_max, is_depth_cut, cpu_ns);
            }
            Reason::OnePlace { cpu_ns } => return self.part_is(cpu_ns),
            Reason::OneLine { expressions, cpu_ns } => {
                let expressions = counted(expressions, "expression", "expressions");
                return self.part_is(cpu_ns).and(format!(", in {expressions}"));
            }
            Reason::OneFunction { lines, cpu_ns } => {
                return self.part_is(cpu_ns).and(format!(", in {}", counted(lines, "line", "lines")));
            }
            Reason::Spread { largest_ns, ten_largest_ns, cpu_ns } => {
                let (largest, ten) = (percent(largest_ns, cpu_ns), percent(ten_largest_ns, cpu_ns));
                let whole = duration(cpu_ns);
                format!("no expression over {largest} %; the top ten make {ten} % of {whole} CPU. By library:")
            }
            Reason::NoSingleCause { largest_ns, ten_largest_ns, cpu_ns } => {
                let (largest, ten) = (percent(largest_ns, cpu_ns), percent(ten_largest_ns, cpu_ns));
                let whole = duration(cpu_ns);
                format!("the largest expression has {largest} %, the ten largest {ten} % of {whole} CPU")
            }
            Reason::NoClock { samples } => format!(
                "{}, and no CPU time for a verdict; the rows below count what there is",
                counted(samples, "sample", "samples")
            ),
            Reason::Damaged { blocks, cpu_lost_ns, cpu_ns } => {
                let blocks = counted(blocks, "block was", "blocks were");
                let stacks = match cpu_lost_ns {
                    0 => String::new(),
                    lost_ns => {
                        format!(", with the stacks of {} of {} sampled CPU", duration(lost_ns), duration(cpu_ns))
                    }
                };
                format!("at least {blocks} lost{stacks}; the rows below have the rest")
            }
            Reason::Stopped { not_recorded_ns, cpu_ns } => format!(
                "{} CPU came after the last block of a process without an end and was not recorded, {} was; the rows below have that",
                duration(not_recorded_ns),
                duration(cpu_ns)
            ),
            Reason::Masked { unseen_ns, cpu_ns } => format!(
                "{} CPU of threads that block SIGURG has no stacks, {} has; the rows below have that",
                duration(unseen_ns),
                duration(cpu_ns)
            ),
            Reason::SignalTaken { unseen_ns, cpu_ns } => format!(
                "the program has SIGURG for itself, and so {} CPU has no stacks, {} has; the rows below have that",
                duration(unseen_ns),
                duration(cpu_ns)
            ),
            Reason::NotFollowed { processes, wall_ns, cpu_ns, recorded_ns } => format!(
                "{} ran for {} ({} CPU) and {} not in this recording, which holds {} CPU",
                counted(processes, "Python of this run", "Pythons of this run"),
                duration(wall_ns),
                duration(cpu_ns),
                if processes == 1 { "is" } else { "are" },
                duration(recorded_ns)
            ),
            Reason::TooShort { wall_ns, samples } => {
                format!("{} wall, {}", duration(wall_ns), counted(samples, "sample", "samples"))
            }
        };
        Line::from(words)
    }

    fn recursion(&self, depth_max: u64, is_depth_cut: bool, cpu_ns: u64) -> Line {
        let Some(place) = &self.verdict.lead else { return Line::default() };
        let (part, whole) = (percent(place.part_ns, cpu_ns), duration(cpu_ns));
        let or_more = if is_depth_cut { " or more" } else { "" };
        self.at(&place.at).and(format!(" ×{depth_max}{or_more} deep holds {part} % of {whole} CPU"))
    }

    fn part_is(&self, cpu_ns: u64) -> Line {
        let Some(place) = &self.verdict.lead else { return Line::default() };
        Line::text(format!("{} % of {} CPU is ", percent(place.part_ns, cpu_ns), duration(cpu_ns)))
            .then(self.at(&place.at))
    }

    /// ` 31 %  19.0 s  slow.py:6 before   b[i:]`
    fn place_below(&self, place: &Place) -> Line {
        let part = percent(place.part_ns, self.verdict.whole_ns);
        let at = match (self.verdict.reason, &place.at) {
            (Reason::OnePlace { .. }, _) | (Reason::OneFunction { .. }, At::Expression(_)) => {
                return Line::text(format!("and {part} % is ")).then(self.at(&place.at));
            }
            // The line is in the first line already.
            (Reason::OneLine { .. }, &At::Expression(Some(frame))) => self.text(frame).or_else(|| self.columns(frame)),
            _ => None,
        };
        Line::text(format!("{part:>5} %  {:>7}  ", duration(place.part_ns)))
            .then(at.unwrap_or_else(|| self.at(&place.at)))
            .then(self.about(place))
    }

    fn about(&self, place: &Place) -> Line {
        let named = |places: &[(Option<FrameIndex>, u64)], before: &str| {
            let mut line = Line::default();
            for (position, (frame, part_ns)) in places.iter().enumerate() {
                let comma = if position == 0 { "" } else { ", " };
                line = line.and(format!("{comma}{before}")).then(self.name(*frame));
                line = line.and(format!(" {} %", percent(*part_ns, self.verdict.whole_ns)));
            }
            line
        };
        match &place.about {
            About::Nothing => Line::default(),
            About::Import(import) => Line::text(format!("   ({})", import_in_words(*import))),
            About::Wait(wait) => Line::text(format!("   {}", self.waited_for(*wait))),
            About::Places(places) => Line::text(": ").then(named(places, "")),
            About::Callers(callers, _) if callers.is_empty() => Line::default(),
            About::Callers(callers, more) => {
                let callers: Vec<(Option<FrameIndex>, u64)> =
                    callers.iter().map(|(frame, cpu_ns)| (Some(*frame), *cpu_ns)).collect();
                let more = if *more > 0 { format!(", {more} more") } else { String::new() };
                Line::text("   ").then(named(&callers, "← ")).and(more)
            }
            About::Expressions(number) => Line::text(format!(" ({})", counted(*number, "expression", "expressions"))),
            About::Threads(threads, caller) => {
                let threads = Line::text(format!(" on {}", counted(*threads, "thread", "threads")));
                match caller {
                    Some(frame) => threads
                        .and(", for ")
                        .then(self.at(&At::Expression(Some(*frame))))
                        .and("   (inferred: in the same library at the same time)"),
                    None => threads,
                }
            }
        }
    }

    /// `waiting for an event (poll), 214 to 2,500 waits, about 3.5 ms to 41 ms on average`. A wait's first moments may be in no sample.
    fn waited_for(&self, Wait { state, wall_ns, seen, turns, holder }: Wait) -> String {
        let held_by = holder.map(|holder| format!(", held by {}", self.profile.threads[holder.thread].in_words()));
        let what = wait_in_words(state) + &held_by.unwrap_or_default();
        let average = |times: u64| duration(wall_ns / times);
        match (seen, turns) {
            (0, turns @ 2..) => {
                format!("{what}, at most {} waits, about {} or more on average", count(turns), average(turns))
            }
            (times @ 2.., turns) if turns > times => {
                let (least, most) = (average(turns), average(times));
                format!("{what}, {times} to {} waits, about {least} to {most} on average", count(turns))
            }
            (times @ 2.., _) => {
                format!("{what}, at least {times} waits, about {} or less on average", average(times))
            }
            _ => what,
        }
    }

    fn advice(&self, advice: Advice) -> Line {
        let cpu_ns = self.verdict.whole_ns;
        Line::text(match advice {
            Advice::ProcessesOrReleaseGil => {
                "threads cannot help here: processes, or code that releases the GIL".to_owned()
            }
            Advice::WhoKeepsGil => {
                "some code keeps the GIL while it waits: genba dump PID shows which thread holds it".to_owned()
            }
            Advice::FreezeAtExit => {
                "gc.freeze() as the program's last line: what is left is not searched then".to_owned()
            }
            Advice::RaiseGcThreshold { collected } => {
                let why = match collected {
                    None => ", if little of it frees anything".to_owned(),
                    Some(0) => ": its collections freed nothing".to_owned(),
                    Some(some) => format!(": its collections freed only {}", counted(some, "object", "objects")),
                };
                format!("higher gc.set_threshold(), or gc.freeze() after start-up{why}")
            }
            Advice::FindCycles { collected } => format!(
                "it freed {}: genba gc FILE says where, and how to find their cycles",
                counted(collected, "object", "objects")
            ),
            Advice::FewerLargerCallbacks { loop_cpu_ns } => format!(
                "{} % is the event loop itself (asyncio): fewer and larger reads, writes and callbacks",
                percent(loop_cpu_ns, cpu_ns)
            ),
            Advice::AlsoOnePlace { frame, cpu_ns: part_ns } => {
                let more = format!("one place has more: {} % is ", percent(part_ns, cpu_ns));
                return Line::text(more).then(self.at(&At::Expression(Some(frame))));
            }
            Advice::LookAt { function, total_cpu_ns } => return self.look_at(function, total_cpu_ns),
            Advice::MeasureClock { clock_cpu_ns } => format!(
                "{} % is spent reading the clock: genba doctor --clock FILE says whether a faster one would help",
                percent(clock_cpu_ns, cpu_ns)
            ),
            Advice::RunLonger => {
                let went_on = self.profile.is_part_of_run();
                let more = if went_on { "record for longer" } else { "give it more to do, or the same in a loop" };
                format!("{more}: a verdict needs {}", duration(TIME_NS_MIN))
            }
            Advice::TickMoreOften => {
                let rate = higher_rate(self.profile);
                let rate = rate.map_or(String::new(), |rate| format!("tick more often (--rate {rate}), or "));
                format!("{rate}run for longer: a verdict needs {SAMPLES_MIN} samples")
            }
        })
    }

    fn look_at(&self, function: FunctionIndex, total_cpu_ns: u64) -> Line {
        let row = &self.profile.functions[function];
        let file = match row.home {
            Home::Python { file, .. } => Some(file),
            Home::C { .. } | Home::Mark => None,
        };
        let name = format!("{} ({})", row.name, file.and_then(|file| self.files.short(file)).unwrap_or_default());
        let target = file.map(|file| Target { file, line: None, function: row.name.clone() });
        let share = percent(total_cpu_ns, self.verdict.whole_ns);
        Line::text("next: ")
            .then(named(name, target))
            .and(format!(" has {share} % with what it calls (genba report --by function --sort total)"))
    }

    /// `blocks the event loop: at least 5 times, longest 200 ms, in app.py:12 load   time.sleep(0.2), called from app.py:30 answer`
    fn blocks(&self, blocks: &Blocks) -> Line {
        let longest = duration(blocks.longest_ns);
        let words = match blocks.times {
            1 => format!("for {longest}"),
            times => format!("at least {} times, longest {longest}", count(times)),
        };
        self.call_that_blocks(&format!("blocks the event loop: {words}, in "), blocks)
    }

    /// `blocks the event loop briefly: at least 40 times, 712 ms together, longest 19.6 ms, in app.py:12 load   time.sleep(0.02)`
    fn short_blocks(&self, ShortBlocks { sum_ns, at }: &ShortBlocks) -> Line {
        let (times, sum, longest) = (counted(at.times, "time", "times"), duration(*sum_ns), duration(at.longest_ns));
        let words = format!("at least {times}, {sum} together, longest {longest}");
        self.call_that_blocks(&format!("blocks the event loop briefly: {words}, in "), at)
    }

    fn call_that_blocks(&self, before: &str, blocks: &Blocks) -> Line {
        let mut line = Line::text(before).then(self.at(&At::Expression(Some(blocks.place))));
        if let Some(callback) = blocks.callback {
            line = line.and(", called from ").then(self.name(Some(callback)));
        }
        match blocks.elsewhere {
            Some(Elsewhere { times: 1, longest_ns }) => line.and(format!("; elsewhere for {}", duration(longest_ns))),
            Some(Elsewhere { times, longest_ns }) => {
                line.and(format!("; elsewhere at least {} times, longest {}", count(times), duration(longest_ns)))
            }
            None => line,
        }
    }

    /// `copies: slices.py:6 before   b[i:]  copies 19.9 GB ± 120 MB, 100 kB a call (99.5 % of all that memcpy and memmove copied)`
    fn copies(&self, copies: &Copies) -> Line {
        let part = percent(copies.bytes, copies.whole_bytes);
        let words = format!("  copies {} ({part} % of all that memcpy and memmove copied)", amount(copies, "a call"));
        Line::text("copies: ").then(self.at(&At::Expression(copies.place))).and(words)
    }

    /// `waited for work: 9.24 s of all threads' 10.4 s, in server.py:9 <module> 89.2 % (genba tree --weight wall)`
    fn waited_for_work(&self, waited: &WaitedForWork) -> Line {
        let WaitedForWork { wall_ns, whole_ns, places, .. } = waited;
        let (wall, whole) = (duration(*wall_ns), duration(*whole_ns));
        let mut line = Line::text(format!("waited for work: {wall} of all threads' {whole}"));
        for (position, (frame, part_ns)) in places.iter().enumerate() {
            let before = if position == 0 { ", in " } else { ", " };
            line = line.and(before).then(self.name(*frame)).and(format!(" {} %", percent(*part_ns, *whole_ns)));
        }
        let awaited = if waited.in_event_loop { ", or for what requests await (genba trace tells)" } else { "" };
        line.and(format!(" (genba tree --weight wall){awaited}"))
    }

    /// `allocations: app.py:6 load   bytes(n)  allocates 19.9 GB ± 120 MB, 100 kB each time (99.5 % of all allocated bytes)`
    fn allocations(&self, allocations: &Copies) -> Line {
        let part = percent(allocations.bytes, allocations.whole_bytes);
        let words = format!("  allocates {} ({part} % of all allocated bytes)", amount(allocations, "each time"));
        Line::text("allocations: ").then(self.at(&At::Expression(allocations.place))).and(words)
    }

    fn at(&self, at: &At) -> Line {
        let short = |file: FileIndex| self.files.short(file).unwrap_or_default();
        match at {
            &At::Expression(None) => Line::text("outside of Python"),
            &At::Expression(Some(frame)) => match self.text(frame) {
                Some(text) => self.name(Some(frame)).and("   ").then(text),
                None => self.name(Some(frame)).and(self.lack(frame)),
            },
            At::Line { file, line, function } => {
                let target = Target { file: *file, line: Some(*line), function: function.clone() };
                named(format!("{}:{line} {function}", short(*file)), Some(target))
            }
            &At::LineOf(frame) => self.line_of(frame),
            At::Whole { file, function } => {
                let target = Target { file: *file, line: None, function: function.clone() };
                named(format!("{function} ({})", short(*file)), Some(target))
            }
            &At::Function(function) => {
                let row = &self.profile.functions[function];
                match row.home {
                    Home::Python { file, first_line, .. } => {
                        let target = Target { file, line: None, function: row.name.clone() };
                        named(format!("{} ({}:{first_line})", row.name, short(file)), Some(target))
                    }
                    Home::C { .. } | Home::Mark => Line::text(row.name.clone()),
                }
            }
            At::Library(name) => Line::text(name.clone()),
            &At::NativeLibrary(module) => Line::text(self.profile.modules[module].base_name()),
            At::IdleThreads(threads) => {
                Line::text(format!("{} waiting in libraries", counted(*threads, "thread", "threads")))
            }
            At::Exit => Line::text("at exit: collecting everything that is left"),
        }
    }

    /// `line 7   total += …`, in the function that the first line names.
    fn line_of(&self, frame: FrameIndex) -> Line {
        let row = &self.profile.frames[frame];
        let source = self.line(frame);
        let Some(location) = row.location else { return source.unwrap_or_else(|| self.name(Some(frame))) };
        let target = self.target(frame).map(|target| Target { line: Some(location.line), ..target });
        let line = named(format!("line {}", location.line), target);
        source.map_or(line.clone(), |source| line.and("   ").then(source))
    }

    /// `b[i:]`, or the whole line where its columns are not known.
    fn text(&self, frame: FrameIndex) -> Option<Line> {
        let expression = &self.profile.frames[frame].expression;
        expression.as_ref().map_or_else(|| self.line(frame), |expression| source(&expression.text))
    }

    /// `slow.py:6 before (columns 9 to 18)`, of an expression whose text is not known.
    fn columns(&self, frame: FrameIndex) -> Option<Line> {
        let columns = self.profile.frames[frame].location?.columns_in_words()?;
        Some(self.name(Some(frame)).and(format!(" ({columns})")))
    }

    /// ` (the file was changed after the program began)`: that line may be another one by now.
    fn lack(&self, frame: FrameIndex) -> String {
        let source = self.profile.source_of(self.profile.frames[frame].function);
        source.and_then(|source| source.lack).map_or(String::new(), |lack| format!(" ({})", lack.words()))
    }

    /// None where the source is not known.
    fn line(&self, frame: FrameIndex) -> Option<Line> {
        let row = &self.profile.frames[frame];
        source(self.profile.source_of(row.function)?.line(row.location?.line)?)
    }

    /// `slow.py:6 before`
    fn name(&self, frame: Option<FrameIndex>) -> Line {
        let Some(frame) = frame else { return Line::text("outside of Python") };
        let name = &self.profile.functions[self.profile.frames[frame].function].name;
        let Some(target) = self.target(frame) else { return Line::text(name.clone()) };
        let line = target.line.map_or(String::new(), |line| format!(":{line}"));
        let file = self.files.short(target.file).unwrap_or_default();
        named(format!("{file}{line} {name}"), Some(target))
    }

    fn target(&self, frame: FrameIndex) -> Option<Target> {
        let row = &self.profile.frames[frame];
        let function = &self.profile.functions[row.function];
        let Home::Python { file, .. } = function.home else { return None };
        Some(Target { file, line: row.location.map(|location| location.line), function: function.name.clone() })
    }
}

/// `19.9 GB ± 120 MB, 100 kB a call`, as far as that is known.
fn amount(copies: &Copies, call: &str) -> String {
    let margin = copies.margin_bytes.filter(|margin_bytes| *margin_bytes > 0);
    let margin = margin.map_or(String::new(), |margin_bytes| format!(" ± {}", size(margin_bytes)));
    let each = copies.each_bytes.map_or(String::new(), |each_bytes| format!(", {} {call}", size(each_bytes)));
    format!("{}{margin}{each}", size(copies.bytes))
}

fn named(name: String, target: Option<Target>) -> Line {
    Line(vec![match target {
        Some(target) => Piece::Place(name, target),
        None => Piece::Text(name),
    }])
}

fn source(text: &str) -> Option<Line> {
    Some(source_cut(text, SOURCE_CELLS_MAX))
        .filter(|shown| !shown.is_empty())
        .map(|shown| Line(vec![Piece::Code(shown)]))
}

/// `running 31 ms, loading libraries 2.0 ms`
fn import_in_words(Import { running_ns, loading_ns, waiting_ns, rest_ns }: Import) -> String {
    let parts = [
        ("running", running_ns),
        ("loading libraries", loading_ns),
        ("waiting", waiting_ns),
        ("waiting for a CPU or the GIL", rest_ns),
    ];
    let parts = parts.into_iter().filter(|(_, part_ns)| *part_ns > 0);
    let parts: Vec<String> = parts.map(|(word, part_ns)| format!("{word} {}", duration(part_ns))).collect();
    parts.join(", ")
}
