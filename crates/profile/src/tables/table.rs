//! Tables whose rows are found by an index of their own type: an index names its table and mixes with no other number.
//! Owns: `Table`, `TableIndex` and the macro that makes an index. Never: hands out an index of a row that does not exist.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The position of a row, counted from 0, as a type of its own.
pub trait TableIndex: Copy {
    fn new(position: usize) -> Self;
    fn position(self) -> usize;
}

macro_rules! table_index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $crate::tables::table::TableIndex for $name {
            fn new(position: usize) -> Self {
                Self(u32::try_from(position).expect("a table holds fewer than 2^32 rows"))
            }
            fn position(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub(crate) use table_index;

/// Rows of one kind. Rows are only added, so an index stays valid.
#[derive(Clone, Debug)]
pub struct Table<I, T> {
    rows: Vec<T>,
    index: PhantomData<I>,
}

impl<I: TableIndex, T> Table<I, T> {
    pub fn push(&mut self, row: T) -> I {
        self.rows.push(row);
        I::new(self.rows.len() - 1)
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut()
    }

    pub fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.rows.iter().enumerate().map(|(position, row)| (I::new(position), row))
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self { rows: Vec::new(), index: PhantomData }
    }
}

impl<I: TableIndex, T> Index<I> for Table<I, T> {
    type Output = T;
    fn index(&self, index: I) -> &T {
        &self.rows[index.position()]
    }
}

impl<I: TableIndex, T> IndexMut<I> for Table<I, T> {
    fn index_mut(&mut self, index: I) -> &mut T {
        &mut self.rows[index.position()]
    }
}
