//! `genba doctor --clock`: what reading the time costs here, who answers, and what would be faster.
//! Owns: the start of the helper that is measured, and the judgement. Never: guesses whether a system call was made where none was counted,
//! without saying so; changes the clock source.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use genba_process::clock_source::ClockSource;
use genba_process::counted_calls::{self, NotCounted};
use genba_profile::clock_calls::{base_name, is_of_system};
use genba_profile::figures;
use serde::Serialize;

use super::clock_helper::{CALLS, Cost, MARK, SUBJECTS};
use super::fact::{Fact, Facts};
use super::first_line;
use crate::words::failure::{self, Failure};

pub const GROUP: &str = "the clock";
const PATIENCE: Duration = Duration::from_secs(10);
/// A vDSO that takes longer has to leave the virtual machine for each reading. A system call takes less.
const TRAPPED_MIN_NS: f64 = 500.0;
/// By its cost alone: a vDSO takes less than this part of a system call.
const PART_OF_A_CALL: f64 = 0.6;
const WHY: &str = "programs read the time often: for timeouts, logs, event loops";
const CACHE: &str = "until then: read the clock once for many uses, and keep the value";
const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";

/// The system calls that tell the time, on x86-64: `gettimeofday`, `time`, `clock_gettime`.
const TELLING: [u64; 3] = [96, 201, 228];

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct ClockPage {
    pub source: Option<String>,
    pub available: Vec<String>,
    /// None: system calls were counted. Else why not.
    pub not_counted: Option<String>,
    pub calls: Vec<Call>,
    /// Functions of Python's `time`, the interpreter's part included.
    pub python: Vec<PythonCall>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Call {
    pub name: &'static str,
    pub ns: f64,
    /// A call. None: not counted.
    pub system_calls: Option<f64>,
    pub answered_by: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct PythonCall {
    pub name: String,
    pub ns: f64,
}

impl ClockPage {
    /// Of the functions of libc that a program calls for the time.
    pub fn of_programs(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().take(3)
    }

    /// `clock_gettime(CLOCK_MONOTONIC)`
    pub fn first(&self) -> Option<&Call> {
        self.calls.first()
    }

    fn kernel(&self) -> Option<&Call> {
        self.calls.get(4)
    }

    fn system_call(&self) -> Option<&Call> {
        self.calls.get(5)
    }

    /// What the kernel's own vDSO takes, where it makes no system call.
    pub fn fast_ns(&self) -> Option<f64> {
        self.kernel().filter(|kernel| self.makes_calls(kernel) == Some(false)).map(|kernel| kernel.ns)
    }

    /// No system call is made, and the hypervisor does not answer instead.
    pub fn is_fast(&self, call: &Call) -> bool {
        self.makes_calls(call) == Some(false) && call.ns <= TRAPPED_MIN_NS
    }

    /// Whether a reading makes system calls: counted, else by its cost. None: the cost lies between both.
    pub fn makes_calls(&self, call: &Call) -> Option<bool> {
        if let Some(calls) = call.system_calls {
            return Some(calls > 0.0);
        }
        let of_call = self.system_call()?.ns;
        match call.ns {
            ns if ns < of_call * PART_OF_A_CALL => Some(false),
            ns if ns >= of_call => Some(true),
            _ => None,
        }
    }
}

/// Starts the helper, reads the costs and counts its system calls.
pub fn measure(source: &ClockSource) -> Result<ClockPage, Failure> {
    let mut command = Command::new("/proc/self/exe");
    command.args(["doctor", "--clock-helper"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child =
        command.spawn().map_err(|error| Failure::ours(format!("cannot measure: {}", failure::of_system(&error))))?;
    let line = first_line::of(&mut child);
    let costs: Vec<Cost> = line.as_deref().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    if costs.len() != SUBJECTS.len() {
        let _ = child.kill();
        let _ = child.wait();
        return Err(no_costs(line.is_none()));
    }
    let mut input = child.stdin.take();
    let go = || {
        if let Some(mut input) = input.take() {
            // Where it is gone, its end tells.
            let _ = input.write_all(b"\n");
        }
    };
    let counted = counted_calls::between_marks(child.id(), MARK, PATIENCE, go);
    let _ = child.kill();
    let _ = child.wait();
    let (counted, not_counted) = match counted {
        // A part and the end behind the last mark.
        Ok(parts) if parts.len() == SUBJECTS.len() + 1 => (parts, None),
        Ok(_) => (Vec::new(), Some("the process that was watched ended early".to_owned())),
        Err(NotCounted::Kernel(errno)) => (Vec::new(), Some(format!("ptrace is not allowed here: {}", errno.desc()))),
        Err(NotCounted::Late) => {
            (Vec::new(), Some(format!("{CALLS} readings took more than {} s", PATIENCE.as_secs())))
        }
    };
    let calls = SUBJECTS.iter().zip(costs).enumerate().map(|(at, ((_, name), cost))| {
        let telling = |calls: &counted_calls::Calls| -> u64 { TELLING.iter().filter_map(|call| calls.get(call)).sum() };
        let system_calls = counted.get(at).map(|calls| telling(calls) as f64 / CALLS as f64);
        Call { name, ns: cost.ns, system_calls, answered_by: cost.answered_by }
    });
    Ok(ClockPage {
        source: source.current.clone(),
        available: source.available.clone(),
        not_counted,
        calls: calls.collect(),
        python: Vec::new(),
    })
}

/// `is_late`: the helper still runs.
fn no_costs(is_late: bool) -> Failure {
    let failure = match is_late {
        true => {
            let seconds = first_line::PATIENCE.as_secs();
            Failure::no(format!("the process that reads the clock gave no answer within {seconds} s"))
                .detail("a library that is preloaded may hang in it")
        }
        false => Failure::no("the process that reads the clock ended without an answer")
            .detail("a library that is preloaded may have ended it"),
    };
    failure.hint("env -u LD_PRELOAD genba doctor --clock")
}

pub fn facts(source: &ClockSource, page: &ClockPage, preloaded: Option<&str>) -> Vec<Fact> {
    let mut found = Facts::of(GROUP);
    clock_source(&mut found, source);
    if let Some(why) = &page.not_counted {
        found.unknown(
            "system calls",
            format!("not counted: {why}; judged by the cost"),
            "a clock that needs none is several times as fast",
        );
    }
    for call in page.of_programs() {
        let value = in_words(call);
        match page.makes_calls(call) {
            Some(true) => found.slow(call.name, value, WHY, remedy(source, page, call, preloaded)),
            Some(false) if !page.is_fast(call) => {
                let why = "no system call, and slow: the hypervisor answers each reading of the processor's counter";
                found.slow(
                    call.name,
                    value,
                    why,
                    format!("ask for a machine type that passes the counter (TSC) through; {CACHE}"),
                );
            }
            Some(false) => found.ok(call.name, value, WHY),
            None => found.unknown(call.name, value, WHY),
        }
    }
    for call in page.calls.iter().skip(3) {
        let why = match page.system_call().is_some_and(|one| one.name == call.name) {
            true => "to compare with",
            false if page.kernel().is_some_and(|one| one.name == call.name) => "what the kernel itself has to offer",
            false => "no vDSO answers this one: the kernel has to look at the thread",
        };
        found.fact(call.name, in_words(call), why);
    }
    for call in &page.python {
        found.fact(&call.name, costs(call.ns), "the interpreter's part is in it");
    }
    found.rows
}

pub fn clock_source(found: &mut Facts, source: &ClockSource) {
    let why = "what the kernel reads the time from";
    let Some(current) = &source.current else {
        return found.unknown("clock source", format!("not told: no {FOLDER}"), why);
    };
    let available = if source.available.is_empty() { "not told".to_owned() } else { source.available.join(", ") };
    found.fact("clock source", format!("{current} (available: {available})"), why);
}

/// `23.1 ns a call, 23.1 ms a million; 0 system calls, by libc.so.6`
fn in_words(call: &Call) -> String {
    let made = match call.system_calls {
        None => String::new(),
        Some(calls) if calls.fract() == 0.0 => {
            format!("; {}", figures::counted(calls as u64, "system call", "system calls"))
        }
        Some(calls) => format!("; {calls:.2} system calls"),
    };
    let by = call.answered_by.as_deref().map_or_else(String::new, |file| format!(", by {}", base_name(file)));
    format!("{}{made}{by}", costs(call.ns))
}

fn costs(ns: f64) -> String {
    let one = if ns < 1000.0 { format!("{ns:.1} ns") } else { figures::duration(ns as u64) };
    format!("{one} a call, {} a million", figures::duration((ns * 1e6) as u64))
}

/// The smallest change that would make this reading fast.
fn remedy(source: &ClockSource, page: &ClockPage, call: &Call, preloaded: Option<&str>) -> String {
    if let Some(file) = call.answered_by.as_deref().filter(|file| !is_of_system(file)) {
        let is_preloaded =
            preloaded.is_some_and(|list| list.split([' ', ':']).any(|one| base_name(one) == base_name(file)));
        let how = if is_preloaded { "take it out of LD_PRELOAD" } else { "start the program without it" };
        return format!("{file} answers in libc's place: {how}");
    }
    if page.fast_ns().is_some() {
        return format!(
            "the kernel answers without a system call, and this libc does not use that: a newer glibc does; {CACHE}"
        );
    }
    let parameters = match source.parameters.as_slice() {
        [] => String::new(),
        words => format!("; the kernel was started with {}", words.join(" ")),
    };
    let current = source.current.as_deref().unwrap_or("not told");
    let how = if current != "tsc" && source.available.iter().any(|name| name == "tsc") {
        format!(
            "echo tsc > {FOLDER}/current_clocksource, as root; clocksource=tsc on the kernel's command line keeps it"
        )
    } else if current == "tsc" {
        "the counter is fast, and the kernel gives no vDSO for it (vdso=0, or a sandbox that answers system calls itself)".to_owned()
    } else if source.is_virtual {
        "the hypervisor passes no counter (TSC) on that the kernel trusts: another machine type or setting of it does, or its own \
         clock (kvm-clock, hyperv_clocksource_tsc_page)"
            .to_owned()
    } else if source.has_steady_counter == Some(true) {
        "dmesg | grep -i tsc says why the kernel gave the counter up; where the hardware is sound, tsc=reliable on the kernel's command line".to_owned()
    } else {
        format!("the clock source {current} needs a system call, and the kernel offers no other one")
    };
    format!("{how}{parameters}; {CACHE}")
}

/// Adds what Python's functions take, where there is one to ask.
pub fn add_python(page: &mut ClockPage, clocks: Vec<(String, f64)>) {
    page.python.extend(clocks.into_iter().map(|(name, ns)| PythonCall { name, ns }));
}

/// The library path is not needed to be there.
pub fn is_same_answerer(one: &str, other: &str) -> bool {
    is_of_system(one) && is_of_system(other) || Path::new(one).file_name() == Path::new(other).file_name()
}

#[cfg(test)]
mod tests {
    use super::{Call, ClockPage, facts};
    use crate::verbs::doctor::clock_helper::SUBJECTS;
    use crate::verbs::doctor::fact::{Fact, Standing};
    use genba_process::clock_source::ClockSource;

    /// Costs and counts of libc's three functions, and of the kernel's vDSO.
    fn page(libc: (f64, Option<f64>), by: &str, kernel: (f64, Option<f64>)) -> ClockPage {
        let of = |at: usize| match at {
            0..=2 => libc,
            4 => kernel,
            _ => (180.0, kernel.1.map(|_| 1.0)),
        };
        let calls = SUBJECTS.iter().enumerate().map(|(at, (_, name))| {
            let (ns, system_calls) = of(at);
            Call { name, ns, system_calls, answered_by: (at < 4).then(|| by.to_owned()) }
        });
        let not_counted = kernel.1.is_none().then(|| "no ptrace".to_owned());
        ClockPage { source: None, available: Vec::new(), not_counted, calls: calls.collect(), python: Vec::new() }
    }

    fn first(source: &ClockSource, page: &ClockPage, preloaded: Option<&str>) -> Fact {
        facts(source, page, preloaded).into_iter().find(|fact| fact.name == "clock_gettime(CLOCK_MONOTONIC)").unwrap()
    }

    fn source(current: &str, available: &[&str]) -> ClockSource {
        let available = available.iter().map(|name| (*name).to_owned()).collect();
        ClockSource { current: Some(current.to_owned()), available, ..ClockSource::default() }
    }

    const LIBC: &str = "/lib/x86_64-linux-gnu/libc.so.6";

    #[test]
    fn a_clock_without_system_calls_is_fine() {
        let fact = first(&source("tsc", &["tsc"]), &page((23.14, Some(0.0)), LIBC, (22.0, Some(0.0))), None);
        assert_eq!(fact.standing, Standing::Ok);
        assert_eq!(fact.value, "23.1 ns a call, 23.1 ms a million; 0 system calls, by libc.so.6");
    }

    #[test]
    fn each_cause_of_a_slow_clock_has_its_remedy() {
        let slow = |source: &ClockSource, page: &ClockPage, preloaded: Option<&str>| {
            let fact = first(source, page, preloaded);
            assert_eq!(fact.standing, Standing::Slow);
            fact.remedy.unwrap()
        };
        let preloaded = page((900.0, Some(4.0)), "/x/slow.so", (22.0, Some(0.0)));
        assert_eq!(
            slow(&source("tsc", &["tsc"]), &preloaded, Some("/x/slow.so")),
            "/x/slow.so answers in libc's place: take it out of LD_PRELOAD"
        );
        assert!(slow(&source("tsc", &["tsc"]), &preloaded, None).ends_with("start the program without it"));
        let kernel = page((900.0, Some(1.0)), LIBC, (900.0, Some(1.0)));
        assert!(slow(&source("hpet", &["hpet", "tsc"]), &kernel, None).starts_with("echo tsc > /sys/"));
        assert!(slow(&source("tsc", &["tsc"]), &kernel, None).contains("gives no vDSO"));
        let virtual_one = ClockSource { is_virtual: true, ..source("acpi_pm", &["acpi_pm"]) };
        assert!(slow(&virtual_one, &kernel, None).starts_with("the hypervisor"));
        let given_up = ClockSource {
            has_steady_counter: Some(true),
            parameters: vec!["notsc".to_owned()],
            ..source("hpet", &["hpet"])
        };
        let remedy = slow(&given_up, &kernel, None);
        assert!(remedy.starts_with("dmesg | grep -i tsc") && remedy.contains("started with notsc"), "{remedy}");
        assert!(slow(&source("hpet", &["hpet"]), &kernel, None).contains("the kernel offers no other one"));
        let old_libc = page((900.0, Some(1.0)), LIBC, (22.0, Some(0.0)));
        assert!(slow(&source("tsc", &["tsc"]), &old_libc, None).contains("a newer glibc"));
        // A hypervisor that answers each reading of the counter: no system call, and slow all the same.
        assert!(
            slow(&source("tsc", &["tsc"]), &page((1500.0, Some(0.0)), LIBC, (1500.0, Some(0.0))), None)
                .contains("machine type")
        );
    }

    #[test]
    fn what_was_not_counted_is_judged_by_its_cost_or_not_at_all() {
        let at = |ns: f64| first(&source("tsc", &["tsc"]), &page((ns, None), LIBC, (20.0, None)), None).standing;
        assert_eq!((at(30.0), at(150.0), at(200.0)), (Standing::Ok, Standing::Unknown, Standing::Slow));
        let all = facts(&ClockSource::default(), &page((30.0, None), LIBC, (20.0, None)), None);
        for name in ["clock source", "system calls"] {
            assert_eq!(all.iter().find(|fact| fact.name == name).unwrap().standing, Standing::Unknown, "{name}");
        }
    }
}
