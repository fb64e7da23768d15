//! `genba run TARGET`: what is started for what was asked, and which words are the program's.

use std::fs;

use crate::sandbox::{RECORD, Sandbox};
use expect_test::expect;

#[test]
fn scripts_archives_directories_and_modules_run_with_the_interpreter() {
    let sandbox = Sandbox::new("targets");
    sandbox.file("work/app.py", b"");
    sandbox.file("work/tool.pyz", b"");
    sandbox.file("work/package/__main__.py", b"");
    sandbox.check(
        "run -q app.py",
        expect![[r#"
        exit code 0
        stdout
          python3 app.py
        stderr
    "#]],
    );
    sandbox.check(
        "run -q tool.pyz x",
        expect![[r#"
        exit code 0
        stdout
          python3 tool.pyz x
        stderr
    "#]],
    );
    sandbox.check(
        "run -q package",
        expect![[r#"
        exit code 0
        stdout
          python3 package
        stderr
    "#]],
    );
    sandbox.check(
        "run -q -m http.server 8000",
        expect![[r#"
        exit code 0
        stdout
          python3 -m http.server 8000
        stderr
    "#]],
    );
    sandbox.check(
        "run -q -mhttp.server 8000",
        expect![[r#"
        exit code 0
        stdout
          python3 -m http.server 8000
        stderr
    "#]],
    );
    expect!["app.genba app.py http.server-2.genba http.server.genba package package.genba tool.genba tool.pyz"]
        .assert_eq(&sandbox.work());
}

#[test]
fn what_follows_the_target_is_the_programs() {
    let sandbox = Sandbox::new("arguments");
    sandbox.file("work/app.py", b"");
    sandbox.check(
        "run -q app.py --rate 5 -o x -- --quiet -m y",
        expect![[r#"
        exit code 0
        stdout
          python3 app.py --rate 5 -o x -- --quiet -m y
        stderr
    "#]],
    );
    sandbox.check(
        "run -q -- app.py -- x",
        expect![[r#"
        exit code 0
        stdout
          python3 app.py -- x
        stderr
    "#]],
    );
    sandbox.check(
        "run -q -m module --rate 5 -q -- x",
        expect![[r#"
        exit code 0
        stdout
          python3 -m module --rate 5 -q -- x
        stderr
    "#]],
    );
}

#[test]
fn a_command_on_path_runs_as_it_is() {
    let sandbox = Sandbox::new("commands");
    sandbox.script("bin/gunicorn", &format!("echo \"gunicorn $0 $*\"; {RECORD}"));
    sandbox.script("work/local", &format!("echo \"local $0\"; {RECORD}"));
    sandbox.check(
        "run -q gunicorn -w 2 app:app",
        expect![[r#"
        exit code 0
        stdout
          gunicorn [box]/bin/gunicorn -w 2 app:app
        stderr
    "#]],
    );
    sandbox.check(
        "run -q ./local",
        expect![[r#"
        exit code 0
        stdout
          local ./local
        stderr
    "#]],
    );
    sandbox.check(
        "run -q python3 app.py",
        expect![[r#"
        exit code 0
        stdout
          python3 app.py
        stderr
    "#]],
    );
    sandbox.check(
        "run -q python3 -m a.b",
        expect![[r#"
        exit code 0
        stdout
          python3 -m a.b
        stderr
    "#]],
    );
    expect!["a.b.genba app.genba gunicorn.genba local local.genba"].assert_eq(&sandbox.work());
}

#[test]
fn the_interpreter_is_the_one_asked_for_else_the_environments_else_python3() {
    let sandbox = Sandbox::new("interpreters");
    sandbox.file("work/app.py", b"");
    for (path, word) in [("venv/bin/python", "venv"), ("bin/python3.99", "named"), ("other/python", "other")] {
        sandbox.script(path, &format!("echo \"{word} $*\"; {RECORD}"));
    }
    let venv = sandbox.path("venv");
    sandbox.check_command(
        sandbox.genba(&["run", "-q", "app.py"]).env("VIRTUAL_ENV", &venv),
        expect![[r#"
        exit code 0
        stdout
          venv app.py
        stderr
    "#]],
    );
    let named = ["run", "-q", "--python", "python3.99", "app.py"];
    sandbox.check_command(
        sandbox.genba(&named).env("VIRTUAL_ENV", &venv),
        expect![[r#"
        exit code 0
        stdout
          named app.py
        stderr
    "#]],
    );
    sandbox.check(
        "run -q --python ../other/python app.py",
        expect![[r#"
        exit code 0
        stdout
          other app.py
        stderr
    "#]],
    );
    sandbox.check(
        "run -q --python-of-genba ../other/python app.py",
        expect![[r#"
        exit code 0
        stdout
          other app.py
        stderr
    "#]],
    );
    sandbox.check(
        "run -q --python-of-genba ../other/python python3 app.py",
        expect![[r#"
        exit code 0
        stdout
          python3 app.py
        stderr
    "#]],
    );
    sandbox.check(
        "run -q --python python3.98 app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: --python python3.98: no such interpreter
            looked for an executable file of that path, or of that name on PATH
          hint: genba run --python python3.13 app.py
    "#]],
    );
    sandbox.check(
        "run -q --python python3.99 python3",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: --python is for scripts and modules; `python3` is a command
            a command brings its own interpreter
          hint: leave --python out, or run it as a module: genba run --python … -m python3
    "#]],
    );
    let gone = sandbox.path("gone");
    sandbox.check_command(
        sandbox.genba(&["run", "app.py"]).env("VIRTUAL_ENV", gone),
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: the active virtual environment has no interpreter: [box]/gone/bin/python
            VIRTUAL_ENV names that folder
          hint: activate another environment, or name an interpreter with --python
    "#]],
    );
    fs::remove_file(sandbox.path("bin/python3")).expect("was there");
    sandbox.check_command(
        sandbox.genba(&["run", "app.py"]).env("PATH", sandbox.path("bin")),
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: no `python3` on PATH
          hint: name an interpreter: genba run --python /path/to/python3 app.py
    "#]],
    );
}

#[test]
fn targets_that_are_not_there() {
    let sandbox = Sandbox::new("missing");
    sandbox.file("work/notes.txt", b"");
    sandbox.file("work/plain", b"print()");
    sandbox.file("work/folder/x.py", b"");
    sandbox.check(
        "run nope.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: no such file: nope.py
            looked in [box]/work
          hint: name an existing .py or .pyz file, a directory with __main__.py, -m module, or a command on PATH
    "#]],
    );
    sandbox.check(
        "run folder/nope.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: no such file: folder/nope.py
            looked in [box]/work
          hint: name an existing .py or .pyz file, a directory with __main__.py, -m module, or a command on PATH
    "#]],
    );
    sandbox.check(
        "run nope",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: no command `nope` on PATH
          hint: genba run app.py runs a script, genba run -m module a module, genba run NAME a command on PATH
    "#]],
    );
    sandbox.check(
        "run ./nope",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: no such file: ./nope
            looked in [box]/work
          hint: name an existing .py or .pyz file, a directory with __main__.py, -m module, or a command on PATH
    "#]],
    );
    sandbox.check(
        "run plain",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: no command `plain` on PATH
            a file of that name is here, but its name does not end in .py or .pyz
          hint: genba run python plain, or genba run ./plain
    "#]],
    );
    sandbox.check(
        "run ./notes.txt",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: cannot run ./notes.txt: it is not executable
          hint: genba run python ./notes.txt, or chmod +x ./notes.txt
    "#]],
    );
    sandbox.check(
        "run folder",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: cannot run the directory folder: it has no __main__.py
          hint: name a script in it, or a module with -m
    "#]],
    );
    expect!["folder notes.txt plain"].assert_eq(&sandbox.work());
}
