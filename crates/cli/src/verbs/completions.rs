//! `genba completions`: what a shell needs to complete genba's verbs and options, from their one definition.
//! Owns: which shells. Never: installs anything.

use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{Arg, Args, Command, ValueEnum};
use clap_complete::{Shell, generate};

use crate::read;
use crate::words::failure::Failure;

#[derive(Args)]
pub struct Arguments {
    /// bash, zsh or fish
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    shell: ForShell,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ForShell {
    Bash,
    Zsh,
    Fish,
}

pub fn completions(arguments: &Arguments, command: &Command) -> Result<ExitCode, Failure> {
    let shell = match arguments.shell {
        ForShell::Bash => Shell::Bash,
        ForShell::Zsh => Shell::Zsh,
        ForShell::Fish => Shell::Fish,
    };
    let mut page = Vec::new();
    generate(shell, &mut visible(command), "genba", &mut page);
    read::print(&String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}

/// The definition without what `--help` hides, which clap_complete would offer like everything else.
fn visible(command: &Command) -> Command {
    let options = command.get_arguments().filter(|option| !option.is_hide_set());
    // What an option takes back may be hidden.
    let options: Vec<Arg> = options.map(|option| option.clone().overrides_with(Resettable::Reset)).collect();
    let verbs: Vec<Command> = command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(visible).collect();
    let about = command.get_about().cloned().unwrap_or_default();
    let plain = Command::new(command.get_name().to_owned()).about(about).args(options).subcommands(verbs);
    match command.get_version() {
        Some(version) => plain.version(version.to_owned()).disable_help_subcommand(true),
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_not_offered_and_the_rest_is() {
        let command = crate::command();
        let mut plain = visible(&command);
        plain.clone().debug_assert();
        plain.build();
        for verb in command.get_subcommands() {
            let found = plain.find_subcommand(verb.get_name());
            assert_eq!(found.is_none(), verb.is_hide_set(), "{}", verb.get_name());
            for option in verb.get_arguments().filter(|_| found.is_some()) {
                let offered = found.is_some_and(|verb| verb.get_arguments().any(|one| one.get_id() == option.get_id()));
                assert_eq!(offered, !option.is_hide_set(), "genba {}: {}", verb.get_name(), option.get_id());
            }
        }
    }
}
