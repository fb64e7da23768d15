//! The keys that pstats sorts by, with all beginnings of their names that mean one key alone.
//! Owns: their words. Never: compares rows.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    PrimitiveCalls,
    Calls,
    OwnTime,
    TotalTime,
    File,
    Line,
    Name,
    StandardName,
}

pub(crate) type Named = (&'static [Key], &'static str);

/// In the order in which pstats lists them. Source: pstats.py, sort_arg_dict_default.
pub(crate) const KEYS: [(&str, Named); 13] = [
    ("calls", (&[Key::Calls], "call count")),
    ("ncalls", (&[Key::Calls], "call count")),
    ("cumtime", (&[Key::TotalTime], "cumulative time")),
    ("cumulative", (&[Key::TotalTime], "cumulative time")),
    ("filename", (&[Key::File], "file name")),
    ("line", (&[Key::Line], "line number")),
    ("module", (&[Key::File], "file name")),
    ("name", (&[Key::Name], "function name")),
    ("nfl", (&[Key::Name, Key::File, Key::Line], "name/file/line")),
    ("pcalls", (&[Key::PrimitiveCalls], "primitive call count")),
    ("stdname", (&[Key::StandardName], "standard name")),
    ("time", (&[Key::OwnTime], "internal time")),
    ("tottime", (&[Key::OwnTime], "internal time")),
];

/// Beside them, for files of the sampling profiler. Source: pstats.py of 3.15, SampledStats.
const KEYS_OF_SAMPLES: [(&str, Named); 3] = [
    ("samples", (&[Key::Calls], "sample count")),
    ("nsamples", (&[Key::Calls], "sample count")),
    ("psamples", (&[Key::PrimitiveCalls], "primitive call count")),
];

/// Not a key, nor the beginning of one alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey(pub String);

impl UnknownKey {
    /// All keys, a line each.
    #[must_use]
    pub fn valid() -> String {
        KEYS.iter().map(|(key, (_, words))| format!("{key} -- {words}\n")).collect()
    }
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a key to sort by", self.0)
    }
}

impl std::error::Error for UnknownKey {}

/// # Errors
/// The first word that is no key.
pub(crate) fn sort_keys(words: &[&str], is_sampled: bool) -> Result<Vec<Named>, UnknownKey> {
    let known = beginnings();
    let key = |word: &&str| {
        let of_samples = KEYS_OF_SAMPLES.iter().filter(|(key, _)| is_sampled && key == word).map(|(_, named)| *named);
        let of_calls = known.iter().filter(|(beginning, _)| beginning == word).map(|(_, named)| *named);
        of_samples.chain(of_calls).next().ok_or_else(|| UnknownKey((*word).to_owned()))
    };
    words.iter().map(key).collect()
}

/// As pstats makes them: a key gives its beginnings away up to the first that is given already; that one means nothing. So `cu` is cumtime, though
/// cumulative begins so, too. Source: pstats.py, get_sort_arg_defs.
fn beginnings() -> Vec<(&'static str, Named)> {
    let mut known: Vec<(&str, Named)> = Vec::new();
    let mut of_several: Vec<&str> = Vec::new();
    for (word, named) in KEYS {
        for length in (1..=word.len()).rev() {
            let beginning = &word[..length];
            if known.iter().any(|(other, _)| *other == beginning) {
                of_several.push(beginning);
                break;
            }
            known.push((beginning, named));
        }
    }
    known.retain(|(beginning, _)| !of_several.contains(beginning));
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(word: &str) -> Option<&'static str> {
        sort_keys(&[word], false).ok().map(|keys| keys[0].1)
    }

    #[test]
    fn beginnings_that_mean_one_key() {
        for (beginning, key) in [("t", None), ("ti", Some("internal time")), ("to", Some("internal time")), ("c", None)]
        {
            assert_eq!(words(beginning), key, "{beginning}");
        }
        for (beginning, key) in [("cu", Some("cumulative time")), ("cum", None), ("cumu", Some("cumulative time"))] {
            assert_eq!(words(beginning), key, "{beginning}");
        }
        assert_eq!((words("n"), words("na"), words("nf")), (None, Some("function name"), Some("name/file/line")));
        assert_eq!((words(""), words("samples"), words("stdnames")), (None, None, None));
        assert_eq!(sort_keys(&["samples"], true).map(|keys| keys[0].1), Ok("sample count"));
        assert_eq!(sort_keys(&["time", "x"], false), Err(UnknownKey("x".to_owned())));
    }
}
