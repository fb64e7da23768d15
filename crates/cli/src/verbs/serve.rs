//! `genba serve`: the server of a team, and what its admin does with it.
//! Owns: the spelling of its words, and what is printed. Never: serves or stores; genba-server does.

mod amounts;
mod refusal;
mod token;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use genba_profile::figures::{counted, size};
use genba_profile::shell;
use genba_server::{Copied, Place, Settings};

use crate::read::print;
use crate::verbs::serve::amounts::{address, age_ms, days, now_ms, size_bytes};
use crate::verbs::serve::refusal::failure;
use crate::words::failure::{Failure, say};
use crate::words::numbers;

const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8970);
const RECORDING_BYTES_MAX: u64 = 256_000_000;
const RECORDINGS_OF_TOKEN_MAX: u64 = 100_000;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = false, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,

    #[command(flatten)]
    place: PlaceOptions,

    /// Listen on this address; one that others can reach needs a token first: genba serve token add NAME [default: 127.0.0.1:8970]
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    listen: Option<SocketAddr>,

    /// Take recordings up to this size [default: 256MB]
    #[arg(long, value_name = "SIZE", value_parser = size_bytes)]
    max_recording: Option<u64>,

    /// Take so many recordings from one token; those that were deleted do not count [default: 100000]
    #[arg(long, value_name = "N", value_parser = numbers::from::<u64>(1))]
    recordings_per_token: Option<u64>,

    /// Delete recordings that are older, such as 30d; kept in the database [default: as set before, else none is deleted]
    #[arg(long, value_name = "AGE", value_parser = days)]
    keep: Option<u32>,
}

#[derive(Args)]
pub struct PlaceOptions {
    /// The folder with database and recordings [default: $XDG_DATA_HOME/genba/serve, ~/.local/share/genba/serve]
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,

    /// A database that several servers share: postgres://USER:PASSWORD@HOST/DATABASE [also: GENBA_SERVE_DB]
    #[arg(long, value_name = "URL", global = true)]
    db: Option<String>,

    /// A store that several servers share: s3://BUCKET or s3://BUCKET/PREFIX. AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY say where and who
    #[arg(long, value_name = "URL", global = true)]
    store: Option<String>,
}

#[derive(Subcommand)]
enum Task {
    /// Tokens let programs and people in
    #[command(subcommand)]
    Token(token::Task),
    /// Delete recordings that are older
    Prune {
        /// Such as 30d, 12h
        #[arg(long, value_name = "AGE", value_parser = age_ms)]
        older: i64,
    },
    /// Compare everything that is stored with its hash; exit code 0 or 1
    Check,
    /// Copy the data folder while the server runs: genba serve backup TO, then genba serve --data TO
    Backup {
        /// A folder that does not exist yet
        #[arg(value_name = "TO")]
        to: PathBuf,
    },
    /// Copy the data folder to --db and --store, and verify the copy; stop its server first
    Move,
    /// Reads recordings for the server, which starts this for each question
    #[command(hide = true)]
    ReadOne,
}

impl Task {
    fn word(&self) -> &'static str {
        match self {
            Task::Token(_) => "token",
            Task::Prune { .. } => "prune",
            Task::Check => "check",
            Task::Backup { .. } => "backup",
            Task::Move => "move",
            Task::ReadOne => "read-one",
        }
    }
}

/// What is for the server itself, before a chore. clap's own conflict would refuse --data there, too.
fn refuse_unheeded(arguments: &Arguments) -> Result<(), Failure> {
    let Some(task) = &arguments.task else { return Ok(()) };
    let options = [
        ("--listen", arguments.listen.is_some()),
        ("--max-recording", arguments.max_recording.is_some()),
        ("--recordings-per-token", arguments.recordings_per_token.is_some()),
        ("--keep", arguments.keep.is_some()),
    ];
    let given: Vec<&str> = options.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect();
    match given.is_empty() {
        true => Ok(()),
        false => Err(Failure::usage(format!("genba serve {} takes no {}", task.word(), given.join(" and no ")))
            .hint("only genba serve itself, which starts the server, takes that")),
    }
}

