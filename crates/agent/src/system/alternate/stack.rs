//! Genba's alternate stack of one thread.
//! Owns: where it lies, and what its head keeps for the program. Never: uses the heap on a thread of the program's.
//!
//! The stack is the lowest part of the thread's own, where libc made that: nobody has to give it back, and it lies where a thread comes just before it
//! would overflow. Other threads get a mapped one (fitted.rs). Sources: glibc's nptl/allocatestack.c (2.17 to 2.42): the thread's descriptor, to which the thread pointer points, is at the
//! top of the memory for its stack.

use core::arch::asm;
use std::ffi::{c_int, c_void};

core::arch::global_asm!(
    ".pushsection .tbss.genba_alternate,\"awT\",@nobits",
    ".hidden genba_alternate",
    ".globl genba_alternate",
    ".type genba_alternate,@object",
    ".size genba_alternate, 8",
    ".p2align 3",
    "genba_alternate:",
    ".zero 8",
    ".popsection",
);

/// Room for four frames of the kernel with all registers, AMX's among them, and what handlers need.
const BYTES: usize = 64 << 10;
/// Its lowest bytes, which the kernel does not get: what the program set instead (view.rs).
const HEAD_BYTES: usize = 64;
/// A thread with a smaller stack keeps all of that.
const THREAD_BYTES_MIN: usize = 512 << 10;
/// The thread's descriptor takes less at the top of its stack.
const DESCRIPTOR_BYTES_MAX: usize = 4 << 10;
/// As the kernel tells it.
pub const NONE: libc::stack_t = libc::stack_t { ss_sp: core::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };

/// The first thread's stack grows as it is used: its lowest part is not known.
pub fn set_for_first_thread() {
    if let Some(own) = map(0) {
        own.begin(false);
    }
}

/// One that belongs to no thread's stack, with so many bytes of room and a guard page below it; it stays as long as the process.
pub fn map(room_bytes: usize) -> Option<Own> {
    const GUARD_BYTES: usize = 4 << 10;
    let bytes = room_bytes + BYTES;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
    // SAFETY: a new mapping, and the access to all of it but its lowest page.
    unsafe {
        let guard = libc::mmap(core::ptr::null_mut(), GUARD_BYTES + bytes, libc::PROT_NONE, flags, -1, 0);
        if guard == libc::MAP_FAILED {
            return None;
        }
        let room = guard as usize + GUARD_BYTES;
        let is_open = libc::mprotect(room as *mut c_void, bytes, libc::PROT_READ | libc::PROT_WRITE) == 0;
        is_open.then_some(Own { lowest: room + room_bytes })
    }
}

/// Where the alternate stack of a thread with these attributes goes.
///
/// # Safety
/// Null, or attributes that were made.
pub unsafe fn room(attributes: *const libc::pthread_attr_t) -> Room {
    let mut room = Room { stack_bytes: 0, guard_bytes: 0 };
    let (mut lowest, mut bytes) = (core::ptr::null_mut(), 0);
    // SAFETY: the caller's attributes, or libc's own defaults on this stack.
    let is_told = unsafe {
        let mut defaults: libc::pthread_attr_t = core::mem::zeroed();
        let is_default = attributes.is_null();
        if is_default && libc::pthread_attr_init(&raw mut defaults) != 0 {
            return Room::ELSEWHERE;
        }
        let attributes = if is_default { &raw const defaults } else { attributes };
        let failed = libc::pthread_attr_getstacksize(attributes, &raw mut room.stack_bytes) != 0
            || libc::pthread_attr_getguardsize(attributes, &raw mut room.guard_bytes) != 0
            || libc::pthread_attr_getstack(attributes, &raw mut lowest, &raw mut bytes) != 0;
        if is_default {
            libc::pthread_attr_destroy(&raw mut defaults);
        }
        !failed
    };
    // libc tells the end of the stack that the program brings, less its size. Without one the end is 0.
    let is_libc_s = (lowest as usize).wrapping_add(bytes) == 0;
    let is_large = room.stack_bytes.saturating_sub(room.guard_bytes) >= THREAD_BYTES_MIN;
    if is_told && is_libc_s && is_large { room } else { Room::ELSEWHERE }
}

/// A stack that libc makes: how large it is, and how much of it its guard may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub stack_bytes: usize,
    pub guard_bytes: usize,
}

impl Room {
    /// The thread's stack is too small, or is the program's memory: the program may have a guard of its own there, or keep something.
    pub const ELSEWHERE: Room = Room { stack_bytes: usize::MAX, guard_bytes: 0 };

    /// Where the alternate stack of the thread with this thread pointer begins: above the guard, however libc counts that.
    const fn lowest(self, thread_pointer: usize) -> usize {
        let lowest = thread_pointer + DESCRIPTOR_BYTES_MAX - self.stack_bytes + self.guard_bytes;
        (lowest + DESCRIPTOR_BYTES_MAX) & !0xF
    }
}

