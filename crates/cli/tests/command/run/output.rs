//! The recording's file: its name, its mode, and when it is refused.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;

use crate::sandbox::Sandbox;
use expect_test::expect;

#[test]
fn the_next_free_name_is_taken() {
    let sandbox = Sandbox::new("names");
    sandbox.file("work/app.py", b"");
    for _ in 0..3 {
        assert!(sandbox.genba(&["run", "-q", "app.py"]).status().expect("genba starts").success());
    }
    expect!["app-2.genba app-3.genba app.genba app.py"].assert_eq(&sandbox.work());
    let mode = fs::metadata(sandbox.path("work/app.genba")).expect("was made").mode() & 0o7777;
    assert_eq!(mode, 0o600, "{mode:o}");
}

#[test]
fn an_existing_file_is_replaced_only_with_force() {
    let sandbox = Sandbox::new("force");
    sandbox.file("work/app.py", b"");
    sandbox.file("work/mine", &genba_format::MAGIC);
    sandbox.check(
        "run -q -o mine app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: cannot write the recording mine: it exists
          hint: --force replaces it; without -o genba takes the next free name
    "#]],
    );
    assert_eq!(fs::read(sandbox.path("work/mine")).expect("still there"), genba_format::MAGIC);
    sandbox.check(
        "run -q -o mine --force app.py",
        expect![[r#"
        exit code 0
        stdout
          python3 app.py
        stderr
    "#]],
    );
    let recorded = fs::read(sandbox.path("work/mine")).expect("replaced");
    assert!(recorded.starts_with(&genba_format::MAGIC));
    assert_eq!(fs::metadata(sandbox.path("work/mine")).expect("replaced").mode() & 0o7777, 0o600);
}

#[test]
fn places_that_cannot_take_a_recording() {
    let sandbox = Sandbox::new("places");
    sandbox.file("work/app.py", b"");
    sandbox.file("work/folder/x", b"");
    sandbox.check(
        "run -o folder app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: cannot write the recording folder: it is a directory
          hint: -o folder/app.genba
    "#]],
    );
    sandbox.check(
        "run -o gone/deep/app.genba app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: cannot write the recording gone/deep/app.genba: its folder does not exist
          hint: mkdir -p gone/deep
    "#]],
    );
    sandbox.check(
        "run -o /dev/null --force app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: cannot write the recording /dev/null: it is not a regular file
            several processes append to a recording, and genba reads it back at the end
          hint: -o app.genba
    "#]],
    );
    sandbox.check(
        "run -o app.py/x app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: cannot write the recording app.py/x: not a directory
          hint: name a file in a folder that you may write to
    "#]],
    );
}

/// As the user nobody when the tests run as root, whom no mode stops.
#[test]
fn a_folder_that_cannot_be_written() {
    let sandbox = Sandbox::new("unwritable");
    sandbox.file("work/app.py", b"");
    sandbox.mode("work", 0o555);
    sandbox.mode("", 0o777);
    let is_root = fs::metadata("/proc/self").expect("proc").uid() == 0;
    let run = |words: &[&str]| {
        let mut command = sandbox.genba(words);
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        command.output().map(|output| sandbox.shown(&output))
    };
    let Ok(named) = run(&["run", "-q", "-o", "x.genba", "app.py"]) else {
        eprintln!("left out: another user cannot reach {}", env!("CARGO_BIN_EXE_genba"));
        return;
    };
    expect![[r#"
        exit code 2
        stdout
        stderr
          error: cannot write the recording x.genba: permission denied
          hint: name a file in a folder that you may write to
    "#]]
    .assert_eq(&named);
    let unnamed = run(&["run", "-q", "app.py"]).expect("it started before");
    let number = unnamed.split("genba-").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default().to_owned();
    expect![[r#"
        exit code 0
        stdout
          python3 app.py
        stderr
          note: the current directory cannot be written (permission denied); recording to [box]/genba-PID-1/app.genba
    "#]]
    .assert_eq(&unnamed.replace(&number, "PID-1"));
    let folder = sandbox.path(&format!("genba-{number}"));
    assert_eq!(fs::metadata(&folder).expect("the private folder").mode() & 0o7777, 0o700);
    sandbox.mode("work", 0o755);
}

#[test]
fn nothing_is_left_behind_when_nothing_was_recorded() {
    let sandbox = Sandbox::new("nothing-left");
    sandbox.check(
        "run true",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no Python in the command
            `true` ended with exit code 0
            seen in it: true, but no CPython
          hint: name the Python program itself: genba run app.py, genba run -m module, or genba run python app.py
    "#]],
    );
    sandbox.file("work/broken", b"#!/nowhere/at/all\n");
    sandbox.mode("work/broken", 0o755);
    sandbox.check(
        "run ./broken",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: cannot start ./broken: no such file or directory
          hint: try it without genba: ./broken
    "#]],
    );
    expect!["broken"].assert_eq(&sandbox.work());
}

#[test]
fn a_folder_that_takes_no_files() {
    Sandbox::new("proc").check(
        "run -o /proc/x.genba python3 app.py",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: cannot write the recording /proc/x.genba: no file can be made in that folder
          hint: name a file in a folder that you may write to
    "#]],
    );
}
