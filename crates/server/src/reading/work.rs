//! What the process does that reads recordings for the server: one order in, one answer out, and then it ends.
//! Owns: its limits, which it sets on itself before it opens a file, and the form of what it writes. Never: opens a file that the order does
//! not name; uses the network; writes anywhere but to stdout and, when it fails, to stderr.

use std::io::{BufRead, Read, Write};
use std::process::ExitCode;

use genba_page::{BINS_MAX, HEAD, Room, numbers, page_around};
use genba_profile::memory::{self, Range};
use genba_profile::nameless::{Nameless, nameless};
use genba_profile::reading::Reading;
use genba_profile::report;
use genba_profile::tree;
use genba_profile::warnings::warning::Warning;
use genba_profile::warnings::warnings;
use rustix::process::{Resource, Rlimit, setrlimit};

use super::ask::{Ask, Order, Reply};
use super::compared::Sides;
use super::facts::Facts;
use super::opened::{NotOpened, Opened};
use super::unread::Refusal;

/// Of an order.
const LINE_BYTES_MAX: u64 = 1 << 20;

enum Answered {
    Json(String),
    Html(String),
}

/// Why there is no answer.
#[derive(Debug)]
enum Failed {
    Refused(Refusal),
    Absent(String),
    OutOfMemory,
    /// A fault of genba's own.
    Ours(String),
}

/// Reads an order on stdin and answers it on stdout. Exit code 2 and words on stderr: a fault of genba's own.
#[must_use]
pub fn work() -> ExitCode {
    let done = read_order().and_then(|order| {
        limit(&order).map_err(|error| format!("cannot set its limits: {error}"))?;
        let (reply, body) = match answer(&order) {
            Ok(Answered::Json(json)) => (Reply::Json { bytes: json.len() as u64 }, json),
            Ok(Answered::Html(page)) => (Reply::Html { bytes: page.len() as u64 }, page),
            Err(Failed::Refused(Refusal { title, detail, hint })) => {
                (Reply::Refused { title, detail, hint }, String::new())
            }
            Err(Failed::OutOfMemory) => (Reply::OutOfMemory, String::new()),
            Err(Failed::Absent(words)) => (Reply::Absent { words }, String::new()),
            Err(Failed::Ours(words)) => return Err(words),
        };
        write(&reply, &body).map_err(|error| format!("cannot write its answer: {error}"))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            // Nobody reads it where the server is gone.
            let _ = writeln!(std::io::stderr(), "{words}");
            ExitCode::from(2)
        }
    }
}

fn read_order() -> Result<Order, String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().take(LINE_BYTES_MAX).read_line(&mut line);
    read.map_err(|error| format!("cannot read its order: {error}"))?;
    serde_json::from_str(&line).map_err(|error| format!("not an order of genba serve: {error}"))
}

/// For itself, and for good.
fn limit(order: &Order) -> rustix::io::Result<()> {
    let most = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::Core, most(0))?;
    setrlimit(Resource::Fsize, most(0))?;
    // The second one kills a process that takes the signal of the first one for nothing.
    setrlimit(Resource::Cpu, Rlimit { current: Some(order.cpu_s), maximum: Some(order.cpu_s.saturating_add(1)) })?;
    setrlimit(Resource::As, most(order.memory_bytes))
}

fn write(reply: &Reply, body: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, reply)?;
    out.write_all(b"\n")?;
    out.write_all(body.as_bytes())?;
    out.flush()
}

fn answer(order: &Order) -> Result<Answered, Failed> {
    let opened = order.files.iter().map(|file| Opened::open(file)).collect::<Result<Vec<_>, _>>();
    let opened = opened.map_err(|why| match why {
        NotOpened::Refused(refusal) => Failed::Refused(refusal),
        NotOpened::OutOfMemory => Failed::OutOfMemory,
        NotOpened::Absent(error) => Failed::Ours(format!("cannot open the recording: {error}")),
    })?;
    answer_about(&order.ask, &opened)
}

/// About these recordings.
fn answer_about(ask: &Ask, opened: &[Opened]) -> Result<Answered, Failed> {
    match (ask, opened) {
        (Ask::Facts { name }, [one]) => json(serde_json::to_string(&Facts::of(one, name))),
        (Ask::Page { name }, [one]) => {
            let mut reading = one.reading_in_bins(BINS_MAX);
            let warnings = warnings(&reading, reading.choice.weight);
            let numbers = numbers(&mut reading, name, &warnings, Room::OfAFile).map_err(|why| ours(&why))?;
            Ok(Answered::Html(page_around(&numbers, HEAD).map_err(|why| ours(&why))?))
        }
        (Ask::Tree { weight, inverted, min_share }, [one]) => {
            let reading = one.reading();
            let options = tree::Options {
                weight: weight.map(Into::into),
                inverted: *inverted,
                share_min: min_share.map_or(0.0, |per_cent| per_cent / 100.0),
                ..tree::Options::default()
            };
            json(tree::json::json(&reading, &tree::tree(&reading, &options), &options))
        }
        (Ask::Rows { by, weight, sort, limit }, [one]) => {
            let reading = one.reading();
            let options = report::Options {
                by: (*by).into(),
                weight: weight.map(Into::into),
                sort: (*sort).into(),
                rows_max: limit.filter(|rows| *rows > 0),
                ..report::Options::default()
            };
            let report = report::report(&reading, &options);
            let warnings = all_warnings(&reading, report.choice.weight);
            json(report::json::json(&reading, &report, &warnings))
        }
        (Ask::Memory { from_ns, to_ns, bins, process }, [one]) => {
            if one.is_timeless && (from_ns.is_some() || to_ns.is_some()) {
                let refusal =
                    Refusal::new("the recording has no times").detail("collapsed stacks and .prof files tell no times");
                return Err(Failed::Refused(refusal.hint("leave `from_ns` and `to_ns` out")));
            }
            let reading = one.reading_in_bins(BINS_MAX);
            let range = Range { from_ns: *from_ns, to_ns: *to_ns };
            match memory::memory(&reading, range, *bins, *process) {
                Ok(memory) => json(memory::json(&memory)),
                Err(why) => Err(Failed::Absent(why.to_string())),
            }
        }
        (Ask::Comparison { before_name, after_name }, [before, after]) => {
            let sides = Sides::of((before, before_name), (after, after_name)).map_err(Failed::Refused)?;
            Ok(Answered::Html(sides.page().map_err(|why| ours(&why))?))
        }
        (Ask::Difference { before_name, after_name }, [before, after]) => {
            let sides = Sides::of((before, before_name), (after, after_name)).map_err(Failed::Refused)?;
            json(sides.json())
        }
        (ask, opened) => Err(Failed::Ours(format!("{} files for {ask:?}", opened.len()))),
    }
}

/// Those of `genba report`, but for the packages that it looks for on its own machine.
fn all_warnings(reading: &Reading, weight: genba_profile::weight::Weight) -> Vec<String> {
    let told = |file: Nameless| match file.is_replaced {
        true => Warning::new(file.words, "the file is not the one that was loaded any more; record again"),
        false => Warning::new(file.words, "a build with -g that is not stripped has them"),
    };
    let nameless = nameless(reading, weight).into_iter().map(|file| told(file).to_string());
    warnings(reading, weight).into_iter().chain(nameless).collect()
}

fn json(json: serde_json::Result<String>) -> Result<Answered, Failed> {
    json.map(Answered::Json).map_err(|error| Failed::Ours(format!("cannot write JSON: {error}")))
}

fn ours(why: &dyn std::fmt::Display) -> Failed {
    Failed::Ours(why.to_string())
}
