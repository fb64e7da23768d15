//! Alternate signal stacks for builds that BOLT made: their code may keep data farther below the stack pointer than the 128 bytes that the
//! kernel leaves alone (docs/limits.md), so no signal may arrive on a thread's own stack.
//! Owns: one file below for each subject: such a build (bolt.rs), the stack of a thread (stack.rs), the program's own alternate stack
//! (view.rs), its handlers (frame.rs), mapped ones, for the threads of a program that ran before genba came and for those whose own
//! stack has no room for one (fitted.rs). Never: lets the program's handlers run on genba's stack. Partners: system/threads/starts.rs (each new
//! thread comes by), signals.rs (`SA_ONSTACK`).

mod bolt;
pub mod fitted;
mod frame;
mod stack;
mod view;

pub use bolt::{begin, begin_late, is_in_bolted_file, is_needed};
pub use frame::distance_to_programs_stack;
pub use stack::{Room, room, set_for_thread};
pub use view::program_sigaltstack;
