//! Memory that tests make up word by word.

use genba_python::memory::{Address, Fault, Memory};
use std::collections::HashMap;

/// By address. All others are 0.
pub struct Words(pub HashMap<u64, u64>);

impl Memory for Words {
    fn word(&self, address: Address) -> Result<u64, Fault> {
        let word = |at: u64| self.0.get(&at).copied().unwrap_or(0);
        // Bytes are read out of words that need not be aligned.
        let (at, shift) = (address.0 & !7, address.0 % 8 * 8);
        Ok(if shift == 0 { word(at) } else { word(at) >> shift | word(at + 8) << (64 - shift) })
    }
}
