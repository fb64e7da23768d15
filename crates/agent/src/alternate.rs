//! Alternate signal stacks for builds that BOLT made: their code may keep data farther below the stack pointer than the 128 bytes that the
//! kernel leaves alone (docs/limits.md), so no signal may arrive on a thread's own stack.
//! Owns: recognising such a build; where each thread's alternate stack lies. Never: allocates on a thread of the program's, replaces an
//! alternate stack that the program set. Partners: interpose/starts.rs (each new thread comes by), signals.rs (`SA_ONSTACK`).
//!
//! A thread's alternate stack is the lowest part of its own: nobody has to give it back, and it lies where a thread comes just before it
//! would overflow. Sources: glibc's nptl/allocatestack.c (2.17 to 2.42): the thread's descriptor, to which the thread pointer
//! points, is at the top of the memory for its stack.

use crate::descriptor::Descriptor;
use crate::symbols;
use core::arch::asm;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Room for four frames of the kernel with all registers, AMX's among them, and what handlers need.
const BYTES: usize = 64 << 10;
/// A thread with a smaller stack keeps all of it.
const THREAD_BYTES_MIN: usize = 512 << 10;
/// The thread's descriptor takes less at the top of its stack.
const DESCRIPTOR_BYTES_MAX: usize = 4 << 10;
/// Sections of a file, and bytes of their names, beyond which it is none of those that are looked for.
const SECTIONS_MAX: usize = 256;
const NAMES_BYTES_MAX: usize = 16 << 10;

static NEEDED: AtomicBool = AtomicBool::new(false);

#[must_use]
pub fn is_needed() -> bool {
    NEEDED.load(SeqCst)
}

/// Before `main`, on its thread: `address` lies in the file with the interpreter.
pub fn begin(address: u64) {
    let file = symbols::file_around(address).and_then(|path| Descriptor::open_at(None, path, libc::O_RDONLY).ok());
    if file.is_some_and(|file| is_made_by_bolt(&file)) {
        NEEDED.store(true, SeqCst);
        set_for_first_thread();
    }
}

/// BOLT keeps the code that it replaced in a section of its own.
fn is_made_by_bolt(file: &Descriptor) -> bool {
    section_names(file).is_some_and(|names| names.split(|byte| *byte == 0).any(|name| name == b".bolt.org.text"))
}

/// The names of all sections of an ELF file for x86-64, with a NUL behind each.
fn section_names(file: &Descriptor) -> Option<Vec<u8>> {
    const HEADER_BYTES: usize = 64;
    let header: Vec<u8> = file.read_at(0, HEADER_BYTES)?;
    let half = |at: usize| Some(usize::from(u16::from_le_bytes(*header.get(at..)?.first_chunk()?)));
    let sections_offset = u64::from_le_bytes(*header.get(40..)?.first_chunk()?);
    let (entry_bytes, count, names_index) = (half(58)?, half(60)?, half(62)?);
    if !header.starts_with(b"\x7fELF\x02\x01") || entry_bytes != HEADER_BYTES || count > SECTIONS_MAX {
        return None;
    }
    let entry = file.read_at(sections_offset.checked_add((names_index * entry_bytes) as u64)?, entry_bytes)?;
    let word = |at: usize| Some(u64::from_le_bytes(*entry.get(at..)?.first_chunk()?));
    let (offset, bytes) = (word(24)?, usize::try_from(word(32)?).ok()?);
    if bytes > NAMES_BYTES_MAX { None } else { file.read_at(offset, bytes) }
}

/// The first thread's stack grows as it is used: its lowest part is not known.
fn set_for_first_thread() {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
    // SAFETY: a new mapping, which stays as long as the process.
    unsafe {
        let lowest = libc::mmap(core::ptr::null_mut(), BYTES, access, flags, -1, 0);
        if lowest != libc::MAP_FAILED {
            set(lowest as usize);
        }
    }
}

/// How large the stack of a thread with these attributes is, and how much of it its guard may take. `None`: too small for an alternate one.
///
/// # Safety
/// Null, or attributes that were made.
pub unsafe fn room(attributes: *const libc::pthread_attr_t) -> Option<Room> {
    let mut room = Room { stack_bytes: 0, guard_bytes: 0 };
    // SAFETY: the caller's attributes, or libc's own defaults on this stack.
    unsafe {
        let mut defaults: libc::pthread_attr_t = core::mem::zeroed();
        let is_default = attributes.is_null();
        if is_default && libc::pthread_attr_init(&raw mut defaults) != 0 {
            return None;
        }
        let attributes = if is_default { &raw const defaults } else { attributes };
        let failed = libc::pthread_attr_getstacksize(attributes, &raw mut room.stack_bytes) != 0
            || libc::pthread_attr_getguardsize(attributes, &raw mut room.guard_bytes) != 0;
        if is_default {
            libc::pthread_attr_destroy(&raw mut defaults);
        }
        (!failed && room.stack_bytes.saturating_sub(room.guard_bytes) >= THREAD_BYTES_MIN).then_some(room)
    }
}

