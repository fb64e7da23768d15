//! What names, hosts, tags and fragments may look like.
//! Owns: their lengths, and that no tag is there twice. Never: changes one: it is kept as it was given, or refused.

use genba_text::is_harmless;

use crate::words::moment::LATEST_MS;
use crate::words::problem::Problem;

const LETTERS_MAX: usize = 255;
const TAG_LETTERS_MAX: usize = 200;
pub const TAGS_MAX: usize = 32;
/// A proxy has a few kilobytes for the headers of an answer, and the link's place is one.
const FRAGMENT_LETTERS_MAX: usize = 2_000;

pub fn check_name(name: &str) -> Result<(), Problem> {
    check("a name", name, LETTERS_MAX)?;
    match name.contains(['/', '\\']) {
        true => Err(Problem::bad_request("a name has no folders").detail("it holds / or \\")),
        false => Ok(()),
    }
}

pub fn check_host(host: &str) -> Result<(), Problem> {
    check("a host", host, LETTERS_MAX)
}

/// Each once, in the order in which they came.
pub fn distinct_tags(tags: Vec<String>) -> Result<Vec<String>, Problem> {
    if tags.len() > TAGS_MAX {
        return Err(Problem::bad_request(format!("a recording has {TAGS_MAX} tags at most")));
    }
    let mut distinct: Vec<String> = Vec::new();
    for tag in tags {
        check("a tag", &tag, TAG_LETTERS_MAX)?;
        if !distinct.contains(&tag) {
            distinct.push(tag);
        }
    }
    Ok(distinct)
}

/// Empty, or `#` and what a browser keeps of the viewer's state.
pub fn check_fragment(fragment: &str) -> Result<(), Problem> {
    let is_plain = fragment.bytes().all(|letter| (0x21..0x7f).contains(&letter));
    let is_fragment = fragment.is_empty() || fragment.starts_with('#');
    if !is_plain || !is_fragment {
        return Err(Problem::bad_request("what a link opens at begins with # and has no blanks")
            .detail("characters outside ASCII are written as %XX, as a browser does"));
    }
    match fragment.len() {
        ..=FRAGMENT_LETTERS_MAX => Ok(()),
        letters => {
            Err(Problem::bad_request(format!("what the link opens at has more than {FRAGMENT_LETTERS_MAX} letters"))
                .detail(format!("it has {letters}; most of them tell which frames are opened and which lists unfolded"))
                .hint("close some of them, or leave out what the link opens at: it then opens at the first view"))
        }
    }
}

/// None: never. A time that every reader of JSON can hold.
pub fn check_expiry(what: &str, expires_ms: Option<i64>, now_ms: i64) -> Result<(), Problem> {
    match expires_ms {
        Some(expires_ms) if expires_ms <= now_ms => {
            Err(Problem::bad_request(format!("the {what} would have expired already"))
                .detail("expires_ms is in the past"))
        }
        Some(expires_ms) if expires_ms > LATEST_MS => {
            Err(Problem::bad_request(format!("the {what} would expire too late"))
                .detail(format!("expires_ms is {LATEST_MS} at most"))
                .hint("null is for good"))
        }
        _ => Ok(()),
    }
}

fn check(what: &str, words: &str, letters_max: usize) -> Result<(), Problem> {
    let letters = words.chars().count();
    let is_said = letters <= letters_max && !words.trim().is_empty();
    match is_said && words.chars().all(is_harmless) {
        true => Ok(()),
        false => Err(Problem::bad_request(format!(
            "{what} has 1 to {letters_max} characters, not blanks alone, without control characters and those that turn the direction of writing"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_that_is_refused_says_why() {
        let long = |letters: usize| format!("#{}", "v".repeat(letters - 1));
        for fragment in ["", "#view=flame&focus=%C3%BC", &long(FRAGMENT_LETTERS_MAX)] {
            assert_eq!(check_fragment(fragment), Ok(()), "{fragment}");
        }
        for fragment in ["view=flame", "#a b", "#\u{fc}", "#a\nb"] {
            let problem = check_fragment(fragment).expect_err(fragment);
            assert!(problem.title.contains("begins with #"), "{fragment}: {problem:?}");
        }
        let problem = check_fragment(&long(2_034)).expect_err("it is long");
        assert!(problem.title.contains("more than 2000 letters") && problem.hint.is_some(), "{problem:?}");
        assert!(problem.to_string().contains("it has 2034;"), "{problem}");
    }

    #[test]
    fn what_steers_a_terminal_or_turns_the_writing_is_no_name() {
        let hostile = [
            "line\nfeed",
            "escape\x1b[31m",
            "csi\u{9b}31m",
            "turned\u{202e}gpj",
            "isolated\u{2066}1",
            "ended\u{2028}1",
        ];
        for name in hostile {
            assert!(check_name(name).is_err() && check_host(name).is_err(), "{name:?}");
            assert!(distinct_tags(vec![name.to_owned()]).is_err(), "{name:?}");
        }
        for name in ["app.genba", "größe 表.genba", "a|b <c>.genba"] {
            assert!(check_name(name).is_ok() && check_host(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn blanks_alone_are_no_name_and_twins_are_one_tag() {
        for name in ["", " ", "\u{3000}\u{a0}"] {
            assert!(check_name(name).is_err() && check_host(name).is_err(), "{name:?}");
            assert!(distinct_tags(vec![name.to_owned()]).is_err(), "{name:?}");
        }
        let tags = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(distinct_tags(tags(&["b=2", "a=1", "b=2", " a"])), Ok(tags(&["b=2", "a=1", " a"])));
        assert!(distinct_tags(vec!["a=1".to_owned(); TAGS_MAX + 1]).is_err());
    }
}
