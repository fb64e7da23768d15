//! Images of living programs (testdata/memory), one of each CPython: what was found there then is found without an interpreter.

use crate::image::{Image, Look, look};
use genba_python::stack::walked::PythonEnd;
use proptest::prelude::*;

const IMAGES: [(&str, &str); 7] = [
    ("3.11.7", include_str!("../../../../testdata/memory/3.11.txt")),
    ("3.12.1", include_str!("../../../../testdata/memory/3.12.txt")),
    ("3.13.0", include_str!("../../../../testdata/memory/3.13.txt")),
    ("3.14.10", include_str!("../../../../testdata/memory/3.14.txt")),
    ("3.15.2", include_str!("../../../../testdata/memory/3.15.txt")),
    ("3.11.11", include_str!("../../../../testdata/memory/3.11-standalone.txt")),
    ("3.14.6", include_str!("../../../../testdata/memory/3.14-standalone.txt")),
];

/// The functions of testdata/memory/program.py, and their lines.
const BELOW_MAIN: [(&str, u32); 4] = [("inner", 7), ("middle", 11), ("outer", 15), ("<module>", 1)];
const BELOW_WORKER: [(&str, u32); 4] = [("inner", 7), ("middle", 11), ("outer", 15), ("Worker.run", 20)];

fn tids(text: &str) -> Vec<u32> {
    let threads = text.lines().next().and_then(|head| head.split_once(", threads ")).expect("a head with threads");
    threads.1.split(' ').map(|tid| tid.parse().expect("a number")).collect()
}

fn found(text: &str) -> Look {
    look(&Image::from_text(text), &tids(text)).expect("an interpreter")
}

#[test]
fn each_cpython_is_found_with_its_threads_and_frames() {
    for (version, text) in IMAGES {
        let found = found(text);
        assert_eq!(found.version, version);
        let [main, worker] = &found.threads[..] else { panic!("{version}: {found:?}") };
        for (thread, expected) in [(main, BELOW_MAIN), (worker, BELOW_WORKER)] {
            assert_eq!((thread.layout_fits, thread.end), (Some(true), PythonEnd::Complete), "{version}");
            let frames: Vec<_> =
                thread.frames.iter().map(|frame| (frame.qualname.as_str(), frame.first_line)).take(4).collect();
            assert_eq!(frames, expected, "{version}");
            assert!(thread.frames[0].filename.ends_with("program.py"), "{version}: {:?}", thread.frames[0]);
        }
        let above: Vec<_> = worker.frames[4..].iter().map(|frame| frame.qualname.as_str()).collect();
        assert!(above.starts_with(&["Thread.run", "Thread._bootstrap_inner"]), "{version}: {above:?}");
    }
}

#[test]
fn an_image_is_read_as_it_was_written() {
    for (version, text) in IMAGES {
        let image = Image::from_text(text);
        assert_eq!(Image::from_text(&image.to_text()), image, "{version}");
    }
}

/// What the look calls complete has all frames.
#[test]
fn each_word_that_cannot_be_read_ends_the_look_in_order() {
    for (version, text) in IMAGES {
        let image = Image::from_text(text);
        for &address in image.words.keys() {
            let mut torn = image.clone();
            torn.words.insert(address, None);
            if let Some(found) = look(&torn, &tids(text)) {
                for thread in &found.threads {
                    let is_told = thread.end != PythonEnd::Complete || thread.top_not_begun;
                    assert!(
                        is_told || thread.frames.len() >= 4,
                        "{version}: without the word at {address:x}: {thread:?}"
                    );
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn any_word_instead_of_one_ends_the_look(
        which in 0..IMAGES.len(), place in any::<prop::sample::Index>(), word in any::<u64>(), other in any::<prop::sample::Index>(),
    ) {
        let (_, text) = IMAGES[which];
        let mut image = Image::from_text(text);
        let addresses: Vec<u64> = image.words.keys().copied().collect();
        let address = addresses[place.index(addresses.len())];
        for word in [word, addresses[other.index(addresses.len())]] {
            image.words.insert(address, Some(word));
            if let Some(found) = look(&image, &tids(text)) {
                prop_assert!(found.threads.iter().all(|thread| thread.frames.len() <= 1536));
            }
        }
    }
}
