//! Builds the pages of web/ where they are missing.
//! Owns: the first making of web/dist. Never: updates pages that exist; `make build` does.

use std::path::Path;
use std::process::Command;

fn main() {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let web = Path::new(&root).join("../../web");
    let made = [
        "dist/viewer.html",
        "dist/bench.html",
        "dist/cycles.html",
        "dist/cycle-graphs.html",
        "dist/server.html",
        "dist/follow.js",
    ]
    .map(|name| web.join(name));
    made.iter().for_each(|file| println!("cargo::rerun-if-changed={}", file.display()));
    if made.iter().all(|file| file.is_file()) {
        return;
    }
    // A fresh checkout, or pip.
    for words in [["ci", "--silent"].as_slice(), &["run", "--silent", "build"]] {
        match Command::new("npm").arg("--prefix").arg(&web).args(words).status() {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("npm failed: {status}"),
            Err(error) => panic!("cannot start npm: {error}; it is needed to build genba"),
        }
    }
}
