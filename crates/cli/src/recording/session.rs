//! The line that tells the agent what to do: `GENBA_SESSION`, fields `key=value` separated by `;`, values
//! percent-encoded; and the `LD_PRELOAD` that loads it.
//! Owns: the encoding (the agent has the decoder). Never: carries a secret; every child of the program can read it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::heap_options::HeapWishes;

/// What the agent is told.
pub struct Session {
    /// Absolute; exists and is empty.
    pub recording: PathBuf,
    pub interval_ns: u64,
    /// The interval may grow until sampling takes no more than so many thousandths of the program's CPU: only when none was asked for.
    pub budget_per_mille: Option<u32>,
    pub native: bool,
    pub children: bool,
    pub memory: bool,
    pub copies: bool,
    pub allocations: bool,
    /// Garbage collections are recorded.
    pub gc: bool,
    /// Of `genba gc try`: what `gc.set_threshold` gets when the program begins, and `gc.freeze` before each fork.
    pub gc_threshold: Vec<u32>,
    pub gc_freeze: bool,
    /// When the heap is walked.
    pub heap: Option<HeapWishes>,
    /// CLOCK_MONOTONIC when recording stops.
    pub until_ns: Option<u64>,
    /// It goes on as long as genba holds its lock on the recording.
    pub is_leased: bool,
    /// `key=value`.
    pub tags: Vec<String>,
    /// Every call is counted, and nothing is sampled: `recording` is a `.prof` file.
    pub trace: bool,
    /// Where processes that are traced tell what they wrote: device, inode and path, with commas between.
    pub notes: Option<String>,
    /// Where those that are about to be killed are told so: device, inode and path, with commas between.
    pub bells: Option<String>,
    /// Where genba hands the recording to processes that cannot open it: its device and inode, the name of a socket and what to say there, with
    /// commas between.
    pub door: Option<String>,
}

impl Session {
    pub const VARIABLE: &str = "GENBA_SESSION";

    /// Of `genba trace`.
    pub fn of_trace(prof: PathBuf, notes: Option<String>) -> Session {
        Session {
            recording: prof,
            interval_ns: 1_000_000,
            budget_per_mille: None,
            native: false,
            children: true,
            memory: false,
            copies: false,
            allocations: false,
            gc: false,
            gc_threshold: Vec::new(),
            gc_freeze: false,
            heap: None,
            until_ns: None,
            is_leased: false,
            tags: Vec::new(),
            trace: true,
            notes,
            bells: None,
            door: None,
        }
    }

    pub fn encode(&self) -> OsString {
        let flag = |on: bool| if on { "1" } else { "0" };
        let mut line = String::from("v=1;out=");
        push_encoded(&mut line, self.recording.as_os_str().as_bytes());
        line.push_str(&format!(";interval_ns={}", self.interval_ns));
        line.push_str(&format!(";budget_per_mille={}", self.budget_per_mille.unwrap_or(0)));
        line.push_str(&format!(";native={}", flag(self.native)));
        line.push_str(&format!(";children={}", flag(self.children)));
        line.push_str(&format!(";memory={}", flag(self.memory)));
        if self.copies {
            line.push_str(";copies=1");
        }
        if self.allocations {
            line.push_str(";alloc=1");
        }
        if self.gc {
            line.push_str(";gc=1");
        }
        if !self.gc_threshold.is_empty() {
            let numbers: Vec<String> = self.gc_threshold.iter().map(u32::to_string).collect();
            line.push_str(&format!(";gc_threshold={}", numbers.join(",")));
        }
        if self.gc_freeze {
            line.push_str(";gc_freeze=1");
        }
        if let Some((heap, out)) = self.heap.as_ref().and_then(|heap| Some((heap, heap.out.as_ref()?))) {
            line.push_str(";heap_out=");
            push_encoded(&mut line, out.as_os_str().as_bytes());
            heap.fields().iter().for_each(|(key, value)| line.push_str(&format!(";{key}={value}")));
        }
        line.push_str(&format!(";until_ns={}", self.until_ns.unwrap_or(0)));
        if self.is_leased {
            line.push_str(";leased=1");
        } else {
            // Whose child is the run's first process.
            line.push_str(&format!(";command={}", std::process::id()));
        }
        if let Some(bells) = &self.bells {
            line.push_str(";bells=");
            push_encoded(&mut line, bells.as_bytes());
        }
        if let Some(door) = &self.door {
            line.push_str(";door=");
            push_encoded(&mut line, door.as_bytes());
        }
        if self.trace {
            // The program's first process is the one whose parent this is.
            line.push_str(&format!(";trace={}", std::process::id()));
        }
        if let Some(notes) = &self.notes {
            line.push_str(";notes=");
            push_encoded(&mut line, notes.as_bytes());
        }
        for tag in &self.tags {
            line.push_str(";tag=");
            push_encoded(&mut line, tag.as_bytes());
        }
        OsString::from(line)
    }
}

