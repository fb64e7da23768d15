//! Lines of words broken at the width of a terminal, where something ends: `·`, a sentence, at last a word.
//! Never: breaks inside a word, however long.

use unicode_width::UnicodeWidthStr;

const INDENT: &str = "  ";

/// The line itself where it fits; what follows a break is indented.
pub fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = line;
    loop {
        let indent = if lines.is_empty() { "" } else { INDENT };
        let room = width.saturating_sub(indent.len());
        if rest.width() <= room {
            lines.push(format!("{indent}{rest}"));
            return lines;
        }
        let Some(end) = break_at(rest, room) else {
            lines.push(format!("{indent}{rest}"));
            return lines;
        };
        lines.push(format!("{indent}{}", rest[..end].trim_end()));
        rest = rest[end..].trim_start();
    }
}

/// The byte behind the last break that leaves no more than `room` cells before it; none: behind the first word.
/// A `·` is taken before a blank, unless that would leave most of the line empty.
fn break_at(line: &str, room: usize) -> Option<usize> {
    let text_begins = line.len() - line.trim_start().len();
    let blanks = || line.match_indices(' ').map(|(byte, _)| byte).filter(|byte| *byte > text_begins);
    let fits = |byte: &usize| line[..*byte].trim_end().width() <= room;
    let at_dot = line.match_indices(" · ").map(|(byte, dot)| byte + dot.len()).filter(fits).last();
    at_dot.filter(|byte| line[..*byte].width() * 2 > room).or_else(|| blanks().rfind(fits)).or_else(|| blanks().next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(line: &str, width: usize, expected: Expect) {
        expected.assert_eq(&wrapped(line, width).join("\n"));
    }

    #[test]
    fn a_line_that_fits_stays() {
        check("ticks 12 = sampled 12", 21, expect!["ticks 12 = sampled 12"]);
    }

    #[test]
    fn lines_break_where_something_ends() {
        check(
            "CPython 3.15.2 · 1.97 s wall · 1.95 s CPU · 1 process, 1 thread · 1 ms",
            40,
            expect![[r#"
                CPython 3.15.2 · 1.97 s wall ·
                  1.95 s CPU · 1 process, 1 thread ·
                  1 ms"#]],
        );
        check(
            "ticks 12 = sampled 12 + dropped 0 + refused 0 · CPU covered 99.0 %",
            30,
            expect![[r#"
            ticks 12 = sampled 12 +
              dropped 0 + refused 0 ·
              CPU covered 99.0 %"#]],
        );
        check(
            "at 54.1 %   484 ms  your code (127 expressions)",
            30,
            expect![[r#"
                at 54.1 %   484 ms  your code
                  (127 expressions)"#]],
        );
    }

    #[test]
    fn a_word_is_never_broken() {
        check(
            "/a/very/long/path/that/goes/on and on",
            10,
            expect![[r#"
            /a/very/long/path/that/goes/on
              and on"#]],
        );
    }
}
