//! Sides that differ in one fact, and what is said of it.

use super::*;
use crate::tables::profile::{Process, Recorder};

fn facts() -> Facts {
    Facts {
        name: "app.genba".to_owned(),
        script: Some("app.py".to_owned()),
        pythons: BTreeSet::from(["3.13.0".to_owned()]),
        processes: 1,
        children: Children { are_left_out: false, sampled: 1 },
        threads: 2,
        covered_per_mille: Some(995),
        end: Some(End::ExitCode(0)),
        waited_for_cpu: Some(0.0),
        work_before: WorkBefore::default(),
        recorded_ns: 5_000_000_000,
        paused_ns: 0,
        cpu_ns: 4_000_000_000,
        uncovered_ns: 20_000_000,
        has_window: false,
        is_to_end: true,
        interval_ns: Some(1_000_000),
        lost_per_mille: 3,
        blocks_lost: 0,
    }
}

fn of(after: Facts) -> Vec<String> {
    obstacles(&[facts()], &[after], Weight::Cpu)
}

#[test]
fn equal_sides_have_nothing_in_the_way() {
    assert_eq!(of(facts()), [] as [String; 0]);
    assert_eq!(unlike(&[facts()], &[facts(), facts()]), [] as [String; 0]);
    assert_eq!(of(Facts { end: None, covered_per_mille: None, ..facts() }), [] as [String; 0]);
    assert_eq!(of(Facts { uncovered_ns: 219_000_000, ..facts() }), [] as [String; 0]);
    // Five times as fast, with the same part of it in no sample.
    let slow = Facts { cpu_ns: 10_000_000_000, uncovered_ns: 800_000_000, ..facts() };
    let fast = Facts { cpu_ns: 2_000_000_000, uncovered_ns: 160_000_000, ..facts() };
    assert_eq!(obstacles(&[slow], &[fast], Weight::Cpu), [] as [String; 0]);
    // A test that fails before the change, and passes behind it.
    let failed = Facts { end: Some(End::ExitCode(1)), ..facts() };
    assert_eq!(obstacles(std::slice::from_ref(&failed), &[facts()], Weight::Cpu), [] as [String; 0]);
    assert_eq!(unlike(&[failed], &[facts()]), ["A ended with exit code 1, B ended with exit code 0"]);
    // Two scripts are compared as one file.
    let other = Facts { script: Some("new.py".to_owned()), ..facts() };
    assert_eq!(unlike(&[facts()], std::slice::from_ref(&other)), ["A ran app.py, B ran new.py"]);
    assert_eq!(unlike(&[facts()], &[facts(), other]), ["A ran app.py, B ran app.py or new.py"]);
    assert_eq!(unlike(&[facts()], &[Facts { script: None, ..facts() }]), [] as [String; 0]);
    // A short run, of which genba did not see the beginning, beside a long one.
    let short = Facts { cpu_ns: 25_000_000, covered_per_mille: Some(200), ..facts() };
    assert_eq!(of(short), [] as [String; 0]);
}

#[test]
fn what_lost_blocks_is_not_compared() {
    let damaged = |name: &str, blocks_lost| Facts { name: name.to_owned(), blocks_lost, ..facts() };
    assert_eq!(of(damaged("b.genba", 1)), ["b.genba lost at least 1 block: copy the file again, or record again"]);
    let both = obstacles(&[facts(), damaged("a.genba", 2)], &[damaged("b.genba", 1)], Weight::Wall);
    assert_eq!(
        both,
        ["a.genba lost at least 2 blocks, b.genba lost at least 1 block: copy the file again, or record again"]
    );
    // Two times of one recording.
    let one = [Facts { has_window: true, ..damaged("a.genba", 2) }];
    assert_eq!(
        obstacles(&one, &one, Weight::Cpu),
        ["a.genba lost at least 2 blocks: copy the file again, or record again"]
    );
}

