//! Reads a file of `--gc-cycles` back into a page.
//! Owns: which files are of that kind, and the parts of a page that their JSON leaves out. Never: assumes that the numbers agree with each other.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;

use genba_heap::found::{Cycles, Node, Reference};
use genba_profile::report::printable;
use genba_profile::shell;
use serde::Deserialize;

use super::{Edge, FORMAT, Graph, Heap, Kind, Names, Page, VERSION, ways, words};
use crate::read;
use crate::verbs::heap::page::FORMAT as FORMAT_OF_HEAP;
use crate::words::failure::{self, Failure};

/// What is read first: whether the rest can be understood.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

/// `limit`: how many kinds to keep.
pub fn open(path: &Path, limit: Option<usize>) -> Result<Page, Failure> {
    read::check_is_no_pipe(path)?;
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    let mut page = page_of(&bytes).map_err(|why| why.told_of(path))?;
    let kinds = page.kinds.len();
    page.kinds.truncate(limit.unwrap_or(kinds));
    page.kinds_left_out = page.kinds_left_out.saturating_add(kinds - page.kinds.len());
    Ok(page)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::no(format!("cannot read {}: {}", path.display(), failure::of_system(error)));
    match error.kind() {
        ErrorKind::NotFound => failure.hint("genba ps lists the Python processes"),
        _ => failure,
    }
}

/// Why the bytes are not a page.
#[derive(Debug)]
struct Unfit {
    why: String,
    is_heap: bool,
}

impl Unfit {
    fn of(why: impl Into<String>) -> Unfit {
        Unfit { why: why.into(), is_heap: false }
    }

    fn told_of(self, path: &Path) -> Failure {
        let failure = Failure::no(format!("{} is not a file of --gc-cycles", path.display()));
        failure.detail(self.why).hint(if self.is_heap {
            format!("genba heap {}", shell::path(path))
        } else {
            "genba run --gc-cycles app.py keeps such files, app.cycles-1.json and so on".to_owned()
        })
    }
}

fn page_of(bytes: &[u8]) -> Result<Page, Unfit> {
    let of_json = |error: serde_json::Error| Unfit::of(error.to_string());
    let head: Head = serde_json::from_slice(bytes).map_err(of_json)?;
    if head.format != FORMAT || head.version != VERSION {
        let found = format!("it says {} version {}, expected {FORMAT} version {VERSION}", head.format, head.version);
        return Err(Unfit { why: printable(&found), is_heap: head.format == FORMAT_OF_HEAP });
    }
    let mut page: Page = serde_json::from_slice(bytes).map_err(of_json)?;
    for kind in &mut page.kinds {
        kind.restore()?;
    }
    page.heap = page.walk();
    Ok(page)
}

impl Page {
    /// What is said about the walk.
    fn walk(&self) -> Heap {
        Heap {
            why_in_place: self.why_in_place.clone(),
            pause_ns: self.pause_ns,
            stopped_ns: self.stopped_ns,
            walk_ns: self.walk_ns,
            page_faults: self.page_faults,
            ..Heap::default()
        }
    }
}

impl Kind {
    /// The words of each reference, and the graph.
    fn restore(&mut self) -> Result<(), Unfit> {
        let mut rows = Rows::default();
        let references = self.references.iter().map(|edge| edge.reference(&mut rows)).collect::<Result<Vec<_>, _>>()?;
        let members: Vec<(Node, u64)> =
            self.classes.iter().map(|one| (rows.node(one.class.as_deref(), one.is_attributes), one.objects)).collect();
        let names = rows.names();
        for (edge, reference) in self.references.iter_mut().zip(&references) {
            edge.drawn = words::drawn(reference, &names);
        }
        let group = Cycles { members, references, ..Cycles::default() };
        self.graph = Graph::of(&group, &self.breaks.dropped(), &names);
        Ok(())
    }
}

impl Edge {
    fn reference(&self, rows: &mut Rows) -> Result<Reference, Unfit> {
        let step = ways::step(&self.step)
            .ok_or_else(|| Unfit::of(format!("this genba does not know the step {:?} of a reference", self.step)))?;
        Ok(Reference {
            from: rows.node(self.from.as_deref(), self.from_attributes),
            to: rows.node(self.to.as_deref(), self.to_attributes),
            step,
            is_many: self.many,
            count: self.count,
            name: self.name.clone().unwrap_or_default(),
        })
    }
}

/// Classes by their names: 0 is that of those that have none.
#[derive(Default)]
struct Rows(HashMap<String, u64>);

