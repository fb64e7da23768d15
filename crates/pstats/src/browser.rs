//! The shell of `python -m pstats`: a line in, and what is printed out.
//! Owns: its words, its help and its prompt. Never: opens a file; whoever runs it does.
//! Source: pstats.py, ProfileBrowser; cmd.py, Cmd.

use std::fmt::{self, Write};

use crate::restriction::Restriction;
use crate::sort::{KEYS, UnknownKey};
use crate::stats::Stats;
use crate::text::Listing;

/// Why a file is not there to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLoaded {
    /// The system's number and words.
    System(i32, String),
    /// It is no `.prof` file, or a damaged one.
    Content(String),
    /// There is not so much memory.
    TooLarge(String),
    /// It needs more than a file of its size may, however much there is.
    TooLargeForItsSize(String),
}

/// What the statistics of a file are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// They are added to those that are loaded.
    Add,
    /// They take the place of those.
    Replace,
}

/// Opens the file of that name.
pub type Loading<'a> = dyn Fn(&str, Purpose) -> Result<Stats, NotLoaded> + 'a;

pub struct Browser<'a> {
    stats: Option<Stats>,
    prompt: String,
    /// What an empty line repeats.
    last: String,
    load: &'a Loading<'a>,
}

const WORDS: &str = "EOF  add  callees  callers  help  quit  read  reverse  sort  stats  strip";
/// Not one of pstats' words.
const AWAITS: &str = "awaits";
const ARGUMENTS: &str = "Arguments may be:
* An integer maximum number of entries to print.
* A decimal fractional number between 0 and 1, controlling
  what fraction of selected entries to print.
* A regular expression; only entries with function names
  that match it are printed.
";
const NONE_LOADED: &str = "No statistics object is loaded.\n";

impl<'a> Browser<'a> {
    /// `file`: what the prompt calls `stats`.
    pub fn new(stats: Option<(String, Stats)>, load: &'a Loading<'a>) -> Browser<'a> {
        let (file, stats) = stats.unzip();
        let prompt = file.map_or_else(|| "% ".to_owned(), |file| format!("{file}% "));
        Browser { stats, prompt, last: String::new(), load }
    }

    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// Whether the shell ends; what it says goes to the page. None: the input has ended.
    ///
    /// # Errors
    /// The page's.
    pub fn answer(&mut self, line: Option<&str>, page: &mut dyn Write) -> Result<bool, fmt::Error> {
        let line = line.unwrap_or("EOF").trim();
        if line.is_empty() {
            let last = self.last.clone();
            return if last.is_empty() { Ok(false) } else { self.answer(Some(&last), page) };
        }
        let help;
        let line = match line.strip_prefix('?') {
            Some(topic) => {
                help = format!("help {topic}");
                help.as_str()
            }
            None => line,
        };
        if !line.starts_with('!') {
            self.last = if line == "EOF" { String::new() } else { line.to_owned() };
        }
        let end = line.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(line.len());
        let (word, rest) = (&line[..end], line[end..].trim());
        let printed = match word {
            "add" => self.add(rest),
            "awaits" => return self.list(rest, Stats::awaits_listing, page),
            "callees" => return self.list(rest, Stats::callees_listing, page),
            "callers" => return self.list(rest, Stats::callers_listing, page),
            "EOF" => "\n".to_owned(),
            "help" => help_about(rest),
            "quit" => String::new(),
            "read" => self.read(rest),
            "reverse" => self.changed(Stats::reverse),
            "sort" => self.sort(rest),
            "stats" => return self.list(rest, Stats::listing, page),
            "strip" => self.changed(Stats::strip_folders),
            _ => format!("*** Unknown syntax: {line}\n"),
        };
        page.write_str(&printed)?;
        Ok(matches!(word, "EOF" | "quit"))
    }

    fn add(&mut self, file: &str) -> String {
        let Some(stats) = &mut self.stats else { return NONE_LOADED.to_owned() };
        match (self.load)(file, Purpose::Add) {
            Ok(other) => {
                stats.add(other);
                String::new()
            }
            Err(NotLoaded::System(number, words)) => {
                format!("Failed to load statistics for {file}: [Errno {number}] {words}: '{file}'\n")
            }
            Err(NotLoaded::Content(words) | NotLoaded::TooLarge(words) | NotLoaded::TooLargeForItsSize(words)) => {
                format!("Failed to load statistics for {file}: {words}\n")
            }
        }
    }

    fn read(&mut self, file: &str) -> String {
        let current = self.prompt.strip_suffix("% ").unwrap_or_default();
        let file = if file.is_empty() { current } else { file }.to_owned();
        if file.is_empty() {
            return "No statistics object is current -- cannot reload.\n".to_owned();
        }
        match (self.load)(&file, Purpose::Replace) {
            Ok(stats) => {
                self.stats = Some(stats);
                self.prompt = format!("{file}% ");
                String::new()
            }
            Err(
                NotLoaded::System(_, words)
                | NotLoaded::Content(words)
                | NotLoaded::TooLarge(words)
                | NotLoaded::TooLargeForItsSize(words),
            ) => format!("{words}\n"),
        }
    }

    fn sort(&mut self, keys: &str) -> String {
        let Some(stats) = &mut self.stats else { return NONE_LOADED.to_owned() };
        let keys: Vec<&str> = keys.split_whitespace().collect();
        match keys.is_empty() {
            false if stats.sort(&keys).is_ok() => String::new(),
            _ => format!("Valid sort keys (unique prefixes are accepted):\n{}", UnknownKey::valid()),
        }
    }

    fn changed(&mut self, change: impl FnOnce(&mut Stats)) -> String {
        match &mut self.stats {
            Some(stats) => {
                change(stats);
                String::new()
            }
            None => NONE_LOADED.to_owned(),
        }
    }

    fn list(&self, words: &str, listing: Listing, page: &mut dyn Write) -> Result<bool, fmt::Error> {
        let mut restrictions = Vec::new();
        for word in words.split_whitespace() {
            match Restriction::of_word(word) {
                Ok(restriction) => restrictions.push(restriction),
                Err(why) => writeln!(page, "{why}")?,
            }
        }
        match &self.stats {
            Some(stats) => listing(stats, &restrictions, page)?,
            None => page.write_str(NONE_LOADED)?,
        }
        Ok(false)
    }
}

