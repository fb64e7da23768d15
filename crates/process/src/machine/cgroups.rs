//! How much CPU the control groups around a process allow, and how often they held it up.
//! Owns: both versions of cgroups. Never: takes a group that does not tell for one that allows everything; looks for the groups of another process
//! outside of this one's namespace.
//! Source: Linux, Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst.

use crate::machine::tree::Tree;

/// What the groups from the process's own up to the root tell, as far as they can be seen from here.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuGroups {
    pub version: u8,
    /// The process's own group, as /proc names it.
    pub name: String,
    /// CPUs, the least that one of the groups allows. `None`: none has a quota.
    pub quota: Option<f64>,
    /// Of the group that was held up most. `None`: none counts.
    pub held_up: Option<HeldUp>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldUp {
    pub periods: u64,
    /// In which the group had used up its quota, and waited.
    pub throttled: u64,
    pub throttled_ns: u64,
}

/// Why there are no groups to tell of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTold {
    /// No group for the CPU is found there.
    NoGroup,
    /// The file is there, and may not be read.
    Unreadable,
    /// It lies above or beside the groups that this process sees.
    Outside { name: String },
}

/// `process`: its name below /proc, a number or `self`. The groups are looked for where this process has them mounted.
///
/// # Errors
/// Nothing is told of its groups.
pub fn cpu(tree: &Tree, process: &str) -> Result<CpuGroups, NotTold> {
    let file = format!("proc/{process}/cgroup");
    let missing = || if tree.has(&file) == Some(true) { NotTold::Unreadable } else { NotTold::NoGroup };
    let groups = tree.text(&file).ok_or_else(missing)?;
    let mounts = tree.text("proc/self/mounts").ok_or(NotTold::NoGroup)?;
    let (version, mount, name) = group(&groups, &mounts).ok_or(NotTold::NoGroup)?;
    // Source: Linux, cgroup_namespaces(7): such a name begins with `/..`.
    if name.split('/').any(|part| part == "..") {
        return Err(NotTold::Outside { name: name.to_owned() });
    }
    Ok(CpuGroups::read(tree, version, mount, name))
}

/// The version, where it is mounted, and the name.
fn group<'a>(groups: &'a str, mounts: &'a str) -> Option<(u8, &'a str, &'a str)> {
    let mounts: Vec<Vec<&str>> = mounts.lines().map(|line| line.split(' ').collect()).collect();
    let has_cpu = |list: &str| list.split(',').any(|controller| controller == "cpu");
    let mount = |kind: &str| {
        let found = mounts.iter().find(|words| match words.as_slice() {
            [_, _, of, options, ..] => *of == kind && (kind == "cgroup2" || has_cpu(options)),
            _ => false,
        });
        found.and_then(|words| words.get(1)).copied()
    };
    let mut entries = groups.lines().filter_map(|line| {
        let mut words = line.splitn(3, ':').skip(1);
        Some((words.next()?, words.next()?))
    });
    let first = entries.clone().find(|(controllers, _)| has_cpu(controllers));
    if let (Some((_, name)), Some(mount)) = (first, mount("cgroup")) {
        return Some((1, mount, name));
    }
    let (_, name) = entries.find(|(controllers, _)| controllers.is_empty())?;
    Some((2, mount("cgroup2")?, name))
}

