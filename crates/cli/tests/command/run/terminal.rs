//! Ctrl-C on a real terminal: the first one is the program's.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use crate::sandbox::{HOLD, RECORD, Sandbox, WAIT};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// genba as the leader of a session whose terminal this test holds.
struct Terminal {
    keyboard: File,
    genba: Child,
}

impl Terminal {
    /// stdout and stderr are pipes, so that the terminal only carries the keys.
    fn start(sandbox: &Sandbox, words: &[&str]) -> Terminal {
        let master: OwnedFd =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("named").into_string().expect("text");
        // Else the terminal forgets a key that comes while it still empties its buffers for the one before.
        assert!(Command::new("stty").args(["-F", &name, "noflsh"]).status().expect("stty").success());
        let screen = OpenOptions::new().read(true).write(true).open(name).expect("the other side");
        let genba = sandbox.genba(words);
        let mut session = Command::new("setsid");
        session.args(["--ctty", "--wait"]).arg(genba.get_program()).args(genba.get_args()).env_clear();
        session.envs(genba.get_envs().filter_map(|(name, value)| Some((name, value?))));
        session.current_dir(sandbox.path("work")).stdin(screen).stdout(Stdio::piped()).stderr(Stdio::piped());
        Terminal { keyboard: File::from(master), genba: session.spawn().expect("setsid starts") }
    }

    fn press_ctrl_c(&mut self) {
        self.keyboard.write_all(b"\x03").expect("the terminal takes keys");
    }
}

fn line_of(reader: &mut impl BufRead) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    line
}

#[test]
fn the_first_ctrl_c_is_the_programs_and_arrives_once() {
    let sandbox = Sandbox::new("ctrl-c");
    let _silent = sandbox.silent_pipe();
    sandbox.script("bin/program", &format!("{HOLD}\n{RECORD}\ntrap 'echo got it; exit 5' INT\necho ready\n{WAIT}"));
    let mut terminal = Terminal::start(&sandbox, &["run", "-q", "program"]);
    let mut output = BufReader::new(terminal.genba.stdout.take().expect("piped"));
    assert_eq!(line_of(&mut output), "ready\n");
    terminal.press_ctrl_c();
    assert_eq!((line_of(&mut output), line_of(&mut output)), ("got it\n".to_owned(), String::new()));
    assert_eq!(terminal.genba.wait().expect("ends").code(), Some(5));
}
