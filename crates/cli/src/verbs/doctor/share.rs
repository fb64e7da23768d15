//! `genba doctor --clock FILE`: how much of a recording's CPU the clock took, and would take if it were fast.
//! Owns: whose calls they were. Never: says what a faster clock saves where another library answered in the recording than here.

use std::collections::{BTreeMap, HashMap};

use genba_profile::clock_calls::{self, base_name, is_of_system};
use genba_profile::figures;
use genba_profile::profile::{FrameIndex, FrameKind, Home, NodeIndex, Profile};
use genba_profile::report::passes_on;
use serde::Serialize;

use super::clock::{ClockPage, is_same_answerer};
use super::fact::{Fact, Facts};

/// Less than this share of the CPU is not worth a change.
const SHARE_MIN: f64 = 0.01;
/// A call takes about so long by the vDSO where it answers: for machines on which none does.
const FAST_NS: f64 = 25.0;
/// CPython's way into functions that take a tuple of arguments. Not among what passes a call on in all views.
const CALL: &str = "cfunction_call";
/// Functions that are named.
const CALLERS_MAX: usize = 3;
const WHY: &str = "what a faster clock could give back";

/// In nanoseconds of CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SharePage {
    pub file: String,
    pub cpu_ns: u64,
    /// Within functions that read a clock other than one of CPU time.
    pub clock_ns: u64,
    /// Within functions of the module `time` that call them, what they do themselves included.
    pub python_ns: u64,
    /// Parts of `clock_ns`: the C functions that Python code called for them, those with the most CPU first.
    pub called_by: Vec<Caller>,
    /// Within readings of CPU time, which no clock source makes faster.
    pub cpu_clock_ns: u64,
    /// The files with the functions that the program called, those with the most CPU first.
    pub answered_by: Vec<String>,
    /// Of `clock_ns`, with the fastest clock that this machine has. None: not known.
    pub could_be_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Caller {
    pub name: String,
    pub cpu_ns: u64,
}

/// What a node is below, the outermost such call.
#[derive(Clone, Copy, Default)]
struct Below {
    python: bool,
    of_cpu: bool,
    /// The first frame of C below Python code, up to the clock's, that does not only pass a call on.
    caller: Option<FrameIndex>,
    /// The frame that the program called.
    clock: Option<FrameIndex>,
}

/// `None`: the recording has no CPU time, or no C frames.
pub fn share(file: &str, profile: &Profile) -> Option<SharePage> {
    if profile.processes.iter().all(|process| process.native == Some(false)) {
        return None;
    }
    let mut page = SharePage { file: file.to_owned(), ..SharePage::default() };
    let mut known: HashMap<NodeIndex, Below> = HashMap::new();
    let mut answered: BTreeMap<&str, u64> = BTreeMap::new();
    let mut called: BTreeMap<&str, u64> = BTreeMap::new();
    for sample in &profile.samples {
        page.cpu_ns += sample.cpu_ns;
        let Some(node) = sample.node else { continue };
        let below = below(profile, node, &mut known);
        page.python_ns += if below.python { sample.cpu_ns } else { 0 };
        match below.clock {
            Some(_) if below.of_cpu => page.cpu_clock_ns += sample.cpu_ns,
            Some(frame) => {
                page.clock_ns += sample.cpu_ns;
                if let Some((name, _)) = below.caller.and_then(|caller| c_function(profile, caller)) {
                    *called.entry(name).or_default() += sample.cpu_ns;
                }
                if let Some(module) = module_of(profile, frame) {
                    *answered.entry(module).or_default() += sample.cpu_ns;
                }
            }
            None => {}
        }
    }
    let mut answered: Vec<(&str, u64)> = answered.into_iter().collect();
    answered.sort_by_key(|(_, cpu_ns)| std::cmp::Reverse(*cpu_ns));
    page.answered_by = answered.into_iter().map(|(file, _)| file.to_owned()).collect();
    let callers = called.into_iter().map(|(name, cpu_ns)| Caller { name: name.to_owned(), cpu_ns });
    page.called_by = callers.collect();
    page.called_by.sort_by_key(|caller| std::cmp::Reverse(caller.cpu_ns));
    (page.cpu_ns > 0).then_some(page)
}