impl CpuGroups {
    fn read(tree: &Tree, version: u8, mount: &str, name: &str) -> CpuGroups {
        let mut found = CpuGroups { version, name: name.to_owned(), quota: None, held_up: None };
        // In a container the name may be one of outside: then only the mount's own folder is there.
        let mut below = name.trim_matches('/');
        loop {
            let folder = format!("{mount}/{below}");
            if let Some(quota) = quota(version, tree, &folder) {
                found.quota = Some(found.quota.map_or(quota, |least: f64| least.min(quota)));
            }
            let held_up = held_up(version, tree, &folder);
            if held_up.map(|one| one.throttled) > found.held_up.map(|one| one.throttled) {
                found.held_up = held_up;
            }
            if below.is_empty() {
                return found;
            }
            below = below.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
}

fn quota(version: u8, tree: &Tree, folder: &str) -> Option<f64> {
    let (quota, period) = if version == 1 {
        (tree.text(&format!("{folder}/cpu.cfs_quota_us"))?, tree.text(&format!("{folder}/cpu.cfs_period_us"))?)
    } else {
        let text = tree.text(&format!("{folder}/cpu.max"))?;
        let (quota, period) = text.split_once(' ')?;
        (quota.to_owned(), period.to_owned())
    };
    // `max` and -1: none.
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

fn held_up(version: u8, tree: &Tree, folder: &str) -> Option<HeldUp> {
    let (time, unit_ns) = if version == 1 { ("throttled_time", 1) } else { ("throttled_usec", 1000) };
    let stat = tree.text(&format!("{folder}/cpu.stat"))?;
    let value = |name: &str| {
        stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
    };
    Some(HeldUp {
        periods: value("nr_periods")?,
        throttled: value("nr_throttled")?,
        throttled_ns: value(time)?.saturating_mul(unit_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::{CpuGroups, HeldUp, NotTold, cpu};
    use crate::machine::tree::made::Made;

    #[test]
    fn the_second_version_s_groups_hold_a_process_up() {
        let made = Made::with(&[
            ("proc/self/cgroup", "0::/pods/one\n"),
            ("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
            ("sys/fs/cgroup/pods/one/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/pods/one/cpu.stat", "usage_usec 5\nnr_periods 10\nnr_throttled 0\nthrottled_usec 0\n"),
            ("sys/fs/cgroup/pods/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/pods/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 40\nthrottled_usec 7000\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 5\n"),
        ]);
        let held_up = Some(HeldUp { periods: 100, throttled: 40, throttled_ns: 7_000_000 });
        let expected = CpuGroups { version: 2, name: "/pods/one".to_owned(), quota: Some(1.5), held_up };
        assert_eq!(cpu(&made.tree(), "self"), Ok(expected));
    }

    #[test]
    fn the_first_version_s_groups_do_too() {
        let made = Made::with(&[
            ("proc/self/cgroup", "4:cpu,cpuacct:/docker/8\n1:name=systemd:/x\n0::/\n"),
            (
                "proc/self/mounts",
                "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
            ),
            // As in a container whose group has a name of outside.
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 70\n"),
        ]);
        let found = cpu(&made.tree(), "self").unwrap();
        assert_eq!((found.version, found.quota), (1, Some(0.5)));
        assert_eq!(found.held_up, Some(HeldUp { periods: 9, throttled: 3, throttled_ns: 70 }));
    }

    #[test]
    fn another_process_has_groups_of_its_own() {
        let made = Made::with(&[
            ("proc/self/cgroup", "0::/mine\n"),
            ("proc/7/cgroup", "0::/its\n"),
            ("proc/8/cgroup", "0::/../mine\n"),
            // Nothing that can be read as a file.
            ("proc/9/cgroup/x", ""),
            ("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
            ("sys/fs/cgroup/mine/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/its/cpu.max", "50000 100000\n"),
        ]);
        let quota = |process: &str| cpu(&made.tree(), process).map(|found| (found.name, found.quota));
        assert_eq!(quota("self"), Ok(("/mine".to_owned(), None)));
        assert_eq!(quota("7"), Ok(("/its".to_owned(), Some(0.5))));
        assert_eq!(quota("8"), Err(NotTold::Outside { name: "/../mine".to_owned() }));
        assert_eq!((quota("9"), quota("10")), (Err(NotTold::Unreadable), Err(NotTold::NoGroup)));
    }

    #[test]
    fn without_a_group_nothing_is_known() {
        assert_eq!(cpu(&Made::with(&[]).tree(), "self"), Err(NotTold::NoGroup));
        let made = Made::with(&[("proc/self/cgroup", "0::/\n"), ("proc/self/mounts", "proc /proc proc rw 0 0\n")]);
        assert_eq!(cpu(&made.tree(), "self"), Err(NotTold::NoGroup));
        let made = Made::with(&[
            ("proc/self/cgroup", "junk\n::\n0::/\n"),
            ("proc/self/mounts", "a\n\ncgroup2 /c cgroup2 rw 0 0\n"),
        ]);
        let found = cpu(&made.tree(), "self").unwrap();
        assert_eq!((found.quota, found.held_up), (None, None));
    }
}
