//! Ctrl-C on a real terminal: the first one is the program's, the second one ends genba.

mod sandbox;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use sandbox::{RECORD, Sandbox};

const PRESSES_MAX: u32 = 10_000;

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

/// A pipe that never says anything, so that the program waits without a child of its own.
fn silent_pipe(sandbox: &Sandbox, name: &str) -> File {
    assert!(Command::new("mkfifo").arg(sandbox.path(name)).status().expect("mkfifo").success());
    OpenOptions::new().read(true).write(true).open(sandbox.path(name)).expect("open")
}

fn line_of(reader: &mut impl BufRead) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    line
}

#[test]
fn the_first_ctrl_c_is_the_programs_and_arrives_once() {
    let sandbox = Sandbox::new("ctrl-c");
    let _held = silent_pipe(&sandbox, "never");
    let wait = "while :; do read line; done < \"$HOME/never\"";
    sandbox.script("bin/program", &format!("{RECORD}\ntrap 'echo got it; exit 5' INT\necho ready\n{wait}"));
    let mut terminal = Terminal::start(&sandbox, &["run", "-q", "program"]);
    let mut output = BufReader::new(terminal.genba.stdout.take().expect("piped"));
    assert_eq!(line_of(&mut output), "ready\n");
    terminal.press_ctrl_c();
    assert_eq!((line_of(&mut output), line_of(&mut output)), ("got it\n".to_owned(), String::new()));
    assert_eq!(terminal.genba.wait().expect("ends").code(), Some(5));
}

#[test]
fn the_second_ctrl_c_ends_genba_and_the_program_goes_on() {
    let sandbox = Sandbox::new("ctrl-c-twice");
    let mut held = silent_pipe(&sandbox, "never");
    // HUP: genba leads the session here, and its end hangs the terminal up.
    let wait = "trap '' HUP; while ! read line < \"$HOME/never\"; do :; done";
    sandbox
        .script("bin/program", &format!("{RECORD}\ntrap 'echo interrupted' INT\necho ready $$\n{wait}\necho went on"));
    let mut terminal = Terminal::start(&sandbox, &["run", "-q", "program"]);
    let mut output = BufReader::new(terminal.genba.stdout.take().expect("piped"));
    let mut words = BufReader::new(terminal.genba.stderr.take().expect("piped"));
    let ready = line_of(&mut output);
    let pid = ready.trim_end().strip_prefix("ready ").expect("its pid").to_owned();
    // Two that come before genba was scheduled are one to it, as for any process: more than two may be needed.
    let mut pressed = 0;
    let ended = loop {
        terminal.press_ctrl_c();
        pressed += 1;
        assert_eq!(line_of(&mut output), "interrupted\n");
        if let Some(ended) = terminal.genba.try_wait().expect("is ours") {
            break ended;
        }
        assert!(pressed < PRESSES_MAX, "genba goes on");
    };
    assert!(pressed >= 2, "the first one is the program's");
    assert_eq!(ended.code(), Some(130));
    let farewell = format!("genba ends at the second Ctrl-C; process {pid} goes on, the recording is program.genba\n");
    assert_eq!(line_of(&mut words), farewell);
    held.write_all(b"end\n").expect("the program reads");
    assert_eq!(line_of(&mut output), "went on\n");
    assert!(sandbox.path("work/program.genba").metadata().expect("stays").len() > 0);
}
