//! Stacks counted, and written as text: `root;…;leaf count`, one line a stack, sorted.
//! Owns: that text. Never: leaves a stack out; what is not judged has its own count.

use std::collections::BTreeMap;

#[derive(Default)]
pub struct Distribution {
    stacks: BTreeMap<String, u64>,
}

impl Distribution {
    /// Counts what lies above the outermost frame whose name begins with `under`; false when no frame does.
    pub fn add(&mut self, frames: &[String], under: &str, times: u64) -> bool {
        let Some(at) = frames.iter().position(|frame| frame.starts_with(under)) else { return false };
        *self.stacks.entry(frames[at..].join(";")).or_default() += times;
        true
    }

    pub fn print(&self) {
        for (stack, count) in &self.stacks {
            println!("{stack} {count}");
        }
    }
}
