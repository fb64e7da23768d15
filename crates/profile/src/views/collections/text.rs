//! The collections as text.
//! Owns: its layout. Keeps: what is folded is said with its share; a place is where a collection ran, never what caused it.

use crate::rules::collections::{Advice, GARBAGE_BYTES, Spared, Sum, Summary, places};
use crate::rules::reading::Reading;
use crate::tables::file_names::FileNames;
use crate::tables::profile::Profile;
use crate::views::collections::heading::{heading_line, place_words};
use crate::views::summary::{law_line, who};
use crate::words::excerpt::{middle_cut, printable, source_cut};
use crate::words::figures::{count, counted, duration, size};
use crate::words::paint::Paint;
use crate::words::shell::word;
use crate::words::wrap::wrapped_on_screen;

const PLACES_MAX: usize = 10;
const COMMAND_BYTES_MAX: usize = 120;
/// In the place of what may be a secret.
const MASKED: &str = "***";
/// Between an advice and what tries it.
const TRIES: &str = " To see whether that helps: ";
const BAR_CELLS: u64 = 30;
/// Of the numbers behind a place.
const COLUMNS_CELLS: usize = 62;
/// `gc.collect()`, a reason.
const PLACE_CELLS_MIN: usize = 12;
const SOURCE_INDENT: &str = "    ";
/// The bins of the histogram: up to 10 µs, then ten times as much each.
const BINS_NS: [u64; 6] = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

pub fn text(reading: &Reading, summary: &Summary, width: Option<usize>, paint: Paint) -> String {
    let profile = &reading.profile;
    let places = places(profile);
    let files = FileNames::of(profile);
    let mut lines = vec![printable(&who(profile)), law_line(profile)];
    lines.push(heading_line(profile, summary, &places, &files));
    lines.extend(gaps(summary));
    let mut page = String::new();
    for line in lines.iter().flat_map(|line| wrapped_on_screen(line, width)) {
        page += &format!("{line}\n");
    }
    if summary.all.collections > 0 {
        page += &tables(profile, summary, &files, width, paint);
        page += &histogram(profile, paint);
    }
    for advice in &summary.advice {
        page.push('\n');
        let words = format!("advice: {}", advice_words(advice, &command(profile)));
        // A command that is copied is one line.
        let (words, tries) = words.split_once(TRIES).map_or((words.as_str(), None), |(_, tries)| {
            (words.strip_suffix(tries).unwrap_or(&words).trim_end(), Some(tries))
        });
        let lines = wrapped_on_screen(words, width).into_iter().chain(tries.map(|tries| format!("  {tries}")));
        lines.for_each(|line| page += &format!("{line}\n"));
    }
    page
}

fn gaps(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    if summary.before > 0 {
        let words = counted(summary.before, "collection", "collections");
        lines.push(format!("not recorded: {words} that ran before recording them began"));
    }
    if summary.lost > 0 {
        let words = counted(summary.lost, "collection", "collections");
        lines.push(format!("not recorded: {words} for which there was no room"));
    }
    if summary.all.uncollectable > 0 {
        let words = counted(summary.all.uncollectable, "object", "objects");
        lines.push(format!(
            "not freed: {words} that nothing in use refers to and the collector cannot free (gc.garbage)"
        ));
    }
    if summary.is_incremental {
        let words = "CPython 3.14.0 to 3.14.4 collect in increments: generation 1 is one increment, generation 2 a full collection, and nothing tells how many objects were examined";
        lines.push(words.to_owned());
    }
    lines
}

fn row(name: &str, cells: usize, sum: &Sum) -> String {
    let examined = sum.examined.map_or_else(|| "-".to_owned(), count);
    let (collections, collected) = (count(sum.collections), count(sum.collected));
    let (all, longest) = (duration(sum.pause_ns), duration(sum.longest_ns));
    format!("{name:cells$}  {collections:>11}  {all:>9}  {longest:>9}  {examined:>12}  {collected:>11}\n")
}

fn heading(name: &str, cells: usize, paint: Paint) -> String {
    let columns = ["collections", "in all", "longest", "examined", "collected"];
    let [collections, all, longest, examined, collected] = columns;
    let line = format!("{name:cells$}  {collections:>11}  {all:>9}  {longest:>9}  {examined:>12}  {collected:>11}");
    format!("\n{}\n", paint.quiet(&line))
}

