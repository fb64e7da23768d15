//! What a recording tells about memory: garbage collections, and heaps by class. Owns: nothing itself.

pub(super) mod collections;
pub(super) mod heaps;
