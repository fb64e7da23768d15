//! The places that a verdict names, and its advice.
//! Owns: which places are worth a line, how many, and what is told of each. Never: decides which reason it is, or says it in words.

use foldhash::{HashMap, HashSet};
use std::cmp::Reverse;
use std::hash::Hash;

use super::facts::{Facts, Library, SetOff, StartUp, Waits};
use super::groups::{Group, widest_function};
use super::reason::Reason;
use super::thresholds::{CLOCK_MIN, GC_MIN, ONE_PLACE_MIN, TIME_NS_MIN};
use crate::rules::collections::freed;
use crate::tables::owner::Owner;
use crate::tables::profile::{FileIndex, FrameIndex, FunctionIndex, ModuleIndex, Profile, ThreadIndex};
use crate::words::figures::share;
use genba_format::state::State;

/// Places below the verdict's first line.
const PLACES_MAX: usize = 4;
/// So many callers are named beside each library.
const CALLERS_MAX: usize = 2;
/// A second place with so much of the largest is named beside it.
const SECOND_MIN: f64 = 0.5;
/// A place with less of the whole is not named.
const PLACE_MIN: f64 = 0.03;
/// Whoever held the lock for so much of a wait is named.
const HOLDER_MIN: f64 = 0.5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub at: At,
    /// CPU, or wall time: the reason's weight.
    pub part_ns: u64,
    pub about: About,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// Of the user's code. None: outside of Python.
    Expression(Option<FrameIndex>),
    /// All expressions of a line.
    Line {
        file: FileIndex,
        line: u32,
        function: String,
    },
    /// A line by the heaviest of its expressions.
    LineOf(FrameIndex),
    /// A function with what is written inside of it.
    Whole {
        file: FileIndex,
        function: String,
    },
    Function(FunctionIndex),
    /// By its name: a package, a module of the standard library, `gc`, `your code`.
    Library(String),
    NativeLibrary(ModuleIndex),
    /// So many threads that wait in libraries.
    IdleThreads(u64),
    /// The interpreter's end, with no Python running any more.
    Exit,
}

/// What is told beside a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    Nothing,
    Import(Import),
    Wait(Wait),
    /// Where the threads are, with the wall time of each place.
    Places(Vec<(Option<FrameIndex>, u64)>),
    /// The user's code that led there, with the CPU of each, and how many more there are.
    Callers(Vec<(FrameIndex, u64)>, u64),
    /// In so many expressions of the user's.
    Expressions(u64),
    /// On so many threads, for this own code, which was in the same library at the same time.
    Threads(u64, Option<FrameIndex>),
}

/// What an `import` did; `rest_ns` is the time in which it waited for a CPU or the GIL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Import {
    pub running_ns: u64,
    pub loading_ns: u64,
    pub waiting_ns: u64,
    pub rest_ns: u64,
}

/// The state that took longest at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub state: State,
    pub wall_ns: u64,
    /// Waits that were seen to begin: a thread that ran for less than a tick between two waits may not have been seen running.
    pub seen: u64,
    /// How often the kernel gave these threads a CPU: after each wait, and at other times. 0: not known.
    pub turns: u64,
    /// The thread that held the lock for most of this time.
    pub holder: Option<Holder>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    pub thread: ThreadIndex,
    pub wall_ns: u64,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    ProcessesOrReleaseGil,
    WhoKeepsGil,
    /// This expression has more CPU of its own than the reason, and enough for a verdict.
    AlsoOnePlace {
        frame: FrameIndex,
        cpu_ns: u64,
    },
    FreezeAtExit,
    /// So many objects the recorded collections freed, which is next to nothing. None: none was recorded.
    RaiseGcThreshold {
        collected: Option<u64>,
    },
    /// The recorded collections freed so many objects that a higher threshold would only let them wait.
    FindCycles {
        collected: u64,
    },
    /// The event loop itself took so much CPU.
    FewerLargerCallbacks {
        loop_cpu_ns: u64,
    },
    /// This function has so much CPU with what it calls.
    LookAt {
        function: FunctionIndex,
        total_cpu_ns: u64,
    },
    /// Readings of a clock have so much CPU.
    MeasureClock {
        clock_cpu_ns: u64,
    },
    RunLonger,
    TickMoreOften,
}

