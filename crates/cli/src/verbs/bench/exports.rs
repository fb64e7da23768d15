//! Files that `genba bench` writes: exports, and the history.
//! Owns: when they are opened: before anything is measured, so that a mistyped folder costs no time. Never: lays out their content; leaves an
//! empty file of its own behind; empties a file before all that takes its place is written, where another file can take its name.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, ValueHint};
use genba_bench::findings::Findings;
use genba_bench::report::Shown;
use genba_bench::tables::Table;
use genba_bench::{csv, json, page};
use rustix::fs::{fgetxattr, flistxattr};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::files::identity::FileIdentity;
use crate::read;
use crate::words::failure::{self, Failure};

/// The kernel's bound (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`) of their names together, and of each value.
const ATTRIBUTE_BYTES_MAX: usize = 65_536;

#[derive(Args)]
pub struct ExportOptions {
    /// Write a table for AsciiDoc; - is stdout, for all exports
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    export_asciidoc: Option<PathBuf>,

    /// Write the numbers of each command, in seconds
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    export_csv: Option<PathBuf>,

    /// Write a page that needs nothing else, no network either: ratios with their intervals as a picture, and each run
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    export_html: Option<PathBuf>,

    /// Write each run, with hyperfine's keys and more: for --against, and for scripts
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    export_json: Option<PathBuf>,

    /// Write a table for Markdown
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    export_markdown: Option<PathBuf>,

    /// Write a table for Emacs' Org
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    export_orgmode: Option<PathBuf>,
}

#[derive(Clone, Copy)]
enum Kind {
    Json,
    Csv,
    Html,
    Table(Table),
    /// It grows by a line, if the session counts.
    History,
}

impl Kind {
    fn option(self) -> &'static str {
        match self {
            Kind::Json => "--export-json",
            Kind::Csv => "--export-csv",
            Kind::Html => "--export-html",
            Kind::Table(Table::Markdown) => "--export-markdown",
            Kind::Table(Table::AsciiDoc) => "--export-asciidoc",
            Kind::Table(Table::Org) => "--export-orgmode",
            Kind::History => "--history",
        }
    }
}

struct Target {
    path: PathBuf,
    file: File,
    /// It was not there before.
    is_new: bool,
}

impl Target {
    fn open(path: &Path, is_appended: bool) -> std::io::Result<Target> {
        let mut options = OpenOptions::new();
        options.write(true).append(is_appended);
        let (file, is_new) = match options.clone().create_new(true).open(path) {
            // What is there already stays until there is something to put in its place.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                (options.create(true).truncate(false).open(path)?, false)
            }
            opened => (opened?, true),
        };
        Ok(Target { path: path.to_path_buf(), file, is_new })
    }

    /// By what it is, not by its name. None: no plain file, such as a terminal, which holds what several write.
    fn identity(&self) -> Option<FileIdentity> {
        let found = self.file.metadata().ok().filter(Metadata::is_file)?;
        Some(FileIdentity::of(&found))
    }

    fn write(&self, text: &str) -> std::io::Result<()> {
        if self.has_its_name() {
            self.put(text)
        } else {
            // Minutes have passed: the file is gone, or another one is in its place.
            Target::open(&self.path, false)?.put(text)
        }
    }

    /// True of what is no plain file, too.
    fn has_its_name(&self) -> bool {
        self.identity().is_none_or(|own| FileIdentity::at(&self.path) == Some(own))
    }

    fn put(&self, text: &str) -> std::io::Result<()> {
        if let Some(found) = self.replaceable()
            && let Some(beside) = self.written_beside(&found, text)?
            && beside.persist(&self.path).is_ok()
        {
            return Ok(());
        }
        self.write_in_place(text)
    }

    /// A plain file that was there, whose only name is this path: no link, and no other file by now.
    fn replaceable(&self) -> Option<Metadata> {
        let found = std::fs::symlink_metadata(&self.path).ok()?;
        let is_same = self.identity() == Some(FileIdentity::of(&found));
        (!self.is_new && found.is_file() && found.nlink() == 1 && is_same).then_some(found)
    }

    /// All of the text, in a file that can take this one's name: until then what was there stays. None: the folder takes no further file, or
    /// such a file would be somebody else's, or have another mode or other attributes.
    fn written_beside(&self, found: &Metadata, text: &str) -> std::io::Result<Option<NamedTempFile>> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let made = tempfile::Builder::new().prefix(".genba-bench-").tempfile_in(folder);
        let mut beside = match made {
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
                return Ok(None);
            }
            made => made?,
        };
        let made = beside.as_file().metadata()?;
        let is_owned_alike = (made.uid(), made.gid()) == (found.uid(), found.gid());
        if !is_owned_alike || beside.as_file().set_permissions(found.permissions()).is_err() {
            return Ok(None);
        }
        // An ACL is one of them; the folder may give one to the new file that this one has not.
        let own = attributes(&self.file);
        if own.is_none() || attributes(beside.as_file()) != own {
            return Ok(None);
        }
        beside.as_file_mut().write_all(text.as_bytes())?;
        // Some file systems tell only now that there is no room.
        beside.as_file().sync_data()?;
        Ok(Some(beside))
    }

    fn write_in_place(&self, text: &str) -> std::io::Result<()> {
        let mut file = &self.file;
        let is_plain = file.metadata().is_ok_and(|found| found.is_file());
        let emptied = if is_plain { file.set_len(0) } else { Ok(()) };
        let written = emptied.and_then(|()| file.write_all(text.as_bytes()));
        if written.is_err() {
            // Half of an export is none: a new file goes, as an empty one.
            let _ = file.set_len(0);
        }
        written
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // By its name: a history may be another file by now.
        if self.is_new && std::fs::metadata(&self.path).is_ok_and(|found| found.is_file() && found.len() == 0) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The extended attributes of a file, with their values. None: not all can be read.
fn attributes(file: &File) -> Option<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut buffer = vec![0_u8; ATTRIBUTE_BYTES_MAX];
    let names = match flistxattr(file, buffer.as_mut_slice()) {
        // A file system without any.
        Err(Errno::NOTSUP) => return Some(BTreeMap::new()),
        listed => buffer[..listed.ok()?].to_vec(),
    };
    let with_value = |name: &[u8]| {
        let bytes = fgetxattr(file, name, buffer.as_mut_slice()).ok()?;
        Some((name.to_vec(), buffer[..bytes].to_vec()))
    };
    // Each name ends with a zero.
    names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(with_value).collect()
}

