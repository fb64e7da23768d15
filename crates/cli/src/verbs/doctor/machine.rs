//! Facts that hold for every process of this machine, or for what runs in this container; and what the kernel gives a process of it.
//! Owns: what is good, slow or a hindrance among them. Never: reads a file other than below the tree that it was given; says *ok* of
//! what it could not read.

use genba_process::cgroups::{self, NotTold};
use genba_process::facts::{Facts as ProcessFacts, SYS_PTRACE, Seccomp};
use genba_process::processors;
use genba_process::tree::Tree;
use genba_profile::figures;

use super::fact::{Fact, Facts};

/// More of the busy time than this taken by the hypervisor is said.
const STEAL_MAX: f64 = 0.01;
/// Below /proc.
const OWN: &str = "self";
/// The kernel's own: 50 µs.
const TIMER_SLACK_MAX_NS: u64 = 1_000_000;

/// What is asked of the running kernel, not of a file.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Whether `process_vm_readv` reads this process itself.
    pub may_read_itself: bool,
}

/// `is_of_process`: what the kernel gives this process is not asked, since another one is.
pub fn facts(tree: &Tree, own: &ProcessFacts, asked: Asked, is_of_process: bool) -> Vec<Fact> {
    let mut found = Facts::of("this machine");
    kernel(&mut found, tree);
    frequency(&mut found, tree);
    heat(&mut found, tree);
    steal(&mut found, tree);
    if !is_of_process {
        groups(&mut found, tree, OWN);
    }
    huge_pages(&mut found, tree);
    if !is_of_process {
        timer_slack(&mut found, tree, OWN);
    }
    let mut machine = found.rows;
    let mut found = Facts::of("what genba may do here");
    user(&mut found, own);
    ptrace(&mut found, tree, own.has_capability(SYS_PTRACE));
    seccomp(&mut found, own, asked);
    container(&mut found, tree, own);
    found.ok("perf events", "not needed", "genba asks no kernel setting for its samples");
    machine.append(&mut found.rows);
    machine
}

/// The CPU that a process gets and the timers that it has, of another one than genba.
pub fn shares(found: &mut Facts, tree: &Tree, pid: u32) {
    let process = pid.to_string();
    groups(found, tree, &process);
    timer_slack(found, tree, &process);
}

fn kernel(found: &mut Facts, tree: &Tree) {
    let why = "genba runs on Linux for x86-64; what a kernel lacks is named where it is needed";
    match tree.text("proc/sys/kernel/osrelease") {
        Some(release) => found.fact("kernel", format!("Linux {release}"), why),
        None => found.unknown("kernel", "not told: no /proc/sys/kernel/osrelease", why),
    }
}

fn frequency(found: &mut Facts, tree: &Tree) {
    const NAME: &str = "CPU frequency";
    let why = "a processor that runs slower makes all code slower, and runs differ from one another";
    let Some(scaling) = processors::scaling(tree) else {
        return found.unknown(NAME, "not told: no cpufreq folder, as in most virtual machines", why);
    };
    let listed = |names: &std::collections::BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    let value =
        format!("{} by {}, {}", listed(&scaling.governors), listed(&scaling.drivers), processors(scaling.processors));
    // With these drivers `powersave` is the one that follows the load.
    let follows_load =
        |driver: &String| ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"].contains(&driver.as_str());
    let is_saving = scaling.governors.contains("powersave") && !scaling.drivers.iter().all(follows_load);
    if is_saving {
        return found.slow(
            NAME,
            value,
            why,
            "cpupower frequency-set -g performance, as root: this governor keeps the lowest frequency",
        );
    }
    if scaling.capped > 0 {
        let capped = format!("{value}; {} held below what the hardware can", processors(scaling.capped));
        return found.slow(
            NAME,
            capped,
            why,
            "write cpuinfo_max_freq to scaling_max_freq, as root (/sys/devices/system/cpu/cpu*/cpufreq)",
        );
    }
    found.ok(NAME, value, why);
}

fn processors(number: usize) -> String {
    figures::counted(number as u64, "CPU", "CPUs")
}

