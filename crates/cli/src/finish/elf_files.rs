//! The ELF file of a module, and the separate file with its symbols.
//! Owns: where they are looked for. Never: gives a file with another build id than the one that was mapped, reads what
//! is not a regular file.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_names::Image;
use prost::Message;

use super::root::Root;

/// Bytes of one module.
pub struct ElfFiles {
    pub image: Vec<u8>,
    pub debug: Option<Vec<u8>>,
    /// Where `debug` was looked for, as it was just before.
    pub looked_for: Vec<LookedFor>,
}

/// A place where the file with the symbols was looked for, and what lay there.
#[derive(Clone, PartialEq, Message)]
pub struct LookedFor {
    #[prost(bytes = "vec", tag = "1")]
    path: Vec<u8>,
    /// Empty: nothing.
    #[prost(bytes = "vec", tag = "2")]
    identity: Vec<u8>,
}

impl LookedFor {
    /// As it is now.
    pub fn now(root: &Root, path: &Path) -> Self {
        LookedFor { path: path.as_os_str().as_bytes().to_vec(), identity: identity(root, path).unwrap_or_default() }
    }

    pub fn still_holds(&self, root: &Root) -> bool {
        let path = PathBuf::from(OsString::from_vec(self.path.clone()));
        identity(root, &path).unwrap_or_default() == self.identity
    }
}

/// Larger files are left alone: reading them would take longer than all others together.
const FILE_BYTES_MAX: u64 = 1 << 30;
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// Why a module's file tells nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Not there, or not readable.
    Missing,
    /// It is not the one that was mapped.
    Replaced,
}

/// `began_realtime_ns`: when the program began, 0 is not known. Without a build id nothing but its time tells whether a file is the one
/// that was mapped.
pub fn open(root: &Root, path: &str, build_id: &[u8], began_realtime_ns: u64) -> Result<ElfFiles, Unread> {
    let image = if is_vdso(path) { read_vdso() } else { read_regular(root, Path::new(path)) }.ok_or(Unread::Missing)?;
    let parsed = Image::parse(&image).map_err(|_| Unread::Missing)?;
    if parsed.build_id().unwrap_or_default() != build_id || may_be_another(root, path, build_id, began_realtime_ns) {
        return Err(Unread::Replaced);
    }
    let candidates = if parsed.has_symbol_table() {
        Vec::new()
    } else {
        debug_candidates(Path::new(path), build_id, parsed.debug_link())
    };
    let looked_for = candidates.iter().map(|path| LookedFor::now(root, path)).collect();
    let debug = candidates.iter().find_map(|candidate| {
        let bytes = read_regular(root, candidate)?;
        let fits = Image::parse(&bytes).ok()?.build_id() == Some(build_id);
        fits.then_some(bytes)
    });
    Ok(ElfFiles { image, debug, looked_for })
}

/// Where the names of all functions of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolsAt {
    /// In the file itself.
    Own,
    /// In a debug file on this machine.
    Apart(PathBuf),
    Nowhere,
}

/// `None`: it is not there, or no ELF file.
pub fn symbols_of(path: &Path) -> Option<SymbolsAt> {
    let image = read_regular(&Root::OWN, path)?;
    let parsed = Image::parse(&image).ok()?;
    if parsed.has_symbol_table() {
        return Some(SymbolsAt::Own);
    }
    let build_id = parsed.build_id().unwrap_or_default();
    let found = debug_candidates(path, build_id, parsed.debug_link()).into_iter().find(|candidate| {
        let bytes = read_regular(&Root::OWN, candidate);
        bytes.is_some_and(|bytes| Image::parse(&bytes).is_ok_and(|image| image.build_id() == Some(build_id)))
    });
    Some(found.map_or(SymbolsAt::Nowhere, SymbolsAt::Apart))
}

/// Of a file without a build id.
pub fn may_be_another(root: &Root, path: &str, build_id: &[u8], began_realtime_ns: u64) -> bool {
    let is_newer =
        || written_realtime_ns(root, Path::new(path)).is_none_or(|written_ns| written_ns > began_realtime_ns);
    build_id.is_empty() && began_realtime_ns > 0 && !is_vdso(path) && is_newer()
}

