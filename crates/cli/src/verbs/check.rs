//! `genba check`: are the blocks intact, and do both laws hold?
//! Owns: the verdict and its exit code. Never: repairs; a number that does not add up is shown as it stands.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use genba_format::{FaultKind, laws};
use genba_profile::figures::duration;
use genba_profile::integrity;
use genba_profile::report::printable;
use genba_profile::wrap::wrapped_on_screen;

use crate::read::{self, ImportedFile, RecordingFile, Stream};
use crate::words::failure::Failure;

/// More findings than this are counted, not listed.
const DETAILS_MAX: usize = 10;

#[derive(Args)]
pub struct Arguments {
    /// The recording, or another profiler's file, of which less can be checked [default: the newest *.genba here]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

pub fn check(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let file = RecordingFile::open(arguments.file.as_deref())?;
    let profile = file.accounts();
    let shown = printable(&file.path.display().to_string());
    let blocks = file.recording.blocks.len() as u64;
    let width = read::screen_width(Stream::Stdout);
    let page = integrity::text(&profile, &shown, file.bytes, blocks);
    let lines = page.lines().flat_map(|line| wrapped_on_screen(line, width));
    read::print(&lines.map(|line| line + "\n").collect::<String>())?;

    if let Some(imported) = &file.import {
        return check_import(imported, &shown);
    }
    let (notes, faults): (Vec<_>, Vec<_>) = file.recording.faults.iter().partition(|fault| fault.is_warning());
    read::warn(&notes.iter().map(ToString::to_string).collect::<Vec<_>>());
    let violations = laws::check(&file.recording);
    let findings: Vec<String> =
        faults.iter().map(ToString::to_string).chain(violations.iter().map(ToString::to_string)).collect();
    if findings.is_empty() {
        read::print("every block is intact, both laws hold\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    // A block that is left out is missing before the next one, too.
    let is_newer = faults.iter().all(|fault| matches!(fault.kind, FaultKind::TooNew | FaultKind::Lost))
        && faults.iter().any(|fault| fault.kind == FaultKind::TooNew);
    let laws_hold = match profile.clocks().cpu_lost_ns {
        0 => "both laws hold".to_owned(),
        lost_ns => format!("but for {} of sampled CPU in lost blocks, both laws hold", duration(lost_ns)),
    };
    let is_unfinished = faults.iter().all(|fault| fault.kind == FaultKind::Unfinished);
    let what = match (faults.is_empty(), violations.is_empty()) {
        (false, true) if is_unfinished => format!(
            "{shown} is unfinished: a process was killed while its block was written, or could write no more (a full disk); \
            {laws_hold} in what is there"
        ),
        (false, true) if is_newer => {
            format!("{shown} has blocks that are newer than this genba; {laws_hold} in the others")
        }
        (false, true) => format!("{shown} is damaged; {laws_hold} in what is intact"),
        (true, _) => format!("the accounting of {shown} does not add up"),
        (false, false) => format!("{shown} is damaged, and the accounting of what is intact does not add up"),
    };
    let mut failure = Failure::no(what);
    for finding in findings.iter().take(DETAILS_MAX) {
        failure = failure.detail(finding);
    }
    if findings.len() > DETAILS_MAX {
        failure = failure.detail(format!("and {} more", findings.len() - DETAILS_MAX));
    }
    let hint = if violations.is_empty() && is_newer {
        "install the newest genba; this one shows the other blocks"
    } else if violations.is_empty() {
        "the readers show what is intact"
    } else {
        "this is a mistake of genba's own; please report it with the recording"
    };
    Err(failure.hint(hint))
}

/// The laws need what no other profiler writes down: what is left is whether the file is whole.
fn check_import(imported: &ImportedFile, shown: &str) -> Result<ExitCode, Failure> {
    let not_checked = format!("not checked: {}", imported.unknown);
    let width = read::screen_width(Stream::Stdout);
    let lines = wrapped_on_screen(&not_checked, width).into_iter();
    read::print(&lines.map(|line| line + "\n").collect::<String>())?;
    read::warn(&imported.notes);
    let faults = &imported.faults;
    if faults.is_empty() {
        read::print("the file is intact\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let failure = Failure::no(format!("{shown} is damaged"));
    let failure = faults.iter().take(DETAILS_MAX).fold(failure, |failure, fault| failure.detail(fault));
    Err(failure.hint("the readers show what is intact"))
}
