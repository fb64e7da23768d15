//! What is allowed and what is meant: scopes, wrong tokens, the search language.

pub mod access;
pub mod guesses;
pub mod naming;
pub mod search;
