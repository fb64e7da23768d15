//! `genba push`: sends a recording to a genba server and prints the address of its page.
//! Owns: the words of the command line, and what `--dry-run` does. Never: sends what is no recording; sends anything with `--dry-run`.

mod departing;

use std::cell::Cell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueHint};
use genba_profile::figures;

use crate::read::{RecordingFile, check_reads, newest_here, print};
use crate::upload::{
    Client, Content, New, Progress, Refusal, Remembered, SMALL_REQUEST, Sending, Server, Token, Waits, host_name,
    name_of,
};
use crate::words::failure::{Failure, of_system, say};
use crate::words::progress::{during, during_change};
use crate::words::tags;

#[derive(Args)]
#[command(override_usage = "genba push [OPTIONS] [FILE] URL")]
pub struct Arguments {
    /// A recording of genba, a log of vmprof (plain, gzip, bz2), a .prof file or collapsed stacks [default: the newest *.genba here]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// The server, such as http://127.0.0.1:8970. Its token comes from GENBA_TOKEN or from a file
    #[arg(value_name = "URL")]
    url: Option<String>,

    /// Add KEY=VALUE to the recording's words on the server; may be repeated
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tags::tag)]
    tags: Vec<String>,

    /// The recording's name on the server [default: the file's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Read the token from a file [default: the variable GENBA_TOKEN]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    token_file: Option<PathBuf>,

    /// Print each field that would leave this machine, with its value, and send nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the address only
    #[arg(short, long)]
    quiet: bool,
}

pub fn push(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (file, server) = places(arguments)?;
    let token = Token::find(arguments.token_file.as_deref())?;
    let path = match file {
        Some(file) => file,
        None => {
            let newest = newest_here()?;
            say(&format!("pushing {}", newest.display()));
            newest
        }
    };
    let new = New {
        name: arguments.name.clone().unwrap_or_else(|| name_of(&path)),
        host: host_name(),
        tags: arguments.tags.clone(),
        is_live: false,
    };
    let progress = Progress::default();
    let content = |path: &Path| {
        let content = during("reading the recording", || Content::open(path, &progress));
        content.map_err(|error| Failure::no(format!("cannot read {}: {}", path.display(), of_system(&error))))
    };
    if arguments.dry_run {
        let recording = RecordingFile::open(Some(&path))?;
        let token = token.is_some().then_some(arguments.token_file.as_deref());
        print(&departing::page(&recording, &content(&path)?, &new, &server, token))?;
        say("nothing was sent");
        return Ok(ExitCode::SUCCESS);
    }
    check_reads(&path)?;
    let content = content(&path)?;
    let remembered = Remembered::of(&server, &content.sha256, &new);
    let is_told = Cell::new(false);
    let pushed = Client::new(&server, token.as_ref(), SMALL_REQUEST).and_then(|client| {
        let sending = Sending {
            client: &client,
            new: &new,
            content: &content,
            remembered: &remembered,
            progress: &progress,
            begun: remembered.load(),
            is_known: false,
            pause: &|wait| {
                // A terminal shows that already.
                if !arguments.quiet && !std::io::stderr().is_terminal() && !is_told.replace(true) {
                    say(&format!("{} does not take it yet: trying again for a while", server.shown()));
                }
                std::thread::sleep(wait);
                true
            },
            waits: Waits::bounded,
        };
        let shown = progress.clone();
        during_change(move || shown.in_words(), || sending.run())
    });
    let shown = path.display();
    let pushed = pushed.map_err(|refusal| {
        let failure = refusal.failure(&format!("{shown} was not pushed"), &server);
        explain_resuming(failure, &refusal, &remembered)
    })?;
    print(&format!("{}\n", server.page(&pushed.id)))?;
    if !arguments.quiet {
        say(&format!("pushed {shown} ({})", figures::size(content.bytes)));
    }
    Ok(ExitCode::SUCCESS)
}

fn explain_resuming(failure: Failure, refusal: &Refusal, remembered: &Remembered) -> Failure {
    match refusal.is_passing() && remembered.load().is_some() {
        true => failure.hint("the same command goes on where this one stopped"),
        false => failure,
    }
}

/// The file, if one is named, and the server.
fn places(arguments: &Arguments) -> Result<(Option<PathBuf>, Server), Failure> {
    let as_address = |file: &Path| file.to_str().filter(|word| Server::is_address(word)).map(str::to_owned);
    match (&arguments.file, &arguments.url) {
        (Some(file), Some(url)) => {
            if as_address(file).is_some() && !Server::is_address(url) {
                return Err(Failure::usage("the file stands before the address").hint("genba push FILE URL"));
            }
            Ok((Some(file.clone()), Server::parse(url)?))
        }
        (Some(word), None) => match as_address(word) {
            Some(url) => Ok((None, Server::parse(&url)?)),
            None => Err(Failure::usage("no server to push to")
                .detail("expected an address that begins with http:// or https://")
                .hint("genba push FILE http://127.0.0.1:8970; genba serve starts a server")),
        },
        _ => Err(Failure::usage("no server to push to")
            .hint("genba push FILE URL, or genba push URL for the newest recording here")),
    }
}
