//! `.prof` files that cProfile, profile and CPython's sampling profiler wrote (testdata/imports/README.md).
//! The counts follow from the program: `fibonacci` is called 2 F(n + 1) - 1 times for n.

use std::collections::BTreeMap;

use crate::shown::{golden, samples};
use genba_format::laws;
use genba_import::{Imported, Refused, read, read_within};

const COUNTED: [&str; 7] = [
    "cprofile-2.7.18.prof",
    "cprofile-3.6.15.prof",
    "cprofile-3.13.0.prof",
    "cprofile-3.15.2.prof",
    "cprofile-pypy-3.9.prof",
    "profile-2.7.18.prof",
    "profile-3.13.0.prof",
];

/// For n of 14 to 18.
fn fibonacci_calls() -> u64 {
    let mut numbers = vec![0_u64, 1];
    while numbers.len() < 20 {
        numbers.push(numbers[numbers.len() - 1] + numbers[numbers.len() - 2]);
    }
    (14..=18).map(|n| 2 * numbers[n + 1] - 1).sum()
}

fn prof(name: &str) -> Imported {
    let imported = read(&golden(name)).unwrap_or_else(|refused| panic!("{name}: {refused}"));
    assert_eq!(laws::check(&imported.recording), []);
    assert_eq!(imported.faults, [] as [String; 0]);
    imported
}

/// Calls and wall time in quanta by the names of the stack, without files and lines.
fn by_names(imported: &Imported) -> BTreeMap<String, (u64, u64)> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (stack, _, ticks, _, wall) in samples(imported) {
        let name = |frame: &String| frame.split([':', '[']).next().unwrap_or_default().trim_end().to_owned();
        let sum = sums.entry(stack.iter().map(name).collect::<Vec<_>>().join(" > ")).or_default();
        *sum = (sum.0 + ticks, sum.1 + wall);
    }
    sums
}

#[test]
fn calls_are_exact_below_the_caller_that_made_them() {
    for name in COUNTED {
        let imported = prof(name);
        let found = by_names(&imported);
        let calls = |stack: &str| found.get(stack).map(|(calls, _)| *calls);
        // profile does not tell which caller had which part of its time.
        if name.starts_with("cprofile") {
            assert_eq!(calls("main > fibonacci"), Some(5), "{name}");
            assert_eq!(calls("fibonacci > fibonacci"), Some(fibonacci_calls() - 5), "{name}");
        } else {
            assert_eq!(calls("fibonacci"), Some(fibonacci_calls()), "{name}");
        }
        assert_eq!((calls("main > tried"), calls("tried > refused")), (Some(5), Some(5)), "{name}");
        assert_eq!(calls("main > numbers"), Some(6), "{name}");
        assert_eq!(calls("main > __init__"), Some(1), "{name}");
        assert!(imported.counts_calls, "{name}");
        assert!(samples(&imported).iter().all(|(stack, ..)| stack.len() <= 2), "{name}: no tree is made up");
    }
    let found = by_names(&prof("cprofile-3.13.0.prof"));
    assert_eq!(found.get("add > method 'append' of 'list' objects").map(|(calls, _)| *calls), Some(5));
}

#[test]
fn time_stands_where_the_file_tells_whose_it_is() {
    let below = by_names(&prof("cprofile-3.13.0.prof"));
    assert!(below["fibonacci > fibonacci"].1 > 0 && !below.contains_key("fibonacci"));
    let alone = by_names(&prof("profile-3.13.0.prof"));
    assert!(alone["fibonacci"].1 > 0 && !alone.contains_key("fibonacci > fibonacci"));
}

#[test]
fn the_sampling_profiler_tells_samples() {
    let imported = prof("sampled-3.15.2.prof");
    assert!(!imported.counts_calls);
    let found = by_names(&imported);
    assert!(found["load"].0 > 0 && found.keys().all(|stack| !stack.contains(" > ")), "{found:?}");
}

