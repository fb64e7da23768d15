//! What a wait tells beside how long it took: that it was shorter than a tick, or that it was for work to come.

pub mod for_work;
pub mod short;
