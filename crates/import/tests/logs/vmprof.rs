//! Logs that vmprof itself wrote, against what vmprof's own reader says of them (testdata/imports/README.md).
//! The numbers here are that reader's: `read_profile(path).profiles`, names from `adr_dict`.

use std::collections::{BTreeMap, BTreeSet};

use crate::shown::{block, golden, leaves, samples, totals};
use genba_format::laws;
use genba_import::{Imported, Refused, read};

fn log(name: &str) -> Imported {
    let imported = read(&golden(name)).unwrap_or_else(|refused| panic!("{name}: {refused}"));
    assert_eq!(laws::check(&imported.recording), []);
    imported
}

fn rows<const N: usize>(rows: [(&str, u64); N]) -> BTreeMap<String, u64> {
    rows.into_iter().map(|(name, ticks)| (name.to_owned(), ticks)).collect()
}

/// By the name of the file as the log has it.
fn functions<const N: usize>(file: &str, names: [(&str, u64); N]) -> BTreeMap<String, u64> {
    names.into_iter().map(|(name, ticks)| (format!("{name}:{file}"), ticks)).collect()
}

/// Of vmprof's weights, which are periods: its rule is at least one period a sample, genba's is the clock.
fn periods(imported: &Imported) -> f64 {
    let quanta: u64 = samples(imported).iter().map(|(_, _, _, cpu, wall)| cpu + wall).sum();
    quanta as f64 * 16_000.0 / 4_990_000.0
}

#[test]
fn a_plain_log() {
    let imported = log("format-7-plain.vmprof");
    assert_eq!((imported.faults.as_slice(), imported.notes.as_slice()), ([].as_slice(), [].as_slice()));
    let expected = [("<module>:1", 42), ("main:43", 42), ("work:26", 41), ("second:21", 33), ("<lambda>:23", 12)];
    let mut expected = functions("/srv/demo/work.py", expected);
    expected.extend(functions("/srv/demo/work.py", [("first:17", 5), ("inner:10", 5)]));
    assert_eq!(totals(&imported), expected);
    let leaf = [("second:21", 21), ("<lambda>:23", 12), ("inner:10", 5), ("work:26", 3), ("main:43", 1)];
    assert_eq!(leaves(&imported), functions("/srv/demo/work.py", leaf));
    let accounting = block(&imported).block.accounting.as_ref().expect("accounting");
    assert_eq!((accounting.ticks, accounting.sampled), (42, 42));
    // get_runtime_in_microseconds() = 268879.
    assert_eq!(block(&imported).header.end_ns, 268_879_000);
    assert_eq!(block(&imported).block.start.as_ref().map(|start| start.interval_ns), Some(4_990_000));
    let words = "imported from vmprof (log format 7): one sample is one tick of 4.99 ms of CPU time; CPU is the process's clock from \
                 one sample to the next; ran 268 ms; no states, no accounting";
    assert_eq!(imported.words, words);
}

#[test]
fn gzip_and_bz2_are_the_same_log() {
    let plain = log("format-7-plain.vmprof");
    for name in ["format-7-plain.vmprof.gz", "format-7-plain.vmprof.bz2"] {
        let packed = log(name);
        assert_eq!(packed.recording, plain.recording, "{name}");
        assert_eq!((packed.words, packed.faults), (plain.words.clone(), plain.faults.clone()));
    }
}

#[test]
fn lines_and_memory() {
    let imported = log("format-7-lines-memory.vmprof");
    let expected = [
        ("second:21:/srv/demo/work.py line 23", 18),
        ("<lambda>:23:/srv/demo/work.py line 23", 10),
        ("inner:10:/srv/demo/work.py line 13", 6),
        ("second:21:/srv/demo/work.py line 22", 4),
        ("inner:10:/srv/demo/work.py line 12", 4),
        ("work:26:/srv/demo/work.py line 31", 4),
    ];
    assert_eq!(leaves(&imported), rows(expected));
    let marks = &block(&imported).block.marks;
    assert_eq!(marks.len(), 46);
    assert_eq!(marks[0].value, 15_344 * 1024);
    assert_eq!(marks.iter().map(|mark| mark.value).max(), Some(37_012 * 1024));
    assert!(marks.is_sorted_by_key(|mark| mark.at_ns));
}

