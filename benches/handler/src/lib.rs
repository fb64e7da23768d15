//! A library that a Python program loads (benches/goals/handler.py) to measure genba's signal handler from inside, on the
//! program's own stacks: `genba_bench_start`, `genba_bench_done`, `genba_bench_report`.
//! Owns: the C entries. Never: is shipped. It plays the sampler's part, with the agent's own sources, compiled here once more
//! by their paths: what is measured is what runs in the agent.

// The agent's floors, as far as they are needed.
mod reading;
mod system;
mod writing;
// And the twin's reading of files, for framehop.
#[allow(dead_code, reason = "the twin asks it for more")]
#[path = "../../../twin/src/files.rs"]
mod files;
#[allow(dead_code, reason = "the twin asks it for more")]
#[path = "../../../twin/src/process.rs"]
mod process;

mod asking;
mod measured;
mod report;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

static DONE: AtomicBool = AtomicBool::new(false);
static TEXT: Mutex<String> = Mutex::new(String::new());

/// Begins to ask the calling thread, `runs` times each way. 0: it has begun.
#[unsafe(no_mangle)]
pub extern "C" fn genba_bench_start(runs: u64, seed: u64) -> i32 {
    // SAFETY: no arguments.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    let asked = std::thread::Builder::new().name("bench".to_owned()).spawn(move || {
        let text = match asking::run(tid, runs as usize, seed) {
            Ok(measured) => report::text(&measured),
            Err(error) => format!("error: {error}\n"),
        };
        *TEXT.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = text;
        DONE.store(true, SeqCst);
    });
    i32::from(asked.is_err())
}

#[unsafe(no_mangle)]
pub extern "C" fn genba_bench_done() -> bool {
    DONE.load(SeqCst)
}

/// Prints the result as JSON on stdout.
#[unsafe(no_mangle)]
pub extern "C" fn genba_bench_report() {
    println!("{}", TEXT.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
}
