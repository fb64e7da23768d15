//! The heap of a CPython by class: the walk over all objects, and the answer in bytes.
//! `core` only, but for the reader of an answer (feature `std`): the walk runs in a copy of the program, where the locks of its allocator
//! may be held by threads that the copy does not have.
//! Never: allocates but from `Ground`, writes to an object, calls code of the program other than `tp_traverse` and `tp_is_gc`, panics.
//! Over twelve files: each has one noun of the walk, and is small.
#![cfg_attr(not(any(test, feature = "std")), no_std)]

pub mod answer;
mod bytes;
pub mod chains;
pub mod classes;
pub mod cycles;
mod dtypes;
mod elements;
pub mod found;
mod garbage;
pub mod ground;
mod held;
mod index;
pub mod layout;
mod links;
mod live;
#[cfg(test)]
mod made;
mod members;
mod names;
mod owned;
pub mod parents;
pub mod pieces;
mod pile;
mod private;
mod raw;
mod sizes;
pub mod steps;
mod titles;
pub mod walk;