#[test]
fn each_obstacle_has_its_words() {
    let killed = of(Facts { end: Some(End::Signal(9)), ..facts() });
    assert_eq!(killed, ["A ended with exit code 0, B was ended by signal 9: they did not do the same work"]);
    // On either side some runs did all of their work.
    let some = [facts(), Facts { end: Some(End::Signal(9)), ..facts() }];
    let words = "ended with exit code 0 or was ended by signal 9";
    assert_eq!(obstacles(&some, &some, Weight::Cpu), [format!("A {words}, B {words}: they did not do the same work")]);
    let uncovered = Facts { uncovered_ns: 221_000_000, ..facts() };
    assert_eq!(
        of(uncovered.clone()),
        ["20.0 ms of A's 4.00 s of CPU are in no sample, 221 ms of B's 4.00 s: what is in no sample is in no row"]
    );
    assert_eq!(obstacles(&[facts()], &[uncovered], Weight::Wall), [] as [String; 0]);
    let slower = Facts { interval_ns: Some(5_000_000), ..facts() };
    assert_eq!(of(slower.clone()), [] as [String; 0]);
    assert_eq!(
        obstacles(&[facts()], &[slower], Weight::Samples),
        ["A has a sample every 1.00 ms, B every 5.00 ms: a sample of the one is not as long as one of the other"]
    );
    // On a busy machine many ticks come too late. Times hold: the next sample brings what passed.
    let late = Facts { lost_per_mille: 181, ..facts() };
    assert_eq!(of(late.clone()), [] as [String; 0]);
    assert_eq!(
        obstacles(&[facts()], &[late], Weight::Samples),
        ["0.3 % of A's ticks gave no sample, 18.1 % of B's: fewer samples are no less work"]
    );
    let hardly_late = Facts { lost_per_mille: 23, ..facts() };
    assert_eq!(obstacles(&[facts()], &[hardly_late], Weight::Samples), [] as [String; 0]);
}

/// A fact from 5 % on, and an obstacle only beyond half of the time, where the program itself does not explain it.
#[test]
fn a_machine_that_is_busier_on_one_side_is_told() {
    let waited = |part| Facts { waited_for_cpu: Some(part), ..facts() };
    let told = |a, b| allowed_for(&[waited(a)], &[waited(b)], Weight::Cpu);
    assert_eq!(told(0.04, 0.0), [] as [String; 0]);
    assert_eq!(told(0.2, 0.21), ["a run of B waited for a CPU 21 % of its time, of A 20 %"]);
    assert_eq!(
        told(0.45, 0.03),
        [
            "a run of A waited for a CPU 45 % of its time, of B 3 %: the intervals are wider for that; record both sides in turn"
        ]
    );
    assert_eq!(of(waited(0.45)), [] as [String; 0]);
    assert_eq!(
        of(waited(0.61)),
        [
            "runs of A waited for a CPU 0 % of their time, those of B 61 %: other programs used the machine; record both sides in turn"
        ]
    );
    // One run of several.
    assert_eq!(obstacles(&[facts()], &[facts(), waited(0.61)], Weight::Cpu), [] as [String; 0]);
    // Its own threads may wait for each other; those of the other side explain nothing.
    assert_eq!(of(Facts { threads: 16, ..waited(0.9) }), [] as [String; 0]);
    assert_eq!(obstacles(&[Facts { threads: 16, ..facts() }], &[waited(0.9)], Weight::Cpu).len(), 1);
    assert_eq!(of(Facts { waited_for_cpu: None, ..facts() }), [] as [String; 0]);
}

