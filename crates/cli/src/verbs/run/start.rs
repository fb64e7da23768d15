//! The program's life under genba: started with the agent preloaded, waited for, reaped. So are all other children that genba has, which it did not start: as
//! pid 1 of a container every process that lost its parent.
//! Owns: the child process. Never: stands between the program and its terminal, its input and output, its directory
//! or its environment (two variables are added, nothing else).

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use genba_parent::{Mask, News, next_news, reap, take_stop, unblock_stops};
use genba_profile::shell;

use super::bells::Chain;
use super::signals::{Answers, pass_on_to};
use super::target::Program;
use super::watch::{Sighted, Watch};
use crate::recording::session::{Session, preload};
use crate::words::failure::{self, Failure};

/// How the program ended.
pub struct Ending {
    pub status: ExitStatus,
    pub wall: Duration,
    /// What ran below the program, as seen from outside; nothing of a traced one.
    pub seen: Sighted,
}

impl Ending {
    /// The program's own, or 128 + n for signal n.
    pub fn exit_code(&self) -> u8 {
        let code = self.status.code().or_else(|| self.status.signal().map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
    }

    /// `ended with exit code 3`, `was ended by signal 9`.
    pub fn words(&self) -> String {
        match self.status.signal() {
            Some(signal) => format!("was ended by signal {signal}"),
            None => format!("ended with exit code {}", self.exit_code()),
        }
    }
}

/// Starts the program, with the signals blocked that `mask` blocks, and waits until it ended. Err: it could not be started.
pub fn run(
    program: &Program,
    session: &Session,
    libraries: &[&Path],
    mask: Mask,
    chain: Chain,
    answers: Answers<impl FnOnce(u32) -> String + Send + 'static, impl Fn() -> bool + Send + 'static>,
) -> Result<(Ending, u32), Failure> {
    let inherited = std::env::var_os("LD_PRELOAD");
    let mut command = Command::new(&program.path);
    command.arg0(&program.name).args(&program.arguments).env(Session::VARIABLE, session.encode()).env(
        "LD_PRELOAD",
        preload(&libraries.iter().map(|path| path.as_os_str()).collect::<Vec<_>>(), inherited.as_deref()),
    );
    let started = Instant::now();
    let mut child = genba_parent::start(&mut command, mask).map_err(|error| {
        Failure::no(format!("cannot start {}: {}", program.path.display(), failure::of_system(&error)))
            .hint(format!("try it without genba: {}", shell::path(Path::new(&program.name))))
    })?;
    let pid = child.id();
    let passing = pass_on_to(pid, answers, chain);
    // A look reads a file of each thread. Processes that are traced say what they wrote; the others are not told.
    let watch = (!session.trace).then(|| Watch::begin(pid));
    let cannot_wait = |error| Failure::ours(format!("cannot wait for the program: {}", failure::of_system(&error)));
    // Waits without reaping, so that its pid is not another's while signals are still passed on.
    loop {
        match next_news().map_err(cannot_wait)? {
            News::Ended(ended) if ended == pid => break,
            News::Ended(other) => reap(other),
            News::Stopped(stopped) => {
                take_stop(stopped);
                if stopped == pid {
                    passing.stop_with(pid);
                }
            }
        }
    }
    let wall = started.elapsed();
    // Before its pid may be another's.
    let seen = watch.map(Watch::end).unwrap_or_default();
    let status = passing.ended(|| child.wait()).map_err(cannot_wait)?;
    unblock_stops();
    Ok((Ending { status, wall, seen }, pid))
}