fn heat(found: &mut Facts, tree: &Tree) {
    const NAME: &str = "heat";
    let why = "a hot processor slows itself down";
    match processors::heat_stops(tree) {
        Some(0) => found.ok(NAME, "no processor slowed down since the machine began", why),
        Some(stops) => found.fact(
            NAME,
            format!("processors slowed down {} since the machine began", figures::counted(stops, "time", "times")),
            why,
        ),
        None => found.unknown(NAME, "not told: no thermal_throttle folder", why),
    }
}

fn steal(found: &mut Facts, tree: &Tree) {
    const NAME: &str = "steal";
    let why = "the hypervisor ran something else while there was work here: such time is wall time without CPU";
    match processors::steal(tree) {
        None => found.unknown(NAME, "not told: /proc/stat has no such column", why),
        Some(steal) => {
            let share = figures::share(steal.stolen, steal.busy);
            let value = format!("{:.2} % of the busy time since the machine began", share * 100.0);
            match share > STEAL_MAX {
                true => found.slow(
                    NAME,
                    value,
                    why,
                    "ask for a machine whose processors are not shared, or move what runs beside this one",
                ),
                false => found.ok(NAME, value, why),
            }
        }
    }
}

fn groups(found: &mut Facts, tree: &Tree, process: &str) {
    const NAME: &str = "CPU quota";
    let why = "a control group that has used up its quota stands still until the next period";
    let groups = match cgroups::cpu(tree, process) {
        Ok(groups) => groups,
        Err(not_told) => return found.unknown(NAME, format!("not told: {}", no_groups(&not_told, process)), why),
    };
    let quota =
        groups.quota.map_or_else(|| "none that can be seen from here".to_owned(), |quota| format!("{quota:.2} CPUs"));
    let value = format!("{quota} (cgroup v{}, {})", groups.version, groups.name);
    match groups.held_up {
        Some(held) if held.throttled > 0 => {
            let held = format!(
                "{value}; stood still in {} of {} periods, {} in all",
                figures::count(held.throttled),
                figures::count(held.periods),
                figures::duration(held.throttled_ns)
            );
            found.slow(
                NAME,
                held,
                why,
                "raise the limit (docker --cpus, Kubernetes resources.limits.cpu), or run fewer threads at a time",
            );
        }
        Some(_) => found.ok(NAME, format!("{value}; it never stood still"), why),
        None if groups.quota.is_some() => {
            found.unknown(NAME, format!("{value}; how often it stood still is not told"), why)
        }
        None => found.ok(NAME, value, why),
    }
}

fn no_groups(not_told: &NotTold, process: &str) -> String {
    match not_told {
        NotTold::NoGroup => format!("no control group for the CPU is found in /proc/{process}"),
        NotTold::Unreadable => format!("/proc/{process}/cgroup may not be read"),
        NotTold::Outside { name } => format!("its group {name} is outside of genba's namespace"),
    }
}

fn huge_pages(found: &mut Facts, tree: &Tree) {
    const NAME: &str = "huge pages";
    let why = "`always` may make a process larger than what it uses; `never` costs programs with large heaps some time";
    let text = tree.text("sys/kernel/mm/transparent_hugepage/enabled");
    let chosen = text.as_deref().and_then(|text| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned()));
    match chosen {
        Some(chosen) => found.fact(NAME, chosen, why),
        None => found.unknown(NAME, "not told: no transparent_hugepage folder", why),
    }
}

fn timer_slack(found: &mut Facts, tree: &Tree, process: &str) {
    const NAME: &str = "timer slack";
    let why = "timers may be so late: genba's ticks, and the program's sleeps";
    let file = format!("proc/{process}/timerslack_ns");
    let who = if process == OWN { "genba" } else { "it" };
    match tree.number::<u64>(&file) {
        // Linux, fs/proc/base.c: the file is open to all, and its text is not.
        None if process != OWN && tree.has(&file) == Some(true) => {
            found.unknown(NAME, format!("not told: /{file} may not be read without CAP_SYS_NICE (sudo genba)"), why);
        }
        None => found.unknown(NAME, format!("not told: no /{file}"), why),
        Some(slack) if slack > TIMER_SLACK_MAX_NS => {
            let remedy = format!("start {who} from a shell or service without TimerSlackNSec");
            found.hinders(NAME, figures::duration(slack), why, remedy);
        }
        Some(slack) => found.ok(NAME, figures::duration(slack), why),
    }
}

