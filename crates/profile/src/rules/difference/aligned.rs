//! Which places of several recordings are the same, though lines were moved and text was changed between them.
//! Owns: the steps by which sites find each other. Keeps: two sites of one recording never become one.
//!
//! A site is an expression in a function of a file; which function, where several have its name, is known (`same_code`). Within a function, sites are the same: first, if text, line and column are (the line
//! by the number that it has in all recordings, where their texts are known); of what is left and has no such line, if they are with the line counted from the function's beginning; then if
//! the text is, in order; of callers that are left, if the line is. So a row whose expression was
//! written anew is another row, and a call whose argument was changed is the same caller.

use foldhash::{HashMap, HashSet};
use std::collections::BTreeMap;

use crate::rules::difference::codebase::Codebase;
use crate::rules::difference::files::{FileIndex, Side};
use crate::rules::difference::same_code::Line;
use crate::rules::difference::same_code::homonyms::Instance;
use crate::tables::own_code::without_parts;
use crate::tables::profile::{FrameIndex, Home, Profile};

/// Row of `Sites`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteIndex(usize);

impl SiteIndex {
    #[cfg(test)]
    pub const fn of(position: usize) -> SiteIndex {
        SiteIndex(position)
    }
}

/// A function in all recordings: its name in its file, and which of that name.
pub type Function = (FileIndex, String, Instance);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    pub file: FileIndex,
    /// Qualified name, without the comprehensions in it.
    pub function: String,
    pub instance: Instance,
    /// As it is in the file. None, too, where functions of one name are one, where only some recordings have the text of the file, and where
    /// other CPythons ran it in other recordings.
    pub line: Option<u32>,
    /// In all recordings.
    line_of_all: Option<Line>,
    /// Counted from the first line of the function, also in its comprehensions.
    line_within: Option<i64>,
    pub column: Option<u32>,
    pub text: Option<String>,
}

impl Site {
    #[must_use]
    pub fn function(&self) -> Function {
        (self.file, self.function.clone(), self.instance)
    }

    /// Of its function, as it is in the file. None where the line is none.
    #[must_use]
    pub fn first_line(&self) -> Option<u32> {
        u32::try_from(i64::from(self.line?) - self.line_within?).ok()
    }
}

/// Whether a line alone tells that two sites are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Text,
    TextOrLine,
}

/// None: not Python. `run`: which recording it is, of all.
fn site(profile: &Profile, (run, codebase): (usize, &Codebase), frame: FrameIndex) -> Option<Site> {
    let same_code = &codebase.same_code;
    let row = &profile.frames[frame];
    let function = &profile.functions[row.function];
    let Home::Python { file, first_line, .. } = function.home else { return None };
    let line = row.location.map(|location| location.line);
    let bytes = row.location.and_then(|location| location.byte_columns);
    let file = codebase.file(run, &profile.files[file].path)?;
    let name = without_parts(&function.name);
    let instance = same_code.instance(run, file, function);
    let begin = same_code.begin(run, file, name, first_line);
    let text = row.expression.as_ref().map(|expression| expression.text.clone());
    let is_half_known = same_code.is_half_known(file);
    if instance == Instance::Merged || is_half_known {
        let function = name.to_string();
        let text = text.filter(|_| !is_half_known);
        return Some(Site {
            file,
            function,
            instance,
            line: None,
            line_of_all: None,
            line_within: None,
            column: None,
            text,
        });
    }
    Some(Site {
        file,
        function: name.to_string(),
        instance,
        line,
        line_of_all: line.and_then(|line| same_code.line(run, (file, name, instance), line)),
        line_within: line.map(|line| i64::from(line) - i64::from(begin)),
        column: row.expression.as_ref().map(|expression| expression.column).or(bytes.map(|bytes| bytes.start)),
        text,
    })
}

/// The site of each frame. Processes of one recording may have rows of their own for the same code. `run`: which recording it is, of all.
pub fn sites_of(
    sites: &mut Sites,
    profile: &Profile,
    run: (usize, &Codebase),
    frames: Vec<FrameIndex>,
) -> HashMap<FrameIndex, SiteIndex> {
    let mut found: Vec<(Site, Vec<FrameIndex>)> = Vec::new();
    let mut position_of: HashMap<Site, usize> = HashMap::default();
    for frame in frames {
        let Some(site) = site(profile, run, frame) else { continue };
        let position = *position_of.entry(site.clone()).or_insert_with(|| {
            found.push((site, Vec::new()));
            found.len() - 1
        });
        found[position].1.push(frame);
    }
    let (added, frames): (Vec<Site>, Vec<Vec<FrameIndex>>) = found.into_iter().unzip();
    let indices = sites.add(added).into_iter().zip(frames);
    indices.flat_map(|(index, frames)| frames.into_iter().map(move |frame| (frame, index))).collect()
}

