//! What the kernel reads the time from.
//! Source: Linux, Documentation/ABI/testing/sysfs-devices-system-cpu and kernel/time/clocksource.c.

use crate::machine::tree::Tree;

const FOLDER: &str = "sys/devices/system/clocksource/clocksource0";

/// What is not told is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockSource {
    pub current: Option<String>,
    pub available: Vec<String>,
    /// Whether the processor says that its counter runs at one rate and never stops (`constant_tsc`, `nonstop_tsc`).
    pub has_steady_counter: Option<bool>,
    /// The processor says that it is a hypervisor's.
    pub is_virtual: bool,
    /// Words on the kernel's command line that decide about the clock.
    pub parameters: Vec<String>,
}

impl ClockSource {
    #[must_use]
    pub fn of(tree: &Tree) -> ClockSource {
        let words = |path: &str| tree.text(path).unwrap_or_default();
        let available = words(&format!("{FOLDER}/available_clocksource"));
        let processor = words("proc/cpuinfo");
        let flags: Option<Vec<&str>> = processor
            .lines()
            .find_map(|line| line.strip_prefix("flags"))
            .map(|flags| flags.split_whitespace().collect());
        let command_line = words("proc/cmdline");
        let decides = |word: &&str| {
            ["clocksource=", "tsc=", "vdso="].iter().any(|begin| word.starts_with(begin)) || *word == "notsc"
        };
        ClockSource {
            current: tree.text(&format!("{FOLDER}/current_clocksource")).filter(|name| !name.is_empty()),
            available: available.split_whitespace().map(str::to_owned).collect(),
            has_steady_counter: flags
                .as_ref()
                .map(|flags| ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.contains(flag))),
            is_virtual: flags.is_some_and(|flags| flags.contains(&"hypervisor")),
            parameters: command_line.split_whitespace().filter(decides).map(str::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ClockSource;
    use crate::machine::tree::made::Made;

    #[test]
    fn a_machine_tells_its_sources() {
        let folder = "sys/devices/system/clocksource/clocksource0";
        let made = Made::with(&[
            (&format!("{folder}/current_clocksource"), "hpet\n"),
            (&format!("{folder}/available_clocksource"), "tsc hpet acpi_pm \n"),
            ("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc hypervisor\n"),
            ("proc/cmdline", "quiet clocksource=hpet ro\n"),
        ]);
        let found = ClockSource::of(&made.tree());
        assert_eq!((found.current.as_deref(), found.available.len()), (Some("hpet"), 3));
        assert_eq!((found.has_steady_counter, found.is_virtual), (Some(true), true));
        assert_eq!(found.parameters, ["clocksource=hpet"]);
    }

    #[test]
    fn nothing_is_known_of_a_machine_that_tells_nothing() {
        assert_eq!(ClockSource::of(&Made::with(&[]).tree()), ClockSource::default());
    }
}
