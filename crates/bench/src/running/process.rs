//! One process, from its start to its end: wall time, what the kernel counted of it, how it ended.
//! Owns: its input and output, its group. Never: keeps what it prints.
//!
//! The clock starts before the fork and stops when the process has ended, before it is reaped. It leads a group of its own, so that Ctrl-C ends all of
//! it and genba only when genba decides. The environment gets one variable of a length that is drawn anew for each run: where the stack begins depends on the
//! size of the environment and of the arguments, and the speed of some programs on where the stack begins (Mytkowicz et al. 2009).

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use wait4::Wait4;

use super::Ended;
use super::interrupt::Interrupt;
use crate::subjects::measured::Run;
use crate::words::refusal::{Refusal, of_system};

/// Where random numbers come from: the same for the same seed.
pub use fastrand::Rng as Random;

const PADDING: &str = "GENBA_BENCH_PADDING";
/// A page: any place of the stack within one.
const PADDING_MAX: usize = 4_096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Input {
    #[default]
    Null,
    File(PathBuf),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Output {
    #[default]
    Null,
    /// Read and thrown away.
    Pipe,
    Inherit,
    File(PathBuf),
}

/// Where a process reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Streams<'a> {
    pub input: &'a Input,
    pub output: &'a Output,
    /// None: with stdout where that is inherited, else nowhere.
    pub stderr: Option<&'a File>,
}

impl Streams<'_> {
    fn give(&self, command: &mut Command) -> Result<(), Refusal> {
        command.stdin(match self.input {
            Input::Null => Stdio::null(),
            Input::File(path) => Stdio::from(File::open(path).map_err(|error| {
                Refusal::usage(
                    format!("cannot read the input {}: {}", path.display(), of_system(&error)),
                    "--input FILE, or leave it out: commands then read nothing",
                )
            })?),
        });
        let (stdout, stderr) = match self.output {
            Output::Null => (Stdio::null(), Stdio::null()),
            Output::Pipe => (Stdio::piped(), Stdio::null()),
            Output::Inherit => (Stdio::inherit(), Stdio::inherit()),
            Output::File(path) => {
                let file = File::create(path).map_err(|error| {
                    Refusal::usage(
                        format!("cannot write the output {}: {}", path.display(), of_system(&error)),
                        "--output null, pipe, inherit or a file such as ./out",
                    )
                })?;
                (Stdio::from(file), Stdio::null())
            }
        };
        command.stdout(stdout);
        let own = self.stderr.and_then(|file| file.try_clone().ok()).map(Stdio::from);
        command.stderr(own.unwrap_or(stderr));
        Ok(())
    }
}

