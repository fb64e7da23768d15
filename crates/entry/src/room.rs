//! Room in a program for the code and the words of an entry: what is left of the last page behind a library's code, and behind its data.
//! Owns: which part of a library may be asked for it. Never: writes.
//!
//! The kernel maps whole pages: behind the last byte that a segment has in the file, or in memory, up to the end of the page nothing of the
//! library's lies. So nothing has to be mapped, and no thread has to make a system call for that. Only libraries are asked: behind the
//! program's own data its heap may begin. The dynamic linker uses its own room itself.
//! Sources: ELF gABI chapter 5 (program header), Linux fs/binfmt_elf.c, glibc elf/dl-minimal-malloc.c.

use genba_process::files::{Loaded, Mapped, Segment};
use object::elf::{PF_W, PF_X, PT_LOAD};

const PAGE_BYTES: u64 = 4096;
const ALIGNMENT: u64 = 16;

/// Two places that stay as long as the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// May be run.
    pub code_at: u64,
    /// May be written by the program's threads.
    pub words_at: u64,
}

/// In the first of the libraries that have it, never two at once.
#[must_use]
pub fn find(libraries: &[Loaded], code_bytes: u64, words_bytes: u64) -> Option<Room> {
    let segments = || libraries.iter().flat_map(|library| &library.segments);
    Some(Room {
        code_at: segments().find_map(|segment| behind_code(segment, code_bytes))?,
        words_at: segments().find_map(|segment| behind_data(segment, words_bytes))?,
    })
}

fn behind_code(segment: &Segment, bytes: u64) -> Option<u64> {
    let is_code = segment.kind == PT_LOAD.0 && segment.flags & PF_X.0 != 0 && segment.flags & PF_W.0 == 0;
    if is_code { behind(segment.address.checked_add(segment.file_bytes)?, bytes) } else { None }
}

fn behind_data(segment: &Segment, bytes: u64) -> Option<u64> {
    let is_data = segment.kind == PT_LOAD.0 && segment.flags & PF_W.0 != 0;
    if is_data { behind(segment.address.checked_add(segment.memory_bytes)?, bytes) } else { None }
}

fn behind(end: u64, bytes: u64) -> Option<u64> {
    let at = end.next_multiple_of(ALIGNMENT);
    (at.checked_add(bytes)? <= end.next_multiple_of(PAGE_BYTES)).then_some(at)
}

/// Libc's own, and those that were parts of it before glibc 2.34.
pub(crate) fn is_libc(name: &str) -> bool {
    ["libc.so.", "libc-2.", "libpthread", "libdl.so.", "libdl-2."].iter().any(|beginning| name.starts_with(beginning))
}

/// Libraries that are never unloaded: no program can do without them.
pub(crate) fn is_lasting(file: &Mapped) -> bool {
    let name = file.file_name();
    is_libc(&name) || name.starts_with("libm.so.") || name.starts_with("libm-2.") || name.starts_with("libpython")
}

#[cfg(test)]
mod tests {
    use super::{behind_code, behind_data};
    use genba_process::files::Segment;
    use object::elf::{PF_R, PF_W, PF_X, PT_LOAD};

    #[test]
    fn the_rest_of_the_last_page_is_room() {
        let flags = |flags: object::elf::ProgramFlags| flags.0;
        let code = Segment {
            kind: PT_LOAD.0,
            flags: flags(PF_R) | flags(PF_X),
            offset: 0x1000,
            address: 0x7000_1000,
            file_bytes: 0x2345,
            memory_bytes: 0x2345,
        };
        assert_eq!(behind_code(&code, 0xcb0), Some(0x7000_3350));
        assert_eq!(behind_code(&code, 0xcb1), None, "the page ends");
        assert_eq!(behind_data(&code, 16), None);
        let data = Segment { flags: flags(PF_R) | flags(PF_W), memory_bytes: 0x3001, ..code };
        assert_eq!(behind_data(&data, 16), Some(0x7000_4010));
        assert_eq!(behind_data(&Segment { memory_bytes: 0x3000, ..data }, 16), None, "it ends with its page");
        assert_eq!(behind_code(&data, 16), None);
    }
}
