//! The first line that a child process prints.
//! Owns: the wait for it, which has an end. Never: ends the child, reads what follows the line.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc;
use std::time::Duration;

pub const PATIENCE: Duration = Duration::from_secs(20);

/// Empty: the child's stdout ended before. `None`: there was nothing within `PATIENCE`.
pub fn of(child: &mut Child) -> Option<String> {
    let output = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        if let Some(output) = output {
            // A line that is no text is no answer: the caller sees that.
            let _ = BufReader::new(output).read_line(&mut line);
        }
        let _ = sender.send(line);
    });
    receiver.recv_timeout(PATIENCE).ok()
}

#[cfg(test)]
mod tests {
    use super::of;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_that_ends_early_gives_what_it_has_printed() {
        for (script, expected) in [("echo one; echo two", "one\n"), ("printf cut", "cut"), ("exit 1", "")] {
            let mut child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
            assert_eq!(of(&mut child).as_deref(), Some(expected), "{script}");
            let _ = child.wait();
        }
    }
}
