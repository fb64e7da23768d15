//! What a wait tells beside how long it took: that it was shorter than a tick, that it was for work to come, or that the program had paused its recording.

pub mod for_work;
pub mod pauses;
pub mod short;
