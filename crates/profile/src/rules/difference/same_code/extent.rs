//! Where the text of a function is, by its indentation.
//! Owns: where it ends, and what it is indented under. Never: parses Python: a text may be cut too early.

/// The lines of a function that begins there, with its decorators: up to the next line that is indented no deeper.
#[must_use]
pub fn body<'t, 'l>(lines: &'l [&'t str], first_line: u32) -> Option<&'l [&'t str]> {
    let own = lines.get((first_line as usize).checked_sub(1)?..)?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let base = indent(own.first()?);
    let is_head = |line: &str| line.trim_start().starts_with('@');
    let head = own.iter().take_while(|line| is_head(line)).count();
    let goes_on = |line: &&&str| {
        let rest = line.trim_start();
        // What ends the list of its arguments is as deep as its begin.
        rest.is_empty() || indent(line) > base || rest.starts_with([')', ']', '}', '#'])
    };
    let more = own.iter().skip(head + 1).take_while(goes_on).count();
    own.get(..(head + 1 + more).min(own.len()))
}

/// Of each line the one that it is indented under.
#[must_use]
pub fn parents(lines: &[&str]) -> Vec<Option<usize>> {
    let mut parents = Vec::with_capacity(lines.len());
    // Lines that later ones may be indented under, each deeper than the one before it.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        let depth = line.len() - text.len();
        let shallower = open.iter().rposition(|(above, _)| *above < depth);
        parents.push(shallower.map(|position| open[position].1));
        // What ends a list of arguments is as deep as its begin, which is what later lines are under.
        if !text.is_empty() && !text.starts_with(['#', ')', ']', '}']) {
            open.truncate(shallower.map_or(0, |position| position + 1));
            open.push((depth, at));
        }
    }
    parents
}

/// The lines that this one is indented under, the nearest first. `parents`: of these lines.
#[must_use]
pub fn around<'t>(lines: &[&'t str], parents: &[Option<usize>], at: usize) -> Vec<&'t str> {
    let above = std::iter::successors(parents[at], |at| parents[*at]);
    above.map(|at| lines[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::body;

    #[test]
    fn a_function_ends_where_the_next_one_begins() {
        let text = "import x\n@a\n@b(\n    1,\n)\ndef f(\n    y,\n):\n    # one\n\n    return [\n        1,\n    ]\n\nkeys = lambda: 1\nclass A:\n    def m(self):\n        pass\n    n = 1\n";
        let lines: Vec<&str> = text.lines().collect();
        let of = |first_line: u32| body(&lines, first_line).map(<[&str]>::len);
        assert_eq!(of(15), Some(1));
        assert_eq!(of(16), Some(4));
        assert_eq!(of(17), Some(2));
        // The rest of a decorator of several lines ends it too early: those lines have no number.
        assert_eq!(of(2), Some(4));
        assert_eq!(of(6), Some(9));
        assert_eq!((of(0), of(99)), (None, None));
    }
}
