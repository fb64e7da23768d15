//! What a wait tells beside how long it took: that it was shorter than a tick, that it was for work to come, that the program had paused its
//! recording, or that a thread could not be asked whether it waits.

pub mod for_work;
pub mod pauses;
pub mod short;
pub mod unasked;