fn user(found: &mut Facts, own: &ProcessFacts) {
    let [_, user, ..] = own.users;
    let name = if user == 0 { "0 (root)".to_owned() } else { user.to_string() };
    found.fact("user", name, "the kernel lets a user look at processes of the same user");
    let why = "with it, genba may look at processes of all users in this user namespace";
    match own.has_capability(SYS_PTRACE) {
        true => found.ok("CAP_SYS_PTRACE", "yes", why),
        false => {
            found.fact("CAP_SYS_PTRACE", "no: processes of the same user only; sudo genba for those of others", why)
        }
    }
}

fn ptrace(found: &mut Facts, tree: &Tree, has_right: bool) {
    const NAME: &str = "ptrace_scope";
    let why = "it decides whether dump, attach, heap and top may look at a process that genba did not start";
    let text = match (tree.has("proc/sys/kernel/yama/ptrace_scope"), tree.is_folder("proc/sys/kernel")) {
        (Some(true), _) => tree.text("proc/sys/kernel/yama/ptrace_scope").unwrap_or_default(),
        (_, true) => return found.ok(NAME, "this kernel has no such rule", why),
        _ => return found.unknown(NAME, "not told: no /proc/sys/kernel", why),
    };
    let run = "genba run starts a program and records it without any of these rights";
    match (text.parse::<u8>(), has_right) {
        (Ok(0), _) => found.ok(NAME, "0: every process of the same user", why),
        (Ok(1), true) => found.ok(NAME, "1: only processes that genba started, but CAP_SYS_PTRACE lifts it", why),
        (Ok(1), false) => found.hinders(
            NAME,
            "1: only processes that genba started",
            why,
            "run genba as root (sudo), or: sysctl kernel.yama.ptrace_scope=0",
        ),
        (Ok(2), true) => found.ok(NAME, "2: only with CAP_SYS_PTRACE, which genba has", why),
        (Ok(2), false) => {
            found.hinders(NAME, "2: only with CAP_SYS_PTRACE", why, format!("run genba as root (sudo); {run}"));
        }
        (Ok(scope), _) => found.hinders(NAME, format!("{scope}: no process at all, until the next boot"), why, run),
        (Err(_), _) => found.unknown(NAME, format!("`{text}` is no number that genba knows"), why),
    }
}

fn seccomp(found: &mut Facts, own: &ProcessFacts, asked: Asked) {
    let why = "a filter may forbid the system calls that read another process";
    match (own.seccomp, asked.may_read_itself) {
        (Seccomp::Off, _) => found.ok("seccomp", "no filter around genba", why),
        (_, true) => found.ok("seccomp", "a filter around genba; it lets process_vm_readv pass", why),
        (_, false) => found.hinders(
            "seccomp",
            "a filter around genba; it forbids process_vm_readv",
            why,
            "start the container with --cap-add SYS_PTRACE, or run genba outside of it",
        ),
    }
}

/// A guess by what the usual ones leave behind.
fn container(found: &mut Facts, tree: &Tree, own: &ProcessFacts) {
    let why = "from inside, only the container's own processes are there";
    let leaves = [".dockerenv", "run/.containerenv"];
    let value = if leaves.iter().any(|file| tree.has(file) == Some(true)) {
        "genba runs in one"
    } else if own.pids.len() > 1 {
        "genba runs in a PID namespace of its own"
    } else {
        "none that can be seen from here"
    };
    found.fact("container", value, why);
}

pub fn asked() -> Asked {
    Asked { may_read_itself: genba_process::rules::may_read_itself() }
}

#[cfg(test)]
mod tests {
    use super::{Asked, Fact, Facts, facts, shares};
    use crate::verbs::doctor::fact::Standing;
    use genba_process::facts::{Facts as ProcessFacts, Seccomp};
    use genba_process::tree::Tree;
    use std::fs;
    use tempfile::TempDir;

    fn made(files: &[(&str, &str)]) -> TempDir {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        folder
    }

