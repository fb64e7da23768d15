//! Signals while the program runs: what another process sends to genba goes on to the program; what the terminal sends reaches the program by
//! itself. The second Ctrl-C ends genba, the program and the recording stay; one that comes while genba waits for an upload ends that wait.
//! Ctrl-Z stops genba when it stops the program.
//! Owns: what becomes of each signal between the program's start and genba's end (docs/decisions/17-signals-to-genba-run.md). Never: signals a pid
//! that was reaped.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::{fs, io};

use genba_parent::{Arrived, Origin, next_signal, was_ignored};
use nix::unistd::{getpgid, getsid};
use rustix::process::{Pid, Signal, getpid, getppid, kill_process};
use signal_hook::consts::{
    SIGBUS, SIGCHLD, SIGCONT, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGPIPE, SIGQUIT, SIGSEGV, SIGSYS, SIGTERM, SIGTRAP,
    SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGXCPU, SIGXFSZ,
};

use super::bells::Chain;
use crate::verbs::heap::keeping::Asking;
use crate::words::failure::say;

/// What genba does about signals that are its own.
pub struct Answers<Farewell, LeaveWait> {
    /// Said when the second Ctrl-C ends genba: for the program's pid.
    pub farewell: Farewell,
    /// When the program has ended: ends the wait for the rest of an upload, if that is what genba is at when this signal comes.
    pub leave_wait: LeaveWait,
    /// By this signal the user asks for the heap: it is not passed on.
    pub heap: Option<(i32, Asking)>,
}

/// What the signals are passed on to, shared with the thread that does it.
#[derive(Clone)]
pub struct Passing {
    program: Arc<Mutex<Program>>,
    /// genba has stopped itself, or is about to: the SIGCONT that wakes it is not the program's.
    has_stopped: Arc<AtomicBool>,
    chain: Chain,
}

enum Program {
    Running(u32),
    /// Reaped: nothing is passed on any more.
    Ended,
}

/// What becomes of a signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    PassedOn,
    Nothing,
    /// The user wants genba to end, if it comes twice.
    Interrupt,
}

/// The thread that will pass signals on. It is made before the program starts: where it cannot be made, nothing has begun.
pub struct Passer {
    passing: Sender<(u32, Passing)>,
    chain: Chain,
}

impl Passer {
    /// # Errors
    /// The kernel's: there is no memory for a thread, or no more may be made.
    pub fn make(
        answers: Answers<impl FnOnce(u32) -> String + Send + 'static, impl Fn(i32) -> bool + Send + 'static>,
        chain: Chain,
    ) -> io::Result<Passer> {
        let (passing, begun) = channel();
        std::thread::Builder::new().spawn(move || {
            // Err: the program was not started.
            if let Ok((program, passing)) = begun.recv() {
                pass_on_to(program, &passing, answers);
            }
        })?;
        Ok(Passer { passing, chain })
    }

    /// From now on the thread passes signals on, and rings by the chain first. Every thread blocks all of them: what came since then waits.
    pub fn pass_on_to(self, program: u32) -> Passing {
        let program_now = Arc::new(Mutex::new(Program::Running(program)));
        let passing = Passing { program: program_now, has_stopped: Arc::default(), chain: self.chain };
        let _ = self.passing.send((program, passing.clone()));
        passing
    }
}

fn pass_on_to(
    program: u32,
    passing: &Passing,
    answers: Answers<impl FnOnce(u32) -> String, impl Fn(i32) -> bool>,
) -> ! {
    let mut interrupts = 0;
    loop {
        let arrived = next_signal();
        let signal = arrived.signal();
        if let Some((_, asking)) = answers.heap.as_ref().filter(|(heap, _)| *heap == signal) {
            asking.ask();
            continue;
        }
        if passing.receive(&arrived, &answers.leave_wait) == Fate::Interrupt {
            interrupts += 1;
            if interrupts >= 2 {
                say(&(answers.farewell)(program));
                std::process::exit(128 + signal);
            }
        }
    }
}

impl Passing {
    /// The program ended and is reaped by `reap` while nothing can be passed on.
    pub fn ended<T>(&self, reap: impl FnOnce() -> T) -> T {
        let mut program = self.program.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *program = Program::Ended;
        reap()
    }

