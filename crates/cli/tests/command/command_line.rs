//! The command line itself: help, version, and what is said when it cannot be read.

use crate::sandbox::Sandbox;
use expect_test::expect;

#[test]
fn the_version() {
    Sandbox::new("version").check(
        "-V",
        expect![[r#"
        exit code 0
        stdout
          genba 0.1.0
        stderr
    "#]],
    );
}

#[test]
fn help_by_every_name() {
    let sandbox = Sandbox::new("help-names");
    let page = |words: &[&str]| {
        let output = sandbox.genba(words).output().expect("genba starts");
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{words:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let verbs = page(&["--help"]);
    assert!(verbs.contains("Record:\n  run "), "{verbs}");
    assert_eq!((page(&[]), page(&["help"])), (verbs.clone(), verbs));
    let narrow = sandbox.genba(&["--help"]).env("COLUMNS", "80").output().expect("genba starts").stdout;
    let narrow = String::from_utf8(narrow).expect("text");
    assert!(narrow.lines().count() > 45 && narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert_eq!(page(&["help", "run"]), page(&["run", "--help"]));
    sandbox.check(
        "help rnu",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `rnu` is not a verb of genba
          hint: genba --help lists the verbs
    "#]],
    );
}

#[test]
fn a_verb_is_missing() {
    Sandbox::new("no-verb").check(
        "--bogus",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: unexpected argument '--bogus' found
          hint: usage: genba <VERB>
    "#]],
    );
}

#[test]
fn verbs_of_other_profilers() {
    let sandbox = Sandbox::new("other-verbs");
    sandbox.check(
        "flamgraph app.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `flamgraph` is not a verb of genba
            `html` writes a page with the call tree, `export` what flame graph tools read
          hint: genba html --open app.genba
    "#]],
    );
    sandbox.check(
        "record app.py -x",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: `record` is not a verb of genba
                `run` starts a program and records it, `attach` records one that runs
              hint: genba run app.py -x
        "#]],
    );
    // Linux gives no process this number: one more than the highest.
    sandbox.check(
        "attach 4194304",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: there is no process 4194304
              hint: genba ps lists the Python processes
        "#]],
    );
}

#[test]
fn words_of_other_profilers() {
    let sandbox = Sandbox::new("of-others");
    sandbox.check(
        "version",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `version` is not a verb of genba
            it is an option
          hint: genba --version
    "#]],
    );
    sandbox.check(
        "stats app.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `stats` is not a verb of genba
            `report` shows where the time went, `trace` counts each call
          hint: genba report app.genba
    "#]],
    );
    sandbox.check(
        "profile app.py 9000",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `profile` is not a verb of genba
            `run` starts a program and records it, `attach` records one that runs
          hint: genba run app.py 9000
    "#]],
    );
    sandbox.check(
        "compare before.genba after.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `compare` is not a verb of genba
            `diff` says what changed between two recordings, and whether the samples can tell
          hint: genba diff before.genba after.genba
    "#]],
    );
    sandbox.check(
        "show",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `show` is not a verb of genba
            `report` prints where the time went, `view` shows a recording in the browser
          hint: genba view
    "#]],
    );
    sandbox.check(
        "memory",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `memory` is not a verb of genba
            `heap` counts the objects of a process by class, `run --alloc` records what allocates
          hint: genba heap PID
    "#]],
    );
    sandbox.check(
        "run --pid 4711",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `genba run` has no option --pid
            `run` starts a program; `attach` records one that runs
          hint: genba attach 4711
    "#]],
    );
    sandbox.check(
        "run --subprocesses app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `genba run` has no option --subprocesses
            child processes are recorded anyway; --no-children leaves them out
          hint: genba run app.py
    "#]],
    );
    sandbox.check(
        "run -d 5 app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `genba run` has no option -d
            here it is --duration
          hint: genba run --duration 5 app.py
    "#]],
    );
    sandbox.check(
        "report --json app.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `genba report` has no option --json
            here it is --format json
          hint: genba report --format json app.genba
    "#]],
    );
    sandbox.check("run --format=svg app.py", expect![[r#"
        exit code 2
        stdout
        stderr
          error: `genba run` has no option --format
            a recording is written, and pages and other formats are made from it
          hint: genba html --open makes the page of the newest recording here, genba export --to FORMAT app.genba another format
    "#]]);
    sandbox.check(
        "html --force app.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `genba html` has no option --force
            an earlier page is replaced where -o names it, any other file never
          hint: genba html -o app.html app.genba
    "#]],
    );
    sandbox.check(
        "report --html app.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `genba report` has no option --html
            `html` writes a page
          hint: genba html --open app.genba
    "#]],
    );
    sandbox.check(
        "run -o profile.svg true",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: cannot write the recording profile.svg: the name of a recording does not end in .svg
          hint: -o profile.genba; then genba html makes a page of it
    "#]],
    );
    sandbox.check(
        "run -o out/flame.json true",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: cannot write the recording out/flame.json: the name of a recording does not end in .json
          hint: -o out/flame.genba; then genba export --to FORMAT writes it in another format
    "#]],
    );
    sandbox.check(
        "export app.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: a format is missing
            --to collapsed: `root;…;leaf weight`, a line a stack, for flame graph tools
            --to json: The whole profile as tables (docs/json.md)
            --to speedscope: For speedscope (https://www.speedscope.app), a profile a thread
          hint: genba export --to speedscope app.genba
    "#]],
    );
}

#[test]
fn words_of_other_profilers_where_they_are() {
    let sandbox = Sandbox::new("of-others-in-place");
    sandbox.check(
        "record -o profile.svg --pid 4711",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `record` is not a verb of genba
            `run` starts a program and records it, `attach` records one that runs
          hint: genba attach 4711
    "#]],
    );
    sandbox.check(
        "run -q -F 99 app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `genba run` has no option -F
            here it is --rate
          hint: genba run -q --rate 99 app.py
    "#]],
    );
    sandbox.check(
        "dump --pid=4711",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `genba dump` has no option --pid
            the process is named without an option
          hint: genba dump 4711
    "#]],
    );
    sandbox.check(
        "-m cProfile -s time app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `-m` is not a verb of genba
            `trace` counts every call, as cProfile does
          hint: genba trace -s time app.py
    "#]],
    );
}

#[test]
fn a_script_in_place_of_a_verb() {
    let sandbox = Sandbox::new("script-for-verb");
    sandbox.check(
        "app.py --flag",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `app.py` is not a verb of genba
          hint: genba run app.py --flag
    "#]],
    );
    sandbox.check(
        "python app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `python` is not a verb of genba
          hint: genba run python app.py
    "#]],
    );
    sandbox.check(
        "rnu app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: `rnu` is not a verb of genba
          hint: genba --help lists the verbs
    "#]],
    );
}

#[test]
fn help_comes_in_groups() {
    let output = Sandbox::new("help").genba(&["--help"]).output().expect("genba starts");
    let page = String::from_utf8(output.stdout).expect("text");
    let place = |words: &str| page.find(words).unwrap_or_else(|| panic!("no `{words}` in:\n{page}"));
    assert!(place("Record:\n  run ") < place("Options:\n"));
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn options_of_run_that_cannot_be_read() {
    let sandbox = Sandbox::new("options");
    sandbox.check(
        "run --bogus app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: unexpected argument '--bogus' found
          hint: usage: genba run [OPTIONS] TARGET [ARGUMENTS]...
             or: genba run [OPTIONS] -m MODULE [ARGUMENTS]...
    "#]],
    );
    sandbox.check(
        "run --intervall 1ms app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: unexpected argument '--intervall' found
          hint: a similar argument exists: '--interval'
          hint: usage: genba run [OPTIONS] TARGET [ARGUMENTS]...
             or: genba run [OPTIONS] -m MODULE [ARGUMENTS]...
    "#]],
    );
    sandbox.check("run --interval 1 app.py", expect![[r#"
        exit code 2
        stdout
        stderr
          error: invalid value '1' for '--interval <DURATION>': expected a number and a unit, such as 100us, 1ms, 30s or 5m
          hint: genba run --help tells its options
    "#]]);
    sandbox.check("run --interval 10us app.py", expect![[r#"
        exit code 2
        stdout
        stderr
          error: invalid value '10us' for '--interval <DURATION>': the time between two ticks is 50us (rate 20000) to 1s (rate 1)
          hint: genba run --help tells its options
    "#]]);
    sandbox.check("run --interval 2s app.py", expect![[r#"
        exit code 2
        stdout
        stderr
          error: invalid value '2s' for '--interval <DURATION>': the time between two ticks is 50us (rate 20000) to 1s (rate 1)
          hint: genba run --help tells its options
    "#]]);
    sandbox.check(
        "run --rate 20001 app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: invalid value '20001' for '--rate <N>': the time between two ticks is 50us (rate 20000) to 1s (rate 1)
          hint: genba run --help tells its options
    "#]],
    );
    sandbox.check(
        "run --rate 0 app.py",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: invalid value '0' for '--rate <N>': expected 1 to 20000 ticks a second
              hint: genba run --help tells its options
        "#]],
    );
    sandbox.check(
        "run --rate 5 --interval 1ms app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: the argument '--rate <N>' cannot be used with '--interval <DURATION>'
          hint: usage: genba run [OPTIONS] TARGET [ARGUMENTS]...
             or: genba run [OPTIONS] -m MODULE [ARGUMENTS]...
    "#]],
    );
    sandbox.check(
        "run --duration 0s app.py",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: invalid value '0s' for '--duration <DURATION>': expected more than nothing
              hint: genba run --help tells its options
        "#]],
    );
    sandbox.check(
        "run --tag x app.py",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: invalid value 'x' for '--tag <KEY=VALUE>': expected KEY=VALUE
              hint: genba run --help tells its options
        "#]],
    );
    sandbox.check(
        "run --force app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: the following required arguments were not provided:
            --output <FILE>
          hint: usage: genba run [OPTIONS] TARGET [ARGUMENTS]...
             or: genba run [OPTIONS] -m MODULE [ARGUMENTS]...
    "#]],
    );
    sandbox.check(
        "run --source some app.py",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: invalid value 'some' for '--source <WHAT>'
                [possible values: all, hit, none]
              hint: genba run --help tells its options
        "#]],
    );
    sandbox.check(
        "run",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: nothing to run
          hint: genba run app.py, genba run -m module, or genba run command
    "#]],
    );
}
