//! The verdict's words.
//! Owns: what each reason says, in figures of this recording. Never: decides which reason it is.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::blocks::Blocks;
use super::facts::{Facts, Library, SetOff, StartUp, Waits, widest_function};
use super::{Reason, SAMPLES_MIN, TEN, TIME_NS_MIN, Verdict};
use crate::figures::{count, counted, duration, percent, share};
use crate::owner::Owner;
use crate::profile::{FileIndex, FrameIndex, Function, FunctionIndex, Home, ModuleIndex, Profile, ThreadIndex};
use crate::report::file_names::FileNames;
use crate::warnings::masked;

/// Places below the verdict's first line.
const DETAILS_MAX: usize = 4;
/// So many callers are named beside each library.
const CALLERS_MAX: usize = 2;
/// A second place with so much of the largest is named beside it.
const SECOND_MIN: f64 = 0.5;
/// A place with less of the whole is not named.
const DETAIL_MIN: f64 = 0.03;
/// Source text beside a place, in characters.
const TEXT_MAX: usize = 60;

pub(super) fn verdict(profile: &Profile, facts: &Facts, reason: Reason) -> Verdict {
    let words = Words { profile, facts, files: FileNames::of(profile, files(profile)) };
    let (first, mut details) = match reason {
        Reason::StartUp => words.start_up(),
        Reason::Waiting => words.waiting(),
        Reason::Gil => words.gil(),
        Reason::Gc => words.gc(),
        Reason::NativeThreads => words.native_threads(),
        Reason::Recursion => words.recursion(),
        Reason::OnePlace => words.one_place(),
        Reason::OneLine => words.one_line(),
        Reason::OneFunction => words.one_function(),
        Reason::Spread => words.spread(),
        Reason::NoSingleCause => words.no_single_cause(),
        Reason::TooShort => words.too_short(),
    };
    details.extend(words.blocks());
    details.extend(masked(profile));
    Verdict { reason, words: first, details }
}

fn files(profile: &Profile) -> impl Iterator<Item = FileIndex> {
    profile.functions.iter().filter_map(|function| match function.home {
        Home::Python { file, .. } => Some(file),
        Home::C { .. } | Home::Mark => None,
    })
}

struct Words<'p> {
    profile: &'p Profile,
    facts: &'p Facts,
    files: FileNames,
}

type Lines = (String, Vec<String>);
type Places<'p> = HashMap<&'p Option<FrameIndex>, &'p Waits>;

