//! How much memory a process may still take: of the machine, of the control groups around it, and below a limit of its own.
//! Owns: that pages of files count as free, since the kernel gives them up first. Never: takes a bound that is not told for none left; looks
//! into groups of the first version.
//! Source: Linux, Documentation/admin-guide/cgroup-v2.rst; proc_meminfo(5), proc_pid_limits(5) and proc_pid_status(5).

use crate::machine::tree::Tree;

/// The least that one of the bounds leaves to this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    pub bytes: u64,
    pub bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Machine,
    Container,
    /// Of the process (`ulimit`).
    Process,
}

/// What the container may still take: the least of what each group above the process has left. `None`: no limit is known.
/// Partner: crates/agent/src/system/proc.rs.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ContainerLeft {
    pub bytes: Option<u64>,
    /// The same of groups that run out of memory as one: the kernel kills all processes in place of the largest (`memory.oom.group`).
    pub killed_as_one_bytes: Option<u64>,
}

/// Of this process. `None`: nothing is told.
#[must_use]
pub fn own(tree: &Tree) -> Option<Left> {
    let bounds = [
        (number_in_kb(tree, "proc/meminfo", "MemAvailable:"), Bound::Machine),
        (of_container(tree, "self").bytes, Bound::Container),
        (below_limit(tree, "Max address space", "VmSize:"), Bound::Process),
        (below_limit(tree, "Max data size", "VmData:"), Bound::Process),
    ];
    let told = bounds.into_iter().filter_map(|(bytes, bound)| Some(Left { bytes: bytes?, bound }));
    told.min_by_key(|left| left.bytes)
}

/// `process`: its name below /proc, a number or `self`.
#[must_use]
pub fn of_container(tree: &Tree, process: &str) -> ContainerLeft {
    let mut least = ContainerLeft::default();
    let groups = tree.text(&format!("proc/{process}/cgroup")).unwrap_or_default();
    let Some(mut below) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else { return least };
    let mut is_one = false;
    loop {
        let folder = format!("sys/fs/cgroup/{below}");
        let left = of_group(tree, &folder);
        // Below the group that runs out, the kernel takes the highest one that asks for it.
        is_one |= tree.number::<u64>(&format!("{folder}/memory.oom.group")) == Some(1);
        least.bytes = [least.bytes, left].into_iter().flatten().min();
        let left_as_one = left.filter(|_| is_one);
        least.killed_as_one_bytes = [least.killed_as_one_bytes, left_as_one].into_iter().flatten().min();
        if below.is_empty() {
            return least;
        }
        below = below.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

/// `None`: it has no limit.
fn of_group(tree: &Tree, folder: &str) -> Option<u64> {
    // `max` is no number.
    let number = |name: &str| tree.number::<u64>(&format!("{folder}/{name}"));
    let (limit, taken) = (number("memory.max")?, number("memory.current")?);
    // The kernel gives up pages of files before it refuses memory.
    let stat = tree.text(&format!("{folder}/memory.stat")).unwrap_or_default();
    let lines = stat.lines().filter_map(|line| line.split_once(' '));
    let of_files = lines.filter(|(name, _)| matches!(*name, "inactive_file" | "active_file"));
    let file_bytes = of_files.filter_map(|(_, bytes)| bytes.parse::<u64>().ok()).fold(0, u64::saturating_add);
    Some(limit.saturating_sub(taken.saturating_sub(file_bytes)))
}

/// `None`: this process is not limited so.
fn below_limit(tree: &Tree, limit: &str, taken: &str) -> Option<u64> {
    let limits = tree.text("proc/self/limits")?;
    let soft = limits.lines().find_map(|line| line.strip_prefix(limit))?.split_whitespace().next()?;
    // `unlimited` is no number.
    let limit_bytes: u64 = soft.parse().ok()?;
    Some(limit_bytes.saturating_sub(number_in_kb(tree, "proc/self/status", taken)?))
}

/// A line of such a file, in bytes: `VmRSS:     5220 kB`.
#[must_use]
pub fn number_in_kb(tree: &Tree, path: &str, key: &str) -> Option<u64> {
    let text = tree.text(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::{Bound, ContainerLeft, Left, of_container, of_group, own};
    use crate::machine::tree::made::Made;

    #[test]
    fn pages_of_files_can_be_given_up() {
        let left = |files: &[(&str, &str)]| of_group(&Made::with(files).tree(), "a");
        let (limit, taken) = (("a/memory.max", "1000\n"), ("a/memory.current", "990\n"));
        let stat = ("a/memory.stat", "file 690\nshmem 90\ninactive_file 500\nactive_file 100\n");
        assert_eq!(left(&[taken]), None);
        assert_eq!(left(&[taken, limit]), Some(10));
        assert_eq!(left(&[taken, limit, stat]), Some(610));
        // The two files are not read in the same moment.
        assert_eq!(left(&[("a/memory.current", "400\n"), limit, stat]), Some(1000));
        assert_eq!(left(&[taken, ("a/memory.max", "max\n"), stat]), None);
    }

    #[test]
    fn a_group_that_is_killed_as_one_counts_from_itself_upwards() {
        let left = |one_is_killed_as_one: &str| {
            let made = Made::with(&[
                ("proc/7/cgroup", "0::/pod/one\n"),
                ("sys/fs/cgroup/pod/one/memory.max", "900\n"),
                ("sys/fs/cgroup/pod/one/memory.current", "890\n"),
                ("sys/fs/cgroup/pod/one/memory.oom.group", one_is_killed_as_one),
                ("sys/fs/cgroup/pod/memory.max", "1000\n"),
                ("sys/fs/cgroup/pod/memory.current", "950\n"),
                ("sys/fs/cgroup/pod/memory.oom.group", "1\n"),
            ]);
            of_container(&made.tree(), "7")
        };
        let expected = |killed_as_one_bytes| ContainerLeft { bytes: Some(10), killed_as_one_bytes };
        assert_eq!(left("0\n"), expected(Some(50)));
        assert_eq!(left("1\n"), expected(Some(10)));
    }

    #[test]
    fn the_least_of_all_bounds_counts() {
        const UNLIMITED: &str = "Max data size             unlimited            unlimited            bytes\n";
        const LIMITED: &str = "Max address space         9000000              unlimited            bytes\n";
        let left = |available: &str, group: &str, limits: &str| {
            let made = Made::with(&[
                ("proc/meminfo", available),
                ("proc/self/cgroup", "0::/\n"),
                ("sys/fs/cgroup/memory.max", group),
                ("sys/fs/cgroup/memory.current", "1000\n"),
                ("proc/self/limits", limits),
                ("proc/self/status", "Name:\tgenba\nVmSize:\t    1000 kB\nVmData:\t     500 kB\n"),
            ]);
            own(&made.tree())
        };
        let least = |bytes: u64, bound: Bound| Some(Left { bytes, bound });
        assert_eq!(left("Any: 1 kB\nMemAvailable: 2000 kB\n", "max\n", UNLIMITED), least(2_048_000, Bound::Machine));
        assert_eq!(left("MemAvailable:    2000 kB\n", "5000\n", UNLIMITED), least(4_000, Bound::Container));
        assert_eq!(left("MemAvailable:    9000 kB\n", "max\n", LIMITED), least(7_976_000, Bound::Process));
        assert_eq!(left("MemFree: 1 kB\n", "max\n", UNLIMITED), None);
    }
}
