//! A line of source as it is shown: without its indentation, tabs expanded, and the columns of the mark on the screen.
//! Owns: what stands exactly under what, in terminal cells. Never: lets a control character of the source through.

use genba_text::is_harmless;
use unicode_width::UnicodeWidthStr;

const TAB_CELLS: usize = 8;
pub(crate) const CUT: &str = "…";

/// What to print: `line`, and under it `mark_cells` marks after `indent_cells` blanks.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub line: String,
    pub indent_cells: usize,
    pub mark_cells: usize,
}

/// `columns` are those of the mark in characters; the mark is at least one cell wide. A line wider than `room` is cut on
/// its right, and on its left as well where the mark would not be seen whole otherwise.
pub fn excerpt(source: &str, columns: std::ops::Range<u32>, room: usize) -> Excerpt {
    let (start, end) = (byte_at(source, columns.start), byte_at(source, columns.end));
    let indent = source.len() - source.trim_start().len();
    let indent = indent.min(start);
    // Tab stops count from the line's true beginning.
    let begin_cells = expand(&source[..indent], 0).width();
    let before = expand(&source[indent..start], begin_cells);
    let marked = expand(&source[start..end.max(start)], begin_cells + before.width());
    let after_cells = begin_cells + before.width() + marked.width();
    let after = expand(source[end.max(start)..].trim_end(), after_cells);
    let (before_cells, mark_cells) = (before.width(), marked.width().max(1));
    let whole = format!("{before}{marked}{after}");
    if whole.width() <= room {
        return Excerpt { line: whole, indent_cells: before_cells, mark_cells };
    }
    let before = if before_cells + mark_cells + CUT.width() <= room {
        before
    } else {
        // As much as the mark and what follows it leave, and a third for context where they leave less; but the mark is
        // whole if it can be.
        let beside_mark = room.saturating_sub(mark_cells);
        let context = (room / 3).min(beside_mark.saturating_sub(CUT.width()));
        let context = if beside_mark >= 2 * CUT.width() { context } else { room / 3 };
        let cells = beside_mark.saturating_sub(after.width()).max(context);
        match cells < before_cells {
            true => format!("{CUT}{}", last_cells(&before, cells.saturating_sub(CUT.width()))),
            false => before,
        }
    };
    let indent_cells = before.width();
    let line = first_cells_cut(&format!("{before}{marked}{after}"), room);
    let seen_cells = line.width() - if line.ends_with(CUT) { CUT.width() } else { 0 };
    Excerpt { mark_cells: mark_cells.min(seen_cells.saturating_sub(indent_cells)).max(1), line, indent_cells }
}

/// Names come from the program too: nothing in them may steer the terminal.
pub fn printable(text: &str) -> String {
    expand(text, 0)
}

fn byte_at(source: &str, column: u32) -> usize {
    let mut characters = source.char_indices();
    characters.nth(column as usize).map_or(source.len(), |(byte, _)| byte)
}

/// Tabs become blanks up to the next stop, other control characters and those that turn the direction of writing one
/// visible sign: nothing may stand elsewhere than its mark.
pub(crate) fn expand(text: &str, mut cells: usize) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut buffer = [0; 4];
    for character in text.chars() {
        match character {
            '\t' => {
                let blanks = TAB_CELLS - cells % TAB_CELLS;
                expanded.extend(std::iter::repeat_n(' ', blanks));
                cells += blanks;
            }
            character if !is_harmless(character) => {
                expanded.push('\u{fffd}');
                cells += 1;
            }
            character => {
                expanded.push(character);
                cells += character.encode_utf8(&mut buffer).width();
            }
        }
    }
    expanded
}

pub(crate) fn first_cells(text: &str, cells_max: usize) -> String {
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if kept.width() > cells_max {
            kept.pop();
            break;
        }
    }
    kept
}

/// The text itself where it fits, else its beginning and a sign.
pub(crate) fn first_cells_cut(text: &str, cells_max: usize) -> String {
    match text.width() <= cells_max {
        true => text.to_string(),
        false => format!("{}{CUT}", first_cells(text, cells_max.saturating_sub(CUT.width()))),
    }
}

/// The same from its middle: what a name begins and ends with says most.
#[must_use]
pub fn middle_cut(text: &str, cells_max: usize) -> String {
    if text.width() <= cells_max {
        return text.to_string();
    }
    let ends = cells_max.saturating_sub(CUT.width());
    let (first, last) = (first_cells(text, ends - ends / 2), last_cells(text, ends / 2));
    format!("{first}{CUT}{last}")
}

/// Source text in one line, cut from its middle: calls of one chain begin alike, and differ in their ends. Runs of blanks and line breaks would
/// look like the gap between columns.
#[must_use]
pub fn source_cut(source: &str, cells_max: usize) -> String {
    middle_cut(&printable(&source.split_whitespace().collect::<Vec<_>>().join(" ")), cells_max)
}