impl Words<'_> {
    fn start_up(&self) -> Lines {
        let StartUp { processes, wall_ns, importing_ns, imports } =
            self.facts.start_up(self.profile).unwrap_or_default();
        let side_by_side = match processes {
            0 | 1 => String::new(),
            several => format!(" in {} together", counted(several, "process", "processes")),
        };
        let first = format!("{} of {}{side_by_side} is importing", duration(importing_ns), duration(wall_ns));
        let rows = largest(&imports, |import| import.wall_ns, wall_ns).into_iter().map(|(frame, import)| {
            let no_cpu_ns =
                import.wall_ns.saturating_sub(import.running_ns + import.loading_ns).saturating_sub(import.waiting_ns);
            let parts = [
                ("running", import.running_ns),
                ("loading libraries", import.loading_ns),
                ("waiting", import.waiting_ns),
                ("waiting for a CPU or the GIL", no_cpu_ns),
            ];
            let parts = parts.into_iter().filter(|(_, part_ns)| *part_ns > 0);
            let parts: Vec<String> = parts.map(|(word, part_ns)| format!("{word} {}", duration(part_ns))).collect();
            row(import.wall_ns, wall_ns, &format!("{}   ({})", self.place(Some(frame)), parts.join(", ")))
        });
        (first, rows.collect())
    }

    fn waiting(&self) -> Lines {
        let (wall_ns, cpu_ns) = (self.profile.wall_ns(), self.facts.whole.cpu_ns);
        let queue = match share(self.facts.in_queue_ns, wall_ns) >= DETAIL_MIN {
            true => format!(", {} ready to run without a CPU", duration(self.facts.in_queue_ns)),
            false => String::new(),
        };
        let (wall, cpu) = (duration(wall_ns), duration(cpu_ns));
        let first = format!("{wall} wall, {cpu} CPU ({} %){queue}", percent(cpu_ns, wall_ns));
        let all_ns = self.facts.whole.wall_ns;
        // A library's thread that waits for work waits all the time: the user's own places come first.
        let (own, others): (Places, Places) = self.facts.waits.iter().partition(|(frame, _)| self.is_own(**frame));
        let (own, others) =
            (largest(&own, |waits| waits.wall_ns, all_ns), largest(&others, |waits| waits.wall_ns, all_ns));
        let of_libraries = match others.as_slice() {
            [] => None,
            [(_, only)] if only.threads.len() < 2 => None,
            _ if own.is_empty() => None,
            several => Some(self.threads_of_libraries(several, all_ns)),
        };
        let others = if of_libraries.is_some() { Vec::new() } else { others };
        let places = own.into_iter().chain(others);
        let rows = places.map(|(frame, waits)| {
            row(waits.wall_ns, all_ns, &format!("{}   {}", self.place(*frame), self.waited_for(waits)))
        });
        (first, rows.take(DETAILS_MAX).chain(of_libraries).collect())
    }

    /// `waiting for an event (poll), 214 to 2,500 waits, 3.5 ms to 41 ms each`: in the state that took longest. The first number is the
    /// waits that were seen to begin: a thread that ran for less than a tick between two waits may not have been seen running. The second is
    /// how often the kernel gave the thread a CPU: after each wait, and at other times.
    fn waited_for(&self, waits: &Waits) -> String {
        let longest = waits.states.iter().max_by_key(|(state, (_, wall_ns))| (*wall_ns, **state));
        let Some((state, (times, wall_ns))) = longest else { return String::new() };
        let what = state.wait_in_words();
        let turns = || waits.threads.iter().filter_map(|thread| self.profile.threads[*thread].turns);
        match (*times, turns().fold(0, u64::saturating_add)) {
            (0, turns @ 2..) => {
                format!("{what}, at most {} waits, at least {} each", count(turns), duration(wall_ns / turns))
            }
            (times @ 2.., turns) if turns > times => {
                let (shortest, longest) = (duration(wall_ns / turns), duration(wall_ns / times));
                format!("{what}, {times} to {} waits, {shortest} to {longest} each", count(turns))
            }
            (times @ 2.., _) => format!("{what}, at least {times} waits, at most {} each", duration(wall_ns / times)),
            _ => what,
        }
    }

    /// Idle threads of pools and servers, in one row.
    fn threads_of_libraries(&self, places: &[(&Option<FrameIndex>, &&Waits)], all_ns: u64) -> String {
        let threads: HashSet<ThreadIndex> = places.iter().flat_map(|(_, waits)| &waits.threads).copied().collect();
        let wall_ns = places.iter().map(|(_, waits)| waits.wall_ns).fold(0, u64::saturating_add);
        let place = |(frame, waits): &(&Option<FrameIndex>, &&Waits)| {
            format!("{} {} %", self.place_name(**frame), percent(waits.wall_ns, all_ns))
        };
        let named: Vec<String> = places.iter().map(place).collect();
        let threads = counted(threads.len() as u64, "thread", "threads");
        row(wall_ns, all_ns, &format!("{threads} waiting in libraries: {}", named.join(", ")))
    }

    fn gil(&self) -> Lines {
        let cpu_ns = self.facts.whole.cpu_ns;
        let cores = share(cpu_ns, self.profile.span_ns);
        let waited = percent(self.facts.gil_wait_ns, self.facts.wanting_ns);
        let threads = counted(self.facts.gil_threads() as u64, "thread", "threads");
        let first = format!(
            "{threads} ran {cores:.2} cores; {waited} % of their runnable time was waiting for it, {}. Held most by:",
            duration(self.facts.gil_wait_ns)
        );
        let mut details = self.places(&self.facts.running, cpu_ns);
        details.push("threads cannot help here: processes, or code that releases the GIL".to_owned());
        (first, details)
    }

    fn gc(&self) -> Lines {
        let (gc_ns, cpu_ns) = (self.facts.gc_cpu_ns, self.facts.whole.cpu_ns);
        let first =
            format!("{} % of {} CPU is the cycle collector, set off by:", percent(gc_ns, cpu_ns), duration(cpu_ns));
        let rows = largest(&self.facts.gc, |gc_ns| *gc_ns, cpu_ns).into_iter().map(|(set_off, gc_ns)| {
            let what = match set_off {
                SetOff::By(frame) => self.place(frame),
                SetOff::Exit => "at exit: collecting everything that is left".to_owned(),
            };
            row(*gc_ns, cpu_ns, &what)
        });
        let mut details: Vec<String> = rows.collect();
        let most = self.facts.gc.iter().max_by_key(|(set_off, gc_ns)| (**gc_ns, Reverse(**set_off)));
        details.push(match most {
            Some((SetOff::Exit, _)) => {
                "gc.freeze() as the program's last line: what is left is not searched then".to_owned()
            }
            _ => "higher gc.set_threshold(), or gc.freeze() after start-up, if little of it frees anything".to_owned(),
        });
        (first, details)
    }

    fn native_threads(&self) -> Lines {
        let cpu_ns = self.facts.whole.cpu_ns;
        let native: Vec<u64> = self.facts.native_threads().map(|(_, cpu_ns)| cpu_ns).collect();
        let threads = counted(native.len() as u64, "thread", "threads");
        let first = format!(
            "{} % of {} CPU is on {threads} without Python",
            percent(native.iter().sum(), cpu_ns),
            duration(cpu_ns)
        );
        (first, self.native_libraries())
    }

    /// The libraries that those threads ran in, and for whom: whose own code was in the same library at the same time, the longest. A
    /// thread does not say who gave it its work.
    fn native_libraries(&self) -> Vec<String> {
        let threads: HashSet<ThreadIndex> = self.facts.native_threads().map(|(thread, _)| thread).collect();
        let mut libraries: HashMap<ModuleIndex, (u64, u64)> = HashMap::new();
        for ((thread, module), cpu_ns) in &self.facts.thread_libraries {
            if threads.contains(thread) && *cpu_ns > 0 {
                let (sum_ns, count) = libraries.entry(*module).or_default();
                *sum_ns = sum_ns.saturating_add(*cpu_ns);
                *count += 1;
            }
        }
        let whole_ns = self.facts.whole.cpu_ns;
        let rows = largest(&libraries, |(cpu_ns, _)| *cpu_ns, whole_ns).into_iter().map(|(module, (cpu_ns, count))| {
            let name = self.profile.modules[module].base_name();
            let callers = self.facts.own_in_libraries.get(&module).into_iter().flatten();
            let caller = callers.max_by_key(|(frame, beside_ns)| (**beside_ns, Reverse(**frame)));
            let caller = caller.map_or(String::new(), |(frame, _)| {
                format!(", for {}   (inferred: in the same library at the same time)", self.place(Some(*frame)))
            });
            row(*cpu_ns, whole_ns, &format!("{name} on {}{caller}", counted(*count, "thread", "threads")))
        });
        rows.collect()
    }

    fn recursion(&self) -> Lines {
        let cpu_ns = self.facts.whole.cpu_ns;
        let Some((function, recursion)) = self.facts.deepest_recursion() else {
            return self.no_single_cause();
        };
        let first = format!(
            "{} ×{} deep holds {} % of {} CPU",
            self.function(function),
            recursion.depth_max,
            percent(recursion.cpu_ns, cpu_ns),
            duration(cpu_ns)
        );
        (first, Vec::new())
    }

    fn one_place(&self) -> Lines {
        let cpu_ns = self.facts.whole.cpu_ns;
        let places = largest(&self.facts.running, |place_ns| *place_ns, cpu_ns);
        let mut places = places.into_iter().filter(|(frame, _)| frame.is_some());
        let Some((frame, largest_ns)) = places.next() else { return (String::new(), Vec::new()) };
        let first = format!("{} % of {} CPU is {}", percent(*largest_ns, cpu_ns), duration(cpu_ns), self.place(frame));
        let second = places.next().filter(|(_, place_ns)| share(**place_ns, *largest_ns) >= SECOND_MIN);
        let and =
            |(frame, place_ns): (_, &u64)| format!("and {} % is {}", percent(*place_ns, cpu_ns), self.place(frame));
        (first, second.map(and).into_iter().collect())
    }

    fn one_line(&self) -> Lines {
        let cpu_ns = self.facts.whole.cpu_ns;
        let Some(line) = self.facts.lines(self.profile).into_iter().next() else { return self.no_single_cause() };
        let first = format!(
            "{} % of {} CPU is {}:{} {}, in {}",
            percent(line.cpu_ns, cpu_ns),
            duration(cpu_ns),
            self.files.short(line.file).unwrap_or_default(),
            line.line,
            line.function,
            counted(line.parts.len() as u64, "expression", "expressions")
        );
        (first, self.parts(&line.parts, |frame| self.text(frame)))
    }

    fn one_function(&self) -> Lines {
        let cpu_ns = self.facts.whole.cpu_ns;
        let Some(function) = self.facts.functions(self.profile).into_iter().next() else {
            return self.no_single_cause();
        };
        let first = format!(
            "{} % of {} CPU is {} ({}), in {}",
            percent(function.cpu_ns, cpu_ns),
            duration(cpu_ns),
            function.function,
            self.files.short(function.file).unwrap_or_default(),
            counted(function.parts.len() as u64, "line", "lines")
        );
        let line = |frame: FrameIndex| {
            let row = &self.profile.frames[frame];
            let at = row.location.map_or(String::new(), |location| format!("line {}", location.line));
            format!("{at}   {}", self.line(frame)).trim().to_owned()
        };
        (first, self.parts(&function.parts, line))
    }

    fn parts(&self, parts: &[(FrameIndex, u64)], words: impl Fn(FrameIndex) -> String) -> Vec<String> {
        let cpu_ns = self.facts.whole.cpu_ns;
        let worth = parts.iter().filter(|(_, part_ns)| share(*part_ns, cpu_ns) >= DETAIL_MIN).take(DETAILS_MAX);
        let words = |frame: FrameIndex| Some(words(frame)).filter(|words| !words.is_empty());
        let name = |frame: FrameIndex| words(frame).unwrap_or_else(|| self.place_name(Some(frame)));
        worth.map(|(frame, part_ns)| row(*part_ns, cpu_ns, &name(*frame))).collect()
    }

    fn spread(&self) -> Lines {
        let cpu_ns = self.facts.whole.cpu_ns;
        let (largest_share, ten_share) = self.shares();
        let first = format!(
            "no expression over {largest_share} %; the top ten make {ten_share} % of {} CPU. By library:",
            duration(cpu_ns)
        );
        let rows = largest(&self.facts.libraries, |library| library.cpu_ns, cpu_ns);
        (first, rows.into_iter().map(|(name, library)| self.library(&name, library, cpu_ns)).collect())
    }

    fn no_single_cause(&self) -> Lines {
        let cpu_ns = self.facts.whole.cpu_ns;
        let (largest_share, ten_share) = self.shares();
        let words = format!(
            "the largest expression has {largest_share} %, the ten largest {ten_share} % of {} CPU",
            duration(cpu_ns)
        );
        let next = widest_function(self.profile).map(|(function, total_ns)| {
            let Function { name, home, .. } = &self.profile.functions[function];
            let file = match home {
                Home::Python { file, .. } => self.files.short(*file).unwrap_or_default(),
                Home::C { .. } | Home::Mark => "",
            };
            let share = percent(total_ns, cpu_ns);
            format!("next: {name} ({file}) has {share} % with what it calls (genba report --by function --sort total)")
        });
        let largest_ns = self.facts.expressions_ns().first().copied().unwrap_or(0);
        let of_loop = (self.facts.loop_cpu_ns > largest_ns).then(|| {
            let share = percent(self.facts.loop_cpu_ns, cpu_ns);
            format!("{share} % is the event loop itself (asyncio): fewer and larger reads, writes and callbacks")
        });
        (words, of_loop.into_iter().chain(next).collect())
    }

    fn too_short(&self) -> Lines {
        let wall_ns = self.profile.wall_ns();
        let samples = counted(self.facts.running_samples, "sample", "samples");
        let advice = match wall_ns < TIME_NS_MIN {
            true => format!("give it more to do, or the same in a loop: a verdict needs {}", duration(TIME_NS_MIN)),
            false => format!("tick more often (--rate 1000), or run for longer: a verdict needs {SAMPLES_MIN} samples"),
        };
        (format!("{} wall, {samples}", duration(wall_ns)), vec![advice])
    }

    /// How often and for how long a callback was seen to take the event loop for itself.
    fn blocks(&self) -> Option<String> {
        let Blocks { times, longest_ns, place } = Blocks::of(self.profile)?;
        let (longest, place) = (duration(longest_ns), self.place_name(Some(place)));
        Some(match times {
            1 => format!("blocks the event loop: for {longest}, in {place}"),
            _ => format!("blocks the event loop: at least {} times, longest {longest}, in {place}", count(times)),
        })
    }

    fn is_own(&self, frame: Option<FrameIndex>) -> bool {
        let owner = frame.and_then(|frame| self.profile.owner_of(self.profile.frames[frame].function));
        owner == Some(Owner::User)
    }

    /// Of the largest expression, and of the ten largest, in percent.
    fn shares(&self) -> (String, String) {
        let cpu_ns = self.facts.whole.cpu_ns;
        let expressions = self.facts.expressions_ns();
        let first = expressions.first().copied().unwrap_or(0);
        (percent(first, cpu_ns), percent(expressions.iter().take(TEN).sum(), cpu_ns))
    }

    fn library(&self, name: &str, library: &Library, whole_ns: u64) -> String {
        if name == "your code" {
            let expressions = counted(library.callers.len() as u64, "expression", "expressions");
            return row(library.cpu_ns, whole_ns, &format!("{name} ({expressions})"));
        }
        let mut callers: Vec<(FrameIndex, u64)> =
            library.callers.iter().filter_map(|(frame, cpu_ns)| Some(((*frame)?, *cpu_ns))).collect();
        callers.sort_by_key(|(frame, cpu_ns)| (Reverse(*cpu_ns), *frame));
        let more = callers.len().saturating_sub(CALLERS_MAX);
        callers.truncate(CALLERS_MAX);
        let mut words: Vec<String> = callers
            .into_iter()
            .map(|(frame, cpu_ns)| format!("← {} {} %", self.place_name(Some(frame)), percent(cpu_ns, whole_ns)))
            .collect();
        if more > 0 {
            words.push(format!("{more} more"));
        }
        row(library.cpu_ns, whole_ns, format!("{name}   {}", words.join(", ")).trim_end())
    }

    fn places(&self, places: &HashMap<Option<FrameIndex>, u64>, whole_ns: u64) -> Vec<String> {
        let rows = largest(places, |place_ns| *place_ns, whole_ns);
        rows.into_iter().map(|(frame, place_ns)| row(*place_ns, whole_ns, &self.place(frame))).collect()
    }

    /// `slow.py:6 before   b[i:]`
    fn place(&self, frame: Option<FrameIndex>) -> String {
        let name = self.place_name(frame);
        match frame {
            Some(frame) => format!("{name}   {}", self.text(frame)).trim_end().to_owned(),
            None => name,
        }
    }

    /// `b[i:]`, or the whole line where its columns are not known.
    fn text(&self, frame: FrameIndex) -> String {
        let expression = &self.profile.frames[frame].expression;
        expression.as_ref().map_or_else(|| self.line(frame), |expression| first_line(&expression.text))
    }

    /// Empty where the source is not known.
    fn line(&self, frame: FrameIndex) -> String {
        let row = &self.profile.frames[frame];
        let line = || self.profile.source_of(row.function)?.line(row.location?.line).map(str::trim);
        first_line(line().unwrap_or_default())
    }

    /// `slow.py:6 before`
    fn place_name(&self, frame: Option<FrameIndex>) -> String {
        let Some(frame) = frame else { return "outside of Python".to_owned() };
        let row = &self.profile.frames[frame];
        let line = row.location.map_or(String::new(), |location| format!(":{}", location.line));
        let function = &self.profile.functions[row.function];
        match function.home {
            Home::Python { file, .. } => {
                format!("{}{line} {}", self.files.short(file).unwrap_or_default(), function.name)
            }
            Home::C { .. } | Home::Mark => function.name.clone(),
        }
    }

    /// `fib (deep.py:3)`
    fn function(&self, function: FunctionIndex) -> String {
        let row = &self.profile.functions[function];
        match row.home {
            Home::Python { file, first_line, .. } => {
                format!("{} ({}:{first_line})", row.name, self.files.short(file).unwrap_or_default())
            }
            Home::C { .. } | Home::Mark => row.name.clone(),
        }
    }
}

