//! The program's life under genba: started with the agent preloaded, waited for, reaped.
//! Owns: the child process. Never: stands between the program and its terminal, its input and output, its directory
//! or its environment (two variables are added, nothing else).

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::bells::Chain;
use super::signals::{Answers, Caught, Passing, stop_with};
use super::target::Program;
use crate::recording::session::{Session, preload};
use crate::words::failure::{self, Failure};

/// How the program ended.
pub struct Ending {
    pub status: ExitStatus,
    pub wall: Duration,
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

/// Starts the program and waits until it ended. Err: it could not be started.
pub fn run(
    program: &Program,
    session: &Session,
    libraries: &[&Path],
    chain: Chain,
    answers: Answers<impl FnOnce(u32) -> String + Send + 'static, impl Fn() -> bool + Send + 'static>,
) -> Result<(Ending, u32), Failure> {
    let caught = Caught::begin()
        .map_err(|error| Failure::ours(format!("cannot catch signals: {}", failure::of_system(&error))))?;
    let inherited = std::env::var_os("LD_PRELOAD");
    let mut command = Command::new(&program.path);
    command.arg0(&program.name).args(&program.arguments).env(Session::VARIABLE, session.encode()).env(
        "LD_PRELOAD",
        preload(&libraries.iter().map(|path| path.as_os_str()).collect::<Vec<_>>(), inherited.as_deref()),
    );
    let started = Instant::now();
    let mut child = command.spawn().map_err(|error| {
        Failure::no(format!("cannot start {}: {}", program.path.display(), failure::of_system(&error)))
            .hint(format!("try it without genba: {}", program.name.display()))
    })?;
    let taken = caught.take_children_back();
    taken.map_err(|error| Failure::ours(format!("cannot catch SIGCHLD: {}", failure::of_system(&error))))?;
    let pid = child.id();
    let Some(handle) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Err(Failure::ours(format!("the kernel gave the program the impossible pid {pid}")));
    };
    let passing: Passing = caught.pass_on_to(handle, answers, chain);
    // Waits without reaping, so that its pid is not another's while signals are still passed on.
    let ended_or_stopped = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(handle), ended_or_stopped) {
            Ok(Some(status)) if status.stopped() => {
                // Takes the news, so that it is told once.
                let _ = waitid(WaitId::Pid(handle), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG);
                stop_with(handle);
            }
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                return Err(Failure::ours(format!(
                    "cannot wait for the program: {}",
                    failure::of_system(&error.into())
                )));
            }
        }
    }
    let wall = started.elapsed();
    let status = passing.ended(|| child.wait());
    let status = status
        .map_err(|error| Failure::ours(format!("cannot wait for the program: {}", failure::of_system(&error))))?;
    Ok((Ending { status, wall }, pid))
}
