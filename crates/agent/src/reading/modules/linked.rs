//! What the dynamic linker says: which files are loaded and where.
//! Owns: the walk over its list. Never: allocates, copies or faults while the linker's lock is held, reads the program's memory
//! raw (I-06). A part of modules.rs.

use super::changes::Changes;
use super::kept::Key;
use super::module::{Module, ModuleKind};
use super::section::{Copier, Section, copy};
use crate::reading::cfi::Compiled;
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;

/// A file that the dynamic linker names.
pub(super) enum Found {
    /// Position in `Loaded::modules`.
    Known(usize),
    New(Box<(Module, Copier, Option<Key>)>),
}

/// The linker's list, noted during its callback. Its lock is held then, and a thread that stopped for want of memory would keep it: so the
/// callback fills room that was there before and counts what found none.
#[derive(Default)]
pub(in crate::reading) struct Listing {
    files: Vec<Noted>,
    headers: Vec<libc::Elf64_Phdr>,
    names: Vec<u8>,
    wanted: Wanted,
    changes: Changes,
}

struct Noted {
    bias: u64,
    headers: Range<usize>,
    name: Range<usize>,
}

#[derive(Clone, Copy, Default)]
struct Wanted {
    files: usize,
    headers: usize,
    name_bytes: usize,
}

impl Listing {
    /// So often the list may grow between making room and noting.
    const TRIES: usize = 8;

    /// Reads the list. What finds no room after some tries is left out, and looked for again when the list changes. `may_ask_linker` was
    /// asked before.
    pub(in crate::reading) fn read(&mut self) -> Changes {
        unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _bytes: usize, listing: *mut c_void) -> c_int {
            // SAFETY: `listing` is the one below; the record and what it points to are valid during the callback.
            unsafe { (*listing.cast::<Listing>()).note(&*info) };
            0
        }
        for _ in 0..Self::TRIES {
            self.files.clear();
            self.headers.clear();
            self.names.clear();
            self.files.reserve(self.wanted.files);
            self.headers.reserve(self.wanted.headers);
            self.names.reserve(self.wanted.name_bytes);
            self.wanted = Wanted::default();
            // SAFETY: the callback gets the address of this listing, which outlives the call.
            unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut *self).cast()) };
            if self.files.len() == self.wanted.files {
                break;
            }
        }
        self.changes
    }

    /// Each file's place and its own table of segments, as last read.
    pub(in crate::reading) fn loaded(&self) -> impl Iterator<Item = (u64, &[libc::Elf64_Phdr])> {
        self.files.iter().map(|noted| (noted.bias, &self.headers[noted.headers.clone()]))
    }

    /// Runs under the linker's lock.
    ///
    /// # Safety
    /// `info` is the linker's, in its callback.
    unsafe fn note(&mut self, info: &libc::dl_phdr_info) {
        // SAFETY: the linker's own table of this file, and its name, which ends in NUL.
        let (headers, name) = unsafe {
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
            (headers, CStr::from_ptr(info.dlpi_name).to_bytes())
        };
        self.changes = Changes::told_by(info);
        self.wanted.files += 1;
        self.wanted.headers += headers.len();
        self.wanted.name_bytes += name.len();
        let has_room = self.files.len() < self.files.capacity()
            && headers.len() <= self.headers.capacity() - self.headers.len()
            && name.len() <= self.names.capacity() - self.names.len();
        if !has_room {
            return;
        }
        let (first_header, first_byte) = (self.headers.len(), self.names.len());
        self.headers.extend_from_slice(headers);
        self.names.extend_from_slice(name);
        self.files.push(Noted {
            bias: info.dlpi_addr,
            headers: first_header..self.headers.len(),
            name: first_byte..self.names.len(),
        });
    }

    /// The files with code. Their notes and sections are read now, when a `dlclose` may have unmapped them. `none_went`: since the list before this
    /// one. Then a known file that was in that list is the same, and its notes are not read again: a program that imports a hundred libraries changes
    /// the list a hundred times.
    pub(super) fn files<'a>(&'a self, known: &'a [Module], none_went: bool) -> impl Iterator<Item = Found> + 'a {
        // Most known files are in the order of this list.
        let mut next = 0;
        self.files.iter().filter_map(move |noted| {
            let name = String::from_utf8_lossy(&self.names[noted.name.clone()]);
            let headers = &self.headers[noted.headers.clone()];
            let found = found(noted.bias, headers, &name, (known, none_went), next);
            if let Some(Found::Known(index)) = &found {
                next = index + 1;
            }
            found
        })
    }
}

