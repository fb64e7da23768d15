//! The lines of functions in all recordings: of each function's own text, so that what is around it makes nothing less certain.
//! Owns: where a function's text ends. Never: parses Python: a text that is cut too early has lines without a number.

use std::collections::{BTreeMap, HashMap};

use crate::rules::difference::files::FileIndex;
use crate::rules::difference::same_code::homonyms::{FirstLines, Homonyms, Instance};
use crate::rules::difference::same_code::moved_lines::{Line, numbered, whole};
use crate::tables::profile::Profile;

/// Of one function in one recording.
#[derive(Debug)]
struct Body {
    first_line: u32,
    lines: Vec<Line>,
}

/// Of one function in one recording: which one, the first line, and the lines where they are known.
type Text<'t> = (usize, u32, Option<Vec<&'t str>>);

/// By recording and function.
#[derive(Debug, Default)]
pub struct Bodies(HashMap<(usize, FileIndex, String, Instance), Body>);

impl Bodies {
    #[must_use]
    pub fn of(
        runs: &[(&Profile, &HashMap<String, FileIndex>)],
        first_lines: &[FirstLines],
        homonyms: &Homonyms,
    ) -> Bodies {
        let mut texts_of: BTreeMap<(FileIndex, &str, Instance), Vec<Text>> = BTreeMap::new();
        for (position, ((profile, files), first_lines)) in runs.iter().zip(first_lines).enumerate() {
            let path_of: HashMap<FileIndex, &str> = files.iter().map(|(path, file)| (*file, path.as_str())).collect();
            let mut lines_of: HashMap<FileIndex, Option<Vec<&str>>> = HashMap::new();
            for (file, name, first_line) in first_lines.iter() {
                let lines = lines_of.entry(file).or_insert_with(|| {
                    let source = profile.sources.get(path_of.get(&file)?)?;
                    Some(whole(source)?.lines().collect())
                });
                let instance = homonyms.instance(position, file, name, first_line);
                if instance == Instance::Merged {
                    continue;
                }
                let body = lines.as_ref().and_then(|lines| match name {
                    "<module>" => Some(lines.clone()),
                    _ => body(lines, first_line).map(<[&str]>::to_vec),
                });
                let first_line = if name == "<module>" { 1 } else { first_line };
                texts_of.entry((file, name, instance)).or_default().push((position, first_line, body));
            }
        }
        let mut bodies = Bodies::default();
        for ((file, name, instance), texts) in texts_of {
            let lines: Option<Vec<Vec<&str>>> = texts.iter().map(|(_, _, lines)| lines.clone()).collect();
            let numbers = lines.and_then(|lines| numbered(&lines)).unwrap_or_default();
            for ((position, first_line, _), lines) in texts.iter().zip(numbers) {
                let body = Body { first_line: *first_line, lines };
                bodies.0.insert((*position, file, name.to_owned(), instance), body);
            }
        }
        bodies
    }

    #[must_use]
    pub fn line(&self, run: usize, (file, name, instance): (FileIndex, &str, Instance), line: u32) -> Option<Line> {
        let body = self.0.get(&(run, file, name.to_owned(), instance))?;
        body.lines.get(line.checked_sub(body.first_line)? as usize).copied()
    }
}

/// The lines of a function that begins there, with its decorators: up to the next line that is indented no deeper.
fn body<'t, 'l>(lines: &'l [&'t str], first_line: u32) -> Option<&'l [&'t str]> {
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
