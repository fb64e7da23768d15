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

const PORT: u16 = 8970;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = false, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,

    #[command(flatten)]
    place: PlaceOptions,

    /// Listen on this address; one that others can reach needs a token first: genba serve token add NAME
    #[arg(long, value_name = "ADDR:PORT", value_parser = address, default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT))]
    listen: SocketAddr,

    /// Take recordings up to this size
    #[arg(long, value_name = "SIZE", default_value = "256MB", value_parser = size_bytes)]
    max_recording: u64,

    /// Take so many recordings from one token; those that were deleted do not count
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    recordings_per_token: u64,

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

pub fn serve(arguments: &Arguments) -> Result<ExitCode, Failure> {
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
        listen: arguments.listen,
        place: arguments.place.place()?,
        recording_bytes_max: arguments.max_recording,
        recordings_of_token_max: arguments.recordings_per_token,
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
