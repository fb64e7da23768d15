//! How deep stacks are of which a sample holds the innermost frames alone.
//! Owns: how often one is counted, and of each block the marks about the deepest ones. Never: counts (`frames::count` does, in the handler).

use genba_format::proto;
use std::collections::BTreeMap;

/// A handler that counts takes longer than the others.
const COUNTED_EVERY_NS: u64 = 20_000_000;
/// A block has marks about so many functions.
const FUNCTIONS_MAX: usize = 16;

/// How often one function is in a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// Row of its code.
    pub code: u32,
    pub frames: u64,
    /// False: there may be more.
    pub is_whole: bool,
}

/// When and where it was seen, by rows.
#[derive(Clone, Copy, Debug)]
struct Deep {
    at_ns: u64,
    thread: u32,
    node: u32,
    depth: Depth,
}

#[derive(Debug, Default)]
pub struct Depths {
    counted_ns: u64,
    /// Of this block, by the function.
    deepest: BTreeMap<u32, Deep>,
}

impl Depths {
    /// The next stack that is too deep may be counted.
    #[must_use]
    pub const fn is_due(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.counted_ns) >= COUNTED_EVERY_NS
    }

    /// A stack was counted. `depth`: what is known by that.
    pub fn counted(&mut self, now_ns: u64, thread: u32, node: u32, depth: Option<Depth>) {
        self.counted_ns = now_ns;
        let Some(depth) = depth else { return };
        let known = self.deepest.get(&depth.code);
        let is_room = known.is_some() || self.deepest.len() < FUNCTIONS_MAX;
        if is_room && known.is_none_or(|known| known.depth.frames < depth.frames) {
            self.deepest.insert(depth.code, Deep { at_ns: now_ns, thread, node, depth });
        }
    }

    /// For the block that is written now.
    pub fn take_marks(&mut self) -> impl Iterator<Item = proto::Mark> {
        std::mem::take(&mut self.deepest).into_values().map(|Deep { at_ns, thread, node, depth }| proto::Mark {
            at_ns,
            kind: proto::MarkKind::Deep as i32 as u32,
            text: if depth.is_whole { String::new() } else { "or more".to_owned() },
            value: depth.frames,
            thread: thread + 1,
            node,
            other: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{COUNTED_EVERY_NS, Depth, Depths, FUNCTIONS_MAX};
    use genba_format::proto::Mark;

    #[test]
    fn of_each_function_the_deepest_stack_has_a_mark_in_the_block() {
        let depth = |code, frames, is_whole| Some(Depth { code, frames, is_whole });
        let mut depths = Depths::default();
        for (node, depth) in [(7, depth(1, 2000, true)), (8, depth(1, 3000, true)), (9, depth(1, 2500, true))] {
            depths.counted(u64::from(node), 4, node, depth);
        }
        depths.counted(10, 4, 5, depth(2, 17_920, false));
        depths.counted(10, 4, 6, None);
        let told = |mark: Mark| (mark.at_ns, mark.node, mark.thread, mark.value, mark.text);
        let marks: Vec<_> = depths.take_marks().map(told).collect();
        assert_eq!(marks, [(8, 8, 5, 3000, String::new()), (10, 5, 5, 17_920, "or more".to_owned())]);
        assert_eq!(depths.take_marks().count(), 0);
    }

    #[test]
    fn the_marks_of_a_block_are_bounded() {
        let mut depths = Depths::default();
        for code in 0..100 {
            depths.counted(10, 0, 1, Some(Depth { code, frames: 2000, is_whole: true }));
        }
        assert_eq!(depths.take_marks().count(), FUNCTIONS_MAX);
    }

    #[test]
    fn one_is_counted_now_and_then() {
        let mut depths = Depths::default();
        assert!(depths.is_due(COUNTED_EVERY_NS));
        depths.counted(2 * COUNTED_EVERY_NS, 0, 1, None);
        assert!(!depths.is_due(3 * COUNTED_EVERY_NS - 1));
        assert!(depths.is_due(3 * COUNTED_EVERY_NS));
    }
}
