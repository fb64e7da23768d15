//! The search language: words and `key:value`, all of which must hold.
//! Owns: its grammar and the words when something cannot be understood. Never: asks the database.
//!
//! `import_orders tag:main`, `host:api-* or build-*`, `since:30d`, `until:2026-11-17`, `cpu>2s`, `size>1MB`, `"fdatasync"`, `tag:"two words"`

use chrono::{DateTime, NaiveDate};

use crate::storage::listing::{Condition, Filter, Number, Pattern};
use crate::storage::terms::{Kind, folded};
use crate::words::moment::{DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS};
use crate::words::problem::Problem;

pub const LETTERS_MAX: usize = 1_000;
const WORDS_MAX: usize = 30;

/// `now_ms`: what `since:30d` counts from.
pub fn filter(words: &str, now_ms: i64) -> Result<Filter, Problem> {
    if words.chars().count() > LETTERS_MAX {
        return Err(not_understood(format!("it is longer than {LETTERS_MAX} characters")));
    }
    let words = split(words)?;
    if words.len() > WORDS_MAX {
        return Err(not_understood(format!("it has more than {WORDS_MAX} words")));
    }
    let mut conditions: Vec<Condition> = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let mut condition = condition(&word, now_ms)?;
        while words.peek().is_some_and(|next| !next.is_quoted && next.text.eq_ignore_ascii_case("or")) {
            words.next();
            let Some(other) = words.next() else { return Err(not_understood("nothing follows the last `or`")) };
            let Condition::Word { patterns, .. } = &mut condition else {
                return Err(not_understood("`or` joins values of one key: host:api-* or build-*"));
            };
            patterns.push(pattern(&other)?);
        }
        conditions.push(condition);
    }
    Ok(Filter { conditions, owner: None })
}

struct Word {
    text: String,
    /// Nothing in it has a meaning of its own.
    is_quoted: bool,
}

impl Word {
    /// A word of a search, or the value behind its key.
    fn of(typed: &str) -> Word {
        let within = typed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        Word { text: within.unwrap_or(typed).to_owned(), is_quoted: within.is_some() }
    }
}

fn split(words: &str) -> Result<Vec<Word>, Problem> {
    let mut found = Vec::new();
    let mut rest = words.trim_start();
    while !rest.is_empty() {
        let end = match quotation(rest) {
            Some(within) => match rest[within..].find('"') {
                Some(length) => within + length + 1,
                None => return Err(not_understood("a quotation mark has no partner")),
            },
            None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        found.push(Word::of(&rest[..end]));
        rest = rest[end..].trim_start();
    }
    Ok(found)
}

/// Where what is quoted begins, in `"two words"` and in `tag:"two words"`.
fn quotation(rest: &str) -> Option<usize> {
    let key = rest.find(|letter: char| !letter.is_ascii_lowercase())?;
    let mark = if key == 0 { "\"" } else { ":\"" };
    rest[key..].starts_with(mark).then_some(key + mark.len())
}

fn condition(word: &Word, now_ms: i64) -> Result<Condition, Problem> {
    let anywhere = |word: &Word| Ok(Condition::Word { kinds: Kind::ALL.to_vec(), patterns: vec![pattern(word)?] });
    if word.is_quoted {
        return anywhere(word);
    }
    if let Some((key, value)) = word.text.split_once(':').filter(|(key, _)| !key.is_empty()) {
        let value = Word::of(value);
        if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.word() == key) {
            return Ok(Condition::Word { kinds: vec![kind], patterns: vec![pattern(&value)?] });
        }
        match key {
            "since" => return Ok(Condition::Since { ms: moment(&value.text, now_ms)? }),
            "until" => return Ok(Condition::Until { ms: moment(&value.text, now_ms)? }),
            // A name in C++ has colons too.
            _ if !value.is_quoted && value.text.starts_with(':') => {}
            _ => {
                let keys: Vec<&str> = Kind::ALL.into_iter().map(Kind::word).collect();
                return Err(not_understood(format!("`{key}:` is no key")).hint(format!(
                    "keys are {}, since and until; \"in quotation marks\" a colon is a colon",
                    keys.join(", ")
                )));
            }
        }
    }
    if let Some((key, is_more, value)) = compared(&word.text) {
        let of = match key {
            "cpu" => Number::CpuNs,
            "wall" => Number::WallNs,
            "size" => Number::Bytes,
            _ => {
                return Err(
                    not_understood(format!("`{key}` is no number of a recording")).hint("cpu>2s, wall<1m, size>1MB")
                );
            }
        };
        let than = if of == Number::Bytes { bytes(value)? } else { duration_ns(value)? };
        return Ok(Condition::Number { of, is_more, than });
    }
    anywhere(word)
}

