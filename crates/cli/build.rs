//! Puts the agent's shared library where the command includes it, with its hash.
//! Owns: `genba-agent.so` in OUT_DIR and GENBA_AGENT_SHA256. GENBA_AGENT_SO names a library built before.

use std::path::Path;

use sha2::{Digest, Sha256};

fn main() {
    println!("cargo::rerun-if-env-changed=GENBA_AGENT_SO");
    let bytes = match std::env::var_os("GENBA_AGENT_SO") {
        Some(path) => {
            println!("cargo::rerun-if-changed={}", Path::new(&path).display());
            std::fs::read(&path).unwrap_or_else(|error| panic!("GENBA_AGENT_SO={}: {error}", path.display()))
        }
        None => Vec::new(),
    };
    let target = Path::new(&std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("genba-agent.so");
    std::fs::write(&target, &bytes).unwrap_or_else(|error| panic!("{}: {error}", target.display()));
    let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=GENBA_AGENT_SHA256={hash}");
}
