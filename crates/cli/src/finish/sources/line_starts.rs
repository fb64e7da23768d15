//! Where the lines of a text begin.
//! Owns: counting lines as CPython does: a form feed or U+2028 ends none. Most blocks are only counted, which is many times faster than to
//! look for each end of a line. Never: looks at what lies behind the line that is asked for.

pub struct LineStarts<'t> {
    text: &'t [u8],
    /// Behind the blocks that were counted.
    at: usize,
    ends_before: u32,
}

/// As many as a `u8` can count.
const BLOCK_BYTES: usize = 255;

/// How many lines end in a text.
pub fn line_ends(text: &str) -> usize {
    text.as_bytes().chunks(BLOCK_BYTES).map(|block| usize::from(ends_in(block))).sum()
}

fn ends_in(block: &[u8]) -> u8 {
    block.iter().fold(0, |ends, &byte| ends + u8::from(byte == b'\n'))
}

impl<'t> LineStarts<'t> {
    pub fn of(text: &'t str) -> Self {
        LineStarts { text: text.as_bytes(), at: 0, ends_before: 0 }
    }

    /// Where `line` begins, counted from 1; the end of the text if it has fewer lines. Asked in ascending order.
    pub fn start_of(&mut self, line: u32) -> usize {
        self.find(line).unwrap_or(self.text.len())
    }

    /// The same; `None`: the text ends before that line begins.
    pub fn find(&mut self, line: u32) -> Option<usize> {
        if line <= 1 {
            return Some(0);
        }
        while let Some(block) = self.text.get(self.at..).and_then(|rest| rest.chunks(BLOCK_BYTES).next()) {
            let behind = self.ends_before + u32::from(ends_in(block));
            if behind >= line - 1 {
                let before = (line - 1).saturating_sub(self.ends_before + 1) as usize;
                let mut ends = block.iter().enumerate().filter(|&(_, &byte)| byte == b'\n');
                return ends.nth(before).map(|(end, _)| self.at + end + 1);
            }
            self.at += block.len();
            self.ends_before = behind;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{LineStarts, line_ends};

    #[test]
    fn lines_begin_where_they_do_when_each_is_looked_for() {
        let texts = ["", "\n", "a", "a\n", "a\nb", "\n\nc\n", "a\u{c}b\u{2028}c\r\nd"].map(str::to_owned);
        let long = (1..700).map(|number| "é".repeat(number % 7)).collect::<Vec<_>>().join("\n");
        let long_line = format!("{}\nb\n{}", "x".repeat(254), "y".repeat(600));
        for text in texts.into_iter().chain([long, "\n".repeat(1000), long_line]) {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let ends = text.bytes().filter(|&byte| byte == b'\n').count();
            assert_eq!(line_ends(&text), ends, "{text:?}");
            for step in [1, 3, 41] {
                let mut found = LineStarts::of(&text);
                for line in (0..lines.len() + 2).step_by(step) {
                    let before: usize = lines.iter().take(line).map(|line| line.len()).sum();
                    let expected = (line <= ends).then_some(before);
                    assert_eq!(found.find(line as u32 + 1), expected, "line {} of {text:?}", line + 1);
                    assert_eq!(found.start_of(line as u32 + 1), before, "asked again");
                }
            }
        }
    }
}