/// CLOCK_REALTIME of the last change to a file's content.
fn written_realtime_ns(root: &Root, path: &Path) -> Option<u64> {
    written_ns(&root.metadata(path).ok()?)
}

/// The same, of what is known of the file already.
pub fn written_ns(found: &fs::Metadata) -> Option<u64> {
    let written = Duration::new(u64::try_from(found.mtime()).ok()?, u32::try_from(found.mtime_nsec()).ok()?);
    u64::try_from(written.as_nanos()).ok()
}

/// Where distributions and gdb put the file with the symbols, by build id and by the name that the module carries.
fn debug_candidates(path: &Path, build_id: &[u8], link: Option<&str>) -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    if let Some((first, rest)) = build_id.split_first().filter(|(_, rest)| !rest.is_empty()) {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        candidates.push(PathBuf::from(format!("{DEBUG_ROOT}/.build-id/{first:02x}/{rest}.debug")));
    }
    if let (Some(link), Some(folder)) = (link.filter(|link| !link.contains('/')), path.parent()) {
        candidates.push(folder.join(link));
        candidates.push(folder.join(".debug").join(link));
        let below = folder.strip_prefix("/").unwrap_or(folder);
        candidates.push(Path::new(DEBUG_ROOT).join(below).join(link));
    }
    candidates.retain(|candidate| candidate != path);
    candidates
}

fn read_regular(root: &Root, path: &Path) -> Option<Vec<u8>> {
    let found = root.metadata(path).ok()?;
    if !found.is_file() || found.len() > FILE_BYTES_MAX {
        return None;
    }
    root.read(path).ok()
}

/// Which file lies at a path, and in which state. `None`: none, or no regular one.
pub fn identity(root: &Root, path: &Path) -> Option<Vec<u8>> {
    let found = root.metadata(path).ok().filter(fs::Metadata::is_file)?;
    let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
    let words = [found.dev(), found.ino(), found.size()].into_iter().map(u64::to_le_bytes);
    Some(words.chain(times.into_iter().map(i64::to_le_bytes)).flatten().collect())
}

pub fn is_vdso(path: &str) -> bool {
    path == "[vdso]" || path.starts_with("linux-vdso")
}

/// The kernel gives every process the same vDSO; ours is read from our own memory.
fn read_vdso() -> Option<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let mut memory = fs::File::open("/proc/self/mem").ok()?;
    memory.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = vec![0; usize::try_from(end.checked_sub(start)?).ok()?];
    memory.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Root, Unread, debug_candidates, open, read_vdso};
    use genba_names::{Image, Names};
    use std::path::Path;

    #[test]
    fn symbols_are_looked_for_by_build_id_and_by_name() {
        let shown = |link| -> Vec<String> {
            let candidates = debug_candidates(Path::new("/usr/bin/python3"), &[0xab, 0x01, 0xff], link);
            candidates.iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(shown(None), ["/usr/lib/debug/.build-id/ab/01ff.debug"]);
        assert_eq!(
            shown(Some("p.debug"))[1..],
            ["/usr/bin/p.debug", "/usr/bin/.debug/p.debug", "/usr/lib/debug/usr/bin/p.debug"]
        );
        assert_eq!(shown(Some("../p.debug")).len(), 1);
        assert_eq!(shown(Some("python3")).len(), 3);
    }

    #[test]
    fn a_file_of_another_build_is_not_opened() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(open(&Root::OWN, own.to_str().unwrap(), b"another build", 0).err(), Some(Unread::Replaced));
        assert_eq!(open(&Root::OWN, "/dev/zero", b"", 0).err(), Some(Unread::Missing));
        assert_eq!(open(&Root::OWN, "/", b"", 0).err(), Some(Unread::Missing));
    }

    #[test]
    fn the_kernels_vdso_is_read_from_memory() {
        let bytes = read_vdso().unwrap();
        let build_id = Image::parse(&bytes).unwrap().build_id().unwrap();
        let files = open(&Root::OWN, "linux-vdso.so.1", build_id, 1).ok().unwrap();
        let names = Names::new(&files.image, None, &[]).unwrap();
        let mut found = names.function_starts().filter_map(|start| names.name_of(start));
        assert!(found.any(|function| function.name.ends_with("clock_gettime")));
        assert!(open(&Root::OWN, "linux-vdso.so.1", b"another kernel", 0).is_err());
    }
}