impl Place {
    fn new(at: At, part_ns: u64) -> Place {
        Place { at, part_ns, about: About::Nothing }
    }

    fn expression(frame: Option<FrameIndex>, part_ns: u64) -> Place {
        Place::new(At::Expression(frame), part_ns)
    }
}

pub(super) struct Finder<'p> {
    pub profile: &'p Profile,
    pub facts: &'p Facts,
}

impl Finder<'_> {
    pub fn whole_ns(&self, reason: Reason) -> u64 {
        match reason {
            Reason::StartUp { wall_ns, .. } => wall_ns,
            Reason::Waiting { .. } => self.facts.whole.wall_ns,
            _ => self.facts.whole.cpu_ns,
        }
    }

    pub fn lead(&self, reason: Reason) -> Option<Place> {
        match reason {
            Reason::Recursion { .. } => {
                let (function, recursion) = self.facts.deepest_recursion()?;
                Some(Place::new(At::Function(function), recursion.cpu_ns))
            }
            Reason::OnePlace { .. } => self.expressions().into_iter().next(),
            Reason::OneLine { .. } => {
                let Group { cpu_ns, file, line, function, .. } = self.line()?;
                Some(Place::new(At::Line { file, line, function }, cpu_ns))
            }
            Reason::OneFunction { .. } => {
                let Group { cpu_ns, file, function, .. } = self.function()?;
                Some(Place::new(At::Whole { file, function }, cpu_ns))
            }
            _ => None,
        }
    }

    pub fn places(&self, reason: Reason) -> Vec<Place> {
        let cpu_ns = self.facts.whole.cpu_ns;
        match reason {
            Reason::StartUp { wall_ns, .. } => self.imports(wall_ns),
            Reason::Waiting { .. } => self.waits(),
            Reason::Gil { .. } => {
                let running = largest(&self.facts.running, |part_ns| *part_ns, cpu_ns).into_iter();
                running.map(|(frame, part_ns)| Place::expression(frame, *part_ns)).collect()
            }
            Reason::NativeThreads { .. } => self.native_libraries(),
            Reason::Gc { .. } => self.collections(),
            Reason::OnePlace { .. } => self.second().into_iter().collect(),
            Reason::OneLine { .. } => self.parts(self.line(), |frame| At::Expression(Some(frame))),
            Reason::OneFunction { .. } => {
                let beside = self.beside_function();
                self.parts(self.function(), At::LineOf).into_iter().chain(beside).collect()
            }
            Reason::Spread { .. } => {
                let libraries = largest(&self.facts.libraries, |library| library.cpu_ns, cpu_ns);
                libraries.into_iter().map(|(name, library)| self.library(name, library)).collect()
            }
            Reason::Recursion { .. }
            | Reason::NoSingleCause { .. }
            | Reason::TooShort { .. }
            | Reason::NoClock { .. }
            | Reason::Damaged { .. }
            | Reason::Stopped { .. }
            | Reason::Masked { .. }
            | Reason::SignalTaken { .. }
            | Reason::NotFollowed { .. } => Vec::new(),
        }
    }

    pub fn advice(&self, reason: Reason) -> Vec<Advice> {
        match reason {
            Reason::Gil { .. } if self.facts.is_gil_kept_in_waits() => vec![Advice::WhoKeepsGil],
            Reason::Gil { .. } => vec![Advice::ProcessesOrReleaseGil],
            Reason::Gc { gc_cpu_ns, .. } => {
                self.larger_place(gc_cpu_ns).into_iter().chain(self.on_collections()).collect()
            }
            Reason::NativeThreads { native_cpu_ns, .. } => {
                let is_named = |advice: &Advice| match *advice {
                    Advice::AlsoOnePlace { frame, .. } => self.is_served(frame),
                    _ => false,
                };
                self.larger_place(native_cpu_ns).filter(|advice| !is_named(advice)).into_iter().collect()
            }
            Reason::NoSingleCause { largest_ns, .. } => {
                let next = widest_function(self.profile);
                let next = next.map(|(function, total_cpu_ns)| Advice::LookAt { function, total_cpu_ns });
                self.of_loop(largest_ns).into_iter().chain(self.of_clock()).chain(next).collect()
            }
            Reason::Spread { largest_ns, .. } => self.of_loop(largest_ns).into_iter().chain(self.of_clock()).collect(),
            Reason::OnePlace { .. } | Reason::OneLine { .. } | Reason::OneFunction { .. } => {
                let of_loop = self.lead(reason).and_then(|lead| self.of_loop(lead.part_ns));
                of_loop.into_iter().chain(self.of_clock()).collect()
            }
            Reason::Waiting { wall_ns, .. } if self.facts.waits_for_gil(wall_ns) => vec![Advice::WhoKeepsGil],
            Reason::TooShort { wall_ns, .. } if wall_ns < TIME_NS_MIN => vec![Advice::RunLonger],
            Reason::TooShort { .. } => vec![Advice::TickMoreOften],
            _ => Vec::new(),
        }
    }

    /// The event loop is no expression: where it has more than the largest that the verdict tells, it is told beside.
    fn of_loop(&self, largest_ns: u64) -> Option<Advice> {
        let loop_cpu_ns = self.facts.loop_cpu_ns;
        (loop_cpu_ns > largest_ns).then_some(Advice::FewerLargerCallbacks { loop_cpu_ns })
    }

    /// The clock is no expression, either: each reading of it may cost 30 ns, or a system call.
    fn of_clock(&self) -> Option<Advice> {
        let clock_cpu_ns = self.facts.clock_cpu_ns;
        (share(clock_cpu_ns, self.facts.whole.cpu_ns) >= CLOCK_MIN).then_some(Advice::MeasureClock { clock_cpu_ns })
    }

    /// Chance may lift a reason over the share that it begins at, and hide a place that holds more: both are said.
    fn larger_place(&self, reason_cpu_ns: u64) -> Option<Advice> {
        let places = self.facts.running.iter().filter_map(|(frame, part_ns)| {
            let collected_ns = self.facts.gc.get(&SetOff::By(*frame)).copied().unwrap_or(0);
            Some(((*frame)?, part_ns.saturating_sub(collected_ns)))
        });
        let (frame, cpu_ns) = places.max_by_key(|(frame, cpu_ns)| (*cpu_ns, Reverse(*frame)))?;
        let is_told = cpu_ns > reason_cpu_ns && share(cpu_ns, self.facts.whole.cpu_ns) >= ONE_PLACE_MIN;
        is_told.then_some(Advice::AlsoOnePlace { frame, cpu_ns })
    }

    fn imports(&self, wall_ns: u64) -> Vec<Place> {
        let StartUp { imports, .. } = self.facts.start_up(self.profile).unwrap_or_default();
        let rows = largest(&imports, |import| import.wall_ns, wall_ns).into_iter().map(|(frame, import)| {
            let rest_ns =
                import.wall_ns.saturating_sub(import.running_ns + import.loading_ns).saturating_sub(import.waiting_ns);
            let &super::facts::Import { running_ns, loading_ns, waiting_ns, .. } = import;
            let about = About::Import(Import { running_ns, loading_ns, waiting_ns, rest_ns });
            Place { about, ..Place::expression(Some(frame), import.wall_ns) }
        });
        rows.collect()
    }

    /// A library's thread that waits for work waits all the time: the user's own places come first, the others are one.
    fn waits(&self) -> Vec<Place> {
        type Places<'p> = HashMap<Option<FrameIndex>, &'p Waits>;
        let all_ns = self.facts.whole.wall_ns;
        let places = self.facts.waits.iter().map(|(frame, waits)| (*frame, waits));
        let (own, others): (Places, Places) = places.partition(|(frame, _)| self.is_own(*frame));
        let own = largest(&own, |waits| waits.wall_ns, all_ns);
        let others = largest(&others, |waits| waits.wall_ns, all_ns);
        let folded = match others.as_slice() {
            [] => None,
            [(_, only)] if only.threads.len() < 2 => None,
            _ if own.is_empty() => None,
            several => Some(idle_threads(several)),
        };
        let others = if folded.is_some() { Vec::new() } else { others };
        let rows = own.into_iter().chain(others).map(|(frame, waits)| self.wait(frame, waits));
        rows.take(PLACES_MAX).chain(folded).collect()
    }

    fn wait(&self, frame: Option<FrameIndex>, waits: &Waits) -> Place {
        let longest = waits.states.iter().max_by_key(|(state, (_, wall_ns))| (*wall_ns, **state));
        // No bound where one thread has none.
        let turns = waits.threads.iter().map(|thread| self.profile.threads[*thread].turns);
        let turns = turns.reduce(|sum, more| Some(sum?.saturating_add(more?))).flatten().unwrap_or(0);
        let about = longest.map_or(About::Nothing, |(&state, &(seen, wall_ns))| {
            let holders = waits.holders.iter().map(|(&thread, &wall_ns)| Holder { thread, wall_ns });
            let most = holders.max_by_key(|holder| (holder.wall_ns, Reverse(holder.thread)));
            let holder = most.filter(|holder| share(holder.wall_ns, wall_ns) >= HOLDER_MIN);
            About::Wait(Wait { state, wall_ns, seen, turns, holder })
        });
        Place { about, ..Place::expression(frame, waits.wall_ns) }
    }

    fn collections(&self) -> Vec<Place> {
        let rows = largest(&self.facts.gc, |gc_ns| *gc_ns, self.facts.whole.cpu_ns).into_iter();
        let at = |set_off| match set_off {
            SetOff::By(frame) => At::Expression(frame),
            SetOff::Exit => At::Exit,
        };
        rows.map(|(set_off, gc_ns)| Place::new(at(set_off), *gc_ns)).collect()
    }

    /// On the collections at exit, or on all that the program set off while it ran: first on what has more, and on the other where it alone
    /// would be the reason.
    fn on_collections(&self) -> impl Iterator<Item = Advice> {
        let exit_ns = self.facts.gc.get(&SetOff::Exit).copied().unwrap_or(0);
        let set_off = self.facts.gc.iter().filter(|(set_off, _)| matches!(set_off, SetOff::By(Some(_))));
        let in_run_ns = set_off.map(|(_, gc_ns)| *gc_ns).fold(0, u64::saturating_add);
        let in_run = match freed(self.profile) {
            Some(freed) if freed.is_much() => Advice::FindCycles { collected: freed.collected() },
            freed => Advice::RaiseGcThreshold { collected: freed.map(|freed| freed.collected()) },
        };
        let mut advice = [(in_run_ns, in_run), (exit_ns, Advice::FreezeAtExit)];
        advice.sort_by_key(|(gc_ns, _)| Reverse(*gc_ns));
        let [(_, first), (other_ns, other)] = advice;
        let is_told = share(other_ns, self.facts.whole.cpu_ns) >= GC_MIN;
        [Some(first), is_told.then_some(other)].into_iter().flatten()
    }

    /// The libraries that threads without Python ran in, and for whom: whose own code was in the same library at the same time, the
    /// longest. A thread does not say who gave it its work.
    fn native_libraries(&self) -> Vec<Place> {
        let threads: HashSet<ThreadIndex> = self.facts.native_threads().map(|(thread, _)| thread).collect();
        let mut libraries: HashMap<ModuleIndex, (u64, u64)> = HashMap::default();
        for ((thread, module), cpu_ns) in &self.facts.thread_libraries {
            if threads.contains(thread) && *cpu_ns > 0 {
                let (sum_ns, count) = libraries.entry(*module).or_default();
                *sum_ns = sum_ns.saturating_add(*cpu_ns);
                *count += 1;
            }
        }
        let rows = largest(&libraries, |(cpu_ns, _)| *cpu_ns, self.facts.whole.cpu_ns).into_iter();
        let place = |(module, &(cpu_ns, count)): (ModuleIndex, &(u64, u64))| {
            let callers = self.facts.own_in_libraries.get(&module).into_iter().flatten();
            let caller = callers.max_by_key(|(frame, beside_ns)| (**beside_ns, Reverse(**frame)));
            let about = About::Threads(count, caller.map(|(frame, _)| *frame));
            Place { about, ..Place::new(At::NativeLibrary(module), cpu_ns) }
        };
        rows.map(place).collect()
    }

    /// A row of the threads' libraries names it: it is whom they worked for, and its part of the same work is no other place.
    fn is_served(&self, frame: FrameIndex) -> bool {
        let places = self.native_libraries();
        places.iter().any(|place| matches!(place.about, About::Threads(_, Some(caller)) if caller == frame))
    }

    /// The heaviest first.
    fn expressions(&self) -> Vec<Place> {
        let rows = largest(&self.facts.running, |part_ns| *part_ns, self.facts.whole.cpu_ns).into_iter();
        let rows = rows.filter(|(frame, _)| frame.is_some());
        rows.map(|(frame, part_ns)| Place::expression(frame, *part_ns)).collect()
    }

    fn second(&self) -> Option<Place> {
        let mut places = self.expressions().into_iter();
        let first = places.next()?;
        places.next().filter(|second| share(second.part_ns, first.part_ns) >= SECOND_MIN)
    }

    /// An expression elsewhere that has more than each line of the function.
    fn beside_function(&self) -> Option<Place> {
        let function = self.function()?;
        let line_ns = function.parts.first().map_or(0, |(_, cpu_ns)| *cpu_ns);
        let largest = self.expressions().into_iter().next()?;
        let is_told = largest.part_ns > line_ns && share(largest.part_ns, function.cpu_ns) >= SECOND_MIN;
        is_told.then_some(largest)
    }

    fn line(&self) -> Option<Group> {
        self.facts.lines(self.profile).into_iter().next()
    }

    fn function(&self) -> Option<Group> {
        self.facts.functions(self.profile).into_iter().next()
    }

    fn parts(&self, group: Option<Group>, at: impl Fn(FrameIndex) -> At) -> Vec<Place> {
        let parts = group.map(|group| group.parts).unwrap_or_default().into_iter();
        let worth = parts.filter(|(_, part_ns)| share(*part_ns, self.facts.whole.cpu_ns) >= PLACE_MIN);
        worth.take(PLACES_MAX).map(|(frame, part_ns)| Place::new(at(frame), part_ns)).collect()
    }

    fn library(&self, name: String, library: &Library) -> Place {
        let about = if name == "your code" {
            About::Expressions(library.callers.len() as u64)
        } else {
            let callers = library.callers.iter();
            let mut callers: Vec<(FrameIndex, u64)> =
                callers.filter_map(|(frame, cpu_ns)| Some(((*frame)?, *cpu_ns))).collect();
            callers.sort_by_key(|(frame, cpu_ns)| (Reverse(*cpu_ns), *frame));
            let more = callers.len().saturating_sub(CALLERS_MAX) as u64;
            callers.truncate(CALLERS_MAX);
            About::Callers(callers, more)
        };
        Place { about, ..Place::new(At::Library(name), library.cpu_ns) }
    }

    fn is_own(&self, frame: Option<FrameIndex>) -> bool {
        let owner = frame.and_then(|frame| self.profile.owner_of(self.profile.frames[frame].function));
        owner == Some(Owner::User)
    }
}

