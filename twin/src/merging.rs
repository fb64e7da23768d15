//! The twin's own merge, outermost first: a run of the eval loop keeps a local in its C frame; that frame is replaced by the
//! Python frames that the run executes. Where the instructions are functions of their own, the one that the loop called goes with it.
//! Owns: that rule, written for readability. Never: repairs: a stack that does not fit together is none.

use crate::python::Entry;
use crate::unwinding::Frame;

/// `native` and `python` innermost first; `spell` names a C frame (its position tells a return address). None: no fit.
pub fn merge(
    native: &[Frame],
    python: &[Entry],
    instructions_apart: bool,
    spell: impl Fn(usize) -> String,
) -> Option<Vec<String>> {
    let mut owners: Vec<Option<Vec<&str>>> = vec![None; native.len()];
    let mut run = Vec::new();
    for entry in python {
        match entry {
            Entry::Frame(name) => run.push(name.as_str()),
            Entry::Local(address) => {
                let owner = native.iter().position(|frame| *address < frame.cfa)?;
                if owner > 0 && *address < native[owner - 1].cfa || owners[owner].is_some() {
                    return None;
                }
                if instructions_apart && owner > 0 && owners[owner - 1].is_none() {
                    owners[owner - 1] = Some(Vec::new());
                }
                owners[owner] = Some(std::mem::take(&mut run));
            }
        }
    }
    if !run.is_empty() {
        return None;
    }
    let frames = owners.into_iter().enumerate().flat_map(|(position, owner)| match owner {
        Some(names) => names.into_iter().map(str::to_owned).collect(),
        None => vec![spell(position)],
    });
    let mut frames: Vec<String> = frames.collect();
    frames.reverse();
    Some(frames)
}
