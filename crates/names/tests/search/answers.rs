//! The answers for a whole file are those for each of its addresses.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::interpreters::missing;
use genba_names::{Answer, KnownFunction, Names};

const SHOP: &[u8] = include_bytes!("../shop/shop.so");

fn check(image: &[u8], known: &[KnownFunction<'_>], step: usize) {
    let names = Names::new(image, None, known).unwrap();
    let answers = names.answers(None);
    assert!(answers.windows(2).all(|pair| pair[0].stretch.end <= pair[1].stretch.start), "sorted, without overlap");
    let end = answers.last().map_or(0, |answer| answer.stretch.end) + 32;
    // Each boundary from both sides, and addresses in between.
    let bounds = answers.iter().flat_map(|answer| [answer.stretch.start, answer.stretch.end]);
    let around: BTreeSet<u64> =
        bounds.flat_map(|at| [at.saturating_sub(1), at, at + 1]).chain((0..end).step_by(step)).collect();
    // Those that are not there are asked for in another search: it may remember what it found before.
    let again = Names::new(image, None, known).unwrap();
    for address in around {
        let found = answers.iter().rfind(|answer| answer.stretch.contains(&address));
        let named = again.name_of(address);
        assert_eq!(found.and_then(|answer| answer.named.clone()), named, "{address:x}");
        let extent = again.extent_of(address).filter(|_| named.is_none());
        let function = found.filter(|answer| answer.named.is_none()).map(|answer| &answer.function);
        assert_eq!(function.map(|function| (function.start, function.end)), extent, "{address:x}");
    }
}

#[test]
fn of_a_small_module() {
    check(SHOP, &[], 1);
    check(SHOP, &[KnownFunction { address: 0x1330, name: "memmove" }], 1);
}

#[test]
fn of_a_library_with_stubs_and_symbols_inside_of_others() {
    let path = Path::new("/lib/x86_64-linux-gnu/libz.so.1");
    match fs::read(path) {
        Ok(image) => check(&image, &[], 64),
        Err(_) => missing(&format!("no {}", path.display()), "apt-get install zlib1g"),
    }
}

#[test]
fn of_the_addresses_that_are_asked_for() {
    let names = Names::new(SHOP, None, &[]).unwrap();
    let of = |addresses: &[u64]| -> Vec<Answer> { names.answers(Some(&addresses.iter().copied().collect())) };
    let all = names.answers(None);
    assert_eq!(of(&[]), []);
    let some = of(&[0x13a5, 0x1490]);
    assert_eq!(some.len(), 2);
    assert!(some.iter().all(|answer| all.contains(answer)));
}
