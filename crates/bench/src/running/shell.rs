//! The shell that commands run in, and the time that it takes itself.
//! Owns: `--shell` and its calibration. Never: interprets shell words, except to split what runs without a shell.

use std::process::Command;

use super::Ended;
use super::interrupt::Interrupt;
use super::process::{Input, Output, Random, Streams, run_once};
use crate::subjects::measured::Run;
use crate::words::refusal::Refusal;

/// So often the shell runs with nothing to do, as hyperfine does it.
const CALIBRATIONS: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shell {
    /// The command is started itself.
    None,
    /// A program and its arguments, before `-c`.
    Words(Vec<String>),
}

/// What it takes without a command.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnTime {
    pub time_ns: f64,
    pub user_ns: f64,
    pub system_ns: f64,
}

impl Shell {
    /// `default`, `none`, or a command line such as `bash --norc`.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Shell, String> {
        match text {
            "none" => Ok(Shell::None),
            "default" => Ok(Shell::Words(vec!["sh".to_owned()])),
            _ => match shlex::split(text) {
                Some(words) if words.first().is_some_and(|program| !program.is_empty()) => Ok(Shell::Words(words)),
                _ => Err("expected default, none or a shell's command line, such as \"bash --norc\"".to_owned()),
            },
        }
    }

    /// A process for this command line.
    pub(super) fn command(&self, line: &str) -> Result<Command, Refusal> {
        let (program, arguments, shell_line) = match self {
            Shell::Words(words) => match words.split_first() {
                Some((program, arguments)) => (program.clone(), arguments.to_vec(), Some(line)),
                None => return Err(Refusal::usage("the shell has no name", "--shell sh")),
            },
            Shell::None => {
                let words = shlex::split(line).unwrap_or_default();
                match words.split_first() {
                    Some((program, arguments)) => (program.clone(), arguments.to_vec(), None),
                    None => {
                        return Err(Refusal::usage(format!("cannot split `{line}` into words"), "close the quotes")
                            .detail("without a shell genba splits at blanks, as a shell would"));
                    }
                }
            }
        };
        let mut command = Command::new(program);
        command.args(arguments);
        if let Some(line) = shell_line {
            command.arg("-c").arg(line);
        }
        Ok(command)
    }

    /// # Errors
    /// The shell cannot do nothing.
    pub fn calibrate(&self, random: &mut Random, interrupt: &Interrupt) -> Result<OwnTime, Ended> {
        let Shell::Words(words) = self else { return Ok(OwnTime::default()) };
        let streams = Streams { input: &Input::Null, output: &Output::Null, stderr: None };
        let mut sum = OwnTime::default();
        for _ in 0..CALIBRATIONS {
            let run = run_once(&mut self.command("")?, &words[0], &streams, random, interrupt)?;
            if run.exit_code != 0 {
                return Err(Ended::Refused(
                    Refusal::usage(
                        format!("the shell `{}` cannot run an empty command", words.join(" ")),
                        "--shell sh",
                    )
                    .detail(format!("it ended with exit code {}", run.exit_code)),
                ));
            }
            sum.time_ns += run.time_ns;
            sum.user_ns += run.user_ns;
            sum.system_ns += run.system_ns;
        }
        let mean = |sum: f64| sum / CALIBRATIONS as f64;
        Ok(OwnTime { time_ns: mean(sum.time_ns), user_ns: mean(sum.user_ns), system_ns: mean(sum.system_ns) })
    }
}

impl OwnTime {
    /// The run without it; never less than nothing.
    pub(super) fn taken_off(&self, run: Run) -> Run {
        Run {
            time_ns: (run.time_ns - self.time_ns).max(0.0),
            user_ns: (run.user_ns - self.user_ns).max(0.0),
            system_ns: (run.system_ns - self.system_ns).max(0.0),
            ..run
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OwnTime, Shell};
    use crate::subjects::measured::Run;

    #[test]
    fn a_shell_is_a_command_line() {
        assert_eq!(Shell::parse("none"), Ok(Shell::None));
        assert_eq!(Shell::parse("default"), Ok(Shell::Words(vec!["sh".into()])));
        assert_eq!(Shell::parse("bash --norc"), Ok(Shell::Words(vec!["bash".into(), "--norc".into()])));
        assert!(Shell::parse("").is_err() && Shell::parse("'").is_err());
    }

    #[test]
    fn without_a_shell_words_are_split() {
        let command = Shell::None.command("echo 'a b' c\\ d").unwrap();
        assert_eq!(command.get_program(), "echo");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["a b", "c d"]);
        assert!(Shell::None.command("echo 'a").is_err());
        let command = Shell::parse("bash --norc").unwrap().command("echo *").unwrap();
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["--norc", "-c", "echo *"]);
    }

    #[test]
    fn the_shells_time_is_taken_off() {
        let own = OwnTime { time_ns: 10.0, user_ns: 5.0, system_ns: 5.0 };
        let run = own.taken_off(Run { time_ns: 12.0, user_ns: 4.0, system_ns: 6.0, minor_faults: 3, ..Run::default() });
        assert_eq!((run.time_ns, run.user_ns, run.system_ns, run.minor_faults), (2.0, 0.0, 1.0, 3));
    }
}
