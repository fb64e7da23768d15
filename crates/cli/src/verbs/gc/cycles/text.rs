//! The garbage in cycles as text: each kind as a small graph, and what breaks it.
//! Owns: the layout. Never: leaves a kind out without saying so.

use genba_profile::figures;
use genba_profile::report::printable;

use super::page::{Breaks, Kind, Page};
use crate::verbs::heap::text::{shortened, way};

/// References of one kind of cycle, and things to drop.
const LINES_MAX: usize = 12;
const OTHERS_MAX: usize = 3;

/// Of a kind without references.
pub const NO_SHAPE: &str = "of more shapes than genba tells apart";

pub fn text(page: &Page) -> String {
    let mut text = about(page);
    for kind in &page.kinds {
        text.push('\n');
        one(kind, &mut text);
    }
    if let Some(more) = more(page) {
        text.push_str(&format!("\n{more} (--limit 0 shows all)\n"));
    }
    text.push('\n');
    text.push_str(&end(page));
    text
}

/// The lines above all kinds.
pub fn about(page: &Page) -> String {
    let mut text = format!("process {} · CPython {} · ", page.pid, printable(&page.python));
    text.push_str(&match page.would_free {
        0 if page.is_kept() => "no garbage waited for the collector\n".to_owned(),
        0 => "no garbage waits for the collector\n".to_owned(),
        _ => format!(
            "{} in {} of garbage{}, {}\n",
            figures::counted(page.would_free, "object", "objects"),
            figures::counted(page.cycles, "cycle", "cycles"),
            match page.objects.saturating_sub(page.would_free) {
                0 => String::new(),
                more => format!(" and {} more that the collector does not track", figures::count(more)),
            },
            figures::size(page.bytes),
        ),
    });
    text.push_str(&collection(page));
    if !page.automatic {
        text.push_str("no collection begins by itself: gc.disable(), or a threshold of 0\n");
    }
    if page.in_gc_garbage > 0 {
        text.push_str(&format!(
            "gc.garbage holds {}: they stay until the program empties that list\n",
            figures::counted(page.in_gc_garbage, "object", "objects")
        ));
    }
    text
}

/// What a full collection does with it.
fn collection(page: &Page) -> String {
    let is_kept = page.is_kept();
    let would = if is_kept { "the full collection that began then was to" } else { "a full collection now would" };
    let freed = freed(page.would_free, page.generators, is_kept);
    format!("{would} look at {} and free {freed}\n", figures::counted(page.tracked, "object", "objects"))
}

/// CPython's collector adds the weak references that their callbacks free, such as those of a `WeakSet` (`handle_weakrefs`).
fn freed(would_free: u64, generators: u64, is_kept: bool) -> String {
    let freed = figures::count(would_free);
    match (would_free, generators) {
        (0, _) => "none".to_owned(),
        (_, 0) if is_kept => freed,
        (_, 0) => format!("{freed}, which gc.collect() returns, plus weak references that callbacks free"),
        (_, generators) => format!(
            "{freed}; {} less, since {} among them free what they hold before it counts{}",
            if is_kept { "it may have told" } else { "gc.collect() may return" },
            figures::counted(generators, "generator or coroutine", "generators and coroutines"),
            if is_kept { "" } else { ", plus weak references that callbacks free" }
        ),
    }
}

/// Kinds that `--limit` left out.
pub fn more(page: &Page) -> Option<String> {
    let more = page.kinds_left_out as u64;
    (more > 0).then(|| figures::counted(more, "more kind of cycles", "more kinds of cycles"))
}

/// The lines below all kinds.
pub fn end(page: &Page) -> String {
    let mut text = String::new();
    if page.would_free > 0 && !page.is_kept() {
        text.push_str(&format!("nothing was freed: gc.collect() does that, or genba heap {} --collect\n", page.pid));
    }
    text.push_str(&way(&page.heap));
    text
}

/// `50 cycles of 5 objects each, 26.7 kB`
pub fn title(kind: &Kind) -> String {
    let size = match (kind.cycles, kind.objects.is_multiple_of(kind.cycles.max(1))) {
        (1, _) => format!("of {}", figures::counted(kind.objects, "object", "objects")),
        (cycles, true) if kind.objects.checked_div(cycles) == Some(kind.largest) => {
            format!("of {} each", figures::counted(kind.largest, "object", "objects"))
        }
        _ => format!(
            "of {}, the largest of {}",
            figures::counted(kind.objects, "object", "objects"),
            figures::count(kind.largest)
        ),
    };
    let cycles = figures::counted(kind.cycles, "cycle", "cycles");
    format!("{cycles} {size}, {}", figures::size(kind.bytes))
}

fn one(kind: &Kind, text: &mut String) {
    text.push_str(&format!("{}\n", title(kind)));
    if kind.references.is_empty() {
        text.push_str(&format!("    {NO_SHAPE}\n"));
    }
    for edge in kind.references.iter().take(LINES_MAX) {
        text.push_str(&format!("{:>13}  {}\n", figures::count(edge.count), shortened(&printable(&edge.drawn))));
    }
    if let Some(more) = more_references(kind.references.len().saturating_sub(LINES_MAX)) {
        text.push_str(&format!("{:>13}  {more}\n", ""));
    }
    if let Some(held) = held(kind) {
        text.push_str(&format!("    {held}\n"));
    }
    if let Some(line) = advice(kind) {
        text.push_str(&format!("    break it: {}\n", printable(&line)));
    }
}

pub fn more_references(more: usize) -> Option<String> {
    (more > 0).then(|| figures::counted(more as u64, "more kind of reference", "more kinds of references"))
}

/// What a collection frees with a kind of cycles.
pub fn held(kind: &Kind) -> Option<String> {
    (kind.held_objects > 0).then(|| {
        let objects = figures::counted(kind.held_objects, "object", "objects");
        format!("with {objects} that only they hold, {}", figures::size(kind.held_bytes))
    })
}

/// What to drop: the reader is told to `break it` so.
pub fn advice(kind: &Kind) -> Option<String> {
    kind.breaks.instead.clone().or_else(|| dropped(&kind.breaks))
}

fn dropped(breaks: &Breaks) -> Option<String> {
    let (first, rest) = breaks.drop.split_first()?;
    let whats = || rest.iter().take(OTHERS_MAX).map(|drop| drop.what.as_str());
    Some(match (breaks.each, rest.is_empty()) {
        (_, true) => format!("drop {}: {}", first.what, first.how),
        (true, false) => {
            format!("drop {}: {} (or drop {})", first.what, first.how, whats().collect::<Vec<_>>().join(", or "))
        }
        (false, false) => {
            let more = rest.len().saturating_sub(OTHERS_MAX);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!(
                "drop {} and {}{more}: one alone is not enough",
                first.what,
                whats().collect::<Vec<_>>().join(" and ")
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::freed;

    #[test]
    fn what_gc_collect_returns_is_not_said_as_a_number_that_it_may_not_be() {
        assert_eq!(freed(0, 0, false), "none");
        assert_eq!(freed(1_000, 0, true), "1,000");
        assert_eq!(
            freed(1_000, 0, false),
            "1,000, which gc.collect() returns, plus weak references that callbacks free"
        );
        assert!(freed(1_000, 2, false).starts_with("1,000; gc.collect() may return less, since 2 generators"));
    }
}
