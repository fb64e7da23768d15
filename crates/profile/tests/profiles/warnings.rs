//! What a reader is told before believing a share. Over 500 lines: which warnings meet in one recording is seen here.

use crate::notation;
use expect_test::{Expect, expect};
use genba_format::{BlockHeader, Fault, FaultKind, ReadBlock, proto};
use genba_profile::build::{Additions, profile};
use genba_profile::not_followed::{FILTERED, NOT_LOADED, RIGHTS};
use genba_profile::profile::{Mark, MarkKind, NotFollowed, ProcessIndex, Profile, Recorder};
use genba_profile::summary::law_line;
use genba_profile::table::TableIndex;
use genba_profile::warnings::{beside_too_short, each, warnings};
use genba_profile::weight::Weight;

fn check(recording: &str, expected: Expect) {
    let profile = profile(&notation::recording(recording), &Additions::default());
    let lines: Vec<String> = warnings(&profile, Weight::Cpu).iter().map(|warning| format!("{warning}\n")).collect();
    expected.assert_eq(&lines.concat());
}

#[test]
fn enough_samples_and_nothing_lost_is_no_warning() {
    check("process 7 3.13.0\n f@a.py:1 x200", expect![[""]]);
}

#[test]
fn few_samples_have_a_margin() {
    check(
        "process 7 3.13.0\n f@a.py:1 x37",
        expect![[r#"
            37 samples, shares are ± 16 points; try --rate 10000 or a longer run
        "#]],
    );
}

/// They rest on other counts than the samples of a CPU.
#[test]
fn shares_of_bytes_have_no_margin_of_the_samples() {
    let profile = profile(&notation::recording("process 7 3.13.0\n f@a.py:1 x37"), &Additions::default());
    let none: [String; 0] = [];
    assert_eq!(warnings(&profile, Weight::Copied), none);
    assert_eq!(warnings(&profile, Weight::Allocated), none);
}

/// Each of them is in the verdict or in the accounting already; what neither says stays.
#[test]
fn a_run_too_short_to_judge_has_no_warning_that_a_longer_run_mends() {
    let told = |recording: &str| {
        let profile = profile(&notation::recording(recording), &Additions::default());
        (each(&profile, Weight::Cpu).len(), beside_too_short(&profile, Weight::Cpu))
    };
    let short = "process 7 3.13.0 cpu_before_ms=20\n f@a.py:1 x12\n dropped late 2\n unsampled 3ms";
    assert_eq!(told(short), (3, Vec::new()));
    let note = "process 7 (CPython 3.13.0): f; genba doctor says what hinders genba here".to_owned();
    assert_eq!(told(&format!("{short}\n note f")), (4, vec![note]));
    let (_, masked) = told("process 7 3.13.0\n f@a.py:1 x12\n refused masked 8");
    assert!(masked.len() == 1 && masked[0].starts_with("40.0 % of the ticks gave no sample"), "{masked:?}");
}

#[test]
fn no_samples_have_a_reason() {
    check(
        "process 7 3.13.0\n rss 0ms 5",
        expect![[r#"
            no samples: the program ended after 0 ns, before the first tick; try --rate 10000
        "#]],
    );
    check(
        "process 7 3.13.0\n refused moved 12",
        expect![[r#"
            no samples: none of 12 ticks gave a stack; genba trace counts calls
            100.0 % of the ticks gave no sample, most of them for the reason `moved` (100.0 %): the stack changed while genba read it; a thread's next sample counts the CPU time that passed; shares of short calls may be too small; genba trace counts calls
        "#]],
    );
    check(
        "process 7 3.13.0\n f@a.py:1 x3 poll",
        expect![[r#"
            no samples: no thread was seen running; --weight wall shows what was waited for
        "#]],
    );
    check(
        "process 7 2.7.18 refused=no+offset+table+for+this+CPython",
        expect![[r#"
            process 7 was not recorded: no offset table for this CPython; use another interpreter there: genba doctor --python PATH checks it
            no samples: genba recorded none of the processes; use another interpreter there: genba doctor --python PATH checks it
        "#]],
    );
}

#[test]
fn a_long_run_without_a_tick_is_not_the_programs_doing() {
    let mut profile = profile(&notation::recording("process 7 3.13.0\n rss 0ms 5"), &Additions::default());
    profile.processes.iter_mut().for_each(|process| process.wall_ns = 3_060_000_000);
    expect![
        "no samples: no thread was sampled in 3.06 s: genba's own thread got no CPU, or the kernel showed none of the program's threads; genba doctor says what hinders genba here"
    ]
    .assert_eq(&warnings(&profile, Weight::Cpu).join("\n"));
}

#[test]
fn losses_and_coverage() {
    check(
        "process 7 3.13.0 cpu_before_ms=1\n f@a.py:1 x1000\n dropped late 75\n unsampled 40ms",
        expect![[r#"
            7.0 % of the ticks gave no sample, most of them for the reason `late` (7.0 %): genba's thread got no CPU in time; a thread's next sample counts the CPU time that passed; fewer are lost on a quieter machine or at a lower --rate
            samples cover 97.5 % of the program's CPU; 41.0 ms are in no sample (1.00 ms of it before genba was loaded); try a longer run, which has less of it
        "#]],
    );
    check("process 7 3.13.0\n f@a.py:1 x1000\n dropped late 52\n unsampled 16ms", expect![[""]]);
    check("process 7 3.13.0 cpu_before_ms=100\n f@a.py:1 x1000\n unsampled 16ms", expect![[""]]);
    check(
        "process 7 3.13.0\n thread 8 one\n thread 9 two\n ended 8 30ms 30ms\n ended 9 20ms 1ms\n f@a.py:1 x1000\n unsampled 40ms",
        expect![[r#"
            samples cover 97.5 % of the program's CPU; 40.0 ms are in no sample, most of it of 1 thread that ended before a first sample on a CPU; --rate 10000 meets more of them
        "#]],
    );
}

/// They walk the heap: nobody can let them be sampled. The first one was met before it had its name.
#[test]
fn threads_of_genba_s_own_are_no_part_of_the_program() {
    let recording = "process 7 3.13.0\n thread 7 main\n f@a.py:1 x1000\n thread 8 genba\n thread 9 genba-heap\n masked 8 300ms 300ms\n \
                     masked 9 200ms 200ms\n unsampled 501ms";
    check(recording, expect![[""]]);
    let clocks = profile(&notation::recording(recording), &Additions::default()).clocks();
    assert_eq!((clocks.cpu_genba_ns, clocks.cpu_not_sampled_ns), (500_000_000, 1_000_000));
    assert_eq!(clocks.cpu_ns, clocks.cpu_sampled_ns + clocks.cpu_not_sampled_ns + clocks.cpu_genba_ns);
    // A thread of that name that was sampled is the program's.
    check(
        "process 7 3.13.0\n thread 7 main\n f@a.py:1 x1000\n thread 8 genba\n masked 8 300ms 250ms\n unsampled 250ms",
        expect![[r#"
            samples cover 86.4 % of the program's CPU; 250 ms are in no sample; unblock SIGURG where threads block it
            thread 8 (genba) blocks signals, SIGURG among them: 250 ms of its CPU have no stacks; unblock SIGURG there (signal.pthread_sigmask)
        "#]],
    );
}

/// What it used is in other samples, or the warning about CPU time says so.
#[test]
fn a_thread_that_ended_is_nobodys_loss() {
    check("process 7 3.13.0\n f@a.py:1 x1000\n refused thread·ended 900", expect![[""]]);
}

/// Nobody can act on it: a line of the accounting has it.
#[test]
fn a_stop_is_nobodys_loss() {
    let law = |recording: &str| law_line(&profile(&notation::recording(recording), &Additions::default()));
    let stopped = "process 7 3.13.0\n f@a.py:1 x1000\n dropped stopped 3000\n halt 3100ms 3000ms";
    check(stopped, expect![[""]]);
    expect!["ticks 4,000 = sampled 1,000 + dropped 3,000 (stopped 3,000) + refused 0 · CPU covered 100.0 % · the process was stopped for 3.00 s (Ctrl-Z, a debugger, a frozen container)"]
        .assert_eq(&law(stopped));
    let two = format!("{stopped}\nprocess 8 3.13.0\n f@a.py:1 x1000\n halt 3100ms 500ms\n halt 4100ms 500ms");
    assert!(law(&two).contains(" · 2 processes were stopped for 3.00 s at most (Ctrl-Z, "), "{}", law(&two));
}

/// A count of samples has too much of what ran at the shorter interval; CPU has as much of all.
#[test]
fn samples_that_are_not_equally_long_are_told_where_they_are_counted() {
    let told = |weight, interval_ns| {
        let mut profile = profile(&notation::recording("process 7 3.13.0\n f@a.py:1 x1000"), &Additions::default());
        let process = ProcessIndex::new(0);
        profile.marks = vec![Mark { process, at_ns: 1, kind: MarkKind::Rate, text: None, value: Some(interval_ns) }];
        warnings(&profile, weight).concat()
    };
    assert_eq!(
        told(Weight::Samples, 3_200_000),
        "samples are not equally long: the interval between ticks went from 1.6 ms to 3.2 ms; --weight cpu compares time"
    );
    assert_eq!((told(Weight::Samples, 3_199_999), told(Weight::Cpu, 3_200_000)), (String::new(), String::new()));
}

#[test]
fn a_program_that_a_signal_ended_names_it() {
    let killed = |pid| format!("process {pid} 3.13.0\n no end\n f@a.py:1 x1000\n");
    let said = |recording: &str, exit_signal| {
        let mut profile = profile(&notation::recording(recording), &Additions::default());
        profile.recorder = Some(Recorder { argv: Vec::new(), exit_code: None, exit_signal, wall_ns: 1 });
        warnings(&profile, Weight::Cpu).concat()
    };
    let begin = "process 7 (CPython 3.13.0) has no end in this recording: ";
    let one = said(&killed(7), Some(12));
    assert!(one.starts_with(&format!("{begin}the program was ended by signal 12; the last")), "{one}");
    let mut code = profile(&notation::recording(&killed(7)), &Additions::default());
    code.recorder = Some(Recorder { argv: Vec::new(), exit_code: Some(0), exit_signal: None, wall_ns: 1 });
    let code = warnings(&code, Weight::Cpu).concat();
    assert!(code.starts_with(&format!("{begin}killed, still running, or its end could not be written")), "{code}");
    let open = said(&killed(7), None);
    assert!(open.starts_with(&format!("{begin}killed, or still running;")), "{open}");
    // Which of them it ended nothing tells.
    let two = said(&[7, 8].map(killed).concat(), Some(12));
    assert!(two.contains("killed, or still running;"), "{two}");
}

#[test]
fn children_whose_end_nobody_was_told_may_have_ended_by_themselves() {
    let recording =
        notation::recording("process 7 3.13.0\n f@a.py:1 x1000\nprocess 8 3.13.0 parent=7\n no end\n f@a.py:1 x1000\n");
    let mut profile = profile(&recording, &Additions::default());
    let begin = "process 8 (CPython 3.13.0) has no end in this recording: ";
    let said = warnings(&profile, Weight::Cpu).concat();
    assert!(said.starts_with(&format!("{begin}killed, ended by os._exit,")), "{said}");
    profile.recorder = Some(Recorder { argv: Vec::new(), exit_code: None, exit_signal: None, wall_ns: 1 });
    let said = warnings(&profile, Weight::Cpu).concat();
    assert!(said.starts_with(&format!("{begin}killed, or still running;")), "{said}");
}

#[test]
fn damage_and_missing_ends() {
    let killed = |pid| format!("process {pid} 3.13.0\n no end\n f@a.py:1 x1000\n");
    check(
        &killed(7),
        expect![[r#"
        process 7 (CPython 3.13.0) has no end in this recording: killed, or still running; the last quarter of a second may be missing; let it end by itself to have that
    "#]],
    );
    check(
        &[7, 8, 9].map(killed).concat(),
        expect![[r#"
        process 7 (CPython 3.13.0), process 8 (CPython 3.13.0), process 9 (CPython 3.13.0) have no end in this recording: killed, or still running; the last quarter of a second may be missing; let them end by themselves to have that
    "#]],
    );
    check(
        &[7, 8, 9, 10, 11].map(killed).concat(),
        expect![[r#"
        process 7 (CPython 3.13.0), process 8 (CPython 3.13.0), process 9 (CPython 3.13.0) and 2 more have no end in this recording: killed, or still running; the last quarter of a second may be missing; let them end by themselves to have that
    "#]],
    );
    check(
        "process 7 3.13.0\n lost block\n f@a.py:1 x1000",
        expect![[r#"
        incomplete at byte 232 (block 1, field `sequence`): expected 1, found 2 (1 lost); copy the file again, or record again
        process 7 (CPython 3.13.0): 1 block lost, the samples in them are missing here; copy the file again, or record again
    "#]],
    );
    check(
        "process 7 3.13.0\n note words of a newer genba\n f@a.py:1 x1000",
        expect![[r#"
        process 7 (CPython 3.13.0): words of a newer genba; genba doctor says what hinders genba here
    "#]],
    );
}

#[test]
fn a_recording_that_stops_before_the_run_ended() {
    let with_faults = |recording: &str, run_ended_ns: u64, faults: Vec<Fault>| {
        let mut recording = notation::recording(recording);
        recording.faults = faults;
        let last = recording.blocks.last().unwrap().header;
        recording.blocks.push(ReadBlock {
            header: BlockHeader { process_key: [9; 16], start_ns: run_ended_ns, end_ns: run_ended_ns, ..last },
            block: proto::Block { recorder: Some(proto::Recorder::default()), ..proto::Block::default() },
            samples: None,
            offset: 0,
            stored_bytes: 0,
        });
        let profile = profile(&recording, &Additions::default());
        warnings(&profile, Weight::Cpu).join("\n") + "\n"
    };
    let of_run = |recording: &str, run_ended_ns: u64| with_faults(recording, run_ended_ns, vec![]);
    let killed = "process 7 3.13.0\n no end\n f@a.py:1 x1000\n";
    let last_ns = profile(&notation::recording(killed), &Additions::default()).span_ns;
    let begin_ns = notation::BEGIN_NS;
    expect![[r#"
        process 7 (CPython 3.13.0) has no end in this recording: killed, still running, or its end could not be written (df, ulimit -a); the last quarter of a second may be missing; let it end by itself to have that
    "#]]
    .assert_eq(&of_run(killed, begin_ns + last_ns + 500_000_000));
    expect![[r#"
        the recording stops without an end in process 7 (CPython 3.13.0) after 1.60 s, 3.20 s before the run ended: killed then, or ended by os._exit after genba attach, or nothing more could be written (a full disk, a file-size limit), or no memory was left; what came later is missing; compare df and ulimit -a, and record again
    "#]]
    .assert_eq(&of_run(killed, begin_ns + last_ns + 3_200_000_000));
    // A full disk cuts a block as well: of that file the end of the process is told where it is known, and only there.
    let cut = || {
        let (expected, found) = ("9 bytes".to_owned(), "8".to_owned());
        vec![Fault {
            kind: FaultKind::Cut,
            byte: 406,
            block: 2,
            owner: None,
            field: "payload".to_owned(),
            expected,
            found,
        }]
    };
    let words =
        "the recording stops without an end in process 7 (CPython 3.13.0) after 1.60 s, 3.20 s before the run ended";
    let said = with_faults(killed, begin_ns + last_ns + 3_200_000_000, cut());
    assert!(said.contains(words) && said.contains("cut at byte 406"), "{said}");
    let said = with_faults(killed, begin_ns + last_ns + 500_000_000, cut());
    assert!(!said.contains("no end in this recording") && said.contains("cut at byte 406"), "{said}");
}

#[test]
fn a_cut_file_shows_what_is_intact() {
    let bytes = notation::bytes("process 7 3.13.0\n f@a.py:1 x1000");
    let recording = genba_format::read(&bytes[..bytes.len() - 1]).unwrap();
    let profile = profile(&recording, &Additions::default());
    assert_eq!(profile.samples.iter().map(|group| group.samples).sum::<u64>(), 1000);
    expect![[r#"
        cut at byte 406 (block 2, field `payload`): expected 9 bytes, found 8; copy the file again, or record again
    "#]]
    .assert_eq(&format!("{}\n", warnings(&profile, Weight::Cpu).join("\n")));
}

#[test]
fn what_passed_before_the_program_began_it_is_no_part_of_a_recording() {
    check(
        "process 7 3.13.0 cpu_before_ms=900
         f@a.py:1 x200",
        expect![[r#"
            samples cover 26.2 % of the program's CPU; 900 ms are in no sample (900 ms of it before genba was loaded); try a longer run, which has less of it
        "#]],
    );
    check("process 7 3.13.0 cpu_before_ms=900 within=1\n f@a.py:1 x200", expect![[""]]);
}

#[test]
fn a_pause_is_told_where_cpu_passed_unseen() {
    check(
        "process 7 3.13.0 within=1
         f@a.py:1 x200
         unsampled 300ms
         pause 10ms
         pause 20ms
         resume 110ms
         pause 200ms",
        expect![[r#"
            samples cover 51.6 % of the program's CPU; 300 ms are in no sample; the program paused the sampling for 220 ms; pause for less time (genba.pause)
        "#]],
    );
}

#[test]
fn threads_that_block_signals_are_named_with_their_cpu() {
    check(
        "process 7 3.13.0\n thread 7 main\n f@a.py:1 x400\n thread 8 zmq\n masked 8 300ms 250ms\n unsampled 250ms",
        expect![[r#"
            samples cover 71.9 % of the program's CPU; 250 ms are in no sample; unblock SIGURG where threads block it
            thread 8 (zmq) blocks signals, SIGURG among them: 250 ms of its CPU have no stacks; unblock SIGURG there (signal.pthread_sigmask)
        "#]],
    );
    check(
        "process 7 3.13.0\n thread 7 main\n f@a.py:1 x400\n thread 8 zmq\n thread 9 kafka\n thread 10 short\n \
         masked 8 300ms 250ms\n masked 9 900ms 800ms\n masked 10 10ms 0ms\n unsampled 1050ms",
        expect![[r#"
            samples cover 37.8 % of the program's CPU; 1.05 s are in no sample; unblock SIGURG where threads block it
            thread 9 (kafka) (800 ms), thread 8 (zmq) (250 ms) block signals, SIGURG among them: 1.05 s of their CPU have no stacks; unblock SIGURG there (signal.pthread_sigmask)
        "#]],
    );
}

/// It was met at each tick, and did not answer: more ticks meet it no better.
#[test]
fn a_thread_that_blocked_signals_until_its_end_was_met() {
    check(
        "process 7 3.13.0\n thread 7 main\n f@a.py:1 x400\n thread 8 zmq\n masked 8 300ms 300ms\n ended 8 300ms 300ms\n unsampled 300ms",
        expect![[r#"
            samples cover 68.0 % of the program's CPU; 300 ms are in no sample; unblock SIGURG where threads block it
            thread 8 (zmq) blocks signals, SIGURG among them: 300 ms of its CPU have no stacks; unblock SIGURG there (signal.pthread_sigmask)
        "#]],
    );
}

#[test]
fn what_a_killed_process_used_after_its_last_block_is_not_recorded() {
    check(
        "process 7 3.13.0\n f@a.py:1 x200\n reaped 8 300ms 260ms\n process 8 3.13.0 parent=7\n g@a.py:2 x100\n no end",
        expect![[r#"
            process 8 (CPython 3.13.0) has no end in this recording: killed, ended by os._exit, or still running; the last quarter of a second may be missing; let it end by itself to have that
            samples cover 82.7 % of the program's CPU; 0 ns are in no sample; 100 ms of 1 process without an end came after the last block and was not recorded; let processes end by themselves
        "#]],
    );
}

#[test]
fn the_command_tells_of_the_first_process_of_its_run() {
    let not_recorded = |first_pid: u32| {
        let text =
            format!("process {first_pid} 3.13.0\n f@a.py:1 x200\n process 8 3.13.0 parent={first_pid}\n g@a.py:2 x100");
        let mut recording = notation::recording(&text);
        let mut header = recording.blocks[0].header;
        (header.process_key, header.start_ns) = ([99; 16], header.end_ns);
        let reaped = proto::Reaped { pid: 7, at_ns: header.end_ns, cpu_ns: 420_000_000 };
        let block = proto::Block { reaped: vec![reaped], ..Default::default() };
        recording.blocks.push(ReadBlock { header, block, samples: None, offset: 0, stored_bytes: 0 });
        let profile = profile(&recording, &Additions::default());
        profile.processes.iter().map(|process| process.clocks.cpu_not_recorded_ns).collect::<Vec<_>>()
    };
    assert_eq!(not_recorded(7), [100_000_000, 0]);
    assert_eq!(not_recorded(6), [0, 0]);
}

#[test]
fn what_others_used_is_not_missing_in_a_process() {
    // Its own children, told by itself; a program that it became; another parent's child; one whose pid it has only later. The kernel tells a
    // tracer of the ends of threads, and of processes that are nobody's child of its: the number of the one is no process's, and the others have
    // another parent.
    let parent = "process 7 3.13.0\n f@a.py:1 x200\n";
    let no_end = "process 8 (CPython 3.13.0) has no end in this recording: killed, ended by os._exit, or still running; the last quarter of a second may be missing; let it end by itself to have that\n";
    let quiet = |recording: String, expected: &str| {
        let profile = profile(&notation::recording(&recording), &Additions::default());
        let lines: Vec<String> = warnings(&profile, Weight::Cpu).iter().map(|warning| format!("{warning}\n")).collect();
        assert_eq!(lines.concat(), expected, "{recording}");
    };
    let child = "process 8 3.13.0 parent=7\n g@a.py:2 x100\n no end\n";
    quiet(format!("{parent} reaped 8 300ms 260ms\n {child} children 100ms"), no_end);
    quiet(format!("{parent} reaped 8 300ms 260ms\n {child} exec 150ms"), "");
    quiet(format!("{parent} reaped 9 300ms 260ms\n {child}"), no_end);
    quiet(format!("{parent} reaped 9 200ms 150ms\n reaped 8 300ms 260ms\n {child} children 100ms"), no_end);
    quiet(format!("process 6 3.13.0\n reaped 8 300ms 260ms\n {parent} {child}"), no_end);
}

/// With which a remedy begins: what to do, a command, or an option.
const REMEDIES_BEGIN_WITH: [&str; 24] = [
    "--rate ",
    "--weight ",
    "a longer --duration ",
    "allow ",
    "begin ",
    "compare ",
    "copy ",
    "fewer are lost ",
    "fork less ",
    "genba ",
    "hand ",
    "install ",
    "leave ",
    "let ",
    "make ",
    "mount ",
    "pause for less ",
    "raise ",
    "record ",
    "start ",
    "try ",
    "unblock ",
    "unset ",
    "use ",
];

/// `words`: of the warning that the test is about. Others may be beside it.
fn check_remedy(profile: &Profile, words: &str) {
    let found = each(profile, Weight::Cpu);
    assert!(found.iter().any(|warning| warning.what().contains(words)), "{words}: {found:?}");
    for warning in found {
        let begins = REMEDIES_BEGIN_WITH.iter().any(|beginning| warning.remedy().starts_with(beginning));
        assert!(begins, "nobody can act on this: {warning}");
    }
}

fn check_remedy_of(recording: &str, words: &str) {
    check_remedy(&profile(&notation::recording(recording), &Additions::default()), words);
}

#[test]
fn each_warning_has_a_remedy() {
    const FULL: &str = "f@a.py:1 x1000";
    const PARENT: &str = "process 7 3.13.0\n f@a.py:1 x200\n reaped 8 300ms 260ms";
    let one = |rest: &str, words: &str| check_remedy_of(&format!("process 7 3.13.0\n {rest}"), words);
    one("f@a.py:1 x37", "37 samples");
    one("rss 0ms 5", "before the first tick");
    one("refused moved 12", "none of 12 ticks");
    one("f@a.py:1 x3 poll", "no thread was seen running");
    one(&format!("no end\n {FULL}"), "has no end");
    one(&format!("lost block\n {FULL}"), "1 block lost");
    one(&format!("lost block\n {FULL}"), "incomplete at byte");
    one(&format!("{FULL}\n unsampled 40ms"), "samples cover");
    let ended = "thread 8 one\n thread 9 two\n ended 8 30ms 30ms\n ended 9 20ms 1ms";
    one(&format!("{ended}\n {FULL}\n unsampled 40ms"), "before a first sample");
    one(&format!("{FULL}\n unsampled 300ms\n pause 10ms\n resume 110ms"), "paused the sampling");
    let masked = "thread 8 zmq\n masked 8 300ms 250ms\n unsampled 250ms";
    one(&format!("thread 7 main\n {FULL}\n {masked}"), "blocks signals");
    check_remedy_of(&format!("{PARENT}\n process 8 3.13.0 parent=7\n g@a.py:2 x100\n no end"), "without an end");
    check_remedy_of("process 7 2.7.18 refused=no+offset+table", "was not recorded: no offset table");
}

#[test]
fn each_reason_for_a_lost_tick_has_a_remedy() {
    const DROPPED: [&str; 4] = ["late", "no·buffer", "fork", "aside"];
    const REFUSED: [&str; 9] = [
        "moved",
        "masked",
        "fell·asleep",
        "unanswered",
        "signal·taken",
        "no·signal·stack",
        "ambiguous",
        "unreadable",
        "exited",
    ];
    let of = |how: &str, reason: &str| {
        let words = format!("for the reason `{}`", reason.replace('·', " "));
        check_remedy_of(&format!("process 7 3.13.0\n f@a.py:1 x1000\n {how} {reason} 100"), &words);
    };
    for reason in DROPPED {
        of("dropped", reason);
    }
    for reason in REFUSED {
        of("refused", reason);
    }
}

/// What the part of genba in a program says in words of its own, and what was seen from outside.
#[test]
fn words_from_elsewhere_have_a_remedy() {
    let full = || profile(&notation::recording("process 7 3.13.0\n f@a.py:1 x1000"), &Additions::default());
    for text in [
        "the kernel does not tell CPU time any more (a seccomp filter): later CPU times are those of the samples",
        "this interpreter's structures are not where its version says: Python frames are left out",
        "garbage collections are not recorded: it does not export what that takes",
        "--copies: the C library's memmove was not found, so copied bytes are not recorded",
        "words of a newer genba",
    ] {
        check_remedy(&with_mark(MarkKind::Note, text), text);
    }
    for text in ["--duration is over", "no memory was left", "words of a newer genba"] {
        check_remedy(&with_mark(MarkKind::Stopped, text), text);
    }
    for reason in [FILTERED, RIGHTS, NOT_LOADED] {
        let mut beside = full();
        beside.not_followed.push(NotFollowed {
            name: "/usr/bin/python3".to_owned(),
            reason: reason.to_owned(),
            count: 1,
            is_python: true,
            wall_ns: 2_000_000_000,
            cpu_ns: 1_000_000_000,
            command: "python3 burns.py".to_owned(),
        });
        check_remedy(&beside, "was not followed");
    }
    let mut damaged = full();
    damaged.faults = vec!["newer than this genba at byte 0".to_owned(), "damaged at byte 7".to_owned()];
    check_remedy(&damaged, "damaged at byte 7");
}

fn with_mark(kind: MarkKind, text: &str) -> Profile {
    let mut marked = profile(&notation::recording("process 7 3.13.0\n f@a.py:1 x1000"), &Additions::default());
    let process = ProcessIndex::new(0);
    marked.marks.push(Mark { process, at_ns: 1, kind, text: Some(text.to_owned()), value: None });
    marked
}

/// Of the warning with these words.
fn remedy(profile: &Profile, words: &str) -> String {
    let found = each(profile, Weight::Cpu);
    let warning = found.iter().find(|warning| warning.what().contains(words));
    warning.unwrap_or_else(|| panic!("{words}: {found:?}")).remedy().to_owned()
}

/// What the agent says when it gives something up, by its cause and not by what it gave up.
#[test]
fn a_remedy_is_against_the_cause() {
    const DOCTOR: &str = "use another interpreter there: genba doctor --python PATH checks it";
    let of_gc = [
        ("it does not export what that takes", DOCTOR),
        ("the collector's structures are not where its version says", DOCTOR),
        ("gc.callbacks is not the list that the collector calls", "leave gc.callbacks in its place"),
        ("the interpreter had no memory for that", "raise the limit (ulimit -v)"),
        ("the threshold was not set", "leave the module gc as it is"),
        ("genba failed there", "record again; if it happens again, report it with the recording"),
        ("the main thread did not come back to the interpreter's loop", "record again, for longer"),
    ];
    for (why, expected) in of_gc {
        let text = format!("garbage collections are not recorded: {why}");
        assert_eq!(remedy(&with_mark(MarkKind::Note, &text), &text), expected, "{why}");
    }
    let exit = "the heap at exit is not walked: the module atexit takes no function of genba's";
    assert_eq!(remedy(&with_mark(MarkKind::Note, exit), exit), "leave the module atexit as it is");
    let allocators = "--alloc: the interpreter's allocators are not its usual ones, so small objects are not counted; what comes to malloc is";
    let expected = "record again without -X dev (PYTHONDEVMODE), tracemalloc and PYTHONMALLOC";
    assert_eq!(remedy(&with_mark(MarkKind::Note, allocators), allocators), expected);
    let no_memory = "no memory was left (a limit such as RLIMIT_AS)";
    assert_eq!(remedy(&with_mark(MarkKind::Stopped, no_memory), no_memory), "raise the limit (ulimit -v)");
}

/// The end of `with Pool() as p` does not wait for them.
#[test]
fn workers_that_a_pool_ended_are_one_warning_with_what_lets_them_end() {
    let worker = |pid: u32| {
        let argv = "python+-c+from+multiprocessing.spawn+import+spawn_main+--multiprocessing-fork";
        format!("process {pid} 3.13.0 parent=7 argv={argv}\n no end\n f@a.py:1 x1000\n")
    };
    let workers = worker(8) + &worker(9);
    check(
        &format!("process 7 3.13.0 argv=python+app.py\n f@a.py:1 x1000\n{workers}"),
        expect![[r#"
        process 8 (CPython 3.13.0), process 9 (CPython 3.13.0) have no end in this recording: workers of multiprocessing that the program ended, or killed; the last quarter of a second may be missing; p.close() and p.join() before the end of `with` let a pool's workers end by themselves
    "#]],
    );
    // Nothing tells that the program ended them.
    let alone = profile(&notation::recording(&worker(8)), &Additions::default());
    assert!(warnings(&alone, Weight::Cpu).join("\n").contains("killed, or still running"));
}

#[test]
fn a_longer_run_is_the_remedy_only_where_it_helps() {
    let of =
        |recording: &str, words: &str| remedy(&profile(&notation::recording(recording), &Additions::default()), words);
    let one = |rest: &str| of(&format!("process 7 3.13.0\n f@a.py:1 x1000\n {rest}"), "samples cover");
    assert_eq!(one("unsampled 40ms"), "try a longer run, which has less of it");
    assert_eq!(one("unsampled 900ms"), "genba doctor says what hinders genba here");
    let taken = "leave SIGURG to genba: take the program's handler for it out";
    assert_eq!(one("refused signal·taken 100\n unsampled 40ms"), taken);
    let processes = |samples: u32, unsampled: &str| -> String {
        let one = |pid: u32| format!("process {pid} 3.13.0\n f@a.py:1 x{samples}\n unsampled {unsampled}\n");
        (7..16).map(one).collect()
    };
    assert_eq!(of(&processes(200, "8ms"), "samples cover"), "make fewer processes that live longer, such as a pool");
    assert_eq!(of(&processes(1000, "40ms"), "samples cover"), "try a longer run, which has less of it", "a pool's");
    assert_eq!(of("process 7 3.13.0\n refused signal·taken 12", "none of 12 ticks"), taken);
    let no_proc = "process 7 3.13.0 refused=there+is+no+/proc+here";
    assert_eq!(of(no_proc, "recorded none of the processes"), "mount /proc there");
}
