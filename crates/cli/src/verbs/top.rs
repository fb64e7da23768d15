//! `genba top`: where the time of a program goes while it runs, in the terminal.
//! Owns: the options, and the loop of keys, pictures and screens. Never: touches the program: it reads the recording that another genba writes (attaching.rs starts that one for a process).

mod attaching;
mod draw;
mod follower;
mod model;
mod passed;
mod source;
mod starting;
mod state;
mod terminal;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::Duration;

use clap::{Args, ValueHint};
use genba_profile::report::printable;
use genba_profile::shell;
use ratatui::crossterm::event::{self, Event};

use self::draw::Palette;
use self::follower::{Follower, News};
use self::model::{Effect, Model};
use self::passed::Passed;
use self::source::{Beside, Source};
use self::starting::Wanted;
use self::state::State;
use self::terminal::Screen;
use crate::words::failure::{Failure, say};
use crate::words::progress::during;

/// How soon a picture or a signal is noticed while no key is pressed.
const KEY_WAIT: Duration = Duration::from_millis(125);
/// How long a key that asks for another picture waits for it before the screen is drawn.
const PICTURE_WAIT: Duration = Duration::from_millis(100);

#[derive(Args)]
#[command(
    override_usage = "genba top [OPTIONS] [PID or FILE]\n       genba top [OPTIONS] PROGRAM [ARGUMENTS]...\n       genba top [OPTIONS] -m MODULE [ARGUMENTS]..."
)]
pub struct Arguments {
    /// Interpreter for scripts and modules [default: the active virtual environment's, else python3]
    #[arg(long, value_name = "PYTHON", value_hint = ValueHint::ExecutablePath)]
    python: Option<OsString>,

    /// Run a module, as `python -m` does; what follows is the module's
    #[arg(short = 'm', value_name = "MODULE", num_args = 1.., allow_hyphen_values = true)]
    module: Option<Vec<OsString>>,

    #[command(flatten)]
    passed: Passed,

    /// A process, which is recorded while the screen is shown; the recording that another genba writes; or a program to start, as
    /// `genba run` takes it [default: the newest *.genba here]
    #[arg(value_name = "TARGET", trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    target: Vec<OsString>,
}

/// How the screen ended.
enum End {
    Quit,
    Signal(u8),
}

pub fn top(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let wanted =
        Wanted { module: arguments.module.clone(), target: arguments.target.clone(), python: arguments.python.clone() };
    let source = Source::of_target(wanted)?;
    if let Source::Recording(path) = &source
        && arguments.passed != Passed::default()
    {
        let why = format!("{} is recorded already: another genba has decided how", path.display());
        return Err(Failure::usage(why).hint("genba top PID, or genba top PROGRAM, with these options"));
    }
    source.check()?;
    terminal::check(&match &source {
        Source::Recording(path) => format!("genba report {}", shell::path(path)),
        Source::Process(pid) => format!("genba attach {pid} records it without a screen"),
        Source::Program(_) => "genba run records it without a screen".to_owned(),
    })?;
    let (following, beside) = source.open(&arguments.passed)?;
    let path = following.file.path().to_path_buf();
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let mut model = Model::new(printable(&name));
    let of_system = |error: std::io::Error| Failure::ours(format!("the terminal cannot be used: {error}"));
    let follower = Follower::start(following, model.wish())
        .map_err(|error| Failure::ours(format!("genba's own thread cannot be started: {error}")))
        .map_err(|failure| with_program(failure, beside.as_ref()))?;
    let mut screen = Screen::take().map_err(of_system).map_err(|failure| with_program(failure, beside.as_ref()))?;
    let end = show(&mut screen, &mut model, &follower, beside.as_ref());
    drop(screen);
    let Follower { wishes, news, thread } = follower;
    drop((wishes, news));
    let farewell = farewell(&model, &starting::shown(&path), beside.as_ref());
    if let Some(Beside::Attaching(attaching)) = beside {
        let said = during("naming C functions", || attaching.end());
        if !said.trim().is_empty() {
            say(said.trim_end());
        }
    }
    let end = end.map_err(of_system)?;
    // Whoever waits for names would have to wait for nothing: the process ends with the thread.
    if thread.is_finished() && thread.join().is_err() {
        return Err(Failure::ours("genba's own thread ended").detail("its words are above"));
    }
    say(&farewell);
    Ok(match end {
        End::Quit => ExitCode::SUCCESS,
        End::Signal(signal) => ExitCode::from(128 + signal),
    })
}

