//! One file a verb: its arguments, and what it does with them.
//! Owns: nothing itself. Never: reads another verb's arguments.

pub mod check;
pub mod completions;
pub mod diff;
pub mod export;
pub mod html;
pub mod lines;
pub mod man;
pub mod report;
pub mod run;
pub mod tree;
pub mod view;
pub mod within;