#[derive(Clone, Copy)]
pub struct Room {
    pub stack_bytes: usize,
    pub guard_bytes: usize,
}

impl Room {
    /// Where the alternate stack of the thread with this thread pointer begins: above the guard, however libc counts that.
    const fn lowest(self, thread_pointer: usize) -> usize {
        let lowest = thread_pointer + DESCRIPTOR_BYTES_MAX - self.stack_bytes + self.guard_bytes;
        (lowest + DESCRIPTOR_BYTES_MAX) & !0xF
    }
}

/// On a thread that was just made with this room.
pub fn set_for_thread(room: Room) {
    set(room.lowest(thread_pointer()));
}

fn set(lowest: usize) {
    let stack = libc::stack_t { ss_sp: lowest as *mut c_void, ss_flags: 0, ss_size: BYTES };
    // SAFETY: memory that is this thread's as long as it lives, and that nothing else uses. The system call itself: libc's function is
    // the program's, which is not told of this stack.
    unsafe { libc::syscall(libc::SYS_sigaltstack, &raw const stack, core::ptr::null_mut::<libc::stack_t>()) };
}

fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: its first word is its own address (the x86-64 ABI of thread-local storage).
    unsafe { asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, pure, readonly)) };
    pointer
}

#[cfg(test)]
mod tests {
    use super::{BYTES, Room, room, thread_pointer};

    #[test]
    fn the_alternate_stack_is_the_lowest_part_of_the_threads_own() {
        for (stack_bytes, guard_bytes) in [(1 << 20, 4096), (8 << 20, 65536), (512 << 10, 0)] {
            // SAFETY: attributes on this stack; the thread only looks at its own.
            unsafe {
                let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
                assert_eq!(libc::pthread_attr_init(&raw mut attributes), 0);
                assert_eq!(libc::pthread_attr_setstacksize(&raw mut attributes, stack_bytes), 0);
                assert_eq!(libc::pthread_attr_setguardsize(&raw mut attributes, guard_bytes), 0);
                let given = room(&raw const attributes).expect("it is large enough");
                let mut thread: libc::pthread_t = 0;
                let argument = (&raw const given).cast_mut().cast();
                assert_eq!(libc::pthread_create(&raw mut thread, &raw const attributes, look, argument), 0);
                let mut is_right = core::ptr::null_mut();
                assert_eq!(libc::pthread_join(thread, &raw mut is_right), 0);
                assert!(!is_right.is_null(), "{stack_bytes} {guard_bytes}");
            }
        }
    }

    /// Not null: it is memory of the thread's stack, and in the lower half of what was asked for. libc may give a larger one that is left over.
    extern "C" fn look(given: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: what the test gave, which waits for this thread.
        let given = unsafe { *given.cast::<Room>() };
        let lowest = given.lowest(thread_pointer());
        // SAFETY: asks for this thread's own attributes.
        let first = unsafe {
            let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
            let (mut first, mut bytes) = (core::ptr::null_mut(), 0);
            if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0
                || libc::pthread_attr_getstack(&raw const attributes, &raw mut first, &raw mut bytes) != 0
            {
                return core::ptr::null_mut();
            }
            libc::pthread_attr_destroy(&raw mut attributes);
            first as usize
        };
        let is_right = first <= lowest && lowest + BYTES <= thread_pointer() - given.stack_bytes / 2;
        if is_right {
            for at in (lowest..lowest + BYTES).step_by(1024) {
                // SAFETY: unused memory of this thread's stack, far below what it uses: a fault fails the test.
                unsafe { (at as *mut u8).write_volatile(1) };
            }
        }
        usize::from(is_right) as *mut libc::c_void
    }

    #[test]
    fn small_stacks_are_left_alone() {
        // SAFETY: attributes on this stack.
        unsafe {
            let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
            assert_eq!(libc::pthread_attr_init(&raw mut attributes), 0);
            assert_eq!(libc::pthread_attr_setstacksize(&raw mut attributes, 256 << 10), 0);
            assert!(room(&raw const attributes).is_none());
        }
    }
}
