//! Values of one kind in memory of the walk's own, which grows.
//! Owns: the mapping. Never: uses the program's allocator.

use crate::ground::{Ground, NoMemory};

pub struct Pile<T> {
    memory: *mut T,
    room: usize,
    len: usize,
}

const FIRST_BYTES: usize = 1 << 16;

impl<T: Copy> Pile<T> {
    pub fn new(ground: &impl Ground) -> Option<Pile<T>> {
        let room = FIRST_BYTES / size_of::<T>();
        let memory = ground.map(room * size_of::<T>()).cast::<T>();
        (!memory.is_null()).then_some(Pile { memory, room, len: 0 })
    }

    #[inline]
    pub fn push(&mut self, value: T, ground: &impl Ground) -> Result<(), NoMemory> {
        if self.len == self.room {
            self.grow(ground)?;
        }
        // SAFETY: below `room`.
        unsafe { self.memory.add(self.len).write(value) };
        self.len += 1;
        Ok(())
    }

    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let last = self.items().last().copied()?;
        self.len -= 1;
        Some(last)
    }

    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    #[inline]
    #[must_use]
    pub fn items(&self) -> &[T] {
        // SAFETY: so many were written, and the mapping is this pile's own.
        unsafe { core::slice::from_raw_parts(self.memory, self.len) }
    }

    #[inline]
    pub fn items_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; nobody else has them.
        unsafe { core::slice::from_raw_parts_mut(self.memory, self.len) }
    }

    #[cold]
    fn grow(&mut self, ground: &impl Ground) -> Result<(), NoMemory> {
        let memory = ground.map(self.room * 2 * size_of::<T>()).cast::<T>();
        if memory.is_null() {
            return Err(NoMemory);
        }
        // SAFETY: two mappings of this pile's own; the old one is used no more.
        unsafe {
            core::ptr::copy_nonoverlapping(self.memory, memory, self.len);
            ground.unmap(self.memory.cast(), self.room * size_of::<T>());
        }
        self.memory = memory;
        self.room *= 2;
        Ok(())
    }

    pub fn give_back(self, ground: &impl Ground) {
        // SAFETY: the mapping is this pile's own, and it is consumed.
        unsafe { ground.unmap(self.memory.cast(), self.room * size_of::<T>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::Pile;
    use crate::ground::NoMemory;
    use crate::ground::tests::Heap;
    use std::cell::Cell;

    #[test]
    fn values_keep_their_places_as_it_grows() {
        let heap = Heap(Cell::new(10));
        let mut pile = Pile::new(&heap).unwrap();
        for value in 0..20_000_u64 {
            pile.push(value, &heap).unwrap();
        }
        assert!(pile.items().iter().copied().eq(0..20_000));
        pile.items_mut()[7] = 1;
        pile.truncate(8);
        assert_eq!((pile.pop(), pile.pop(), pile.items().len()), (Some(1), Some(6), 6));
        pile.truncate(0);
        assert_eq!(pile.pop(), None);
        pile.give_back(&heap);
    }

    #[test]
    fn without_memory_it_says_so() {
        let heap = Heap(Cell::new(1));
        let mut pile = Pile::new(&heap).unwrap();
        assert_eq!((0..10_000_u64).find_map(|value| pile.push(value, &heap).err()), Some(NoMemory));
        pile.give_back(&heap);
        assert!(Pile::<u64>::new(&heap).is_none());
    }
}
