//! The code that one thread of the program runs to make another thread, in which the agent is loaded.
//! Owns: the instructions, the slots that are filled in before they run, and the numbers of the state word. Never: runs in genba itself.
//!
//! The thread comes here from any instruction, with its own registers, its stack pointer below its red zone. It keeps everything that it may
//! change (registers, flags, vector state, signal mask, errno), makes the other thread, waits a bounded time until that one has begun, and
//! jumps back. So nobody has to put its registers back: genba may be killed at any moment. No system call in here leaves something to restart
//! (`restart_syscall`), so a sleep that was cut short goes on where it was. Where a handler of the program's runs as the mask is put back, its
//! `rt_sigreturn` ends that (`do_no_restart_syscall`): the sleep returns EINTR, as after a handler without genba.
//! Sources: x86-64 psABI 3.2 (red zone, registers that calls keep), Intel SDM volume 1 chapter 13 (XSAVE), Linux kernel/signal.c (restart).

core::arch::global_asm!(
    ".pushsection .rodata.genba_entry,\"a\",@progbits",
    ".hidden genba_entry_begin",
    ".hidden genba_entry_slots",
    ".globl genba_entry_begin",
    ".globl genba_entry_slots",
    ".balign 16",
    "genba_entry_begin:",
    "    pushfq",
    "    push rax",
    "    push rcx",
    "    push rdx",
    "    push rbx",
    "    push rbp",
    "    push rsi",
    "    push rdi",
    "    push r8",
    "    push r9",
    "    push r10",
    "    push r11",
    "    push r12",
    "    push r13",
    "    push r14",
    "    push r15",
    "    cld",
    "    mov rbp, rsp",
    // -8: the mask before; -16: all signals but libc's own, 32 and 33, to which each thread must answer; -24: the thread that is made.
    "    sub rsp, 32",
    "    mov rax, 0xfffffffe7fffffff",
    "    mov [rbp - 16], rax",
    "    mov eax, 14", // rt_sigprocmask
    "    mov edi, 2",  // SIG_SETMASK
    "    lea rsi, [rbp - 16]",
    "    lea rdx, [rbp - 8]",
    "    mov r10d, 8",
    "    syscall",
    "    sub rsp, [rip + 20f + 2 * 8]",
    "    and rsp, -64",
    // XRSTOR wants the header clean.
    "    xor eax, eax",
    "    mov [rsp + 512], rax",
    "    mov [rsp + 520], rax",
    "    mov [rsp + 528], rax",
    "    mov [rsp + 536], rax",
    "    mov [rsp + 544], rax",
    "    mov [rsp + 552], rax",
    "    mov [rsp + 560], rax",
    "    mov [rsp + 568], rax",
    "    mov eax, -1",
    "    mov edx, -1",
    "    xsave64 [rsp]",
    "    call [rip + 20f + 4 * 8]", // __errno_location
    "    mov r12, rax",
    "    mov r13d, [rax]",
    "    mov r14, [rip + 20f + 3 * 8]",
    "    lea rdi, [rbp - 24]",
    "    xor esi, esi",
    "    lea rdx, [rip + 10f]",
    "    xor ecx, ecx",
    "    call [rip + 20f + 5 * 8]", // pthread_create
    "    test eax, eax",
    "    jz 2f",
    "    mov dword ptr [r14], 0x203",
    "    jmp 4f",
    // While the other thread loads the agent this one makes no fork.
    "2:  mov ebx, [rip + 20f + 14 * 8]",
    "3:  cmp dword ptr [r14], 2",
    "    ja 4f",
    "    mov eax, 24", // sched_yield
    "    syscall",
    "    dec ebx",
    "    jnz 3b",
    "4:  mov [r12], r13d",
    "    mov eax, -1",
    "    mov edx, -1",
    "    xrstor64 [rsp]",
    "    mov eax, 14",
    "    mov edi, 2",
    "    lea rsi, [rbp - 8]",
    "    xor edx, edx",
    "    mov r10d, 8",
    "    syscall",
    // A handler that was due has run: the thread leaves (words.rs).
    "    mov dword ptr [r14 + 4], 0",
    "    mov rsp, rbp",
    "    pop r15",
    "    pop r14",
    "    pop r13",
    "    pop r12",
    "    pop r11",
    "    pop r10",
    "    pop r9",
    "    pop r8",
    "    pop rdi",
    "    pop rsi",
    "    pop rbp",
    "    pop rbx",
    "    pop rdx",
    "    pop rcx",
    "    pop rax",
    "    popfq",
    "    mov rsp, [rip + 20f + 1 * 8]",
    "    jmp [rip + 20f + 0 * 8]",
    // The new thread's function. Its signals are blocked, as its maker's were.
    "10: push rbx",
    "    mov rbx, [rip + 20f + 3 * 8]",
    "    mov dword ptr [rbx], 2",
    "    call [rip + 20f + 6 * 8]", // pthread_self
    "    mov rdi, rax",
    "    call [rip + 20f + 7 * 8]", // pthread_detach
    "    mov rax, [rip + 20f + 10 * 8]",
    "    test rax, rax",
    "    jnz 11f",
    "    mov rdi, [rip + 20f + 11 * 8]",
    "    mov esi, 2",               // RTLD_NOW
    "    call [rip + 20f + 8 * 8]", // dlopen
    "    test rax, rax",
    "    jz 12f",
    "    mov rdi, rax",
    "    mov rsi, [rip + 20f + 12 * 8]",
    "    call [rip + 20f + 9 * 8]", // dlsym
    "    test rax, rax",
    "    jz 13f",
    "11: mov rdi, [rip + 20f + 13 * 8]",
    "    call rax",
    "    and eax, 0xff",
    "    or eax, 0x100",
    "    jmp 14f",
    "12: mov eax, 0x201",
    "    jmp 14f",
    "13: mov eax, 0x202",
    "14: mov [rbx], eax",
    "    xor eax, eax",
    "    pop rbx",
    "    ret",
    ".balign 8",
    "genba_entry_slots:",
    "20:",
    ".popsection",
);

