//! The memory of another process.
//! Owns: reading it by `process_vm_readv`, a page at a time, and the pages of one look. Never: writes, returns a default on a fault.
//! Keeps: I-06.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::IoSliceMut;
use std::time::Instant;

use genba_python::memory::{Address, Fault, Memory};
use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

const PAGE_BYTES: u64 = 4096;
const PAGE: usize = PAGE_BYTES as usize;

/// Reads whole pages and keeps them until `forget`: what it kept is as old as the first read of that page since then.
#[derive(Debug)]
pub struct Remote {
    source: Source,
    pages: RefCell<HashMap<u64, Option<Box<[u8; PAGE]>>>>,
    /// After this moment each read of a page is a fault.
    deadline: Cell<Option<Instant>>,
    is_late: Cell<bool>,
}

#[derive(Debug)]
enum Source {
    Process(Pid),
    Other(Box<dyn Bytes>),
}

/// Memory that is no living process's: a core file's.
pub trait Bytes: std::fmt::Debug + Send {
    /// Fills `bytes` with what lies at `address`.
    ///
    /// # Errors
    /// `EFAULT`: not all of them are there.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Errno>;
}

impl Remote {
    #[must_use]
    pub fn new(pid: u32) -> Remote {
        Remote::from(Source::Process(Pid::from_raw(pid.cast_signed())))
    }

    /// The memory that something else than a living process has.
    #[must_use]
    pub fn over(bytes: impl Bytes + 'static) -> Remote {
        Remote::from(Source::Other(Box::new(bytes)))
    }

    fn from(source: Source) -> Remote {
        Remote { source, pages: RefCell::default(), deadline: Cell::new(None), is_late: Cell::new(false) }
    }

    /// What is read from here on is read anew.
    pub fn forget(&self) {
        self.pages.borrow_mut().clear();
    }

    /// Bounds the time that reading takes, while a thread is stopped for it.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.deadline.set(deadline);
        self.is_late.set(false);
    }

    /// Whether a read came after the deadline.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.is_late.get()
    }

    /// Fills `bytes` with what lies at `address` now, past the kept pages.
    ///
    /// # Errors
    /// `Fault` when any byte is not readable.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        match self.try_read(address, bytes) {
            Ok(()) => Ok(()),
            Err(_) => Err(Fault),
        }
    }

    /// The same with the kernel's reason: `EPERM` where this process may not read that one at all.
    ///
    /// # Errors
    /// The kernel's; `EFAULT` also when only a part could be read.
    pub fn try_read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let (len, base) = (bytes.len(), usize::try_from(address).map_err(|_| Errno::EFAULT)?);
        if len == 0 {
            return Ok(());
        }
        let pid = match &self.source {
            Source::Process(pid) => *pid,
            Source::Other(other) => return other.read(address, bytes),
        };
        let there = process_vm_readv(pid, &mut [IoSliceMut::new(bytes)], &[RemoteIoVec { base, len }])?;
        if there == len { Ok(()) } else { Err(Errno::EFAULT) }
    }

    /// What lies from `address` on, as far as it is readable and no more than `bytes_max`, past the kept pages.
    #[must_use]
    pub fn copy_from(&self, address: u64, bytes_max: u64) -> Vec<u8> {
        let end = address.saturating_add(bytes_max);
        // Each page is asked for by itself: the kernel gives those before the first that is not there.
        let begins =
            std::iter::once(address).chain((address / PAGE_BYTES + 1..).map_while(|page| page.checked_mul(PAGE_BYTES)));
        let begins: Vec<u64> = begins.take_while(|&begin| begin < end).collect();
        let pages = begins.iter().zip(begins.iter().skip(1).chain([&end])).map(|(&begin, &end)| (begin, end - begin));
        let mut copy = vec![0; bytes_max as usize];
        let there = match &self.source {
            Source::Process(pid) => {
                let pages: Vec<RemoteIoVec> =
                    pages.map(|(begin, bytes)| RemoteIoVec { base: begin as usize, len: bytes as usize }).collect();
                process_vm_readv(*pid, &mut [IoSliceMut::new(&mut copy)], &pages).unwrap_or(0)
            }
            Source::Other(other) => {
                let mut there = 0;
                for (begin, bytes) in pages {
                    let page = copy.get_mut(there..there + bytes as usize).unwrap_or_default();
                    if other.read(begin, page).is_err() {
                        break;
                    }
                    there += bytes as usize;
                }
                there
            }
        };
        copy.truncate(there);
        copy
    }

    /// A text that ends in NUL. `None`: unreadable, or longer than `bytes_max`.
    #[must_use]
    pub fn c_string(&self, address: u64, bytes_max: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for offset in 0..bytes_max {
            match self.byte(Address(address.checked_add(offset)?)).ok()? {
                0 => return Some(text),
                byte => text.push(byte),
            }
        }
        None
    }

    fn copy_from_page(&self, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        let (number, offset) = (address / PAGE_BYTES, (address % PAGE_BYTES) as usize);
        let mut pages = self.pages.borrow_mut();
        let page = pages.entry(number).or_insert_with(|| {
            if self.deadline.get().is_some_and(|deadline| Instant::now() > deadline) {
                self.is_late.set(true);
                return None;
            }
            let mut page = Box::new([0; PAGE]);
            self.try_read(number * PAGE_BYTES, page.as_mut_slice()).ok().map(|()| page)
        });
        let page = page.as_ref().ok_or(Fault)?;
        bytes.copy_from_slice(page.get(offset..offset + bytes.len()).ok_or(Fault)?);
        Ok(())
    }
}