/// Of a time of 5 s, more than 250 ms. Where the sides begin is then another part of the work.
#[test]
fn a_machine_that_was_busier_before_the_time_is_told() {
    let waited = |start_ns, ms: f64| {
        let work_before = WorkBefore { start_ns, queue: ms * 1e6, ..WorkBefore::default() };
        Facts { work_before, has_window: true, ..facts() }
    };
    let told = |a, b| allowed_for(&[a], &[b], Weight::Cpu);
    assert_eq!(told(waited(9, 200.0), waited(9, 449.0)), [] as [String; 0]);
    assert_eq!(
        told(waited(9, 200.0), waited(9, 451.0)),
        [
            "before the time that is compared a run waited for a CPU for 200 ms in A, for 451 ms in B: the intervals are wider for that; record both sides in turn"
        ]
    );
    assert_eq!(told(waited(9, 0.0), waited(5_000_000_009, 451.0)), [] as [String; 0]);
}

/// It did less before that: it slept, or read from a cold disk.
#[test]
fn a_program_that_was_later_before_the_time_is_told() {
    let worked = |start_ns, ms: f64| {
        let work_before = WorkBefore { start_ns, queue: 0.0, cpu: ms * 1e6, cpu_within: 4e9 };
        Facts { work_before, has_window: true, ..facts() }
    };
    let told = |a, b| allowed_for(&[a], &[b], Weight::Cpu);
    assert_eq!(told(worked(9, 1200.0), worked(9, 951.0)), [] as [String; 0]);
    assert_eq!(
        told(worked(9, 1200.0), worked(9, 900.0)),
        [
            "before the time that is compared a run took 1.20 s of CPU in A, 900 ms in B: the intervals are wider for that; record both sides in turn, or name the same part of the work with --before-time and --after-time"
        ]
    );
    assert_eq!(told(worked(9, 1200.0), worked(5_000_000_009, 900.0)), [] as [String; 0]);
}

/// Nobody records two times of one recording in turn.
#[test]
fn two_times_of_one_recording_have_another_advice() {
    let waited = |part| Facts { waited_for_cpu: Some(part), has_window: true, ..facts() };
    let told = |a: Facts, b: Facts| {
        let (before, after) = ([a], [b]);
        [allowed_for(&before, &after, Weight::Cpu), obstacles(&before, &after, Weight::Cpu)].concat()
    };
    assert_eq!(
        told(waited(0.03), waited(0.45)),
        ["a run of B waited for a CPU 45 % of its time, of A 3 %: the intervals are wider for that"]
    );
    let all = told(waited(0.0), waited(0.61));
    assert_eq!(all.len(), 2, "a fact and an obstacle: {all:?}");
    assert!(all[0].ends_with(": the intervals are wider for that"), "{}", all[0]);
    assert!(all[1].ends_with("other programs used the machine; record again on an idle machine"), "{}", all[1]);
    // The same times of two recordings.
    let other = Facts { name: "other.genba".to_owned(), ..waited(0.61) };
    let all = told(waited(0.0), other);
    assert_eq!(all.len(), 2, "{all:?}");
    for words in all {
        assert!(words.ends_with("; record both sides in turn"), "{words}");
    }
}

#[test]
fn coverage_that_differs_is_told_before_it_is_an_obstacle() {
    let uncovered = |uncovered_ns| Facts { uncovered_ns, ..facts() };
    let told = |after: Facts| allowed_for(&[facts()], &[after], Weight::Cpu);
    assert_eq!(told(uncovered(99_000_000)), [] as [String; 0]);
    assert_eq!(
        told(uncovered(120_000_000)),
        [
            "20.0 ms of A's 4.00 s of CPU are in no sample, 120 ms of B's 4.00 s: each interval is wider by the difference"
        ]
    );
    assert_eq!(allowed_for(&[facts()], &[uncovered(120_000_000)], Weight::Wall), [] as [String; 0]);
    // As long before genba was loaded, of a run that is much shorter.
    let short = Facts { cpu_ns: 25_000_000, covered_per_mille: Some(200), ..facts() };
    assert_eq!(told(short), [] as [String; 0]);
}

