//! A line of source as it is shown: without its indentation, tabs expanded, and the columns of the mark on the screen.
//! Owns: what stands exactly under what, in terminal cells. Never: lets a control character of the source through.

use unicode_width::UnicodeWidthStr;

const TAB_CELLS: usize = 8;
/// A line wider than this is shown from shortly before the mark on.
const LINE_CELLS_MAX: usize = 100;
const BEFORE_MARK_CELLS: usize = 30;
const CUT: &str = "…";

/// What to print: `line`, and under it `mark_cells` marks after `indent_cells` blanks.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub line: String,
    pub indent_cells: usize,
    pub mark_cells: usize,
}

/// `columns` are those of the mark in characters; the mark is at least one cell wide.
pub fn excerpt(source: &str, columns: std::ops::Range<u32>) -> Excerpt {
    let (start, end) = (byte_at(source, columns.start), byte_at(source, columns.end));
    let indent = source.len() - source.trim_start().len();
    let indent = indent.min(start);
    // Tab stops count from the line's true beginning.
    let begin_cells = expand(&source[..indent], 0).width();
    let before = expand(&source[indent..start], begin_cells);
    let marked = expand(&source[start..end.max(start)], begin_cells + before.width());
    let after_cells = begin_cells + before.width() + marked.width();
    let after = expand(source[end.max(start)..].trim_end(), after_cells);
    let whole = format!("{before}{marked}{after}");
    let indent_cells = before.width();
    let mark_cells = marked.width().max(1);
    if whole.width() <= LINE_CELLS_MAX {
        return Excerpt { line: whole, indent_cells, mark_cells };
    }
    let before = if indent_cells > BEFORE_MARK_CELLS {
        let kept = last_cells(&before, BEFORE_MARK_CELLS - CUT.width());
        format!("{CUT}{kept}")
    } else {
        before
    };
    let room = LINE_CELLS_MAX - CUT.width();
    let shown = first_cells(&format!("{before}{marked}{after}"), room);
    let indent_cells = before.width();
    Excerpt {
        mark_cells: mark_cells.min(room.saturating_sub(indent_cells)).max(1),
        line: format!("{shown}{CUT}"),
        indent_cells,
    }
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
            character if character.is_control() || turns_direction(character) => {
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

/// Source: Unicode 16, UAX #9, explicit directional formatting characters.
fn turns_direction(character: char) -> bool {
    matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
        let columns = |sign| source.chars().position(|character| character == sign).unwrap() as u32;
        let (start, end) = (columns('«'), columns('»') - 1);
        let shown = excerpt(&source.replace(['«', '»'], ""), start..end);
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
            … a + a + a + a + a + a + a + b[i:] + c + c + c + c + c + c + c + c + c + c + c + c + c + c + c + c…
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
