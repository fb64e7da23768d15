//! Recordings of `genba trace`: what a `.prof` file tells, told by a recording that has it in parts.

use genba_format::{BlockHeader, Recording, VERSION, compress, encode_block, proto, read};
use genba_import::{COUNTS_BYTES_MIN, Imported, profs, traced, traced_within};

use crate::shown::golden;

/// Of each process its counts in `parts` blocks, and one of the command's behind them.
fn recording(processes: &[(u32, &[u8])], parts: usize) -> Recording {
    let mut bytes = Vec::new();
    let mut add = |key: u8, sequence: u64, block: proto::Block| {
        let header = BlockHeader { version: VERSION, process_key: [key; 16], sequence, start_ns: 5, end_ns: 9 };
        encode_block(&header, block, &mut compress, &mut bytes).expect("a small block");
    };
    for (key, (pid, prof)) in (1..).zip(processes) {
        for (sequence, part) in (0..).zip(prof.chunks(prof.len().div_ceil(parts))) {
            let start = (sequence == 0).then(|| proto::Start { pid: *pid, ..proto::Start::default() });
            let traced = Some(proto::Traced { prof: part.to_vec(), call_ps: 41_200 });
            add(key, sequence, proto::Block { start, traced, ..proto::Block::default() });
        }
    }
    let recorder = Some(proto::Recorder { exit_code: 3, ..proto::Recorder::default() });
    add(99, 0, proto::Block { recorder, ..proto::Block::default() });
    read(&bytes).expect("a recording")
}

fn imported(recording: Recording) -> Imported {
    traced(recording).unwrap_or_else(|_| panic!("no traced recording"))
}

#[test]
fn parts_are_put_together() {
    let prof = golden("cprofile-3.13.0.prof");
    let whole = genba_import::read(&prof).expect("a .prof file");
    for parts in [1, 2, 7] {
        let recording = recording(&[(7, &prof)], parts);
        let counts = profs(recording.clone());
        assert_eq!(counts.iter().map(|one| one.bytes.as_slice()).collect::<Vec<_>>(), [prof.as_slice()]);
        let imported = imported(recording);
        assert_eq!(imported.faults, [] as [String; 0]);
        let [counted, of_command] = imported.recording.blocks.as_slice() else { panic!("two blocks") };
        let (ours, theirs) = (counted.samples.as_ref(), whole.recording.blocks[0].samples.as_ref());
        assert_eq!(ours.map(|rows| rows.rows().collect::<Vec<_>>()), theirs.map(|rows| rows.rows().collect()));
        assert_eq!(counted.block.tables, whole.recording.blocks[0].block.tables);
        assert_eq!(counted.block.start.as_ref().map(|start| start.pid), Some(7));
        assert_eq!((counted.header.start_ns, counted.header.end_ns), (5, 9));
        assert_eq!(of_command.block.recorder.as_ref().map(|recorder| recorder.exit_code), Some(3));
        assert!(imported.words.starts_with("traced: counts exact, times include the tracer's (about 42 ns"));
    }
}

#[test]
fn one_damaged_process_takes_no_other_with_it() {
    let prof = golden("cprofile-3.13.0.prof");
    let cut = &prof[..prof.len() / 2];
    let imported = imported(recording(&[(7, &prof), (8, cut)], 2));
    assert_eq!(imported.recording.blocks.len(), 2);
    let [fault] = imported.faults.as_slice() else { panic!("{:?}", imported.faults) };
    assert!(fault.starts_with("the counts of process 8 cannot be read: a .prof file, damaged at byte "), "{fault}");
}