/// Whatever a file is cut to, there is an error with the place where it ends: nothing of a dict without an end is believed.
#[test]
fn a_file_that_is_cut_is_refused_at_each_byte() {
    for name in COUNTED.into_iter().chain(["sampled-3.15.2.prof"]) {
        let bytes = golden(name);
        for cut in 0..bytes.len() {
            match read(&bytes[..cut]) {
                Err(Refused::Damaged { byte, found, .. }) => {
                    assert!(byte <= cut as u64 && found.contains("end of the file"), "{name} cut at {cut}: {found}");
                }
                // Too short to be told from anything else.
                Err(Refused::Unknown { .. }) if cut < 6 => {}
                other => panic!("{name} cut at {cut}: {other:?}"),
            }
        }
    }
}

/// `genba trace` writes a second dict behind the one that every pstats reads.
#[test]
fn a_file_with_awaits_is_refused_at_each_byte_but_behind_its_counts() {
    let bytes = golden("genba-3.13.0.prof");
    let prof = genba_pstats::read(&bytes).expect("a .prof file");
    let mut counted: Vec<(&str, u64)> =
        prof.awaits.iter().map(|(function, awaits)| (&*prof.functions[*function].name, awaits.count)).collect();
    counted.sort_unstable();
    assert_eq!(counted, [("begins", 20), ("waits", 20)]);
    let mut whole = Vec::new();
    for cut in 0..bytes.len() {
        match read(&bytes[..cut]) {
            Ok(imported) => {
                assert_eq!(imported.faults, [] as [String; 0]);
                whole.push(cut);
            }
            Err(Refused::Damaged { byte, .. }) => assert!(byte <= cut as u64, "cut at {cut}: {byte}"),
            Err(Refused::Unknown { .. }) if cut < 6 => {}
            Err(other) => panic!("cut at {cut}: {other:?}"),
        }
    }
    let [behind_counts] = whole.as_slice() else { panic!("{whole:?}") };
    assert_eq!(
        genba_pstats::read(&bytes[..*behind_counts]).expect("the counts").rows,
        genba_pstats::read(&bytes).expect("all").rows
    );
}

/// Rows of 45 bytes, one for each function: each is a place, a call and a sample of its own in memory.
#[test]
fn a_hundred_thousand_functions_alone_are_read() {
    const FUNCTIONS: i32 = 100_000;
    let second = 1.0_f64.to_le_bytes();
    let counts = [b")\x05i\x01\0\0\0i\x01\0\0\0g".as_slice(), &second, b"g", &second, b"{0"].concat();
    let mut bytes = b"{".to_vec();
    for line in 1..=FUNCTIONS {
        bytes.extend([b")\x03z\x01ai".as_slice(), &line.to_le_bytes(), b"z\x01f", &counts].concat());
    }
    bytes.push(b'0');
    assert!(bytes.len() <= 45 * FUNCTIONS.unsigned_abs() as usize + 2, "{} bytes", bytes.len());
    let imported = read(&bytes).unwrap_or_else(|refused| panic!("{refused}"));
    let accounting = imported.recording.blocks[0].block.accounting.as_ref().expect("an accounting");
    assert_eq!(accounting.sampled, u64::from(FUNCTIONS.unsigned_abs()));
}

#[test]
fn whoever_has_less_memory_gives_less() {
    for name in ["cprofile-3.13.0.prof", "py-spy.txt", "format-7-plain.vmprof.gz"] {
        let bytes = golden(name);
        assert_eq!(read_within(&bytes, 1_000).err(), Some(Refused::TooLarge { most_bytes: 1_000 }), "{name}");
        assert!(read_within(&bytes, 50_000_000).is_ok(), "{name}");
    }
}

const BEGINS: &[u8] = b"{\xa9\x03\xda\x04a.pyi\x01\x00\x00\x00\xda\x01f";

