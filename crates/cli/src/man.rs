//! `genba man`: the manual page of the command or of a verb, as roff, from the one definition that `--help` shows.
//! Owns: which page, and its place among the others (`genba-run(1)`). Never: words of its own about an option.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man;

use crate::failure::Failure;
use crate::read;

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
    Man::new(command).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