/// On a thread that was just made, whose alternate stack goes there.
pub fn set_for_thread(room: Room) {
    Own { lowest: room.lowest(thread_pointer()) }.begin(false);
}

/// Genba's alternate stack of one thread.
#[derive(Clone, Copy)]
pub struct Own {
    lowest: usize,
}

impl Own {
    /// One that `map` made.
    pub const fn at(lowest: usize) -> Own {
        Own { lowest }
    }

    pub const fn lowest(self) -> usize {
        self.lowest
    }

    /// This thread's.
    pub fn here() -> Option<Own> {
        let lowest: usize;
        // SAFETY: this thread's word.
        unsafe { asm!("mov {0}, qword ptr fs:[{0}]", inout(reg) word_offset() => lowest, options(nostack, readonly)) };
        (lowest != 0).then_some(Own { lowest })
    }

    /// As the kernel has it: without the head, and without as much again where the program has set one instead.
    pub const fn as_kernels(self, is_instead: bool) -> libc::stack_t {
        let above = if is_instead { 2 * HEAD_BYTES } else { HEAD_BYTES };
        libc::stack_t { ss_sp: (self.lowest + above) as *mut c_void, ss_flags: 0, ss_size: BYTES - above }
    }

    /// The kernel gets it for this thread.
    pub fn begin(self, is_instead: bool) {
        if in_kernel(&self.as_kernels(is_instead)) == 0 {
            // SAFETY: this thread's word, which nothing else holds a reference to.
            unsafe { asm!("mov qword ptr fs:[{}], {}", in(reg) word_offset(), in(reg) self.lowest, options(nostack)) };
        }
    }

    pub const fn holds(self, address: usize) -> bool {
        address.wrapping_sub(self.lowest) <= BYTES
    }

    /// What the program has, where the kernel has the stack that begins there. `None`: that is not genba's.
    pub fn programs(self, kernels: *mut c_void) -> Option<libc::stack_t> {
        if kernels == self.as_kernels(true).ss_sp {
            // SAFETY: the head, which was written before the kernel got this, and which only this thread reads and writes.
            return Some(unsafe { (self.lowest as *const libc::stack_t).read() });
        }
        (kernels == self.as_kernels(false).ss_sp).then_some(NONE)
    }

    /// For as long as the kernel has genba's instead.
    pub const fn keep_programs(self, stack: libc::stack_t) {
        // SAFETY: as above; the head is aligned to 16 bytes and large enough.
        unsafe { (self.lowest as *mut libc::stack_t).write(stack) };
    }
}

/// The system call itself: libc's function is the program's, which is not told of genba's stacks.
pub fn in_kernel(stack: &libc::stack_t) -> c_int {
    // SAFETY: the kernel reads the record. What it names is memory of this thread's that nothing else uses, or what the program wants.
    unsafe {
        libc::syscall(libc::SYS_sigaltstack, core::ptr::from_ref(stack), core::ptr::null_mut::<libc::stack_t>())
            as c_int
    }
}

/// Where the word lies, from the thread pointer.
fn word_offset() -> usize {
    let offset: usize;
    // SAFETY: reads a constant that the dynamic linker has written.
    unsafe {
        asm!("mov {}, qword ptr [rip + genba_alternate@GOTTPOFF]", out(reg) offset, options(nostack, pure, readonly))
    };
    offset
}

fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: its first word is its own address (the x86-64 ABI of thread-local storage).
    unsafe { asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, pure, readonly)) };
    pointer
}

/// Whether the address lies on that stack, as the kernel counts.
pub fn holds(stack: &libc::stack_t, address: usize) -> bool {
    let lowest = stack.ss_sp as usize;
    address > lowest && address - lowest <= stack.ss_size
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
                let given = room(&raw const attributes);
                assert!(given != Room::ELSEWHERE, "it is large enough");
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
    fn small_stacks_and_those_of_the_program_are_left_alone() {
        // SAFETY: attributes on this stack.
        unsafe {
            let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
            assert_eq!(libc::pthread_attr_init(&raw mut attributes), 0);
            assert_eq!(libc::pthread_attr_setstacksize(&raw mut attributes, 256 << 10), 0);
            assert!(room(&raw const attributes) == Room::ELSEWHERE);
            let mut memory = vec![0_u64; 1 << 17];
            assert_eq!(libc::pthread_attr_setstack(&raw mut attributes, memory.as_mut_ptr().cast(), 1 << 20), 0);
            assert!(room(&raw const attributes) == Room::ELSEWHERE);
            assert!(room(core::ptr::null()) != Room::ELSEWHERE);
        }
    }
}
