//! A heap as a table, and how it was looked at.
//! Owns: the words. Never: leaves a class out without saying how many.

use genba_profile::figures;
use genba_profile::report::{middle_cut, printable};

use super::page::{Page, Row};

const PAGE_BYTES: u64 = 4096;
const NAME_CHARACTERS_MAX: usize = 120;
const NAME_CELLS_MIN: usize = 20;
/// Of the numbers in a row.
const CELLS_BEFORE_NAME: usize = 45;
const HAS_MORE: &str = " +";

/// `width`: of the terminal, where names of classes are cut.
pub fn text(page: &Page, top: usize, width: Option<usize>) -> String {
    let mut text = format!(
        "process {} · CPython {} · {}, {} in {}\n\n",
        page.pid,
        printable(&page.python),
        figures::counted(page.objects, "object", "objects"),
        figures::size(page.bytes),
        figures::counted(page.classes.len() as u64, "class", "classes"),
    );
    let shown = if top == 0 { page.classes.len() } else { top };
    text.push_str(&format!("{:>10} {:>7} {:>13} {:>10}  class\n", "bytes", "share", "objects", "average"));
    for row in page.classes.iter().take(shown) {
        text.push_str(&format!(
            "{:>10} {:>5} % {:>13} {:>10}  {}\n",
            figures::size(row.bytes),
            figures::percent(row.bytes, page.bytes),
            figures::count(row.count),
            figures::size(row.bytes.checked_div(row.count).unwrap_or(0)),
            marked(row, width),
        ));
    }
    let rest: Vec<_> = page.classes.iter().skip(shown).collect();
    if !rest.is_empty() {
        let (bytes, count) = rest.iter().fold((0_u64, 0_u64), |(bytes, count), row| {
            // A file may say anything.
            (bytes.saturating_add(row.bytes), count.saturating_add(row.count))
        });
        text.push_str(&format!(
            "{:>10} {:>5} % {:>13} {:>10}  {} (--limit 0 shows all)\n",
            figures::size(bytes),
            figures::percent(bytes, page.bytes),
            figures::count(count),
            "",
            figures::counted(rest.len() as u64, "more class", "more classes"),
        ));
    }
    text.push('\n');
    text.push_str(&how(page));
    text
}

/// How it was done, what that cost, and what is missing.
pub fn how(page: &Page) -> String {
    let mut text = match &page.moment {
        Some(moment) => format!("kept during a recording ({})\n", printable(moment)),
        None => String::new(),
    };
    text.push_str(&walk(page));
    if let Some(collection) = page.collection {
        text.push_str(&format!(
            "a full collection came first: it found {} in {}, with finalizers of the program\n",
            figures::counted(collection.collected, "unreachable object", "unreachable objects"),
            figures::duration(collection.pause_ns),
        ));
    }
    if let Some(garbage) = page.garbage {
        text.push_str(&match garbage.objects {
            0 => "garbage is not counted: there is none\n".to_owned(),
            _ => format!(
                "garbage is not counted, and is still there: {}, {}\n",
                figures::counted(garbage.objects, "object", "objects"),
                figures::size(garbage.bytes)
            ),
        });
    }
    text.push_str(&asked(page));
    text.push_str(&format!(
        "not reached: objects that only C code holds, mostly short strings (in genba's tests at most {} % of over 250,000 objects)\n",
        page.unreached.share_max * 100.0
    ));
    text.push_str(&memory(page));
    text.push_str(&left(page));
    text
}

fn marked(row: &Row, width: Option<usize>) -> String {
    let mark = if row.has_more { HAS_MORE } else { "" };
    named(&row.full_name(), CELLS_BEFORE_NAME + mark.len(), width) + mark
}

/// A class behind so many cells of its row.
pub fn named(class: &str, cells_before: usize, width: Option<usize>) -> String {
    let name = shortened(&printable(class));
    let room = width.map(|width| width.saturating_sub(cells_before).max(NAME_CELLS_MIN));
    room.map_or_else(|| name.clone(), |room| middle_cut(&name, room))
}

/// How much of the memory the table explains.
fn memory(page: &Page) -> String {
    let mut text = String::new();
    let bytes = page.bytes.saturating_add(page.garbage.map_or(0, |garbage| garbage.bytes));
    if let (Some(resident), Some(files), Some(rest)) =
        (page.resident_bytes, page.resident_files_bytes, page.unaccounted_bytes)
    {
        let size = figures::size;
        text.push_str(&if bytes > resident {
            format!(
                "the objects that genba sizes take {}, and {} are resident: the rest is swapped out, or nobody has written to it yet\n",
                size(bytes),
                size(resident)
            )
        } else {
            format!(
                "{} of {} resident belong to objects that genba sizes, {} to files such as libraries, {} to neither: memory of C code, objects that were not reached, and what its allocators keep\n",
                size(bytes),
                size(resident),
                size(files),
                size(rest)
            )
        });
    }
    if page.classes.iter().any(|row| row.has_more) {
        text.push_str("+: its objects own more memory than is shown, which only their own __sizeof__ knows\n");
    }
    text
}

/// The same of a walk that reaches all that it looks for.
pub fn way(page: &Page) -> String {
    walk(page) + &asked(page) + &left(page)
}

fn walk(page: &Page) -> String {
    let time = figures::duration;
    match page.page_faults {
        Some(faults) => format!(
            "walked in a copy of the process: the program was held for {}, the copy lived for {}\n\
             meanwhile the program had {}, copying {} at most\n",
            time(page.pause_ns),
            time(page.walk_ns),
            figures::counted(faults, "page fault", "page faults"),
            figures::size(faults.saturating_mul(PAGE_BYTES)),
        ),
        None => format!(
            "walked in place{}: the program was held for {}\n",
            page.why_in_place.as_ref().map(|why| format!(", since {}", printable(why))).unwrap_or_default(),
            time(page.pause_ns),
        ),
    }
}

fn asked(page: &Page) -> String {
    match page.stopped_ns {
        0 => String::new(),
        stopped_ns => format!("its threads were stopped for {} to ask for that\n", figures::duration(stopped_ns)),
    }
}

fn left(page: &Page) -> String {
    match page.unreached.interpreters {
        0 => String::new(),
        left => {
            format!("not walked: {} with a GIL of their own\n", figures::counted(left, "interpreter", "interpreters"))
        }
    }
}

/// Names come from the program, and may be of any length.
pub fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARACTERS_MAX) {
        Some((byte, _)) => format!("{}…", name.get(..byte).unwrap_or(name)),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_class_is_cut_to_what_the_terminal_leaves() {
        assert_eq!(named("app.Order", 45, Some(80)), "app.Order");
        let long = "importlib.metadata._functools.FrozenOrderedDictionary";
        assert_eq!(named(long, 45, None), long);
        assert_eq!(named(long, 45, Some(80)), "importlib.metadat…OrderedDictionary");
        assert_eq!(named(long, 45, Some(80)).chars().count(), 35);
    }
}
