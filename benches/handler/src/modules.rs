//! The rows of all loaded files, compiled once by the agent's compiler and published for good, where the agent follows
//! `dlopen` and compiles a piece at a time.
//! Owns: the published table, leaked on purpose. Never: frees what a handler may read.

use genba_signal::handler::SHARED;
use genba_signal::rows::{ModuleRows, Modules, RuleCache};
use std::sync::atomic::Ordering::SeqCst;

use crate::files::Loaded;
use crate::reading::cfi::{Compiler, Position};

/// For codes.rs, which asks before it frees a table: here it keeps them all.
pub const fn nobody_walks() -> bool {
    false
}

/// Where the functions' entries begin in the section: each entry begins with its length and says then whose it is, 0 for a common one.
fn entries(section: &[u8]) -> Vec<u32> {
    let word = |at: usize| Some(u32::from_le_bytes(section.get(at..at + 4)?.try_into().ok()?));
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some((length, owner)) = word(at).zip(word(at + 4)).filter(|&(length, _)| length > 0) {
        if owner > 0 {
            entries.extend(u32::try_from(at));
        }
        at += 4 + length as usize;
    }
    entries
}

pub fn publish(files: &[Loaded]) {
    let compiled = |loaded: &Loaded| {
        let (start, end) = loaded.code();
        let position = Position {
            section_address: loaded.file.eh_frame.address.wrapping_add(loaded.bias),
            header_address: loaded.file.eh_frame_header.address.wrapping_add(loaded.bias),
            start,
            end,
        };
        let mut compiler =
            Compiler::new(loaded.file.eh_frame.bytes.clone(), entries(&loaded.file.eh_frame.bytes), position);
        compiler.advance(usize::MAX >> 1);
        let rows = Vec::leak(compiler.finish().rows);
        ModuleRows { start, end, rows: rows.as_ptr(), rows_len: rows.len() }
    };
    let mut list: Vec<ModuleRows> = files.iter().map(compiled).collect();
    list.sort_by_key(|module| module.start);
    let list = Vec::leak(list);
    // SAFETY: a RuleCache is atomics, for which zeroed memory is a value.
    let cache: &'static RuleCache = unsafe { Box::leak(Box::<RuleCache>::new_zeroed().assume_init()) };
    let table = Modules { modules: list.as_ptr(), modules_len: list.len(), generation: 1, cache };
    SHARED.modules.store(Box::leak(Box::new(table)), SeqCst);
}
