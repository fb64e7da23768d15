//! Regular expressions as Python's `re` reads them, for the crate `regex`, which reads some of the same letters otherwise.
//! Owns: Python's syntax, and which expressions are none in Python. Never: matches; recurses; guesses: what the crate has no equal of is
//! refused.
//! Keeps: the translation is at most seven times as long. Names hold no control characters, so `$` is never in front of a newline.
//! Source: CPython 3.13, Lib/re/_parser.py.

mod parenthesis;
#[cfg(test)]
mod tests;

use regex::Regex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Python refuses it, too.
    Invalid,
    /// Python takes it, or might: some things are not read to their end.
    Unsupported,
}

/// # Errors
/// What Python refuses, and what only Python can match.
pub(crate) fn compiled(expression: &str) -> Result<Regex, Refused> {
    Regex::new(&translated(expression)?).map_err(|_| Refused::Unsupported)
}

fn translated(expression: &str) -> Result<String, Refused> {
    let mut reader = Reader { rest: expression, is_at_begin: true, ..Reader::default() };
    while let Some(letter) = reader.next() {
        reader.part(letter)?;
    }
    let is_whole = reader.open.is_empty() && reader.condition <= reader.groups.len();
    match (is_whole, reader.is_unsupported) {
        (false, _) => Err(Refused::Invalid),
        (true, true) => Err(Refused::Unsupported),
        (true, false) => Ok(reader.rust),
    }
}

#[derive(Default)]
struct Reader<'a> {
    rest: &'a str,
    rust: String,
    last: Last,
    open: Vec<Open>,
    /// By number, the first at 0.
    groups: Vec<Group<'a>>,
    /// The greatest number of a group that a condition asks for. It may come later.
    condition: usize,
    /// No alternative yet.
    is_at_begin: bool,
    is_unsupported: bool,
}

/// What a repetition would repeat.
#[derive(Default, PartialEq)]
enum Last {
    #[default]
    Nothing,
    Place,
    Item,
    Repetition,
}

/// A parenthesis.
#[derive(Default)]
struct Open {
    group: Option<usize>,
    /// A condition has that many alternatives left.
    alternatives: Option<u8>,
}

struct Group<'a> {
    name: Option<&'a str>,
    is_open: bool,
}

