//! What the verdict is chosen by: sums over all samples, in one pass; each stack is read once, however many threads it was seen on.
//! Owns: which samples count as importing, as recursion, as a thread without Python. Never: decides what is much.

use foldhash::{HashMap, HashSet};

use super::clock_calls;
use super::thresholds::{RECURSION_DEPTH_MIN, START_UP_CPU_MIN, START_UP_MIN};
use crate::rules::phase::Phase;
use crate::rules::waits::for_work::ForWork;
use crate::rules::waits::short::ShortWaits;
use crate::rules::weight::Totals;
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::own_code;
use crate::tables::own_code::twins::Twins;
use crate::tables::owner::{Owner, package_of};
use crate::tables::profile::{
    FrameIndex, FrameKind, FunctionIndex, Home, ModuleIndex, NodeIndex, ProcessIndex, Profile, SampleGroup, ThreadIndex,
};
use crate::words::figures::share;
use genba_format::state::State;

/// An `import` in the user's code, and what it did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Import {
    pub wall_ns: u64,
    pub running_ns: u64,
    pub loading_ns: u64,
    pub waiting_ns: u64,
}

impl Import {
    fn add(&mut self, other: Import) {
        add(&mut self.wall_ns, other.wall_ns);
        add(&mut self.running_ns, other.running_ns);
        add(&mut self.loading_ns, other.loading_ns);
        add(&mut self.waiting_ns, other.waiting_ns);
    }
}

/// What the processes did whose start-up is the reason, on the thread of each that imported most.
#[derive(Debug, Default)]
pub(super) struct StartUp {
    pub processes: u64,
    /// Of these processes together.
    pub wall_ns: u64,
    pub importing_ns: u64,
    pub imports: HashMap<FrameIndex, Import>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    pub wall_ns: u64,
    /// How often, and how long, in each state.
    pub states: HashMap<State, (u64, u64)>,
    pub threads: HashSet<ThreadIndex>,
    /// Wall time of it in which a thread held the lock that was waited for.
    pub holders: HashMap<ThreadIndex, u64>,
}

impl Waits {
    fn add(&mut self, state: State, wall_ns: u64, times: u64, thread: ThreadIndex) {
        add(&mut self.wall_ns, wall_ns);
        self.threads.insert(thread);
        let sums = self.states.entry(state).or_default();
        add(&mut sums.0, times);
        add(&mut sums.1, wall_ns);
    }
}

/// What made the collector run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum SetOff {
    By(Option<FrameIndex>),
    /// The interpreter that ends, with no Python running any more.
    Exit,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recursion {
    pub cpu_ns: u64,
    pub depth_max: u64,
    /// It was that deep or deeper: of some of its stacks samples hold the innermost frames alone, and nobody counted it in the others.
    pub is_depth_cut: bool,
}

/// How often a function is in stacks of which samples hold the innermost frames alone.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    frames: u64,
    /// It may be there more often.
    is_cut: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThreadAtWork {
    pub cpu_ns: u64,
    /// Python was seen on it.
    pub has_python: bool,
    /// Wall time in which it had work.
    pub wanting_ns: u64,
    pub gil_wait_ns: u64,
}

