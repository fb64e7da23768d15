//! What ends `genba view`: a signal, or the end of its standard input.
//! Owns: catching signals, and looking at standard input. Never: reads from it, or ends the process.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::mpsc::{Receiver, channel};

use crate::words::failure::Failure;

/// Why there are no more pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Ctrl-C.
    Interrupted,
    /// A signal whose default ends a process: its number.
    Signal(i32),
    /// Whoever held the other side of standard input is gone: an ssh client, or a terminal.
    InputGone,
}

/// From now on signals and standard input are watched, and what comes first can be received.
pub fn watch() -> Result<Receiver<End>, Failure> {
    let (signalled, ends) = channel(1);
    let input_gone = signalled.clone();
    // Under nohup a terminal that goes ends nothing.
    let hangup = (!genba_parent::was_ignored(SIGHUP)).then_some(SIGHUP);
    let mut signals = Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup))
        .map_err(|error| Failure::ours(format!("cannot wait for Ctrl-C: {error}")))?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let end = if signal == SIGINT { End::Interrupted } else { End::Signal(signal) };
            // The server has ended by itself.
            let _ = signalled.blocking_send(end);
        }
    });
    // A pipe that nobody held when genba began says nothing about who wants its pages.
    if !is_input_gone(Some(&Timespec::default())) {
        std::thread::spawn(move || {
            if is_input_gone(None) {
                let _ = input_gone.blocking_send(End::InputGone);
            }
        });
    }
    Ok(ends)
}

/// Whether nobody holds the other side of standard input; without a limit this waits until nobody does. A file has no other side.
/// sshd without a terminal gives a pipe or a pair of sockets, and closes it when its client goes.
fn is_input_gone(at_most: Option<&Timespec>) -> bool {
    let input = std::io::stdin();
    let mut looked_at = [PollFd::from_borrowed_fd(input.as_fd(), PollFlags::empty())];
    loop {
        match poll(&mut looked_at, at_most) {
            Ok(0) if at_most.is_none() => {}
            Ok(_) => return looked_at[0].revents().contains(PollFlags::HUP),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
