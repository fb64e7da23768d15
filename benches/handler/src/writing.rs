//! Of the agent's floor of this name.

#[allow(dead_code, reason = "the agent asks it for more")]
#[path = "../../../crates/agent/src/writing/tables.rs"]
pub mod tables;
