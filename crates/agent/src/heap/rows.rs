//! Memory of a walk: mappings of its own, those that the program shares with its copy, and the bytes of an answer on their way to a file.
//! Owns: each mapping until it is given back. Never: calls malloc or the agent's arena, whose lock another thread may hold when a copy is made.

use crate::system::descriptor::{Descriptor, Identity};
use crate::system::proc::monotonic_ns;
use genba_heap::answer::Sink;
use genba_heap::classes::{ROWS_BYTES, Row};
use genba_heap::ground::Ground;
use genba_heap::pieces::{Head, LENGTH_AT, put_head};
use std::ffi::CStr;
use std::sync::atomic::AtomicU64;

/// Mappings, until a moment.
#[derive(Clone, Copy, Debug)]
pub struct Mappings {
    pub deadline_ns: u64,
}

impl Ground for Mappings {
    fn map(&self, bytes: usize) -> *mut u8 {
        map(bytes, libc::MAP_PRIVATE | libc::MAP_NORESERVE)
    }

    unsafe fn unmap(&self, memory: *mut u8, bytes: usize) {
        // SAFETY: as the caller promises.
        unsafe { unmap(memory, bytes) }
    }

    fn is_late(&self) -> bool {
        monotonic_ns() > self.deadline_ns
    }
}

/// Null: there is no memory.
fn map(bytes: usize, kind: libc::c_int) -> *mut u8 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of our own.
    let made = unsafe { libc::mmap(core::ptr::null_mut(), bytes, access, kind | libc::MAP_ANONYMOUS, -1, 0) };
    if made == libc::MAP_FAILED { core::ptr::null_mut() } else { made.cast() }
}

/// # Safety
/// From `map`, of this size, and used no more.
unsafe fn unmap(memory: *mut u8, bytes: usize) {
    // SAFETY: as the caller promises.
    unsafe { libc::munmap(memory.cast(), bytes) };
}

/// What the process and its copy both see: where the walk is, and its rows.
pub struct Shared {
    memory: *mut u8,
}

const HEADER_BYTES: usize = 4096;

impl Shared {
    pub fn new() -> Option<Shared> {
        let memory = map(HEADER_BYTES + ROWS_BYTES, libc::MAP_SHARED | libc::MAP_NORESERVE);
        (!memory.is_null()).then_some(Shared { memory })
    }

    /// The row of the class whose code runs.
    pub fn at(&self) -> &AtomicU64 {
        // SAFETY: the first word of the mapping, which lives as long as this.
        unsafe { &*self.memory.cast::<AtomicU64>() }
    }

    pub fn rows(&self) -> *mut Row {
        // SAFETY: within the mapping.
        unsafe { self.memory.add(HEADER_BYTES).cast() }
    }

    /// Of the class whose code ran last.
    pub fn name(&self) -> [u8; genba_heap::classes::NAME_BYTES] {
        let row = self.at().load(std::sync::atomic::Ordering::SeqCst) as usize;
        // SAFETY: below the last row; who wrote it has ended.
        unsafe { (*self.rows().add(row.min(genba_heap::classes::CLASSES_MAX - 1))).name }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: this mapping, which nobody else has.
        unsafe { unmap(self.memory, HEADER_BYTES + ROWS_BYTES) }
    }
}

/// Bytes that are written to the file at the end, when nobody waits any more.
pub struct Buffer {
    memory: *mut u8,
    room: usize,
    len: usize,
    /// Behind the head of a piece and its words; 0: there is none.
    begin: usize,
    only: Option<Identity>,
}

const BUFFER_FIRST: usize = 1 << 20;

impl Buffer {
    fn new() -> Option<Buffer> {
        let memory = map(BUFFER_FIRST, libc::MAP_PRIVATE | libc::MAP_NORESERVE);
        (!memory.is_null()).then_some(Buffer { memory, room: BUFFER_FIRST, len: 0, begin: 0, only: None })
    }

