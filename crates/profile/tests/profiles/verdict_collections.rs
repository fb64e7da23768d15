//! The verdict on the cycle collector: what to do follows what the collections of the run and the one at exit have in all.

use crate::judged::{PROCESS, check, expressions};
use crate::notation;
use expect_test::expect;
use genba_profile::build::{Additions, profile};
use genba_profile::profile::{Collection, ProcessIndex, Reason};
use genba_profile::table::TableIndex;
use genba_profile::verdict::verdict;

/// Two places of collections in the run, each smaller than the one at exit and larger together.
#[test]
fn what_to_do_about_collections_follows_their_sums() {
    let collections = |one: usize, other: usize, at_exit: usize| {
        let exit =
            format!("_start[python3.13] > Py_FinalizeEx[python3.13] > gc_collect_main[python3.13] x{at_exit} gc\n");
        let in_run = format!("make@app.py:7[4-9] x{one} gc\nkeep@app.py:8[4-9] x{other} gc\n");
        format!("{PROCESS}{exit}{in_run}{}", expressions(4, (100 - one - other - at_exit) / 4))
    };
    check(
        &collections(24, 20, 36),
        expect![[r#"
        gc: 80.0 % of 160 ms CPU is the cycle collector, set off by:
         36.0 %  57.6 ms  at exit: collecting everything that is left
         24.0 %  38.4 ms  app.py:7 make
         20.0 %  32.0 ms  app.py:8 keep
        higher gc.set_threshold(), or gc.freeze() after start-up, if little of it frees anything
        gc.freeze() as the program's last line: what is left is not searched then
    "#]],
    );
    check(
        &collections(12, 8, 32),
        expect![[r#"
        gc: 52.0 % of 160 ms CPU is the cycle collector, set off by:
         32.0 %  51.2 ms  at exit: collecting everything that is left
         12.0 %  19.2 ms  app.py:7 make
          8.0 %  12.8 ms  app.py:8 keep
        gc.freeze() as the program's last line: what is left is not searched then
        higher gc.set_threshold(), or gc.freeze() after start-up, if little of it frees anything
    "#]],
    );
    check(
        &collections(11, 8, 33),
        expect![[r#"
        gc: 52.0 % of 160 ms CPU is the cycle collector, set off by:
         33.0 %  52.8 ms  at exit: collecting everything that is left
         11.0 %  17.6 ms  app.py:7 make
          8.0 %  12.8 ms  app.py:8 keep
        gc.freeze() as the program's last line: what is left is not searched then
    "#]],
    );
    check(
        &collections(24, 21, 19),
        expect![[r#"
        gc: 64.0 % of 160 ms CPU is the cycle collector, set off by:
         24.0 %  38.4 ms  app.py:7 make
         21.0 %  33.6 ms  app.py:8 keep
         19.0 %  30.4 ms  at exit: collecting everything that is left
        higher gc.set_threshold(), or gc.freeze() after start-up, if little of it frees anything
    "#]],
    );
}

/// A higher threshold lets garbage wait; where collections were recorded, how much of it there was is known.
#[test]
fn what_collections_freed_decides_what_to_do() {
    let text = format!("{PROCESS}make@app.py:7[4-9] x60 gc\n{}", expressions(4, 10));
    let said = |collected: &[u64]| {
        let mut profile = profile(&notation::recording(&text), &Additions::default());
        profile.collections.extend(collected.iter().map(|collected| Collection {
            process: ProcessIndex::new(0),
            thread: None,
            node: None,
            at_ns: 0,
            pause_ns: 10,
            generation: 0,
            reason: Reason::Threshold,
            examined: Some(2_000),
            collected: *collected,
            uncollectable: 0,
            young: 2_000,
            threshold: 2_000,
        }));
        let verdict = verdict(&profile);
        verdict.said(&profile).details.iter().map(ToString::to_string).find(|line| !line.contains(" % ")).unwrap()
    };
    let higher = "higher gc.set_threshold(), or gc.freeze() after start-up";
    assert_eq!(said(&[]), format!("{higher}, if little of it frees anything"));
    assert_eq!(said(&[0, 0]), format!("{higher}: its collections freed nothing"));
    assert_eq!(said(&[19, 0]), format!("{higher}: its collections freed only 19 objects"));
    assert_eq!(said(&[1_900, 0]), "it freed 1,900 objects: genba gc FILE says where, and how to find their cycles");
}
