//! Signals while the program runs: it gets what the terminal sends by itself; what another process sends to genba is
//! passed on. The second Ctrl-C ends genba, the program and the recording stay; one that comes while genba waits for an upload ends that wait. Ctrl-Z stops genba when it stops the program.
//! Owns: genba's signal handling between the program's start and genba's end. Never: signals a pid that was reaped,
//! hands a signal to the program otherwise than it was handed to genba (`nohup`: ignored).

use std::fs;
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, getpgid, getpid, getppid, getsid, kill_process};
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};

use super::bells::Chain;
use crate::verbs::heap::keeping::Asking;
use crate::words::failure::say;

/// Passed on. Ctrl-Z does not stop genba itself: it stops when the program has stopped.
const CAUGHT: [i32; 8] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP];

/// Signals that came before the program was started wait here until `pass_on_to`.
pub struct Caught {
    signals: SignalsInfo<WithOrigin>,
    /// Ignored when genba started: bit n - 1 is signal n.
    ignored: u64,
}

/// What genba does about signals that are its own.
pub struct Answers<Farewell, LeaveWait> {
    /// Said when the second Ctrl-C ends genba: for the program's pid.
    pub farewell: Farewell,
    /// When the program has ended: ends the wait for the rest of an upload, if that is what genba is at.
    pub leave_wait: LeaveWait,
    /// By this signal the user asks for the heap: it is not passed on.
    pub heap: Option<(i32, Asking)>,
}

/// What the signals are passed on to, shared with the thread that does it.
#[derive(Clone)]
pub struct Passing {
    program: Arc<Mutex<Program>>,
    chain: Chain,
}

enum Program {
    Running(Pid),
    /// Reaped: nothing is passed on any more.
    Ended,
}

impl Caught {
    pub fn begin() -> std::io::Result<Caught> {
        let ignored = ignored_signals();
        let caught = CAUGHT.iter().filter(|signal| !is_in(ignored, **signal));
        Ok(Caught { signals: SignalsInfo::new(caught)?, ignored })
    }

    /// Where genba was started with SIGCHLD ignored, the kernel would keep from it how the program ended. Called when the program has been
    /// started: that one inherits what it would have without genba.
    pub fn take_children_back(&self) -> std::io::Result<()> {
        if is_in(self.ignored, SIGCHLD) {
            signal_hook::flag::register(SIGCHLD, Arc::default())?;
        }
        Ok(())
    }

    /// From now on a thread passes signals on, and rings by `chain` first.
    pub fn pass_on_to(
        self,
        program: Pid,
        answers: Answers<impl FnOnce(u32) -> String + Send + 'static, impl Fn() -> bool + Send + 'static>,
        chain: Chain,
    ) -> Passing {
        let passing = Passing { program: Arc::new(Mutex::new(Program::Running(program))), chain };
        let shared = passing.clone();
        let Caught { mut signals, ignored } = self;
        // Not before the program was started: it inherits what is ignored. It may want them all the same.
        let handle = signals.handle();
        for signal in CAUGHT.into_iter().filter(|signal| is_in(ignored, *signal)) {
            // Where that fails it stays as it was.
            let _ = handle.add_signal(signal);
        }
        std::thread::spawn(move || {
            let mut interrupts = 0;
            for origin in &mut signals {
                if let Some((_, asking)) = answers.heap.as_ref().filter(|(signal, _)| *signal == origin.signal) {
                    asking.ask();
                    continue;
                }
                if shared.receive(&origin, ignored, &mut interrupts, &answers.leave_wait) == Next::End {
                    say(&(answers.farewell)(program.as_raw_nonzero().get().unsigned_abs()));
                    std::process::exit(128 + origin.signal);
                }
            }
        });
        passing
    }
}

#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    End,
}

impl Passing {
    /// The program ended and is reaped by `reap` while nothing can be passed on.
    pub fn ended<T>(&self, reap: impl FnOnce() -> T) -> T {
        let mut program = self.program.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *program = Program::Ended;
        reap()
    }

    fn receive(&self, origin: &Origin, ignored: u64, interrupts: &mut u32, leave_wait: &impl Fn() -> bool) -> Next {
        let program = self.program.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_from_terminal = origin.cause == Cause::Kernel;
        // The terminal's signals go to every process in the foreground, the program too. One that is seen only after
        // the program ended may be the one that ended it, whoever sent it.
        let pid = match *program {
            Program::Running(pid) if !is_from_terminal => pid,
            _ if is_in(ignored, origin.signal) => return Next::GoOn,
            Program::Running(_) if origin.signal != SIGINT => return Next::GoOn,
            Program::Ended if ![SIGINT, SIGTERM, SIGHUP, SIGQUIT].contains(&origin.signal) => return Next::GoOn,
            Program::Ended if leave_wait() => return Next::GoOn,
            Program::Running(_) | Program::Ended => {
                *interrupts += 1;
                return if *interrupts >= 2 { Next::End } else { Next::GoOn };
            }
        };
        if let Some(signal) = Signal::from_named_raw(origin.signal) {
            self.chain.before_signal(pid.as_raw_nonzero().get().unsigned_abs(), origin.signal);
            // It may have ended on its own: then there is nothing to pass on to.
            let _ = kill_process(pid, signal);
        }
        Next::GoOn
    }
}

/// The program was stopped, by Ctrl-Z or by itself: genba stops too, so that the shell takes its terminal back, where there is a
/// shell that will wake it.
pub fn stop_with(program: Pid) {
    let Some(parent) = getppid() else { return };
    let is_job = getpgid(Some(parent)).ok() != getpgid(None).ok() && getsid(Some(parent)).ok() == getsid(None).ok();
    if !is_job || fs::File::open("/dev/tty").is_err() {
        return;
    }
    let _ = kill_process(getpid(), Signal::STOP);
    // Whoever woke genba meant the program. A shell wakes the whole group, which has reached it already.
    let stat = fs::read_to_string(format!("/proc/{}/stat", program.as_raw_nonzero())).unwrap_or_default();
    if stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')) {
        let _ = kill_process(program, Signal::CONT);
    }
}

const fn is_in(signals: u64, signal: i32) -> bool {
    signals & (1 << (signal - 1)) != 0
}

/// Bit n - 1 is signal n. Source: proc(5), `SigIgn` in /proc/PID/status.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