pub fn serve(arguments: &Arguments) -> Result<ExitCode, Failure> {
    refuse_unheeded(arguments)?;
    let options = &arguments.place;
    match &arguments.task {
        Some(Task::ReadOne) => return Ok(genba_server::reading::work()),
        Some(Task::Token(task)) => token::token(task, &options.place()?, &options.command("token add NAME"))?,
        Some(Task::Prune { older }) => {
            let pruned = genba_server::prune(&options.place()?, now_ms() - older).map_err(failure)?;
            let recordings = counted(pruned.recordings, "recording", "recordings");
            let unnamed = match pruned.unnamed {
                0 => String::new(),
                count => format!(" and {}", unnamed(count, pruned.unnamed_bytes)),
            };
            say(&format!("deleted {recordings}{unnamed}"));
        }
        Some(Task::Check) => return check(&options.place()?),
        Some(Task::Backup { to }) => {
            let copied = genba_server::backup(&options.place()?, to).map_err(failure)?;
            say(&format!("copied {} to {}", words(&copied), to.display()));
        }
        Some(Task::Move) => {
            let from = Place { data: options.folder()?, db: None, store: None };
            let copied = genba_server::move_to(&from, &options.place()?).map_err(failure)?;
            say(&format!("copied and verified {}; {} stays as it is", words(&copied), from.data.display()));
        }
        None => run(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    // Before there are other threads: uploads hold parts of 8 MiB, and a server lives for months.
    genba_parent::give_large_pieces_back();
    let settings = Settings {
        listen: arguments.listen.unwrap_or(LISTEN),
        place: arguments.place.place()?,
        recording_bytes_max: arguments.max_recording.unwrap_or(RECORDING_BYTES_MAX),
        recordings_of_token_max: arguments.recordings_per_token.unwrap_or(RECORDINGS_OF_TOKEN_MAX),
        keep_days: arguments.keep,
        first_token: arguments.place.command("token add NAME"),
        program: PathBuf::from("/proc/self/exe"),
    };
    let shown = match (&settings.place.db, &settings.place.store) {
        (Some(_), Some(_)) => "the database and the store that were named".to_owned(),
        _ => settings.place.data.display().to_string(),
    };
    let began = |address: SocketAddr| {
        // The address comes last: whoever reads it may end the server at once.
        say(&format!("serving {shown}; Ctrl-C ends it"));
        // Whoever started the server may have closed its stdout.
        let _ = print(&format!("http://{address}/\n"));
    };
    genba_server::serve(settings, began).map_err(failure)
}

fn check(place: &Place) -> Result<ExitCode, Failure> {
    let checked = genba_server::check(place).map_err(failure)?;
    let (recordings, contents) = (checked.recordings, checked.contents);
    let found = format!(
        "{}, {} ({}), {} of uploads",
        counted(recordings, "recording", "recordings"),
        counted(contents, "content", "contents"),
        size(checked.bytes),
        counted(checked.parts, "part", "parts"),
    );
    if checked.unnamed > 0 {
        let unnamed = unnamed(checked.unnamed, checked.unnamed_bytes);
        say(&format!("the store has {unnamed}; genba serve prune deletes them, too"));
    }
    if checked.faults.is_empty() {
        print(&format!("{found}: all whole\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let faults = checked.faults.len() as u64;
    let failure = Failure::no(format!("{} in {found}", counted(faults, "fault", "faults")));
    Err(checked.faults.into_iter().fold(failure, Failure::detail).hint("docs/serve.md says how to restore a backup"))
}

fn unnamed(count: u64, bytes: u64) -> String {
    format!("{} that no recording uses ({})", counted(count, "content", "contents"), size(bytes))
}

fn words(copied: &Copied) -> String {
    format!(
        "{} and {} of uploads ({})",
        counted(copied.contents, "content", "contents"),
        counted(copied.parts, "part", "parts"),
        size(copied.bytes)
    )
}

impl PlaceOptions {
    fn place(&self) -> Result<Place, Failure> {
        let db = self.db.clone().or_else(|| std::env::var("GENBA_SERVE_DB").ok().filter(|db| !db.is_empty()));
        let needs_folder = db.is_none() || self.store.is_none();
        let data = if needs_folder { self.folder()? } else { PathBuf::new() };
        Ok(Place { data, db, store: self.store.clone() })
    }

    /// A command for copying, for the same place. The address of a database may have a password in it, and is not repeated.
    fn command(&self, words: &str) -> String {
        let data = self.data.iter().map(|data| format!(" --data {}", shell::path(data)));
        let db = self.db.iter().map(|_| " --db URL".to_owned());
        let store = self.store.iter().map(|store| format!(" --store {}", shell::word(store)));
        let place: String = data.chain(db).chain(store).collect();
        format!("genba serve {words}{place}")
    }

    fn folder(&self) -> Result<PathBuf, Failure> {
        if let Some(data) = &self.data {
            return Ok(data.clone());
        }
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let base = named("XDG_DATA_HOME").or_else(|| named("HOME").map(|home| home.join(".local/share")));
        base.map(|base| base.join("genba/serve")).ok_or_else(|| {
            Failure::usage("there is no folder for the server's data")
                .detail("neither HOME nor XDG_DATA_HOME is set")
                .hint("genba serve --data DIR")
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn read(words: &str) -> Arguments {
        let line = Line::try_parse_from(words.split(' ')).unwrap_or_else(|error| panic!("{words}: {error}"));
        line.arguments
    }

    #[test]
    fn what_a_chore_would_not_heed_is_refused_before_it() {
        for words in ["--listen 0.0.0.0:1", "--max-recording 1GB", "--recordings-per-token 7", "--keep 1d"] {
            refuse_unheeded(&read(&format!("serve {words} --data d check"))).expect_err(words);
            assert!(refuse_unheeded(&read(&format!("serve {words} --data d"))).is_ok(), "{words}");
        }
        let failure = refuse_unheeded(&read("serve --keep 1d --listen localhost:1 prune --older 9y")).expect_err("two");
        let said = format!("{failure:?}");
        assert!(said.contains("genba serve prune takes no --listen and no --keep"), "{said}");
        for words in ["serve --data d check", "serve check --data d", "serve --db URL --store URL token list"] {
            let arguments = read(words);
            assert!(refuse_unheeded(&arguments).is_ok(), "{words}");
            assert!(arguments.place.data.is_some() || arguments.place.db.is_some(), "{words}");
        }
    }
}
