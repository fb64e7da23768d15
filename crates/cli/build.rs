//! Puts the shared libraries of the agent, the copies and the allocations, each with its hash, where the command includes them. The viewer's page is in genba-page.
//! Owns: `genba-agent.so`, `genba-copies.so` and `genba-allocations.so` in OUT_DIR, and GENBA_…_SHA256 of each. Never: looks for a linker;
//! they are linked as the command is (so that maturin settles the glibc of both).
//!
//! GENBA_AGENT_LIBRARIES names a folder with files of these names, built before: nothing is built then. `make build` leaves them in
//! build/libraries, and `make check` and `make test` take them from there. A relative path begins at the repository's root.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

const LIBRARIES: [&str; 3] = ["agent", "copies", "allocations"];

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo::rerun-if-env-changed=GENBA_AGENT_LIBRARIES");
    let (folder, prefix) = match std::env::var_os("GENBA_AGENT_LIBRARIES") {
        Some(folder) => (root.join(folder), "genba-"),
        None => (build_libraries(&root), "libgenba_"),
    };
    LIBRARIES.into_iter().for_each(|name| carry(&folder.join(format!("{prefix}{name}.so")), name));
}

fn carry(library: &Path, name: &str) {
    println!("cargo::rerun-if-changed={}", library.display());
    let bytes = std::fs::read(library).unwrap_or_else(|error| panic!("{}: {error}", library.display()));
    let carried = Path::new(&variable("OUT_DIR")).join(format!("genba-{name}.so"));
    std::fs::write(&carried, &bytes).unwrap_or_else(|error| panic!("{}: {error}", carried.display()));
    let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=GENBA_{}_SHA256={hash}", name.to_uppercase());
}

/// Always optimised: its handler has a budget of microseconds, whatever the command is built for.
fn build_libraries(root: &Path) -> PathBuf {
    for source in [
        "crates/agent",
        "crates/copies",
        "crates/allocations",
        "crates/python",
        "crates/signal",
        "crates/bells",
        "crates/heap",
        "crates/format/src",
        "crates/format/Cargo.toml",
        "Cargo.toml",
        "Cargo.lock",
    ] {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    let (triple, folder) = (variable("TARGET"), Path::new(&variable("OUT_DIR")).join("agent"));
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args([
            "build",
            "--release",
            "--locked",
            "--package",
            "genba-agent",
            "--package",
            "genba-copies",
            "--package",
            "genba-allocations",
            "--target",
            &triple,
            "--target-dir",
        ])
        .arg(&folder)
        .arg("--manifest-path")
        .arg(root.join("Cargo.toml"))
        // Nobody debugs a copy inside another binary; its unwind tables stay.
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    // What the outer cargo decided for the command only: flags, clippy in rustc's place, coverage.
    for decided in ["CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(decided);
    }
    must_succeed(&mut cargo);
    folder.join(triple).join("release")
}

fn must_succeed(command: &mut Command) {
    let name = command.get_program().to_owned();
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{} failed: {status}", Path::new(&name).display()),
        Err(error) => panic!("cannot start {}: {error}; it is needed to build genba", Path::new(&name).display()),
    }
}

fn variable(name: &str) -> String {
    std::env::var_os(name).as_deref().and_then(OsStr::to_str).unwrap_or_else(|| panic!("cargo sets {name}")).to_owned()
}