/// What may come next in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion<'a> {
    /// From that byte on one of these.
    Words(usize, Vec<&'static str>),
    /// From that byte on the name of a file, of which so much is there.
    File(usize, &'a str),
}

/// `begun`: the line up to where it is completed.
#[must_use]
pub fn completion(begun: &str) -> Completion<'_> {
    let indent = begun.len() - begun.trim_start().len();
    let line = &begun[indent..];
    let (word, rest) = line.split_once(' ').map_or((line, None), |(word, rest)| (word, Some(rest)));
    let words = || WORDS.split_whitespace().chain([AWAITS]);
    let Some(rest) = rest else {
        return Completion::Words(indent, words().filter(|one| one.starts_with(word)).collect());
    };
    let name = rest.trim_start();
    let last = rest.rsplit(' ').next().unwrap_or_default();
    let beginning_so = |words: &mut dyn Iterator<Item = &'static str>| {
        Completion::Words(begun.len() - last.len(), words.filter(|one| one.starts_with(last)).collect())
    };
    match word {
        "add" | "read" => Completion::File(begun.len() - name.len(), name),
        "sort" => beginning_so(&mut KEYS.iter().map(|(key, _)| *key)),
        "help" => beginning_so(&mut words()),
        _ => Completion::Words(begun.len(), Vec::new()),
    }
}

fn help_about(word: &str) -> String {
    match word {
        "" => {
            let header = "Documented commands (type help <topic>):";
            format!("\n{header}\n{}\n{WORDS}\n\n", "=".repeat(header.len()))
        }
        "add" => "Add profile info from given file to current statistics object.\n".to_owned(),
        "awaits" => format!("Print how long coroutines waited (counted by genba trace).\n{ARGUMENTS}"),
        "callees" => format!("Print callees statistics from the current stat object.\n{ARGUMENTS}"),
        "callers" => format!("Print callers statistics from the current stat object.\n{ARGUMENTS}"),
        "EOF" | "quit" => "Leave the profile browser.\n".to_owned(),
        "help" => "Show help for a given command.\n".to_owned(),
        "read" => {
            "Read in profile data from a specified file.\nWithout argument, reload the current file.\n".to_owned()
        }
        "reverse" => "Reverse the sort order of the profiling report.\n".to_owned(),
        "sort" => {
            "Sort profile data according to specified keys.\n(Typing `sort' without arguments lists valid keys.)\n"
                .to_owned()
        }
        "stats" => format!("Print statistics from the current stat object.\n{ARGUMENTS}"),
        "strip" => "Strip leading path information from filenames in the report.\n".to_owned(),
        other => format!("*** No help on {other}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Completion, completion};

    #[test]
    fn a_line_is_completed_by_what_its_word_takes() {
        assert_eq!(completion("s"), Completion::Words(0, vec!["sort", "stats", "strip"]));
        assert_eq!(completion("  call"), Completion::Words(2, vec!["callees", "callers"]));
        assert_eq!(completion("sort cu"), Completion::Words(5, vec!["cumtime", "cumulative"]));
        assert_eq!(completion("sort time na"), Completion::Words(10, vec!["name"]));
        assert_eq!(completion("help aw"), Completion::Words(5, vec!["awaits"]));
        assert_eq!(completion("read  two words.p"), Completion::File(6, "two words.p"));
        assert_eq!(completion("stats 1"), Completion::Words(7, vec![]));
        let Completion::Words(0, all) = completion("") else { panic!("words") };
        assert_eq!(all.len(), 12);
    }
}
