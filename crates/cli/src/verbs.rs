//! One file a verb: its arguments, and what it does with them.
//! Owns: nothing itself. Never: reads another verb's arguments.
//! Over twelve files: a verb has one.

pub mod attach;
pub mod bench;
pub mod check;
pub mod completions;
pub mod diff;
pub mod doctor;
pub mod dump;
pub mod export;
pub mod gc;
pub mod heap;
pub mod html;
pub mod lines;
pub mod man;
pub mod ps;
pub mod pstats;
pub mod push;
pub mod report;
pub mod run;
pub mod serve;
pub mod top;
pub mod trace;
pub mod tree;
pub mod view;
pub mod within;
