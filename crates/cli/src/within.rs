//! `genba within`: what `import genba` needs of the command. Hidden: the Python package is its one caller.
//! Owns: where the agent lies, and the names and sources of a recording that a program made of itself. Never: starts a program.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::finish;
use crate::read;
use crate::run::{self, SourceText, agent_file};

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
        /// Source text to store: of whole files hit, of the lines around each hit, or none
        #[arg(long, value_name = "WHAT", default_value = "all")]
        source: SourceText,
        /// Read source texts that stand in no file from stdin: a path, a zero byte, the text, a zero byte, and so on
        #[arg(long)]
        told: bool,
    },
}

pub fn within(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.step {
        Step::Agent => read::print(&format!("{}\n", agent_file::unpacked()?.display()))?,
        Step::Finish { file, source, told } => {
            let bytes = std::fs::read(file)
                .map_err(|error| Failure::no(format!("cannot read the recording {}: {error}", file.display())))?;
            let recording = genba_format::read(&bytes)
                .map_err(|error| Failure::no(format!("{} is no recording: {error}", file.display())))?;
            let told = if *told { told_on_stdin()? } else { finish::Told::new() };
            finish::append_names_and_sources(file, &recording, None, *source, &told, run::monotonic_ns())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn told_on_stdin() -> Result<finish::Told, Failure> {
    let text = std::io::read_to_string(std::io::stdin())
        .map_err(|error| Failure::ours(format!("cannot read source texts from stdin: {error}")))?;
    let pieces: Vec<&str> = text.split('\0').collect();
    Ok(pieces.chunks_exact(2).map(|piece| (piece[0].to_owned(), piece[1].to_owned())).collect())
}