/// A program that was started goes on.
fn with_program(failure: Failure, beside: Option<&Beside>) -> Failure {
    match beside {
        Some(Beside::Starting(starting)) => failure.detail(format!("the program goes on; {}", starting.words())),
        _ => failure,
    }
}

/// Until a key or a signal ends it.
fn show(screen: &mut Screen, model: &mut Model, follower: &Follower, beside: Option<&Beside>) -> std::io::Result<End> {
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let palette = if is_plain { Palette::Plain } else { Palette::Colour };
    let mut is_stale = true;
    loop {
        if is_stale {
            screen.terminal.draw(|frame| draw::draw(frame, model, palette))?;
            is_stale = false;
        }
        if let Some(signal) = screen.ending_signal() {
            return Ok(End::Signal(signal));
        }
        screen.check_woken()?;
        let mut effect = Effect::None;
        if event::poll(KEY_WAIT)? {
            effect = match event::read()? {
                Event::Key(key) => model.key(key),
                _ => Effect::None,
            };
            is_stale = true;
        }
        match effect {
            Effect::None => {}
            Effect::Quit => return Ok(End::Quit),
            Effect::Stop => screen.stop()?,
            Effect::Wish => {
                if follower.wishes.send(model.wish()).is_err() {
                    return Ok(End::Quit);
                }
                is_stale |= await_picture(model, follower);
            }
        }
        loop {
            match follower.news.try_recv() {
                Ok(news) => is_stale |= take(model, news),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(End::Quit),
            }
        }
        if let Some(Beside::Attaching(attaching)) = beside {
            for missed in attaching.missed() {
                model.miss(missed);
                is_stale = true;
            }
        }
    }
}

/// True: there is something new to draw.
fn take(model: &mut Model, news: News) -> bool {
    match news {
        News::Picture(picture) => {
            model.see(*picture);
            true
        }
        News::Status(status) => {
            let is_new = model.status != status;
            model.status = status;
            is_new
        }
    }
}

fn await_picture(model: &mut Model, follower: &Follower) -> bool {
    loop {
        match follower.news.recv_timeout(PICTURE_WAIT) {
            Ok(news) => {
                let is_picture = matches!(news, News::Picture(_));
                take(model, news);
                if is_picture {
                    return true;
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        }
    }
}

/// Where the recording is, and whether the program goes on.
fn farewell(model: &Model, path: &str, beside: Option<&Beside>) -> String {
    let is_attached = matches!(beside, Some(Beside::Attaching(_)));
    let what = match &model.status.state {
        State::Ended(how) if how == state::COMPLETE => how.clone(),
        State::Ended(how) => format!("the recording ended ({how})"),
        State::LeftBehind { how, processes } => {
            format!("the program ended ({how}), {}", state::left_behind_in_words(*processes))
        }
        State::Waiting => "nothing is recorded yet".to_owned(),
        State::Recording | State::Quiet { .. } if is_attached => {
            "the process goes on, its recording has ended".to_owned()
        }
        State::Recording | State::Quiet { .. } => "the program and its recording go on".to_owned(),
        State::Gone { .. } => "no process of the recording runs here".to_owned(),
    };
    let has_ended = matches!(model.status.state, State::Ended(_) | State::LeftBehind { .. } | State::Gone { .. });
    let printed = match beside {
        Some(Beside::Starting(starting)) if has_ended => format!("; {}", starting.words_of_end()),
        Some(Beside::Starting(starting)) => format!("; {}", starting.words()),
        _ => String::new(),
    };
    format!("{what}: {path}{printed} · next: genba report {}", shell::path(Path::new(path)))
}
