//! Collapsed stacks of py-spy and in the forms of others.

use crate::shown::{golden, leaves, samples};
use genba_format::laws;
use genba_import::read;

#[test]
fn what_py_spy_wrote() {
    let bytes = golden("py-spy.txt");
    let imported = read(&bytes).expect("collapsed stacks");
    assert_eq!(laws::check(&imported.recording), []);
    assert_eq!(imported.faults, [] as [String; 0]);
    // One sample of py-spy's had no stack.
    let expected = [
        ("", 1),
        ("inner.<locals>.<genexpr>:0:spied.py line 5", 23),
        ("inner:0:spied.py line 5", 14),
        ("main.<locals>.<lambda>:0:spied.py line 11", 42),
        ("main:0:spied.py line 11", 67),
    ];
    assert_eq!(leaves(&imported), expected.map(|(name, ticks)| (name.to_owned(), ticks)).into());
}

#[test]
fn counts_are_ticks_however_large() {
    let imported = read(b"a;b 12\r\n\na 10000000000\n").expect("collapsed stacks");
    assert_eq!(laws::check(&imported.recording), []);
    let ticks: Vec<(String, u64)> =
        samples(&imported).into_iter().map(|(stack, _, ticks, ..)| (stack.join(";"), ticks)).collect();
    let a = |ticks| ("a:0:<no file>".to_owned(), ticks);
    let both = ("a:0:<no file>;b:0:<no file>".to_owned(), 12);
    assert_eq!(ticks, [both, a(4_294_967_295), a(4_294_967_295), a(1_410_065_410)]);
}
