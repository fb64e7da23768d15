//! What a walk needs: memory of its own, and the clock that ends it.
//! Owns: the set of objects that were seen, and the stack of those that wait. Never: uses the program's allocator.

/// What the walker is given by the process that it runs in.
pub trait Ground {
    /// So many bytes, zero, of a mapping of their own; null: there is no memory.
    fn map(&self, bytes: usize) -> *mut u8;

    /// Gives a whole mapping back.
    ///
    /// # Safety
    /// `memory` is from `map`, of this size, and nobody uses it any more.
    unsafe fn unmap(&self, memory: *mut u8, bytes: usize);

    /// Whether the walk has taken all the time that it may. Asked now and then.
    fn is_late(&self) -> bool;
}

/// One bit for eight bytes of address, in pieces of 64 MiB of address.
const PIECE_BITS: u32 = 26;
const PIECE_BYTES: usize = 1 << (PIECE_BITS - 6);
/// Addresses of user space.
const ADDRESS_BITS: u32 = 47;
const PIECES: usize = 1 << (ADDRESS_BITS - PIECE_BITS);

/// A set of addresses. Its pages are touched as addresses come.
pub struct Seen {
    pieces: *mut *mut u8,
}

/// There is no memory for more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMemory;

impl Seen {
    pub fn new(ground: &impl Ground) -> Option<Seen> {
        let pieces = ground.map(PIECES * size_of::<*mut u8>()).cast::<*mut u8>();
        (!pieces.is_null()).then_some(Seen { pieces })
    }

    /// True: the address is new.
    #[inline]
    pub fn insert(&mut self, address: u64, ground: &impl Ground) -> Result<bool, NoMemory> {
        let piece = (address >> PIECE_BITS) as usize;
        if piece >= PIECES {
            // No object of user space.
            return Ok(false);
        }
        // SAFETY: within the table; a piece is null or a mapping of PIECE_BYTES, and the place lies in it. Both are this walk's own.
        unsafe {
            let slot = self.pieces.add(piece);
            if (*slot).is_null() {
                *slot = ground.map(PIECE_BYTES);
                if (*slot).is_null() {
                    return Err(NoMemory);
                }
            }
            let place = (address >> 3) as usize & (PIECE_BYTES * 8 - 1);
            let byte = (*slot).add(place / 8);
            let bit = 1 << (place % 8);
            let is_new = *byte & bit == 0;
            *byte |= bit;
            Ok(is_new)
        }
    }

    pub fn give_back(self, ground: &impl Ground) {
        // SAFETY: the table and its pieces are this set's own, and it is consumed.
        unsafe {
            for piece in 0..PIECES {
                // Pages of the table that were never touched would be read in: they are the kernel's zero page.
                let piece = *self.pieces.add(piece);
                if !piece.is_null() {
                    ground.unmap(piece, PIECE_BYTES);
                }
            }
            ground.unmap(self.pieces.cast(), PIECES * size_of::<*mut u8>());
        }
    }
}

/// Objects that were met and not looked at yet.
pub struct Waiting {
    memory: *mut u64,
    room: usize,
    len: usize,
}

const WAITING_FIRST: usize = 1 << 16;

impl Waiting {
    pub fn new(ground: &impl Ground) -> Option<Waiting> {
        let memory = ground.map(WAITING_FIRST * 8).cast::<u64>();
        (!memory.is_null()).then_some(Waiting { memory, room: WAITING_FIRST, len: 0 })
    }

    #[inline]
    pub fn push(&mut self, object: u64, ground: &impl Ground) -> Result<(), NoMemory> {
        if self.len == self.room {
            self.grow(ground)?;
        }
        // SAFETY: below `room`.
        unsafe { self.memory.add(self.len).write(object) };
        self.len += 1;
        Ok(())
    }

    #[inline]
    pub fn pop(&mut self) -> Option<u64> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: written by `push`.
        Some(unsafe { self.memory.add(self.len).read() })
    }

    #[cold]
    fn grow(&mut self, ground: &impl Ground) -> Result<(), NoMemory> {
        let memory = ground.map(self.room * 16).cast::<u64>();
        if memory.is_null() {
            return Err(NoMemory);
        }
        // SAFETY: two mappings of this stack's own; the old one is used no more.
        unsafe {
            core::ptr::copy_nonoverlapping(self.memory, memory, self.len);
            ground.unmap(self.memory.cast(), self.room * 8);
        }
        self.memory = memory;
        self.room *= 2;
        Ok(())
    }

    pub fn give_back(self, ground: &impl Ground) {
        // SAFETY: the mapping is this stack's own, and it is consumed.
        unsafe { ground.unmap(self.memory.cast(), self.room * 8) };
    }
}

#[cfg(test)]
pub mod tests {
    use super::{Ground, NoMemory, Seen, Waiting};
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::cell::Cell;

    /// The test's own heap, of which a number of pieces may be asked for.
    pub struct Heap(pub Cell<u32>);

    impl Ground for Heap {
        fn map(&self, bytes: usize) -> *mut u8 {
            let Some(left) = self.0.get().checked_sub(1) else { return core::ptr::null_mut() };
            self.0.set(left);
            // SAFETY: not empty.
            unsafe { alloc_zeroed(Layout::from_size_align(bytes, 4096).unwrap()) }
        }

        unsafe fn unmap(&self, memory: *mut u8, bytes: usize) {
            // SAFETY: from `map`.
            unsafe { dealloc(memory, Layout::from_size_align(bytes, 4096).unwrap()) }
        }

        fn is_late(&self) -> bool {
            false
        }
    }

    #[test]
    fn each_address_is_new_once() {
        let heap = Heap(Cell::new(10));
        let mut seen = Seen::new(&heap).unwrap();
        for address in [0x7f00_0000_0010, 0x7f00_0000_0018, 0x5500_1234_5678, 8] {
            assert_eq!(seen.insert(address, &heap), Ok(true), "{address:#x}");
            assert_eq!(seen.insert(address, &heap), Ok(false), "{address:#x}");
        }
        assert_eq!(seen.insert(1 << 47, &heap), Ok(false), "no address of user space");
        heap.0.set(0);
        assert_eq!(seen.insert(0x1000_0000_0000, &heap), Err(NoMemory));
        seen.give_back(&heap);
    }

    #[test]
    fn what_waits_comes_back_last_first() {
        let heap = Heap(Cell::new(10));
        let mut waiting = Waiting::new(&heap).unwrap();
        for object in 0..200_000 {
            waiting.push(object, &heap).unwrap();
        }
        assert!((0..200_000).rev().all(|object| waiting.pop() == Some(object)));
        assert_eq!(waiting.pop(), None);
        waiting.give_back(&heap);
    }
}
