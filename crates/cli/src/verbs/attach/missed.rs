//! A process that genba did not get into, and why.
//! Owns: the words for it, and the line by which `genba attach` tells `genba top` of it. Never: decides what is entered (family.rs does).

use genba_profile::report::printable;

/// Takes the place of a line break in that line.
const BREAK: char = '\t';
/// What it is and the first detail: the others, and what helps, are for a page with more room.
const SHORT_LINES: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    pub pid: u32,
    /// The words of a failure or a refusal, in as many lines as these have.
    pub why: String,
}

impl Missed {
    pub fn words(&self) -> String {
        format!("process {} is not recorded: {}", self.pid, self.why)
    }

    /// With its end.
    pub fn line(&self) -> String {
        format!("{}{BREAK}{}\n", self.pid, self.why.replace('\n', &BREAK.to_string()))
    }

    /// Of what `line` gave, without its end.
    pub fn of_line(line: &str) -> Option<Missed> {
        let (pid, why) = line.split_once(BREAK)?;
        Some(Missed { pid: pid.parse().ok()?, why: why.replace(BREAK, "\n") })
    }

    /// `cannot enter process 9326: its libc does not export dlopen`
    pub fn in_short(&self) -> String {
        let lines = self.why.lines().map(str::trim).filter(|line| !line.starts_with("hint: "));
        let lines: Vec<&str> = lines.take(SHORT_LINES).map(|line| line.trim_start_matches("error: ")).collect();
        printable(&lines.join(": "))
    }
}

#[cfg(test)]
mod tests {
    use super::Missed;
    use crate::words::failure::Failure;

    #[test]
    fn a_line_tells_all_of_it() {
        let failure =
            Failure::no("cannot enter process 7").detail("its libc does not export dlopen").detail("more").hint("help");
        let missed = Missed { pid: 7, why: failure.to_string() };
        let line = missed.line();
        assert_eq!((line.matches('\n').count(), Missed::of_line(line.trim_end())), (1, Some(missed.clone())));
        assert_eq!(missed.in_short(), "cannot enter process 7: its libc does not export dlopen");
        assert_eq!(Missed { pid: 7, why: "no symbols".to_owned() }.in_short(), "no symbols");
        assert_eq!(Missed::of_line("began"), None);
    }
}
