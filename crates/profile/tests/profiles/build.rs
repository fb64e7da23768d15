//! From recordings to tables: what is merged, what is never merged, and what a damaged file leaves.

use crate::notation;
use expect_test::{Expect, expect};
use genba_format::{LostBlocks, ReadBlock, Recording, proto};
use genba_profile::build::{Additions, profile};
use genba_profile::export::collapsed::{Options, collapsed};
use genba_profile::hits::hits;
use genba_profile::integrity;
use genba_profile::profile::{ProcessIndex, Profile, Recorder};
use genba_profile::summary::law_line;
use genba_profile::table::TableIndex;
use genba_profile::verdict::verdict;
use genba_profile::warnings::warnings;
use genba_profile::weight::{Weight, choose};

fn built(recording: &Recording) -> Profile {
    profile(recording, &Additions::default())
}

fn check_stacks(recording: &Recording, expected: Expect) {
    let options = Options { weight: Weight::Samples, threads: false };
    expected.assert_eq(&collapsed(&built(recording), options).to_string());
}

#[test]
fn an_inferred_frame_that_repeats_its_neighbour_is_one() {
    let recording = notation::recording(
        "
        process 7 3.13.0 cwd=/app
        f@a.py:1 > ?sort[python3.13] > sort[python3.13] > cmp[python3.13] x1
        f@a.py:2 > sort[python3.13] > ?sort[python3.13] > cmp[python3.13] x1
        f@a.py:3 > ?sort[python3.13] > ?sort[python3.13] > cmp[python3.13] x1
        f@a.py:4 > sort[python3.13] > sort[python3.13] > cmp[python3.13] x1
        f@a.py:5 > ?sort[python3.13] > sort[libc.so.6] x1
        ",
    );
    check_stacks(
        &recording,
        expect![[r#"
        f (/app/a.py:1);sort [python3.13];cmp [python3.13] 1
        f (/app/a.py:2);sort [python3.13];cmp [python3.13] 1
        f (/app/a.py:3);sort (inferred) [python3.13];cmp [python3.13] 1
        f (/app/a.py:4);sort [python3.13];sort [python3.13];cmp [python3.13] 1
        f (/app/a.py:5);sort (inferred) [python3.13];sort [libc.so.6] 1
    "#]],
    );
}

/// What genba's library only hands on is no step of the program's.
#[test]
fn a_call_through_genba_s_library_is_one_call() {
    let recording = notation::recording(
        "
        process 7 3.13.0 cwd=/app
        f@a.py:1 > time_sleep[time.so] > nanosleep[genba-agent-0a1b] > nanosleep[libc.so.6] x1
        f@a.py:1 > time_sleep[time.so] > ?nanosleep[genba-agent-0a1b] > nanosleep[libc.so.6] x1
        nanosleep[genba-agent-0a1b] > g@a.py:1 x1
        ",
    );
    check_stacks(
        &recording,
        expect![[r#"
            f (/app/a.py:1);time_sleep [time.so];nanosleep [libc.so.6] 2
            nanosleep [genba-agent-0a1b];g (/app/a.py:1) 1
        "#]],
    );
}

/// A tick that waited while genba's library had its signal blocked is answered there, but libc's function took the time. Other ends there are genba's.
#[test]
fn a_stack_does_not_end_in_genba_s_library() {
    let recording = notation::recording(
        "
        process 7 3.13.0 cwd=/app
        f@a.py:1 > time_sleep[time.so] > nanosleep[genba-agent-0a1b] > nanosleep[libc.so.6] x1
        f@a.py:1 > time_sleep[time.so] > nanosleep[genba-agent-0a1b] > *+0x1234[genba-agent-0a1b] x1
        f@a.py:1 > time_sleep[time.so] > *nanosleep[genba-agent-0a1b] x1
        f@a.py:1 > gc_collect[python3.13] > +0x1234[genba-agent-0a1b] > *+0x5678[genba-agent-0a1b] x1
        f@a.py:1 > gc_collect[python3.13] > *genba_state[genba-agent-0a1b] x1
        ",
    );
    check_stacks(
        &recording,
        expect![[r#"
            f (/app/a.py:1);gc_collect [python3.13];([genba's own work]) 2
            f (/app/a.py:1);time_sleep [time.so];nanosleep [libc.so.6] 3
        "#]],
    );
}

/// The call names the function, the return address lies in the part of it that the compiler moved away.
#[test]
fn a_function_and_its_cold_part_are_one() {
    let recording = notation::recording("process 7 3.13.0\n f@a.py:1 > ?sort[x.so] > +0x9010[x.so] x1");
    let cold = proto::CName {
        module: "/usr/lib/x.so".to_string(),
        start: 0x8f00,
        end: 0x9100,
        name: "sort".to_string(),
        origin: "cold part".to_string(),
        ..Default::default()
    };
    let additions = Additions { c_names: vec![cold], ..Additions::default() };
    let options = Options { weight: Weight::Samples, threads: false };
    expect![[r#"
        f (a.py:1);sort [x.so] 1
    "#]]
    .assert_eq(&collapsed(&profile(&recording, &additions), options).to_string());
}

/// Three addresses of one function: a call within what was inlined into it, the same line again, and its own code.
#[test]
fn what_was_inlined_stands_under_the_function_that_contains_it() {
    let recording = notation::recording(
        "
        process 7 3.13.0
        f@a.py:1 > +0x9011[x.so] > +0x9100[x.so] x1
        f@a.py:1 > +0x9022[x.so] > ?sort[x.so] > +0x9100[x.so] x2
        f@a.py:1 > +0x9033[x.so] > +0x9100[x.so] x4
        ",
    );
    let name = |start, end, name: &str| proto::CName {
        module: "/usr/lib/x.so".to_string(),
        start,
        end,
        name: name.to_string(),
        origin: "symbol table".to_string(),
        ..Default::default()
    };
    let places = proto::CPlaces {
        module: "/usr/lib/x.so".to_string(),
        strings: ["sort.c", "merge", "gallop", "gallop(int)"].map(str::to_string).to_vec(),
        address_delta: vec![0x9010, 0x11, 0x11, 0xce],
        frames: vec![3, 3, 1, 2],
        name: vec![0, 2, 3, 0, 2, 3, 0, 0, 0],
        full_name: vec![0, 0, 4, 0, 0, 4, 0, 0, 0],
        file: vec![1, 1, 1, 1, 1, 1, 1, 1, 1],
        line: vec![70, 30, 7, 70, 30, 8, 71, 90, 5],
        ..Default::default()
    };
    let additions = Additions {
        c_names: vec![name(0x9000, 0x9080, "sort"), name(0x9080, 0x9200, "compare")],
        c_places: vec![places],
        ..Additions::default()
    };
    let profile = profile(&recording, &additions);
    let options = Options { weight: Weight::Samples, threads: false };
    expect![[r#"
        f (a.py:1);sort [x.so];compare [x.so] 4
        f (a.py:1);sort [x.so];merge (inlined) [x.so];gallop (inlined) [x.so];compare [x.so] 3
    "#]]
    .assert_eq(&collapsed(&profile, options).to_string());
    let lines: Vec<String> = profile
        .frames
        .iter()
        .filter_map(|frame| {
            let place = frame.c_line.as_ref()?;
            Some(format!(
                "{} {}:{}",
                profile.functions[frame.function].name,
                place.file,
                place.line.unwrap_or_default()
            ))
        })
        .collect();
    expect!["sort sort.c:70, merge sort.c:30, gallop sort.c:7, gallop sort.c:8, sort sort.c:71"]
        .assert_eq(&lines.join(", "));
    // A function is one, whichever of its lines it was in.
    assert_eq!(profile.functions.len(), 5);
}

#[test]
fn instructions_of_one_expression_are_one_node() {
    let profile = built(&notation::recording(
        "
        process 7 3.13.0 cwd=/app
        f@a.py:1[0-4] x1
        f@a.py:1[0-5] x1
        process 8 3.13.0 cwd=/app
        f@a.py:1[0-4] x1
        ",
    ));
    assert_eq!((profile.frames.len(), profile.nodes.len(), profile.functions.len()), (2, 2, 1));
}

#[test]
fn a_return_address_belongs_to_the_call_before_it() {
    // Both functions end where the next one begins; the notation's return addresses lie exactly there.
    let recording = notation::recording("process 7 3.13.0\n f@a.py:1 > first[x.so] > second[x.so] > third[x.so] x1");
    check_stacks(
        &recording,
        expect![[r#"
        f (a.py:1);first [x.so];second [x.so];third [x.so] 1
    "#]],
    );
}

#[test]
fn names_found_beside_the_recording_stand_behind_its_own() {
    let recording = notation::recording("process 7 3.13.0\n f@a.py:1 > known[x.so] > +0x9010[x.so] x1");
    let name = |start, name: &str| proto::CName {
        module: "/usr/lib/x.so".to_string(),
        start,
        end: start + 0x100,
        name: name.to_string(),
        origin: "symbol table".to_string(),
        ..Default::default()
    };
    let additions = Additions { c_names: vec![name(0x1000, "other"), name(0x8f90, "found")], ..Additions::default() };
    let options = Options { weight: Weight::Samples, threads: false };
    expect![[r#"
        f (a.py:1);known [x.so];found [x.so] 1
    "#]]
    .assert_eq(&collapsed(&profile(&recording, &additions), options).to_string());
}

/// The recording without the block that holds the first tables.
#[test]
fn what_a_lost_block_took_away_is_marked() {
    let mut recording = notation::recording("process 7 3.13.0\n f@a.py:1 > g@a.py:2 x3");
    let tables = recording.blocks[0].block.tables.as_mut().unwrap();
    tables.codes.truncate(1);
    check_stacks(
        &recording,
        expect![[r#"
            f (a.py:1);(a frame lost with a damaged block) 3
        "#]],
    );
    recording.blocks[0].block.tables.as_mut().unwrap().threads.clear();
    recording.blocks[0].block.tables.as_mut().unwrap().nodes = None;
    check_stacks(
        &recording,
        expect![[r#"
        (the rest was lost with a damaged block) 3
    "#]],
    );
    let profile = built(&recording);
    assert_eq!(profile.threads.iter().map(|thread| thread.tid).collect::<Vec<_>>(), [None]);
}

/// So many seconds in samples, and so many in a block that was lost behind them: its clocks go on.
fn with_lost_cpu(seconds: u32, lost_ns: u64) -> Profile {
    let samples = seconds * 625;
    let mut recording = notation::recording(&format!("process 7 3.13.0\n f@a.py:1 x{samples}"));
    let end = &mut recording.blocks[1];
    (end.header.sequence, end.header.end_ns) = (2, end.header.end_ns + lost_ns);
    let accounting = end.block.accounting.as_mut().unwrap();
    accounting.cpu_sampled_ns += lost_ns;
    accounting.cpu_process_ns += lost_ns;
    recording.lost.push(LostBlocks { process_key: end.header.process_key, sequence_first: 1, count: 1 });
    profile(&recording, &Additions::default())
}

/// Before, all of it was covered, and a program that never waited was called waiting.
#[test]
fn cpu_of_lost_blocks_is_in_no_sample_and_no_wait() {
    let most = with_lost_cpu(1, 4_000_000_000);
    let ticks = "ticks 625 = sampled 625 + dropped 0 + refused 0";
    assert_eq!(law_line(&most), format!("{ticks} · CPU covered 20.0 %, 4.00 s in lost blocks"));
    let said = verdict(&most).said(&most).first.to_string();
    assert_eq!(
        said,
        "at least 1 block was lost, with the stacks of 4.00 s of 5.00 s sampled CPU; the rows below have the rest"
    );
    assert_eq!((verdict(&most).reason.name(), choose(&most).weight), ("not judged", Weight::Cpu));
    let told = warnings(&most, Weight::Cpu).concat();
    let covers =
        "samples cover 20.0 % of the program's CPU; 4.00 s are in no sample (4.00 s of it in lost blocks); copy";
    assert!(told.contains(covers), "{told}");
    // Little of it leaves the verdict.
    let little = with_lost_cpu(19, 1_000_000_000);
    assert!(law_line(&little).ends_with(" · CPU covered 95.0 %, 1.00 s in lost blocks"), "{}", law_line(&little));
    assert_eq!(verdict(&little).reason.name(), "one place");
}

/// A quiet start of so many milliseconds is recorded with 32 ms of CPU, then nothing could be written any more.
fn stopped_after(quiet_ms: u64, cpu_ms_in_all: u64) -> Profile {
    let samples = quiet_ms * 10 / 16;
    let mut recording =
        notation::recording(&format!("process 7 3.13.0\n no end\n f@a.py:1 x20\n f@a.py:2 x{samples} poll"));
    let mut header = recording.blocks[0].header;
    let at_ns = header.end_ns + cpu_ms_in_all * 1_000_000;
    (header.process_key, header.start_ns, header.end_ns) = ([99; 16], at_ns, at_ns);
    let reaped = vec![proto::Reaped { pid: 7, at_ns, cpu_ns: cpu_ms_in_all * 1_000_000 }];
    let block = proto::Block { reaped, ..Default::default() };
    recording.blocks.push(ReadBlock { header, block, samples: None, offset: 0, stored_bytes: 0 });
    profile(&recording, &Additions::default())
}

/// Before, a program that worked after its quiet start was called waiting.
#[test]
fn what_could_not_be_written_is_no_wait() {
    let name = |profile: &Profile| verdict(profile).reason.name();
    let most = stopped_after(800, 1500);
    assert_eq!(name(&most), "not judged");
    assert_eq!(
        verdict(&most).said(&most).first.to_string(),
        "1.47 s CPU came after the last block of a process without an end and was not recorded, 32.0 ms was; the rows below have that"
    );
    // It waited: that little changes nothing.
    assert_eq!(name(&stopped_after(800, 60)), "waiting");
    assert_eq!(name(&stopped_after(800, 0)), "waiting");
}

/// A program may have done much behind that place, so more of it helps nothing.
#[test]
fn a_cut_file_is_why_there_is_little_in_it() {
    let mut cut = profile(&notation::recording("process 7 3.13.0\n no end\n f@a.py:1 x30"), &Additions::default());
    cut.faults = vec!["cut at byte 1000 (block 2, field `payload`): expected 9 bytes, found 8".to_owned()];
    cut.blocks_lost = 1;
    let told = |cut: &Profile| warnings(cut, Weight::Cpu);
    const REMEDY: &str = "; copy the file again, or record again";
    assert_eq!(
        told(&cut),
        [format!("{}{REMEDY}", cut.faults[0]), format!("30 samples, shares are ± 18 points{REMEDY}")]
    );
    assert_eq!(verdict(&cut).said(&cut).first.to_string(), "at least 1 block was lost; the rows below have the rest");
    cut.samples.clear();
    assert_eq!(told(&cut)[1], format!("0 samples in what is intact{REMEDY}"));
}

/// A location table may arrive in parts, also in a later block than the samples that need it.
#[test]
fn a_location_table_in_parts() {
    let mut recording = notation::recording("process 7 3.13.0\n f@a.py:3[0-4] x1\n f@a.py:9[1-4] x1");
    let code = &mut recording.blocks[0].block.tables.as_mut().unwrap().codes[0];
    let rest = code.linetable.split_off(5);
    let part = proto::CodePart { code: 0, offset: 5, linetable: rest };
    check_stacks(
        &recording,
        expect![[r#"
        f (a.py) 1
        f (a.py:3) 1
    "#]],
    );
    recording.blocks[1].block.tables = Some(proto::Tables { code_parts: vec![part], ..Default::default() });
    check_stacks(
        &recording,
        expect![[r#"
        f (a.py:3) 1
        f (a.py:9) 1
    "#]],
    );
}

#[test]
fn an_exec_is_counted_once() {
    let recording = notation::recording(
        "
        process 7 3.13.0
        f@a.py:1 x10
        process 9 3.13.0 cpu_before_ms=20
        f@a.py:1 x10
        ",
    );
    let mut recording = recording;
    for block in recording.blocks.iter_mut().filter(|read| read.header.process_key[0] == 9) {
        if let Some(start) = &mut block.block.start {
            start.pid = 7;
            start.monotonic_ns += 16_000_000;
        }
        block.header.start_ns += 16_000_000;
        block.header.end_ns += 16_000_000;
    }
    let profile = built(&recording);
    let clocks = profile.clocks();
    assert_eq!(clocks.cpu_ns, 16_000_000 + 16_000_000 + 4_000_000);
    assert_eq!(clocks.cpu_ns, clocks.cpu_sampled_ns + clocks.cpu_not_sampled_ns + clocks.cpu_genba_ns);
    // Of each process, too: the later image has what only it used.
    let of_each = [0, 1].map(|position| profile.clocks_of(ProcessIndex::new(position)));
    let figures = of_each.map(|clocks| (clocks.cpu_ns, clocks.cpu_not_sampled_ns, clocks.cpu_before_ns));
    assert_eq!(figures, [(16_000_000, 0, 0), (20_000_000, 4_000_000, 4_000_000)]);
    let page = integrity::text(&profile, "exec.genba", 1000, 2);
    let clocks: Vec<&str> = page.lines().filter(|line| line.contains("CPU ")).map(str::trim).collect();
    assert_eq!(clocks, of_each.map(|clocks| clocks.words()), "{page}");
}

#[test]
fn check_tells_how_each_process_ended() {
    let of = |notation: &str, exit_signal: Option<i32>| {
        let mut profile = built(&notation::recording(notation));
        let exit_code = exit_signal.is_none().then_some(0);
        profile.recorder = Some(Recorder { argv: Vec::new(), exit_code, exit_signal, wall_ns: 1 });
        let page = integrity::text(&profile, "a.genba", 1000, 2);
        let ends = page.lines().filter_map(|line| line.strip_prefix("process ")?.split_once(": ")?.1.split_once(", "));
        ends.map(|(_, end)| end.to_owned()).collect::<Vec<String>>().join("; ")
    };
    let ended = "process 7 3.13.0\n f@a.py:1 x10\n";
    let killed = "process 7 3.13.0\n no end\n f@a.py:1 x10\n";
    assert_eq!(of(ended, None), "ended (exit)");
    assert_eq!(of(ended, Some(15)), "was ended by signal 15");
    assert_eq!(
        of(&format!("{ended}process 8 3.13.0 parent=7\n f@a.py:1 x10"), Some(15)),
        "was ended by signal 15; ended (exit)"
    );
    assert_eq!(of(killed, None), "no end block");
    assert_eq!(of(killed, Some(9)), "no end block, was ended by signal 9");
    assert_eq!(of(&format!("{killed} exec 16ms"), None), "became another program (exec)");
}

#[test]
fn what_has_ended_is_what_nothing_more_comes_of() {
    let has_ended = |notation: &str| built(&notation::recording(notation)).have_all_ended();
    let ended = "process 7 3.13.0\n f@a.py:1 x10\n";
    assert!(has_ended(ended));
    assert!(has_ended("process 7 3.13.0\n no end\n f@a.py:1 x10\n exec 16ms"), "another program now");
    assert!(has_ended(&format!("{ended}process 8 2.7.18 refused=moved\n no end")), "nothing comes of it");
    assert!(!has_ended("process 7 3.13.0\n no end\n f@a.py:1 x10"), "killed, or it goes on");
    assert!(!has_ended(&format!("{ended}process 8 3.13.0\n no end\n f@a.py:1 x10")), "left behind");
}

#[test]
fn hits_are_what_samples_touched() {
    let recording = notation::recording(
        "
        process 7 3.13.0 cwd=/app
        f@a.py:3[0-4:1] > known[x.so] > ?guess[y.so] x1
        f@a.py:3[0-4:1] > g@/usr/lib/python3.13/b.py:9 x1
        <lambda>@<string>.py:1 x1
        ",
    );
    let hits = hits(&recording);
    let mut shown = String::new();
    for (module, addresses) in &hits.modules {
        shown += &format!("{}: {:x?}\n", module.path, addresses.inside);
    }
    for (path, file) in &hits.files {
        let own = if file.is_users_own { "own " } else { "" };
        shown += &format!("{own}{path}: {:?}, defined at {:?}\n", file.lines, file.definitions);
    }
    expect![[r#"
        /usr/lib/x.so: {10ff}
        /usr/lib/y.so: {1100}
        own /app/a.py: {3, 4}, defined at {1: {"f"}}
        /usr/lib/python3.13/b.py: {9}, defined at {1: {"g"}}
    "#]]
    .assert_eq(&shown);
}

/// An allocation may be the only thing that was seen of a function.
#[test]
fn hits_are_what_counted_bytes_touched() {
    let mut recording = notation::recording("process 7 3.13.0 cwd=/app\nf@a.py:3 > known[x.so] x1\n");
    let nodes: Vec<u32> = recording
        .blocks
        .iter_mut()
        .filter_map(|read| read.samples.take())
        .flat_map(|samples| samples.rows().map(|row| row.node).collect::<Vec<_>>())
        .collect();
    assert_eq!(nodes.len(), 1);
    assert!(hits(&recording).files.is_empty());
    recording.blocks[0].block.weights.push(proto::Weights { node: nodes, ..Default::default() });
    let hits = hits(&recording);
    assert_eq!((hits.modules.len(), hits.files.len()), (1, 1));
}

/// A forked child knows the key of its parent; what was started anew knows its pid alone.
#[test]
fn a_forked_child_is_told_from_a_program_that_was_started() {
    let mut recording = notation::recording(
        "
        process 7 3.13.0
        f@a.py:1 x1
        process 8 3.13.0 parent=7
        f@a.py:1 x1
        process 9 3.13.0 parent=7
        f@a.py:1 x1
        ",
    );
    let of_child = |read: &&mut genba_format::ReadBlock| read.header.process_key == [8; 16];
    let child = recording.blocks.iter_mut().find(of_child).and_then(|read| read.block.start.as_mut()).unwrap();
    child.parent_key = vec![7; 16];
    let profile = built(&recording);
    let parents: Vec<_> = profile.processes.iter().map(|row| (row.pid, row.parent.is_some(), row.is_forked)).collect();
    assert_eq!(parents, [(Some(7), false, false), (Some(8), true, true), (Some(9), true, false)]);
}