#[test]
fn format_6_has_lines_and_memory_and_no_clock() {
    let imported = log("format-6-lines-memory.vmprof");
    let expected = [
        ("<lambda>:23:work.py line 23", 13),
        ("second:21:work.py line 23", 11),
        ("inner:10:work.py line 13", 8),
        ("work:26:work.py line 31", 3),
        ("inner:10:work.py line 12", 2),
        ("second:21:work.py line 22", 2),
    ];
    assert_eq!(leaves(&imported), rows(expected));
    // The module's code was freed before vmprof could name it: its own reader shows `<native symbol 0x…>`.
    let nameless = totals(&imported).into_iter().find(|(name, _)| name.starts_with("(no name in the log: 0x"));
    assert_eq!(nameless.map(|(_, ticks)| ticks), Some(39));
    assert!(samples(&imported).iter().all(|(_, _, ticks, cpu, wall)| (*ticks, *cpu, *wall) == (1, 0, 0)));
    assert_eq!(block(&imported).block.marks[0].value, 16_188 * 1024);
    assert_eq!(block(&imported).block.marks.iter().map(|mark| mark.value).max(), Some(35_716 * 1024));
    assert!(imported.words.contains("no clocks: samples count; ran 418 ms"), "{}", imported.words);
}

#[test]
fn threads_by_their_number_or_address() {
    for (name, expected) in [
        ("format-6-threads.vmprof", [("0x5576545c74c0", 12), ("0x55765455db50", 10)]),
        ("format-7-wall-threads.vmprof", [("0x7ffbf24b36c8", 22), ("0x559f43fe4370", 20)]),
    ] {
        let imported = log(name);
        let tables = block(&imported).block.tables.as_ref().expect("tables");
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for (_, thread, ticks, _, _) in samples(&imported) {
            let thread = &tables.threads[thread as usize];
            *found.entry(String::from_utf8_lossy(&tables.strings[thread.name as usize]).into_owned()).or_default() +=
                ticks;
        }
        assert_eq!(found, rows(expected), "{name}");
    }
}

#[test]
fn native_frames_have_the_names_that_vmprof_found() {
    let imported = log("format-7-native.vmprof");
    let totals = totals(&imported);
    for (name, ticks) in [
        ("PyObject_Vectorcall [unknown file]", 11),
        ("PyLong_FromLong [unknown file]", 9),
        ("PySequence_List [unknown file]", 6),
        ("malloc [unknown file]", 1),
        ("second:21:/srv/demo/work.py", 31),
    ] {
        assert_eq!(totals.get(name), Some(&ticks), "{name}");
    }
    assert_eq!(leaves(&imported).get("<native symbol 0x7f570dbcfdb1> [unknown file]"), Some(&6));
    assert_eq!(samples(&imported).iter().map(|(frames, ..)| frames.len()).sum::<usize>(), 325);
}

/// `expected_samples` of vmprof: 48.402, 53.618. A sample nearer than a period to the one before counts a whole one there.
#[test]
fn the_clock_of_format_7_is_the_samples_time() {
    for (name, expected, samples) in
        [("format-7-plain.vmprof", 48.402, 42.0), ("format-7-wall-threads.vmprof", 53.618, 42.0)]
    {
        let found = periods(&log(name));
        assert!(found <= expected && found > expected - samples / 2.0, "{name}: {found}");
    }
}

/// Where the log of `format-7-plain.vmprof` says when it began and when it ended: a marker, seconds, microseconds and a zone.
fn begin_and_end(plain: &[u8]) -> (usize, usize) {
    let end = plain.len() - 25;
    let seconds = |at: usize| plain[at + 1..at + 9].try_into().map_or(0, u64::from_le_bytes);
    let begin = (40..end).find(|at| plain[*at] == 6 && (1_000_000_000..3_000_000_000).contains(&seconds(*at)));
    assert_eq!(plain[end], 3);
    (begin.expect("when it began"), end)
}

/// The wall clock went back or did not move, or the log has no end: the samples have times of their own, at which they are compared.
#[test]
fn a_log_is_as_long_as_its_samples() {
    let plain = golden("format-7-plain.vmprof");
    let (begin, end) = begin_and_end(&plain);
    let mut stood_still = plain.clone();
    stood_still.copy_within(begin + 1..begin + 17, end + 1);
    let mut went_back = plain.clone();
    went_back[end + 1] = went_back[end + 1].wrapping_sub(9);
    for bytes in [stood_still, went_back, golden("format-7-killed.vmprof")] {
        let imported = read(&bytes).expect("a log");
        let accounting = block(&imported).block.accounting.as_ref().expect("accounting");
        // From the first sample to the last one.
        assert_eq!(block(&imported).header.end_ns, accounting.cpu_process_ns);
        assert!(accounting.cpu_process_ns > 150_000_000, "{accounting:?}");
        assert!(imported.words.contains("; how long it ran is not told; "), "{}", imported.words);
    }
}

