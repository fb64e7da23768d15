//! genba's libraries as files that ld.so can load, the agent and those that count copies and allocations: the bytes carried in this binary, unpacked to a
//! folder under their hash, which is private where nobody else may have to load them.
//! Owns: the checks before use (owner, mode, each byte). Never: loads the agent, trusts a file that somebody else could have written.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use object::{File, Object, ObjectSymbol};
use rustix::fs::{OFlags, StatVfsMountFlags, statvfs};

use crate::files::cache_folder::{check_owned, folders_of_libraries, is_root, put};
use crate::words::failure::{self, Failure};

/// A library that this binary carries.
pub struct Carried {
    bytes: &'static [u8],
    name: &'static str,
    sha256: &'static str,
}

pub static AGENT: Carried = Carried {
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/genba-agent.so")),
    name: "genba-agent",
    sha256: env!("GENBA_AGENT_SHA256"),
};
/// Counts what memcpy and memmove copy (`--copies`).
pub static COPIES: Carried = Carried {
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/genba-copies.so")),
    name: "genba-copies",
    sha256: env!("GENBA_COPIES_SHA256"),
};
/// Counts what malloc and CPython's allocator are asked for (`--alloc`).
pub static ALLOCATIONS: Carried = Carried {
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/genba-allocations.so")),
    name: "genba-allocations",
    sha256: env!("GENBA_ALLOCATIONS_SHA256"),
};
const BUFFER_BYTES: usize = 64 << 10;

pub fn bytes() -> &'static [u8] {
    AGENT.bytes
}

pub fn name() -> String {
    AGENT.file_name()
}

impl Carried {
    fn file_name(&self) -> String {
        format!("{}-{}.so", self.name, self.sha256)
    }
}

/// From the beginning of the loaded file to one of its functions.
pub fn offset_of(function: &str) -> Result<u64, Failure> {
    let found = File::parse(AGENT.bytes).ok().and_then(|file| {
        let symbol = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(function))?;
        Some(symbol.address())
    });
    found.ok_or_else(|| Failure::ours(format!("the agent that this genba carries has no function {function}")))
}

/// The path of a verified copy of the agent; makes one where none is.
pub fn unpacked() -> Result<PathBuf, Failure> {
    unpack(&AGENT)
}

/// The same of either library.
pub fn unpack(library: &Carried) -> Result<PathBuf, Failure> {
    let mut refusals = Vec::new();
    for folder in folders_of_libraries() {
        match unpack_in(library, &folder) {
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

fn unpack_in(library: &Carried, folder: &Path) -> Result<PathBuf, String> {
    if folder.as_os_str().as_bytes().iter().any(|byte| b": ;$".contains(byte)) {
        return Err("ld.so cannot be given a path with `:`, `;`, `$` or a space".to_owned());
    }
    let path = folder.join(library.file_name());
    DirBuilder::new()
        .recursive(true)
        .mode(if is_root() { 0o711 } else { 0o700 })
        .create(folder)
        .map_err(|error| failure::of_system(&error))?;
    check_owned(&fs::symlink_metadata(folder).map_err(|error| failure::of_system(&error))?, true)?;
    let mount = statvfs(folder).map_err(|error| failure::of_system(&error.into()))?;
    if mount.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err("the file system is mounted noexec".to_owned());
    }
    let is_there = verified(library, &path).map_err(|error| failure::of_system(&error))?;
    if !is_there {
        put(folder, &library.file_name(), 0o500, library.bytes).map_err(|error| failure::of_system(&error))?;
        if !verified(library, &path).map_err(|error| failure::of_system(&error))? {
            return Err("what was written does not read back the same".to_owned());
        }
    }
    if is_root() {
        // Where it fails, other users' programs are not followed.
        for (place, mode) in [(folder, 0o711), (path.as_path(), 0o555)] {
            let _ = allow(place, mode);
        }
    }
    Ok(path)
}

/// Adds what is missing of `mode`: programs that root starts may go on as another user.
fn allow(place: &Path, mode: u32) -> std::io::Result<()> {
    let found = fs::symlink_metadata(place)?.mode() & 0o7777;
    if found & mode == mode { Ok(()) } else { fs::set_permissions(place, Permissions::from_mode(found | mode)) }
}

/// `false`: absent, or not what this binary carries, and to be written anew.
fn verified(library: &Carried, path: &Path) -> std::io::Result<bool> {
    let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let mut file = match OpenOptions::new().read(true).custom_flags(no_follow).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if check_owned(&found, false).is_err() || found.len() != library.bytes.len() as u64 {
        return Ok(false);
    }
    // Compared with the bytes at hand, not hashed, and through a small buffer: each start waits for this.
    let mut buffer = [0; BUFFER_BYTES];
    for carried in library.bytes.chunks(BUFFER_BYTES) {
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
