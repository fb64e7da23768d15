//! The terminal while `genba top` has it: raw, on its second screen, without a cursor.
//! Owns: that it is given back, also by a panic, a signal, and while genba is stopped (Ctrl-Z). Never: draws.

use std::io::{IsTerminal, Stdout, stdin, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::tcgetwinsize;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::words::failure::Failure;

const LOOKED_EVERY: Duration = Duration::from_millis(500);

pub struct Screen {
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
    /// Which signal came that ends genba; 0: none.
    ending: Arc<AtomicUsize>,
    woken: Arc<AtomicBool>,
}

/// Whether there is a terminal that can show it. `hint`: what does without one.
pub fn check(hint: &str) -> Result<(), Failure> {
    for (is_terminal, name) in [(stdin().is_terminal(), "stdin"), (stdout().is_terminal(), "stdout")] {
        if !is_terminal {
            return Err(Failure::usage(format!("genba top needs a terminal, and {name} is none")).hint(hint));
        }
    }
    let terminal = std::env::var("TERM").unwrap_or_default();
    if terminal.is_empty() || terminal == "dumb" {
        let found = if terminal.is_empty() { "TERM is not set".to_owned() } else { format!("TERM={terminal}") };
        return Err(Failure::usage("genba top needs a terminal whose cursor can be moved")
            .detail(format!("found {found}"))
            .hint(hint));
    }
    Ok(())
}

impl Screen {
    pub fn take() -> std::io::Result<Screen> {
        let (ending, woken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            signal_hook::flag::register_usize(signal, ending.clone(), signal.unsigned_abs() as usize)?;
        }
        signal_hook::flag::register(SIGCONT, woken.clone())?;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        end_with_terminal();
        set_up()?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(Screen { terminal, ending, woken })
    }

    /// The signal that ends genba.
    pub fn ending_signal(&self) -> Option<u8> {
        u8::try_from(self.ending.load(Ordering::Relaxed)).ok().filter(|signal| *signal > 0)
    }

    /// Ctrl-Z, which a raw terminal hands on as a key.
    pub fn stop(&mut self) -> std::io::Result<()> {
        give_back();
        let _ = kill_process(getpid(), Signal::TSTP);
        self.set_up_again()
    }

    /// Whoever woke genba after it was stopped may have changed the terminal.
    pub fn check_woken(&mut self) -> std::io::Result<()> {
        if self.woken.swap(false, Ordering::Relaxed) { self.set_up_again() } else { Ok(()) }
    }

    fn set_up_again(&mut self) -> std::io::Result<()> {
        self.woken.store(false, Ordering::Relaxed);
        set_up()?;
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Nobody sees it any more when the terminal is gone. Crossterm reads a terminal that has hung up without end (0.29), so a thread of its own
/// looks for that.
fn end_with_terminal() {
    std::thread::spawn(|| {
        while tcgetwinsize(stdin()).is_ok() {
            std::thread::sleep(LOOKED_EVERY);
        }
        std::process::exit(128 + SIGHUP);
    });
}

fn set_up() -> std::io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, Hide)
}

/// Twice does no harm.
fn give_back() {
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), Show, LeaveAlternateScreen);
}