/// Functions that are all called by the same ones, callers of two references each: ten bytes that need many more in memory, and none in a
/// file that is compressed.
fn of_many_callers(called: i32) -> Vec<u8> {
    const CALLERS: i32 = 1_000;
    const INTS: &[u8] = b"i\x01\0\0\0i\x01\0\0\0";
    const TIMES: &[u8] = b"g\0\0\0\0\0\0\0\0g\0\0\0\0\0\0\0\0";
    let reference = |number: i32| [b"r".as_slice(), &number.to_le_bytes()].concat();
    let function = |line: i32| [b"\x03r\x01\0\0\0i".as_slice(), &line.to_le_bytes(), b"r\x02\0\0\0"].concat();
    // Values 0 to 2 are the first function, its file and its name, 3 is what each caller had, those from 4 on are callers.
    let first: &[u8] = b"\xa9\x03\xfa\x01ai\x01\0\0\0\xfa\x01a";
    let mut bytes = [b"{".as_slice(), first, b")\x05", INTS, TIMES, b"{r\0\0\0\0\xa9\x04", INTS, TIMES].concat();
    for line in 2..=CALLERS {
        bytes.extend([b"\xa9".to_vec(), function(line), reference(3)].concat());
    }
    let callers: Vec<u8> = (4..CALLERS + 3).flat_map(|caller| [reference(caller), reference(3)].concat()).collect();
    for line in 1..=called {
        bytes.extend([b"0)".to_vec(), function(CALLERS + line)].concat());
        bytes.extend([b")\x05".as_slice(), INTS, TIMES, b"{", &callers].concat());
    }
    [bytes, b"00".to_vec()].concat()
}

#[test]
fn a_small_recording_may_take_little_memory() {
    let prof = of_many_callers(1_800);
    assert!(genba_pstats::read(&prof).is_ok(), "what is not compressed is read");
    // A block has room for 8 MiB.
    let recording = recording(&[(7, &prof)], 3);
    let [counts] = profs(recording.clone()).try_into().expect("one process");
    assert!(counts.more_bytes < 19 << 20, "{}", counts.more_bytes);
    let room_bytes = COUNTS_BYTES_MIN + counts.more_bytes;
    let too_large = genba_pstats::read_within(&counts.bytes, &mut { room_bytes }).expect_err("it needs more");
    assert!(too_large.needs_more_memory);
    let imported = imported(recording);
    let [fault] = imported.faults.as_slice() else { panic!("{:?}", imported.faults) };
    assert!(fault.contains("need more than 1") && fault.contains(" MB of memory"), "{fault}");
    assert!(fault.contains("which is the most that genba takes here for a file of this size"), "{fault}");
}

/// What a small file may take in any case, all processes may take together.
#[test]
fn a_small_recording_of_many_processes_may_take_no_more() {
    let prof = of_many_callers(100);
    assert_eq!(imported(recording(&[(7, &prof)], 3)).faults, [] as [String; 0]);
    let told = imported(recording(&[(7, &prof), (8, &prof)], 3)).faults;
    let [fault] = told.as_slice() else { panic!("{told:?}") };
    assert!(fault.starts_with("the counts of process 8 cannot be read: "), "{fault}");
    assert!(fault.contains(" MB of memory"), "{fault}");
}

#[test]
fn whoever_has_less_memory_gives_less_to_all_processes_together() {
    let prof = of_many_callers(20);
    let faults = |most_bytes: u64| {
        let recording = recording(&[(7, &prof), (8, &prof)], 3);
        traced_within(recording, most_bytes).unwrap_or_else(|_| panic!("no traced recording")).faults
    };
    assert_eq!(faults(90_000_000), [] as [String; 0]);
    let told = faults(25_000_000);
    let [fault] = told.as_slice() else { panic!("{told:?}") };
    assert!(fault.starts_with("the counts of process 8 cannot be read: it needs more than "), "{fault}");
    assert!(fault.ends_with(" MB of memory, the most that genba takes of what is left here"), "{fault}");
    assert_eq!(faults(1_000).len(), 2);
}

#[test]
fn a_recording_of_samples_stays_one() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/v3.genba");
    let recording = read(&std::fs::read(golden).expect("the golden file")).expect("a recording");
    let blocks = recording.blocks.len();
    let same = traced(recording).expect_err("it has samples");
    assert_eq!(same.blocks.len(), blocks);
    assert_eq!(profs(same), []);
}
