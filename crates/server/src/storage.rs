//! What the server keeps: rows in a database, bytes in a store.

pub mod chunks;
pub mod contents;
pub mod database;
pub mod links;
pub mod listing;
pub mod recordings;
pub mod scratch;
pub mod settings;
pub mod store;
pub mod terms;
pub mod tokens;
