//! What a call instruction called: functions that a tail call hid from the stack.
//! Owns: decoding of `call rel32` before a return address, and of PLT entries behind its target. Never: guesses at indirect calls.

use crate::reading::count_hooks;
use crate::reading::modules::{Loaded, Place};
use crate::system::programs::environment;
use genba_python::memory::{Address, Memory};
use rustc_hash::FxHashMap;

/// Targets by return address; emptied when files come or go.
#[derive(Default)]
pub struct CallTargets {
    targets: FxHashMap<u64, Option<u64>>,
}

impl CallTargets {
    /// 0.4 MB of them.
    const ENTRIES_MAX: usize = (1 << 14) / 8 * 7;

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
            .filter(|&target| {
                // genba's own memcpy is shown as the function that it goes on to.
                let is_shown = |place: &Place| {
                    !environment::is_hooks(&loaded.modules[place.module].path) && !count_hooks::is_own(target)
                };
                loaded.place(target).filter(is_shown).is_some_and(|place| place.function == Some(target))
            });
        self.targets.insert(return_address, target);
        target
    }
}

/// Whether `pc` stands in the PLT entry that the call before `return_address` names: on its way, no tail call.
pub fn is_on_its_way<M: Memory>(memory: &M, return_address: u64, pc: u64) -> bool {
    const PLT_ENTRY_BYTES: u64 = 16;
    direct_call(memory, return_address)
        .is_some_and(|entry| pc.wrapping_sub(entry) < PLT_ENTRY_BYTES && through_plt(memory, entry).is_some())
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

#[cfg(test)]
mod tests {
    use super::is_on_its_way;
    use genba_signal::memory::Guarded;

    /// `call entry` at 0 (it returns to 5); at 16 `endbr64; jmp *[rip + 6]`, whose slot lies at 32.
    #[test]
    fn in_the_plt_entry_it_is_on_its_way_and_behind_it_it_is_there() {
        let mut code = vec![0x90_u8; 64];
        code[..5].copy_from_slice(&[0xe8, 11, 0, 0, 0]);
        code[16..26].copy_from_slice(&[0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 6, 0, 0, 0]);
        // The return address lies behind the call; eight bytes before it are read.
        let padded = [vec![0x90_u8; 8], code].concat();
        let begin = padded.as_ptr() as u64 + 8;
        let is_on_its_way = |pc| is_on_its_way(&Guarded, begin + 5, pc);
        assert!(is_on_its_way(begin + 16) && is_on_its_way(begin + 20));
        assert!(!is_on_its_way(begin + 32) && !is_on_its_way(begin + 5));
        assert!(!super::is_on_its_way(&Guarded, begin + 6, begin + 16), "no call ends there");
    }
}
