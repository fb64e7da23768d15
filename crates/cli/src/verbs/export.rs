//! `genba export`: a recording in the formats of other tools.
//! Owns: the list of formats, and the file that is written. Never: forms the content; genba-profile does; holds it, which may be many
//! times the recording; replaces a file that genba does not recognise as its own export.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use genba_profile::export::{collapsed, json, speedscope};
use genba_profile::figures;
use genba_profile::summary::{kept_line, law_line};
use genba_profile::warnings::warnings;
use genba_profile::weight::{Totals, Weight};
use rustix::fs::{AtFlags, CWD, OFlags, linkat};

use crate::files::own_file::Content;
use crate::read::{self, FilterOptions, RecordingArguments, Recordings, WeightBy};
use crate::words::failure::{self, Failure, say};
use crate::words::of_others;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    recordings: RecordingArguments,

    /// The format
    #[arg(long, value_name = "FORMAT")]
    to: Option<ExportFormat>,

    /// Where to write; - is stdout [default: a new file here, named like the recording]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// What a stack counts, cpu and wall in nanoseconds [default: cpu, or samples of a file that tells no CPU; to speedscope what the report weighs by]
    #[arg(long, value_name = "WEIGHT")]
    weight: Option<WeightBy>,

    /// collapsed: begin each stack with its process and thread
    #[arg(long)]
    threads: bool,

    #[command(flatten)]
    filters: FilterOptions,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ExportFormat {
    /// `root;…;leaf weight`, a line a stack, for flame graph tools
    Collapsed,
    /// The whole profile as tables (docs/json.md)
    Json,
    /// For speedscope (https://www.speedscope.app), a profile a thread
    Speedscope,
}

impl ExportFormat {
    /// Of the files that are named after their recording.
    const fn ending(self) -> &'static str {
        match self {
            ExportFormat::Collapsed => "collapsed.txt",
            ExportFormat::Json => "json",
            ExportFormat::Speedscope => "speedscope.json",
        }
    }
}

fn no_format() -> Failure {
    let known = ExportFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let lines = known.map(|format| {
        let about = format.get_help().map(ToString::to_string).unwrap_or_default();
        format!("--to {}: {about}", format.get_name())
    });
    lines.fold(Failure::usage("a format is missing"), Failure::detail).hint("genba export --to speedscope app.genba")
}

pub fn export(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let Some(output) = arguments.output.as_deref()
        && let Some(hint) = of_others::not_exported(output, &arguments.recordings.words())
    {
        let (ending, output) = (of_others::shown_ending(output), output.display());
        return Err(Failure::usage(format!(
            "cannot export to {output}: no format of genba export has the ending {ending}"
        ))
        .hint(hint));
    }
    let to = arguments.to.ok_or_else(no_format)?;
    if to == ExportFormat::Json && (arguments.weight.is_some() || arguments.threads) {
        return Err(Failure::usage("--weight and --threads do not belong to --to json")
            .detail("JSON holds every weight and every thread")
            .hint("leave them out"));
    }
    if to == ExportFormat::Speedscope && arguments.threads {
        return Err(Failure::usage("--threads does not belong to --to speedscope")
            .detail("each thread is a profile of its own there")
            .hint("leave it out"));
    }
    let file = arguments.recordings.open()?;
    let reading = file.filtered(&arguments.filters)?;
    read::check_weight(&reading, arguments.weight)?;
    let output = arguments.output.as_deref();
    let (written, amount, weight) = match to {
        ExportFormat::Collapsed => {
            // Samples are not equally long where the budget changed the interval.
            let default = if reading.tells(Weight::Cpu) { Weight::Cpu } else { Weight::Samples };
            let weight = arguments.weight.map_or(default, Into::into);
            let options = collapsed::Options { weight, threads: arguments.threads };
            let stacks = collapsed::collapsed(&reading, options);
            let written = delivered(output, &file, to.ending(), |out| write!(out, "{stacks}"))?;
            (written, stacks.summary(), weight)
        }
        ExportFormat::Json => {
            let weight = reading.choice.weight;
            let (name, warnings) = (file.name(), warnings(&reading, weight));
            let context =
                json::Context { genba_version: env!("CARGO_PKG_VERSION"), recording: Some(&name), warnings: &warnings };
            let written = delivered(output, &file, to.ending(), |out| json::write(&reading, context, out))?;
            (written, "the whole profile".to_owned(), weight)
        }
        ExportFormat::Speedscope => {
            let weight = reading.choice(arguments.weight.map(Into::into)).weight;
            let kept = kept_line(&reading, weight).map_or(String::new(), |kept| format!(" · {kept}"));
            let name = format!("{}{kept}", file.name());
            let context = speedscope::Context { genba_version: env!("CARGO_PKG_VERSION"), name: &name, weight };
            let written = delivered(output, &file, to.ending(), |out| speedscope::write(&reading, context, out))?;
            (written, Totals::of_profile(&reading).words_with_unit(weight), weight)
        }
    };
    if let Some(Written { path, bytes }) = written {
        let (path, size) = (path.display(), figures::size(bytes));
        say(&format!("wrote {path} ({size}): {amount}"));
        say(&law_line(&reading));
    }
    // Also where the text goes to a pipe: `collapsed` has no place for it.
    kept_line(&reading, weight).iter().for_each(|kept| say(kept));
    read::warn(&warnings(&reading, weight));
    Ok(ExitCode::SUCCESS)
}