impl Rows {
    fn node(&mut self, class: Option<&str>, is_attributes: bool) -> Node {
        let next = self.0.len() as u64 + 1;
        let row = class.map_or(0, |name| *self.0.entry(name.to_owned()).or_insert(next));
        Node { row, is_attributes }
    }

    fn names(self) -> Names {
        Names::of(self.0.into_iter().map(|(name, row)| (row, name)).collect())
    }
}

#[cfg(test)]
mod tests {
    use genba_heap::answer::{Answer, Class, Done};
    use genba_heap::found::{Cycles, Found, Node, Reference};
    use genba_heap::steps::Step;

    use super::{Heap, Page, page_of};
    use crate::verbs::gc::cycles::text;
    use crate::verbs::heap::asking::{Asked, Wants};
    use crate::verbs::heap::page::Process;

    fn class(row: u64, module: &str, name: &str) -> Class {
        Class {
            row,
            module: Some(module.to_owned()),
            name: name.to_owned(),
            is_cut: false,
            has_more: false,
            bears_weak: false,
            count: 1,
            bytes: 64,
        }
    }

    /// As it is kept before a collection.
    fn page() -> Page {
        let node = |row| Node { row, is_attributes: false };
        let reference = |from, to, step, name: &str| Reference {
            from: node(from),
            to: node(to),
            step,
            is_many: false,
            count: 3,
            name: name.to_owned(),
        };
        let kind = Cycles {
            cycles: 3,
            objects: 6,
            bytes: 400,
            largest: 2,
            members: vec![(node(7), 3), (node(9), 3)],
            references: vec![
                reference(7, 9, Step::Attribute, "children"),
                reference(9, 7, Step::Item, ""),
                reference(7, 0, Step::Plain, ""),
                reference(9, 9, Step::Key, ""),
            ],
            ..Cycles::default()
        };
        let answer = Answer {
            classes: vec![class(7, "__main__", "Node"), class(9, "builtins", "list")],
            objects: 6,
            bytes: 400,
            found: Some(Found { tracked: 100, garbage: 6, off: 0, garbage_list: 0 }),
            cycles: vec![kind],
            done: Done { pause_ns: 2_000_000, ..Done::default() },
            ..Answer::default()
        };
        let asked = Asked { answer, stopped_ns: 0, wants: Wants { cycles: true, ..Wants::default() } };
        let process = Process { pid: 7, python: "3.13.0".to_owned(), argv: vec!["app.py".to_owned()] };
        Page::of(asked, None, |asked| {
            let heap = Heap::of(process, Some("it must be so".to_owned()), asked);
            Heap { walked_realtime_ns: Some(5), ..heap }
        })
        .unwrap()
    }

    #[test]
    fn a_page_that_was_kept_looks_as_it_did() {
        let before = page();
        let json = before.json().unwrap();
        let after = page_of(json.as_bytes()).unwrap();
        assert_eq!(after.json().unwrap(), json);
        let words = text::text(&after);
        assert_eq!(words, text::text(&before));
        for line in ["3  Node.children → list", "Node → object", "break it: drop ", "since it must be so", "2.00 ms"]
        {
            assert!(words.contains(line), "{line}: {words}");
        }
        let graph = |page: &Page| serde_json::to_string(&page.kinds.first().unwrap().graph).unwrap();
        assert_eq!(graph(&after), graph(&before));
    }

    #[test]
    fn other_files_are_none() {
        let json = page().json().unwrap();
        let why = |json: &str| page_of(json.as_bytes()).err().unwrap();
        assert!(why("no JSON").why.starts_with("expected"), "{:?}", why("no JSON"));
        assert!(why(&json.replace("\"version\": 1", "\"version\": 2")).why.contains("version 2, expected"));
        assert!(why("{\"format\": \"genba-heap\", \"version\": 1}").is_heap);
        assert!(why(&json.replace("\"item\"", "\"leap\"")).why.contains("does not know the step \"leap\""));
        assert!(why(&json.replace("\"would_free\"", "\"other\"")).why.contains("would_free"));
    }

    #[test]
    fn numbers_that_do_not_fit_each_other_harm_nothing() {
        let mut page = page();
        for kind in &mut page.kinds {
            (kind.cycles, kind.largest) = (0, u64::MAX);
            for drop in &mut kind.breaks.drop {
                drop.reference = usize::MAX;
            }
        }
        (page.kinds_left_out, page.objects, page.page_faults) = (usize::MAX, 0, Some(u64::MAX));
        assert!(text::text(&page_of(page.json().unwrap().as_bytes()).unwrap()).contains("0 cycles"));
    }
}