unsafe extern "C" {
    static genba_entry_begin: u8;
    static genba_entry_slots: u8;
}

/// What the code finds behind its last instruction, in this order.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Slots {
    pub back_to: u64,
    pub stack_pointer: u64,
    pub vector_state_bytes: u64,
    /// Where the state word lies. Behind it lies the number of the thread that was sent.
    pub state: u64,
    pub errno_location: u64,
    pub pthread_create: u64,
    pub pthread_self: u64,
    pub pthread_detach: u64,
    pub dlopen: u64,
    pub dlsym: u64,
    /// The agent's function, where the agent is loaded already; else 0.
    pub agent: u64,
    pub library_path: u64,
    pub function_name: u64,
    pub session: u64,
    /// How often the thread gives way while the other one begins.
    pub yields_max: u64,
}

impl Slots {
    const WORDS: usize = 15;

    fn words(&self) -> [u64; Slots::WORDS] {
        [
            self.back_to,
            self.stack_pointer,
            self.vector_state_bytes,
            self.state,
            self.errno_location,
            self.pthread_create,
            self.pthread_self,
            self.pthread_detach,
            self.dlopen,
            self.dlsym,
            self.agent,
            self.library_path,
            self.function_name,
            self.session,
            self.yields_max,
        ]
    }
}

/// What the state word says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Nobody has come yet, or what came is over.
    Free,
    /// A thread makes the other one, or that one loads the agent.
    Beginning,
    /// The agent's answer.
    Answered(u8),
    NotLoaded,
    NoFunction,
    NoThread,
}

impl State {
    /// Written before the thread is let go.
    pub const MAKING: u32 = 1;

    #[must_use]
    pub const fn of(word: u32) -> State {
        match word {
            1 | 2 => State::Beginning,
            0x100..=0x1ff => State::Answered((word & 0xff) as u8),
            0x201 => State::NotLoaded,
            0x202 => State::NoFunction,
            0x203 => State::NoThread,
            _ => State::Free,
        }
    }
}

/// What XSAVE writes for the state components that are enabled here.
pub(crate) fn vector_state_bytes() -> u32 {
    // The legacy area and the header, where the processor says less.
    core::arch::x86_64::__cpuid_count(0xd, 0).ebx.max(576)
}

/// The instructions with these slots behind them.
#[must_use]
pub fn with(slots: &Slots) -> Vec<u8> {
    // SAFETY: both lie in one read-only section, in this order; all bytes between them are initialised and live as long as the program.
    let instructions = unsafe {
        let (begin, end) = (&raw const genba_entry_begin, &raw const genba_entry_slots);
        core::slice::from_raw_parts(begin, end.addr() - begin.addr())
    };
    let mut code = instructions.to_vec();
    code.extend(slots.words().iter().flat_map(|word| word.to_le_bytes()));
    code
}

#[cfg(test)]
mod tests {
    use super::{Slots, State, with};

    #[test]
    fn the_slots_follow_the_instructions() {
        let slots = Slots {
            back_to: 1,
            stack_pointer: 2,
            vector_state_bytes: 3,
            state: 4,
            errno_location: 5,
            pthread_create: 6,
            pthread_self: 7,
            pthread_detach: 8,
            dlopen: 9,
            dlsym: 10,
            agent: 11,
            library_path: 12,
            function_name: 13,
            session: 14,
            yields_max: 15,
        };
        let code = with(&slots);
        assert_eq!(code.len() % 8, 0);
        let words: Vec<u64> =
            code.rchunks_exact(8).take(Slots::WORDS).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, (1..=15).rev().collect::<Vec<u64>>());
        assert!(code.len() < 800, "{} bytes: the room behind a file's code is less than a page", code.len());
    }

    #[test]
    fn a_state_that_nobody_writes_is_free() {
        assert_eq!(State::of(0), State::Free);
        assert_eq!(State::of(State::MAKING), State::Beginning);
        assert_eq!(State::of(0x102), State::Answered(2));
        assert_eq!(State::of(0xdead_beef), State::Free);
    }
}
