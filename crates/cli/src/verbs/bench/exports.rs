//! Files that `genba bench` writes.
//! Owns: when they are opened: before anything is measured, so that a mistyped folder costs no time. Never: lays out their content.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use genba_bench::findings::Findings;
use genba_bench::tables::Table;
use genba_bench::units::Unit;
use genba_bench::{csv, json};

use crate::read;
use crate::words::failure::{self, Failure};

#[derive(Args)]
pub struct ExportOptions {
    /// Write a table for AsciiDoc; - is stdout, for all exports
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    export_asciidoc: Option<PathBuf>,

    /// Write the numbers of each command, in seconds
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    export_csv: Option<PathBuf>,

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
    Table(Table),
}

pub struct Exports {
    /// None: stdout.
    files: Vec<(Kind, Option<(PathBuf, File)>)>,
    pub has_stdout: bool,
}

impl Exports {
    pub fn open(options: &ExportOptions) -> Result<Exports, Failure> {
        let all = [
            (Kind::Json, &options.export_json),
            (Kind::Csv, &options.export_csv),
            (Kind::Table(Table::Markdown), &options.export_markdown),
            (Kind::Table(Table::AsciiDoc), &options.export_asciidoc),
            (Kind::Table(Table::Org), &options.export_orgmode),
        ];
        let mut files = Vec::new();
        for (kind, path) in all {
            let Some(path) = path else { continue };
            let is_stdout = path == Path::new("-");
            // What is there already stays until there is something to put in its place.
            let open = || OpenOptions::new().create(true).truncate(false).write(true).open(path);
            let file = (!is_stdout).then(open).transpose();
            let file = file.map_err(|error| cannot_write(path, &error))?.map(|file| (path.clone(), file));
            files.push((kind, file));
        }
        let has_stdout = files.iter().any(|(_, file)| file.is_none());
        Ok(Exports { files, has_stdout })
    }

    pub fn write(&self, findings: &Findings<'_>, is_by_time: bool, unit: Option<Unit>) -> Result<(), Failure> {
        let order = if is_by_time { findings.by_time() } else { (0..findings.rows.len()).collect() };
        for (kind, file) in &self.files {
            let text = match kind {
                Kind::Json => {
                    json::json(findings).map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?
                }
                Kind::Csv => csv::csv(findings),
                Kind::Table(table) => table.page(findings, &order, unit),
            };
            match file {
                None => read::print(&text)?,
                Some((path, file)) => {
                    let mut file = file;
                    let is_plain = file.metadata().is_ok_and(|found| found.is_file());
                    let emptied = if is_plain { file.set_len(0) } else { Ok(()) };
                    let written = emptied.and_then(|()| file.write_all(text.as_bytes()));
                    written.map_err(|error| cannot_write(path, &error))?;
                }
            }
        }
        Ok(())
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot write {}: {}", path.display(), failure::of_system(error)))
        .hint("a file in a folder that exists, or - for stdout")
}
