//! The words of an entry in the program: how far the agent is, and which thread was sent.
//! Owns: where each lies, and whether an entry before this one is still on its way. Never: writes them, stops a thread.
//!
//! The thread that was sent takes its number back as it leaves the code (code.rs). All that it reads there after that are the two slots of its way
//! back, some twenty instructions later: a thread that loses its CPU there, or meets a handler, is not seen by an entry that begins meanwhile.

use std::iter;
use std::ops::Range;

use genba_process::memory::Remote;
use genba_process::threads::{self, Doing};

use crate::code::State;
use crate::stop::{Stop, thread_ids};

/// The state's word comes first. Behind these come the texts.
pub const STATE_BYTES: u64 = 16;
/// The number of the thread that was sent, as the process counts. 0: it has left.
pub const SENT: usize = 4;
/// Neither the linker, while it loads the agent, nor the agent, while it begins, goes as deep.
const CALLERS_BYTES: u64 = 512 << 10;

pub fn state(memory: &Remote, words_at: u64) -> State {
    word(memory, words_at).map_or(State::Free, State::of)
}

fn word(memory: &Remote, at: u64) -> Option<u32> {
    let mut word = [0; 4];
    memory.read(at, &mut word).ok().map(|()| u32::from_le_bytes(word))
}

/// Whether an entry before this one is still on its way: a thread runs its code, or has it among its callers. A process that was killed
/// in the middle of an entry while it shared this memory (the child of a vfork) leaves the words alone, and so does a genba that was killed before
/// it sent the thread.
pub fn is_in_use(stop: &Stop, memory: &Remote, words_at: u64, code: &Range<u64>) -> bool {
    let threads = stop.registers();
    if threads.iter().any(|(_, registers)| code.contains(&registers.rip)) {
        return true;
    }
    let calls_it = |stack_pointer: u64| {
        let stack = memory.copy_from(stack_pointer & !7, CALLERS_BYTES);
        let mut words = stack.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
        words.any(|word| code.contains(&word))
    };
    let is_there = |tid: i32| match threads.iter().find(|(other, _)| *other == tid) {
        Some((_, registers)) => calls_it(registers.rsp),
        // It was asked to stop, and does before it runs anything: in the kernel it stays where it came from.
        None => match threads::doing(stop.pid(), tid.cast_unsigned()) {
            Doing::Asleep { stack_pointer, instruction, .. } => code.contains(&instruction) || calls_it(stack_pointer),
            Doing::Runnable | Doing::Unseen => true,
        },
    };
    // The agent may have answered while that thread got no CPU.
    if sent(stop.pid(), memory, words_at).is_some_and(is_there) {
        return true;
    }
    state(memory, words_at) == State::Beginning
        && (!stop.is_whole() || threads.iter().any(|(_, registers)| calls_it(registers.rsp)))
}

/// In a child that was forked meanwhile there is no such thread.
fn sent(pid: u32, memory: &Remote, words_at: u64) -> Option<i32> {
    let own_tid = word(memory, words_at + SENT as u64).filter(|&own_tid| own_tid != 0)?;
    let is_it = |tid: &i32| threads::task(pid, tid.cast_unsigned()).is_some_and(|task| task.own_tid == own_tid);
    // Mostly genba counts as the process does.
    iter::once(own_tid.cast_signed()).chain(thread_ids(pid)).find(is_it)
}

#[cfg(test)]
mod tests {
    use super::{Doing, SENT, is_in_use, threads};
    use crate::stop::Stop;
    use genba_process::memory::{Bytes, Remote};
    use genba_process::tracer::in_own_thread;
    use nix::errno::Errno;
    use nix::libc;
    use std::ops::Range;
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    const WORDS_AT: u64 = 0x1000;
    /// No thread is there.
    const CODE: Range<u64> = 0x2000..0x3000;
    const RETURNS_TO_CODE: u64 = 0x2345;
    const ANSWERED: u32 = 0x102;
    const LOADS: u32 = 2;

    /// The words, and a stack that is full of one other.
    #[derive(Debug)]
    struct Program {
        words: [u8; 8],
        on_stack: u64,
    }

    impl Bytes for Program {
        fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Errno> {
            if (WORDS_AT..WORDS_AT + 8).contains(&address) {
                bytes.copy_from_slice(&self.words[(address - WORDS_AT) as usize..][..bytes.len()]);
                return Ok(());
            }
            for word in bytes.chunks_mut(8) {
                word.copy_from_slice(&self.on_stack.to_le_bytes()[..word.len()]);
            }
            Ok(())
        }
    }

    fn memory(state: u32, sent: u32, on_stack: u64) -> Remote {
        let mut words = [0; 8];
        words[..4].copy_from_slice(&state.to_le_bytes());
        words[SENT..].copy_from_slice(&sent.to_le_bytes());
        Remote::over(Program { words, on_stack })
    }

    /// With its threads stopped, or only seized, as if they got no CPU.
    fn is_used(child: &Child, is_stopped: bool, state: u32, sent: u32, on_stack: u64) -> bool {
        let look = || {
            let mut stop = Stop::of(child.id());
            assert_eq!(stop.seize(), Ok(1));
            let deadline = Instant::now() + Duration::from_secs(5);
            while is_stopped && stop.stopped().is_empty() {
                assert!(Instant::now() < deadline);
                stop.interrupt();
            }
            let is_used = is_in_use(&stop, &memory(state, sent, on_stack), WORDS_AT, &CODE);
            stop.release();
            is_used
        };
        in_own_thread(look).expect("a thread that can be seized")
    }

    fn ended(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_thread_that_was_sent_is_looked_for_behind_the_answer_too() {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let sent = child.id();
        let sleeps = || match threads::doing(sent, sent) {
            Doing::Asleep { call: Some(call), .. } => {
                [libc::SYS_nanosleep, libc::SYS_clock_nanosleep].contains(&i64::from(call.number))
            }
            _ => false,
        };
        let deadline = Instant::now() + Duration::from_secs(5);
        while !sleeps() {
            assert!(Instant::now() < deadline);
        }
        // Stopped last: it runs for a moment after that.
        for is_stopped in [false, true] {
            assert!(is_used(&child, is_stopped, ANSWERED, sent, RETURNS_TO_CODE), "{is_stopped}");
            assert!(!is_used(&child, is_stopped, ANSWERED, 0, RETURNS_TO_CODE), "it has left: {is_stopped}");
            assert!(!is_used(&child, is_stopped, ANSWERED, sent, 0), "it was never sent: {is_stopped}");
            assert!(!is_used(&child, is_stopped, ANSWERED, 1, RETURNS_TO_CODE), "not its thread: {is_stopped}");
        }
        assert!(is_used(&child, true, LOADS, 0, RETURNS_TO_CODE) && !is_used(&child, true, LOADS, 0, 0));
        ended(child);
    }

    #[test]
    fn a_thread_without_a_cpu_may_be_anywhere() {
        let child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        // Its start reads files.
        let deadline = Instant::now() + Duration::from_secs(5);
        while !is_used(&child, false, ANSWERED, child.id(), 0) {
            assert!(Instant::now() < deadline, "nobody knows where it is");
        }
        ended(child);
    }
}