fn tables(profile: &Profile, summary: &Summary, files: &FileNames, width: Option<usize>, paint: Paint) -> String {
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(COLUMNS_CELLS).max(PLACE_CELLS_MIN));
    let shown = summary.by_place.iter().take(PLACES_MAX);
    let names: Vec<String> = shown.map(|(place, _)| middle_cut(&place_words(profile, files, *place), room)).collect();
    let cells = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(PLACE_CELLS_MIN);
    let mut page = heading("generation", cells, paint);
    for (generation, sum) in &summary.by_generation {
        page += &row(&generation.to_string(), cells, sum);
    }
    page += &heading("reason", cells, paint);
    for (reason, sum) in &summary.by_reason {
        page += &row(reason.word(), cells, sum);
    }
    page += &heading("ran at", cells, paint);
    for (name, (place, sum)) in names.iter().zip(&summary.by_place) {
        page += &row(name, cells, sum);
        let source = place.and_then(|place| profile.source_of(place.function)?.line(place.line));
        if let Some(source) = source.map(str::trim).filter(|source| !source.is_empty()) {
            let room = width.map_or(usize::MAX, |width| width.saturating_sub(SOURCE_INDENT.len()));
            page += &format!("{SOURCE_INDENT}{}\n", paint.quiet(&source_cut(source, room)));
        }
    }
    let folded = summary.by_place.get(PLACES_MAX..).unwrap_or_default();
    if !folded.is_empty() {
        let pause_ns = folded.iter().fold(0_u64, |all, (_, sum)| all.saturating_add(sum.pause_ns));
        let words = counted(folded.len() as u64, "more place", "more places");
        page += &format!("{}\n", paint.quiet(&format!("{words}, {} in all", duration(pause_ns))));
    }
    page
}

fn histogram(profile: &Profile, paint: Paint) -> String {
    let mut bins = [0_u64; BINS_NS.len() + 1];
    for row in &profile.collections {
        bins[BINS_NS.iter().filter(|bin_ns| row.pause_ns >= **bin_ns).count()] += 1;
    }
    let most = bins.iter().copied().max().unwrap_or(0).max(1);
    let first = bins.iter().position(|bin| *bin > 0).unwrap_or(0);
    let last = bins.iter().rposition(|bin| *bin > 0).unwrap_or(0);
    let mut page = format!("\n{}\n", paint.quiet("pauses"));
    for (bin, collections) in bins.iter().enumerate().skip(first).take(last + 1 - first) {
        let name = match BINS_NS.get(bin) {
            Some(limit_ns) => format!("below {}", limit(*limit_ns)),
            None => "1 s and more".to_owned(),
        };
        let cells = collections.saturating_mul(BAR_CELLS).div_ceil(most) as usize;
        page += &format!("{name:>12}  {:<30}  {}\n", "█".repeat(cells), count(*collections));
    }
    page
}

fn limit(limit_ns: u64) -> String {
    match limit_ns {
        1_000_000_000.. => format!("{} s", limit_ns / 1_000_000_000),
        1_000_000.. => format!("{} ms", limit_ns / 1_000_000),
        _ => format!("{} µs", limit_ns / 1_000),
    }
}

/// The program's command line, for a shell. A word in its place where that is long, is not known whole, has been renamed, or started others.
pub(super) fn command(profile: &Profile) -> String {
    let mut processes = profile.collectors.iter().map(|collector| &profile.processes[collector.process]);
    let first = processes.next().filter(|first| {
        let is_python = |path: &String| path.rsplit('/').next().is_some_and(|name| name.starts_with("python"));
        first.argv.first().is_some_and(is_python) && !first.argv.iter().any(|word| word.contains(MASKED))
    });
    let first = first.filter(|_| processes.all(|other| other.is_forked));
    let words = first.map(|process| process.argv.iter().map(|argument| word(argument)).collect::<Vec<_>>().join(" "));
    words.filter(|words| words.len() <= COMMAND_BYTES_MAX).unwrap_or_else(|| "COMMAND".to_owned())
}

