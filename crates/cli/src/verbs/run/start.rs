//! The program's life under genba: started with the agent preloaded, waited for, reaped. So are all other children that genba has, which it did not start: as
//! pid 1 of a container every process that lost its parent.
//! Owns: the child process. Never: stands between the program and its terminal, its input and output, its directory
//! or its environment (two variables are added, nothing else).

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use genba_format::{Recording, proto};
use genba_parent::{Mask, News, next_news, reap, take_stop, unblock_stops};
use genba_profile::shell;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use super::bells::Chain;
use super::signals::{Answers, Passer};
use super::target::Program;
use super::watch::{Sighted, Watch};
use crate::recording::session::{Session, preload};
use crate::words::failure::{self, Failure};

/// How the program ended.
pub struct Ending {
    pub status: ExitStatus,
    pub wall: Duration,
    /// None: the kernel does not say.
    pub used: Option<Used>,
    /// What ran below the program, as seen from outside; nothing of a traced one.
    pub seen: Sighted,
}

/// What the kernel says that the program used, with those children that it had waited for.
#[derive(Clone, Copy)]
pub struct Used {
    pub cpu_ns: u64,
    pub memory_bytes_max: u64,
}

impl Used {
    /// For a reader, as a process is told that has waited for another. None: no more came after the last block than the end of any process costs,
    /// which is the kernel's work: it takes the memory apart.
    pub fn after_last_block(self, pid: u32, recording: &Recording, at_ns: u64) -> Option<proto::Reaped> {
        const END_NS: u64 = 20_000_000;
        const BYTES_PER_NS: u64 = 5;
        let is_its = |block: &proto::Block| block.start.as_ref().is_some_and(|start| start.pid == pid);
        let blocks = || recording.blocks.iter();
        let keys: Vec<_> = blocks().filter(|read| is_its(&read.block)).map(|read| read.header.process_key).collect();
        let its = || blocks().filter(|read| keys.contains(&read.header.process_key));
        // What comes after `--duration` was not to be recorded.
        if its().any(|read| read.block.end.as_ref().is_some_and(|end| end.why == "duration")) {
            return None;
        }
        let accounts = its().filter_map(|read| read.block.accounting.as_ref());
        let known_ns = accounts.map(|known| known.cpu_process_ns.saturating_add(known.cpu_reaped_ns)).max()?;
        let is_more = self.cpu_ns > known_ns.saturating_add(END_NS + self.memory_bytes_max / BYTES_PER_NS);
        is_more.then_some(proto::Reaped { pid, at_ns, cpu_ns: self.cpu_ns })
    }
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
    answers: Answers<impl FnOnce(u32) -> String + Send + 'static, impl Fn(i32) -> bool + Send + 'static>,
) -> Result<(Ending, u32), Failure> {
    let inherited = std::env::var_os("LD_PRELOAD");
    let mut command = Command::new(&program.path);
    command.arg0(&program.name).args(&program.arguments).env(Session::VARIABLE, session.encode()).env(
        "LD_PRELOAD",
        preload(&libraries.iter().map(|path| path.as_os_str()).collect::<Vec<_>>(), inherited.as_deref()),
    );
    let passer = Passer::make(answers, chain).map_err(|error| {
        Failure::no(format!("cannot make a thread: {}", failure::of_system(&error)))
            .hint("raise the limit (ulimit -v, ulimit -u)")
    })?;
    let started = Instant::now();
    let mut child = genba_parent::start(&mut command, mask).map_err(|error| {
        Failure::no(format!("cannot start {}: {}", program.path.display(), failure::of_system(&error)))
            .hint(format!("try it without genba: {}", shell::path(Path::new(&program.name))))
    })?;
    let pid = child.id();
    let passing = passer.pass_on_to(pid);
    // A look reads a file of each thread. Processes that are traced say what they wrote; the others are not told.
    let watch = (!session.trace).then(|| Watch::begin(pid)).flatten();
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
    let (status, used) = passing.ended(|| {
        let before = children();
        let status = child.wait();
        let used = before.zip(children());
        (status, used.map(|(before, all)| Used { cpu_ns: all.cpu_ns.saturating_sub(before.cpu_ns), ..all }))
    });
    let status = status.map_err(cannot_wait)?;
    unblock_stops();
    Ok((Ending { status, wall, used, seen }, pid))
}

/// Of all that genba has waited for.
fn children() -> Option<Used> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let cpu_ns = usage.user_time().num_nanoseconds().saturating_add(usage.system_time().num_nanoseconds());
    let memory_kib_max = u64::try_from(usage.max_rss()).unwrap_or(0);
    Some(Used { cpu_ns: u64::try_from(cpu_ns).unwrap_or(0), memory_bytes_max: memory_kib_max.saturating_mul(1024) })
}

#[cfg(test)]
mod tests {
    use super::Used;
    use genba_format::{BlockHeader, ProcessKey, ReadBlock, Recording, proto};

    /// A process whose last block tells 100 ms and 50 ms of children.
    fn recording() -> Recording {
        let accounting =
            proto::Accounting { cpu_process_ns: 100_000_000, cpu_reaped_ns: 50_000_000, ..Default::default() };
        let block = proto::Block {
            start: Some(proto::Start { pid: 7, ..Default::default() }),
            accounting: Some(accounting),
            ..Default::default()
        };
        let header =
            BlockHeader { version: 3, process_key: ProcessKey::default(), sequence: 0, start_ns: 1, end_ns: 2 };
        let read = ReadBlock { header, block, samples: None, offset: 0, stored_bytes: 0 };
        Recording { blocks: vec![read], ..Recording::default() }
    }

    #[test]
    fn what_came_after_the_last_block_is_more_than_an_end_costs() {
        let told = |pid: u32, cpu_ms: u64, memory_mib: u64| {
            let used = Used { cpu_ns: cpu_ms * 1_000_000, memory_bytes_max: memory_mib << 20 };
            used.after_last_block(pid, &recording(), 9).map(|reaped| (reaped.pid, reaped.at_ns, reaped.cpu_ns))
        };
        assert_eq!(told(7, 500, 20), Some((7, 9, 500_000_000)));
        assert_eq!((told(7, 174, 20), told(7, 175, 20).is_some()), (None, true));
        // A large memory takes longer to take apart.
        assert_eq!(told(7, 500, 4096), None);
        // Another process, such as a shell that started it.
        assert_eq!(told(8, 500, 20), None);
    }
}
