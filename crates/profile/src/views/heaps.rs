//! The heaps of a recording for the viewer's page: one table of classes for all of them, and columns.
//! Owns: which heaps and classes are left out where there are too many. Never: leaves one out without counting it.

use foldhash::HashMap;
use std::hash::Hash;

use serde::Serialize;

use crate::tables::profile::{Heap, Profile};
use crate::tables::table::TableIndex;

/// The reader chooses two of them.
const HEAPS_MAX: usize = 64;
/// Of all heaps together: those that were largest in any of them.
const CLASSES_MAX: usize = 500;

#[derive(Serialize)]
struct Page<'a> {
    classes: Vec<&'a str>,
    rows: Vec<Row<'a>>,
    /// Heaps for which there is no room.
    left_out: usize,
}

#[derive(Serialize)]
struct Row<'a> {
    process: Option<usize>,
    at_ns: u64,
    moment: &'a str,
    collected: bool,
    objects: u64,
    bytes: u64,
    pause_ns: u64,
    file: &'a str,
    /// A class that has no row here had at most so many bytes.
    unlisted_bytes_max: u64,
    /// Rows of `classes`, each once.
    class: Vec<usize>,
    class_objects: Vec<u64>,
    class_bytes: Vec<u64>,
}

/// `null` where there is no heap.
pub fn json(profile: &Profile) -> serde_json::Result<String> {
    json_of(&profile.heaps, HEAPS_MAX, CLASSES_MAX)
}

fn json_of(heaps: &[Heap], heaps_max: usize, classes_max: usize) -> serde_json::Result<String> {
    if heaps.is_empty() {
        return Ok("null".to_owned());
    }
    let kept = thinned(heaps.iter().collect(), heaps_max, |heap| (heap.process, &*heap.moment));
    let classes = largest(kept.iter().copied(), classes_max);
    let row_of: HashMap<&str, usize> = classes.iter().enumerate().map(|(row, name)| (*name, row)).collect();
    let rows = kept.iter().map(|heap| row(heap, &row_of)).collect();
    serde_json::to_string(&Page { rows, left_out: heaps.len() - kept.len(), classes })
}

/// At most `max` of them: of each kind (process and moment) every second one goes until there is room, never its first or last. Where that is
/// not enough, the latest stay.
#[must_use]
pub fn thinned<T, Kind: Eq + Hash>(mut items: Vec<T>, max: usize, kind_of: impl Fn(&T) -> Kind) -> Vec<T> {
    while items.len() > max {
        let before = items.len();
        let mut counts: HashMap<Kind, usize> = HashMap::default();
        items.iter().for_each(|item| *counts.entry(kind_of(item)).or_default() += 1);
        let mut seen: HashMap<Kind, usize> = HashMap::default();
        items.retain(|item| {
            let kind = kind_of(item);
            let last = counts.get(&kind).map_or(0, |count| count - 1);
            let at = seen.entry(kind).or_default();
            let is_kept = at.is_multiple_of(2) || *at == last;
            *at += 1;
            is_kept
        });
        if items.len() == before {
            items.drain(..before - max);
        }
    }
    items
}

/// In the order of the most bytes that they had in any heap.
fn largest<'a>(heaps: impl Iterator<Item = &'a Heap>, max: usize) -> Vec<&'a str> {
    let mut most: HashMap<&str, u64> = HashMap::default();
    for class in heaps.flat_map(|heap| &heap.classes) {
        let bytes = most.entry(&class.name).or_default();
        *bytes = class.bytes.max(*bytes);
    }
    let mut classes: Vec<(&str, u64)> = most.into_iter().collect();
    classes.sort_by_key(|(name, bytes)| (std::cmp::Reverse(*bytes), *name));
    classes.truncate(max);
    classes.into_iter().map(|(name, _)| name).collect()
}

/// A recording has the largest classes: of all, none has more than the least of these.
fn unlisted_bytes_max(heap: &Heap) -> u64 {
    let listed = heap.classes.iter().fold(0_u64, |sum, class| sum.saturating_add(class.objects));
    if listed >= heap.objects { 0 } else { heap.classes.iter().map(|class| class.bytes).min().unwrap_or(heap.bytes) }
}