/// Idle threads of pools and servers.
fn idle_threads(places: &[(Option<FrameIndex>, &&Waits)]) -> Place {
    let threads: HashSet<ThreadIndex> = places.iter().flat_map(|(_, waits)| &waits.threads).copied().collect();
    let wall_ns = places.iter().map(|(_, waits)| waits.wall_ns).fold(0, u64::saturating_add);
    let about = About::Places(places.iter().map(|(frame, waits)| (*frame, waits.wall_ns)).collect());
    Place { about, ..Place::new(At::IdleThreads(threads.len() as u64), wall_ns) }
}

/// The largest rows that are worth a line, in an order that does not depend on the table's.
fn largest<K: Clone + Ord + Hash + Eq, V>(
    rows: &HashMap<K, V>,
    weight: impl Fn(&V) -> u64,
    whole_ns: u64,
) -> Vec<(K, &V)> {
    let mut sorted: Vec<(K, &V)> = rows.iter().map(|(key, value)| (key.clone(), value)).collect();
    sorted.retain(|(_, value)| share(weight(value), whole_ns) >= PLACE_MIN);
    sorted.sort_by(|(left_key, left), (right_key, right)| (weight(right), left_key).cmp(&(weight(left), right_key)));
    sorted.truncate(PLACES_MAX);
    sorted
}
