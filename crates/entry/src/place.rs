//! What is known of the place where a stopped thread stands, from the process's mappings and memory.
//! Owns: which code is harmless, and the marks of a signal's frame and of a restartable sequence. Never: decides (spot.rs does).
//! Sources: Linux include/uapi/linux/rseq.h, glibc 2.35 (`__rseq_offset`), glibc sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c.

use std::cell::RefCell;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::FileTypeExt;

use genba_process::c_stack::{CStack, Modules, NativeEnd, Source, StackCopy};
use genba_process::files::{self, Loaded, Mapped};
use genba_process::maps::Mapping;
use genba_process::memory::Remote;
use genba_process::registers::Registers;
use nix::libc::user_regs_struct;

use crate::spot::Place;

/// Words of that much of the stack are compared with the restorers before the stack is walked.
const SCANNED_BYTES: u64 = 128 << 10;
/// `mov rax, 15; syscall` (rt_sigreturn): where a signal's frame returns to.
const RESTORER: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
/// `struct rseq`: the address of the sequence that runs.
const SEQUENCE: u64 = 8;
/// The kernel extends the first thread's stack when it is used.
const FIRST_STACK: &str = "[stack]";
const FIRST_STACK_BYTES: u64 = 1 << 20;
/// Files whose code takes locks that a new thread needs, by the beginnings of their names.
const LOCKING: [&str; 8] =
    ["libc.so.", "libc-2.", "ld-linux", "ld-2.", "libpthread", "libdl.so.", "libdl-2.", "libgenba"];
/// Those of allocators, and of libraries that take the place of malloc. Such a library holds locks while it waits in a call like any other, or
/// while it calls functions of other files.
const ALLOCATORS: [&str; 14] = [
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
    "libscudo",
    "libhoard",
    "libscalene",
    "libsnmalloc",
    "librpmalloc",
    "libasan",
    "libtsan",
    "liblsan",
    "libmsan",
    "libhwasan",
    "libclang_rt.",
];
/// And any other file with this in its name that exports `malloc`.
const ALLOC: &str = "alloc";
const MALLOC: &[u8] = b"malloc";

/// What holds for all threads of a process.
pub struct Surroundings {
    harmless: Vec<Range<u64>>,
    /// The code of allocators of their own.
    allocators: Vec<Range<u64>>,
    restorers: Vec<u64>,
    /// From a thread's `fs` to its `struct rseq`; none where libc registers none.
    sequence_at: Option<u64>,
}

impl Surroundings {
    /// `libraries`: libc and the like, opened. `linker`: the dynamic linker.
    pub fn of(
        pid: u32,
        memory: &Remote,
        maps: &[Mapping],
        mapped: &[Mapped],
        libraries: &[Loaded],
        linker: &[Loaded],
    ) -> Surroundings {
        let is_named = |file: &Mapped, beginnings: &[&str]| {
            let name = file.file_name();
            beginnings.iter().any(|beginning| name.starts_with(beginning))
        };
        let is_allocator = |file: &Mapped| file.open(pid, memory).is_ok_and(|file| file.symbol(MALLOC).is_some());
        let is_harmless = |file: &&Mapped| {
            let name = file.file_name();
            let may_be_allocator = name.contains("python") || name.contains(ALLOC) || !name.contains(".so");
            let locks = is_named(file, &LOCKING) || is_named(file, &ALLOCATORS);
            // Its leaf functions may keep data farther below the stack pointer than the ABI allows.
            let is_bolted = || file.open(pid, memory).is_ok_and(|file| file.has_section(files::BOLT));
            !(locks || may_be_allocator && (is_allocator(file) || is_bolted()))
        };
        let harmless: Vec<&Mapped> = mapped.iter().filter(is_harmless).collect();
        // The interpreter's own file may hold a malloc, too: it calls everything, so among callers it tells nothing.
        let is_own = |file: &&Mapped| {
            let is_unknown = || file.file_name().contains(ALLOC) && !file.file_name().contains("python");
            is_named(file, &ALLOCATORS) || is_unknown() && is_allocator(file)
        };
        let allocators: Vec<&Mapped> = mapped.iter().filter(is_own).collect();
        let code_of = |files: &[&Mapped]| {
            let is_of_them = |mapping: &&Mapping| {
                mapping.permissions.execute && files.iter().any(|file| file.code.file() == mapping.file())
            };
            maps.iter().filter(is_of_them).map(|mapping| mapping.start..mapping.end).collect()
        };
        Surroundings {
            harmless: code_of(&harmless),
            allocators: code_of(&allocators),
            restorers: libraries.iter().flat_map(restorers).collect(),
            sequence_at: sequence_offset(memory, linker),
        }
    }
}

/// Whether one of the functions that were called is in such code: `frames` are their pcs and canonical frame addresses, innermost first. Of the
/// words that lead there the topmost lies at `topmost`: beyond it nothing has to be known.
fn is_called_from(ranges: &[Range<u64>], frames: &[(u64, u64)], is_complete: bool, topmost: u64) -> bool {
    // A return address may lie behind the last instruction of a function.
    let is_in = |pc: u64| ranges.iter().any(|range| range.contains(&pc) || range.contains(&pc.wrapping_sub(1)));
    let has_passed_all = is_complete || frames.last().is_some_and(|&(_, cfa)| cfa > topmost);
    frames.iter().any(|&(pc, _)| is_in(pc)) || !has_passed_all
}

/// From a thread's `fs` to its `struct rseq`; none where libc registers none.
pub fn sequence_offset(memory: &Remote, linker: &[Loaded]) -> Option<u64> {
    let words = |name: &[u8]| {
        let at = linker.iter().find_map(|file| file.symbol(name))?;
        let mut word = [0; 8];
        memory.read(at, &mut word).ok().map(|()| u64::from_le_bytes(word))
    };
    // `__rseq_size` is an unsigned int.
    let is_registered = words(b"__rseq_size").is_some_and(|size| size as u32 != 0);
    words(b"__rseq_offset").filter(|_| is_registered)
}

