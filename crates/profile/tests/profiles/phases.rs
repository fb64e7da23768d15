//! The interpreter's own work, before and after the program's code, has rows of its own.

use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile};
use genba_profile::paint::Paint;
use genba_profile::reading::Reading;
use genba_profile::report::{By, Options, report, text};
use genba_profile::weight::Weight;

fn check(by: By, stacks: &str, expected: Expect) {
    check_with(Options { by, ..Options::default() }, stacks, expected);
}

fn check_with(options: Options, stacks: &str, expected: Expect) {
    let reading =
        Reading::of(profile(&notation::recording(&format!("process 7 3.13.0\n{stacks}")), &Additions::default()));
    let report = report(&reading, &options);
    let page = text::text(&reading, &report, None, Paint::Plain);
    expected.assert_eq(page.split_once("covered 100.0 %\n").map_or("", |(_, rows)| rows));
}

const START: &str = "_start[python3.13] > pymain_init[libpython3.13.so] > Py_InitializeFromConfig[libpython3.13.so] > init_import_site[libpython3.13.so] > <module>@<frozen·site>:1[0-9] > main@<frozen·site>:600[0-9] > marshal_loads[libpython3.13.so]";
const RUN: &str = "_start[python3.13] > Py_RunMain[libpython3.13.so] > <module>@app.py:3[0-9] > work@app.py:1[0-9]";
const END: &str = "_start[python3.13] > Py_RunMain[libpython3.13.so] > Py_FinalizeEx[libpython3.13.so] > finalize_modules[libpython3.13.so] > gc_collect_main[libpython3.13.so]";

