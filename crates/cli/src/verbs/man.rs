//! `genba man`: the manual page of the command or of a verb, as roff, from the one definition that `--help` shows.
//! Owns: which page, and its place among the others (`genba-run(1)`). Never: words of its own about an option. The
//! exit codes are docs/errors.md's, in short.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::read;
use crate::settings;
use crate::words::failure::Failure;

const EXIT: &str = "0: done. 1: asked, and the answer is no. 2: the command line cannot be carried out as written, or genba itself \
                    failed. What is not 0 is explained on standard error, in lines that begin with error: and hint:.";
const EXIT_OF_RUN: &str = "The program's own, 128 + n when signal n ended it. 1 or 2 with a line that begins with error: when it \
                           could not be started, recorded or traced.";
const FILES: &str = "The nearest genba.toml, or pyproject.toml with a table [tool.genba], from the current directory upwards: keys are the \
                     names of options, native = false stands for --no-native. --show-config tells what holds and why.";

#[derive(Args)]
pub struct Arguments {
    /// Of this verb [default: of genba]
    #[arg(value_name = "VERB")]
    verb: Option<String>,
}

pub fn man(arguments: &Arguments, mut command: Command) -> Result<ExitCode, Failure> {
    command.build();
    let cannot_write = |error: std::io::Error| Failure::ours(format!("cannot write the manual page: {error}"));
    let page = match &arguments.verb {
        None => of(command).map_err(cannot_write)?,
        Some(name) => {
            let verb = command.find_subcommand(name).filter(|verb| !verb.is_hide_set());
            let verb = verb.ok_or_else(|| {
                Failure::usage(format!("`{name}` is not a verb of genba")).hint("genba --help lists the verbs")
            })?;
            of(verb.clone().display_name(format!("genba-{name}"))).map_err(cannot_write)?
        }
    };
    read::print(&page)?;
    Ok(ExitCode::SUCCESS)
}

fn of(command: Command) -> std::io::Result<String> {
    let mut page = Vec::new();
    let exit_status = match command.get_name() {
        "run" | "trace" => EXIT_OF_RUN,
        _ => EXIT,
    };
    let variables = settings::variables_of(command.get_name());
    Man::new(command).render(&mut page)?;
    let mut rest = Roff::new();
    rest.control("SH", ["EXIT STATUS"]).text([roman(exit_status)]);
    if !variables.is_empty() {
        rest.control("SH", ["ENVIRONMENT"])
            .text([roman(format!("Options that are not typed: {}.", variables.join(", ")))]);
        rest.control("SH", ["FILES"]).text([roman(FILES)]);
    }
    rest.to_writer(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
