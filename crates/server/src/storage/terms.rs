//! What recordings are found by: words of a kind, in small letters, each with the recordings that have it.
//! Owns: the kinds and the rows. Never: knows the search language (`rules/search.rs` does).

use sqlx::{Any, Transaction};

use crate::storage::database::{Database, Statement};
use crate::storage::recordings::{Recording, get};
use crate::words::problem::Problem;

/// Functions of a recording that it is found by: those with most time.
pub const FUNCTIONS_MAX: usize = 500;
const LETTERS_MAX: usize = 100;
/// Rows of one statement.
const ROWS_AT_ONCE: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Program,
    Host,
    Tag,
    Function,
    Who,
    Verdict,
    Name,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::Program, Kind::Host, Kind::Tag, Kind::Function, Kind::Who, Kind::Verdict, Kind::Name];

    /// As in the search language and in the table.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Program => "program",
            Kind::Host => "host",
            Kind::Tag => "tag",
            Kind::Function => "function",
            Kind::Who => "who",
            Kind::Verdict => "verdict",
            Kind::Name => "name",
        }
    }
}

/// In small letters, at most a hundred.
pub fn folded(word: &str) -> String {
    word.trim().chars().flat_map(char::to_lowercase).take(LETTERS_MAX).collect()
}

/// A command line by each of its words, and by the names of files without folder and ending.
pub fn of_program(program: &str) -> Vec<String> {
    let words = program.split_whitespace().flat_map(|word| {
        let file = word.rsplit('/').next().unwrap_or(word);
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        [word, file, stem]
    });
    std::iter::once(program).chain(words).map(folded).filter(|word| !word.is_empty()).collect()
}

/// `build=42` by that, and by `build`.
pub fn of_tags(tags: &[String]) -> Vec<String> {
    tags.iter()
        .flat_map(|tag| [tag.as_str(), tag.split_once('=').map_or(tag.as_str(), |(key, _)| key)])
        .map(folded)
        .filter(|word| !word.is_empty())
        .collect()
}

/// `Order.save` by that, and by `save`.
pub fn of_functions<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names
        .take(FUNCTIONS_MAX)
        .flat_map(|name| [name, name.rsplit(['.', ':']).next().unwrap_or(name)])
        .map(folded)
        .filter(|word| !word.is_empty())
        .collect()
}

/// In place of those of these kinds that the recording had.
pub async fn replace(
    transaction: &mut Transaction<'static, Any>,
    Recording { id: recording, created_ms, .. }: &Recording,
    kinds: &[Kind],
    terms: Vec<(Kind, String)>,
) -> Result<(), Problem> {
    for kind in kinds {
        let mut statement = Statement::new("DELETE FROM terms WHERE recording = ");
        statement.value(recording.clone());
        statement.say(" AND kind = ");
        statement.value(kind.word().to_owned());
        statement.execute(transaction).await?;
    }
    let mut terms = terms;
    terms.sort();
    terms.dedup();
    for rows in terms.chunks(ROWS_AT_ONCE) {
        let mut statement = Statement::new("INSERT INTO terms (kind, word, created_ms, recording) VALUES ");
        for (position, (kind, word)) in rows.iter().enumerate() {
            statement.say(if position == 0 { "(" } else { ", (" });
            statement.value(kind.word().to_owned());
            statement.say(", ");
            statement.value(word.clone());
            statement.say(", ");
            statement.value(*created_ms);
            statement.say(", ");
            statement.value(recording.clone());
            statement.say(")");
        }
        statement.execute(transaction).await?;
    }
    Ok(())
}

pub async fn delete(transaction: &mut Transaction<'static, Any>, recording: &str) -> Result<(), Problem> {
    let mut statement = Statement::new("DELETE FROM terms WHERE recording = ");
    statement.value(recording.to_owned());
    statement.execute(transaction).await.map(drop)
}

/// The most frequent words of a kind, with the number of recordings.
pub async fn frequent(database: &Database, kind: Kind, most: i64) -> Result<Vec<(String, i64)>, Problem> {
    let mut statement = Statement::new("SELECT word, CAST(COUNT(*) AS BIGINT) AS recordings FROM terms WHERE kind = ");
    statement.value(kind.word().to_owned());
    statement.say(" GROUP BY word ORDER BY recordings DESC, word LIMIT ");
    statement.value(most);
    let rows = statement.rows(database).await?;
    rows.iter().map(|row| Ok((get(row, "word")?, get(row, "recordings")?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recording_is_found_by() {
        let words = of_program("/srv/Import_Orders.py october.csv -m");
        for word in [
            "import_orders",
            "import_orders.py",
            "october.csv",
            "october",
            "-m",
            "/srv/import_orders.py october.csv -m",
        ] {
            assert!(words.iter().any(|known| known == word), "{word} in {words:?}");
        }
        assert_eq!(of_tags(&["Build=42".to_owned(), "main".to_owned()]), ["build=42", "build", "main", "main"]);
        let names = ["Order.save", "std::vec::push", "main"];
        assert_eq!(of_functions(names.into_iter()), ["order.save", "save", "std::vec::push", "push", "main", "main"]);
        assert_eq!(folded(&"Ä".repeat(200)), "ä".repeat(100));
    }
}
