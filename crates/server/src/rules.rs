//! What is allowed and what is meant: scopes, wrong tokens, room for uploads, the search language.

pub mod access;
pub mod guesses;
pub mod naming;
pub mod room;
pub mod search;
