//! Calls that make a thread or a process. The new one inherits the mask that the program believes in. A thread that needs an alternate
//! stack gets one (alternate.rs), and one whose end is wanted will tell it (ends.rs).
//! Owns: `pthread_create`, `thrd_create`, `posix_spawn`, `pidfd_spawn`. Never: comes between libc and a caller for which there is nothing
//! to do; leaves a frame of its own on the stack of a thread; allocates.
//!
//! A thread that blocks SIGURG in the program's belief only blocks it in the kernel, too, while it makes another thread. The new thread begins
//! with SIGURG blocked, takes the belief over (signals/mask.rs), and *jumps* to its function. So code that unwinds, cancels or reads its
//! stack meets libc's frame below the program's own.

use crate::system::alternate::{self, Room};
use crate::system::programs::next_program::{self, Program};
use crate::system::real::direct::of_libc;
use crate::system::real::next;
use crate::system::signals::mask;
use crate::system::threads::ends;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};

type Body = extern "C" fn(*mut c_void) -> *mut c_void;
type Attributes = *const libc::pthread_attr_t;
type Create = unsafe extern "C" fn(*mut libc::pthread_t, Attributes, Body, *mut c_void) -> c_int;
type CreateC11 = unsafe extern "C" fn(*mut libc::pthread_t, Body, *mut c_void) -> c_int;

/// What a thread is to do that has not begun.
struct Start {
    is_taken: AtomicBool,
    body: AtomicU64,
    argument: AtomicU64,
    tells_end: AtomicBool,
    /// Its maker blocks SIGURG, or may: it takes the mask over.
    has_mask: AtomicBool,
    /// For its alternate stack; 0: it gets none.
    stack_bytes: AtomicUsize,
    guard_bytes: AtomicUsize,
}

impl Start {
    const fn free() -> Start {
        Start {
            is_taken: AtomicBool::new(false),
            body: AtomicU64::new(0),
            argument: AtomicU64::new(0),
            tells_end: AtomicBool::new(false),
            has_mask: AtomicBool::new(false),
            stack_bytes: AtomicUsize::new(0),
            guard_bytes: AtomicUsize::new(0),
        }
    }
}

/// So many threads may be made at once; what more there are begin with the signal blocked, and keep it so.
static STARTS: [Start; 1024] = [const { Start::free() }; 1024];

/// In registers: rax, rdx.
#[repr(C)]
struct Task {
    body: u64,
    argument: u64,
}

core::arch::global_asm!(
    ".pushsection .text.genba_thread_begins,\"ax\",@progbits",
    ".hidden genba_thread_begins",
    ".globl genba_thread_begins",
    ".type genba_thread_begins,@function",
    "genba_thread_begins:",
    ".cfi_startproc",
    "push rdi",
    ".cfi_adjust_cfa_offset 8",
    "call {task}",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "mov rdi, rdx",
    "jmp rax",
    ".cfi_endproc",
    ".size genba_thread_begins, . - genba_thread_begins",
    ".popsection",
    task = sym task,
);

unsafe extern "C" {
    safe fn genba_thread_begins(start: *mut c_void) -> *mut c_void;
}

/// On the new thread.
extern "C" fn task(start: &'static Start) -> Task {
    let task = Task { body: start.body.load(SeqCst), argument: start.argument.load(SeqCst) };
    let (stack_bytes, guard_bytes) = (start.stack_bytes.load(SeqCst), start.guard_bytes.load(SeqCst));
    let (tells_end, has_mask) = (start.tells_end.load(SeqCst), start.has_mask.load(SeqCst));
    start.is_taken.store(false, SeqCst);
    match (Room { stack_bytes, guard_bytes }) {
        Room { stack_bytes: 0, .. } => {}
        Room::ELSEWHERE => {
            alternate::fitted::fit();
        }
        room => alternate::set_for_thread(room),
    }
    if has_mask {
        mask::take_over();
    }
    if tells_end {
        ends::watch(task.body);
    }
    task
}

