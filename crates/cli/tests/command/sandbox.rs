//! A folder with a made-up `python3`, and the built command run in it from outside.
//! Owns: the folder, the environment, the snapshot of exit code, stdout and stderr. Never: needs a real interpreter; the
//! made-up one prints its arguments and appends a prepared block to the recording, as the agent would.

use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use expect_test::Expect;
use genba_format::{BlockHeader, compress, encode_block, proto};

pub struct Sandbox {
    pub folder: PathBuf,
    /// What follows the sandbox's own `bin` on PATH.
    pub system_path: &'static str,
    pub recordings: Cell<u64>,
}

/// Appends the block prepared by the sandbox to the recording named in GENBA_SESSION.
pub const RECORD: &str = r#"out=${GENBA_SESSION#*;out=}; cat "$HOME/block" >> "${out%%;*}""#;

/// HOLD, then traps, then `echo ready`, then WAIT: a script that waits, with its traps at work, until the pipe of
/// `Sandbox::silent_pipe` is dropped. Nothing is started after `ready`, so that a signal finds only the script itself. The script opens the pipe, and
/// before RECORD: what a test sees of the recording, it sees with the pipe open. Opened after it is dropped, it would be waited for without an end.
pub const HOLD: &str = r#"exec 9< "$HOME/silent"; cat <&9 > /dev/null 2>&1 & held=$!"#;
pub const WAIT: &str = "while :; do wait $held; [ $? -gt 128 ] || break; done";

impl Sandbox {
    /// A fresh folder for the test of that name, with `bin/python3` and an empty `work`, where commands run.
    pub fn new(name: &str) -> Sandbox {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        let sandbox = Sandbox { folder, system_path: ":/usr/bin:/bin", recordings: Cell::new(0) };
        fs::create_dir_all(sandbox.path("work")).expect("the folder for tests can be written");
        sandbox.file("block", &block_with_start(""));
        sandbox.script("bin/python3", &format!("echo \"python3 $*\"; {RECORD}"));
        sandbox
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A recording is a second newer than the one written before it, whatever the machine's clock does meanwhile.
    pub fn file(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder above")).expect("make the folder");
        fs::write(path, bytes).expect("write the file");
        if name.ends_with(".genba") {
            self.recordings.set(self.recordings.get() + 1);
            self.modified(name, 1_000_000_000 + self.recordings.get());
        }
    }

    /// Makes the file that old that every recording written here is newer.
    pub fn age(&self, name: &str) {
        self.modified(name, 1);
    }

    fn modified(&self, name: &str, second: u64) {
        let file = File::options().write(true).open(self.path(name)).expect("it was just written");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).expect("set its time");
    }

    /// An executable file.
    pub fn program(&self, name: &str, bytes: &[u8]) {
        self.file(name, bytes);
        self.mode(name, 0o755);
    }

    pub fn script(&self, name: &str, lines: &str) {
        self.program(name, format!("#!/bin/sh\n{lines}\n").as_bytes());
    }

    pub fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).expect("set the mode");
    }

    /// To a user and a group that are not this process's; false: only root may. A mode has to be set afterwards.
    pub fn give_away(&self, name: &str) -> bool {
        const NOBODY: u32 = 65_534;
        chown(self.path(name), Some(NOBODY), Some(NOBODY)).is_ok()
    }

    /// genba in `work`, with nothing of this environment but what is named here.
    pub fn genba(&self, words: &[&str]) -> Command {
        // A test run in the background, or under nohup, has signals ignored that genba would then leave alone.
        let mut command = Command::new("/usr/bin/env");
        command
            .args(["--default-signal", env!("CARGO_BIN_EXE_genba")])
            .args(words)
            .env_clear()
            .env("PATH", format!("{}{}", self.path("bin").display(), self.system_path))
            .env("HOME", &self.folder)
            .env("TMPDIR", &self.folder)
            .current_dir(self.path("work"))
            .stdin(Stdio::null());
        command
    }

    /// Runs `genba WORDS…` (split at spaces) and compares exit code, stdout and stderr.
    #[track_caller]
    pub fn check(&self, line: &str, expected: Expect) {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        self.check_command(&mut self.genba(&words), expected);
    }

    #[track_caller]
    pub fn check_command(&self, command: &mut Command, expected: Expect) {
        expected.assert_eq(&self.shown(&command.output().expect("genba starts")));
    }

    /// Exit code, stdout and stderr; the sandbox's own path is `[box]`.
    pub fn shown(&self, output: &Output) -> String {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).replace(&self.folder.display().to_string(), "[box]");
            text.lines().map(|line| format!("{}\n", format!("  {line}").trim_end())).collect::<String>()
        };
        let code = output.status.code().map_or("none".to_owned(), |code| code.to_string());
        format!("exit code {code}\nstdout\n{}stderr\n{}", text(&output.stdout), text(&output.stderr))
    }

    /// A new pipe that says nothing; scripts wait for its end with WAIT.
    pub fn silent_pipe(&self) -> File {
        let path = self.path("silent");
        let _ = fs::remove_file(&path);
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        fs::OpenOptions::new().read(true).write(true).open(path).expect("open")
    }

    /// Names of the files in `work`, sorted.
    pub fn work(&self) -> String {
        let entries = fs::read_dir(self.path("work")).expect("work is there");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names.join(" ")
    }
}

/// What a process writes first; `refused` as in genba.proto.
pub fn block_with_start(refused: &str) -> Vec<u8> {
    let start = proto::Start {
        pid: 4127,
        executable: "/opt/python3.11/bin/python3.11".to_owned(),
        argv: vec!["python3".to_owned(), "app.py".to_owned()],
        python_version: "3.11.7".to_owned(),
        agent_version: "0.1.0".to_owned(),
        interval_ns: 1_000_000,
        monotonic_ns: 1_000_000_000,
        native: true,
        refused: refused.to_owned(),
        ..proto::Start::default()
    };
    let block = proto::Block {
        start: Some(start),
        accounting: Some(proto::Accounting::default()),
        end: Some(proto::End { why: "exit".to_owned() }),
        ..proto::Block::default()
    };
    one_block(&block)
}

/// A whole recording: the first block of a process.
pub fn one_block(block: &proto::Block) -> Vec<u8> {
    let header = BlockHeader {
        version: genba_format::VERSION,
        process_key: [7; 16],
        sequence: 0,
        start_ns: 1_000_000_000,
        end_ns: 1_250_000_000,
    };
    let mut bytes = Vec::new();
    encode_block(&header, block.clone(), &mut compress, &mut bytes).expect("a small block");
    bytes
}
