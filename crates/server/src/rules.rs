//! What is allowed and what is meant: scopes, wrong tokens, room in memory, the pace of bodies, the search language.

pub mod access;
pub mod guesses;
pub mod naming;
pub mod pace;
pub mod room;
pub mod search;
