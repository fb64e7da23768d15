//! Where genba keeps what it can make again: its library, names of C functions.
//! Owns: which folder that is, and who may have written there. Never: trusts what somebody else could have written.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The user's cache, else a folder of their own in /tmp.
pub fn folders() -> impl Iterator<Item = PathBuf> {
    let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let cache = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
    let own = format!("/tmp/genba-{}", rustix::process::geteuid().as_raw());
    cache.map(|cache| cache.join("genba")).into_iter().chain([PathBuf::from(own)])
}

/// Ours, and nobody else may write to it.
pub fn check_owned(found: &fs::Metadata, is_folder: bool) -> Result<(), String> {
    let owner = found.uid();
    if found.is_dir() != is_folder {
        return Err(format!("it is not a {}", if is_folder { "folder" } else { "file" }));
    }
    if owner != rustix::process::geteuid().as_raw() {
        return Err(format!("it belongs to another user (uid {owner})"));
    }
    if found.mode() & 0o022 != 0 {
        return Err(format!("others may write to it (mode {:o})", found.mode() & 0o7777));
    }
    Ok(())
}