enum Escape {
    Letter(char),
    Set(&'static str),
    Place(&'static str),
    Reference,
}

impl<'a> Reader<'a> {
    fn part(&mut self, letter: char) -> Result<(), Refused> {
        match letter {
            '\\' => {
                let escape = self.escape(false)?;
                self.last = if matches!(escape, Escape::Place(_)) { Last::Place } else { Last::Item };
                self.write(&escape);
            }
            '[' => self.set()?,
            '(' => self.parenthesis()?,
            ')' => self.close()?,
            '|' => self.alternative()?,
            '*' | '+' | '?' => self.repetition(letter.to_string())?,
            '{' => match self.counts()? {
                Some(counts) => self.repetition(counts)?,
                None => self.item(Escape::Letter('{')),
            },
            '^' => self.place("^"),
            '$' => self.place("$"),
            '.' => self.item(Escape::Set(".")),
            letter => self.item(Escape::Letter(letter)),
        }
        Ok(())
    }

    fn item(&mut self, item: Escape) {
        self.write(&item);
        self.last = Last::Item;
    }

    fn place(&mut self, rust: &str) {
        self.rust += rust;
        self.last = Last::Place;
    }

    /// Letters that could mean something to the crate, within a set or outside of one, are written by number.
    fn write(&mut self, what: &Escape) {
        match what {
            Escape::Letter(letter) if letter.is_ascii() && !letter.is_ascii_alphanumeric() => {
                self.rust += &format!("\\x{{{:x}}}", u32::from(*letter));
            }
            Escape::Letter(letter) => self.rust.push(*letter),
            Escape::Set(rust) | Escape::Place(rust) => self.rust += rust,
            Escape::Reference => {}
        }
    }

    fn repetition(&mut self, rust: String) -> Result<(), Refused> {
        if self.last != Last::Item {
            return Err(Refused::Invalid);
        }
        self.rust += &rust;
        if self.takes("?") {
            self.rust.push('?');
        } else if self.takes("+") {
            self.is_unsupported = true;
        }
        self.last = Last::Repetition;
        Ok(())
    }

    /// Behind a brace. None: it is a letter like others.
    fn counts(&mut self) -> Result<Option<String>, Refused> {
        let (low, behind) = split(self.rest, usize::MAX, |letter| letter.is_ascii_digit());
        let range = behind.strip_prefix(',').map(|rest| split(rest, usize::MAX, |letter| letter.is_ascii_digit()));
        let (high, behind) = range.unwrap_or((low, behind));
        let Some(behind) = behind.strip_prefix('}') else { return Ok(None) };
        if low.is_empty() && range.is_none() {
            return Ok(None);
        }
        self.rest = behind;
        let number = |digits: &str| digits.parse::<u32>().map_err(|_| Refused::Invalid);
        let low = if low.is_empty() { 0 } else { number(low)? };
        if high.is_empty() {
            return Ok(Some(format!("{{{low},}}")));
        }
        let high = number(high)?;
        if high < low { Err(Refused::Invalid) } else { Ok(Some(format!("{{{low},{high}}}"))) }
    }

    fn set(&mut self) -> Result<(), Refused> {
        let is_negated = self.takes("^");
        self.rust += if is_negated { "[^" } else { "[" };
        let mut is_empty = true;
        while is_empty || !self.takes("]") {
            is_empty = false;
            let low = self.member()?;
            self.write(&low);
            if !self.takes("-") {
                continue;
            }
            if self.takes("]") {
                self.write(&Escape::Letter('-'));
                break;
            }
            match (low, self.member()?) {
                (Escape::Letter(low), Escape::Letter(high)) if low <= high => {
                    self.rust.push('-');
                    self.write(&Escape::Letter(high));
                }
                _ => return Err(Refused::Invalid),
            }
        }
        self.rust.push(']');
        self.last = Last::Item;
        Ok(())
    }

    fn member(&mut self) -> Result<Escape, Refused> {
        match self.next().ok_or(Refused::Invalid)? {
            '\\' => self.escape(true),
            letter => Ok(Escape::Letter(letter)),
        }
    }

    /// Behind a backslash.
    fn escape(&mut self, is_in_set: bool) -> Result<Escape, Refused> {
        Ok(match self.next().ok_or(Refused::Invalid)? {
            'd' => Escape::Set(r"\d"),
            'D' => Escape::Set(r"\D"),
            's' => Escape::Set(r"\s"),
            'S' => Escape::Set(r"\S"),
            'w' => Escape::Set(r"[\pL\pN_]"),
            'W' => Escape::Set(r"[^\pL\pN_]"),
            'A' if !is_in_set => Escape::Place(r"\A"),
            'Z' if !is_in_set => Escape::Place(r"\z"),
            'b' if !is_in_set => Escape::Place(r"\b"),
            'B' if !is_in_set => Escape::Place(r"\B"),
            'b' => Escape::Letter('\u{8}'),
            'a' => Escape::Letter('\u{7}'),
            'f' => Escape::Letter('\u{c}'),
            'n' => Escape::Letter('\n'),
            'r' => Escape::Letter('\r'),
            't' => Escape::Letter('\t'),
            'v' => Escape::Letter('\u{b}'),
            'x' => self.hexadecimal(2)?,
            'u' => self.hexadecimal(4)?,
            'U' => self.hexadecimal(8)?,
            'N' if self.takes("{") => {
                self.until('}')?;
                return Err(Refused::Unsupported);
            }
            digit if digit.is_ascii_digit() => self.number(digit, is_in_set)?,
            letter if letter.is_ascii_alphabetic() => return Err(Refused::Invalid),
            letter => Escape::Letter(letter),
        })
    }

    fn hexadecimal(&mut self, count: usize) -> Result<Escape, Refused> {
        let digits = self.take(count, |letter| letter.is_ascii_hexdigit());
        match u32::from_str_radix(digits, 16) {
            Ok(number) if digits.len() == count && number <= u32::from(char::MAX) => {
                // No letter: half of one in UTF-16, which Python's strings may hold.
                char::from_u32(number).map(Escape::Letter).ok_or(Refused::Unsupported)
            }
            _ => Err(Refused::Invalid),
        }
    }

    /// A letter in octal, or a reference to a group.
    fn number(&mut self, first: char, is_in_set: bool) -> Result<Escape, Refused> {
        let is_octal = |letter: char| letter.is_digit(8);
        let has_three = is_octal(first) && split(self.rest, 2, is_octal).0.len() == 2;
        if is_in_set || first == '0' || has_three {
            let octal = u8::from_str_radix(&format!("{first}{}", self.take(2, is_octal)), 8);
            return octal.map(|octal| Escape::Letter(char::from(octal))).map_err(|_| Refused::Invalid);
        }
        let number = format!("{first}{}", self.take(1, |letter| letter.is_ascii_digit()));
        let group = number.parse::<usize>().ok().and_then(|number| self.groups.get(number.checked_sub(1)?));
        self.reference(group.is_some_and(|group| !group.is_open))
    }

    fn reference(&mut self, is_closed_group: bool) -> Result<Escape, Refused> {
        self.is_unsupported = true;
        if is_closed_group { Ok(Escape::Reference) } else { Err(Refused::Invalid) }
    }

    fn next(&mut self) -> Option<char> {
        let mut letters = self.rest.chars();
        let letter = letters.next();
        self.rest = letters.as_str();
        letter
    }

    fn takes(&mut self, words: &str) -> bool {
        let behind = self.rest.strip_prefix(words);
        self.rest = behind.unwrap_or(self.rest);
        behind.is_some()
    }

    fn take(&mut self, most: usize, is_one: impl Fn(char) -> bool) -> &'a str {
        let (taken, behind) = split(self.rest, most, is_one);
        self.rest = behind;
        taken
    }

    /// Something, and the letter that ends it.
    fn until(&mut self, end: char) -> Result<&'a str, Refused> {
        let (name, behind) = self.rest.split_once(end).ok_or(Refused::Invalid)?;
        self.rest = behind;
        if name.is_empty() { Err(Refused::Invalid) } else { Ok(name) }
    }
}

/// At most so many letters that are of a kind, and what is behind them.
fn split(text: &str, most: usize, is_one: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.char_indices().take(most).find(|(_, letter)| !is_one(*letter)).map(|(place, _)| place);
    let end = end.or_else(|| text.char_indices().nth(most).map(|(place, _)| place));
    text.split_at(end.unwrap_or(text.len()))
}