/// Runs it once. `name`: for the words when it cannot be started.
///
/// # Errors
/// It cannot be started, or genba was interrupted.
pub fn run_once(
    command: &mut Command,
    name: &str,
    streams: &Streams<'_>,
    random: &mut Random,
    interrupt: &Interrupt,
) -> Result<Run, Ended> {
    streams.give(command)?;
    command.env(PADDING, "x".repeat(random.usize(..PADDING_MAX)));
    command.process_group(0);
    let begin = || -> io::Result<(Pid, (Child, Instant))> {
        let began = Instant::now();
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok((pid.ok_or(io::ErrorKind::Other)?, (child, began)))
    };
    let begun = interrupt.begin(begin).map_err(|error| cannot_start(name, &error))?;
    let (pid, (mut child, began)) = begun.ok_or(Ended::Interrupted)?;
    if let Some(mut pipe) = child.stdout.take() {
        // A grandchild may keep it open: nobody waits for this thread.
        std::thread::spawn(move || io::copy(&mut pipe, &mut io::sink()));
    }
    let ended = wait_for_end(pid);
    let wall = began.elapsed();
    if matches!(ended, Ok(Waited::StaysStopped)) {
        interrupt.end(|| ());
        return Err(Ended::Refused(wants_terminal(name)));
    }
    // Nothing else is waited for meanwhile: what the counts of all children grow by is this one's.
    let before = counts();
    let reaped = interrupt.end(|| child.wait4());
    let after = counts();
    if interrupt.is_stopped() {
        return Err(Ended::Interrupted);
    }
    let cannot_wait = |error| {
        Refusal::no(format!("cannot wait for {name}: {}", of_system(&error)), "genba doctor says what is allowed here")
    };
    let (waited, reaped) = (ended.map_err(cannot_wait)?, reaped.map_err(cannot_wait)?);
    if waited == Waited::WantedTerminal {
        return Err(Ended::Refused(wants_terminal(name)));
    }
    let grown: [u64; 4] = std::array::from_fn(|position| after[position].saturating_sub(before[position]));
    let [minor_faults, major_faults, voluntary_switches, involuntary_switches] = grown;
    Ok(Run {
        time_ns: wall.as_nanos() as f64,
        user_ns: reaped.rusage.utime.as_nanos() as f64,
        system_ns: reaped.rusage.stime.as_nanos() as f64,
        memory_bytes: reaped.rusage.maxrss,
        minor_faults,
        major_faults,
        voluntary_switches,
        involuntary_switches,
        exit_code: reaped.status.code().unwrap_or_else(|| 128 + reaped.status.signal().unwrap_or(0)),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    Ended,
    /// The kernel stops what reads from the terminal in its background, or changes it: it would wait without end, and was killed with its group.
    WantedTerminal,
    /// The same of a program of another user, as `sudo` is while it asks: nobody here may kill it. The kernel ends it when genba has ended.
    StaysStopped,
}

/// It stays to be reaped, so that its number is not given to another process meanwhile.
fn wait_for_end(pid: Pid) -> io::Result<Waited> {
    let next = |changes: WaitIdOptions| rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), changes));
    loop {
        let changes = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        let Some(signal) = next(changes)?.and_then(|status| status.stopping_signal()) else {
            return Ok(Waited::Ended);
        };
        if [Signal::TTIN, Signal::TTOU].iter().any(|of_terminal| of_terminal.as_raw() == signal) {
            let is_ours = kill_process(pid, Signal::KILL).is_ok();
            let _ = kill_process_group(pid, Signal::KILL);
            if !is_ours {
                return Ok(Waited::StaysStopped);
            }
            next(WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
            return Ok(Waited::WantedTerminal);
        }
        // Somebody stopped it, and lets it go on. Told once.
        next(WaitIdOptions::STOPPED | WaitIdOptions::NOHANG)?;
    }
}

fn wants_terminal(name: &str) -> Refusal {
    Refusal::no(
        format!("{name} wants the terminal, and commands run in its background"),
        "`sudo -v` before, or a command that reads the answer from stdin (`sudo -S`) with --input FILE",
    )
}

/// Of all children so far, and theirs.
fn counts() -> [u64; 4] {
    let usage: Option<Usage> = getrusage(UsageWho::RUSAGE_CHILDREN).ok();
    let count =
        |value: &dyn Fn(&Usage) -> i64| usage.as_ref().map_or(0, |usage| u64::try_from(value(usage)).unwrap_or(0));
    [
        count(&Usage::minor_page_faults),
        count(&Usage::major_page_faults),
        count(&Usage::voluntary_context_switches),
        count(&Usage::involuntary_context_switches),
    ]
}

/// The most that genba itself had in memory. A process begins in genba's memory until it has become its program, and the kernel counts
/// that: less than this cannot be measured. 0: the kernel does not say.
#[must_use]
pub fn memory_floor_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim_end().parse::<u64>().ok());
    kilobytes.map_or(0, |kilobytes| kilobytes * 1024)
}

fn cannot_start(name: &str, error: &io::Error) -> Refusal {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "a program on PATH, or a path with a slash; -N takes no words of the shell",
        io::ErrorKind::PermissionDenied => "chmod +x, or name the interpreter before it",
        io::ErrorKind::ArgumentListTooLong => "a shorter command",
        _ => "try it without genba",
    };
    Refusal::no(format!("cannot start {name}: {}", of_system(error)), hint)
}
