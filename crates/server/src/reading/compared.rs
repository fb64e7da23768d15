//! Two recordings beside each other: the page and the JSON of a comparison.
//! Owns: which two can be compared, and their words. Never: compares (genba-profile does). Runs only in the process that may die (`work`).

use genba_page::{BINS_MAX, HEAD, NotMade, Room, compared, numbers, numbers_of_two, page_around};
use genba_profile::difference_view::{Run, bins_of, comparison, json};
use genba_profile::warnings::warnings;

use super::opened::Opened;
use super::unread::Refusal;

pub struct Sides<'a> {
    pub before: &'a Opened,
    pub before_name: String,
    pub after: &'a Opened,
    pub after_name: String,
}

impl<'a> Sides<'a> {
    pub fn of(before: (&'a Opened, &str), after: (&'a Opened, &str)) -> Result<Sides<'a>, Refusal> {
        let ((before, before_name), (after, after_name)) = (before, after);
        for (opened, name) in [(before, before_name), (after, after_name)] {
            if opened.is_timeless {
                return Err(Refusal::new(format!("{name} cannot be compared")).detail(
                    "collapsed stacks and .prof files tell no times, and how certain a change is follows from the times of the samples",
                ));
            }
        }
        if before.has_processes_of(after) {
            return Err(Refusal::new("both recordings hold the same processes")
                .detail("one is a copy of the other, and its samples would count twice"));
        }
        let named = |name: &str, side: &str| match before_name == after_name {
            true => format!("{name} ({side})"),
            false => name.to_owned(),
        };
        let (before_name, after_name) = (named(before_name, "before"), named(after_name, "after"));
        Ok(Sides { before, before_name, after, after_name })
    }

    /// As `genba diff --format json`.
    pub fn json(&self) -> serde_json::Result<String> {
        let (before, after) = self.runs();
        let comparison = comparison(&before, &after, None);
        json::json(&comparison, None, &comparison.warnings())
    }

    pub fn page(&self) -> Result<String, NotMade> {
        let compared = {
            let (before, after) = self.runs();
            let comparison = comparison(&before, &after, None);
            compared(&comparison, &comparison.warnings())?
        };
        let side = |opened: &Opened, name: &str| {
            let mut reading = opened.reading_in_bins(BINS_MAX);
            let warnings = warnings(&reading, reading.choice.weight);
            numbers(&mut reading, name, &warnings, Room::OfAFile)
        };
        let (a, b) = (side(self.before, &self.before_name)?, side(self.after, &self.after_name)?);
        page_around(&numbers_of_two(&compared, &a, &b), HEAD)
    }

    fn runs(&self) -> ([Run; 1], [Run; 1]) {
        let run = |opened: &Opened, name: &str| {
            [Run { name: name.to_owned(), reading: opened.reading_over_time(bins_of(&opened.accounts())) }]
        };
        (run(self.before, &self.before_name), run(self.after, &self.after_name))
    }
}
