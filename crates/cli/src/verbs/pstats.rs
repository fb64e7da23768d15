//! `genba pstats`: the shell of `python -m pstats`, and its words as options.
//! Owns: the options, and what is printed for a line. Never: adds up or lays out; genba-pstats does.

mod lines;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use genba_pstats::{Browser, Listing, Purpose, Restriction, Stats, UnknownKey};

use crate::read::{self, prof_file};
use crate::words::failure::Failure;
use lines::Lines;

#[derive(Args)]
pub struct Arguments {
    /// Files that cProfile, profile or genba trace wrote, .prof files and recordings; several are added up. Without options the shell of python -m pstats begins
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Leave folders out of the names of files
    #[arg(long)]
    strip: bool,

    /// Order by these, such as time or "cumulative name": calls, cumulative, filename, line, name, nfl, pcalls, stdname, time
    #[arg(short, long, value_name = "KEYS")]
    sort: Option<String>,

    /// Turn the order round
    #[arg(long, requires = "sort")]
    reverse: bool,

    /// List functions: all, or with words as in the shell a number of them, a share from 0 to 1, or those that match a regular expression
    #[arg(long, value_name = "WORDS", num_args = 0..=1, default_missing_value = "")]
    stats: Vec<String>,

    /// List who called functions, with the same words
    #[arg(long, value_name = "WORDS", num_args = 0..=1, default_missing_value = "")]
    callers: Vec<String>,

    /// List whom functions called, with the same words
    #[arg(long, value_name = "WORDS", num_args = 0..=1, default_missing_value = "")]
    callees: Vec<String>,

    /// List how often and how long coroutines waited, with the same words; counted by genba trace
    #[arg(long, value_name = "WORDS", num_args = 0..=1, default_missing_value = "")]
    awaits: Vec<String>,
}

pub fn pstats(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let lists: [(Listing, &Vec<String>); 4] = [
        (Stats::listing, &arguments.stats),
        (Stats::callers_listing, &arguments.callers),
        (Stats::callees_listing, &arguments.callees),
        (Stats::awaits_listing, &arguments.awaits),
    ];
    let has_lists = lists.iter().any(|(_, asked)| !asked.is_empty());
    let is_shell = !has_lists && !arguments.strip && arguments.sort.is_none();
    let mut shared = prof_file::Shared::default();
    let stats = match arguments.files.split_first() {
        Some((first, others)) => Some((first.display().to_string(), added(first, others, &mut shared)?)),
        None => None,
    };
    let mut stats = match (is_shell, stats) {
        (true, stats) => return browse(stats, shared),
        (false, Some((_, stats))) => stats,
        (false, None) => {
            return Err(Failure::usage("no file is named").hint("genba pstats app.prof --sort time --stats 10"));
        }
    };
    if arguments.strip {
        stats.strip_folders();
    }
    if let Some(keys) = &arguments.sort {
        let keys: Vec<&str> = keys.split([',', ' ']).filter(|key| !key.is_empty()).collect();
        stats.sort(&keys).map_err(|unknown| not_a_key(&unknown, "genba pstats app.prof --sort cumulative"))?;
    }
    if arguments.reverse {
        stats.reverse();
    }
    if !has_lists {
        read::print_pieces(|page| stats.listing(&[], page))?;
    }
    for (list, words) in lists.iter().flat_map(|(list, asked)| asked.iter().map(move |words| (list, words))) {
        let restrictions: Result<Vec<Restriction>, _> = words.split_whitespace().map(Restriction::of_word).collect();
        let restrictions = restrictions.map_err(|_| {
            Failure::usage(format!("`{words}` has a number that is no share of the rows"))
                .detail("expected a whole number of rows, a share from 0 to 1, or a regular expression")
                .hint("genba pstats app.prof --stats 10")
        })?;
        read::print_pieces(|page| list(&stats, &restrictions, page))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn added(first: &Path, others: &[PathBuf], shared: &mut prof_file::Shared) -> Result<Stats, Failure> {
    let mut stats = prof_file::open(first, shared)?;
    for other in others {
        stats.add(prof_file::open(other, shared)?);
    }
    Ok(stats)
}

fn browse(stats: Option<(String, Stats)>, shared: prof_file::Shared) -> Result<ExitCode, Failure> {
    let shared = RefCell::new(shared);
    let load = |file: &str, purpose: Purpose| {
        let (path, mut shared) = (Path::new(file), shared.borrow_mut());
        match purpose {
            Purpose::Add => prof_file::load(path, &mut shared),
            Purpose::Replace => {
                // What was loaded before gives its room back.
                let mut whole = prof_file::Shared::default();
                let loaded = prof_file::load(path, &mut whole);
                if loaded.is_ok() {
                    *shared = whole;
                }
                loaded
            }
        }
    };
    let mut browser = Browser::new(stats, &load);
    let mut lines = Lines::new();
    read::print("Welcome to the profile statistics browser.\n")?;
    loop {
        let line = lines.next(browser.prompt())?;
        let mut ends = false;
        read::print_pieces(|page| {
            ends = browser.answer(line.as_deref(), page)?;
            Ok(())
        })?;
        if ends {
            break;
        }
    }
    read::print("Goodbye.\n")?;
    Ok(ExitCode::SUCCESS)
}

/// `hint`: a command line with a key.
pub fn not_a_key(unknown: &UnknownKey, hint: &str) -> Failure {
    let valid = UnknownKey::valid();
    let failure = Failure::usage(unknown.to_string()).detail("valid keys, of which unique beginnings are enough:");
    valid.lines().fold(failure, |failure, line| failure.detail(line)).hint(hint)
}
