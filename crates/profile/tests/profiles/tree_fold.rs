//! The tree begins at the program's first frame: which frames of the interpreter fold into one line, and which do not.
//! testdata/page/fold.json is read by web/model/tree/fold.test.ts, too.

use crate::notation;
use expect_test::{Expect, expect, expect_file};
use genba_profile::build::{Additions, profile};
use genba_profile::export;
use genba_profile::paint::Paint;
use genba_profile::reading::Reading;
use genba_profile::show::Show;
use genba_profile::tree::{Options, text, tree};
use genba_profile::weight::{Totals, Weight};
use serde_json::{Value, json};

fn check(recording: &str, options: Options, expected: Expect) {
    let reading = Reading::of(profile(&notation::recording(recording), &Additions::default()));
    let tree = tree(&reading, &options);
    expected.assert_eq(&text::text(&reading, &tree, &options, None, Paint::Plain));
}

/// The frames of CPython 3.13 above a script's first line and between two functions, beside a little start-up.
const FROM_THE_START: &str = "
    process 7 3.13.0 cwd=/app executable=/usr/bin/python3.13
    _start[python3.13] > __libc_start_main[libc.so.6] > Py_RunMain[python3.13] > <module>@app.py:9 > PyObject_Vectorcall[python3.13] > cfunction_vectorcall_O[python3.13] > list_sort[python3.13] > _PyEval_Vector[python3.13] > _PyEval_EvalFrame[python3.13] > key@app.py:2 x199
    _start[python3.13] > __libc_start_main[libc.so.6] > Py_RunMain[python3.13] > <module>@app.py:9 > PyObject_Vectorcall[python3.13] > builtin_len[python3.13] x100
    _start[python3.13] > __libc_start_main[libc.so.6] > Py_InitializeEx[python3.13] x1
";

