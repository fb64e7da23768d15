//! Garbage collections as events: callables of genba's own in a list that the collector calls, and which the program does not see.
//! Owns: what happens in the program's threads for that. Never: turns events into rows of the recording (sampling/collections.rs).
//!
//! The collector calls the items of the list that its state points to; `gc.callbacks` is that list. While collections are recorded the
//! state points to a private list instead: genba's first callable, the program's, genba's second. The program's own list stays what it
//! is, and is looked at in each phase, so that what the program adds and removes counts from the next phase on.
//!
//! | phase | first callable               | program's | second callable         |
//! |-------|------------------------------|-----------|-------------------------|
//! | start | takes the program's list over | run       | notes the beginning     |
//! | stop  | notes the end; takes it over | run       | does nothing            |

pub mod at_exit;
pub mod callables;
pub mod interpreter;
pub mod known;
pub mod list;
pub mod ring;
pub mod tried;

use crate::heap::moments;
use genba_signal::deposits;
use std::sync::atomic::Ordering::SeqCst;

/// In a forked child: what was not taken is its parent's, and so is what was counted.
pub fn forked() {
    deposits::collections::POOL.forget_walkers();
    ring::RING.forked();
}

/// In a forked child that is not recorded: the callables stay, and note nothing.
pub fn rest() {
    moments::end();
    known::IS_ON.store(false, SeqCst);
}
