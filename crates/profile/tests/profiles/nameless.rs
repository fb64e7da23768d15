//! Files whose functions have no names although much of the time ends in them.

use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile};
use genba_profile::nameless::nameless;
use genba_profile::weight::Weight;

fn check(recording: &str, expected: Expect) {
    let profile = profile(&notation::recording(recording), &Additions::default());
    let lines: Vec<String> =
        nameless(&profile, Weight::Cpu).iter().map(|file| format!("{}: {}\n", file.path, file.words)).collect();
    expected.assert_eq(&lines.concat());
}

#[test]
fn from_a_twentieth_of_what_ends_there() {
    let recording = |count: usize| {
        format!("process 7 3.13.0\n f@a.py:1 > g[named.so] x{}\n f@a.py:1 > +0x1234[bare.so] x{count}\n", 200 - count)
    };
    check(&recording(9), expect![[""]]);
    check(
        &recording(10),
        expect![[r#"
            /usr/lib/bare.so: 5.0 % of the CPU ends in functions of bare.so that have no name
        "#]],
    );
    // What it calls has a name.
    check("process 7 3.13.0\n f@a.py:1 > +0x1234[bare.so] > memmove[libc.so.6] x900", expect![[""]]);
}

/// No build of anybody's brings the names of genba's own library.
#[test]
fn genba_s_own_files_are_left_out() {
    let recording =
        "process 7 3.13.0\n f@a.py:1 > +0x1234[genba-copies-0a1b.so] x900\n +0x1234[genba-agent-0a1b.so] x900";
    check(recording, expect![[""]]);
}
