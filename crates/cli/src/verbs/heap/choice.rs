//! Whether a heap is walked in a copy of the process or in place, and how long either may take.
//! Owns: the reasons against a copy. Never: makes one.

use std::fs;
use std::path::Path;

use genba_heap::pieces::{COPIED_PART, SMALL_BYTES, copied_at_most};
use genba_process::interpreter::Interpreter;
use genba_profile::figures;

/// What the user asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    Auto,
    Fork,
    InPlace,
}

impl Wish {
    pub const fn of(fork: bool, in_place: bool) -> Wish {
        match (fork, in_place) {
            (true, _) => Wish::Fork,
            (_, true) => Wish::InPlace,
            _ => Wish::Auto,
        }
    }
}

/// How it is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    pub wish: Wish,
    pub is_in_place: bool,
    /// Why no copy is made, where nobody asked for that.
    pub against_copy: Option<String>,
    /// A copy is ended after so long.
    pub copy_ns_max: u64,
    /// A walk in place gives up after so long.
    pub in_place_ns_max: u64,
}

/// What the kernel says about memory; `None`: it does not say.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Facts {
    resident_bytes: Option<u64>,
    /// Of that, what is of no file: objects are there. With what is swapped out: a walk brings it back.
    own_bytes: Option<u64>,
    /// The system promises no more memory than there is, and so much is left of that.
    promised_left_bytes: Option<u64>,
    container: ContainerLeft,
    has_device: bool,
}

/// What the container may still take; `None`: no limit is known. Partner: crates/agent/src/system/proc.rs.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct ContainerLeft {
    bytes: Option<u64>,
    /// The same of groups that run out of memory as one: the kernel kills all processes in place of the largest (`memory.oom.group`).
    killed_as_one_bytes: Option<u64>,
}

/// A walk of a program of so much memory: 100 MB took 60 to 90 ms on the machines that it was measured on.
const WALK_NS_A_MB: u64 = 2_000_000;
const WALK_NS_MIN: u64 = 200_000_000;
/// A copy may take ten times as long as it should.
const PATIENCE: u64 = 10;
const MB: u64 = 1_000_000;

pub fn choose(interpreter: &Interpreter, wish: Wish) -> Choice {
    choose_by(facts_of(interpreter), wish)
}

fn choose_by(facts: Facts, wish: Wish) -> Choice {
    let resident_bytes = facts.resident_bytes.unwrap_or(0);
    let expected_ns = WALK_NS_MIN + resident_bytes / MB * WALK_NS_A_MB;
    let lacks = |left: Option<u64>, needed: u64| left.filter(|&left| left < needed);
    let against_copy = match wish {
        Wish::Fork | Wish::InPlace => None,
        Wish::Auto if facts.has_device => {
            Some("it uses a device whose driver does not bear copies of the process".to_owned())
        }
        Wish::Auto => lacks(facts.promised_left_bytes, resident_bytes)
            .map(|left| {
                format!("vm.overcommit_memory is 2, and {} are left of what may be promised", figures::size(left))
            })
            .or_else(|| small(facts.own_bytes))
            .or_else(|| {
                lacks(facts.container.bytes, resident_bytes / COPIED_PART)
                    .map(|left| format!("its container has {} left", figures::size(left)))
            })
            .or_else(|| {
                lacks(facts.container.killed_as_one_bytes, copied_at_most(facts.own_bytes.unwrap_or(0))).map(|left| {
                    let left = figures::size(left);
                    format!("its container has {left} left, and is killed as a whole where that is too little (memory.oom.group)")
                })
            }),
    };
    let is_in_place = wish == Wish::InPlace || against_copy.is_some();
    Choice {
        wish,
        is_in_place,
        against_copy,
        copy_ns_max: expected_ns * PATIENCE,
        in_place_ns_max: expected_ns * PATIENCE,
    }
}