#[derive(Debug, Default)]
pub(super) struct Facts {
    pub whole: Totals,
    pub running_samples: u64,
    /// Sum of the squares of the samples' CPU, in microseconds.
    pub cpu_us2: u64,
    /// CPU by the deepest own code, without the interpreter's own work at its start and end.
    pub running: HashMap<Option<FrameIndex>, u64>,
    /// What of it was importing, begun in that code itself.
    pub importing: HashMap<FrameIndex, u64>,
    pub imports: HashMap<ThreadIndex, HashMap<FrameIndex, Import>>,
    /// By the deepest own code: what was waited for there.
    pub waits: HashMap<Option<FrameIndex>, Waits>,
    /// The same of waits for work, where they are set apart.
    pub for_work: HashMap<Option<FrameIndex>, Waits>,
    /// Where they are.
    pub is_server: bool,
    /// Some waits for work were those of an event loop.
    pub in_event_loop: bool,
    pub gc_cpu_ns: u64,
    pub gc: HashMap<SetOff, u64>,
    /// Wall time of threads that had work: running, or waiting for the GIL or a CPU.
    pub wanting_ns: u64,
    pub gil_wait_ns: u64,
    /// How long threads were ready to run and had no CPU.
    pub in_queue_ns: u64,
    pub threads: HashMap<ThreadIndex, ThreadAtWork>,
    /// CPU without Python of each thread, by the library whose thread it is.
    pub thread_libraries: HashMap<(ThreadIndex, ModuleIndex), u64>,
    /// Wall time of own code while it was in a library, running there or waiting, and a thread without Python ran.
    pub own_in_libraries: HashMap<ModuleIndex, HashMap<FrameIndex, u64>>,
    /// Functions that occur more than once in one stack.
    pub recursion: HashMap<FunctionIndex, Recursion>,
    /// Only stacks that end in the function itself were counted for it.
    counted: HashMap<FunctionIndex, Counted>,
    /// Of asyncio's event loop itself.
    pub loop_cpu_ns: u64,
    /// Within readings of a clock other than one of CPU time.
    pub clock_cpu_ns: u64,
    /// By whose code ran: a package, a module of the standard library, `gc`, `your code`.
    pub libraries: HashMap<String, Library>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Library {
    pub cpu_ns: u64,
    /// The user's code that led there.
    pub callers: HashMap<Option<FrameIndex>, u64>,
}

impl Facts {
    pub fn of(profile: &Profile) -> Facts {
        let event_loop = EventLoop::of(profile);
        let twins = Twins::of(profile);
        let mut facts = Facts { counted: counted(profile, &twins), ..Facts::default() };
        let mut stacks: HashMap<Option<NodeIndex>, Stack> = HashMap::default();
        facts.clock_cpu_ns = clock_calls::cpu_ns(profile);
        let short_waits = ShortWaits::of(profile);
        facts.in_queue_ns = short_waits.in_queue_ns();
        let apart = ForWork::set_apart(profile, &short_waits);
        facts.is_server = apart.as_ref().is_some_and(|for_work| for_work.is_server);
        facts.in_event_loop = apart.as_ref().is_some_and(ForWork::has_event_loop);
        let is_for_work = |group: &SampleGroup, state: State| {
            apart.as_ref().is_some_and(|for_work| for_work.is(profile, group, state))
        };
        for (index, group) in profile.samples.iter().enumerate() {
            let stack = stacks.entry(group.node).or_insert_with(|| Stack::of(profile, group.node, &event_loop, &twins));
            facts.add(group, stack);
            if group.state.is_waiting() {
                let waits = facts.waits_of(is_for_work(group, group.state));
                waits.entry(stack.deepest).or_default().add(group.state, group.wall_ns, group.waits, group.thread);
            }
            if let Some(wait) = short_waits.of_group(index) {
                let waits = facts.waits_of(is_for_work(group, wait.state));
                waits.entry(stack.deepest).or_default().add(wait.state, wait.wall_ns, 0, group.thread);
            }
        }
        for wait in &profile.lock_waits {
            let stack = stacks.entry(wait.node).or_insert_with(|| Stack::of(profile, wait.node, &event_loop, &twins));
            if let Some(waits) = facts.waits.get_mut(&stack.deepest) {
                add(waits.holders.entry(wait.holder).or_default(), wait.wall_ns);
            }
        }
        facts
    }

    /// Processes most of whose time was importing, where they used most of the CPU: processes side by side have one clock on the wall.
    pub fn start_up(&self, profile: &Profile) -> Option<StartUp> {
        let mut threads: HashMap<ProcessIndex, (u64, ThreadIndex)> = HashMap::default();
        for (&thread, imports) in &self.imports {
            let wall_ns = imports.values().fold(0_u64, |sum, import| sum.saturating_add(import.wall_ns));
            let most = threads.entry(profile.threads[thread].process).or_insert((wall_ns, thread));
            *most = (*most).max((wall_ns, thread));
        }
        let is_importing =
            |process: ProcessIndex, wall_ns| share(wall_ns, profile.processes[process].wall_ns) >= START_UP_MIN;
        threads.retain(|&process, (wall_ns, _)| is_importing(process, *wall_ns));
        let all_ns = profile.clocks().cpu_ns;
        let their_ns = threads.keys().map(|&process| profile.clocks_of(process).cpu_ns).fold(0, u64::saturating_add);
        if threads.is_empty() || share(their_ns, all_ns) < START_UP_CPU_MIN {
            return None;
        }
        let mut found = StartUp { processes: threads.len() as u64, ..StartUp::default() };
        for (process, (importing_ns, thread)) in threads {
            add(&mut found.wall_ns, profile.processes[process].wall_ns);
            add(&mut found.importing_ns, importing_ns);
            for (frame, import) in &self.imports[&thread] {
                found.imports.entry(*frame).or_default().add(*import);
            }
        }
        Some(found)
    }