pub struct Exports {
    /// None: stdout.
    files: Vec<(Kind, Option<Target>)>,
    pub has_stdout: bool,
}

impl Exports {
    pub fn open(options: &ExportOptions, history: Option<&Path>) -> Result<Exports, Failure> {
        let all = [
            (Kind::Json, options.export_json.as_deref()),
            (Kind::Csv, options.export_csv.as_deref()),
            (Kind::Html, options.export_html.as_deref()),
            (Kind::Table(Table::Markdown), options.export_markdown.as_deref()),
            (Kind::Table(Table::AsciiDoc), options.export_asciidoc.as_deref()),
            (Kind::Table(Table::Org), options.export_orgmode.as_deref()),
            (Kind::History, history),
        ];
        let mut files: Vec<(Kind, Option<Target>)> = Vec::new();
        for (kind, path) in all {
            let Some(path) = path else { continue };
            let is_stdout = path == Path::new("-");
            let is_history = matches!(kind, Kind::History);
            if is_stdout && is_history {
                return Err(Failure::usage("--history takes a file, and - is stdout").hint("--history bench.jsonl"));
            }
            let target = (!is_stdout).then(|| Target::open(path, is_history)).transpose();
            let target = target.map_err(|error| cannot_write(path, kind, &error))?;
            if let Some(identity) = target.as_ref().and_then(Target::identity) {
                let is_same =
                    |(_, other): &&(Kind, Option<Target>)| other.as_ref().and_then(Target::identity) == Some(identity);
                if let Some((other, _)) = files.iter().find(is_same) {
                    return Err(named_twice(path, *other, kind));
                }
            }
            files.push((kind, target));
        }
        let has_stdout = files.iter().any(|(_, target)| target.is_none());
        Ok(Exports { files, has_stdout })
    }

    /// Each is tried, whatever became of those before it. The history is not among them (`append`).
    pub fn write(&self, findings: &Findings<'_>, is_by_time: bool, shown: &Shown) -> Vec<Result<(), Failure>> {
        let order = if is_by_time { findings.by_time() } else { (0..findings.rows.len()).collect() };
        let write_one = |kind: Kind, target: Option<&Target>| -> Result<(), Failure> {
            let text = match kind {
                Kind::Json => json::json(findings).map_err(|error| no_json(&error))?,
                Kind::Csv => csv::csv(findings),
                Kind::Html => html(findings, shown)?,
                Kind::Table(table) => table.page(findings, &order, shown.unit),
                Kind::History => return Ok(()),
            };
            match target {
                None => read::print(&text),
                Some(target) => target.write(&text).map_err(|error| cannot_write(&target.path, kind, &error)),
            }
        };
        let exports = self.files.iter().filter(|(kind, _)| !matches!(kind, Kind::History));
        exports.map(|(kind, target)| write_one(*kind, target.as_ref())).collect()
    }

    /// A line of the history, if there is one.
    pub fn append(&self, findings: &Findings<'_>) -> Result<(), Failure> {
        let history = self.files.iter().find(|(kind, _)| matches!(kind, Kind::History));
        let Some((kind, Some(Target { path, .. }))) = history else { return Ok(()) };
        let ended = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = json::history_line(findings, ended.as_secs()).map_err(|error| no_json(&error))?;
        add(path, &line).map_err(|error| cannot_write(path, *kind, &error))
    }
}

/// The whole line or nothing: half of one would hide the sessions before it. Opened again, since minutes have passed: the file may be gone, or
/// another one may be in its place.
fn add(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    // Another bench may add its line now. A file system without locks is no reason to lose this one.
    let _ = file.lock();
    let before = file.metadata()?.len();
    let mut last = [b'\n'];
    if before > 0 {
        file.read_exact_at(&mut last, before - 1)?;
    }
    let begin = if last == [b'\n'] { "" } else { "\n" };
    let written = file.write_all(format!("{begin}{line}").as_bytes());
    if written.is_err() {
        let _ = file.set_len(before);
    }
    written
}

fn html(findings: &Findings<'_>, shown: &Shown) -> Result<String, Failure> {
    let numbers = page::numbers(findings, shown).map_err(|error| no_json(&error))?;
    genba_page::bench_page(&numbers).map_err(|why| Failure::ours(why.to_string()))
}

fn no_json(error: &dyn std::fmt::Display) -> Failure {
    Failure::ours(format!("cannot write JSON: {error}"))
}

fn named_twice(path: &Path, one: Kind, other: Kind) -> Failure {
    Failure::usage(format!("{} and {} both write {}", one.option(), other.option(), path.display()))
        .detail("the second would replace the first")
        .hint("a file for each")
}

fn cannot_write(path: &Path, kind: Kind, error: &std::io::Error) -> Failure {
    let hint = match kind {
        Kind::History => "a file in a folder that exists",
        _ => "a file in a folder that exists, or - for stdout",
    };
    Failure::usage(format!("cannot write {}: {}", path.display(), failure::of_system(error))).hint(hint)
}