#[test]
fn programs_that_went_on_have_to_be_recorded_for_as_long() {
    let went_on = |recorded_ns| Facts { end: Some(End::Recorded), recorded_ns, ..facts() };
    let of = |a, b| obstacles(&[went_on(a)], &[went_on(b)], Weight::Cpu);
    assert_eq!(of(5_000_000_000, 5_200_000_000), [] as [String; 0]);
    assert_eq!(
        of(5_000_000_000, 10_000_000_000),
        [
            "A was recorded for 5.00 s, B for 10.0 s, of programs that did not end by themselves: record both with the same --duration"
        ]
    );
}

/// Less than what is an obstacle is in the intervals, and from 2 % on it is told.
#[test]
fn what_a_side_was_recorded_longer_is_allowed_for() {
    let went_on = |recorded_ns| Facts { end: Some(End::Signal(15)), recorded_ns, ..facts() };
    let (before, after) = ([went_on(5_000_000_000), went_on(5_100_000_000)], [went_on(5_300_000_000)]);
    // 250 ms of 5.175 s.
    assert!((longer_part(&before, &after) - 0.25 / 5.175).abs() < 1e-9);
    assert_eq!(obstacles(&before, &after, Weight::Cpu), [] as [String; 0]);
    let words = "A was recorded for 5.05 s, B for 5.30 s, of programs that did not end by themselves: each interval is wider for that";
    assert_eq!(allowed_for(&before, &after, Weight::Cpu), [words]);
    let hardly = [went_on(5_010_000_000)];
    assert!(longer_part(&before[..1], &hardly) > 0.0);
    assert_eq!(allowed_for(&before[..1], &hardly, Weight::Cpu), [] as [String; 0]);
    // As long as their work, or as the time that is compared.
    for end in [End::ExitCode(0), End::Part] {
        let worked = |recorded_ns| Facts { end: Some(end), recorded_ns, ..facts() };
        assert_eq!(longer_part(&[worked(5_000_000_000)], &[worked(5_200_000_000)]), 0.0);
    }
    let of_time = |recorded_ns| Facts { has_window: true, is_to_end: false, ..went_on(recorded_ns) };
    assert_eq!(longer_part(&[of_time(5_000_000_000)], &[of_time(5_040_000_000)]), 0.0);
    let untold = Facts { end: None, ..facts() };
    assert_eq!(longer_part(&[untold], &[went_on(5_200_000_000)]), 0.0);
}

/// The end of a recording counts where the time that is compared goes so far.
#[test]
fn a_time_is_compared_where_all_recordings_have_it() {
    let of =
        |recorded_ns, is_to_end, end| Facts { has_window: true, is_to_end, end: Some(end), recorded_ns, ..facts() };
    let found = |a: Facts, b: Facts| obstacles(&[a], &[b], Weight::Cpu);
    let whole = || of(5_000_000_000, false, End::ExitCode(0));
    assert_eq!(found(whole(), of(4_990_000_000, false, End::Recorded)), [] as [String; 0]);
    assert_eq!(found(whole(), of(4_960_000_000, true, End::Recorded)), [] as [String; 0]);
    let words = "of the time that is compared one recording has 2.00 s, another one 5.00 s: ";
    for end in [End::Recorded, End::ExitCode(0)] {
        let told = found(whole(), of(2_000_000_000, true, end));
        assert!(told.len() == 1 && told[0].starts_with(words), "{told:?}");
    }
    let went_on = |recorded_ns| of(recorded_ns, true, End::Recorded);
    assert_eq!(found(went_on(4_000_000_000), went_on(9_000_000_000)).len(), 1, "each to its end: 1s..");
    let ended = |recorded_ns| of(recorded_ns, true, End::ExitCode(0));
    assert_eq!(found(ended(4_000_000_000), ended(9_000_000_000)), [] as [String; 0], "one became slower");
    assert_eq!(
        found(ended(4_000_000_000), went_on(4_000_000_000)),
        ["A ended with exit code 0, B went on when its recording ended: they did not do the same work"]
    );
}