/// Whether the thread is in a restartable sequence, or may be.
pub fn is_in_sequence(memory: &Remote, sequence_offset: Option<u64>, fs_base: u64) -> bool {
    let Some(offset) = sequence_offset else { return false };
    let mut word = [0; 8];
    memory.read(fs_base.wrapping_add(offset).wrapping_add(SEQUENCE), &mut word).is_err() || word != [0; 8]
}

fn restorers(library: &Loaded) -> Vec<u64> {
    let code = library.segments.iter().filter(|segment| segment.flags & object::elf::PF_X.0 != 0);
    let found = code.filter_map(|segment| {
        let bytes = library.bytes_at(segment.offset, segment.file_bytes)?;
        let at = bytes.windows(RESTORER.len()).position(|window| window == RESTORER)?;
        Some(segment.address + at as u64)
    });
    found.collect()
}

/// One thread's.
pub struct Known<'a> {
    pub pid: u32,
    pub tid: i32,
    pub memory: &'a Remote,
    pub maps: &'a [Mapping],
    pub surroundings: &'a Surroundings,
    pub modules: &'a RefCell<Modules>,
}

impl Known<'_> {
    fn walk(&self, registers: &user_regs_struct) -> CStack {
        let source = Source { pid: self.pid, memory: self.memory, maps: self.maps, core: None };
        let copy = StackCopy::of(self.memory, Registers::from(*registers));
        self.modules.borrow_mut().walk(source, &copy)
    }
}

impl Place for Known<'_> {
    fn is_harmless_code(&self, address: u64) -> bool {
        self.surroundings.harmless.iter().any(|range| range.contains(&address))
    }

    fn is_stream(&self, descriptor: u64) -> bool {
        let path = format!("/proc/{}/task/{}/fd/{descriptor}", self.pid, self.tid);
        let link = fs::read_link(&path);
        let has_no_file = link.is_ok_and(|link| {
            link.to_str()
                .is_some_and(|link| ["socket:", "pipe:", "anon_inode:"].iter().any(|kind| link.starts_with(kind)))
        });
        let kind = || fs::metadata(path).map(|found| found.file_type());
        has_no_file || kind().is_ok_and(|kind| kind.is_fifo() || kind.is_socket() || kind.is_char_device())
    }

    fn has_handler(&self, registers: &user_regs_struct) -> bool {
        let stack = self.memory.copy_from(registers.rsp & !7, SCANNED_BYTES);
        let words = stack.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
        if !words.into_iter().any(|word| self.surroundings.restorers.contains(&word)) {
            return false;
        }
        // It may be what an earlier handler left: the unwind tables tell.
        let walked = self.walk(registers);
        walked.has_handler || walked.end != NativeEnd::Complete
    }

    fn is_in_allocator(&self, registers: &user_regs_struct) -> bool {
        let allocators = &self.surroundings.allocators;
        let is_in = |address: u64| allocators.iter().any(|range| range.contains(&address));
        if allocators.is_empty() || is_in(registers.rip) {
            return !allocators.is_empty();
        }
        let lowest = registers.rsp & !7;
        let stack = self.memory.copy_from(lowest, SCANNED_BYTES);
        let words = stack.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
        // It may be what an earlier call left.
        let topmost = words.enumerate().rfind(|(_, word)| is_in(*word));
        let Some((position, _)) = topmost else { return false };
        let walked = self.walk(registers);
        let frames: Vec<(u64, u64)> = walked.frames.iter().map(|frame| (frame.pc, frame.cfa)).collect();
        is_called_from(allocators, &frames, walked.end == NativeEnd::Complete, lowest + 8 * position as u64)
    }

    fn is_in_sequence(&self, fs_base: u64) -> bool {
        is_in_sequence(self.memory, self.surroundings.sequence_at, fs_base)
    }

    fn stack_bytes(&self, registers: &user_regs_struct) -> u64 {
        let (stack_pointer, fs_base) = (registers.rsp, registers.fs_base);
        let is_first = self.tid.cast_unsigned() == self.pid;
        let stack = self.maps.iter().find(|mapping| mapping.contains(stack_pointer) && mapping.permissions.write);
        let Some(stack) = stack else { return 0 };
        if stack.path.as_ref().is_some_and(|path| path.as_os_str() == FIRST_STACK) {
            return if is_first { FIRST_STACK_BYTES } else { 0 };
        }
        // glibc puts what `fs` names at the upper end of a thread's stack.
        let is_own = stack.contains(fs_base) && stack_pointer < fs_base;
        if is_own { stack_pointer - stack.start } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::is_called_from;

    #[test]
    fn an_allocator_among_the_callers_is_told_from_a_word_that_was_left() {
        let allocators = [0x7000..0x8000, 0x9000..0xa000];
        let frames = [(0x1000, 0x100), (0x2000, 0x140), (0x3000, 0x200)];
        let is_called = |frames: &[(u64, u64)], is_complete| is_called_from(&allocators, frames, is_complete, 0x138);
        assert!(!is_called(&frames, true), "the word at 0x138 is no return address");
        assert!(!is_called(&frames, false), "the walk has passed it");
        assert!(is_called(&frames[..1], false), "it may be one");
        assert!(is_called(&[], false));
        for pc in [0x7000, 0x7fff, 0x8000] {
            assert!(is_called(&[(0x1000, 0x100), (pc, 0x140), (0x3000, 0x200)], true), "{pc:x}");
        }
    }
}