/// `next`: the position of the known file that it probably is.
fn found(
    bias: u64,
    headers: &[libc::Elf64_Phdr],
    name: &str,
    (known, none_went): (&[Module], bool),
    next: usize,
) -> Option<Found> {
    const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
    const NOTE_BYTES_MAX: u64 = 1 << 16;
    let place = |header: &libc::Elf64_Phdr| {
        let first = bias.wrapping_add(header.p_vaddr);
        (first, first.wrapping_add(header.p_memsz))
    };
    let (mut start, mut end) = (u64::MAX, 0);
    let is_code = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0;
    for (first, behind) in headers.iter().filter(is_code).map(place) {
        start = start.min(first);
        end = end.max(behind);
    }
    if start >= end {
        return None;
    }
    // Of most files nothing else has to be known: each change of the list brings one.
    let has_stayed = |known: &Module| known.mapped && (known.bias, known.start) == (bias, start);
    if none_went {
        if known.get(next).is_some_and(has_stayed) {
            return Some(Found::Known(next));
        }
        if let Some(index) = known.iter().position(has_stayed) {
            return Some(Found::Known(index));
        }
    }
    let (mut data, mut segments, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut build_id, mut header_address) = (Vec::new(), None);
    for header in headers {
        let (first, behind) = place(header);
        match header.p_type {
            libc::PT_LOAD => {
                segments.push((first, behind));
                if header.p_flags & libc::PF_W != 0 {
                    data.push((first, behind));
                }
            }
            libc::PT_NOTE => notes.push((first, behind)),
            PT_GNU_EH_FRAME => header_address = Some(first),
            _ => {}
        }
    }
    let is_mapped = |first: u64, behind: u64| {
        segments.iter().any(|&(start, end)| start <= first && first < behind && behind <= end)
    };
    for &(first, behind) in notes.iter().filter(|&&(first, behind)| is_mapped(first, behind)) {
        let bytes = (behind - first).min(NOTE_BYTES_MAX) as usize;
        if let Some(found) = copy(first, bytes).as_deref().and_then(build_id_in) {
            build_id = found;
        }
    }
    let header_address = header_address.filter(|&header| is_mapped(header, header + 8));
    let kind = if name.starts_with("linux-vdso") { ModuleKind::Vdso } else { ModuleKind::File };
    let path = if name.is_empty() { own_executable() } else { name.to_owned() };
    if let Some(index) = known.iter().position(|known| {
        !known.abandoned
            && (known.bias, known.start) == (bias, start)
            && known.path == path
            && known.build_id == build_id
    }) {
        return Some(Found::Known(index));
    }
    // The name is empty for the executable alone.
    let key = if build_id.is_empty() && name.is_empty() {
        Key::of(&executable_identity(), headers)
    } else {
        Key::of(&build_id, headers)
    };
    let module = Module {
        path,
        build_id,
        kind,
        bias,
        start,
        end,
        compiled: Compiled::default(),
        data,
        row: None,
        mapped: true,
        abandoned: false,
        since: 0,
    };
    let section = header_address.and_then(|header| Section::behind(header, &segments));
    Some(Found::New(Box::new((module, Copier::new(section, start..end), key))))
}

fn build_id_in(notes: &[u8]) -> Option<Vec<u8>> {
    const NT_GNU_BUILD_ID: u32 = 3;
    let word = |at: usize| Some(u32::from_le_bytes(*notes.get(at..)?.first_chunk::<4>()?));
    let mut at = 0;
    while let (Some(name_bytes), Some(value_bytes), Some(kind)) = (word(at), word(at + 4), word(at + 8)) {
        let name = at + 12;
        let value = name + (name_bytes as usize).next_multiple_of(4);
        if kind == NT_GNU_BUILD_ID && notes.get(name..name + 4) == Some(b"GNU\0") {
            return notes.get(value..value + value_bytes as usize).map(<[u8]>::to_vec);
        }
        at = value + (value_bytes as usize).next_multiple_of(4);
    }
    None
}

/// What tells this executable from every other file, and from itself after a change. Empty: it cannot be asked for.
fn executable_identity() -> Vec<u8> {
    // SAFETY: writes one stat on this stack. This path leads to the file that is mapped, whatever lies where it was.
    let found = unsafe {
        let mut found: libc::stat = core::mem::zeroed();
        if libc::stat(c"/proc/self/exe".as_ptr(), &raw mut found) != 0 {
            return Vec::new();
        }
        found
    };
    let times = [found.st_mtime, found.st_mtime_nsec, found.st_ctime, found.st_ctime_nsec].map(i64::cast_unsigned);
    let file = [found.st_dev, found.st_ino, found.st_size.cast_unsigned()];
    file.into_iter().chain(times).flat_map(u64::to_le_bytes).collect()
}

/// What `/proc/self/exe` leads to.
#[must_use]
pub fn own_executable() -> String {
    let mut buffer = [0_u8; 4096];
    // SAFETY: writes at most the buffer's bytes.
    let bytes = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) };
    let path = usize::try_from(bytes).ok().and_then(|bytes| buffer.get(..bytes)).unwrap_or(&[]);
    String::from_utf8_lossy(path).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Found, Listing, Module};

    /// They would tell of another file.
    #[test]
    fn the_notes_of_a_file_that_stayed_are_not_read_again() {
        let mut listing = Listing::default();
        listing.read();
        let new = |found: Found| match found {
            Found::New(new) => {
                let (module, ..) = *new;
                Some(module)
            }
            Found::Known(_) => None,
        };
        let mut known: Vec<Module> = listing.files(&[], true).filter_map(new).collect();
        assert!(!known.is_empty());
        for module in &mut known {
            module.build_id = b"of another file".to_vec();
        }
        assert!(listing.files(&known, true).all(|found| matches!(found, Found::Known(_))));
        assert!(listing.files(&known, false).all(|found| matches!(found, Found::New(_))), "one may have gone");
        for module in &mut known {
            module.mapped = false;
        }
        assert!(listing.files(&known, true).all(|found| matches!(found, Found::New(_))), "none was there before");
    }
}
