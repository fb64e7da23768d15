//! What is known of the place where a stopped thread stands, from the process's mappings and memory.
//! Owns: which code is harmless, and the marks of a signal's frame and of a restartable sequence. Never: decides (spot.rs does).
//! Sources: Linux include/uapi/linux/rseq.h, glibc 2.35 (`__rseq_offset`), glibc sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c.

use std::cell::RefCell;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::FileTypeExt;

use genba_process::c_stack::{Modules, NativeEnd, Source, StackCopy};
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
const LOCKING: [&str; 11] = [
    "libc.so.",
    "libc-2.",
    "ld-linux",
    "ld-2.",
    "libpthread",
    "libdl.so.",
    "libdl-2.",
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
    "libgenba",
];
const MALLOC: &[u8] = b"malloc";

/// What holds for all threads of a process.
pub struct Surroundings {
    harmless: Vec<Range<u64>>,
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
        let is_harmless = |file: &&Mapped| {
            let name = file.file_name();
            let may_be_allocator = name.contains("python") || name.contains("alloc") || !name.contains(".so");
            let is_allocator = || file.open(pid, memory).is_ok_and(|file| file.symbol(MALLOC).is_some());
            let locks = LOCKING.iter().any(|beginning| name.starts_with(beginning));
            // Its leaf functions may keep data farther below the stack pointer than the ABI allows.
            let is_bolted = || file.open(pid, memory).is_ok_and(|file| file.has_section(files::BOLT));
            !(locks || may_be_allocator && (is_allocator() || is_bolted()))
        };
        let harmless: Vec<&Mapped> = mapped.iter().filter(is_harmless).collect();
        let is_of_harmless = |mapping: &&Mapping| {
            mapping.permissions.execute && harmless.iter().any(|file| file.code.file() == mapping.file())
        };
        Surroundings {
            harmless: maps.iter().filter(is_of_harmless).map(|mapping| mapping.start..mapping.end).collect(),
            restorers: libraries.iter().flat_map(restorers).collect(),
            sequence_at: sequence_offset(memory, linker),
        }
    }
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
        let source = Source { pid: self.pid, memory: self.memory, maps: self.maps, core: None };
        let copy = StackCopy::of(self.memory, Registers::from(*registers));
        let walked = self.modules.borrow_mut().walk(source, &copy);
        walked.has_handler || walked.end != NativeEnd::Complete
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
