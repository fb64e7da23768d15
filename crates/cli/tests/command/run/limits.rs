//! `genba run` under limits of the system: what cannot be recorded is said before the program starts, or once it has ended with its own exit code.

use std::process::{Command, Output};

use crate::sandbox::{RECORD, Sandbox};
use expect_test::expect;

/// genba behind these words of a shell.
fn behind(sandbox: &Sandbox, words: &str) -> Output {
    let mut shell = Command::new("/bin/sh");
    let line = format!("{words}; exec \"$0\" run -q program");
    shell.args(["-c", &line, env!("CARGO_BIN_EXE_genba")]).env_clear().current_dir(sandbox.path("work"));
    let of_sandbox = sandbox.genba(&[]);
    shell.envs(of_sandbox.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.output().expect("sh starts")
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_the_program_starts() {
    let sandbox = Sandbox::new("run-limit-of-files");
    sandbox.script("bin/program", "echo started");
    let output = behind(&sandbox, "ulimit -f 0");
    expect![[r#"
        exit code 1
        stdout
        stderr
          error: cannot write the recording program.genba: file too large
            the program was not started
          hint: raise the limit of file sizes (ulimit -f)
    "#]]
    .assert_eq(&sandbox.shown(&output));
    assert_eq!(sandbox.work(), "");
}

/// Such a limit ended genba by a signal, before the program started.
#[test]
fn a_program_that_fits_a_limit_of_files_runs_with_the_signal_as_it_was() {
    let sandbox = Sandbox::new("run-small-limit-of-files");
    sandbox.script("bin/program", &format!("{RECORD}; grep SigIgn /proc/self/status; exit 3"));
    for (words, ignored) in [("ulimit -f 24", false), ("ulimit -f 24; trap '' XFSZ", true)] {
        let output = behind(&sandbox, words);
        assert_eq!(output.status.code(), Some(3), "{}", sandbox.shown(&output));
        let said = String::from_utf8_lossy(&output.stdout);
        let mask = said.rsplit_once('\t').expect("the kernel's line").1.trim();
        let mask = u64::from_str_radix(mask, 16).expect("a mask");
        const XFSZ: u64 = 1 << 24;
        assert_eq!(mask & XFSZ != 0, ignored, "{words}: {said}");
    }
}

#[test]
fn a_recording_that_the_program_emptied_leaves_the_exit_code() {
    let sandbox = Sandbox::new("run-emptied");
    for code in [0, 3] {
        sandbox.script("bin/program", &format!("{RECORD}; : > program.genba; exit {code}"));
        let output = sandbox.genba(&["run", "program"]).output().expect("genba starts");
        let said = sandbox.shown(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        let words = "error: the recording program.genba was made shorter while the program ran: its beginning is gone";
        assert!(said.contains(words), "{said}");
    }
}
