//! The first block's description of this process.
//! Owns: the questions to the system for it. Never: stores an argument that is to be masked, or the environment.

use crate::process::session::Session;
use crate::reading::modules::own_executable;
use crate::system::proc::{self, monotonic_ns};
use genba_format::{masking, proto};
use std::ffi::CStr;

#[must_use]
pub fn describe(session: &Session, version: &str) -> proto::Start {
    let argv: Vec<String> = proc::read_whole(None, c"/proc/self/cmdline")
        .unwrap_or_default()
        .split(|&byte| byte == 0)
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect();
    let argv = argv.strip_suffix(&[String::new()]).unwrap_or(&argv);
    proto::Start {
        pid: proc::own_pid(),
        // SAFETY: no arguments, no memory.
        parent_pid: unsafe { libc::getppid() } as u32,
        parent_key: Vec::new(),
        executable: own_executable(),
        argv: masking::masked(argv.iter().map(String::as_str)),
        python_version: version.to_owned(),
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        interval_ns: session.interval_ns,
        budget_per_mille: session.budget_per_mille.unwrap_or(0),
        realtime_ns: proc::clock_ns(libc::CLOCK_REALTIME).unwrap_or(0),
        monotonic_ns: monotonic_ns(),
        cpu_before_ns: proc::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0),
        tags: session.tags.clone(),
        native: session.native,
        refused: String::new(),
        cwd: current_folder(),
        memory: session.memory,
        within: false,
        began_realtime_ns: 0,
        continues_key: Vec::new(),
        without_children: !session.children,
    }
}

fn current_folder() -> String {
    let mut buffer = [0_u8; 4096];
    // SAFETY: writes at most the buffer's bytes.
    let failed = unsafe { libc::syscall(libc::SYS_getcwd, buffer.as_mut_ptr(), buffer.len()) } < 0;
    // A folder of another root has no path, and the kernel says something else in its place.
    if failed || buffer[0] != b'/' {
        return String::new();
    }
    CStr::from_bytes_until_nul(&buffer).map_or(String::new(), |folder| folder.to_string_lossy().into_owned())
}
