//! Where CPython 3.11 and 3.12 keep the word that makes the interpreter's loop look for pending calls.
//! Owns: the offsets. Never: changes anything.
//!
//! In these versions `Py_AddPendingCall` sets that word only when the main thread calls it: a call that another thread adds waits until
//! something else sets the word, which in a program with one thread may never happen. From 3.13 on it is a bit of the main thread's state.
//! Sources: CPython 3.11.7 and 3.12.1, Include/internal/pycore_interp.h, pycore_ceval_state.h; Python/ceval.c, Python/ceval_gil.c.

use crate::layout::Layout;
use crate::memory::{Address, Fault, Memory};

/// Addresses of two ints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Breaker {
    pub breaker: Address,
    /// 1 while calls wait.
    pub calls_to_do: Address,
}

impl Breaker {
    /// None: a later version, which needs none of it, or an interpreter in which these words are not what they must be.
    ///
    /// # Errors
    /// The runtime cannot be read.
    pub fn find<M: Memory>(memory: &M, layout: &Layout) -> Result<Option<Breaker>, Fault> {
        let runtime = Address(layout.runtime.address);
        // The main interpreter follows the list's head.
        let main = memory.address(runtime.at(layout.runtime.interpreters_head).at(8))?;
        if main.is_null() {
            return Ok(None);
        }
        let found = match layout.minor {
            11 => Breaker { breaker: main.at(100), calls_to_do: main.at(120) },
            12 => Breaker { breaker: main.at(368), calls_to_do: runtime.at(2032) },
            _ => return Ok(None),
        };
        // The next word is the request to drop the GIL.
        let words = [found.breaker, found.breaker.at(4), found.calls_to_do];
        for word in words {
            if memory.half(word)? > 1 {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }
}

#[cfg(test)]
mod tests {
    use super::Breaker;
    use crate::find::BASE;
    use crate::layout::{Layout, Runtime};
    use crate::memory::{Address, Fault, Memory};
    use std::collections::BTreeMap;

    struct Image(BTreeMap<u64, u64>);

    impl Memory for Image {
        fn word(&self, address: Address) -> Result<u64, Fault> {
            if (0x1000..0x4000).contains(&address.0) {
                return Ok(self.0.get(&address.0).copied().unwrap_or(0));
            }
            Err(Fault)
        }
    }

    fn find(minor: u8, more: &[(u64, u64)]) -> Result<Option<Breaker>, Fault> {
        let runtime = Runtime { address: 0x1000, ..BASE.runtime };
        let mut image = Image(more.iter().copied().collect());
        image.0.insert(0x1000 + 48, 0x2000);
        Breaker::find(&image, &Layout { minor, runtime, ..BASE })
    }

    #[test]
    fn two_versions_have_one() {
        let breaker = |breaker, calls| Ok(Some(Breaker { breaker: Address(breaker), calls_to_do: Address(calls) }));
        assert_eq!(find(11, &[]), breaker(0x2000 + 100, 0x2000 + 120));
        assert_eq!(find(12, &[]), breaker(0x2000 + 368, 0x1000 + 2032));
        assert_eq!(find(13, &[]), Ok(None));
    }

    #[test]
    fn words_that_say_what_they_cannot_say_are_other_words() {
        for at in [0x2000 + 368, 0x2000 + 372, 0x1000 + 2032] {
            assert_eq!(find(12, &[(at & !7, 2 << (8 * (at & 7)))]), Ok(None), "{at:#x}");
        }
    }
}
