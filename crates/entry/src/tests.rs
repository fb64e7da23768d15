//! Processes that are not, or no longer, what they were.

use super::{Asked, Door, NotEntered, enter, unopened};
use genba_process::identity::Identity;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_process_that_is_gone_has_ended() {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let error = std::fs::File::open(format!("/proc/{}/mem", child.id())).unwrap_err();
    assert!(matches!(unopened(&error), NotEntered::Ended), "{error}");
    let error = std::io::Error::from_raw_os_error(nix::errno::Errno::EACCES as i32);
    assert!(matches!(unopened(&error), NotEntered::NotPermitted(nix::errno::Errno::EACCES)));
}

/// As if it had called exec between the look and the entry.
#[test]
fn a_process_that_became_another_program_is_let_go_as_it_is() {
    let mut child = Command::new("sh")
        .args(["-c", "echo ready; read line; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let of_shell = Identity::of(child.id());
    stdin.write_all(b"go on\nfirst\n").unwrap();
    line.clear();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "first\n", "cat runs");
    let asked = |identity| Asked {
        pid: child.id(),
        identity,
        library: "/there/is/no/such/library.so".to_owned(),
        door: Door::Attached,
        function: None,
        session: String::new(),
        tried_max: Duration::from_secs(10),
        patience: Duration::from_secs(10),
    };
    match enter(&asked(of_shell)) {
        // The libc of this machine has no room behind its code, or is in two parts; or nobody may trace here.
        Err(NotEntered::NoRoom | NotEntered::NoFunction(_) | NotEntered::NotPermitted(_) | NotEntered::Filtered(_)) => {
        }
        found => {
            assert_eq!(found, Err(NotEntered::Changed));
            let of_cat = Identity::of(child.id());
            assert_eq!(enter(&asked(of_cat)), Err(NotEntered::NotLoaded), "what it is now is entered");
        }
    }
    stdin.write_all(b"second\n").unwrap();
    drop(stdin);
    line.clear();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "second\n");
    assert!(child.wait().unwrap().success());
}
