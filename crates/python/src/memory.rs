//! The memory of a program, as whoever looks at it may read it: an address has no deref, a read gives a value or a fault.
//! Owns: `Address`, `Memory`. Never: reads by itself, returns a default on a fault. Keeps: I-06.
//! Partner: signal/src/memory.rs, which reads the own process.

/// An address in the program, as a number. Only `Memory` may look behind it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub struct Address(pub u64);

impl Address {
    pub const NULL: Address = Address(0);

    #[must_use]
    pub const fn at(self, offset_bytes: u64) -> Address {
        Address(self.0.wrapping_add(offset_bytes))
    }

    #[must_use]
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }
}

/// The memory could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault;

/// A way to read the program's memory.
pub trait Memory {
    /// False where each read asks the kernel: who may do without one does.
    const IS_CHEAP: bool = true;

    /// Reads eight bytes, of any alignment.
    ///
    /// # Errors
    /// `Fault` when any of them is not readable.
    fn word(&self, address: Address) -> Result<u64, Fault>;

    /// Reads an address.
    ///
    /// # Errors
    /// `Fault` as `word`.
    #[inline(always)]
    fn address(&self, address: Address) -> Result<Address, Fault> {
        Ok(Address(self.word(address)?))
    }

    /// Reads one byte without touching bytes on another page.
    ///
    /// # Errors
    /// `Fault` as `word`.
    #[inline(always)]
    fn byte(&self, address: Address) -> Result<u8, Fault> {
        let shift_bits = (address.0 & 7) * 8;
        Ok((self.word(Address(address.0 & !7))? >> shift_bits) as u8)
    }

    /// Reads the 32-bit value at a four-byte aligned address.
    ///
    /// # Errors
    /// `Fault` as `word`.
    #[inline(always)]
    fn half(&self, address: Address) -> Result<u32, Fault> {
        let shift_bits = (address.0 & 4) * 8;
        Ok((self.word(Address(address.0 & !7))? >> shift_bits) as u32)
    }
}
