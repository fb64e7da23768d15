//! How fast the processors may run, and what others took of them.
//! Source: Linux, Documentation/admin-guide/pm/cpufreq.rst and filesystems/proc.rst (`/proc/stat`).

use std::collections::BTreeSet;

use crate::machine::tree::Tree;

const FOLDER: &str = "sys/devices/system/cpu";

/// How the frequency is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaling {
    pub governors: BTreeSet<String>,
    pub drivers: BTreeSet<String>,
    pub processors: usize,
    /// Those whose frequency may not rise as far as the hardware can.
    pub capped: usize,
}

/// `None`: no processor tells.
#[must_use]
pub fn scaling(tree: &Tree) -> Option<Scaling> {
    let mut found = Scaling { governors: BTreeSet::new(), drivers: BTreeSet::new(), processors: 0, capped: 0 };
    for name in processors(tree) {
        let folder = format!("{FOLDER}/{name}/cpufreq");
        let Some(governor) = tree.text(&format!("{folder}/scaling_governor")) else { continue };
        found.processors += 1;
        found.governors.insert(governor);
        found.drivers.extend(tree.text(&format!("{folder}/scaling_driver")));
        let may = tree.number::<u64>(&format!("{folder}/scaling_max_freq"));
        let can = tree.number::<u64>(&format!("{folder}/cpuinfo_max_freq"));
        found.capped += usize::from(may.zip(can).is_some_and(|(may, can)| may < can));
    }
    (found.processors > 0).then_some(found)
}

/// How often processors slowed down because of their heat, since the machine began. `None`: no processor counts it.
#[must_use]
pub fn heat_stops(tree: &Tree) -> Option<u64> {
    let counts: Vec<u64> = processors(tree)
        .iter()
        .filter_map(|name| tree.number(&format!("{FOLDER}/{name}/thermal_throttle/core_throttle_count")))
        .collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

/// `cpu0` and so on.
fn processors(tree: &Tree) -> Vec<String> {
    let is_one = |name: &String| name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok());
    tree.names(FOLDER).into_iter().filter(is_one).collect()
}

/// Ticks of all processors since the machine began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steal {
    /// In which the hypervisor ran something else although there was work here.
    pub stolen: u64,
    /// In which there was work.
    pub busy: u64,
}

/// `None`: the kernel does not tell.
#[must_use]
pub fn steal(tree: &Tree) -> Option<Steal> {
    let stat = tree.text("proc/stat")?;
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Option<Vec<u64>> = line.split_whitespace().map(|ticks| ticks.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guests are in user and nice.
    let [user, nice, system, _, _, irq, softirq, stolen, ..] = ticks?[..] else { return None };
    let busy = [user, nice, system, irq, softirq, stolen].into_iter().fold(0, u64::saturating_add);
    Some(Steal { stolen, busy })
}

#[cfg(test)]
mod tests {
    use super::{Steal, heat_stops, scaling, steal};
    use crate::machine::tree::made::Made;

    #[test]
    fn processors_tell_who_chooses_their_frequency() {
        let made = Made::with(&[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "1000000\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3000000\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "3\n"),
            ("sys/devices/system/cpu/cpufreq/boost", "1\n"),
        ]);
        let found = scaling(&made.tree()).unwrap();
        assert_eq!((found.processors, found.capped, found.governors.len()), (2, 1, 2));
        assert!(found.drivers.contains("acpi-cpufreq"));
        assert_eq!(heat_stops(&made.tree()), Some(3));
    }

    #[test]
    fn what_a_machine_does_not_tell_is_not_known() {
        let made = Made::with(&[("proc/stat", "cpu  1 2 3\n"), ("sys/devices/system/cpu/cpu0/online", "1")]);
        assert_eq!((scaling(&made.tree()), heat_stops(&made.tree()), steal(&made.tree())), (None, None, None));
        assert_eq!(steal(&Made::with(&[]).tree()), None);
    }

    #[test]
    fn stolen_ticks_are_a_part_of_the_busy_ones() {
        let made = Made::with(&[("proc/stat", "cpu  100 0 50 900 7 1 2 30 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")]);
        assert_eq!(steal(&made.tree()), Some(Steal { stolen: 30, busy: 183 }));
    }
}