/// From the root: parents stand before their children.
fn below(profile: &Profile, leaf: NodeIndex, known: &mut HashMap<NodeIndex, Below>) -> Below {
    let mut way = Vec::new();
    let mut at = Some(leaf);
    let mut found = Below::default();
    while let Some(node) = at {
        if let Some(below) = known.get(&node) {
            found = *below;
            break;
        }
        way.push(node);
        at = profile.nodes[node].parent;
    }
    for node in way.into_iter().rev() {
        let frame = profile.nodes[node].frame;
        let function = c_function(profile, frame).filter(|_| found.clock.is_none());
        if found.clock.is_none() {
            found.caller = function.and_then(|(name, _)| {
                let is_call = name == CALL || passes_on(profile, profile.frames[frame].function);
                found.caller.or((!is_call).then_some(frame))
            });
        }
        if let Some((name, module)) = function {
            found.python |= clock_calls::is_of_python(name);
            found.of_cpu |= clock_calls::is_of_cpu(name);
            found.clock = clock_calls::reads(name, module).then_some(frame);
        }
        known.insert(node, found);
    }
    found
}

fn c_function(profile: &Profile, frame: FrameIndex) -> Option<(&str, &str)> {
    let frame = &profile.frames[frame];
    if !matches!(frame.kind, FrameKind::C | FrameKind::Inferred | FrameKind::Inlined) {
        return None;
    }
    let function = &profile.functions[frame.function];
    let Home::C { module, .. } = &function.home else { return None };
    Some((&function.name, &profile.modules[*module].path))
}

fn module_of(profile: &Profile, frame: FrameIndex) -> Option<&str> {
    c_function(profile, frame).map(|(_, module)| module)
}

/// With what the clock costs here.
pub fn judge(share: &mut SharePage, clock: &ClockPage) -> Vec<Fact> {
    let mut found = Facts::of("the recording");
    let part = figures::share(share.clock_ns, share.cpu_ns);
    let by = share.answered_by.first().map_or_else(String::new, |file| format!(", by {}", base_name(file)));
    let value = format!(
        "{} % of the CPU of {}, {}{by}",
        figures::percent(share.clock_ns, share.cpu_ns),
        share.file,
        figures::duration(share.clock_ns)
    );
    let here = clock.first().filter(|call| {
        let answered = share.answered_by.first();
        answered.zip(call.answered_by.as_ref()).is_some_and(|(there, here)| is_same_answerer(there, here))
    });
    let fast_ns = clock.fast_ns().unwrap_or(FAST_NS);
    // The difference of two fast clocks is none that a change would give back.
    share.could_be_ns = here.map(|call| match clock.is_fast(call) {
        true => share.clock_ns,
        false => (share.clock_ns as f64 * (fast_ns / call.ns).min(1.0)) as u64,
    });
    let is_replaced = share.answered_by.first().is_some_and(|file| !is_of_system(file));
    match share.could_be_ns {
        _ if part < SHARE_MIN => found.ok("clock calls", value, WHY),
        Some(could_be) if could_be < share.clock_ns => {
            let saved = share.clock_ns - could_be;
            let by_a_fast_one = format!("{value}; with a fast clock about {}", figures::duration(could_be));
            let remedy =
                format!("the remedy above gives back about {} % of its CPU", figures::percent(saved, share.cpu_ns));
            found.slow("clock calls", by_a_fast_one, WHY, remedy);
        }
        Some(_) => found.fact(
            "clock calls",
            format!("{value}; the clock is fast here"),
            "only fewer readings would give it back",
        ),
        None if is_replaced => {
            let file = share.answered_by.first().cloned().unwrap_or_default();
            let remedy = format!(
                "start the program without {file}; LD_PRELOAD={file} genba doctor --clock {} measures it",
                share.file
            );
            found.slow("clock calls", format!("{value}, which stands in for libc"), WHY, remedy);
        }
        None => found.fact(
            "clock calls",
            format!("{value}; another library answers here, so what a fast clock would give back is not known"),
            WHY,
        ),
    }
    let callers = share.called_by.iter().take(CALLERS_MAX);
    let callers: Vec<String> = callers
        .filter(|caller| figures::share(caller.cpu_ns, share.cpu_ns) >= SHARE_MIN)
        .map(|caller| format!("{} {} %", caller.name, figures::percent(caller.cpu_ns, share.cpu_ns)))
        .collect();
    if !callers.is_empty() {
        found.fact("called by", callers.join(", "), "the functions in C through which Python code read the clock");
    }
    if share.python_ns > 0 {
        let value = format!("{} % of the CPU", figures::percent(share.python_ns, share.cpu_ns));
        found.fact(
            "time.time() & co",
            value,
            "functions of the module time alone, with Python's part around the clock calls",
        );
    }
    if share.cpu_clock_ns > 0 {
        let value = format!("{} % of the CPU", figures::percent(share.cpu_clock_ns, share.cpu_ns));
        found.fact("readings of CPU time", value, "process_time and thread_time: no clock source makes these faster");
    }
    found.rows
}

