//! A recording whose blocks come one by one gives, after each of them, the profile of a file that ends there.

use crate::notation;
use genba_format::{Event, Reader, Recording, read};
use genba_profile::build::{Additions, profile};
use genba_profile::export::json;
use genba_profile::growing::Growing;
use genba_profile::profile::Profile;
use genba_profile::reading::Reading;

const GOLDEN: [&[u8]; 3] = [
    include_bytes!("../../../../testdata/golden/v1.genba"),
    include_bytes!("../../../../testdata/golden/v2.genba"),
    include_bytes!("../../../../testdata/golden/v3.genba"),
];

/// Two threads at the same time, one of them without Python.
const BESIDE: &str = "
    process 7 3.13.0 cwd=/app
    main@a.py:1 > wait@a.py:2 > poll[libc.so.6] x20 poll at=0
    thread 8 worker
    spin[libblas.so] x10 at=5
    lost block
    main@a.py:1 > other@a.py:7 x3
";

/// All that is shown of it.
fn shown(profile: Profile) -> String {
    let context = json::Context { genba_version: "0", recording: None, warnings: &[] };
    json::json(&Reading::of(profile), context).expect("JSON")
}

fn add_all(growing: &mut Growing, reader: &mut Reader) -> usize {
    let mut blocks = 0;
    loop {
        match reader.event() {
            Event::Block(block) => {
                growing.add(*block);
                blocks += 1;
            }
            Event::Fault(fault) => growing.add_fault(fault),
            Event::NeedMore => return blocks,
        }
    }
}

#[test]
fn after_each_block_it_is_the_profile_of_those_so_far() {
    let beside = notation::bytes(BESIDE);
    for bytes in [GOLDEN[0], GOLDEN[1], GOLDEN[2], &beside] {
        let (mut growing, mut reader, mut blocks) = (Growing::default(), Reader::default(), 0);
        for piece in bytes.chunks(512) {
            reader.feed(piece);
            let more = add_all(&mut growing, &mut reader);
            blocks += more;
            if more > 0 {
                let so_far = growing.recording().clone();
                assert_eq!(
                    shown(growing.profile(&Additions::default())),
                    shown(profile(&so_far, &Additions::default())),
                    "after {blocks} blocks"
                );
            }
        }
        assert!(blocks > 1);
        let whole = profile(&read(bytes).expect("a recording"), &Additions::default());
        assert_eq!(shown(growing.profile(&Additions::default())), shown(whole));
    }
}

#[test]
fn a_damaged_block_is_a_fault_and_those_behind_it_are_there() {
    let mut bytes = GOLDEN[2].to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let (mut growing, mut reader) = (Growing::default(), Reader::default());
    reader.feed(&bytes);
    add_all(&mut growing, &mut reader);
    reader.end();
    add_all(&mut growing, &mut reader);
    let whole = read(&bytes).expect("a recording");
    let sorted = |recording: &Recording| {
        let mut faults: Vec<String> = recording.faults.iter().map(ToString::to_string).collect();
        faults.sort();
        (faults, recording.lost.clone())
    };
    assert!(!whole.faults.is_empty() && !whole.lost.is_empty());
    assert_eq!(growing.recording().blocks, whole.blocks);
    assert_eq!(sorted(growing.recording()), sorted(&whole));
}

#[test]
fn the_newest_blocks_alone_have_their_own_samples_and_everybodys_accounting() {
    let (mut growing, mut reader) = (Growing::default(), Reader::default());
    reader.feed(GOLDEN[2]);
    add_all(&mut growing, &mut reader);
    let ends: Vec<u64> = growing.recording().blocks.iter().map(|read| read.header.end_ns).collect();
    let (newest_ns, oldest_ns) = (*ends.iter().max().unwrap(), *ends.iter().min().unwrap());
    let samples = |profile: &Profile| profile.samples.iter().map(|group| group.samples).sum::<u64>();
    let whole = growing.profile(&Additions::default());
    let last = growing.profile_of_last(newest_ns - oldest_ns, &Additions::default());
    let newer = growing.recording().blocks.iter().filter(|read| read.header.end_ns > oldest_ns);
    let newer_samples: usize = newer.filter_map(|read| read.samples.as_ref()).map(|samples| samples.len()).sum();
    assert_eq!(samples(&last), newer_samples as u64);
    assert!(samples(&last) < samples(&whole), "{} of {}", samples(&last), samples(&whole));
    assert_eq!(last.accounting(), whole.accounting());
    assert_eq!(last.clocks(), whole.clocks());
    let all = growing.profile_of_last(u64::MAX, &Additions::default());
    assert_eq!(samples(&all), samples(&whole));
    assert_eq!(samples(&growing.profile(&Additions::default())), samples(&whole), "the earlier ones are back");
}
