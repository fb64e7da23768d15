//! Rows of one line of source, which a screen shows together: the source once, each expression's mark and share below it.
//! Owns: which rows these are. Keeps: every row is in one group; groups come in the order of their first rows.

use foldhash::HashMap;

use crate::tables::profile::Profile;
use crate::views::report::{By, Report};

/// Positions of rows.
pub fn of_one_line(profile: &Profile, report: &Report) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of = HashMap::default();
    for (position, row) in report.rows.iter().enumerate() {
        let line = row.subject.function.zip(row.subject.line).filter(|(function, line)| {
            report.by == By::Expression
                && profile.source_of(*function).is_some_and(|source| source.line(*line).is_some())
        });
        match line.map(|line| *group_of.entry(line).or_insert(groups.len())).filter(|group| *group < groups.len()) {
            Some(group) => groups[group].push(position),
            None => groups.push(vec![position]),
        }
    }
    groups
}
