//! What follows `stats`, `callers` and `callees`: how many rows, which share of them, or which names.
//! Owns: how a word is told to be a number as in Python, and how Python writes it. Never: knows rows; it gets their names.

use std::fmt;

use crate::expression;

#[derive(Clone, Debug, PartialEq)]
pub enum Restriction {
    /// That many rows. Negative, or more than there are: all.
    Rows(i64),
    /// From 0 to 1 of the rows.
    Share(f64),
    /// Those whose name matches.
    Names(String),
}

/// A fraction that is none of a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRange;

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fraction argument must be in [0, 1]")
    }
}

impl std::error::Error for OutOfRange {}

impl Restriction {
    /// # Errors
    /// A fraction outside of 0 to 1.
    pub fn of_word(word: &str) -> Result<Restriction, OutOfRange> {
        let digits = without_underscores(word);
        if let Some(digits) = digits.as_deref() {
            let is_whole =
                digits.strip_prefix(['+', '-']).unwrap_or(digits).bytes().all(|digit| digit.is_ascii_digit());
            if is_whole && let Ok(rows) = digits.parse::<i128>() {
                return Ok(Restriction::Rows(i64::try_from(rows).unwrap_or(-1)));
            }
            if let Ok(share) = digits.parse::<f64>() {
                let is_share = share.is_nan() || (0.0..=1.0).contains(&share);
                return if is_share { Ok(Restriction::Share(share)) } else { Err(OutOfRange) };
            }
        }
        Ok(Restriction::Names(word.to_owned()))
    }

    /// Of so many rows: those that stay, and what is said about it.
    pub(crate) fn applied(&self, mut rows: Vec<usize>, name: impl Fn(usize) -> String) -> (Vec<usize>, String) {
        let before = rows.len();
        match self {
            Restriction::Names(written) => {
                let regex = match expression::compiled(written) {
                    Ok(regex) => regex,
                    Err(what) => {
                        return (rows, format!("   <{what:?} regular expression {}>\n", genba_text::repr(written)));
                    }
                };
                rows.retain(|row| regex.is_match(&name(*row)));
            }
            Restriction::Share(share) if *share < 1.0 => rows.truncate((before as f64 * share + 0.5) as usize),
            Restriction::Rows(count) => rows.truncate(usize::try_from(*count).unwrap_or(before)),
            Restriction::Share(_) => {}
        }
        let after = rows.len();
        let words = match before == after {
            true => String::new(),
            false => format!("   List reduced from {before} to {after} due to restriction <{}>\n", self.python()),
        };
        (rows, words)
    }

    /// Python's `repr`.
    fn python(&self) -> String {
        match self {
            Restriction::Rows(rows) => rows.to_string(),
            Restriction::Share(share) if *share != 0.0 && *share < 1e-4 => {
                let scientific = format!("{share:e}");
                let (digits, exponent) = scientific.split_once("e-").unwrap_or((&scientific, "0"));
                format!("{digits}e-{exponent:0>2}")
            }
            Restriction::Share(share) => format!("{share:?}"),
            Restriction::Names(expression) => genba_text::repr(expression),
        }
    }
}

/// None: underscores that are not between digits. Python takes those that are for nothing.
fn without_underscores(word: &str) -> Option<String> {
    let is_digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    let letters: Vec<char> = word.chars().collect();
    let at = |place: usize| letters.get(place).copied();
    let is_between = |place: usize| place > 0 && is_digit(at(place - 1)) && is_digit(at(place + 1));
    let mut places = (0..letters.len()).filter(|place| letters[*place] == '_');
    places.all(is_between).then(|| word.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbers_where_python_takes_them_for_some() {
        let names = |word: &str| Ok(Restriction::Names(word.to_owned()));
        for (word, found) in [
            ("10", Ok(Restriction::Rows(10))),
            ("+1_0", Ok(Restriction::Rows(10))),
            ("-3", Ok(Restriction::Rows(-3))),
            (".5", Ok(Restriction::Share(0.5))),
            ("1e-5", Ok(Restriction::Share(1e-5))),
            ("1.0", Ok(Restriction::Share(1.0))),
            ("1.5", Err(OutOfRange)),
            ("inf", Err(OutOfRange)),
            ("-.1", Err(OutOfRange)),
            ("-0.0", Ok(Restriction::Share(0.0))),
            ("_1", names("_1")),
            ("1__0", names("1__0")),
            ("+", names("+")),
            ("load", names("load")),
        ] {
            assert_eq!(Restriction::of_word(word), found, "{word}");
        }
    }

    #[test]
    fn python_writes_them() {
        let written = |word: &str| Restriction::of_word(word).map(|restriction| restriction.python());
        for (word, python) in
            [("1e-5", "1e-05"), ("0.5", "0.5"), ("0.0", "0.0"), ("a'b", "\"a'b\""), ("\\d", "'\\\\d'")]
        {
            assert_eq!(written(word).as_deref(), Ok(python), "{word}");
        }
        assert_eq!(genba_text::repr("a'\"b"), "'a\\'\"b'");
    }
}
