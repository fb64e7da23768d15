//! Of the agent's floor of this name: what the handler's answers are read with. Its list of loaded files is a shorter one here.

#[allow(dead_code, reason = "the agent asks it for more")]
#[path = "../../../crates/agent/src/reading/cfi.rs"]
pub mod cfi;
#[allow(dead_code, reason = "the agent asks it for more")]
#[path = "../../../crates/agent/src/reading/codes.rs"]
pub mod codes;
#[path = "modules.rs"]
pub mod modules;
