//! The verdict on the cycle collector: what to do follows what the collections of the run and the one at exit have in all.

use crate::judged::{PROCESS, check, expressions};
use expect_test::expect;

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
