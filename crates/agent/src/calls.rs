//! What a call instruction called: functions that a tail call hid from the stack.
//! Owns: decoding of `call rel32` before a return address, and of PLT entries behind its target. Never: guesses at indirect calls.

use crate::modules::Loaded;
use genba_signal::memory::{Address, Memory};
use rustc_hash::FxHashMap;

/// Targets by return address; emptied when files come or go.
#[derive(Default)]
pub struct Calls {
    targets: FxHashMap<u64, Option<u64>>,
}

impl Calls {
    const ENTRIES_MAX: usize = 1 << 16;

    pub fn forget(&mut self) {
        self.targets.clear();
    }

    /// The function that the call before `return_address` names, as its first address.
    pub fn target<M: Memory>(&mut self, memory: &M, loaded: &Loaded, return_address: u64) -> Option<u64> {
        if let Some(&known) = self.targets.get(&return_address) {
            return known;
        }
        if self.targets.len() >= Self::ENTRIES_MAX {
            self.targets.clear();
        }
        let target = direct_call(memory, return_address)
            .map(|target| through_plt(memory, target).unwrap_or(target))
            // Only a function's very beginning is called: anything else means that these bytes were no call.
            .filter(|&target| loaded.place(target).is_some_and(|place| place.function == Some(target)));
        self.targets.insert(return_address, target);
        target
    }
}

/// `e8 rel32` in the five bytes before.
fn direct_call<M: Memory>(memory: &M, return_address: u64) -> Option<u64> {
    let bytes = memory.word(Address(return_address.wrapping_sub(8))).ok()?.to_le_bytes();
    let [_, _, _, 0xe8, a, b, c, d] = bytes else { return None };
    Some(return_address.wrapping_add_signed(i64::from(i32::from_le_bytes([a, b, c, d]))))
}

/// `[endbr64] [bnd] jmp *[rip + rel32]`: where the slot leads.
fn through_plt<M: Memory>(memory: &M, entry: u64) -> Option<u64> {
    let words = [memory.word(Address(entry)).ok()?.to_le_bytes(), memory.word(Address(entry + 8)).ok()?.to_le_bytes()];
    let bytes = words.as_flattened();
    let skip = |bytes: &[u8], prefix: &[u8]| if bytes.starts_with(prefix) { prefix.len() } else { 0 };
    let mut at = skip(bytes, &[0xf3, 0x0f, 0x1e, 0xfa]);
    at += skip(bytes.get(at..)?, &[0xf2]);
    let [0xff, 0x25, a, b, c, d] = *bytes.get(at..)?.first_chunk::<6>()? else { return None };
    let behind = entry + at as u64 + 6;
    let slot = behind.wrapping_add_signed(i64::from(i32::from_le_bytes([a, b, c, d])));
    memory.word(Address(slot)).ok()
}