impl Memory for Remote {
    fn word(&self, address: Address) -> Result<u64, Fault> {
        let mut word = [0; 8];
        let here = (PAGE_BYTES - address.0 % PAGE_BYTES).min(8) as usize;
        let (first, second) = word.split_at_mut(here);
        self.copy_from_page(address.0, first)?;
        if !second.is_empty() {
            self.copy_from_page(address.0.checked_add(here as u64).ok_or(Fault)?, second)?;
        }
        Ok(u64::from_le_bytes(word))
    }
}

#[cfg(test)]
mod tests {
    use super::Remote;
    use genba_python::memory::{Address, Fault, Memory};
    use std::time::Instant;

    #[test]
    fn words_across_pages_are_read_and_none_at_zero() {
        let bytes: Vec<u8> = (0..3 * 4096_u32).map(|number| number as u8).collect();
        let memory = Remote::new(std::process::id());
        let base = bytes.as_ptr() as u64;
        for offset in [0, 1, 4090, 4095, 4096, 8185] {
            let expected = u64::from_le_bytes(std::array::from_fn(|index| bytes[offset + index]));
            assert_eq!(memory.word(Address(base + offset as u64)), Ok(expected), "{offset}");
        }
        assert_eq!(memory.word(Address(0)), Err(Fault));
        assert_eq!(memory.word(Address(u64::MAX - 3)), Err(Fault));
        let mut copy = vec![0; bytes.len()];
        assert_eq!(memory.read(base, &mut copy), Ok(()));
        assert_eq!(copy, bytes);
    }

    #[test]
    fn what_is_readable_is_copied_up_to_the_first_page_that_is_not() {
        let bytes: Vec<u8> = (0..3 * 4096_u32).map(|number| number as u8).collect();
        let memory = Remote::new(std::process::id());
        assert_eq!(memory.copy_from(bytes.as_ptr() as u64 + 5, 5000), bytes[5..5005]);
        assert_eq!(memory.copy_from(0, 8192), Vec::<u8>::new());
        assert_eq!(memory.copy_from(u64::MAX - 3, 1 << 20), Vec::<u8>::new());
        let own = std::fs::read_to_string("/proc/self/maps").unwrap();
        let stack = own.lines().find(|line| line.ends_with("[stack]")).unwrap();
        let end = u64::from_str_radix(stack.split(['-', ' ']).nth(1).unwrap(), 16).unwrap();
        assert_eq!(memory.copy_from(end - 100, 1 << 20).len(), 100, "the stack ends there");
    }

    #[test]
    fn nothing_new_is_read_after_the_deadline() {
        let bytes = vec![7_u8; 3 * 4096];
        let memory = Remote::new(std::process::id());
        memory.set_deadline(Some(Instant::now()));
        assert_eq!((memory.word(Address(bytes.as_ptr() as u64)), memory.is_late()), (Err(Fault), true));
        memory.forget();
        memory.set_deadline(None);
        assert_eq!(memory.byte(Address(bytes.as_ptr() as u64)), Ok(7));
        assert!(!memory.is_late());
    }
}
