//! Time that a program took out of its recording by `pause` and `resume`.
//! Owns: how long that was. Never: takes a process that ended in a pause for one that was resumed.

use std::collections::BTreeMap;

use crate::tables::profile::{MarkKind, Process, ProcessIndex, Profile};
use crate::tables::window::Window;

/// The time of a recording, whole.
const ALL: Window = Window { start_ns: 0, end_ns: None };

/// Up to the end of its recording, as much of it as `window` holds.
fn of_process_ns(profile: &Profile, index: ProcessIndex, process: &Process, window: Window) -> u64 {
    let mut paused_ns: u64 = 0;
    let mut since_ns = None;
    for mark in profile.marks.iter().filter(|mark| mark.process == index && mark.kind == MarkKind::Pause) {
        match (mark.value, since_ns.take()) {
            (Some(0), None) => since_ns = Some(mark.at_ns),
            (Some(0), before) => since_ns = before,
            (_, Some(begin_ns)) => paused_ns = paused_ns.saturating_add(window.held_ns(begin_ns, mark.at_ns)),
            (_, None) => {}
        }
    }
    let end_ns = process.start_ns.saturating_add(process.wall_ns);
    paused_ns.saturating_add(since_ns.map_or(0, |begin_ns| window.held_ns(begin_ns, end_ns)))
}

#[must_use]
pub fn of_all_processes_ns(profile: &Profile) -> u64 {
    let each = profile.processes.enumerate().map(|(index, process)| of_process_ns(profile, index, process, ALL));
    each.fold(0, u64::saturating_add)
}

/// How long something was recorded: `span_ns` without the pauses. Of several processes the one that paused least counts: while it was recorded, something was.
#[must_use]
pub fn recorded_ns(profile: &Profile) -> u64 {
    recorded_in_ns(profile, ALL)
}

/// The same of a part of its time.
#[must_use]
pub fn recorded_in_ns(profile: &Profile, window: Window) -> u64 {
    let mut least: BTreeMap<Option<&str>, u64> = BTreeMap::new();
    for (index, process) in profile.processes.enumerate() {
        // One that had not begun, or had ended, was not recorded instead of the others.
        if window.held_ns(process.start_ns, process.start_ns.saturating_add(process.wall_ns)) == 0 {
            continue;
        }
        let paused_ns = of_process_ns(profile, index, process, window);
        let of_recording = least.entry(process.recording.as_deref()).or_insert(paused_ns);
        *of_recording = paused_ns.min(*of_recording);
    }
    let paused_ns = least.into_values().fold(0, u64::saturating_add);
    window.held_ns(0, profile.span_ns).saturating_sub(paused_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::profile::Mark;

    fn profile(marks: &[(usize, u64, u64)], processes: usize) -> Profile {
        let mut profile = Profile { span_ns: 100, ..Profile::default() };
        for _ in 0..processes {
            profile.processes.push(Process { start_ns: 0, wall_ns: 100, ..Process::default() });
        }
        for &(process, at_ns, value) in marks {
            profile.marks.push(Mark {
                process: crate::table::TableIndex::new(process),
                at_ns,
                kind: MarkKind::Pause,
                text: None,
                value: Some(value),
            });
        }
        profile
    }

    #[test]
    fn a_pause_is_no_part_of_what_was_recorded() {
        assert_eq!(recorded_ns(&profile(&[], 1)), 100);
        assert_eq!(recorded_ns(&profile(&[(0, 20, 0), (0, 50, 1)], 1)), 70);
        assert_eq!(
            recorded_ns(&profile(&[(0, 20, 0), (0, 50, 1), (0, 90, 0)], 1)),
            60,
            "the second goes on to the end"
        );
        assert_eq!(recorded_ns(&profile(&[(0, 20, 0), (0, 30, 0), (0, 50, 1)], 1)), 70, "twice is once");
    }

    #[test]
    fn of_a_part_of_the_time_its_own_pauses_are_taken_off() {
        let profile = profile(&[(0, 20, 0), (0, 50, 1), (0, 90, 0)], 1);
        let recorded = |start_ns, end_ns| recorded_in_ns(&profile, Window { start_ns, end_ns });
        assert_eq!([recorded(0, Some(20)), recorded(50, Some(90))], [20, 40], "beside a pause");
        assert_eq!([recorded(10, Some(40)), recorded(30, Some(60)), recorded(30, Some(40))], [10, 10, 0]);
        assert_eq!([recorded(40, None), recorded(95, None)], [40, 0], "the second one goes on to the end");
    }

    #[test]
    fn while_one_process_is_recorded_something_is() {
        let profile = profile(&[(0, 20, 0), (0, 50, 1)], 2);
        assert_eq!((recorded_ns(&profile), of_all_processes_ns(&profile)), (100, 30));
    }

    #[test]
    fn a_process_of_another_time_was_not_recorded_instead() {
        let mut profile = profile(&[(0, 20, 0), (0, 50, 1)], 1);
        profile.processes.push(Process { start_ns: 60, wall_ns: 40, ..Process::default() });
        let recorded = |end_ns| recorded_in_ns(&profile, Window { start_ns: 10, end_ns: Some(end_ns) });
        assert_eq!([recorded(60), recorded(70)], [20, 60]);
    }
}