/// `all 478 collections that the interpreter began, 113 ms in all`
fn spared(of: Spared, all: &str) -> String {
    let collections = match of.collections {
        1 => "the one collection".to_owned(),
        more => format!("{all}{} collections", count(more)),
    };
    let unknown = match of.unknown {
        0 => String::new(),
        unknown => format!(" ({} of them perhaps not: the reason is not known)", count(unknown)),
    };
    format!("{collections} that the interpreter began{unknown}, {} in all", duration(of.pause_ns))
}

/// For people: what follows, and what tries it with the command.
pub(super) fn advice_words(advice: &Advice, command: &str) -> String {
    match *advice {
        Advice::Threshold { threshold, of, young, collected, waiting_bytes } => {
            let cost = match collected {
                0 => "they freed nothing, so no garbage would have waited".to_owned(),
                _ => format!(
                    "it may count the {} of garbage, too, that they freed, and that would have waited: about {} more at \
                     {GARBAGE_BYTES} bytes each, and new memory can cost more CPU than these collections did",
                    counted(collected, "object", "objects"),
                    size(waiting_bytes)
                ),
            };
            format!(
                "gc.set_threshold({threshold}) may spare {}: its counter reached {} objects in sum; {cost}.{TRIES}genba gc try --threshold {threshold} {command}",
                spared(of, "all "),
                count(young)
            )
        }
        Advice::HigherThreshold { threshold, one_in, of, full, waiting_bytes } => {
            let full = match full.collections {
                0 => String::new(),
                collections => {
                    let words = counted(collections, "full collection", "full collections");
                    format!(", and in {words} ({} in all)", duration(full.pause_ns))
                }
            };
            format!(
                "with gc.set_threshold({threshold}) about one in {one_in} may run of {}, and each looks at up to {one_in} times \
                 as many objects. That can spare time where objects are freed before a collection looks at them{full}, and \
                 nearly none else; between two of them at most about {} more of garbage would have waited, at \
                 {GARBAGE_BYTES} bytes an object.{TRIES}genba gc try --threshold {threshold} {command}",
                spared(of, "the "),
                size(waiting_bytes)
            )
        }
        Advice::BetweenRequests { collections, pause_ns, longest_ns, collected } => format!(
            "{} objects were garbage that only the collector frees. A server can collect them when no request waits: \
             genba.gc.after_response(application) spares its requests at most {}, {} in all, the longest {}: those at \
             lines where garbage was freed, as far as they ran within requests",
            count(collected),
            counted(collections, "pause", "pauses"),
            duration(pause_ns),
            duration(longest_ns)
        ),
        Advice::BreakCycles { collected } => format!(
            "{} were in cycles, or hung off one. Without the cycle they are freed at once, and no collection has to find \
             them: genba gc cycles PID, while the program runs, says which cycles wait and which reference to drop",
            counted(collected, "such object", "such objects")
        ),
        Advice::Freeze { collections, pause_ns, examined } => format!(
            "after the first fork {} examined {} objects, and nearly all of them stayed: gc.freeze() before that fork \
             takes what is there out of them ({} in all) and keeps its pages shared",
            counted(collections, "full collection", "full collections"),
            count(examined),
            duration(pause_ns)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{advice_words, command, gaps, tables};
    use crate::rules::collections::{Advice, Place, Spared, Sum, Summary};
    use crate::tables::file_names::FileNames;
    use crate::tables::owner::Owner;
    use crate::tables::profile::{Collector, File, Function, Home, Process, Profile};
    use crate::words::paint::Paint;

    #[test]
    fn what_cannot_be_freed_is_said_where_there_is_any() {
        let with = |uncollectable| Summary { all: Sum { uncollectable, ..Sum::default() }, ..Summary::default() };
        assert!(gaps(&with(0)).is_empty());
        assert_eq!(
            gaps(&with(2)),
            ["not freed: 2 objects that nothing in use refers to and the collector cannot free (gc.garbage)"]
        );
    }

    #[test]
    fn a_long_place_is_cut_to_the_width() {
        let mut profile = Profile::default();
        let path = "<frozen importlib._bootstrap_external>".to_owned();
        let file = profile.files.push(File { path, owner: Owner::Stdlib, family: 0 });
        let home = Home::Python { file, first_line: 729, table_bytes: 0 };
        let function = profile.functions.push(Function { name: "_compile_bytecode".to_owned(), home });
        let by_place = vec![(Some(Place { file, line: 729, function }), Sum::default())];
        let summary = Summary { by_place, ..Summary::default() };
        let files = FileNames::of(&profile);
        let longest = |width| {
            let page = tables(&profile, &summary, &files, width, Paint::Plain);
            (page.lines().map(|line| line.chars().count()).max(), page.contains("…"))
        };
        assert_eq!(longest(None), (Some(122), false));
        assert_eq!(longest(Some(100)), (Some(100), true));
        assert_eq!(longest(Some(80)), (Some(80), true));
    }

    #[test]
    fn collections_in_increments_are_told_as_such() {
        let with = |is_incremental| gaps(&Summary { is_incremental, ..Summary::default() });
        assert!(with(false).is_empty());
        let lines = with(true);
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(line.starts_with("CPython 3.14.0 to 3.14.4 collect in increments: generation 1 is one"), "{line}");
    }

    #[test]
    fn a_threshold_may_spare_collections_and_nothing_is_promised() {
        let said = |of, collected| {
            let advice =
                Advice::Threshold { threshold: 5_000, of, young: 1_402, collected, waiting_bytes: collected * 200 };
            advice_words(&advice, "COMMAND")
        };
        let one = Spared { collections: 1, pause_ns: 20, unknown: 0 };
        let begin = "gc.set_threshold(5000) may spare the one collection that the interpreter began, 20 ns in all: its counter reached 1,402 objects in sum; they freed nothing";
        assert!(said(one, 0).starts_with(begin), "{}", said(one, 0));
        let words = said(Spared { collections: 3, unknown: 2, ..one }, 7);
        let all = "may spare all 3 collections that the interpreter began (2 of them perhaps not: the reason is not known), 20 ns in all";
        assert!(
            words.contains(all) && words.contains("; it may count the 7 objects of garbage, too, that they freed,"),
            "{words}"
        );
    }

    #[test]
    fn a_higher_threshold_is_no_promise_of_time() {
        let said = |collections| {
            let of = Spared { collections: 90, pause_ns: 20, unknown: 0 };
            let full = Spared { collections, pause_ns: 7, unknown: 0 };
            let advice = Advice::HigherThreshold { threshold: 5_000, one_in: 10, of, full, waiting_bytes: 4_000 };
            advice_words(&advice, "COMMAND")
        };
        let begin = "with gc.set_threshold(5000) about one in 10 may run of the 90 collections that the interpreter began, 20 ns in all, and each looks at up to 10 times as many objects. That can spare time where objects are freed before a collection looks at them, ";
        assert!(said(0).starts_with(&format!("{begin}and nearly none else; between")), "{}", said(0));
        assert!(
            said(2).starts_with(&format!("{begin}and in 2 full collections (7 ns in all), and nearly")),
            "{}",
            said(2)
        );
    }

    #[test]
    fn what_tries_a_threshold_names_the_command_line() {
        let said = |argv: &[&str]| {
            let mut profile = Profile::default();
            let argv = argv.iter().map(|argument| (*argument).to_owned()).collect();
            let process = profile.processes.push(Process { argv, ..Process::default() });
            profile.collectors.push(Collector { process, before: Vec::new(), lost: 0, is_incremental: false });
            let advice = Advice::HigherThreshold {
                threshold: 5_000,
                one_in: 10,
                of: Spared { collections: 90, pause_ns: 20, unknown: 0 },
                full: Spared::default(),
                waiting_bytes: 4_000,
            };
            let words = advice_words(&advice, &command(&profile));
            words.split_once(" To see whether that helps: ").map(|(_, command)| command.to_owned())
        };
        let tries = |command: &str| Some(format!("genba gc try --threshold 5000 {command}"));
        assert_eq!(said(&["python3", "app.py", "a b"]), tries("python3 app.py 'a b'"));
        assert_eq!(said(&[]), tries("COMMAND"));
        assert_eq!(said(&["python3", "app.py", "--token", "***"]), tries("COMMAND"));
        assert_eq!(said(&["gunicorn: worker [app]"]), tries("COMMAND"));
        assert_eq!(said(&["python3", "-c", &"x".repeat(200)]), tries("COMMAND"));
    }
}
