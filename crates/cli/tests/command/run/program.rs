//! The program under `genba run` is on its own: exit code, signals, input and output, environment, directory.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use crate::sandbox::{HOLD, RECORD, Sandbox, WAIT, block_with_start};
use expect_test::expect;

#[test]
fn exit_codes_and_signals_are_the_programs() {
    let sandbox = Sandbox::new("exit-codes");
    for (ending, expected) in
        [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
    {
        sandbox.script("bin/program", &format!("{RECORD}; {ending}"));
        let output = sandbox.genba(&["run", "-q", "program"]).output().expect("genba starts");
        assert_eq!(output.status.code(), Some(expected), "{ending}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{ending}");
    }
}

#[test]
fn without_python_the_exit_code_stays_unless_it_was_0() {
    let sandbox = Sandbox::new("no-python");
    sandbox.script("bin/launcher", "exit $1");
    sandbox.check(
        "run launcher 0",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no Python in the command
            `launcher 0` ended with exit code 0
            seen in it: launcher, but no CPython
          hint: name the Python program itself: genba run app.py, genba run -m module, or genba run python app.py
    "#]],
    );
    sandbox.check(
        "run -q launcher 7",
        expect![[r#"
        exit code 7
        stdout
        stderr
          error: no Python in the command
            `launcher 7` ended with exit code 7
            seen in it: launcher, but no CPython
          hint: name the Python program itself: genba run app.py, genba run -m module, or genba run python app.py
    "#]],
    );
    sandbox.script("bin/killed", "kill -9 $$");
    sandbox.check(
        "run killed",
        expect![[r#"
        exit code 137
        stdout
        stderr
          error: no Python in the command
            `killed` was ended by signal 9
            seen in it: killed, but no CPython
          hint: name the Python program itself: genba run app.py, genba run -m module, or genba run python app.py
    "#]],
    );
    sandbox.check(
        "run sh -c :",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no Python in the command
            `sh -c :` ended with exit code 0
            seen in it: sh, but no CPython
          hint: genba run app.py records a script without the shell
    "#]],
    );
    sandbox.file("work/app.py", b"");
    sandbox.script("bin/python3", "exit 0");
    sandbox.check(
        "run app.py",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: no Python in the command
                `[box]/bin/python3 app.py` ended with exit code 0
                seen in it: python3, but no CPython
                or python3 is one, and could write nothing: a full disk, a file-size limit
              hint: [box]/bin/python3 may be a script that looks for an interpreter; name the interpreter itself: genba run --python PATH app.py
        "#]],
    );
    expect!["app.py"].assert_eq(&sandbox.work());
}

#[test]
fn input_output_and_directory_are_the_programs() {
    let sandbox = Sandbox::new("streams");
    sandbox.script("bin/program", &format!("{RECORD}; pwd; cat; echo to stderr >&2"));
    let mut child = sandbox
        .genba(&["run", "-q", "program"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("genba starts");
    child.stdin.take().expect("piped").write_all(b"from stdin\n").expect("is read");
    expect![[r#"
        exit code 0
        stdout
          [box]/work
          from stdin
        stderr
          to stderr
    "#]]
    .assert_eq(&sandbox.shown(&child.wait_with_output().expect("ends")));
}

/// For `sed`: the table of bells is another one in each run, and so is genba's pid. Only root's has a door.
const BELLS_AS_ONE: &str =
    "s|bells=[0-9]*,[0-9]*,/proc/[0-9]*/fd/[0-9]*|bells=[one]|;s|command=[0-9]*|command=[pid]|;s|;door=[^;]*||";

#[test]
fn two_variables_are_added_to_the_environment_and_nothing_else() {
    let sandbox = Sandbox::new("environment");
    sandbox.script(
        "bin/program",
        &format!("{RECORD}; env | grep -v ^PWD= | grep -v ^_= | grep -v ^SHLVL= | sed '{BELLS_AS_ONE}' | sort"),
    );
    let mut command = sandbox.genba(&[
        "run",
        "-q",
        "--interval",
        "2ms",
        "--no-native",
        "--no-children",
        "--mem",
        "--tag",
        "run=a b;c",
        "-o",
        "named.genba",
        "program",
    ]);
    command.env("LD_PRELOAD", sandbox.path("other.so"));
    let output = command.stderr(Stdio::null()).output().expect("genba starts");
    let shown = sandbox.shown(&output);
    let hash_at = shown.find("genba-agent-").expect("preloaded") + "genba-agent-".len();
    expect![[r#"
        exit code 0
        stdout
          GENBA_SESSION=v=1;out=[box]/work/named.genba;interval_ns=2000000;budget_per_mille=0;native=0;children=0;memory=1;until_ns=0;command=[pid];bells=[one];tag=run=a%20b%3Bc
          HOME=[box]
          LD_PRELOAD=/var/cache/genba/genba-agent-SHA256.so:[box]/other.so
          PATH=[box]/bin:/usr/bin:/bin
          TMPDIR=[box]
        stderr
    "#]].assert_eq(&shown.replace(&shown[hash_at..hash_at + 64], "SHA256"));
}

#[test]
fn the_session_for_the_defaults() {
    let sandbox = Sandbox::new("session");
    sandbox.script("bin/program", &format!("{RECORD}; echo $GENBA_SESSION | sed '{BELLS_AS_ONE}'"));
    sandbox.check("run -q program", expect![[r#"
        exit code 0
        stdout
          v=1;out=[box]/work/program.genba;interval_ns=1000000;budget_per_mille=20;native=1;children=1;memory=0;until_ns=0;command=[pid];bells=[one]
        stderr
    "#]]);
    sandbox.check("run -q --rate 1000 --children program", expect![[r#"
        exit code 0
        stdout
          v=1;out=[box]/work/program-2.genba;interval_ns=1000000;budget_per_mille=0;native=1;children=1;memory=0;until_ns=0;command=[pid];bells=[one]
        stderr
    "#]]);
}

#[test]
fn signals_sent_to_genba_reach_the_program() {
    let sandbox = Sandbox::new("signals");
    for signal in ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2"] {
        sandbox.script(
            "bin/program",
            &format!("{HOLD}\n{RECORD}\ntrap 'echo got {signal}; exit 5' {signal}\necho ready\n{WAIT}"),
        );
        let _silent = sandbox.silent_pipe();
        let mut genba = sandbox.genba(&["run", "-q", "program"]).stdout(Stdio::piped()).spawn().expect("genba starts");
        let mut lines = BufReader::new(genba.stdout.take().expect("piped"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        let sent = Command::new("kill").args([&format!("-{signal}"), &genba.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        let mut rest = String::new();
        lines.read_to_string(&mut rest).expect("the rest");
        assert_eq!((rest.as_str(), genba.wait().expect("ends").code()), (format!("got {signal}\n").as_str(), Some(5)));
    }
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let sandbox = Sandbox::new("nohup");
    sandbox.script("bin/program", &format!("{RECORD}; kill -HUP $PPID; kill -HUP $$; echo alive"));
    let line = format!("trap '' HUP; exec {} run -q program", env!("CARGO_BIN_EXE_genba"));
    let mut command = sandbox.genba(&[]);
    let environment: Vec<_> =
        command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
    command = Command::new("/bin/sh");
    command.args(["-c", &line]).env_clear().current_dir(sandbox.path("work"));
    command.envs(environment.into_iter().filter_map(|(name, value)| Some((name, value?))));
    sandbox.check_command(
        &mut command,
        expect![[r#"
        exit code 0
        stdout
          alive
        stderr
    "#]],
    );
}

/// As in a container that was entered from outside: group and session belong to a process that has no pid in here.
#[test]
fn signals_are_passed_on_where_the_own_session_has_no_number() {
    let sandbox = Sandbox::new("entered");
    sandbox.script(
        "bin/program",
        &format!("{RECORD}; trap 'echo told; exit 3' USR1; kill -USR1 $PPID; while :; do sleep 0.01; done"),
    );
    let may_enter =
        Command::new("unshare").args(["--pid", "--fork", "true"]).output().is_ok_and(|made| made.status.success());
    if !may_enter {
        println!("skipped: no namespace of pids can be made here");
        return;
    }
    let genba = sandbox.genba(&[]);
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "/bin/sh", "-c"]);
    command.arg(format!("{} run -q program; echo $?", env!("CARGO_BIN_EXE_genba")));
    command.env_clear().current_dir(sandbox.path("work"));
    command.envs(genba.get_envs().filter_map(|(name, value)| Some((name, value?))));
    sandbox.check_command(
        &mut command,
        expect![[r#"
            exit code 0
            stdout
              told
              3
            stderr
        "#]],
    );
}

#[test]
fn children_that_still_run_are_named() {
    let sandbox = Sandbox::new("still-running");
    sandbox.script(
        "bin/program",
        &format!("{RECORD}\nmkfifo \"$HOME/held\"\n(read line < \"$HOME/held\") > /dev/null 2>&1 &\necho $! > \"$HOME/child\""),
    );
    let output = sandbox.genba(&["run", "program"]).output().expect("genba starts");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let child = fs::read_to_string(sandbox.path("child")).expect("written").trim().to_owned();
    fs::write(sandbox.path("held"), "end\n").expect("the child reads");
    assert!(
        words.contains(&format!(
            "note: 1 process that it started still runs ({child} program); program.genba may still grow\n"
        )),
        "{words}"
    );
}

#[test]
fn a_refused_child_is_said_in_words_even_when_quiet() {
    let sandbox = Sandbox::new("refused-child");
    sandbox.file("block", &block_with_start("CPython 3.10.13 is not supported; genba knows 3.11 to 3.15"));
    sandbox.file("work/app.py", b"");
    sandbox.check("run -q app.py", expect![[r#"
        exit code 0
        stdout
          python3 app.py
        stderr
          warning: process 4127 (/opt/python3.11/bin/python3.11) was not recorded: CPython 3.10.13 is not supported; genba knows 3.11 to 3.15; use another interpreter there: genba doctor --python PATH checks it
    "#]]);
}

#[test]
fn the_last_line_says_what_was_recorded_and_what_comes_next() {
    let sandbox = Sandbox::new("last-line");
    sandbox.file("work/app.py", b"");
    let output = sandbox.genba(&["run", "app.py"]).output().expect("genba starts");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = words.lines().last().unwrap_or_default();
    assert!(last.starts_with("recorded app.genba (") && last.ends_with(") · next: genba view app.genba"), "{words}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "python3 app.py\n");
}
