//! Plain reads of the program's memory.
//! Owns: how a word, a half and a byte are read. Never: asks whether the memory is there: callers read objects that are alive, since the
//! walker has the GIL, or is in a copy that was made with it.

/// # Safety
/// Eight readable bytes.
#[inline(always)]
pub unsafe fn word(at: u64) -> u64 {
    // SAFETY: as the caller promises.
    unsafe { core::ptr::with_exposed_provenance::<u64>(at as usize).read_unaligned() }
}

/// # Safety
/// Four readable bytes.
#[inline(always)]
pub unsafe fn half(at: u64) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { core::ptr::with_exposed_provenance::<u32>(at as usize).read_unaligned() }
}

/// # Safety
/// One readable byte.
#[inline(always)]
pub unsafe fn byte(at: u64) -> u8 {
    // SAFETY: as the caller promises.
    unsafe { core::ptr::with_exposed_provenance::<u8>(at as usize).read() }
}