#[cfg(test)]
mod tests {
    use super::{Caller, SharePage, judge, share};
    use crate::verbs::doctor::clock::ClockPage;
    use genba_format::state::State;
    use genba_profile::owner::Owner;
    use genba_profile::profile::{
        Frame, FrameKind, Function, Home, Module, Node, NodeIndex, Process, Profile, SampleGroup, ThreadIndex,
    };
    use genba_profile::table::TableIndex;

    const PYTHON: &str = "/usr/bin/python3.13";
    const LIBC: &str = "/usr/lib/libc.so.6";

    struct Made(Profile);

    impl Made {
        fn below(&mut self, parent: Option<NodeIndex>, name: &str, path: &str) -> Option<NodeIndex> {
            let profile = &mut self.0;
            let kind = if path.is_empty() { FrameKind::Python } else { FrameKind::C };
            let home = match kind {
                FrameKind::Python => Home::Mark,
                _ => {
                    let module = profile.modules.push(Module {
                        path: path.to_owned(),
                        owner: Owner::Interpreter,
                        is_replaced: false,
                    });
                    Home::C { module, origin: None, full_name: None }
                }
            };
            let function = profile.functions.push(Function { name: name.to_owned(), home });
            let frame = Frame { function, kind, location: None, expression: None, c_line: None };
            let frame = profile.frames.push(frame);
            Some(profile.nodes.push(Node { parent, frame }))
        }

        fn sample(&mut self, node: Option<NodeIndex>, cpu_ns: u64) {
            let group = SampleGroup::of(node, ThreadIndex::new(0), State::Running, None, true);
            self.0.samples.push(SampleGroup { cpu_ns, ..group });
        }
    }

    #[test]
    fn who_calls_the_clock_is_named_beside_the_functions_of_time() {
        let mut made = Made(Profile::default());
        made.0.processes.push(Process { native: Some(true), ..Process::default() });
        let main = made.below(None, "main", "");
        for (caller, cpu_ns) in [("time_time", 28), ("datetime_datetime_now", 40), ("rlock_acquire", 12)] {
            let call = made.below(main, "PyObject_Vectorcall", PYTHON);
            let call = made.below(call, "cfunction_call", PYTHON);
            let called = made.below(call, caller, PYTHON);
            made.sample(called, 1);
            let inner = made.below(called, "_PyTime_TimeUnchecked", PYTHON);
            let clock = made.below(inner, "clock_gettime", LIBC);
            made.sample(clock, cpu_ns);
        }
        // Python code below C code calls anew.
        let map = made.below(main, "map_next", PYTHON);
        let again = made.below(map, "key", "");
        let called = made.below(again, "time_time", PYTHON);
        let clock = made.below(called, "clock_gettime", LIBC);
        made.sample(clock, 2);
        made.sample(main, 15);
        let mut page = share("app.genba", &made.0).unwrap();
        assert_eq!((page.cpu_ns, page.clock_ns, page.python_ns), (100, 82, 31));
        let caller = |name: &str, cpu_ns| Caller { name: name.to_owned(), cpu_ns };
        let callers = [caller("datetime_datetime_now", 40), caller("time_time", 30), caller("rlock_acquire", 12)];
        assert_eq!(page.called_by, callers);
        let (not_counted, calls, python) = (None, Vec::new(), Vec::new());
        let clock = ClockPage { source: None, available: Vec::new(), not_counted, calls, python };
        let facts = judge(&mut page, &clock);
        let told = |name: &str| facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str());
        assert_eq!(told("called by"), Some("datetime_datetime_now 40.0 %, time_time 30.0 %, rlock_acquire 12.0 %"));
        assert_eq!(told("time.time() & co"), Some("31.0 % of the CPU"));
        let mut none = SharePage { cpu_ns: 100, ..SharePage::default() };
        assert!(judge(&mut none, &clock).iter().all(|fact| fact.name != "called by"));
    }
}
