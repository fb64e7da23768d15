//! `genba within`: what `import genba` needs of the command. Hidden: the Python package is its one caller.
//! Owns: where the agent lies, the names and sources of a recording that a program made of itself, and one stack of it. Never: starts a
//! program.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use genba_format::{ProcessKey, Recording};
use genba_profile::{build, export};

use crate::finish::{self, Added, Places, SourceText};
use crate::read;
use crate::recording::{agent_file, monotonic_ns};
use crate::words::failure::Failure;

#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand)]
enum Step {
    /// Print the path of the library that is loaded into the program
    Agent,
    /// Add the names of C functions and the text of source files to a recording that has ended
    Finish {
        /// The recording
        file: PathBuf,
        /// Source text to store: of your own files hit and the lines around each hit elsewhere, only those lines, or none
        #[arg(long, value_name = "WHAT", default_value = "all")]
        source: SourceText,
        /// Read source texts that stand in no file from stdin: a path, a zero byte, the text, a zero byte, and so on
        #[arg(long)]
        told: bool,
    },
    /// Print one stack of a recording that may still go on, as JSON: its frames, outermost first
    Stack {
        /// The recording
        file: PathBuf,
        /// Key of the process, in hexadecimal digits
        #[arg(long, value_name = "KEY", value_parser = process_key)]
        process: ProcessKey,
        /// The stack's leaf node, from 1
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        node: u32,
        /// As for finish
        #[arg(long)]
        told: bool,
    },
}

fn process_key(text: &str) -> Result<ProcessKey, String> {
    u128::from_str_radix(text, 16).map(u128::to_be_bytes).map_err(|error| error.to_string())
}

pub fn within(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.step {
        Step::Agent => read::print(&format!("{}\n", agent_file::unpacked()?.display()))?,
        Step::Finish { file, source, told } => {
            let recording = recording(file)?;
            let told = told_on_stdin(*told)?;
            let places = Places::own(&told, *source);
            Added::to(&recording, finish::Seen::default(), places, monotonic_ns()).append(file)?;
        }
        Step::Stack { file, process, node, told } => {
            let mut recording = recording(file)?;
            recording.keep_stack(*process, *node);
            let additions = finish::found_now(&recording, &told_on_stdin(*told)?);
            let profile = build::profile(&recording, &additions);
            let leaf = profile.samples.first().and_then(|sample| sample.node);
            let json = export::json::stack(&profile, leaf);
            read::print(&json.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn recording(file: &Path) -> Result<Recording, Failure> {
    let bytes = std::fs::read(file)
        .map_err(|error| Failure::no(format!("cannot read the recording {}: {error}", file.display())))?;
    genba_format::read(&bytes).map_err(|error| Failure::no(format!("{} is no recording: {error}", file.display())))
}

fn told_on_stdin(told: bool) -> Result<finish::Told, Failure> {
    if !told {
        return Ok(finish::Told::new());
    }
    let text = std::io::read_to_string(std::io::stdin())
        .map_err(|error| Failure::ours(format!("cannot read source texts from stdin: {error}")))?;
    let pieces: Vec<&str> = text.split('\0').collect();
    Ok(pieces.chunks_exact(2).map(|piece| (piece[0].to_owned(), piece[1].to_owned())).collect())
}