fn push_encoded(line: &mut String, value: &[u8]) {
    for &byte in value {
        if byte.is_ascii_alphanumeric() || b"_./:=,+@-".contains(&byte) {
            line.push(char::from(byte));
        } else {
            line.push_str(&format!("%{byte:02X}"));
        }
    }
}

/// genba's own libraries in their order, then what was there; those of another genba give way, so that a program is recorded once. What ends the
/// program unless it comes first stays in front.
pub fn preload(own: &[&OsStr], inherited: Option<&OsStr>) -> OsString {
    fn name_of(library: &[u8]) -> &[u8] {
        library.rsplit(|&byte| byte == b'/').next().unwrap_or(library)
    }
    let begins = |library: &[u8], names: &[&[u8]]| names.iter().any(|name| name_of(library).starts_with(name));
    let genbas = [&b"genba-agent-"[..], b"genba-copies-", b"genba-allocations-"];
    // AddressSanitizer's runtime, of GCC and of Clang. Partner: crates/agent/src/system/programs/words.rs.
    let first = [&b"libasan.so"[..], b"libclang_rt.asan"];
    let listed = inherited.map(OsStrExt::as_bytes).unwrap_or_default().split(|byte| matches!(byte, b':' | b' '));
    let others: Vec<&[u8]> = listed.filter(|library| !library.is_empty() && !begins(library, &genbas)).collect();
    let in_front = others.iter().take_while(|library| begins(library, &first)).count();
    let (in_front, behind) = others.split_at(in_front);
    let in_front = in_front.iter().map(|library| OsStr::from_bytes(library));
    let behind = behind.iter().map(|library| OsStr::from_bytes(library));
    in_front.chain(own.iter().copied()).chain(behind).collect::<Vec<_>>().join(OsStr::new(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_outside_the_plain_ones_is_encoded() {
        let session = Session {
            recording: PathBuf::from("/tmp/a b;ü%.genba"),
            interval_ns: 1_000_000,
            budget_per_mille: Some(20),
            native: true,
            children: false,
            memory: false,
            copies: true,
            allocations: true,
            gc: true,
            gc_threshold: vec![10_000, 5],
            gc_freeze: true,
            heap: Some(HeapWishes {
                out: Some(PathBuf::from("/tmp/h p")),
                file: Some((5, 66)),
                every_ns: Some(8),
                after_gc: true,
                at_exit: true,
                ..HeapWishes::default()
            }),
            until_ns: Some(7),
            is_leased: true,
            tags: vec!["run=1;2".to_owned(), "x=".to_owned()],
            trace: true,
            notes: Some("1,23,/proc/3/fd/5".to_owned()),
            bells: Some("1,22,/proc/3/fd/4".to_owned()),
            door: Some("3,44,name,secret".to_owned()),
        };
        let encoded = session.encode().into_string().unwrap();
        let own_pid = format!("trace={};", std::process::id());
        assert!(encoded.contains(&own_pid), "{encoded}");
        assert_eq!(
            encoded.replace(&own_pid, ""),
            "v=1;out=/tmp/a%20b%3B%C3%BC%25.genba;interval_ns=1000000;budget_per_mille=20;native=1;children=0;memory=0;\
             copies=1;alloc=1;gc=1;gc_threshold=10000,5;gc_freeze=1;heap_out=/tmp/h%20p;heap_file=5,66;heap_every_ns=8;heap_after_gc=1;heap_at_exit=1;until_ns=7;leased=1;bells=1,22,/proc/3/fd/4;door=3,44,name,secret;notes=1,23,/proc/3/fd/5;tag=run=1%3B2;tag=x="
        );
    }

    #[test]
    fn what_was_preloaded_stays_and_another_agent_goes() {
        let check = |inherited: Option<&str>, expected: &str| {
            assert_eq!(preload(&[OsStr::new("/c/genba-agent-1.so")], inherited.map(OsStr::new)), expected);
        };
        check(None, "/c/genba-agent-1.so");
        check(Some(""), "/c/genba-agent-1.so");
        check(Some("/l/a.so /l/b.so::c.so"), "/c/genba-agent-1.so:/l/a.so:/l/b.so:c.so");
        check(Some("/l/libasan.so.8 /l/a.so"), "/l/libasan.so.8:/c/genba-agent-1.so:/l/a.so");
        check(Some("libclang_rt.asan-x86_64.so"), "libclang_rt.asan-x86_64.so:/c/genba-agent-1.so");
        check(Some("/l/a.so:/l/libasan.so.8"), "/c/genba-agent-1.so:/l/a.so:/l/libasan.so.8");
        check(
            Some("/old/genba-copies-0.so:/old/genba-allocations-0.so:/old/genba-agent-0.so:/l/a.so"),
            "/c/genba-agent-1.so:/l/a.so",
        );
    }
}