#[test]
fn a_time_in_which_one_side_was_paused_is_shorter_there() {
    let of = |paused_ns: u64| Facts {
        has_window: true,
        is_to_end: false,
        recorded_ns: 5_000_000_000 - paused_ns,
        paused_ns,
        ..facts()
    };
    let other = |facts: Facts| Facts { name: "other.genba".to_owned(), ..facts };
    let found = |a: Facts, b: Facts| obstacles(&[a], &[other(b)], Weight::Cpu);
    assert_eq!(found(of(1_000_000_000), of(1_030_000_000)), [] as [String; 0], "both were");
    let words = "in the time that is compared one recording was paused for 0 ns, another one for 1.00 s: name a time without pauses";
    assert_eq!(found(of(0), of(1_000_000_000)), [words]);
    assert_eq!(found(of(1_000_000_000), of(0)), [words]);
    let of_one = obstacles(&[of(0)], &[of(1_000_000_000)], Weight::Cpu);
    assert_eq!(of_one, ["A was paused for 0 ns, B for 1.00 s: name times without pauses"]);
    // Both were recorded for four seconds, of which the one has its last ones behind the other's end.
    let ended = Facts { is_to_end: true, recorded_ns: 4_000_000_000, ..of(0) };
    let told = found(of(1_000_000_000), ended);
    assert!(told.len() == 2 && told[0].contains(" one recording has 4.00 s, another one 5.00 s: "), "{told:?}");
    assert_eq!(told[1], words);
    // `--before-time 1s..3s --after-time 2s..`: equally long, and one of them is to the end.
    assert_eq!(found(of(1_000_000_000), Facts { is_to_end: true, ..of(0) }), [words]);
    // To the end of its work, whatever it took out of it.
    let whole = |paused_ns| Facts { has_window: false, is_to_end: true, ..of(paused_ns) };
    assert_eq!(found(whole(0), whole(1_000_000_000)), [] as [String; 0]);
}

#[test]
fn a_recording_that_ends_within_a_time_has_a_part_of_it() {
    let time = |start_ns, end_ns| Window { start_ns, end_ns };
    assert!(has_all_of(100, time(0, Some(100))) && has_all_of(99, time(0, Some(100))));
    assert!(!has_all_of(98, time(0, Some(100))) && !has_all_of(100, time(50, Some(150))));
    assert!(!has_all_of(100, time(0, None)), "to its end");
}

#[test]
fn an_end_is_the_programs_or_its_recordings() {
    let end = |ended: Option<&str>, recorder: Option<(Option<i32>, Option<i32>)>| {
        let mut profile = Profile::default();
        profile.processes.push(Process { ended: ended.map(str::to_owned), ..Process::default() });
        profile.recorder =
            recorder.map(|(exit_code, exit_signal)| Recorder { argv: Vec::new(), exit_code, exit_signal, wall_ns: 1 });
        end_of(&profile)
    };
    let exited = Some((Some(3), None));
    assert_eq!(end(Some("exit"), exited), Some(End::ExitCode(3)));
    assert_eq!(end(None, Some((None, Some(9)))), Some(End::Signal(9)), "killed: no block tells its end");
    assert_eq!(end(Some("duration"), exited), Some(End::Recorded));
    assert_eq!(end(Some("detached"), Some((Some(0), None))), Some(End::Recorded), "genba attach");
    assert_eq!(end(Some("detached"), Some((None, None))), Some(End::Recorded), "genba attach, which knows no code");
    for ended in [Some("stop"), Some("exit"), Some("last thread"), None] {
        assert_eq!(end(ended, Some((None, None))), Some(End::Attached), "genba attach, until it ended: {ended:?}");
    }
    assert_eq!(end(Some("stop"), None), Some(End::Part), "genba.record()");
    assert_eq!(end(Some("stop"), exited), Some(End::Part), "below genba run");
    assert_eq!(end(Some("stopped"), exited), Some(End::Cut));
    // What an attached program waits, it does later in its recording.
    assert!(End::Attached.is_open() && !End::Attached.is_early() && End::Recorded.is_early());
    assert_eq!(end(None, None), Some(End::Cut));
}