    fn found(files: &[(&str, &str)], has_right: bool) -> Vec<Fact> {
        let folder = made(files);
        let own = ProcessFacts::own().unwrap();
        let own = ProcessFacts { capabilities: if has_right { 1 << 19 } else { 0 }, ..own };
        facts(&Tree::new(folder.path()), &own, Asked { may_read_itself: true }, false)
    }

    fn one<'a>(facts: &'a [Fact], name: &str) -> &'a Fact {
        facts.iter().find(|fact| fact.name == name).unwrap_or_else(|| panic!("no fact {name}"))
    }

    #[test]
    fn nothing_that_cannot_be_read_is_ok() {
        let all = found(&[], false);
        for name in
            ["kernel", "CPU frequency", "heat", "steal", "CPU quota", "huge pages", "timer slack", "ptrace_scope"]
        {
            assert_eq!(one(&all, name).standing, Standing::Unknown, "{name}");
        }
        let all = found(
            &[
                ("proc/sys/kernel/yama/ptrace_scope", "often\n"),
                ("proc/self/timerslack_ns", "\n"),
                ("proc/stat", "cpu\n"),
            ],
            false,
        );
        for name in ["ptrace_scope", "timer slack", "steal"] {
            assert_eq!(one(&all, name).standing, Standing::Unknown, "{name}");
        }
    }

    #[test]
    fn ptrace_scope_says_who_may_look() {
        let scope = |text: &str, has_right: bool| {
            let all = found(&[("proc/sys/kernel/yama/ptrace_scope", text)], has_right);
            let fact = one(&all, "ptrace_scope").clone();
            (fact.standing, fact.value, fact.remedy.unwrap_or_default())
        };
        assert_eq!(scope("0\n", false).0, Standing::Ok);
        let (standing, value, remedy) = scope("1\n", false);
        assert_eq!((standing, value.as_str()), (Standing::Hinders, "1: only processes that genba started"));
        assert!(remedy.contains("sudo") && remedy.contains("sysctl kernel.yama.ptrace_scope=0"), "{remedy}");
        assert_eq!(scope("1\n", true).0, Standing::Ok);
        assert!(scope("2\n", false).2.contains("root (sudo)"));
        assert_eq!(scope("2\n", true).0, Standing::Ok);
        for has_right in [false, true] {
            let (standing, value, remedy) = scope("3\n", has_right);
            assert_eq!((standing, value.as_str()), (Standing::Hinders, "3: no process at all, until the next boot"));
            assert!(remedy.contains("genba run"), "{remedy}");
        }
        let without_rule = found(&[("proc/sys/kernel/osrelease", "6.1\n")], false);
        assert_eq!(one(&without_rule, "ptrace_scope").standing, Standing::Ok);
    }

    #[test]
    fn a_quota_that_holds_the_program_up_is_slow() {
        let files = |stat: &'static str| {
            [
                ("proc/self/cgroup", "0::/one\n"),
                ("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
                ("sys/fs/cgroup/one/cpu.max", "50000 100000\n"),
                ("sys/fs/cgroup/one/cpu.stat", stat),
            ]
        };
        let held = found(&files("nr_periods 200\nnr_throttled 50\nthrottled_usec 3000000\n"), false);
        let quota = one(&held, "CPU quota");
        assert_eq!(quota.standing, Standing::Slow);
        assert!(
            quota.value.starts_with("0.50 CPUs (cgroup v2, /one); stood still in 50 of 200 periods, 3"),
            "{}",
            quota.value
        );
        let free = found(&files("nr_periods 200\nnr_throttled 0\nthrottled_usec 0\n"), false);
        assert_eq!(one(&free, "CPU quota").standing, Standing::Ok);
        // A quota whose effect nobody counts is not known to be fine.
        assert_eq!(one(&found(&files("usage_usec 1\n"), false), "CPU quota").standing, Standing::Unknown);
    }

    #[test]
    fn a_process_is_judged_by_its_own_groups_and_timers() {
        let folder = made(&[
            ("proc/self/cgroup", "0::/mine\n"),
            ("proc/self/timerslack_ns", "50000\n"),
            ("proc/7/cgroup", "0::/its\n"),
            ("proc/7/timerslack_ns", "50000000\n"),
            ("proc/8/cgroup", "0::/../mine\n"),
            // As where the kernel refuses it: something is there, and no number is read.
            ("proc/8/timerslack_ns", ""),
            ("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
            ("sys/fs/cgroup/mine/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/its/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/its/cpu.stat", "nr_periods 2\nnr_throttled 1\nthrottled_usec 3\n"),
        ]);
        let tree = Tree::new(folder.path());
        let of = |pid: u32| {
            let mut found = Facts::of("the process");
            shares(&mut found, &tree, pid);
            found.rows
        };
        let its = of(7);
        let (quota, slack) = (one(&its, "CPU quota"), one(&its, "timer slack"));
        assert_eq!(quota.standing, Standing::Slow);
        assert!(
            quota.value.starts_with("0.50 CPUs (cgroup v2, /its); stood still in 1 of 2 periods"),
            "{}",
            quota.value
        );
        assert_eq!((slack.standing, slack.value.as_str()), (Standing::Hinders, "50.0 ms"));
        assert_eq!(slack.remedy.as_deref(), Some("start it from a shell or service without TimerSlackNSec"));
        let value = |pid: u32, name: &str| {
            let fact = one(&of(pid), name).clone();
            assert_eq!(fact.standing, Standing::Unknown, "{name} of {pid}");
            fact.value
        };
        assert_eq!(value(8, "CPU quota"), "not told: its group /../mine is outside of genba's namespace");
        assert_eq!(
            value(8, "timer slack"),
            "not told: /proc/8/timerslack_ns may not be read without CAP_SYS_NICE (sudo genba)"
        );
        assert_eq!(value(9, "CPU quota"), "not told: no control group for the CPU is found in /proc/9");
        assert_eq!(value(9, "timer slack"), "not told: no /proc/9/timerslack_ns");
        // Beside them genba's own would be taken for the process's.
        let own = ProcessFacts::own().unwrap();
        let machine = facts(&tree, &own, Asked { may_read_itself: true }, true);
        assert!(machine.iter().all(|fact| fact.name != "CPU quota" && fact.name != "timer slack"));
    }

    #[test]
    fn a_filter_hinders_where_it_forbids_reading() {
        let folder = made(&[]);
        let standing = |seccomp: Seccomp, may_read_itself: bool| {
            let own = ProcessFacts { seccomp, ..ProcessFacts::own().unwrap() };
            let all = facts(&Tree::new(folder.path()), &own, Asked { may_read_itself }, false);
            one(&all, "seccomp").clone()
        };
        assert_eq!(standing(Seccomp::Off, true).standing, Standing::Ok);
        assert_eq!(standing(Seccomp::Filter, true).standing, Standing::Ok);
        let forbidden = standing(Seccomp::Filter, false);
        assert_eq!(forbidden.standing, Standing::Hinders);
        assert!(forbidden.remedy.unwrap().contains("--cap-add SYS_PTRACE"));
    }

    #[test]
    fn a_processor_below_what_the_hardware_can_is_slow() {
        let capped = |most: &'static str| {
            let all = found(
                &[
                    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
                    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n"),
                    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", most),
                    ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3000000\n"),
                ],
                false,
            );
            one(&all, "CPU frequency").clone()
        };
        let slow = capped("1500000\n");
        assert_eq!(slow.standing, Standing::Slow);
        assert!(slow.value.ends_with("1 CPU held below what the hardware can"), "{}", slow.value);
        assert_eq!(capped("3000000\n").standing, Standing::Ok);
    }

    #[test]
    fn slow_processors_are_named() {
        let governed = |driver: &'static str| {
            let all = found(
                &[
                    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
                    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", driver),
                    ("proc/stat", "cpu  100 0 0 900 0 0 0 50 0 0\n"),
                    ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
                    ("proc/self/timerslack_ns", "50000000\n"),
                ],
                false,
            );
            assert_eq!(one(&all, "steal").standing, Standing::Slow);
            assert_eq!(one(&all, "huge pages").value, "always");
            assert_eq!(one(&all, "timer slack").standing, Standing::Hinders);
            one(&all, "CPU frequency").standing
        };
        // The same word: the lowest frequency with the one driver, one that follows the load with the other.
        assert_eq!(governed("acpi-cpufreq\n"), Standing::Slow);
        assert_eq!(governed("intel_pstate\n"), Standing::Ok);
    }
}
