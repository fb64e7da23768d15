//! The agent as a file that ld.so can load: the bytes carried in this binary, unpacked to a private folder under
//! their hash.
//! Owns: the checks before use (owner, mode, each byte). Never: loads the agent, trusts a file that somebody else could have written.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, StatVfsMountFlags, statvfs};

use crate::files::cache_folder::{check_owned, folders};
use crate::words::failure::{self, Failure};

static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/genba-agent.so"));
const AGENT_SHA256: &str = env!("GENBA_AGENT_SHA256");
const BUFFER_BYTES: usize = 64 << 10;

/// The path of a verified copy of the agent; makes one where none is.
pub fn unpacked() -> Result<PathBuf, Failure> {
    let mut refusals = Vec::new();
    for folder in folders() {
        match unpack_in(&folder) {
            Ok(path) => return Ok(path),
            Err(why) => refusals.push(format!("{}: {why}", folder.display())),
        }
    }
    let failure = Failure::no("cannot unpack genba's library, which is loaded into the program");
    Err(refusals
        .into_iter()
        .fold(failure, Failure::detail)
        .hint("name a folder of your own, on a file system without noexec: XDG_CACHE_HOME=/path/to/folder genba run …"))
}

fn unpack_in(folder: &Path) -> Result<PathBuf, String> {
    if folder.as_os_str().as_bytes().iter().any(|byte| b": ;$".contains(byte)) {
        return Err("ld.so cannot be given a path with `:`, `;`, `$` or a space".to_owned());
    }
    let path = folder.join(format!("genba-agent-{AGENT_SHA256}.so"));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| failure::of_system(&error))?;
    check_owned(&fs::symlink_metadata(folder).map_err(|error| failure::of_system(&error))?, true)?;
    let mount = statvfs(folder).map_err(|error| failure::of_system(&error.into()))?;
    if mount.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err("the file system is mounted noexec".to_owned());
    }
    match verified(&path) {
        Ok(true) => return Ok(path),
        Ok(false) => {}
        Err(error) => return Err(failure::of_system(&error)),
    }
    write(folder, &path).map_err(|error| failure::of_system(&error))?;
    if verified(&path).map_err(|error| failure::of_system(&error))? {
        return Ok(path);
    }
    Err("what was written does not read back the same".to_owned())
}

/// `false`: absent, or not what this binary carries, and to be written anew.
fn verified(path: &Path) -> std::io::Result<bool> {
    let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let mut file = match OpenOptions::new().read(true).custom_flags(no_follow).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if check_owned(&found, false).is_err() || found.len() != AGENT.len() as u64 {
        return Ok(false);
    }
    // Compared with the bytes at hand, not hashed, and through a small buffer: each start waits for this.
    let mut buffer = [0; BUFFER_BYTES];
    for carried in AGENT.chunks(BUFFER_BYTES) {
        let read = &mut buffer[..carried.len()];
        match file.read_exact(read) {
            Ok(()) if read == carried => {}
            Ok(()) => return Ok(false),
            // Cut since its length was looked at.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// A whole new file, put in place at once: another genba may be doing the same.
fn write(folder: &Path, path: &Path) -> std::io::Result<()> {
    let unfinished = folder.join(format!(".genba-agent-{}", std::process::id()));
    let _ = fs::remove_file(&unfinished);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o500).open(&unfinished)?;
    let written = file.write_all(AGENT).and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}
