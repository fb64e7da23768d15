//! Whether a source text is the one that ran: a file may have been edited since, or give its name to code that was made of something else.
//! Owns: that rule. Never: takes a text for the right one because it is at the right path.

use std::collections::{BTreeMap, BTreeSet};

use genba_format::proto::SourceLack;

use super::line_starts::LineStarts;

/// Lines that decorators may take, above the line with the function's name.
const DECORATOR_LINES_MAX: usize = 200;

/// `definitions`: first lines and names of the functions that ran. `began_realtime_ns`: when the program began; 0: not known.
/// `written_realtime_ns`: None for a text that is no file.
pub fn lack(
    text: &str,
    definitions: &BTreeMap<u32, BTreeSet<String>>,
    written_realtime_ns: Option<u64>,
    began_realtime_ns: u64,
) -> SourceLack {
    if began_realtime_ns > 0 && written_realtime_ns.is_some_and(|written_ns| written_ns > began_realtime_ns) {
        return SourceLack::WrittenLater;
    }
    let mut lines = LineStarts::of(text);
    let begins = |(&line, names): (&u32, &BTreeSet<String>)| {
        let below = lines.find(line).and_then(|from| text.get(from..));
        names.iter().all(|name| begins_at(line, below, name))
    };
    if definitions.iter().all(begins) { SourceLack::NoLack } else { SourceLack::NotWhatRan }
}

/// Whether the function `name` begins at `line`, by the line's words. A decorated one begins at its first decorator. `below`: the text from
/// that line on, if it has so many lines.
fn begins_at(line: u32, below: Option<&str>, name: &str) -> bool {
    if line == 0 {
        // A module begins there before 3.12.
        return name.starts_with('<');
    }
    let Some(below) = below else {
        return name == "<module>";
    };
    let lines = below.split('\n');
    let begin = lines.clone().next().unwrap_or_default();
    match name {
        "<lambda>" => has_word(begin, "lambda"),
        "<listcomp>" | "<setcomp>" | "<dictcomp>" | "<genexpr>" => begin.contains(['[', '{', '(']),
        // Of a module, of generic parameters: the compiler's own names, which no text has.
        _ if name.starts_with('<') || name == "__annotate__" => true,
        _ if begin.trim_start().starts_with('@') => lines.take(DECORATOR_LINES_MAX).any(|line| defines(line, name)),
        _ => defines(begin, name),
    }
}

fn defines(line: &str, name: &str) -> bool {
    (has_word(line, "def") || has_word(line, "class") || has_word(line, "type")) && has_word(line, name)
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|character: char| !character.is_alphanumeric() && character != '_').any(|found| found == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, line: u32, name: &str, expected: SourceLack) {
        let definitions = BTreeMap::from([(line, BTreeSet::from([name.to_string()]))]);
        assert_eq!(lack(text, &definitions, Some(5), 5), expected, "{name} at {line} of {text:?}");
    }

    #[test]
    fn a_text_is_that_of_functions_which_begin_where_it_says() {
        use SourceLack::{NoLack, NotWhatRan};
        check("\ndef f():\n", 2, "f", NoLack);
        check("\ndef f():\n", 1, "f", NotWhatRan);
        check("\ndef f():\n", 3, "f", NotWhatRan);
        check("\ndef f():\n", 9, "f", NotWhatRan);
        check("def f2():\n", 1, "f", NotWhatRan);
        check("    async def f[T](x):\n", 1, "f", NoLack);
        check("class A: x = 1\n", 1, "A", NoLack);
        check("@cache(\n  1)\n@other\ndef f(): pass\n", 1, "f", NoLack);
        check("@cache\ndef g(): pass\n", 1, "f", NotWhatRan);
        check("x = [lambda: 1]", 1, "<lambda>", NoLack);
        check("x = [lambdas]", 1, "<lambda>", NotWhatRan);
        check("x = sum(y for y in z)", 1, "<genexpr>", NoLack);
        check("x = 1", 1, "<listcomp>", NotWhatRan);
        check("", 1, "<module>", NoLack);
        check("x = 1\n", 0, "<module>", NoLack);
        check("def größe(): pass", 1, "größe", NoLack);
        // A template: its generated function `root` begins somewhere else.
        check("<p>root</p>\n", 1, "root", NotWhatRan);
    }

    #[test]
    fn a_file_that_was_written_later_is_another_one() {
        let none = BTreeMap::new();
        assert_eq!(lack("", &none, Some(6), 5), SourceLack::WrittenLater);
        assert_eq!(lack("", &none, Some(6), 0), SourceLack::NoLack);
        assert_eq!(lack("", &none, None, 5), SourceLack::NoLack);
    }
}
