//! The reading half: from bytes to blocks that are intact and true to their tables, and a fault for everything else.
//! Owns: one file below for each step. Never: writes; the agent is built without it.

mod block;
mod budget;
pub mod columns;
mod fault;
pub mod laws;
mod reader;
mod recording;
mod validate;

pub use block::ReadBlock;
pub use fault::{BlockName, Fault, FaultKind, NotARecording};
pub use reader::{Event, Reader};
pub use recording::{LostBlocks, Order, Recording, read};