fn compared(word: &str) -> Option<(&str, bool, &str)> {
    let position = word.find(['<', '>'])?;
    let (key, rest) = word.split_at(position);
    let is_key = !key.is_empty() && key.bytes().all(|letter| letter.is_ascii_lowercase());
    is_key.then(|| (key, rest.starts_with('>'), &rest[1..]))
}

fn pattern(word: &Word) -> Result<Pattern, Problem> {
    let text = folded(&word.text);
    if text.is_empty() {
        return Err(not_understood("a value is empty"));
    }
    if word.is_quoted || !text.contains('*') {
        return Ok(Pattern::Word(text));
    }
    Ok(match text.strip_suffix('*') {
        Some(beginning) if !beginning.contains('*') && !beginning.is_empty() => Pattern::Begins(beginning.to_owned()),
        _ => Pattern::Glob(text),
    })
}

/// `30d` before now, a day by its name or its date: its beginning in UTC.
fn moment(value: &str, now_ms: i64) -> Result<i64, Problem> {
    let today_ms = now_ms - now_ms.rem_euclid(DAY_MS);
    match value {
        "today" => return Ok(today_ms),
        "yesterday" => return Ok(today_ms - DAY_MS),
        _ => {}
    }
    if let Ok(day) = value.parse::<NaiveDate>() {
        return Ok(day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_millis());
    }
    if let Ok(time) = DateTime::parse_from_rfc3339(value) {
        return Ok(time.timestamp_millis());
    }
    // Those that the commands' ages have.
    let units = [
        ("y", 365 * DAY_MS),
        ("mo", 30 * DAY_MS),
        ("w", 7 * DAY_MS),
        ("d", DAY_MS),
        ("h", HOUR_MS),
        ("m", MINUTE_MS),
        ("s", SECOND_MS),
    ];
    let before_ms = units.into_iter().find_map(|(unit, unit_ms)| {
        let number = value.strip_suffix(unit)?.parse::<u32>().ok()?;
        i64::from(number).checked_mul(unit_ms)
    });
    before_ms.map(|before_ms| now_ms.saturating_sub(before_ms)).ok_or_else(|| {
        not_understood(format!("`{value}` is no time")).hint("since:30d, since:12h, since:yesterday, since:2026-11-17")
    })
}

fn duration_ns(value: &str) -> Result<u64, Problem> {
    let units = [("ms", 1e6), ("us", 1e3), ("ns", 1.0), ("min", 6e10), ("m", 6e10), ("h", 3.6e12), ("s", 1e9)];
    quantity(value, &units)
        .ok_or_else(|| not_understood(format!("`{value}` is no duration")).hint("cpu>2s, cpu>150ms, wall<5m"))
}

