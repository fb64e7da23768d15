//! Any bytes give a recording that keeps the laws, or an error: never a panic.

use crate::shown::{golden, samples};
use genba_format::laws;
use genba_import::read;
use proptest::prelude::*;

const GOLDEN: [&str; 10] = [
    "format-7-lines-memory.vmprof",
    "format-7-native.vmprof",
    "format-6-threads.vmprof",
    "format-7-plain.vmprof.gz",
    "format-7-plain.vmprof.bz2",
    "py-spy.txt",
    "cprofile-2.7.18.prof",
    "cprofile-3.13.0.prof",
    "profile-3.13.0.prof",
    "genba-3.13.0.prof",
];

fn sound(bytes: &[u8]) {
    if let Ok(imported) = read(bytes) {
        assert_eq!(laws::check(&imported.recording), []);
        // Each index names a row, and each parent stands before its node.
        samples(&imported);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        sound(&bytes);
    }

    #[test]
    fn random_records(records in prop::collection::vec((0_u8..10, any::<[u8; 20]>(), 0_usize..20), 0..20), mode in any::<u8>(), version in 0_u8..9) {
        let mut bytes: Vec<u8> = [0_u64, 3, 0, 990, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend([5, 0, version, mode & !8, 0]);
        for (marker, rest, length) in records {
            bytes.push(marker);
            bytes.extend(1_u64.to_le_bytes());
            bytes.extend(&rest[..length]);
        }
        sound(&bytes);
    }

    #[test]
    fn damaged_files(file in 0..GOLDEN.len(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>()) {
        let mut bytes = golden(GOLDEN[file]);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        sound(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        sound(&bytes);
    }

    #[test]
    fn random_lines(text in "([a-z;\\\\ ()\\[\\]:./0-9]{0,30} [0-9]{1,20}\n){0,6}") {
        sound(text.as_bytes());
    }
}
