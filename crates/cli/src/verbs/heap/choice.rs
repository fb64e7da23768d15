//! Whether a heap is walked in a copy of the process or in place, and how long either may take.
//! Owns: the reasons against a copy. Never: makes one.

use genba_heap::pieces::{COPIED_PART, SMALL_BYTES, copied_at_most};
use genba_process::interpreter::Interpreter;
use genba_process::memory_left::{self, ContainerLeft, number_in_kb};
use genba_process::tree::Tree;
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
    let tree = Tree::own();
    let has_device = interpreter.maps.iter().filter_map(|mapping| mapping.path.as_ref()).any(|path| {
        ["/dev/nvidia", "/dev/kfd", "/dev/dri"].iter().any(|device| path.to_string_lossy().starts_with(device))
    });
    Facts {
        resident_bytes: number_in_kb(&tree, &format!("proc/{pid}/status"), "VmRSS:"),
        own_bytes: own_bytes(&tree, &format!("proc/{pid}/status")),
        promised_left_bytes: promised_left(&tree),
        container: memory_left::of_container(&tree, &pid.to_string()),
        has_device,
    }
}

/// `None`: the system promises as much as anybody asks for.
fn promised_left(tree: &Tree) -> Option<u64> {
    if tree.text("proc/sys/vm/overcommit_memory")? != "2" {
        return None;
    }
    let in_kb = |key: &str| number_in_kb(tree, "proc/meminfo", key);
    let (limit, promised) = (in_kb("CommitLimit:")?, in_kb("Committed_AS:")?);
    Some(limit.saturating_sub(promised))
}

/// Partner: crates/agent/src/system/proc.rs.
fn own_bytes(tree: &Tree, status: &str) -> Option<u64> {
    let swapped = number_in_kb(tree, status, "VmSwap:").unwrap_or(0);
    number_in_kb(tree, status, "RssAnon:").map(|bytes| bytes.saturating_add(swapped))
}

#[cfg(test)]
mod tests {
    use genba_process::tree::Tree;

    use super::{Choice, ContainerLeft, Facts, MB, Wish, choose_by, own_bytes};

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
        let folder = tempfile::tempdir().unwrap();
        let with = |text: &str| {
            std::fs::write(folder.path().join("status"), text).unwrap();
            own_bytes(&Tree::new(folder.path()), "status")
        };
        assert_eq!(with("VmRSS:\t    9000 kB\nRssAnon:\t    6000 kB\nVmSwap:\t   70000 kB\n"), Some(76_000 * 1024));
        assert_eq!(with("VmRSS:\t    9000 kB\nRssAnon:\t    6000 kB\n"), Some(6_000 * 1024));
        assert_eq!(with("Name:\tpython3\n"), None);
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
