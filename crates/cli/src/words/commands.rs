//! Verbs that have commands of their own (`genba serve token`, `genba heap refs`), and words that are none of these.
//! Owns: what is said about such a word. Never: decides that a command line is wrong; clap does.

use clap::Command;

/// What is said, and what helps.
pub struct Words {
    pub what: String,
    pub hint: String,
}

/// `word` is none of the commands that it was taken for. None: not even the verb before it is one.
pub fn unknown(definition: &Command, typed: &[String], word: &str) -> Option<Words> {
    let verb = Verb::before(definition, typed, word)?;
    let hint = match verb.nearest(word) {
        Some(command) => format!("did you mean `{command}`?"),
        None => verb.help(),
    };
    Some(Words { what: format!("`{word}` is not a command of {}", verb.words), hint })
}

/// None: no verb was typed either.
pub fn missing(definition: &Command, typed: &[String]) -> Option<Words> {
    let verb = Verb::in_words(definition, typed)?;
    Some(Words { what: format!("{} needs a command", verb.words), hint: verb.help() })
}

/// `genba heap ref 12`: what is before `word`, was taken for a file, and is like a command.
pub fn meant<'t>(definition: &Command, typed: &'t [String], word: &str) -> Option<&'t str> {
    let verb = Verb::before(definition, typed, word)?;
    let before = typed.iter().take_while(|one| *one != word).map(String::as_str);
    before.skip(1).find(|one| verb.nearest(one).is_some())
}

/// Whether the verb before it has such a command.
pub fn is_known(definition: &Command, typed: &[String], word: &str) -> bool {
    Verb::before(definition, typed, word).is_some_and(|verb| verb.definition.find_subcommand(word).is_some())
}

/// So many letters may be wrong, too many, too few or swapped in what was meant to be another word.
pub fn slips_max(word: &str) -> usize {
    (word.len() / 3).max(1)
}

/// The innermost verb that was typed.
struct Verb<'c> {
    /// `genba serve token`
    words: String,
    definition: &'c Command,
}

impl<'c> Verb<'c> {
    fn before(definition: &'c Command, typed: &[String], word: &str) -> Option<Verb<'c>> {
        let count = typed.iter().position(|one| one == word).unwrap_or(typed.len());
        Verb::in_words(definition, &typed[..count])
    }

    fn in_words(definition: &'c Command, typed: &[String]) -> Option<Verb<'c>> {
        let genba = Verb { words: "genba".to_owned(), definition };
        let found = typed.iter().fold(genba, |verb, word| match verb.definition.find_subcommand(word) {
            Some(definition) => Verb { words: format!("{} {word}", verb.words), definition },
            None => verb,
        });
        (found.words != "genba").then_some(found)
    }

    fn nearest(&self, word: &str) -> Option<&'c str> {
        let names = self.definition.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
        let distances = names.map(|name| (strsim::osa_distance(name, word), name));
        let (distance, name) = distances.min()?;
        (distance <= slips_max(word)).then_some(name)
    }

    fn help(&self) -> String {
        format!("{} --help lists its commands", self.words)
    }
}