/// The sites of all recordings so far.
#[derive(Debug)]
pub struct Sites {
    by: By,
    /// Each as in the newest recording that has it.
    sites: Vec<Site>,
    /// The first ones, each as in the newest recording of A that has it.
    before: Vec<Site>,
    of_function: HashMap<Function, Vec<usize>>,
}

impl Sites {
    #[must_use]
    pub fn new(by: By) -> Sites {
        Sites { by, sites: Vec::new(), before: Vec::new(), of_function: HashMap::default() }
    }

    #[must_use]
    pub fn get(&self, index: SiteIndex) -> &Site {
        &self.sites[index.0]
    }

    /// As in the newest recording of that side, or of the other one where the side does not have it.
    #[must_use]
    pub fn on(&self, index: SiteIndex, side: Side) -> &Site {
        let before = self.before.get(index.0).filter(|_| side == Side::Before);
        before.unwrap_or(&self.sites[index.0])
    }

    /// All recordings of A were added.
    pub fn keep_before(&mut self) {
        self.before.clone_from(&self.sites);
    }

    /// The sites of the next recording, with the index of each. A site that is known from before is from then on as it is here.
    pub fn add(&mut self, added: Vec<Site>) -> Vec<SiteIndex> {
        let mut found: Vec<Option<usize>> = vec![None; added.len()];
        let mut of_function: HashMap<(FileIndex, &str, Instance), Vec<usize>> = HashMap::default();
        for (position, site) in added.iter().enumerate() {
            of_function.entry((site.file, &site.function, site.instance)).or_default().push(position);
        }
        for ((file, function, instance), mut positions) in of_function {
            let of_function = (file, function.to_string(), instance);
            let mut known = self.of_function.get(&of_function).cloned().unwrap_or_default();
            known.sort_by_key(|index| order(&self.sites[*index]));
            positions.sort_by_key(|position| order(&added[*position]));
            let mut step = |is_same: &dyn Fn(&Site) -> Option<Key>| {
                let mut left: HashMap<Key, std::collections::VecDeque<usize>> = HashMap::default();
                for &index in &known {
                    if let Some(key) = is_same(&self.sites[index]) {
                        left.entry(key).or_default().push_back(index);
                    }
                }
                for &position in positions.iter().filter(|position| found[**position].is_none()).collect::<Vec<_>>() {
                    let queue = is_same(&added[position]).and_then(|key| left.get_mut(&key));
                    found[position] = queue.and_then(std::collections::VecDeque::pop_front);
                }
                let taken: HashSet<usize> = positions.iter().filter_map(|position| found[*position]).collect();
                known.retain(|index| !taken.contains(index));
            };
            let number = |site: &Site| site.line_of_all.map(|line| Place::Number(line.number));
            let within = |site: &Site| site.line_within.map(Place::Within);
            // What has a line in each text is there, or was not met.
            let is_free = |site: &Site| site.line_of_all.is_none_or(|line| !line.is_everywhere);
            step(&|site| Some((site.text.clone(), Some(number(site)?), site.column)));
            step(&|site| Some((Some(site.text.clone()?), Some(number(site)?), None)));
            // A merged function has no lines: without text it has one site.
            step(&|site| is_free(site).then(|| (site.text.clone(), within(site), site.column)));
            step(&|site| Some((site.text.clone().filter(|_| is_free(site)).map(Some)?, None, None)));
            if self.by == By::TextOrLine {
                step(&|site| Some((None, Some(number(site)?), None)));
                step(&|site| Some((None, Some(within(site).filter(|_| is_free(site))?), None)));
            }
        }
        let mut indices = Vec::with_capacity(added.len());
        for (site, found) in added.into_iter().zip(found) {
            indices.push(SiteIndex(match found {
                Some(index) => {
                    self.sites[index] = site;
                    index
                }
                None => {
                    let index = self.sites.len();
                    self.of_function.entry(site.function()).or_default().push(index);
                    self.sites.push(site);
                    index
                }
            }));
        }
        indices
    }
}

/// Where functions begin. None: no recording tells, as of those that nothing tells apart.
#[derive(Debug, Default)]
pub struct Begins {
    /// Each as in the newest recording that tells.
    lines: BTreeMap<Function, Option<u32>>,
    /// The same of A.
    before: BTreeMap<Function, Option<u32>>,
}

impl Begins {
    /// Of the next recording: tables of sites, each with those of its frames.
    pub fn add(&mut self, found: &[(&Sites, &HashMap<FrameIndex, SiteIndex>)]) {
        let mut lines: HashMap<Function, Option<u32>> = HashMap::default();
        for (sites, found) in found {
            for site in found.values().map(|index| sites.get(*index)) {
                let first = lines.entry(site.function()).or_default();
                *first = first.iter().copied().chain(site.first_line()).min();
            }
        }
        for (function, line) in lines {
            let known = self.lines.entry(function).or_default();
            *known = line.or(*known);
        }
    }