    /// What is appended is a piece, if there is a head for it. `only`: to this file, whatever has its name.
    pub fn of(head: Option<&Head>, words: &[u8], only: Option<Identity>) -> Option<Buffer> {
        let mut buffer = Buffer::new()?;
        buffer.only = only;
        if let Some(head) = head {
            if !put_head(head, words, &mut buffer) {
                return None;
            }
            buffer.begin = buffer.len;
        }
        Some(buffer)
    }

    pub const fn bytes(&self) -> usize {
        self.len
    }

    /// Appends all to a file that is there. False: it is not, or another one, or it does not take them.
    pub fn append_to(&self, path: &CStr) -> bool {
        if self.begin != 0 {
            let length = ((self.len - self.begin) as u64).to_le_bytes();
            // SAFETY: within the head, which is longer.
            unsafe {
                core::ptr::copy_nonoverlapping(length.as_ptr(), self.memory.add(LENGTH_AT), length.len());
            }
        }
        // O_NONBLOCK: the open does not wait for a reader where a FIFO has got that name. For a regular file it changes nothing.
        let flags =
            libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NOCTTY | libc::O_NONBLOCK;
        // SAFETY: plain system calls; the buffer has `len` bytes.
        unsafe {
            let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0);
            if file < 0 {
                return false;
            }
            let file = Descriptor::from_number(file as i32);
            if self.only.is_some_and(|only| file.identity() != Some(only)) {
                return false;
            }
            let mut done = 0;
            while done < self.len {
                let written = libc::syscall(libc::SYS_write, file.number(), self.memory.add(done), self.len - done);
                match usize::try_from(written) {
                    Ok(bytes) if bytes > 0 => done += bytes,
                    _ => break,
                }
            }
            done == self.len
        }
    }
}

impl Sink for Buffer {
    fn put(&mut self, bytes: &[u8]) -> bool {
        while self.len + bytes.len() > self.room {
            let memory = map(self.room * 2, libc::MAP_PRIVATE | libc::MAP_NORESERVE);
            if memory.is_null() {
                return false;
            }
            // SAFETY: two mappings of this buffer's; the old one is used no more.
            unsafe {
                core::ptr::copy_nonoverlapping(self.memory, memory, self.len);
                unmap(self.memory, self.room);
            }
            self.memory = memory;
            self.room *= 2;
        }
        // SAFETY: there is room.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.memory.add(self.len), bytes.len()) };
        self.len += bytes.len();
        true
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: this mapping, which nobody else has.
        unsafe { unmap(self.memory, self.room) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Buffer, Sink};
    use crate::system::descriptor::Identity;
    use std::ffi::CString;
    use std::fs;

    #[test]
    fn an_answer_is_for_one_file_whatever_has_its_name() {
        let folder = std::env::temp_dir().join(format!("genba-answers-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let (named, moved) = (folder.join("named"), folder.join("moved"));
        let path = CString::new(named.to_str().unwrap()).unwrap();
        fs::write(&named, "").unwrap();
        let mut answer = Buffer::of(None, &[], Identity::of_writable(&path)).unwrap();
        assert!(answer.put(b"answer") && answer.append_to(&path));
        fs::rename(&named, &moved).unwrap();
        assert!(!answer.append_to(&path), "no file is made");
        fs::write(&named, "").unwrap();
        assert!(!answer.append_to(&path), "another file");
        fs::remove_file(&named).unwrap();
        std::os::unix::fs::symlink(&moved, &named).unwrap();
        assert!(!answer.append_to(&path), "a way to it");
        fs::remove_file(&named).unwrap();
        // SAFETY: the path ends in NUL.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        // Would wait for a reader.
        assert!(!answer.append_to(&path), "a FIFO");
        fs::remove_file(&named).unwrap();
        fs::rename(&moved, &named).unwrap();
        assert!(answer.append_to(&path));
        assert_eq!(fs::read(&named).unwrap(), b"answeranswer");
        fs::remove_dir_all(&folder).unwrap();
    }
}