/// In a forked child: the threads that had not begun are not there.
pub fn forked() {
    for start in &STARTS {
        start.is_taken.store(false, SeqCst);
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: Attributes,
    body: Body,
    argument: *mut c_void,
) -> c_int {
    let real = next!(c"pthread_create", Create, libc::EAGAIN);
    // SAFETY: libc's function; what the thread is given lives as long as the process.
    unsafe { started(attributes, body, argument, |body, argument| real(thread, attributes, body, argument)) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(thread: *mut libc::pthread_t, body: Body, argument: *mut c_void) -> c_int {
    const ERROR: c_int = 2;
    let real = next!(c"thrd_create", CreateC11, ERROR);
    // SAFETY: as above. The function gives an `int`: it is jumped to, so nobody here looks at that.
    unsafe { started(core::ptr::null(), body, argument, |body, argument| real(thread, body, argument)) }
}

/// libc's own, for a thread of genba's.
///
/// # Safety
/// As `pthread_create`.
pub unsafe fn create_thread(
    thread: *mut libc::pthread_t,
    attributes: Attributes,
    body: Body,
    argument: *mut c_void,
) -> c_int {
    let real = of_libc!(c"pthread_create", Create, libc::EAGAIN);
    // SAFETY: as the caller promises.
    unsafe { real(thread, attributes, body, argument) }
}

/// `create` makes the thread, and gives 0 then.
///
/// # Safety
/// `attributes` are null, or were made.
unsafe fn started(
    attributes: Attributes,
    body: Body,
    argument: *mut c_void,
    create: impl FnOnce(Body, *mut c_void) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let room = alternate::is_needed().then(|| unsafe { alternate::room(attributes) });
    let (has_mask, tells_end) = (mask::is_wished() || room.is_some(), ends::are_wanted());
    if !has_mask && !tells_end {
        return create(body, argument);
    }
    let lent = mask::lend();
    let free = STARTS.iter().find(|start| !start.is_taken.swap(true, SeqCst));
    let result = if let Some(start) = free {
        start.body.store(body as usize as u64, SeqCst);
        start.argument.store(argument as u64, SeqCst);
        start.tells_end.store(tells_end, SeqCst);
        start.has_mask.store(has_mask, SeqCst);
        start.stack_bytes.store(room.map_or(0, |room| room.stack_bytes), SeqCst);
        start.guard_bytes.store(room.map_or(0, |room| room.guard_bytes), SeqCst);
        let result = create(genba_thread_begins, core::ptr::from_ref(start).cast_mut().cast());
        if result != 0 {
            start.is_taken.store(false, SeqCst);
        }
        result
    } else {
        create(body, argument)
    };
    mask::unlend(lent);
    result
}

type Words = *const *mut c_char;
type Actions = *const libc::posix_spawn_file_actions_t;
type SpawnAttributes = *const libc::posix_spawnattr_t;
type Spawn = unsafe extern "C" fn(*mut libc::pid_t, *const c_char, Actions, SpawnAttributes, Words, Words) -> c_int;

/// `child` gets the number of the process or of its descriptor.
macro_rules! spawns {
    ($($name:ident $text:literal $named:path;)*) => {$(
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            child: *mut c_int,
            program: *const c_char,
            actions: Actions,
            attributes: SpawnAttributes,
            argv: Words,
            envp: Words,
        ) -> c_int {
            let real = next!($text, Spawn, libc::ENOSYS);
            let lent = mask::lend();
            // SAFETY: libc's function with the caller's arguments.
            let result = unsafe {
                next_program::in_environment($named(program), envp.cast(), |envp| {
                    real(child, program, actions, attributes, argv, envp.cast())
                })
            };
            mask::unlend(lent);
            result
        }
    )*};
}

// The last two came with glibc 2.39.
spawns! {
    posix_spawn c"posix_spawn" Program::Path;
    posix_spawnp c"posix_spawnp" Program::File;
    pidfd_spawn c"pidfd_spawn" Program::Path;
    pidfd_spawnp c"pidfd_spawnp" Program::File;
}