    /// All recordings of A were added.
    pub fn keep_before(&mut self) {
        self.before.clone_from(&self.lines);
    }

    /// Of one name in one file, the line tells which: on that side, or on the other one where the side does not have the function. None: no other
    /// function has that name, or the line is not known.
    #[must_use]
    pub fn line_among_several(&self, function: &Function, side: Side) -> Option<u32> {
        let (file, name, instance) = function;
        let from = self.lines.range((*file, name.clone(), Instance::Nth(0))..);
        let of_name = from.map(|(other, _)| other).take_while(|other| (other.0, &other.1) == (*file, name));
        let is_one_of_several = of_name.map(|other| other.2).any(|other| other != *instance);
        let before = self.before.get(function).filter(|_| side == Side::Before);
        let line = before.or_else(|| self.lines.get(function)).copied().flatten();
        line.filter(|_| is_one_of_several)
    }
}

/// What a step compares: text, line, column.
type Key = (Option<String>, Option<Place>, Option<u32>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// Of a line in all recordings.
    Number(u32),
    /// In the function.
    Within(i64),
}

fn order(site: &Site) -> (Option<i64>, Option<u32>) {
    (site.line_within, site.column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::table::TableIndex;

    fn site(line: u32, column: u32, text: &str) -> Site {
        Site {
            file: FileIndex::of(0),
            function: "f".to_string(),
            instance: Instance::Nth(0),
            line: Some(line),
            line_of_all: None,
            line_within: Some(i64::from(line)),
            column: Some(column),
            text: (!text.is_empty()).then(|| text.to_string()),
        }
    }

    /// Sites as `line:column:text`; the indices that those of the second recording get.
    fn check(by: By, first: &str, second: &str, expected: &[usize]) {
        let read = |text: &str| -> Vec<Site> {
            let words = text.split_whitespace().map(|word| {
                let parts: Vec<&str> = word.splitn(3, ':').collect();
                site(parts[0].parse().expect("a line"), parts[1].parse().expect("a column"), parts[2])
            });
            words.collect()
        };
        let mut sites = Sites::new(by);
        sites.add(read(first));
        let indices: Vec<usize> = sites.add(read(second)).into_iter().map(|index| index.0).collect();
        assert_eq!(indices, expected, "{first} and {second}");
    }

    #[test]
    fn text_comes_before_lines() {
        check(By::Text, "1:4:a() 2:4:b()", "2:4:b() 1:4:a()", &[1, 0]);
        // Two lines were added above, and the two were swapped.
        check(By::Text, "1:4:a() 2:4:b()", "3:4:b() 4:4:a()", &[1, 0]);
        // The same text twice stays in order, and a line that is the same goes first.
        check(By::Text, "1:4:a() 5:4:a()", "2:4:a() 6:4:a()", &[0, 1]);
        check(By::Text, "1:4:a() 5:4:a()", "5:4:a() 7:4:a()", &[1, 0]);
        // Written anew: another row.
        check(By::Text, "1:4:a(x)", "1:4:a(y)", &[1]);
    }

    #[test]
    fn a_caller_whose_argument_was_changed_is_the_same() {
        check(By::TextOrLine, "1:4:a(x) 2:4:a(y)", "1:4:a(x) 2:4:a(y+1)", &[0, 1]);
        check(By::TextOrLine, "1:4:a(x) 2:4:a(y)", "1:4:a(z)", &[0]);
        // Text first: what was moved to another line is not what was there.
        check(By::TextOrLine, "1:4:a(x) 2:4:a(y)", "1:4:a(y)", &[1]);
    }

    /// Of the others that have the name nobody knows the lines.
    #[test]
    fn a_function_that_is_told_apart_from_others_has_its_line() {
        let told = Site { line_within: Some(4), ..site(7, 4, "a()") };
        let others = Site { instance: Instance::Merged, line: None, line_within: None, ..site(9, 4, "b()") };
        let line = |added: &[&Site]| {
            let mut sites = Sites::new(By::Text);
            let indices = sites.add(added.iter().map(|site| (*site).clone()).collect());
            let found: HashMap<FrameIndex, SiteIndex> = (0..).map(FrameIndex::new).zip(indices).collect();
            let mut begins = Begins::default();
            begins.add(&[(&sites, &found)]);
            begins.line_among_several(&told.function(), Side::After)
        };
        assert_eq!(line(&[&told]), None);
        assert_eq!(line(&[&told, &others]), Some(3));
    }

    #[test]
    fn without_text_the_line_and_the_column_tell() {
        check(By::Text, "1:4: 1:9: 2:4:", "2:4: 1:9: 3:4:", &[2, 1, 3]);
    }
}
