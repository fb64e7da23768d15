//! Expressions of one line and lines of one function, added up; and functions with what they call.
//! Owns: what belongs together: a function with the lambdas, comprehensions and functions that are written inside of it.
//! Never: counts what ran outside of Python.

use foldhash::{HashMap, HashSet};
use std::cmp::Reverse;
use std::hash::Hash;

use super::facts::Facts;
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::own_code;
use crate::tables::own_code::twins::Twins;
use crate::tables::profile::{FileIndex, FrameIndex, FunctionIndex, Home, Profile};
use crate::words::figures::share;

/// CPU of the expressions or lines that are one line or function.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub cpu_ns: u64,
    /// Where its heaviest expression begins.
    pub file: FileIndex,
    pub line: u32,
    /// The function's name, without what is written inside of it.
    pub function: String,
    /// The expressions of a line, or the heaviest one of each line of a function with the CPU of that line. The largest first.
    pub parts: Vec<(FrameIndex, u64)>,
}

impl Facts {
    /// The largest first.
    pub(super) fn lines(&self, profile: &Profile) -> Vec<Group> {
        lines((profile, &Twins::of(profile)), self.expressions())
    }

    /// Their lines, with what these call in libraries: a function has no less than one of its lines, whichever of the two a share is of. Of a
    /// module's body, without what it imports: one import has nothing to do with the next. The largest first.
    pub(super) fn functions(&self, profile: &Profile) -> Vec<Group> {
        let mut functions: HashMap<(FileIndex, String), Vec<(FrameIndex, u64)>> = HashMap::default();
        let twins = Twins::of(profile);
        let without_imports = self.expressions().map(|(frame, cpu_ns)| {
            let is_module = around(&profile.function_of(frame).name) == "<module>";
            let imported_ns = self.importing.get(&frame).copied().filter(|_| is_module).unwrap_or(0);
            (frame, cpu_ns.saturating_sub(imported_ns))
        });
        for line in lines((profile, &twins), without_imports.filter(|(_, cpu_ns)| *cpu_ns > 0)) {
            let heaviest = line.parts.first().map(|(frame, _)| (*frame, line.cpu_ns));
            functions.entry((line.file, line.function)).or_default().extend(heaviest);
        }
        grouped((profile, &twins), functions)
    }

    fn expressions(&self) -> impl Iterator<Item = (FrameIndex, u64)> {
        self.running.iter().filter_map(|(frame, cpu_ns)| Some(((*frame)?, *cpu_ns)))
    }
}

fn lines(tables: (&Profile, &Twins), expressions: impl Iterator<Item = (FrameIndex, u64)>) -> Vec<Group> {
    let mut lines: HashMap<(FileIndex, u32), Vec<(FrameIndex, u64)>> = HashMap::default();
    for (frame, cpu_ns) in expressions {
        if let Some(place) = place(tables, frame) {
            lines.entry((place.file, place.line)).or_default().push((frame, cpu_ns));
        }
    }
    grouped(tables, lines)
}

struct Place {
    file: FileIndex,
    line: u32,
    function: String,
}

/// A line is in one file, whosever code that is in each of the processes.
fn place((profile, twins): (&Profile, &Twins), frame: FrameIndex) -> Option<Place> {
    let row = &profile.frames[frame];
    let function = &profile.functions[row.function];
    let Home::Python { file, first_line, .. } = function.home else { return None };
    let line = row.location.map_or(first_line, |location| location.line);
    Some(Place { file: twins.file(file), line, function: around(&function.name).to_owned() })
}

/// `Shop.sell.<locals>.<genexpr>` → `Shop.sell`; what a module holds outside of its functions is the module's.
fn around(qualname: &str) -> &str {
    match qualname.split_once(".<locals>.") {
        Some((outer, _)) => outer,
        None if matches!(qualname, "<lambda>" | "<genexpr>" | "<listcomp>" | "<setcomp>" | "<dictcomp>") => "<module>",
        None => qualname,
    }
}

fn grouped<K: Eq + Hash>(tables: (&Profile, &Twins), groups: HashMap<K, Vec<(FrameIndex, u64)>>) -> Vec<Group> {
    let mut found: Vec<Group> = groups
        .into_values()
        .filter_map(|mut parts| {
            parts.sort_by_key(|(frame, cpu_ns)| (Reverse(*cpu_ns), *frame));
            let Place { file, line, function } = place(tables, parts.first()?.0)?;
            let cpu_ns = parts.iter().map(|(_, cpu_ns)| *cpu_ns).fold(0, u64::saturating_add);
            Some(Group { cpu_ns, file, line, function, parts })
        })
        .collect();
    found.sort_by_key(|group| (Reverse(group.cpu_ns), group.parts.first().map(|(frame, _)| *frame)));
    found
}

/// The function of the user's that has most of the CPU with what it calls, and how much. One that has nearly all of it only says that the
/// program ran.
pub(super) fn widest_function(profile: &Profile) -> Option<(FunctionIndex, u64)> {
    const SHARE_MAX: f64 = 0.9;
    let (totals, whole_ns) = totals(profile, &Twins::of(profile));
    let is_module = |function: FunctionIndex| profile.functions[function].name == "<module>";
    let within = totals.into_iter().filter(|(function, total_ns)| {
        !is_module(*function) && *total_ns > 0 && share(*total_ns, whole_ns) <= SHARE_MAX
    });
    within.max_by_key(|(function, total_ns)| (*total_ns, Reverse(*function)))
}

/// The CPU of each function of the user's with what it calls, and of all.
fn totals(profile: &Profile, twins: &Twins) -> (HashMap<FunctionIndex, u64>, u64) {
    let event_loop = EventLoop::of(profile);
    let mut totals: HashMap<FunctionIndex, u64> = HashMap::default();
    let mut whole_ns: u64 = 0;
    for group in &profile.samples {
        whole_ns = whole_ns.saturating_add(group.cpu_ns);
        let own = own_code(profile, &event_loop, group.node);
        let functions: HashSet<FunctionIndex> =
            own.frames.iter().map(|frame| twins.function(profile.frames[*frame].function)).collect();
        for function in functions {
            let total_ns = totals.entry(function).or_default();
            *total_ns = total_ns.saturating_add(group.cpu_ns);
        }
    }
    (totals, whole_ns)
}

#[cfg(test)]
mod tests {
    use super::around;

    #[test]
    fn what_is_written_inside_of_a_function_is_its() {
        let check = |name: &str, expected: &str| assert_eq!(around(name), expected);
        check("sell", "sell");
        check("Shop.sell.<locals>.<genexpr>", "Shop.sell");
        check("f.<locals>.g.<locals>.<lambda>", "f");
        check("<listcomp>", "<module>");
        check("<module>", "<module>");
    }
}