fn row<'a>(heap: &'a Heap, row_of: &HashMap<&str, usize>) -> Row<'a> {
    let mut row = Row {
        process: heap.process.map(TableIndex::position),
        at_ns: heap.at_ns,
        moment: &heap.moment,
        collected: heap.is_collected,
        objects: heap.objects,
        bytes: heap.bytes,
        pause_ns: heap.pause_ns,
        file: &heap.file,
        unlisted_bytes_max: unlisted_bytes_max(heap),
        class: Vec::new(),
        class_objects: Vec::new(),
        class_bytes: Vec::new(),
    };
    // Two classes may have one name.
    let mut at_of: HashMap<usize, usize> = HashMap::default();
    for class in &heap.classes {
        let Some(&of) = row_of.get(class.name.as_str()) else { continue };
        let at = *at_of.entry(of).or_insert_with(|| {
            row.class.push(of);
            row.class_objects.push(0);
            row.class_bytes.push(0);
            row.class.len() - 1
        });
        row.class_objects[at] = row.class_objects[at].saturating_add(class.objects);
        row.class_bytes[at] = row.class_bytes[at].saturating_add(class.bytes);
    }
    row
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::tables::profile::HeapClass;

    fn heap(at_ns: u64, classes: &[(&str, u64, u64)]) -> Heap {
        let class = |&(name, objects, bytes): &(&str, u64, u64)| HeapClass { name: name.to_owned(), objects, bytes };
        Heap {
            process: None,
            at_ns,
            moment: "interval".to_owned(),
            is_collected: false,
            objects: 100,
            bytes: 10_000,
            pause_ns: 5,
            file: format!("app.heap-{at_ns}.json"),
            classes: classes.iter().map(class).collect(),
        }
    }

    fn page(heaps: &[Heap], heaps_max: usize, classes_max: usize) -> Value {
        serde_json::from_str(&json_of(heaps, heaps_max, classes_max).expect("JSON")).expect("JSON")
    }

    #[test]
    fn without_a_heap_there_is_nothing() {
        assert_eq!(page(&[], 9, 9), Value::Null);
    }

    #[test]
    fn classes_of_all_heaps_are_one_table() {
        let heaps = [
            heap(1, &[("list", 3, 300), ("app.A", 1, 50)]),
            heap(2, &[("app.A", 9, 900), ("list", 2, 200), ("list", 1, 10)]),
        ];
        let page = page(&heaps, 9, 9);
        assert_eq!(page["classes"], serde_json::json!(["app.A", "list"]));
        assert_eq!(page["rows"][0]["class"], serde_json::json!([1, 0]));
        assert_eq!(page["rows"][1]["class_objects"], serde_json::json!([9, 3]));
        assert_eq!(page["rows"][1]["class_bytes"], serde_json::json!([900, 210]));
        assert_eq!(page["left_out"], 0);
    }

    #[test]
    fn no_kind_is_thinned_out_whole() {
        let kinds = ["before", "after"].into_iter().cycle().zip(0..400).collect::<Vec<_>>();
        let left = thinned(kinds, 64, |(kind, _)| *kind);
        assert!(left.len() <= 64);
        let of = |kind| left.iter().filter(|(found, _)| *found == kind).map(|(_, at)| *at).collect::<Vec<_>>();
        assert_eq!((of("before").first(), of("before").last()), (Some(&0), Some(&398)));
        assert_eq!((of("after").first(), of("after").last()), (Some(&1), Some(&399)));
        // As many kinds as items: the latest stay.
        assert_eq!(thinned((0..10).collect(), 4, |at| *at), [6, 7, 8, 9]);
    }

    #[test]
    fn a_class_without_a_row_has_a_bound() {
        let whole = Heap { objects: 4, ..heap(1, &[("list", 3, 300), ("str", 1, 50)]) };
        assert_eq!(unlisted_bytes_max(&whole), 0);
        assert_eq!(unlisted_bytes_max(&Heap { objects: 5, ..whole }), 50);
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let heaps: Vec<Heap> = (0..10).map(|at| heap(at, &[("small", 1, 1), ("large", 1, 9)])).collect();
        let page = page(&heaps, 4, 1);
        let times: Vec<_> = page["rows"].as_array().expect("rows").iter().map(|row| row["at_ns"].clone()).collect();
        assert_eq!(times, [0, 4, 8, 9]);
        assert_eq!((page["left_out"].clone(), page["classes"].clone()), (6.into(), serde_json::json!(["large"])));
        assert_eq!(page["rows"][0]["class_bytes"], serde_json::json!([9]));
    }
}
