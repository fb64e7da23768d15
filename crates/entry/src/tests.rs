//! Processes that are not, or no longer, what they were.

use super::{Asked, Door, Entry, Filters, NotEntered, enter, unopened};
use crate::stop::Stop;
use genba_process::identity::Identity;
use genba_process::tracer::in_own_thread;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
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

/// Why nobody can enter this program on this machine: its libc is in two parts or has no room behind its code, its filters cannot be
/// told, or nobody may trace.
fn obstacle(asked: &Asked) -> Option<NotEntered> {
    let filters = match Filters::look(asked.pid, asked.door) {
        Ok(filters) => filters,
        Err(why) => return Some(NotEntered::Filtered(why)),
    };
    if filters.are_unread() {
        return Some(NotEntered::Filtered(crate::filters::Filtered::Unread(nix::errno::Errno::EACCES)));
    }
    if let Err(why) = Entry::find(asked, filters) {
        return Some(why);
    }
    // With the end of the tracing thread the kernel lets go.
    let refused = in_own_thread(|| Stop::all(asked.pid, false).map(Stop::release).err()).expect("it only traces");
    refused.map(NotEntered::NotPermitted)
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
        asked_to_end: Arc::default(),
        unasked: Arc::default(),
        patience: Duration::from_secs(10),
    };
    let of_cat = Identity::of(child.id());
    match obstacle(&asked(of_cat)) {
        Some(why) => eprintln!("skipped: nobody enters here: {why:?}"),
        None => {
            let gone = |asked: &Asked| {
                let filters = Filters::look(asked.pid, asked.door).ok()?;
                Entry::find(asked, filters).ok().map(|entry| entry.gone())
            };
            assert_eq!(gone(&asked(of_shell)), Some(NotEntered::Changed), "its words went with the shell");
            assert_eq!(gone(&asked(of_cat)), Some(NotEntered::Overwritten));
            assert_eq!(enter(&asked(of_shell)), Err(NotEntered::Changed));
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
