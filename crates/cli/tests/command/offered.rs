//! Commands that genba offers for copying: a shell takes each name as one word.

use expect_test::expect;

use crate::notation;
use crate::sandbox::Sandbox;

#[test]
fn a_name_with_a_blank_is_one_word() {
    let sandbox = Sandbox::new("offered");
    sandbox.file("work/a b.genba", &notation::bytes("process 7 3.13.0 cwd=/app\nmain@a.py:1 x9\n"));
    sandbox.check_command(
        &mut sandbox.genba(&["diff", "a b.genba"]),
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: one recording has nothing to be compared with
              hint: genba diff before.genba 'a b.genba'
              hint: genba diff --before-time ..2s --after-time 2s..4s 'a b.genba' compares two times of it
        "#]],
    );
    sandbox.check_command(
        &mut sandbox.genba(&["run", "-o", "no such/app.genba", "true"]),
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: cannot write the recording no such/app.genba: its folder does not exist
              hint: mkdir -p 'no such'
        "#]],
    );
    sandbox.check_command(
        &mut sandbox.genba(&["run", "./a b.genba"]),
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: cannot run ./a b.genba: it is not executable
              hint: genba report './a b.genba', or genba view './a b.genba'
        "#]],
    );
    sandbox.check_command(
        &mut sandbox.genba(&["a b.py", "$HOME"]),
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: `a b.py` is not a verb of genba
              hint: genba run 'a b.py' '$HOME'
        "#]],
    );
    sandbox.check_command(
        &mut sandbox.genba(&["diff", "app.genba"]),
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: one recording has nothing to be compared with
              hint: genba diff before.genba app.genba
              hint: genba diff --before-time ..2s --after-time 2s..4s app.genba compares two times of it
        "#]],
    );
}
