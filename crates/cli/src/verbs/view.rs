//! `genba view`: the viewer on this machine. Recordings are read anew for each page, so a reload shows how far a run has come.
//! Owns: which files are shown, the address with its secret, and the exit code. Never: answers a request (`view/site.rs` does), keeps a
//! connection (genba-server does), listens on anything but 127.0.0.1, or gives the secret to a command line.

mod browser;
mod ends;
mod site;

use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Args;
use rustix::rand::{GetRandomFlags, getrandom};
use signal_hook::low_level::emulate_default_handler;

use crate::read::{check_opens, check_will_read, newest_here, print};
use crate::verbs::view::ends::End;
use crate::verbs::view::site::Recordings;
use crate::words::failure::{Failure, of_system, say};
use crate::words::numbers;
use genba_profile::shell;

const SECRET_BYTES: usize = 24;

#[derive(Args)]
pub struct Arguments {
    /// Recordings of genba, vmprof's logs (plain, gzip, bz2), .prof files or collapsed stacks; any two can be compared [default: the newest *.genba here]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Listen on this port of 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", value_parser = numbers::from_to::<u16>(1, 65_535))]
    port: Option<u16>,

    /// Print the address only; without this the browser is opened where there is one
    #[arg(long)]
    no_open: bool,

    /// Of the program that was recorded just before
    #[arg(long, value_name = "CODE", hide = true, default_value_t = 0)]
    exit_code: u8,
}

/// `genba view` of the recording, which ends with the program's exit code. It takes the place of this process, so nothing is left that
/// waits for the program's signals. The address goes to stderr: stdout was the program's. Returns only where that failed.
pub fn in_place_of_this(recording: &Path, exit_code: u8) -> Failure {
    // As a reader would type it.
    let here = std::env::current_dir().ok();
    let recording = here.and_then(|here| recording.strip_prefix(here).ok()).unwrap_or(recording);
    let cannot = |error: std::io::Error| {
        Failure::no(format!("cannot show the recording: {}", of_system(&error)))
            .hint(format!("genba view {}", shell::path(recording)))
            .with_exit_code(exit_code.max(1))
    };
    let started = || -> std::io::Result<std::io::Error> {
        let genba = std::env::current_exe()?;
        let out = std::io::stderr().as_fd().try_clone_to_owned()?;
        let mut command = Command::new(genba);
        command.args(["view", "--exit-code", &exit_code.to_string(), "--"]).arg(recording).stdout(out);
        Ok(command.exec())
    };
    cannot(started().unwrap_or_else(|error| error))
}

pub fn view(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let files = match arguments.files.as_slice() {
        [] => vec![newest_here()?],
        files => files.to_vec(),
    };
    files.iter().try_for_each(|file| check_opens(file))?;
    check_any_reads(&files)?;
    let listener = listener(arguments.port)?;
    let cannot_tell = |error: std::io::Error| Failure::ours(format!("cannot tell the port: {}", of_system(&error)));
    let port = listener.local_addr().map_err(cannot_tell)?.port();
    let site = Recordings::new(files, port, secret()?);
    // Before the address is known to anybody, who may then end genba by Ctrl-C.
    let mut ends = ends::watch()?;
    let address = site.address();
    // The address comes last: whoever reads it may end genba at once, and everything was said by then.
    say(&format!("showing {}; only this machine can open the address; Ctrl-C ends it", site.names()));
    print(&format!("{address}\n"))?;
    let is_opened = !arguments.no_open && browser::has_screen();
    // The address is printed: a browser that does not start is no reason to end.
    let say_why = |error: std::io::Error| say(&format!("no browser could be started: {}", of_system(&error)));
    let led = is_opened.then(|| browser::lead_to(&address).map_err(say_why));
    let end = genba_server::serve_here(listener, site, ends.recv())
        .map_err(|error| Failure::ours(format!("cannot serve pages: {error}")))?
        .ok_or_else(|| Failure::ours("nothing waits for Ctrl-C any more"))?;
    drop(led);
    match end {
        End::Interrupted => {}
        End::InputGone => say("ended: the process that held the other side of standard input is gone"),
        // As if it had not been caught. It returns only where it fails.
        End::Signal(signal) => drop(emulate_default_handler(signal)),
    }
    Ok(ExitCode::from(arguments.exit_code))
}

/// Where one reads, the page of another one says why that one does not.
fn check_any_reads(files: &[PathBuf]) -> Result<(), Failure> {
    let mut first = Ok(());
    for file in files {
        match check_will_read(file) {
            Ok(()) => return Ok(()),
            Err(failure) => first = first.and(Err(failure)),
        }
    }
    first
}

fn listener(port: Option<u16>) -> Result<TcpListener, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).map_err(|error| {
        let at = port.map_or_else(|| "127.0.0.1".to_owned(), |port| format!("127.0.0.1:{port}"));
        let failure = Failure::no(format!("cannot listen on {at}: {}", of_system(&error)));
        match port {
            Some(_) => failure.hint("name another --port, or leave it out: genba then takes a free one"),
            None => failure,
        }
    })
}

/// Other users of this machine can connect, but not guess it.
fn secret() -> Result<String, Failure> {
    let mut bytes = [0; SECRET_BYTES];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(SECRET_BYTES) => Ok(URL_SAFE_NO_PAD.encode(bytes)),
        Ok(_) => Err(Failure::ours("the system gave too few random bytes for a secret address")),
        Err(error) => Err(Failure::ours(format!("the system gave no random bytes for a secret address: {error}"))),
    }
}