fn small(own_bytes: Option<u64>) -> Option<String> {
    let bytes = own_bytes.filter(|&bytes| bytes < SMALL_BYTES)?;
    Some(format!("fewer than half a million objects find room in its {}", figures::size(bytes)))
}

fn facts_of(interpreter: &Interpreter) -> Facts {
    let pid = interpreter.facts.pid;
    let has_device = interpreter.maps.iter().filter_map(|mapping| mapping.path.as_ref()).any(|path| {
        ["/dev/nvidia", "/dev/kfd", "/dev/dri"].iter().any(|device| path.to_string_lossy().starts_with(device))
    });
    Facts {
        resident_bytes: number_in_kb(&format!("/proc/{pid}/status"), "VmRSS:"),
        own_bytes: own_bytes(&format!("/proc/{pid}/status")),
        promised_left_bytes: promised_left(),
        container: container_left(pid),
        has_device,
    }
}

/// `None`: the system promises as much as anybody asks for.
fn promised_left() -> Option<u64> {
    let mode = fs::read_to_string("/proc/sys/vm/overcommit_memory").ok()?;
    if mode.trim() != "2" {
        return None;
    }
    let (limit, promised) =
        (number_in_kb("/proc/meminfo", "CommitLimit:")?, number_in_kb("/proc/meminfo", "Committed_AS:")?);
    Some(limit.saturating_sub(promised))
}

/// Partner: crates/agent/src/system/proc.rs.
fn own_bytes(status: &str) -> Option<u64> {
    let swapped = number_in_kb(status, "VmSwap:").unwrap_or(0);
    number_in_kb(status, "RssAnon:").map(|bytes| bytes.saturating_add(swapped))
}

