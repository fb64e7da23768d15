//! The lines that the shell is given: at a terminal with a history and completions, from elsewhere as they come.
//! Owns: how a line is read. Never: knows what a word of the shell does.

use std::fs;
use std::io::{BufRead, IsTerminal};

use genba_pstats::{Completion, completion};
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use crate::read;
use crate::words::failure::Failure;

pub enum Lines {
    Terminal(Box<Editor<Words, MemHistory>>),
    Other,
}

impl Lines {
    pub fn new() -> Lines {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Lines::Other;
        }
        let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
        let Ok(mut editor) = Editor::with_history(config, MemHistory::new()) else { return Lines::Other };
        editor.set_helper(Some(Words));
        Lines::Terminal(Box::new(editor))
    }

    /// None: the input has ended.
    pub fn next(&mut self, prompt: &str) -> Result<Option<String>, Failure> {
        let cannot_read = |error: &dyn std::fmt::Display| Failure::ours(format!("cannot read from stdin: {error}"));
        match self {
            Lines::Terminal(editor) => loop {
                match editor.readline(prompt) {
                    Ok(line) => return Ok(Some(line)),
                    // Ctrl-C takes back what was typed.
                    Err(ReadlineError::Interrupted) => {}
                    Err(ReadlineError::Eof) => return Ok(None),
                    Err(error) => return Err(cannot_read(&error)),
                }
            },
            Lines::Other => {
                read::print(prompt)?;
                let mut line = Vec::new();
                let bytes = std::io::stdin().lock().read_until(b'\n', &mut line);
                let bytes = bytes.map_err(|error| cannot_read(&error))?;
                Ok((bytes > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
            }
        }
    }
}

/// What the Tab key completes.
pub struct Words;

impl Helper for Words {}
impl Highlighter for Words {}
impl Validator for Words {}
impl Hinter for Words {
    type Hint = String;
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let pair = |word: String| Pair { display: word.clone(), replacement: word };
        Ok(match completion(line.get(..at).unwrap_or_default()) {
            Completion::Words(begin, words) => (begin, words.into_iter().map(|word| pair(word.to_owned())).collect()),
            Completion::File(begin, name) => (begin, files(name).into_iter().map(pair).collect()),
        })
    }
}

/// Those whose names begin so, folders with a slash behind them.
fn files(begun: &str) -> Vec<String> {
    let (folder, name) = begun.rfind('/').map_or(("", begun), |slash| begun.split_at(slash + 1));
    let Ok(entries) = fs::read_dir(if folder.is_empty() { "." } else { folder }) else { return Vec::new() };
    let found = entries.flatten().filter_map(|entry| {
        let own = entry.file_name().into_string().ok().filter(|own| own.starts_with(name))?;
        // A hidden file is completed for who asks for one, and no name may steer the terminal.
        let is_shown = (!own.starts_with('.') || name.starts_with('.')) && !own.contains(char::is_control);
        let slash = if entry.path().is_dir() { "/" } else { "" };
        is_shown.then(|| format!("{folder}{own}{slash}"))
    });
    let mut found: Vec<String> = found.collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::files;

    #[test]
    fn files_are_completed_below_their_folder() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = format!("{}/", place.path().display());
        for name in ["load.prof", "load two.prof", ".load", "other"] {
            std::fs::write(place.path().join(name), "").expect("a file");
        }
        std::fs::create_dir(place.path().join("loads")).expect("a folder");
        let found = |begun: &str| files(&format!("{folder}{begun}"));
        let of = |names: &[&str]| names.iter().map(|name| format!("{folder}{name}")).collect::<Vec<_>>();
        assert_eq!(found("load"), of(&["load two.prof", "load.prof", "loads/"]));
        assert_eq!(found(""), of(&["load two.prof", "load.prof", "loads/", "other"]));
        assert_eq!(found(".l"), of(&[".load"]));
        assert_eq!(found("missing/x"), [] as [String; 0]);
    }
}