/// 208 ms of CPU in 60 ms: the program ran for no longer, and its samples are still at times of their own.
#[test]
fn a_program_of_several_cores_ran_for_no_longer_than_it_did() {
    let mut bytes = golden("format-7-plain.vmprof");
    let (begin, end) = begin_and_end(&bytes);
    bytes.copy_within(begin + 1..begin + 17, end + 1);
    let micros = u64::from_le_bytes(bytes[end + 9..end + 17].try_into().expect("eight bytes")) + 60_000;
    bytes[end + 9..end + 17].copy_from_slice(&micros.to_le_bytes());
    let imported = read(&bytes).expect("a log");
    assert_eq!(laws::check(&imported.recording), []);
    assert_eq!(block(&imported).header.end_ns, 60_000_000);
    assert!(imported.words.contains("; ran 60 ms; "), "{}", imported.words);
    let deltas = block(&imported).samples.as_ref().expect("samples").end_deltas_quanta();
    let ends = deltas.scan(0, |end, delta| {
        *end += delta;
        Some(*end)
    });
    let ends: BTreeSet<i64> = ends.collect();
    assert_eq!(ends.last(), Some(&(60_000_000 / 16_000)));
    assert!(ends.len() > 30, "{ends:?}");
}

#[test]
fn a_killed_program_left_stacks_without_names() {
    let imported = log("format-7-killed.vmprof");
    assert_eq!(samples(&imported).len(), 44);
    assert_eq!(samples(&imported).iter().map(|(frames, ..)| frames.len()).sum::<usize>(), 188);
    assert!(totals(&imported).keys().all(|name| name.starts_with("(no name in the log: 0x")));
    assert_eq!(imported.faults, [] as [String; 0]);
    let [end, names] = imported.notes.as_slice() else { panic!("{:?}", imported.notes) };
    assert_eq!(end, "the log ends at byte 3080 without a trailer: the program was killed, or it is still running");
    assert!(names.starts_with("vmprof stored no name for 7 addresses in the stacks"), "{names}");
}

#[test]
fn a_cut_anywhere_is_told() {
    let bytes = golden("format-7-lines-memory.vmprof");
    for cut in 0..bytes.len() {
        match read(&bytes[..cut]) {
            Ok(imported) => assert!(!imported.faults.is_empty() || !imported.notes.is_empty(), "cut at {cut}"),
            Err(Refused::Damaged { byte, .. }) => assert!(byte <= cut as u64 && cut < 60, "cut at {cut}"),
            Err(Refused::Unknown { .. }) => assert!(cut < 40, "cut at {cut}"),
            Err(refused) => panic!("cut at {cut}: {refused}"),
        }
    }
}

#[test]
fn a_damaged_place_is_named_and_what_stands_before_it_is_kept() {
    let mut bytes = golden("format-7-plain.vmprof");
    // A marker and the count that is always 1.
    let mut begins = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&[1, 1, 0, 0, 0, 0, 0, 0, 0]));
    let second = begins.nth(1).expect("a second stack");
    bytes[second] = 9;
    let imported = read(&bytes).expect("the first stack is intact");
    assert_eq!(samples(&imported).len(), 1);
    let fault = format!(
        "the log is damaged at byte {second}: expected a marker from 1 to 8 but 4, found 9; the 1 samples before it are read, what \
         follows is not"
    );
    assert_eq!(imported.faults, [fault]);
}

#[test]
fn logs_that_are_not_read_are_refused_by_name() {
    let refused = |bytes: &[u8]| match read(bytes) {
        Err(Refused::Unsupported(words)) => words,
        other => panic!("{other:?}"),
    };
    let plain = golden("format-7-plain.vmprof");
    let mut newer = plain.clone();
    newer[42] = 8;
    assert_eq!(refused(&newer), "a log of vmprof in format 8: genba reads 0 to 7");
    let mut pypy = plain.clone();
    pypy[43] |= 8;
    assert!(refused(&pypy).starts_with("a log of vmprof for PyPy"));
    let words = |words: [u32; 10]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    assert!(refused(&words([0, 3, 0, 4990, 1, 5, 0, 0, 0, 0])).starts_with("a log of vmprof on Windows"));
    assert!(refused(&words([0, 3, 0, 4990, 0, 5, 0, 0, 0, 0])).starts_with("a log of vmprof on a 32-bit machine"));
    let big: Vec<u8> = [0_u64, 3, 0, 4990, 0].iter().flat_map(|word| word.to_be_bytes()).collect();
    assert!(refused(&big).starts_with("a log of vmprof on a big-endian machine"));
}