fn number_in_kb(path: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Of the nearest limits above the process (cgroup v2).
fn container_left(pid: u32) -> ContainerLeft {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let Some(path) = text.lines().find_map(|line| line.strip_prefix("0::/")) else { return ContainerLeft::default() };
    let root = Path::new("/sys/fs/cgroup");
    left_of_groups(&root.join(path), root)
}

fn left_of_groups(folder: &Path, root: &Path) -> ContainerLeft {
    let mut least = ContainerLeft::default();
    let mut is_one = false;
    for folder in folder.ancestors().take_while(|folder| folder.starts_with(root)) {
        let left = left_of_group(folder);
        // Below the group that runs out, the kernel takes the highest one that asks for it.
        is_one |= fs::read_to_string(folder.join("memory.oom.group")).is_ok_and(|text| text.trim() == "1");
        least.bytes = [least.bytes, left].into_iter().flatten().min();
        let left_as_one = left.filter(|_| is_one);
        least.killed_as_one_bytes = [least.killed_as_one_bytes, left_as_one].into_iter().flatten().min();
    }
    least
}

/// `None`: it has no limit.
fn left_of_group(folder: &Path) -> Option<u64> {
    let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let (limit, taken) = (number("memory.max")?, number("memory.current")?);
    // The kernel gives up pages of files before it refuses memory.
    let stat = text("memory.stat").unwrap_or_default();
    let lines = stat.lines().filter_map(|line| line.split_once(' '));
    let of_files = lines.filter(|(name, _)| matches!(*name, "inactive_file" | "active_file"));
    let file_bytes = of_files.filter_map(|(_, bytes)| bytes.parse::<u64>().ok()).fold(0, u64::saturating_add);
    Some(limit.saturating_sub(taken.saturating_sub(file_bytes)))
}

#[cfg(test)]
mod tests {
    use super::{Choice, ContainerLeft, Facts, MB, Wish, choose_by, left_of_group, left_of_groups, own_bytes};

    fn chosen(facts: Facts, wish: Wish) -> Choice {
        choose_by(Facts { resident_bytes: Some(1000 * MB), ..facts }, wish)
    }

    fn with_left(megabytes: u64) -> Facts {
        Facts {
            container: ContainerLeft { bytes: Some(megabytes * MB), ..ContainerLeft::default() },
            ..Facts::default()
        }
    }

    fn killed_as_one(megabytes: u64) -> Facts {
        let (bytes, own_bytes) = (Some(megabytes * MB), Some(800 * MB));
        Facts { container: ContainerLeft { bytes, killed_as_one_bytes: bytes }, own_bytes, ..Facts::default() }
    }

    #[test]
    fn a_copy_is_made_where_nothing_is_against_it() {
        let plenty = Facts { promised_left_bytes: Some(2000 * MB), ..with_left(200) };
        let large = Facts { own_bytes: Some(24 * MB), ..Facts::default() };
        for facts in [Facts::default(), plenty, large, killed_as_one(1000)] {
            assert!(!chosen(facts, Wish::Auto).is_in_place, "{facts:?}");
        }
    }

    #[test]
    fn what_is_swapped_out_counts_as_its_own() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let with = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            own_bytes(file.path().to_str().unwrap())
        };
        assert_eq!(with("VmRSS:\t    9000 kB\nRssAnon:\t    6000 kB\nVmSwap:\t   70000 kB\n"), Some(76_000 * 1024));
        assert_eq!(with("VmRSS:\t    9000 kB\nRssAnon:\t    6000 kB\n"), Some(6_000 * 1024));
        assert_eq!(with("Name:\tpython3\n"), None);
    }

    #[test]
    fn pages_of_files_can_be_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let left_with = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            left_of_group(folder.path())
        };
        assert_eq!(left_with("memory.current", "990\n"), None);
        assert_eq!(left_with("memory.max", "1000\n"), Some(10));
        assert_eq!(left_with("memory.stat", "file 690\nshmem 90\ninactive_file 500\nactive_file 100\n"), Some(610));
        // The two files are not read in the same moment.
        assert_eq!(left_with("memory.current", "400\n"), Some(1000));
        assert_eq!(left_with("memory.max", "max\n"), None);
    }

    #[test]
    fn a_group_that_is_killed_as_one_counts_from_itself_upwards() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("pod/one");
        std::fs::create_dir_all(&group).unwrap();
        for (file, text) in [
            ("pod/one/memory.max", "900\n"),
            ("pod/one/memory.current", "890\n"),
            ("pod/one/memory.oom.group", "0\n"),
            ("pod/memory.max", "1000\n"),
            ("pod/memory.current", "950\n"),
            ("pod/memory.oom.group", "1\n"),
        ] {
            std::fs::write(root.path().join(file), text).unwrap();
        }
        let left = |killed_as_one_bytes| ContainerLeft { bytes: Some(10), killed_as_one_bytes };
        assert_eq!(left_of_groups(&group, root.path()), left(Some(50)));
        std::fs::write(group.join("memory.oom.group"), "1\n").unwrap();
        assert_eq!(left_of_groups(&group, root.path()), left(Some(10)));
    }

    #[test]
    fn each_reason_against_a_copy_counts_unless_one_is_asked_for() {
        for (facts, word) in [
            (Facts { promised_left_bytes: Some(999 * MB), ..Facts::default() }, "999 MB"),
            (with_left(99), "99.0 MB"),
            (killed_as_one(99), "its container has 99.0 MB left"),
            (killed_as_one(999), "killed as a whole where that is too little (memory.oom.group)"),
            (Facts { has_device: true, ..Facts::default() }, "driver"),
            (Facts { own_bytes: Some(23 * MB), ..Facts::default() }, "half a million objects find room in its 23.0 MB"),
        ] {
            let choice = chosen(facts, Wish::Auto);
            assert!(choice.is_in_place);
            assert!(choice.against_copy.as_ref().unwrap().contains(word), "{choice:?}");
            assert!(!chosen(facts, Wish::Fork).is_in_place);
            assert_eq!(chosen(facts, Wish::InPlace).against_copy, None);
        }
    }
}
