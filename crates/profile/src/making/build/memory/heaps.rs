//! The heaps that were walked while the program was recorded.
//! Owns: whose and when each was. Keeps: a row of a damaged block with columns of unequal length has what all of them have.

use genba_format::{Recording, proto};

use crate::tables::profile::{Heap, HeapClass, ProcessIndex, Profile};

pub fn add(recording: &Recording, profile: &mut Profile) {
    let rows = recording.blocks.iter().flat_map(|read| &read.block.heaps);
    let mut heaps: Vec<Heap> = rows.map(|row| heap(row, profile)).collect();
    heaps.sort_by_key(|heap| heap.at_ns);
    profile.heaps = heaps;
}

fn heap(row: &proto::Heap, profile: &Profile) -> Heap {
    let at_ns = profile.start_realtime_ns.map_or(0, |start_ns| row.realtime_ns.saturating_sub(start_ns));
    let numbers = row.class_objects.iter().zip(&row.class_bytes);
    Heap {
        process: process_of(row.pid, at_ns, profile),
        at_ns,
        moment: row.moment.clone(),
        is_collected: row.collected,
        objects: row.objects,
        bytes: row.bytes,
        pause_ns: row.pause_ns,
        file: row.file.clone(),
        classes: row
            .classes
            .iter()
            .zip(numbers)
            .map(|(name, (&objects, &bytes))| HeapClass { name: name.clone(), objects, bytes })
            .collect(),
    }
}

/// The last image of the process that had begun by then; of a clock that was set meanwhile, the first.
fn process_of(pid: u32, at_ns: u64, profile: &Profile) -> Option<ProcessIndex> {
    let of_pid = || profile.processes.enumerate().filter(|(_, process)| process.pid == Some(pid));
    let begun = of_pid().rfind(|(_, process)| process.start_ns <= at_ns);
    begun.or_else(|| of_pid().next()).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::profile::Process;

    fn profile(starts_ns: &[u64]) -> Profile {
        let mut profile = Profile { start_realtime_ns: Some(1_000), ..Profile::default() };
        for &start_ns in starts_ns {
            profile.processes.push(Process { pid: Some(7), start_ns, ..Process::default() });
        }
        profile
    }

    fn row(realtime_ns: u64) -> proto::Heap {
        proto::Heap {
            pid: 7,
            realtime_ns,
            classes: vec!["list".to_owned(), "dict".to_owned()],
            class_objects: vec![3],
            class_bytes: vec![300, 200],
            ..proto::Heap::default()
        }
    }

    #[test]
    fn a_heap_is_of_the_image_that_ran_then() {
        let profile = profile(&[0, 500]);
        let position = |realtime_ns| heap(&row(realtime_ns), &profile).process.map(crate::table::TableIndex::position);
        assert_eq!(
            [position(1_400), position(1_500), position(9_000), position(1)],
            [Some(0), Some(1), Some(1), Some(0)]
        );
        let other = proto::Heap { pid: 8, ..row(1_400) };
        assert_eq!(heap(&other, &profile).process, None);
    }

    #[test]
    fn columns_of_unequal_length_give_whole_rows() {
        let heap = heap(&row(1_400), &profile(&[0]));
        assert_eq!(heap.at_ns, 400);
        assert_eq!(heap.classes, [HeapClass { name: "list".to_owned(), objects: 3, bytes: 300 }]);
    }
}