fn last_cells(text: &str, cells_max: usize) -> &str {
    let mut start = text.len();
    for (byte, _) in text.char_indices().rev() {
        if text[byte..].width() > cells_max {
            break;
        }
        start = byte;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// The mark is drawn under the piece between `«` and `»`.
    fn check(source: &str, expected: Expect) {
        check_within(100, source, expected);
    }

    fn check_within(room: usize, source: &str, expected: Expect) {
        let columns = |sign| source.chars().position(|character| character == sign).unwrap() as u32;
        let (start, end) = (columns('«'), columns('»') - 1);
        let shown = excerpt(&source.replace(['«', '»'], ""), start..end, room);
        assert!(shown.line.width() <= room && shown.indent_cells + shown.mark_cells <= room, "{shown:?}");
        let mark = format!("{}{}", " ".repeat(shown.indent_cells), "~".repeat(shown.mark_cells));
        expected.assert_eq(&format!("{}\n{mark}", shown.line));
    }

    #[test]
    fn the_indentation_goes() {
        check(
            "    n += len(«b[i:]»[:2])",
            expect![[r#"
            n += len(b[i:][:2])
                     ~~~~~"#]],
        );
    }

    #[test]
    fn wide_characters_take_two_cells() {
        check(
            "  x = «表[i:]» + 表",
            expect![[r#"
            x = 表[i:] + 表
                ~~~~~~"#]],
        );
        check(
            "  表 = «b[i:]»",
            expect![[r#"
            表 = b[i:]
                 ~~~~~"#]],
        );
        check(
            "  e\u{301} = «b[i:]»",
            expect![[r#"
            é = b[i:]
                ~~~~~"#]],
        );
    }

    #[test]
    fn tabs_reach_to_their_stops() {
        check(
            "\tif x:\ty = «b\t[i:]»\t# here",
            expect![[r#"
            if x:   y = b   [i:]    # here
                        ~~~~~~~~"#]],
        );
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let before = "a + ".repeat(30);
        let after = " + c".repeat(30);
        check(
            &format!("{before}«b[i:]»{after}"),
            expect![[r#"
                …a + a + a + a + a + a + a + a + b[i:] + c + c + c + c + c + c + c + c + c + c + c + c + c + c + c …
                                                 ~~~~~"#]],
        );
        check(
            &format!("«{before}b»"),
            expect![[r#"
            a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a +…
            ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"#]],
        );
    }

    #[test]
    fn the_mark_is_whole_wherever_it_stands_if_there_is_room() {
        let source = "    return json.dumps({'total': total, 'tax': self.tax(total)}, indent=2)";
        let parts = ["json.dumps", "{'total': total, 'tax': self.tax(total)}", "self.tax(total)", "indent=2"];
        for part in parts {
            for room in 24..80 {
                let start = source.find(part).unwrap();
                let shown = excerpt(source, start as u32..(start + part.len()) as u32, room);
                let marked: String = shown.line.chars().skip(shown.indent_cells).take(shown.mark_cells).collect();
                assert!(shown.line.width() <= room, "{room}: {shown:?}");
                match part.len() + 2 <= room {
                    true => assert_eq!(marked, part, "{room}: {shown:?}"),
                    false => assert!(part.starts_with(&marked) && marked.len() >= room / 2, "{room}: {shown:?}"),
                }
            }
        }
    }

    #[test]
    fn a_narrow_excerpt_keeps_what_it_can() {
        let source = |from: &str, to: &str| {
            let source = "    total += sum(prices[order.item] * order.count for order in orders)";
            let marked = source.replacen(from, &format!("«{from}"), 1);
            marked.replacen(to, &format!("{to}»"), 1)
        };
        check_within(
            40,
            &source("prices", "item]"),
            expect![[r#"
            total += sum(prices[order.item] * order…
                         ~~~~~~~~~~~~~~~~~~"#]],
        );
        check_within(
            40,
            &source("order.count", "count"),
            expect![[r#"
            …der.item] * order.count for order in o…
                         ~~~~~~~~~~~"#]],
        );
        check_within(
            40,
            &source("orders", "orders"),
            expect![[r#"
            …tem] * order.count for order in orders)
                                             ~~~~~~"#]],
        );
        check_within(
            40,
            &source("sum", "orders)"),
            expect![[r#"
            total += sum(prices[order.item] * order…
                     ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"#]],
        );
    }

    #[test]
    fn calls_of_one_chain_are_told_apart_where_they_are_cut() {
        let chain =
            r#"",".join(x for x in data if x.startswith("1") or x.endswith("7")).replace("1", "one ").split("ONE ")"#;
        let ends = [".startswith(\"1\")", "endswith(\"7\"))", ".replace(\"1\", \"one \")", ".split(\"ONE \")"];
        let calls = ends.map(|end| source_cut(&chain[..chain.find(end).unwrap() + end.len()], 60));
        expect![[r#"
            ",".join(x for x in data if x.startswith("1")
            ",".join(x for x in data if x.…with("1") or x.endswith("7"))
            ",".join(x for x in data if x.…th("7")).replace("1", "one ")
            ",".join(x for x in data if x.…ce("1", "one ").split("ONE ")"#]]
        .assert_eq(&calls.join("\n"));
        assert_eq!(source_cut("f(\n    x,\n    y\n)\t+ 1", 60), "f( x, y ) + 1");
    }

    #[test]
    fn nothing_steers_the_terminal() {
        check(
            "x = '\u{1b}[31m' + «b[i:]»",
            expect![[r#"
            x = '�[31m' + b[i:]
                          ~~~~~"#]],
        );
        check(
            "x = '\u{202e}\u{2066}' + «b[i:]»",
            expect![[r#"
            x = '��' + b[i:]
                       ~~~~~"#]],
        );
    }
}