fn first_line(text: &str) -> String {
    let one_line = text.lines().next().unwrap_or_default();
    let cut = text.lines().nth(1).is_some() || one_line.chars().count() > TEXT_MAX;
    let shown: String = one_line.chars().take(TEXT_MAX).collect();
    let mark = if cut { "…" } else { "" };
    shown + mark
}

/// ` 31 %  19.0 s  WHAT`
fn row(part_ns: u64, whole_ns: u64, what: &str) -> String {
    format!("{:>5} %  {:>7}  {what}", percent(part_ns, whole_ns), duration(part_ns))
}

/// The largest rows that are worth a line, in an order that does not depend on the table's.
fn largest<K: Clone + Ord + Hash + Eq, V>(
    rows: &HashMap<K, V>,
    weight: impl Fn(&V) -> u64,
    whole_ns: u64,
) -> Vec<(K, &V)> {
    let mut sorted: Vec<(K, &V)> = rows.iter().map(|(key, value)| (key.clone(), value)).collect();
    sorted.retain(|(_, value)| share(weight(value), whole_ns) >= DETAIL_MIN);
    sorted.sort_by(|(left_key, left), (right_key, right)| (weight(right), left_key).cmp(&(weight(left), right_key)));
    sorted.truncate(DETAILS_MAX);
    sorted
}
