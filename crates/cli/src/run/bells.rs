//! The table that all processes of a run share: one that is about to kill another rings there first.
//! Owns: the memory file, for as long as genba runs. Never: looks into it (the agent does).
//! Partner: crates/agent/src/bells.rs.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};

/// Room for 1024 processes, 16 bytes each.
const TABLE_BYTES: u64 = 1024 * 16;

pub struct Bells {
    file: OwnedFd,
    device: u64,
    inode: u64,
}

impl Bells {
    /// `None`: the kernel has no such files, or no memory. Then the end of a process that is killed is not recorded.
    pub fn create() -> Option<Bells> {
        let file = memfd_create("genba", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).ok()?;
        ftruncate(&file, TABLE_BYTES).ok()?;
        // Whoever has mapped it must not meet a file that became shorter.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).ok()?;
        let found = fstat(&file).ok()?;
        Some(Bells { file, device: found.st_dev, inode: found.st_ino })
    }

    /// What the agent finds it by.
    pub fn name(&self) -> String {
        format!("{},{},/proc/{}/fd/{}", self.device, self.inode, std::process::id(), self.file.as_raw_fd())
    }
}