    fn receive(&self, arrived: &Arrived, leave_wait: &impl Fn(i32) -> bool) -> Fate {
        let program = self.program.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let signal = arrived.signal();
        if signal == SIGCONT && self.has_stopped.swap(false, SeqCst) {
            return Fate::Nothing;
        }
        let own_pid = getpid().as_raw_pid();
        let leads_session = || getsid(None).is_ok_and(|session| session.as_raw() == own_pid);
        match *program {
            Program::Running(pid) => {
                let fate = while_running(signal, arrived.origin(), was_ignored(signal), leads_session());
                if fate == Fate::PassedOn {
                    self.chain.before_signal(pid, signal);
                    arrived.pass_on(pid);
                }
                fate
            }
            Program::Ended if when_ended(signal, was_ignored(signal)) == Fate::Interrupt && !leave_wait(signal) => {
                Fate::Interrupt
            }
            Program::Ended => Fate::Nothing,
        }
    }

    /// The program was stopped, by Ctrl-Z or by itself: genba stops too, so that the shell takes its terminal back, where there is a
    /// shell that will wake it.
    pub fn stop_with(&self, program: u32) {
        let Some(parent) = getppid() else { return };
        let parent = Some(nix::unistd::Pid::from_raw(parent.as_raw_pid()));
        let is_job = getpgid(parent).ok() != getpgid(None).ok() && getsid(parent).ok() == getsid(None).ok();
        if !is_job || fs::File::open("/dev/tty").is_err() {
            return;
        }
        self.has_stopped.store(true, SeqCst);
        let _ = kill_process(getpid(), Signal::STOP);
        // Whoever woke genba meant the program. A shell wakes the whole group, which has reached it already.
        let stat = fs::read_to_string(format!("/proc/{program}/stat")).unwrap_or_default();
        if stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
            && let Some(program) = Pid::from_raw(program.cast_signed())
        {
            let _ = kill_process(program, Signal::CONT);
        }
    }
}

fn while_running(signal: i32, origin: Origin, was_ignored: bool, leads_session: bool) -> Fate {
    match signal {
        _ if origin == Origin::Sent => Fate::PassedOn,
        SIGINT if !was_ignored => Fate::Interrupt,
        // A terminal sends these to every process of its foreground, or of the group that it stops: to the program, too.
        SIGINT | SIGQUIT | SIGTSTP | SIGTTIN | SIGTTOU | SIGWINCH => Fate::Nothing,
        // When its terminal is gone, the leader of a session hears of it and nobody else. The group of a leader that ended has heard it as a whole.
        SIGHUP | SIGCONT if !leads_session => Fate::Nothing,
        // genba's own children, writes, limits and mistakes.
        SIGCHLD | SIGPIPE | SIGXFSZ | SIGXCPU | SIGSEGV | SIGBUS | SIGILL | SIGFPE | SIGTRAP | SIGSYS => Fate::Nothing,
        // Timers and owners of files outlive an exec, and name the pid that was started.
        _ => Fate::PassedOn,
    }
}

/// One that is seen only after the program ended may be the one that ended it, whoever sent it.
fn when_ended(signal: i32, was_ignored: bool) -> Fate {
    match signal {
        SIGINT | SIGTERM | SIGHUP | SIGQUIT if !was_ignored => Fate::Interrupt,
        _ => Fate::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_sends_is_the_programs() {
        for signal in 1..=64 {
            for (was_ignored, leads_session) in [(false, false), (false, true), (true, false), (true, true)] {
                assert_eq!(while_running(signal, Origin::Sent, was_ignored, leads_session), Fate::PassedOn, "{signal}");
            }
        }
    }

    #[test]
    fn what_the_program_hears_by_itself_is_not_passed_on() {
        for signal in [SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGHUP, SIGCONT, SIGCHLD, SIGPIPE, SIGXFSZ] {
            assert_eq!(while_running(signal, Origin::Kernel, false, false), Fate::Nothing, "{signal}");
        }
        assert_eq!(while_running(SIGINT, Origin::Kernel, false, false), Fate::Interrupt);
        assert_eq!(while_running(SIGINT, Origin::Kernel, true, false), Fate::Nothing);
    }

    #[test]
    fn what_the_kernel_tells_genba_alone_is_passed_on() {
        for signal in [SIGHUP, SIGCONT] {
            assert_eq!(while_running(signal, Origin::Kernel, false, true), Fate::PassedOn, "{signal}");
        }
        for signal in [signal_hook::consts::SIGALRM, signal_hook::consts::SIGIO, 40] {
            assert_eq!(while_running(signal, Origin::Kernel, false, false), Fate::PassedOn, "{signal}");
        }
    }

    #[test]
    fn when_the_program_has_ended_four_signals_end_genba() {
        let ending: Vec<i32> = (1..=64).filter(|&signal| when_ended(signal, false) == Fate::Interrupt).collect();
        assert_eq!(ending, [SIGHUP, SIGINT, SIGQUIT, SIGTERM]);
        assert!((1..=64).all(|signal| when_ended(signal, true) == Fate::Nothing));
    }
}
