//! Lines broken at the width of a terminal, where something ends: `·`, a column, a link of a chain, at last a word.
//! Never: breaks inside a word, however long.

use unicode_width::UnicodeWidthStr;

const INDENT: &str = "  ";
/// Of a line that is indented itself.
const INDENT_OF_INDENTED: &str = "      ";
const ARROW: &str = " → ";
/// Between two columns of a line.
const COLUMN_GAP: &str = "   ";

/// The same where nobody looks (a pipe has no width): the line itself.
pub fn wrapped_on_screen(line: &str, width: Option<usize>) -> Vec<String> {
    width.map_or_else(|| vec![line.to_string()], |width| wrapped(line, width))
}

/// The line itself where it fits; what follows a break is indented.
pub fn wrapped(line: &str, width: usize) -> Vec<String> {
    let hanging = if line.starts_with(' ') { INDENT_OF_INDENTED } else { INDENT };
    let mut lines = Vec::new();
    let mut rest = line;
    loop {
        let indent = if lines.is_empty() { "" } else { hanging };
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
/// The end of a column is taken first, however little comes before it: an expression stays in one piece. A `·` is taken before a `+`, and
/// that before a blank, unless it would leave most of the line empty.
fn break_at(line: &str, room: usize) -> Option<usize> {
    let text_begins = line.len() - line.trim_start().len();
    let blanks = || {
        let blanks = line.match_indices(' ').map(|(byte, _)| byte);
        blanks.filter(|byte| *byte > text_begins && !in_figure(line, *byte) && !in_short_pair(line, *byte))
    };
    let fits = |byte: &usize| line[..*byte].trim_end().width() <= room;
    let ends = |sign: &'static str| line.match_indices(sign).map(|(byte, sign)| byte + sign.len());
    // What follows a share is its figure, no column of its own.
    let at_column = ends(COLUMN_GAP).filter(|byte| *byte > text_begins && !line[..*byte].trim_end().ends_with('%'));
    let at_dot = ends(" · ").filter(|byte| *byte > text_begins).filter(fits).max();
    let at_plus = ends(" + ").filter(fits).max();
    let fills = |byte: &usize| line[..*byte].width() * 2 > room;
    let at_sign = at_dot.filter(fills).or(at_plus.filter(fills));
    at_column.filter(fits).max().or(at_sign).or_else(|| blanks().rfind(fits)).or_else(|| blanks().next())
}

/// Whether the blank stands in a parenthesis or between two backticks that are few words: `(columns 5 to 20)`.
fn in_short_pair(line: &str, blank: usize) -> bool {
    const SHORT_CELLS: usize = 24;
    let (before, after) = line.split_at(blank);
    let is_short = |open: usize, close: usize| line[open..blank + close].width() <= SHORT_CELLS;
    let in_parenthesis = || {
        let open = before.rfind('(').filter(|open| !before[*open..].contains(')'))?;
        after.find(')').filter(|close| !after[..*close].contains('(')).map(|close| is_short(open, close))
    };
    let in_backticks = || {
        let open = before.rfind('`').filter(|_| before.matches('`').count() % 2 == 1)?;
        after.find('`').map(|close| is_short(open, close))
    };
    in_parenthesis().or_else(in_backticks).unwrap_or(false)
}

/// Whether the blank stands between a number and its unit.
fn in_figure(line: &str, blank: usize) -> bool {
    const UNITS: [&str; 8] = ["%", "s", "ms", "µs", "ns", "kB", "MB", "GB"];
    let word = line[blank + 1..].split(' ').next().unwrap_or_default();
    let unit = word.trim_end_matches(|character: char| character.is_ascii_punctuation() && character != '%');
    line[..blank].ends_with(|character: char| character.is_ascii_digit()) && UNITS.contains(&unit)
}

/// `a → b → c | d, e` in lines of no more than `room` cells that go on with an arrow, as far as the links let it. `split`: what stands behind the
/// last link, a piece for each step.
pub fn wrapped_chain(links: &[String], split: &[String], room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for link in links {
        match lines.last_mut() {
            None => lines.push(link.clone()),
            Some(line) if line.width() + ARROW.width() + link.width() <= room => {
                line.push_str(ARROW);
                line.push_str(link);
            }
            Some(_) => lines.push(format!("{INDENT}{}{link}", ARROW.trim_start())),
        }
    }
    for step in split {
        match lines.last_mut() {
            None => lines.push(step.clone()),
            Some(line) if line.width() + 1 + step.width() <= room => {
                line.push(' ');
                line.push_str(step);
            }
            Some(_) => lines.push(format!("{INDENT}{step}")),
        }
    }
    lines
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
    fn a_detail_breaks_between_its_columns() {
        let check = |width: usize, expected: Expect| {
            let detail = "   92.3 %   480 ms  app.py:1 <module>   sock.recv(4096, flags)   in poll(2)";
            expected.assert_eq(&wrapped(detail, width).iter().map(|line| format!("|{line}\n")).collect::<String>());
        };
        check(
            60,
            expect![[r#"
            |   92.3 %   480 ms  app.py:1 <module>
            |      sock.recv(4096, flags)   in poll(2)
        "#]],
        );
        check(
            40,
            expect![[r#"
            |   92.3 %   480 ms  app.py:1 <module>
            |      sock.recv(4096, flags)
            |      in poll(2)
        "#]],
        );
    }

    #[test]
    fn an_expression_stays_in_one_piece() {
        let detail = "   92.3 %   480 ms  a.py:1 f   fetch(url, timeout=10, data=None, context=c…   in poll(2)";
        let lines: String = wrapped(detail, 60).iter().map(|line| format!("|{line}\n")).collect();
        expect![[r#"
            |   92.3 %   480 ms  a.py:1 f
            |      fetch(url, timeout=10, data=None, context=c…
            |      in poll(2)
        "#]]
        .assert_eq(&lines);
    }

    #[test]
    fn few_words_in_a_pair_of_signs_stay_together() {
        check(
            "run_the_plugin (columns 5 to 20)",
            28,
            expect![[r#"
            run_the_plugin
              (columns 5 to 20)"#]],
        );
        check(
            "for the reason `fell asleep` (1.8 %)",
            22,
            expect![[r#"
            for the reason
              `fell asleep`
              (1.8 %)"#]],
        );
    }

    #[test]
    fn a_number_keeps_its_unit() {
        check(
            "samples cover 98.4 % of it; 1.77 ms are in no sample (1.25 ms)",
            16,
            expect![[r#"
                samples cover
                  98.4 % of it;
                  1.77 ms are in
                  no sample
                  (1.25 ms)"#]],
        );
        check(
            "the reason `late` (15.6 %)",
            24,
            expect![[r#"
            the reason `late`
              (15.6 %)"#]],
        );
    }

    #[test]
    fn a_chain_breaks_before_an_arrow() {
        let links = ["PyObject_GetItem", "bytes_subscript", "PySlice_Unpack", "_PyEval_SliceIndex (x.so)"];
        let links = links.map(str::to_string);
        let check = |room: usize, expected: Expect| expected.assert_eq(&wrapped_chain(&links, &[], room).join("\n"));
        check(100, expect!["PyObject_GetItem → bytes_subscript → PySlice_Unpack → _PyEval_SliceIndex (x.so)"]);
        check(
            50,
            expect![[r#"
            PyObject_GetItem → bytes_subscript
              → PySlice_Unpack → _PyEval_SliceIndex (x.so)"#]],
        );
        check(
            20,
            expect![[r#"
            PyObject_GetItem
              → bytes_subscript
              → PySlice_Unpack
              → _PyEval_SliceIndex (x.so)"#]],
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