#[test]
fn a_path_begins_at_the_programs_first_frame() {
    check(
        FROM_THE_START,
        Options { share_min: 0.01, ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 480 ms wall · 480 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 300 = sampled 300 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
            100.0 %   480 ms        –   480 ms        –  (3 frames of the interpreter)
             99.7 %   478 ms        –   478 ms        –    <module> (app.py:1)
             99.7 %   478 ms        –   478 ms        –      PyObject_Vectorcall [python3.13]
             66.3 %   318 ms        –   318 ms        –        cfunction_vectorcall_O [python3.13]
             66.3 %   318 ms        –   318 ms        –          list_sort [python3.13]
             66.3 %   318 ms        –   318 ms        –            (2 frames of the interpreter)
             66.3 %   318 ms   318 ms   318 ms   318 ms              key (app.py:1)
             33.3 %   160 ms   160 ms   160 ms   160 ms        builtin_len [python3.13]
              0.3 %                                      (1 more path not shown, under 1 % in each place)

            frames of the interpreter: each only leads to the next call; --whole shows them
        "#]],
    );
    let python = Options { share_min: 0.01, show: Show::Python, ..Options::default() };
    check(
        FROM_THE_START,
        python,
        expect![[r#"
            CPython 3.13.0 · 480 ms wall · 480 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 300 = sampled 300 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
             99.7 %   478 ms   160 ms   478 ms   160 ms  <module> (app.py:1)
             66.3 %   318 ms   318 ms   318 ms   318 ms    key (app.py:1)
              0.3 %                                      (1 more path not shown, under 1 % in each place)
        "#]],
    );
}

#[test]
fn whole_paths_have_every_frame_of_the_interpreter() {
    check(
        FROM_THE_START,
        Options { whole: true, share_min: 0.01, ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 480 ms wall · 480 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 300 = sampled 300 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
            100.0 %   480 ms        –   480 ms        –  _start [python3.13]
            100.0 %   480 ms        –   480 ms        –    __libc_start_main [libc.so.6]
             99.7 %   478 ms        –   478 ms        –      Py_RunMain [python3.13]
             99.7 %   478 ms        –   478 ms        –        <module> (app.py:1)
             99.7 %   478 ms        –   478 ms        –          PyObject_Vectorcall [python3.13]
             66.3 %   318 ms        –   318 ms        –            cfunction_vectorcall_O [python3.13]
             66.3 %   318 ms        –   318 ms        –              list_sort [python3.13]
             66.3 %   318 ms        –   318 ms        –                _PyEval_Vector [python3.13]
             66.3 %   318 ms        –   318 ms        –                  _PyEval_EvalFrame [python3.13]
             66.3 %   318 ms   318 ms   318 ms   318 ms                    key (app.py:1)
             33.3 %   160 ms   160 ms   160 ms   160 ms            builtin_len [python3.13]
              0.3 %                                      (1 more path not shown, under 1 % in each place)
        "#]],
    );
}

/// A frame with self time, or with a second heavy call, has its own line. The numbers of a fold are the numbers of its calls.
#[test]
fn a_frame_that_does_something_is_shown() {
    check(
        "
        process 7 3.13.0 cwd=/app executable=/usr/bin/python3.13
        _start[python3.13] > main[python3.13] > Py_RunMain[python3.13] > run_mod[python3.13] > <module>@app.py:9 x90
        _start[python3.13] > main[python3.13] > Py_RunMain[python3.13] > Py_FinalizeEx[python3.13] x8
        _start[python3.13] > main[python3.13] > Py_RunMain[python3.13] x2
        ",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 160 ms wall · 160 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 100 = sampled 100 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
            100.0 %   160 ms        –   160 ms        –  (2 frames of the interpreter)
            100.0 %   160 ms  3.20 ms   160 ms  3.20 ms    Py_RunMain [python3.13]
             90.0 %   144 ms        –   144 ms        –      run_mod [python3.13]
             90.0 %   144 ms   144 ms   144 ms   144 ms        <module> (app.py:1)
              8.0 %  12.8 ms  12.8 ms  12.8 ms  12.8 ms      Py_FinalizeEx [python3.13]

            frames of the interpreter: each only leads to the next call; --whole shows them
        "#]],
    );
    check(
        "
        process 7 3.13.0 cwd=/app executable=/usr/bin/python3.13
        clone3[libc.so.6] > start_thread[libc.so.6] > blas_thread[libblas.so.3] > dgemm[libblas.so.3] x90
        ",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 144 ms wall · 144 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 90 = sampled 90 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
            100.0 %   144 ms        –   144 ms        –  clone3 [libc.so.6]
            100.0 %   144 ms        –   144 ms        –    start_thread [libc.so.6]
            100.0 %   144 ms        –   144 ms        –      blas_thread [libblas.so.3]
            100.0 %   144 ms   144 ms   144 ms   144 ms        dgemm [libblas.so.3]
        "#]],
    );
}

/// What CPython 3.13 runs between one module and the next: a module is a line, and so is a step in which time is used.
const IMPORTS: &str = "
    process 7 3.13.0 cwd=/app executable=/usr/bin/python3.13
    <module>@app.py:9 > PyImport_ImportModuleLevelObject[python3.13] > import_find_and_load[python3.13] > PyObject_CallMethodObjArgs[python3.13] > _find_and_load@<frozen importlib._bootstrap>:1360 > _find_and_load_unlocked@<frozen importlib._bootstrap>:1331 > _load_unlocked@<frozen importlib._bootstrap>:935 > _LoaderBasics.exec_module@<frozen importlib._bootstrap_external>:1022 > _call_with_frames_removed@<frozen importlib._bootstrap>:488 > cfunction_vectorcall_FASTCALL_KEYWORDS[python3.13] > builtin_exec[python3.13] > PyEval_EvalCode[python3.13] > <module>@/usr/lib/python3.13/json/__init__.py:106 x80
    <module>@app.py:9 > PyImport_ImportModuleLevelObject[python3.13] > import_find_and_load[python3.13] > PyObject_CallMethodObjArgs[python3.13] > _find_and_load@<frozen importlib._bootstrap>:1360 > _find_and_load_unlocked@<frozen importlib._bootstrap>:1322 > _find_spec@<frozen importlib._bootstrap>:1259 > os_stat[python3.13] x20
";

#[test]
fn an_import_is_the_module_that_it_runs() {
    check(
        IMPORTS,
        Options { share_min: 0.01, ..Options::default() },
        expect![[r#"
        CPython 3.13.0 · 160 ms wall · 160 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
        ticks 100 = sampled 100 + dropped 0 + refused 0 · CPU covered 100.0 %

          share      CPU     self     wall     self  path
        100.0 %   160 ms        –   160 ms        –  <module> (app.py:1)
        100.0 %   160 ms        –   160 ms        –    (5 frames of the interpreter)
         80.0 %   128 ms        –   128 ms        –      (6 frames of the interpreter)
         80.0 %   128 ms   128 ms   128 ms   128 ms        <module> (__init__.py:1)
         20.0 %  32.0 ms        –  32.0 ms        –      _find_spec (<frozen importlib._bootstrap>:1)
         20.0 %  32.0 ms  32.0 ms  32.0 ms  32.0 ms        os_stat [python3.13]

        frames of the interpreter: each only leads to the next call; --whole shows them
    "#]],
    );
}

/// Calls that fold by one weight only: a thread that waits below frames of the interpreter, beside one of a library. Each function
/// of the user's own calls C from one expression, because the page has a box for each.
const SEVERAL_RUNS: &str = "
    process 7 3.13.0 cwd=/app executable=/usr/bin/python3.13
    _start[python3.13] > __libc_start_main[libc.so.6] > Py_RunMain[python3.13] > <module>@app.py:9 > PyObject_Vectorcall[python3.13] > cfunction_vectorcall_O[python3.13] > list_sort[python3.13] > _PyEval_Vector[python3.13] > _PyEval_EvalFrame[python3.13] > key@app.py:2 x190
    _start[python3.13] > __libc_start_main[libc.so.6] > Py_RunMain[python3.13] > <module>@app.py:9 > PyObject_Vectorcall[python3.13] > builtin_len[python3.13] x100
    _start[python3.13] > __libc_start_main[libc.so.6] > Py_RunMain[python3.13] > <module>@app.py:9 > work@work.py:4 > PyObject_CallOneArg[python3.13] > method_vectorcall_O[python3.13] > memcpy[libc.so.6] x50
    _start[python3.13] > __libc_start_main[libc.so.6] > Py_RunMain[python3.13] > <module>@app.py:9 > work@work.py:4 x7
    _start[python3.13] > __libc_start_main[libc.so.6] > Py_InitializeEx[python3.13] x1
    _start[python3.13] > __libc_start_main[libc.so.6] > Py_RunMain[python3.13] > <module>@app.py:9 > PyImport_ImportModuleLevelObject[python3.13] > _find_and_load@<frozen importlib._bootstrap>:1360 > _LoaderBasics.exec_module@<frozen importlib._bootstrap_external>:1022 > builtin_exec[python3.13] > <module>@/usr/lib/python3.13/json/__init__.py:106 x60
    thread 8 worker
    clone3[libc.so.6] > start_thread[libc.so.6] > pythread_wrapper[python3.13] > thread_run[python3.13] > run@app.py:20 > poll[libc.so.6] x400 poll
    clone3[libc.so.6] > start_thread[libc.so.6] > blas_thread[libblas.so] > dgemm[libblas.so] x60
";

/// What the viewer is tested against: tables, and the lines of the tree in each weight.
#[test]
fn runs_as_the_viewer_folds_them() {
    let reading = Reading::of(profile(&notation::recording(SEVERAL_RUNS), &Additions::default()));
    let figures = |of: Totals| json!([of.samples, of.cpu_ns, of.wall_ns]);
    let trees = [Weight::Cpu, Weight::Wall, Weight::Samples].map(|weight| {
        let options = Options { weight: Some(weight), share_min: 0.01, ..Options::default() };
        let mut lines = Vec::new();
        for line in text::lines(&reading, &tree(&reading, &options), &options) {
            let (total, own) = (figures(line.total), figures(line.own));
            lines.push(json!({ "depth": line.depth, "name": line.name, "total": total, "self": own }));
        }
        json!({ "weight": weight.key(), "lines": lines })
    });
    let context = export::json::Context { genba_version: "1", recording: Some("app.genba"), warnings: &[] };
    let tables: Value = serde_json::from_str(&export::json::json(&reading, context).expect("JSON")).expect("JSON");
    let golden = serde_json::to_string_pretty(&json!({ "profile": tables, "trees": trees })).expect("JSON") + "\n";
    expect_file!["../../../../testdata/page/fold.json"].assert_eq(&golden);
}
