//! What the server knows of recordings, without decoding one itself: a recording from the network is hostile until proved otherwise, so a
//! process of its own reads it, within limits, and dies alone.
//! Owns: the questions (`ask`), the process that answers them (`work`), who starts it (`workers`) and remembers answers (`answers`).
//! Never: decodes a recording in the process of the server; opens a file that a recording names.

mod answers;
mod ask;
mod compared;
mod facts;
mod opened;
mod unread;
mod work;
mod workers;

pub use answers::Answers;
pub use ask::{Ask, OrderBy, RowsBy, WeighedBy};
pub use facts::{Facts, FunctionFact, VerdictFact};
pub use unread::{Refusal, Unread};
pub use work::work;
pub use workers::{Answer, Asker, Limits, Workers};