#[test]
fn a_part_that_became_faster_is_no_shorter_recording() {
    let part = |recorded_ns| Facts { end: Some(End::Part), recorded_ns, ..facts() };
    let found = obstacles(&[part(10_000_000_000)], &[part(5_000_000_000)], Weight::Cpu);
    assert_eq!(found, [] as [String; 0]);
}

/// One of them was attached to later: it lacks what the program did before.
#[test]
fn programs_that_were_attached_to_have_to_be_recorded_for_as_long() {
    let attached = |recorded_ns| Facts { end: Some(End::Attached), recorded_ns, ..facts() };
    let of = |a, b| obstacles(&[attached(a)], &[attached(b)], Weight::Cpu);
    assert_eq!(of(4_000_000_000, 4_150_000_000), [] as [String; 0]);
    assert!(longer_part(&[attached(4_000_000_000)], &[attached(4_150_000_000)]) > 0.0);
    assert_eq!(
        allowed_for(&[attached(4_000_000_000)], &[attached(4_150_000_000)], Weight::Cpu),
        [
            "A was recorded for 4.00 s, B for 4.15 s, up to the ends of programs that had begun before: each interval is wider for that"
        ]
    );
    assert_eq!(
        of(4_000_000_000, 1_000_000_000),
        [
            "A was recorded for 4.00 s, B for 1.00 s, up to the ends of programs that had begun before: record both with genba run"
        ]
    );
    // A whole run beside such a one.
    let words = "A ended with exit code 0, B ended while genba was attached to it: they did not do the same work";
    assert_eq!(obstacles(&[facts()], &[attached(4_000_000_000)], Weight::Cpu), [words]);
}

#[test]
fn children_are_in_the_recordings_of_both_sides_or_of_neither() {
    let of = |are_left_out, sampled| Facts { children: Children { are_left_out, sampled }, ..facts() };
    let found = |before: &[Facts], after: &[Facts]| obstacles(before, after, Weight::Cpu);
    // Without --no-children, more processes may be the change itself.
    assert_eq!(found(&[of(false, 1)], &[of(false, 3)]), [] as [String; 0]);
    assert_eq!(found(&[of(true, 1)], &[of(true, 1)]), [] as [String; 0]);
    assert_eq!(found(&[of(true, 1)], &[of(false, 1)]), [] as [String; 0], "it has no children");
    let advice = "record all in one way";
    assert_eq!(
        found(&[of(true, 1)], &[of(false, 3)]),
        [format!("A was made with --no-children, B has samples of 3 processes: {advice}")]
    );
    assert_eq!(
        found(&[of(false, 2), of(false, 3)], &[of(true, 1)]),
        [format!("B was made with --no-children, A has samples of 3 processes: {advice}")]
    );
    let mixed = [of(false, 2), of(true, 1)];
    let words = "some recordings were made with --no-children, another one has samples of 2 processes";
    assert_eq!(found(&mixed, &mixed), [format!("{words}: {advice}")]);
}

#[test]
fn one_thread_more_is_nothing_to_tell() {
    let with = |threads| Facts { threads, ..facts() };
    assert_eq!(unlike(&[with(8)], &[with(12)]), [] as [String; 0]);
    assert_eq!(unlike(&[with(8)], &[with(13)]), ["8 threads against 13 threads"]);
}

#[test]
fn what_is_unlike_is_told_side_by_side() {
    let other = Facts { pythons: BTreeSet::from(["3.14.5".to_owned()]), processes: 4, ..facts() };
    assert_eq!(unlike(&[facts()], &[other]), ["CPython 3.13.0 against 3.14.5", "1 process against 4 processes"]);
}
