//! What `genba doctor` prints: lines, or JSON.
//! Owns: the layout. Never: judges a fact.

use genba_profile::report::printable;
use genba_profile::wrap::wrapped;
use serde::Serialize;

use super::clock::ClockPage;
use super::fact::Fact;
use super::share::SharePage;

const STANDING: usize = 8;
/// Of names; a group with longer ones has a wider column.
const NAME: usize = 16;
/// Lines are not longer than this on a wide screen, and the text has at least this room on a narrow one.
const WIDTH: usize = 120;
const ROOM_MIN: usize = 30;

/// `genba doctor --format json`
#[derive(Serialize)]
pub struct Page<'a> {
    pub format: &'static str,
    pub version: u32,
    /// How many facts cost the program time or hinder genba.
    pub wrong: usize,
    pub facts: &'a [Fact],
    /// With `--clock`.
    pub clock: Option<&'a ClockPage>,
    /// With `--clock FILE`.
    pub share: Option<&'a SharePage>,
}

/// Each fact in a line, with its reason and its remedy below.
pub fn text(facts: &[Fact], width: Option<usize>) -> String {
    let mut page = String::new();
    let mut group = "";
    for fact in facts {
        if fact.group != group {
            page += if group.is_empty() { "" } else { "\n" };
            page += &format!("{}\n", fact.group);
            group = fact.group;
        }
        let of_group = facts.iter().filter(|other| other.group == group);
        let name = of_group.map(|other| other.name.chars().count()).max().unwrap_or(0).max(NAME);
        let head = format!("  {:<STANDING$}{:<name$} ", fact.standing.word(), printable(&fact.name));
        let why = if fact.why.is_empty() { String::new() } else { format!(" · {}", fact.why) };
        page += &laid_out(&head, &printable(&format!("{}{why}", fact.value)), width);
        if let Some(remedy) = &fact.remedy {
            page += &laid_out(&" ".repeat(head.len()), &format!("hint: {}", printable(remedy)), width);
        }
    }
    page
}

/// Text to the right of a head, broken at blanks.
fn laid_out(head: &str, text: &str, width: Option<usize>) -> String {
    let left = head.chars().count();
    let Some(width) = width else { return format!("{head} {text}\n") };
    let room = width.min(WIDTH).saturating_sub(left + 1).max(ROOM_MIN);
    let mut page = String::new();
    for (number, line) in wrapped(text, room).iter().enumerate() {
        let before = if number == 0 { head.to_owned() } else { " ".repeat(left) };
        page += &format!("{before} {}\n", line.trim_start());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::verbs::doctor::fact::Facts;

    #[test]
    fn a_fact_has_its_reason_beside_it_and_its_remedy_below() {
        let mut found = Facts::of("this machine");
        found.ok("kernel", "6.1", "it has what genba needs");
        found.slow(
            "CPU frequency",
            "powersave on 2 CPUs",
            "all code runs slower",
            "cpupower frequency-set -g performance",
        );
        assert_eq!(
            text(&found.rows, None),
            "this machine\n\
             \x20 ok      kernel            6.1 · it has what genba needs\n\
             \x20 slow    CPU frequency     powersave on 2 CPUs · all code runs slower\n\
             \x20                           hint: cpupower frequency-set -g performance\n"
        );
        for line in text(&found.rows, Some(70)).lines() {
            assert!(line.chars().count() <= 70, "{line}");
        }
    }
}