    /// CPU of threads on which no Python was ever seen.
    pub fn native_threads(&self) -> impl Iterator<Item = (ThreadIndex, u64)> {
        let native = self.threads.iter().filter(|(_, at_work)| !at_work.has_python && at_work.cpu_ns > 0);
        native.map(|(thread, at_work)| (*thread, at_work.cpu_ns))
    }

    /// The function of the user's that is most on the stack with itself below it.
    pub fn deepest_recursion(&self) -> Option<(FunctionIndex, Recursion)> {
        let deep = self.recursion.iter().filter(|(_, recursion)| recursion.depth_max >= RECURSION_DEPTH_MIN);
        deep.max_by_key(|(function, recursion)| (recursion.cpu_ns, **function))
            .map(|(function, recursion)| (*function, *recursion))
    }

    /// CPU that ran outside of Python.
    pub fn outside_ns(&self) -> u64 {
        self.running.get(&None).copied().unwrap_or(0)
    }

    /// The effective number of samples: samples of unequal CPU tell less than the same number of equal samples.
    pub fn equal_samples(&self) -> f64 {
        let cpu_us = self.whole.cpu_ns as f64 / 1e3;
        if self.cpu_us2 == 0 { 0.0 } else { cpu_us * cpu_us / self.cpu_us2 as f64 }
    }

    /// CPU of each expression, the largest first. What ran outside of Python is none.
    pub fn expressions_ns(&self) -> Vec<u64> {
        let expressions = self.running.iter().filter(|(frame, _)| frame.is_some());
        let mut expressions: Vec<u64> = expressions.map(|(_, cpu_ns)| *cpu_ns).collect();
        expressions.sort_unstable_by(|left, right| right.cmp(left));
        expressions
    }

    fn waits_of(&mut self, for_work: bool) -> &mut HashMap<Option<FrameIndex>, Waits> {
        if for_work { &mut self.for_work } else { &mut self.waits }
    }