/// A file, and how much was written into it.
pub struct Written {
    pub path: PathBuf,
    pub bytes: u64,
}

/// Has it written where `output` says, `-` to stdout, else into a new file here. None: it went to stdout.
pub fn delivered(
    output: Option<&Path>,
    recordings: &Recordings,
    ending: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Option<Written>, Failure> {
    match output {
        Some(path) => delivered_to(path, write),
        None => {
            let (path, file) = next_free(&recordings.stem(), ending)?;
            written(path, Opened { file, place: Place::New }, write).map(Some)
        }
    }
}

/// The same, where a file was named, or stdout.
pub fn delivered_to(
    output: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Option<Written>, Failure> {
    if output == Path::new("-") {
        return read::print_bytes(write).map(|()| None);
    }
    written(output.to_owned(), opened(output)?, write).map(Some)
}

fn written(
    path: PathBuf,
    Opened { file, mut place }: Opened,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Written, Failure> {
    let mut out = Counted { out: BufWriter::new(file), bytes: 0 };
    let whole = write(&mut out).and_then(|()| out.flush()).and_then(|()| place.settle());
    if let Err(error) = whole {
        place.give_up(&path);
        return Err(cannot_write(&path, &error));
    }
    Ok(Written { path, bytes: out.bytes })
}

struct Opened {
    file: File,
    place: Place,
}

/// Where the bytes go until all of them are written.
enum Place {
    /// A file that was empty, or is none.
    Itself,
    /// Nobody had a file there.
    New,
    /// An earlier export stays until then. The new one has no name, so that nothing is left of it when genba is interrupted.
    Beside { part: File, whole: PathBuf, earlier: File },
}

impl Place {
    /// For an earlier export of this user's that has one name. None: it is written over.
    fn beside(path: &Path, earlier: &File) -> Option<Opened> {
        let found = earlier.metadata().ok()?;
        let has_list = rustix::fs::fgetxattr(earlier, ACCESS_LIST, &mut [0_u8; 0]).is_ok_and(|bytes| bytes > 0);
        if found.nlink() > 1 || found.uid() != rustix::process::geteuid().as_raw() || has_list {
            return None;
        }
        let whole = fs::canonicalize(path).ok()?;
        let nameless = i32::try_from(OFlags::TMPFILE.bits()).ok()?;
        let folder = whole.parent()?;
        let part = OpenOptions::new().read(true).write(true).custom_flags(nameless).mode(0o600).open(folder).ok()?;
        // Who could read it may go on doing so, and nobody else.
        if part.metadata().ok()?.gid() != found.gid() {
            fchown(&part, None, Some(found.gid())).ok()?;
        }
        part.set_permissions(found.permissions()).ok()?;
        let (file, earlier) = (part.try_clone().ok()?, earlier.try_clone().ok()?);
        Some(Opened { file, place: Place::Beside { part, whole, earlier } })
    }

    fn settle(&mut self) -> io::Result<()> {
        let Place::Beside { part, whole, earlier } = self else { return Ok(()) };
        let (found, now) = (earlier.metadata()?, fs::symlink_metadata(&*whole)?);
        if (found.dev(), found.ino()) != (now.dev(), now.ino()) {
            return Err(io::Error::other("another file took its place just now"));
        }
        if replaced(part, whole).is_ok() {
            return Ok(());
        }
        // It may be mounted there.
        part.seek(SeekFrom::Start(0))?;
        earlier.seek(SeekFrom::Start(0))?;
        earlier.set_len(0)?;
        io::copy(part, earlier).map(|_| ())
    }

    fn give_up(&self, path: &Path) {
        if matches!(self, Place::New) {
            let _ = fs::remove_file(path);
        }
    }
}

/// `acl(5)`
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Gives the file without a name that of another, at once.
fn replaced(part: &File, whole: &Path) -> io::Result<()> {
    let mut name = OsString::from(".");
    name.push(whole.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    let named = whole.with_file_name(name);
    let nameless = format!("/proc/self/fd/{}", part.as_raw_fd());
    linkat(CWD, nameless, CWD, &named, AtFlags::SYMLINK_FOLLOW)?;
    fs::rename(&named, whole).inspect_err(|_| {
        let _ = fs::remove_file(&named);
    })
}

/// Counts what is written.
struct Counted {
    out: BufWriter<File>,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let bytes = self.out.write(piece)?;
        self.bytes += bytes as u64;
        Ok(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// `app.html`, `app-2.html`, … in the current directory: nothing is replaced that nobody named.
fn next_free(stem: &str, ending: &str) -> Result<(PathBuf, File), Failure> {
    const NUMBER_MAX: u32 = 10_000;
    let names = (1..=NUMBER_MAX).map(|number| match number {
        1 => PathBuf::from(format!("{stem}.{ending}")),
        _ => PathBuf::from(format!("{stem}-{number}.{ending}")),
    });
    for path in names {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let why = failure::of_system(&error);
                return Err(Failure::no(format!("cannot write {} here: {why}", path.display()))
                    .hint("name a file in a folder that you may write to, with -o"));
            }
            Ok(file) => return Ok((path, file)),
        }
    }
    Err(Failure::no(format!("{stem}.{ending} and {NUMBER_MAX} names like it are taken"))
        .hint("name another file with -o"))
}

/// Where it goes: a new file, one in the place of what genba may replace, or what is no regular file: `/dev/stdout`, a FIFO. Replaces an
/// empty file and an earlier export, nothing else: `-o` is typed where FILE was meant too easily.
fn opened(path: &Path) -> Result<Opened, Failure> {
    let failed = |error| cannot_write(path, &error);
    let Ok(found) = fs::metadata(path) else {
        // As private as the recording: it holds the same source text and command lines.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|error| {
            if error.kind() == ErrorKind::AlreadyExists && path.is_symlink() {
                return Failure::no(format!("{} is a symbolic link to a file that does not exist", path.display()))
                    .hint("name the file itself with -o");
            }
            failed(error)
        })?;
        return Ok(Opened { file, place: Place::New });
    };
    if found.file_type().is_block_device() {
        return Err(refused(path, &"it is a block device"));
    }
    if !found.is_file() {
        let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        let is_as_found = file.metadata().is_ok_and(|now| now.file_type() == found.file_type());
        return if is_as_found {
            Ok(Opened { file, place: Place::Itself })
        } else {
            Err(refused(path, &"another file took its place just now"))
        };
    }
    // What counts is the file that was opened, whatever the path has become by then: no waiting, and no truncation yet.
    let no_wait = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).write(true).custom_flags(no_wait).open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(refused(path, &"another file took its place just now"));
    }
    match Content::of(&file).map_err(failed)? {
        Content::Empty => Ok(Opened { file, place: Place::Itself }),
        Content::Export => match Place::beside(path, &file) {
            Some(opened) => Ok(opened),
            None => file.set_len(0).map_err(failed).map(|()| Opened { file, place: Place::Itself }),
        },
        content @ (Content::Recording | Content::Prof | Content::Foreign(_)) => Err(refused(path, &content)),
    }
}

fn refused(path: &Path, found: &dyn Display) -> Failure {
    Failure::no(format!("{} is not overwritten: {found}", path.display()))
        .detail("-o replaces empty files, pages, and JSON that genba exported, nothing else")
        .hint("give another name with -o, or remove it first")
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::NotFound => "genba makes no folders: make it first, or name another file with -o",
        ErrorKind::IsADirectory => "-o names the file, with its folder",
        _ => "name another file with -o; - is stdout",
    };
    Failure::no(format!("cannot write {}: {}", path.display(), failure::of_system(error))).hint(hint)
}