#[test]
fn the_interpreters_own_beginning_and_end_are_called_so() {
    let all = format!("{START} x50\n{RUN} x40\n{END} x30 gc\n_start[python3.13] > main[app] x10\n");
    check(
        By::Expression,
        &all,
        expect![[r#"
            gc: 23.1 % of 208 ms CPU is the cycle collector, set off by:
               23.1 %  48.0 ms  at exit: collecting everything that is left
              gc.freeze() as the program's last line: what is left is not searched then

             38.5 %  80.0 ms  interpreter start-up
                                  init_import_site → <module site> → main → marshal_loads 100 %
             30.8 %  64.0 ms  app.py:1 work (columns 1 to 9)
             23.1 %  48.0 ms  interpreter shutdown
                                  gc_collect_main → in gc 100 %
              7.7 %  16.0 ms  outside of Python
                                  _start → main (app) 100 %
        "#]],
    );
    check(
        By::Function,
        &all,
        expect![[r#"
            gc: 23.1 % of 208 ms CPU is the cycle collector, set off by:
               23.1 %  48.0 ms  at exit: collecting everything that is left
              gc.freeze() as the program's last line: what is left is not searched then

             38.5 %  80.0 ms  interpreter start-up
                                  init_import_site → <module site> → main → marshal_loads 100 %
             30.8 %  64.0 ms  app.py:1 work
             23.1 %  48.0 ms  interpreter shutdown
                                  gc_collect_main → in gc 100 %
              7.7 %  16.0 ms  outside of Python
                                  _start → main (app) 100 %
        "#]],
    );
    check(
        By::Process,
        &all,
        expect![[r#"
        gc: 23.1 % of 208 ms CPU is the cycle collector, set off by:
           23.1 %  48.0 ms  at exit: collecting everything that is left
          gc.freeze() as the program's last line: what is left is not searched then

        100.0 %  208 ms  process 7
                             marshal_loads 38 %, _start 31 %
    "#]],
    );
}

#[test]
fn own_code_that_runs_then_is_the_programs() {
    let site = "_start[python3.13] > Py_InitializeFromConfig[libpython3.13.so] > <module>@<frozen·site>:1[0-9] > hook@/home/me/hook.py:2[0-9]";
    let leave = "_start[python3.13] > Py_FinalizeEx[libpython3.13.so] > saved@app.py:9[0-9]";
    check(
        By::Expression,
        &format!("{RUN} x40\n{site} x30\n{leave} x20\n"),
        expect![[r#"
        one place: 44.4 % of 144 ms CPU is app.py:1 work
          and 33.3 % is hook.py:2 hook

         44.4 %  64.0 ms  app.py:1 work (columns 1 to 9)
         33.3 %  48.0 ms  hook.py:2 hook (columns 1 to 9)
         22.2 %  32.0 ms  app.py:9 saved (columns 1 to 9)
    "#]],
    );
}

#[test]
fn a_library_that_runs_then_has_its_own_row() {
    let site = "_start[python3.13] > Py_InitializeFromConfig[libpython3.13.so] > <module>@<frozen·site>:1[0-9]";
    let hook = format!("{site} > <module>@<string>:1[0-9] > <module>@/v/site-packages/_hook.py:2[0-9]");
    let text = format!("{site} > <module>@<string>:1[0-9] > <module>@/usr/lib/python3.13/types.py:2[0-9]");
    check(
        By::Expression,
        &format!("{RUN} x60\n{hook} x20\n{text} x20\n"),
        expect![[r#"
            one place: 60.0 % of 160 ms CPU is app.py:1 work

             60.0 %  96.0 ms  app.py:1 work (columns 1 to 9)
             20.0 %  32.0 ms  interpreter start-up
                                  <module site> → <module> → <module types> 100 %
             20.0 %  32.0 ms  _hook.py:2 <module> (columns 1 to 9)
        "#]],
    );
}

#[test]
fn who_waits_for_a_thread_at_the_end_keeps_the_line() {
    let wait =
        "_start[python3.13] > Py_FinalizeEx[libpython3.13.so] > _shutdown@/usr/lib/python3.13/threading.py:9[0-9]";
    check(
        By::Expression,
        &format!("{RUN} x30\n{wait} x70 futex\n"),
        expect![[r#"
            waiting: 160 ms wall, 48.0 ms CPU (30.0 %). Shares below are of 160 ms in 1 thread.
               70.0 %   112 ms  threading.py:9 _shutdown   waiting for a lock (futex)

             70.0 %   112 ms  threading.py:9 _shutdown (columns 1 to 9)
                                  in futex(2) 100 %
             30.0 %  48.0 ms  app.py:1 work (columns 1 to 9)
        "#]],
    );
}

/// A line of a `.pth` file that waits for a CPU belongs where it belongs when it runs. At the end, threads of the program's are waited for.
#[test]
fn what_waits_in_the_beginning_is_the_beginning() {
    let line = "_start[python3.13] > Py_InitializeFromConfig[libpython3.13.so] > main@<frozen·site>:600[0-9] > <module>@<string>:1[0-9]";
    check_with(
        Options { by: By::Function, weight: Some(Weight::Wall), ..Options::default() },
        &format!("{RUN} x40\n{line} x10\n{line} x10 cpu\n{line} x10 futex\n{END} x10 futex\n"),
        expect![[r#"
            one place: 80.0 % of 80.0 ms CPU is app.py:1 work
            weight: wall

             50.0 %  64.0 ms  app.py:1 work
             37.5 %  48.0 ms  interpreter start-up
                                  main → <module> 100 %: waiting for CPU 33 %, in futex(2) 33 %
             12.5 %  16.0 ms  outside of Python
                                  _start → Py_RunMain → Py_FinalizeEx → finalize_modules → gc_collect_main → in futex(2) 100 %
        "#]],
    );
}

/// In the first milliseconds of a process genba does not know yet how to go on from the interpreter's C functions to their callers.
#[test]
fn the_beginning_is_called_so_where_the_c_stack_was_cut() {
    let start = "_install_external_importers@<frozen·importlib._bootstrap>:1549[0-9] > _find_and_load@<frozen·importlib._bootstrap>:1360[0-9] > PyObject_Malloc[libpython3.13.so]";
    check(
        By::Expression,
        &format!("{start} x60\n{RUN} x40\n"),
        expect![[r#"
            start-up: 96.0 ms of 160 ms is importing
               60.0 %  96.0 ms  <frozen importlib._bootstrap>:1549 _install_external_importers   (running 96.0 ms)

             60.0 %  96.0 ms  interpreter start-up
                                  PyObject_Malloc 100 %
             40.0 %  64.0 ms  app.py:1 work (columns 1 to 9)
        "#]],
    );
    let modules = "_install@<frozen·importlib._bootstrap>:1540[0-9] > _setup@<frozen·importlib._bootstrap>:1521[0-9] > ascii_decode[libpython3.13.so]";
    check(
        By::Expression,
        &format!("{modules} x20\n{RUN} x80\n"),
        expect![[r#"
        one place: 80.0 % of 160 ms CPU is app.py:1 work

         80.0 %   128 ms  app.py:1 work (columns 1 to 9)
         20.0 %  32.0 ms  interpreter start-up
                              _setup → ascii_decode 100 %
    "#]],
    );
}
