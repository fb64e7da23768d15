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

/// From 3.12 on the upper half of the word is not the count's; what lives for ever has a number there that no references use up.
///
/// # Safety
/// An object that is alive.
#[inline]
pub(crate) unsafe fn references_of(object: u64, minor: u8) -> u32 {
    // SAFETY: an object begins with its count.
    unsafe { if minor == 11 { u32::try_from(word(object)).unwrap_or(u32::MAX) } else { half(object) } }
}
