//! The lines of functions in all recordings: of each function's own text, so that what is around it makes nothing less certain.
//! Owns: which texts are those of one function. Never: says where one ends (`extent` does).

use foldhash::HashMap;
use std::collections::BTreeMap;

use crate::rules::difference::files::FileIndex;
use crate::rules::difference::same_code::extent::body;
use crate::rules::difference::same_code::file_texts::whole;
use crate::rules::difference::same_code::homonyms::{FirstLines, Homonyms, Instance};
use crate::rules::difference::same_code::moved_lines::{Line, numbered};
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
            let mut lines_of: HashMap<FileIndex, Option<Vec<&str>>> = HashMap::default();
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
