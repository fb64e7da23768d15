//! The agent's memory: its own mapped arena, never the program's malloc.
//! Owns: the global allocator of this library, what happens when there is no memory left. Never: calls malloc; ends the program.
//!
//! The sampler's thread ends when it finds no memory. A thread of the program's allocates inside `room::within`, which has memory, or by
//! `try_reserve`, where it can do without.

use crate::process::bells;
use crate::process::files_over_fork;
use crate::process::last_words::say_last_words;
use crate::process::mailbox::MAILBOX;
use crate::process::room;
use crate::system::sampler_stack::{is_sampler, no_sampler};
use genba_signal::handler::SHARED;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

#[global_allocator]
static ARENA: Arena = Arena(dlmalloc::GlobalDlmalloc);

/// dlmalloc, except that running out of memory ends the recording and not the program.
struct Arena(dlmalloc::GlobalDlmalloc);

/// How many more allocations succeed: all, but in tests.
static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

/// In tests: from so many allocations on there is no memory.
pub fn allow(allocations: u64) {
    LEFT.store(allocations, SeqCst);
}

fn is_used_up() -> bool {
    LEFT.load(Relaxed) != u64::MAX && LEFT.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err()
}

#[cold]
fn without_memory(layout: Layout) -> *mut u8 {
    if is_sampler() {
        end_thread();
    }
    room::piece(layout)
}

/// The sampler's thread ends in the middle of what it does. It holds no lock that another thread takes: it allocates neither in a callback
/// of the dynamic linker (modules/linked.rs) nor while it has a mutex (mailbox.rs), and dlmalloc has released its own. What it made
/// stays as it is, for handlers that read it.
fn end_thread() -> ! {
    SHARED.pid.store(0, SeqCst);
    say_last_words();
    files_over_fork::nobody_waits();
    no_sampler();
    bells::leave_place();
    MAILBOX.nobody_listens();
    loop {
        // SAFETY: ends this thread alone, without unwinding: nothing on its stack is used by another one. Whoever joins it finds it ended.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
}

// Never inlined: an optimiser that sees both ends of a piece of memory takes what dlmalloc keeps in front of it for nobody's.
// SAFETY: each call is dlmalloc's own, or a piece of the room, which is given out once, and never to dlmalloc.
unsafe impl GlobalAlloc for Arena {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises.
        let memory = if is_used_up() { core::ptr::null_mut() } else { unsafe { self.0.alloc(layout) } };
        if memory.is_null() { without_memory(layout) } else { memory }
    }

    #[inline(never)]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if !room::owns(memory) {
            // SAFETY: the caller's promises.
            unsafe { self.0.dealloc(memory, layout) }
        }
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises.
        let memory = if is_used_up() { core::ptr::null_mut() } else { unsafe { self.0.alloc_zeroed(layout) } };
        // A piece of the room is as the kernel gave it: zero.
        if memory.is_null() { without_memory(layout) } else { memory }
    }

    #[inline(never)]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller promises that the new size fits a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        let other = if room::owns(memory) {
            // SAFETY: the caller's promises.
            unsafe { self.alloc(wanted) }
        } else {
            let longer = if is_used_up() {
                core::ptr::null_mut()
            } else {
                // SAFETY: the caller's promises.
                unsafe { self.0.realloc(memory, layout, bytes) }
            };
            if !longer.is_null() {
                return longer;
            }
            without_memory(wanted)
        };
        // SAFETY: both pieces have the bytes that are copied; nobody uses the first one any more.
        unsafe {
            if !other.is_null() {
                core::ptr::copy_nonoverlapping(memory, other, bytes.min(layout.size()));
                self.dealloc(memory, layout);
            }
            other
        }
    }
}
