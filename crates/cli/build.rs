//! Puts what the command carries where it includes it: the agent's shared library with its hash, and the viewer's page.
//! Owns: `genba-agent.so` in OUT_DIR, GENBA_AGENT_SHA256, and the first making of web/dist. Never: looks for a linker;
//! the agent is linked as the command is (so that cargo-zigbuild and maturin settle the glibc of both).
//!
//! GENBA_AGENT_SO names a library built before, e.g. one that does nothing, to work on the command alone.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    make_page(&root.join("web"));

    println!("cargo::rerun-if-env-changed=GENBA_AGENT_SO");
    let library = match std::env::var_os("GENBA_AGENT_SO") {
        Some(path) => PathBuf::from(path),
        None => build_agent(&root),
    };
    println!("cargo::rerun-if-changed={}", library.display());
    let bytes = std::fs::read(&library).unwrap_or_else(|error| panic!("{}: {error}", library.display()));
    let carried = Path::new(&variable("OUT_DIR")).join("genba-agent.so");
    std::fs::write(&carried, &bytes).unwrap_or_else(|error| panic!("{}: {error}", carried.display()));
    let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=GENBA_AGENT_SHA256={hash}");
}

/// Always optimised: its handler has a budget of microseconds, whatever the command is built for.
fn build_agent(root: &Path) -> PathBuf {
    for source in [
        "crates/agent",
        "crates/python",
        "crates/signal",
        "crates/bells",
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
        .args(["build", "--release", "--locked", "--package", "genba-agent", "--target", &triple, "--target-dir"])
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
    folder.join(triple).join("release/libgenba_agent.so")
}

/// The page is made here only when it is missing (a fresh checkout, pip); `make build` keeps it up to date.
fn make_page(web: &Path) {
    let page = web.join("dist/viewer.html");
    println!("cargo::rerun-if-changed={}", page.display());
    if page.is_file() {
        return;
    }
    for words in [["ci", "--silent"].as_slice(), &["run", "--silent", "build"]] {
        must_succeed(Command::new("npm").arg("--prefix").arg(web).args(words));
    }
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