fn refused(rest: &[u8]) -> (u64, String, String) {
    match read(&[BEGINS, rest].concat()) {
        Err(Refused::Damaged { byte, expected, found, .. }) => (byte, expected, found),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_no_prof_file_holds_is_refused_by_name() {
    let at = BEGINS.len() as u64;
    let what = "a tuple of counts, times and callers".to_owned();
    for (rest, found) in [
        (b"c\x00".as_slice(), "a code object (type `c`)"),
        (b"[\x01\x00\x00\x00", "a list (type `[`)"),
        (b"{0", "a dict (type `{`)"),
        (b"N", "None (type `N`)"),
        (b"y", "a complex number (type `y`)"),
        (b"?", "type byte 0x3f, which marshal does not know"),
        (b"r\x00\x00\x00\x00", "a reference"),
        (b")\x04", "a tuple of 4"),
        (b"(\x00\x00\x00\x80", "-2147483648"),
        (b"(\xff\xff\xff\x7f", "a tuple of 2147483647"),
    ] {
        let (byte, expected, said) = refused(rest);
        if found.starts_with('-') {
            assert_eq!((byte, expected.as_str()), (at + 1, "the length of a tuple of at least 0"));
        } else {
            assert_eq!((byte, &expected), (at, &what), "{found}");
        }
        assert_eq!(said, found);
    }
}

#[test]
fn hostile_counts_times_and_lengths_are_refused() {
    let row = |counts: &[u8]| [b")\x05", counts].concat();
    let whole = |number: i32| [b"i".as_slice(), &number.to_le_bytes()].concat();
    let real = |number: f64| [b"g".as_slice(), &number.to_le_bytes()].concat();
    for (counts, expected, found) in [
        (whole(-1), "a count of primitive calls of at least 0", "-1"),
        (
            [b"I".as_slice(), &i64::MAX.to_le_bytes()].concat(),
            "a count of primitive calls: at most 1125899906842624 in all",
            "9223372036854775807 more",
        ),
        (
            [b"l".as_slice(), &i32::MAX.to_le_bytes()].concat(),
            "a count of primitive calls",
            "a long of 2147483647 digits",
        ),
        (
            [b"l".as_slice(), &i32::MIN.to_le_bytes()].concat(),
            "a count of primitive calls",
            "a long of 2147483648 digits",
        ),
        ([whole(1), whole(1), real(f64::NAN)].concat(), "the time in a function itself in seconds", "NaN"),
        (
            [whole(1), whole(1), b"s\xff\xff\xff\x7f".to_vec()].concat(),
            "the time in a function itself",
            "a string (type `s`)",
        ),
        (
            [whole(1), whole(1), real(0.0), real(0.0), b"r\x00\x00\x00\x00".to_vec()].concat(),
            "a dict of callers",
            "a reference (type `r`)",
        ),
    ] {
        let (_, said_expected, said_found) = refused(&row(&counts));
        assert_eq!((said_expected.as_str(), said_found.as_str()), (expected, found));
    }
    let long_name = [b"{)\x03s".as_slice(), &i32::MAX.to_le_bytes()].concat();
    assert!(matches!(read(&long_name), Err(Refused::Damaged { byte: 3, .. })));
    let nothing = read(b"{0");
    assert!(matches!(nothing, Err(Refused::Unsupported(words)) if words.contains("nothing was profiled")));
}

/// A name of 16 kB by a reference of five bytes, over and over.
#[test]
fn references_to_long_names_cost_no_memory() {
    let name = vec![b'x'; 1 << 14];
    let mut bytes =
        [b"{)\x03\xf5".as_slice(), &(name.len() as i32).to_le_bytes(), &name, b"i\x00\x00\x00\x00r\x00\x00\x00\x00"]
            .concat();
    let counts = [b")\x05i\x01\x00\x00\x00i\x01\x00\x00\x00g".as_slice(), &[0; 8], b"g", &[0; 8], b"{0"].concat();
    bytes.extend(&counts);
    for line in 1..20_000_i32 {
        bytes.extend([b")\x03r\x00\x00\x00\x00i".as_slice(), &line.to_le_bytes(), b"r\x00\x00\x00\x00"].concat());
        bytes.extend(&counts);
    }
    bytes.push(b'0');
    match read(&bytes) {
        Err(Refused::Damaged { expected, byte, .. }) => {
            assert_eq!(expected, "names that are together not many times as large as the file");
            assert!((byte as usize) < bytes.len() / 10);
        }
        other => panic!("{:?}", other.map(|imported| imported.words)),
    }
}
