//! What the reading verbs share: finding and opening a recording, the options they have in common, and writing.
//! Owns: FILE's default, the words for a file that is no recording, where colour goes. Never: makes a view.

mod filter_options;
pub mod prof_file;
mod recording_file;
mod recordings;
mod sides;
mod view_options;

use std::fmt;
use std::io::{BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};

use genba_profile::paint::Paint;
use genba_profile::report::printable;
use genba_profile::wrap::{wrapped, wrapped_on_screen};
use rustix::termios::tcgetwinsize;

use crate::words::failure::{self, Failure, say};

pub use filter_options::{FilterOptions, listed, pattern};
pub use recording_file::{
    ImportedFile, RecordingFile, check_is_no_pipe, check_opens, check_reads, check_will_read, newest_here,
};
pub use recordings::{RecordingArguments, Recordings, open_all};
pub use sides::{SideTimes, Sides};
pub use view_options::{
    ColourWhen, ComparedBy, Format, MinShare, SortBy, ViewOptions, WeightBy, check_compared_weight, check_weight,
    compared_weight, or_left_out, weight_of_view,
};

/// Where a text goes: colour is decided by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

pub fn paint(when: ColourWhen, stream: Stream) -> Paint {
    let is_terminal = match stream {
        Stream::Stdout => std::io::stdout().is_terminal(),
        Stream::Stderr => std::io::stderr().is_terminal(),
    };
    let is_plain_asked = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    match when {
        ColourWhen::Always => Paint::Colour,
        ColourWhen::Auto if is_terminal && !is_plain_asked => Paint::Colour,
        ColourWhen::Auto | ColourWhen::Never => Paint::Plain,
    }
}

/// Of the terminal; COLUMNS stands before it, where it is not 0. None: neither, as in a pipe, where lines may be of any length.
pub fn screen_width(stream: Stream) -> Option<usize> {
    const NARROWEST: usize = 40;
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok());
    let named = named.filter(|columns| *columns > 0);
    let size = || match stream {
        Stream::Stdout => tcgetwinsize(std::io::stdout()),
        Stream::Stderr => tcgetwinsize(std::io::stderr()),
    };
    let of_terminal = || size().ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    named.or_else(of_terminal).map(|columns| columns.max(NARROWEST))
}

/// For what has to be laid out in some width: without a screen, what most windows have room for.
pub fn width(stream: Stream) -> usize {
    const WITHOUT_SCREEN: usize = 100;
    screen_width(stream).unwrap_or(WITHOUT_SCREEN)
}

/// Writes a view to stdout. A reader that went away (`| head`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    printed(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// The same, with lines that are too long for the terminal broken.
pub fn print_wrapped(text: &str) -> Result<(), Failure> {
    let Some(width) = screen_width(Stream::Stdout) else { return print(text) };
    print(&text.lines().flat_map(|line| wrapped(line, width)).map(|line| line + "\n").collect::<String>())
}

/// The same of a text that is made piece by piece, and never there as a whole.
pub fn print_pieces(make: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result) -> Result<(), Failure> {
    let mut pieces = Pieces { stdout: BufWriter::new(std::io::stdout().lock()), failed: None };
    // It has no errors but those of stdout.
    let _ = make(&mut pieces);
    let failed = pieces.failed.take().or_else(|| pieces.stdout.flush().err());
    printed(failed.map_or(Ok(()), Err))
}

/// The same, of bytes.
pub fn print_bytes(make: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
    let mut stdout = BufWriter::new(std::io::stdout().lock());
    printed(make(&mut stdout).and_then(|()| stdout.flush()))
}

struct Pieces<'a> {
    stdout: BufWriter<StdoutLock<'a>>,
    failed: Option<std::io::Error>,
}

impl fmt::Write for Pieces<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.stdout.write_all(piece.as_bytes()).map_err(|error| {
            self.failed = Some(error);
            fmt::Error
        })
    }
}

fn printed(written: std::io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::ours(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a view, which ends with a line break.
pub fn show(text: &str, stream: Stream) -> Result<(), Failure> {
    match stream {
        Stream::Stdout => print(text)?,
        Stream::Stderr => failure::show(text.trim_end()),
    }
    Ok(())
}

pub fn warn(warnings: &[String]) {
    for line in warnings.iter().flat_map(|warning| warning_lines(warning)) {
        say(&line);
    }
}

/// For stderr.
pub fn warning_lines(warning: &str) -> Vec<String> {
    wrapped_on_screen(&printable(&format!("warning: {warning}")), screen_width(Stream::Stderr))
}
