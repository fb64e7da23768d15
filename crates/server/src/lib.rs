//! The server of genba: recordings that a team shares, keeps and finds again. docs/serve.md says how it is run, openapi.yaml what it answers.
//! Owns: everything behind `genba serve`, and the connections of `genba view`. Never: parses a command line or decides where words are printed; crates/cli does.
//! Floors, the lowest first: `words`, `storage`, `rules` and `reading`, `keeping`, `routes`, `serve` and `chores`.
#![forbid(unsafe_code)]

mod chores;
mod keeping;
pub mod reading;
mod routes;
mod rules;
mod serve;
mod storage;
mod words;

pub use chores::{
    Checked, Copied, Place, Pruned, add_token, backup, check, list_tokens, move_to, prune, revoke_token, rotate_token,
};
pub use serve::{Answer, Asked, Found, Settings, Site, serve, serve_here};
pub use storage::tokens::Token;
pub use words::problem::Problem;
