//! `genba lines` from outside: its width, and how it ends when nothing fits.

use crate::notation;
use crate::sandbox::Sandbox;
use expect_test::expect;

const SLICES: &str = "
    process 4127 3.15.2 executable=/usr/bin/python3.15 cwd=/home/me
    source /home/me/slices.py
    |def before(b):
    |    n = 0
    |    for i in range(len(b)): n += len(b[i:][:2]) if b[i:] else ' this is a line that is wider than many a window '
    <module>@slices.py:9 > before@slices.py:3[37-42] > ?bytes.__getitem__[python3.15] > memmove[libc.so.6] x500
    refused moved 2
";

fn with_slices(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.file("work/slices.genba", &notation::bytes(SLICES));
    sandbox
}

#[test]
fn the_width_is_that_of_columns_and_100_in_a_pipe() {
    let sandbox = with_slices("lines-width");
    sandbox.check_command(
        sandbox.genba(&["lines"]).env("COLUMNS", "80"),
        expect![[r#"
            exit code 0
            stdout
              CPython 3.15.2 · 800 ms wall · 800 ms CPU · 1 process, 1 thread ·
                sampled every 1.6 ms
              ticks 502 = sampled 500 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %

              slices.py:1 before · 100.0 % of 800 ms CPU
                total      CPU     wall     self  line
                                                     1  def before(b):
                                                     2      n = 0
              100.0 %   800 ms   800 ms  100.0 %     3      for i in range(len(b)): n += len(…
                                                        ~ b[i:] 100.0 %
            stderr
              reading slices.genba
        "#]],
    );
    sandbox.check_command(sandbox.genba(&["lines"]).env("COLUMNS", "160"), expect![[r#"
        exit code 0
        stdout
          CPython 3.15.2 · 800 ms wall · 800 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
          ticks 502 = sampled 500 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %

          slices.py:1 before · 100.0 % of 800 ms CPU
            total      CPU     wall     self  line
                                                 1  def before(b):
                                                 2      n = 0
          100.0 %   800 ms   800 ms  100.0 %     3      for i in range(len(b)): n += len(b[i:][:2]) if b[i:] else ' this is a line that is wider than many a window '
                                                                                         ~~~~~ 100.0 %
        stderr
          reading slices.genba
    "#]]);
    sandbox.check(
        "lines slices.genba",
        expect![[r#"
            exit code 0
            stdout
              CPython 3.15.2 · 800 ms wall · 800 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
              ticks 502 = sampled 500 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %

              slices.py:1 before · 100.0 % of 800 ms CPU
                total      CPU     wall     self  line
                                                     1  def before(b):
                                                     2      n = 0
              100.0 %   800 ms   800 ms  100.0 %     3      for i in range(len(b)): n += len(b[i:][:2]) if b[i:] …
                                                                                             ~~~~~ 100.0 %
            stderr
        "#]],
    );
}

#[test]
fn a_function_in_code_of_others_is_answered_with_the_command_that_shows_it() {
    let sandbox = Sandbox::new("lines-elsewhere");
    let recording = "process 7 3.13.0 cwd=/app\nmain@app.py:3 > anon@<string>:2[4-9] x500";
    sandbox.file("work/made.genba", &notation::bytes(recording));
    sandbox.check(
        "lines made.genba --function ^anon$",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no function of your own code with samples matches `^anon$`
          hint: genba lines --function '^anon$' --file '<string>' made.genba
    "#]],
    );
}

#[test]
fn what_is_asked_for_and_not_there_ends_with_1() {
    let sandbox = with_slices("lines-nothing");
    sandbox.check(
        "lines slices.genba --function after",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no function of your own code with samples matches `after`
          hint: genba report --by function --limit 0 shows the names; --file GLOB shows libraries too
    "#]],
    );
    sandbox.check(
        "lines slices.genba --file other.py",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no source file of this recording matches `other.py`
            found: /home/me/slices.py
          hint: the end of a path is enough; * and ? stand for any
    "#]],
    );
    sandbox.check(
        "lines slices.genba --file slices.py --function after",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no function with samples matches in `slices.py`
          hint: leave --function or a filter out to see what there is
    "#]],
    );
    sandbox.check(
        "lines slices.genba --focus after",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: --focus after: no frame of this recording has such a name or file
          hint: genba tree shows the names; capitals count unless the expression begins with (?i)
    "#]],
    );
}

/// The source is asked for with `--file`.
#[test]
fn source_that_is_named_where_recordings_are_is_answered_with_the_option() {
    let sandbox = with_slices("lines-source");
    sandbox.file("work/slices.py", b"def before(b):\n    n = 0\n");
    sandbox.check(
        "lines slices.py slices.genba",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: slices.py is not a recording
            it is Python source
          hint: genba lines --file slices.py slices.genba
    "#]],
    );
    sandbox.check(
        "lines slices.py",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: slices.py is not a recording
            it is Python source
          hint: genba lines --file slices.py
    "#]],
    );
    let done = sandbox.genba(&["lines", "--file", "slices.py", "slices.genba"]).output().expect("genba starts");
    assert!(done.status.success() && String::from_utf8_lossy(&done.stdout).contains("slices.py:1 before"), "{done:?}");
}
