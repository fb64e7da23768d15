//! Readings of a clock: which functions in C do that, and how much CPU they have.
//! Owns: their names. Never: judges what a reading costs; `genba doctor --clock` measures that.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use crate::tables::profile::{FrameKind, FunctionIndex, Home, NodeIndex, Profile};

/// libc's functions, and the vDSO's.
const READING: [&str; 8] = [
    "clock_gettime",
    "__clock_gettime",
    "__clock_gettime64",
    "gettimeofday",
    "__gettimeofday",
    "__vdso_clock_gettime",
    "__vdso_gettimeofday",
    "__vdso_time",
];
/// CPython's functions that ask for CPU time: no clock source makes these faster.
const OF_CPU: [&str; 6] =
    ["process_time", "process_time_ns", "thread_time", "thread_time_ns", "py_process_time", "_PyTime_GetThreadTime"];
/// CPython's functions for the time of day and the like, all of them of the module `time`.
const OF_PYTHON: [&str; 6] = ["time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"];

/// Whether a function in C reads a clock. `module`: path of the file with it.
#[must_use]
pub fn reads(name: &str, module: &str) -> bool {
    READING.contains(&name)
        || is_of_system(module) && (name == "time" || name == "__time")
        || base_name(module).contains("vdso") && !["getcpu", "getrandom"].iter().any(|other| name.contains(other))
}

/// Whether it is CPython's function for a clock of CPU time.
#[must_use]
pub fn is_of_cpu(name: &str) -> bool {
    is_of_time(name, &OF_CPU)
}

/// Whether it is a function of CPython's module `time` for another one.
#[must_use]
pub fn is_of_python(name: &str) -> bool {
    is_of_time(name, &OF_PYTHON)
}

/// `time_perf_counter` of a symbol table, `time.perf_counter` of a table of methods.
fn is_of_time(name: &str, functions: &[&str]) -> bool {
    let function = name.strip_prefix("time_").or_else(|| name.strip_prefix("time."));
    function.is_some_and(|function| functions.contains(&function))
        || functions.contains(&name) && name.starts_with(['_', 'p'])
}

#[must_use]
pub fn base_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// Whether a file is libc or the kernel's vDSO, and not a library that replaces their functions.
#[must_use]
pub fn is_of_system(file: &str) -> bool {
    let name = base_name(file);
    ["libc.so", "libc-", "ld-linux", "linux-vdso", "librt", "[vdso]"].iter().any(|begin| name.starts_with(begin))
}

/// CPU within readings of a clock other than one of CPU time, in nanoseconds.
pub(super) fn cpu_ns(profile: &Profile) -> u64 {
    let (mut reading, mut of_cpu) = (HashSet::new(), HashSet::new());
    for (index, function) in profile.functions.enumerate() {
        let Home::C { module, .. } = &function.home else { continue };
        if reads(&function.name, &profile.modules[*module].path) {
            reading.insert(index);
        } else if is_of_cpu(&function.name) {
            of_cpu.insert(index);
        }
    }
    if reading.is_empty() {
        return 0;
    }
    let is_below = |leaf: Option<NodeIndex>, functions: &HashSet<FunctionIndex>| {
        profile.stack(leaf).map(|frame| &profile.frames[frame]).any(|frame| {
            let is_c = matches!(frame.kind, FrameKind::C | FrameKind::Inferred | FrameKind::Inlined);
            is_c && functions.contains(&frame.function)
        })
    };
    let mut known: HashMap<Option<NodeIndex>, bool> = HashMap::new();
    let mut cpu_ns: u64 = 0;
    for group in profile.samples.iter().filter(|group| group.state.is_running()) {
        let node = group.node;
        if *known.entry(node).or_insert_with(|| is_below(node, &reading) && !is_below(node, &of_cpu)) {
            cpu_ns = cpu_ns.saturating_add(group.cpu_ns);
        }
    }
    cpu_ns
}
