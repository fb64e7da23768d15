//! A word on the terminal while genba works for longer than half a second: what it does, and for how long already.
//! Owns: when that appears, and that nothing of it stays. Never: writes anything when stderr is no terminal; moves the cursor
//! (it may stand after the last words of a program that ended no line).

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const SILENT: Duration = Duration::from_millis(500);
/// A step that is over sooner is not shown, however long the steps before it took.
const STEP_MIN: Duration = Duration::from_millis(50);
const REDRAWN_EVERY: Duration = Duration::from_secs(1);

/// Save the cursor, and go back to where it was saved; delete the rest of the line.
const SAVE: &str = "\x1b7";
const BACK: &str = "\x1b8";
const REST_OF_LINE: &str = "\x1b[K";

/// Does `work`, whose `words` are shown after half a second. Half a second of the whole: the steps of a verb follow each other at once.
pub fn during<Done>(words: &'static str, work: impl FnOnce() -> Done) -> Done {
    let _shown = Shown::start(move || words.to_owned());
    work()
}

/// The same with words that change meanwhile.
pub fn during_change<Done>(words: impl Fn() -> String + Send + 'static, work: impl FnOnce() -> Done) -> Done {
    let _shown = Shown::start(words);
    work()
}

/// Until it is dropped; also when `work` panics.
struct Shown {
    end: Option<Sender<()>>,
    screen: Option<JoinHandle<()>>,
}

impl Shown {
    fn start(words: impl Fn() -> String + Send + 'static) -> Shown {
        static FIRST: OnceLock<Instant> = OnceLock::new();
        let first = *FIRST.get_or_init(Instant::now);
        let is_dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
        if is_dumb || !std::io::stderr().is_terminal() {
            return Shown { end: None, screen: None };
        }
        let (end, ended) = channel();
        let screen = std::thread::Builder::new().spawn(move || draw(&words, first, &ended));
        Shown { end: Some(end), screen: screen.ok() }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(screen) = self.screen.take() {
            let _ = screen.join();
        }
    }
}

/// A terminal that does not take what is written is no reason to fail.
fn draw(words: &dyn Fn() -> String, first: Instant, ended: &Receiver<()>) {
    let write = |text: String| {
        let mut stderr = std::io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    };
    let mut wait = SILENT.saturating_sub(first.elapsed()).max(STEP_MIN);
    let mut is_drawn = false;
    while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        let seconds = first.elapsed().as_secs();
        let words = words();
        let line = if seconds == 0 { format!("{words} …") } else { format!("{words} … {seconds} s") };
        write(format!("{SAVE}{line}{REST_OF_LINE}{BACK}"));
        is_drawn = true;
        wait = REDRAWN_EVERY;
    }
    if is_drawn {
        write(REST_OF_LINE.to_owned());
    }
}
