//! Signals while the program runs: it gets what the terminal sends by itself; what another process sends to genba is
//! passed on. The second Ctrl-C ends genba, the program and the recording stay.
//! Owns: genba's signal handling between the program's start and genba's end. Never: signals a pid that was reaped,
//! changes a signal that was ignored when genba started (`nohup`), touches SIGTSTP and SIGCONT (job control).

use std::fs;
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};

use crate::failure::say;

const PASSED_ON: [i32; 7] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM];

/// Signals that came before the program was started wait here until `pass_on_to`.
pub struct Caught(SignalsInfo<WithOrigin>);

/// What the signals are passed on to, shared with the thread that does it.
#[derive(Clone)]
pub struct Passing(Arc<Mutex<Program>>);

enum Program {
    Running(Pid),
    /// Reaped: nothing is passed on any more.
    Ended,
}

impl Caught {
    pub fn begin() -> std::io::Result<Caught> {
        let ignored = ignored_signals();
        let caught = PASSED_ON.iter().filter(|signal| ignored & (1 << (**signal - 1)) == 0);
        SignalsInfo::new(caught).map(Caught)
    }

    /// From now on a thread passes signals on; `farewell` is said when the second Ctrl-C ends genba.
    pub fn pass_on_to(self, program: Pid, farewell: String) -> Passing {
        let passing = Passing(Arc::new(Mutex::new(Program::Running(program))));
        let shared = passing.clone();
        std::thread::spawn(move || {
            let Caught(mut signals) = self;
            let mut interrupts = 0;
            for origin in &mut signals {
                if shared.receive(&origin, &mut interrupts) == Next::End {
                    say(&farewell);
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
        let mut program = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *program = Program::Ended;
        reap()
    }

    fn receive(&self, origin: &Origin, interrupts: &mut u32) -> Next {
        let program = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_from_terminal = origin.cause == Cause::Kernel;
        // The terminal's signals go to every process in the foreground, the program too. One that is seen only after
        // the program ended may be the one that ended it, whoever sent it.
        let pid = match *program {
            Program::Running(pid) if !is_from_terminal => pid,
            Program::Running(_) if origin.signal != SIGINT => return Next::GoOn,
            Program::Ended if ![SIGINT, SIGTERM, SIGHUP, SIGQUIT].contains(&origin.signal) => return Next::GoOn,
            Program::Running(_) | Program::Ended => {
                *interrupts += 1;
                return if *interrupts >= 2 { Next::End } else { Next::GoOn };
            }
        };
        if let Some(signal) = Signal::from_named_raw(origin.signal) {
            // It may have ended on its own: then there is nothing to pass on to.
            let _ = kill_process(pid, signal);
        }
        Next::GoOn
    }
}

/// Bit n - 1 is signal n. Source: proc(5), `SigIgn` in /proc/PID/status.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