fn bytes(value: &str) -> Result<u64, Problem> {
    let units = [("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("B", 1.0)];
    quantity(value, &units).ok_or_else(|| not_understood(format!("`{value}` is no size")).hint("size>1MB, size<300kB"))
}

fn quantity(value: &str, units: &[(&str, f64)]) -> Option<u64> {
    units.iter().find_map(|(unit, times)| {
        let number = value.strip_suffix(unit)?;
        let is_number = !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit() || letter == b'.');
        number.parse::<f64>().ok().filter(|_| is_number).map(|number| (number * times) as u64)
    })
}

fn not_understood(why: impl Into<String>) -> Problem {
    Problem::bad_request("the search is not understood").detail(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_795_000_000_000;

    fn one(words: &str) -> Condition {
        let mut conditions = filter(words, NOW_MS).unwrap_or_else(|problem| panic!("{words}: {problem}")).conditions;
        assert_eq!(conditions.len(), 1, "{words}");
        conditions.remove(0)
    }

    fn patterns(words: &str) -> Vec<Pattern> {
        match one(words) {
            Condition::Word { patterns, .. } => patterns,
            other => panic!("{words}: {other:?}"),
        }
    }

    #[test]
    fn words_keys_and_or() {
        assert_eq!(patterns("Parse"), [Pattern::Word("parse".to_owned())]);
        assert_eq!(
            patterns("host:api-* or build-7"),
            [Pattern::Begins("api-".to_owned()), Pattern::Word("build-7".to_owned())]
        );
        assert_eq!(patterns("function:*save"), [Pattern::Glob("*save".to_owned())]);
        assert_eq!(patterns("\"waiting for or * key:\""), [Pattern::Word("waiting for or * key:".to_owned())]);
        assert_eq!(patterns("std::vec"), [Pattern::Word("std::vec".to_owned())]);
        assert_eq!(
            patterns("tag:\"note=Two * words\" or \"or\" or b-*"),
            [
                Pattern::Word("note=two * words".to_owned()),
                Pattern::Word("or".to_owned()),
                Pattern::Begins("b-".to_owned())
            ]
        );
        assert_eq!(one("since:\"2026-11-17\""), one("since:2026-11-17"));
        let filter = filter("  program:import_orders   tag:main  ", NOW_MS).expect("two words");
        let kinds = filter.conditions.iter().map(|condition| match condition {
            Condition::Word { kinds, .. } => kinds.as_slice(),
            other => panic!("{other:?}"),
        });
        let kinds: Vec<&[Kind]> = kinds.collect();
        assert_eq!(kinds, [[Kind::Program].as_slice(), [Kind::Tag].as_slice()]);
    }

    #[test]
    fn times_and_numbers() {
        assert_eq!(one("since:30d"), Condition::Since { ms: NOW_MS - 30 * DAY_MS });
        assert_eq!(one("since:1y"), Condition::Since { ms: NOW_MS - 365 * DAY_MS });
        assert_eq!(one("until:2mo"), Condition::Until { ms: NOW_MS - 60 * DAY_MS });
        assert_eq!(one("since:2m"), Condition::Since { ms: NOW_MS - 2 * MINUTE_MS });
        assert_eq!(one("until:2026-11-17"), Condition::Until { ms: 1_794_873_600_000 });
        assert_eq!(one("since:yesterday"), Condition::Since { ms: NOW_MS - NOW_MS % DAY_MS - DAY_MS });
        assert_eq!(one("cpu>2s"), Condition::Number { of: Number::CpuNs, is_more: true, than: 2_000_000_000 });
        assert_eq!(one("wall<1.5m"), Condition::Number { of: Number::WallNs, is_more: false, than: 90_000_000_000 });
        assert_eq!(one("size>1MB"), Condition::Number { of: Number::Bytes, is_more: true, than: 1_000_000 });
    }

    #[test]
    fn what_is_not_understood_says_why() {
        for words in [
            "\"open",
            "tag:\"open",
            "host:",
            "host:\"\"",
            "colour:red",
            "colour:\"dark red\"",
            "since:soon",
            "cpu>",
            "cpu>2",
            "size>1",
            "age>2s",
            "a or",
            "since:1d or b",
            &"a ".repeat(31),
        ] {
            let problem = filter(words, NOW_MS).expect_err(words);
            assert!(problem.status == 400 && problem.detail.is_some(), "{words}: {problem:?}");
        }
        assert_eq!(filter("", NOW_MS).expect("all"), Filter::default());
        assert_eq!(filter("<script>", NOW_MS).expect("a word").conditions.len(), 1);
    }
}