    fn add(&mut self, group: &SampleGroup, stack: &Stack) {
        let totals = Totals::of_group(group);
        self.whole.add(totals);
        add(&mut self.cpu_us2, group.cpu_us2);
        let thread = self.threads.entry(group.thread).or_default();
        add(&mut thread.cpu_ns, group.cpu_ns);
        thread.has_python |= stack.deepest.is_some();
        if group.state.wants_cpu() {
            add(&mut thread.wanting_ns, group.wall_ns);
            add(&mut self.wanting_ns, group.wall_ns);
        }
        if group.state == State::WaitingForGil {
            add(&mut thread.gil_wait_ns, group.wall_ns);
            add(&mut self.gil_wait_ns, group.wall_ns);
        }
        for &module in &stack.native_libraries {
            match stack.place {
                None => add(self.thread_libraries.entry((group.thread, module)).or_default(), group.cpu_ns),
                Some(own) if group.beside_native_ns > 0 => {
                    let own_ns = self.own_in_libraries.entry(module).or_default().entry(own).or_default();
                    add(own_ns, group.beside_native_ns);
                }
                Some(_) => {}
            }
        }
        if group.state == State::InGc {
            add(&mut self.gc_cpu_ns, group.cpu_ns);
            let set_off = if stack.phase == Some(Phase::Shutdown) { SetOff::Exit } else { SetOff::By(stack.place) };
            add(self.gc.entry(set_off).or_default(), group.cpu_ns);
        }
        if group.state.is_running() {
            add(&mut self.running_samples, group.samples);
            if stack.phase == Some(Phase::EventLoop) {
                add(&mut self.loop_cpu_ns, group.cpu_ns);
            }
            if stack.phase.is_none() {
                add(self.running.entry(stack.place).or_default(), group.cpu_ns);
                if let Some(place) = stack.place.filter(|_| stack.is_importing) {
                    add(self.importing.entry(place).or_default(), group.cpu_ns);
                }
            }
            let name = if group.state == State::InGc { "gc" } else { &stack.library };
            if !self.libraries.contains_key(name) {
                self.libraries.insert(name.to_owned(), Library::default());
            }
            if let Some(library) = self.libraries.get_mut(name) {
                add(&mut library.cpu_ns, group.cpu_ns);
                add(library.callers.entry(stack.place).or_default(), group.cpu_ns);
            }
        }
        if let Some(import) = stack.import {
            let row = self.imports.entry(group.thread).or_default().entry(import).or_default();
            add(&mut row.wall_ns, group.wall_ns);
            if group.state.is_waiting() {
                add(&mut row.waiting_ns, group.wall_ns);
            } else if stack.loads_library {
                add(&mut row.loading_ns, group.wall_ns);
            } else if group.state.is_running() {
                add(&mut row.running_ns, group.wall_ns);
            }
        }
        for &(function, depth) in &stack.repeated {
            let counted = self.counted.get(&function);
            let row = self.recursion.entry(function).or_default();
            add(&mut row.cpu_ns, group.cpu_ns);
            row.depth_max = row.depth_max.max(depth).max(counted.map_or(0, |counted| counted.frames));
            row.is_depth_cut |= counted.is_some_and(|counted| counted.is_cut);
            row.is_depth_cut |= stack.cut_in.is_some_and(|outermost| outermost != function || counted.is_none());
        }
    }
}

/// A damaged recording may hold any number.
fn add(sum: &mut u64, part: u64) {
    *sum = sum.saturating_add(part);
}

/// What one stack says, whoever was seen with it.
struct Stack {
    /// As its process sees it: a wait in a library is another one than a wait in the user's own code.
    deepest: Option<FrameIndex>,
    /// The same, as one place of all processes.
    place: Option<FrameIndex>,
    import: Option<FrameIndex>,
    /// The deepest own code began an import.
    is_importing: bool,
    loads_library: bool,
    phase: Option<Phase>,
    library: String,
    /// With Python on the stack each library that it is in; else the one whose thread it is.
    native_libraries: Vec<ModuleIndex>,
    /// Functions of the user's that occur in it more than once, and how often.
    repeated: Vec<(FunctionIndex, u64)>,
    /// Where it has more Python frames than a sample holds: the function of the outermost one that the sample has.
    cut_in: Option<FunctionIndex>,
}

impl Stack {
    fn of(profile: &Profile, leaf: Option<NodeIndex>, event_loop: &EventLoop, twins: &Twins) -> Stack {
        let own = own_code(profile, event_loop, leaf);
        let phase = Phase::of(profile, event_loop, leaf, &own.frames, false).map(|(phase, _)| phase);
        let mut times: HashMap<FunctionIndex, u64> = HashMap::default();
        for frame in own.frames {
            let function = twins.function(profile.frames[frame].function);
            // No module calls itself: several are texts that `exec` ran, one in the other.
            if profile.functions[function].name != "<module>" {
                *times.entry(function).or_default() += 1;
            }
        }
        times.retain(|_, depth| *depth > 1);
        let import = import_of(profile, leaf).map(|frame| twins.frame(frame));
        Stack {
            deepest: own.deepest,
            place: own.deepest.map(|frame| twins.frame(frame)),
            import,
            is_importing: profile
                .stack(leaf)
                .take_while(|frame| Some(*frame) != own.deepest)
                .any(|frame| imports(profile, frame)),
            loads_library: import.is_some() && is_in(profile, leaf, &LOADING),
            phase,
            library: match phase {
                Some(phase @ (Phase::StartUp | Phase::Shutdown)) => phase.name().to_owned(),
                Some(Phase::EventLoop | Phase::ForWork | Phase::AsyncTests) | None => library_of(profile, leaf),
            },
            native_libraries: native_libraries_of(profile, leaf, own.deepest.is_some()),
            cut_in: outermost(profile, twins, leaf).filter(|_| !times.is_empty() && is_too_deep(profile, leaf)),
            repeated: times.into_iter().collect(),
        }
    }
}

/// The agent's mark (crates/python/src/stack/merge.rs), in front of the outermost frame that it read.
fn is_too_deep(profile: &Profile, leaf: Option<NodeIndex>) -> bool {
    profile.stack(leaf).any(|frame| {
        profile.frames[frame].kind == FrameKind::Mark
            && profile.function_of(frame).name.starts_with("[Python stack cut: more than ")
    })
}

fn outermost(profile: &Profile, twins: &Twins, leaf: Option<NodeIndex>) -> Option<FunctionIndex> {
    let python = profile.stack(leaf).filter(|frame| profile.frames[*frame].kind == FrameKind::Python);
    python.last().map(|frame| twins.function(profile.frames[frame].function))
}

fn counted(profile: &Profile, twins: &Twins) -> HashMap<FunctionIndex, Counted> {
    let mut counted: HashMap<FunctionIndex, Counted> = HashMap::default();
    for depth in &profile.stack_depths {
        let Some(function) = outermost(profile, twins, depth.node) else { continue };
        let row = counted.entry(function).or_default();
        row.frames = row.frames.max(depth.frames);
        row.is_cut |= depth.is_cut;
    }
    counted
}

/// The outermost piece of the user's code that imports: what the program was made to wait for. The module that is started
/// itself (`python -m`) is not imported, and who calls another part of the machinery (`compileall` compiles by it) imports nothing.
fn import_of(profile: &Profile, leaf: Option<NodeIndex>) -> Option<FrameIndex> {
    let stack: Vec<FrameIndex> =
        profile.stack(leaf).filter(|frame| profile.frames[*frame].kind == FrameKind::Python).collect();
    let mut outer = None;
    for frame in stack.into_iter().rev() {
        if imports(profile, frame) {
            return outer;
        }
        outer = Some(frame);
    }
    None
}

fn imports(profile: &Profile, frame: FrameIndex) -> bool {
    let function = profile.function_of(frame);
    let Home::Python { file, .. } = function.home else { return false };
    function.name == "_find_and_load" && profile.files[file].path == "<frozen importlib._bootstrap>"
}

/// The dynamic linker, for an extension module.
const LOADING: [&str; 3] = ["dlopen", "_dl_open", "dl_open_worker"];

fn is_in(profile: &Profile, leaf: Option<NodeIndex>, c_functions: &[&str]) -> bool {
    profile.stack(leaf).any(|frame| {
        let function = profile.function_of(frame);
        matches!(function.home, Home::C { .. }) && c_functions.contains(&function.name.as_str())
    })
}

/// Libraries that begin threads and hand out work for others.
const RUNTIMES: [&str; 7] =
    ["libstdc++.so", "libc++.so", "libgcc_s.so", "libgomp.so", "libgomp-", "libiomp5.so", "libomp.so"];

/// Files with machine code that are neither libc nor the interpreter; of a stack without Python the outermost that is no runtime.
fn native_libraries_of(profile: &Profile, leaf: Option<NodeIndex>, has_python: bool) -> Vec<ModuleIndex> {
    let mut found: Vec<ModuleIndex> = Vec::new();
    for frame in profile.stack(leaf) {
        let Home::C { module, .. } = profile.function_of(frame).home else { continue };
        if !matches!(profile.modules[module].owner, Owner::Libc | Owner::Interpreter) && !found.contains(&module) {
            found.push(module);
        }
    }
    if has_python {
        return found;
    }
    let is_runtime = |module: &ModuleIndex| {
        let name = profile.modules[*module].base_name();
        RUNTIMES.iter().any(|runtime| name.starts_with(runtime))
    };
    // The innermost comes first.
    let root = found.iter().rfind(|module| !is_runtime(module)).or(found.last());
    root.copied().into_iter().collect()
}

/// Whose Python code ran, by the deepest Python frame.
fn library_of(profile: &Profile, leaf: Option<NodeIndex>) -> String {
    let deepest = profile.stack(leaf).find(|frame| profile.frames[*frame].kind == FrameKind::Python);
    let Some(Home::Python { file, .. }) = deepest.map(|frame| &profile.function_of(frame).home) else {
        return "outside of Python".to_owned();
    };
    let file = &profile.files[*file];
    let name = match file.owner {
        Owner::Library => {
            let below = ["/site-packages/", "/dist-packages/"];
            let path = below.into_iter().find_map(|folder| file.path.split_once(folder)).map(|(_, path)| path);
            path.or_else(|| package_of(&profile.packages, &file.path)?.rsplit('/').next())
        }
        Owner::Stdlib => stdlib_path(&file.path),
        _ => return "your code".to_owned(),
    };
    let name = name.and_then(|path| path.split('/').next()).unwrap_or(&file.path);
    name.trim_end_matches(".py").to_owned()
}

/// Behind `lib/python3.13/`, or the name of a frozen module.
fn stdlib_path(path: &str) -> Option<&str> {
    if let Some(frozen) = path.strip_prefix("<frozen ") {
        return frozen.trim_end_matches('>').split('.').next();
    }
    let (_, behind) = path.rsplit_once("/python3")?;
    behind.split_once('/').map(|(_, path)| path)
}
