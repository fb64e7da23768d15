//! The key of a recorded process: what its blocks have in common, and no other process has.
//! Owns: where it comes from. Never: fails.

use crate::system::proc::{monotonic_ns, own_pid};

/// 128 random bits from the kernel; from clocks and addresses where it has none.
pub fn random_key() -> [u8; 16] {
    let mut key = [0_u8; 16];
    // SAFETY: the kernel writes at most 16 bytes.
    let filled = unsafe { libc::syscall(libc::SYS_getrandom, key.as_mut_ptr(), key.len(), 1_u32) };
    if filled != 16 {
        let words = [monotonic_ns(), u64::from(own_pid()) << 32 ^ (&raw const key) as u64];
        for (slot, byte) in key.iter_mut().zip(words.iter().flat_map(|word| word.to_le_bytes())) {
            *slot = byte;
        }
    }
    key
}
