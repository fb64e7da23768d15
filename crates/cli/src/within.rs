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
    },
}

pub fn within(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.step {
        Step::Agent => read::print(&format!("{}\n", agent_file::unpacked()?.display()))?,
        Step::Finish { file, source } => {
            let bytes = std::fs::read(file)
                .map_err(|error| Failure::no(format!("cannot read the recording {}: {error}", file.display())))?;
            let recording = genba_format::read(&bytes)
                .map_err(|error| Failure::no(format!("{} is no recording: {error}", file.display())))?;
            finish::append_names_and_sources(file, &recording, None, *source, run::monotonic_ns())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
