//! The table that all processes of a run share: one that is about to kill another rings there first. So does genba, before it passes a
//! signal on to the program. Programs that cannot be followed are counted there.
//! Owns: the memory file, for as long as genba runs. Never: takes a place in it.
//! Partners: crates/bells, crates/agent/src/process/bells.rs.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use genba_bells::programs::Started;
use genba_bells::{ANSWER_NS_MAX, Table, ask_all, is_deadly, monotonic_ns, own_namespace};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};

const TABLE_BYTES: u64 = size_of::<Table>() as u64;

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

    /// For processes that cannot open it by its name.
    pub fn file(&self) -> Option<OwnedFd> {
        self.file.try_clone().ok()
    }

    pub fn chain(&self) -> Chain {
        Chain(genba_bells::map(self.file.as_fd()).zip(own_namespace()))
    }

    /// Programs that the run's processes could not take the agent into, and how many starts there were of others.
    pub fn not_followed(&self) -> (Vec<Started>, u64) {
        genba_bells::map(self.file.as_fd()).map(|table| table.programs.started()).unwrap_or_default()
    }

    /// What the agent finds it by.
    pub fn name(&self) -> String {
        format!("{},{},/proc/{}/fd/{}", self.device, self.inode, std::process::id(), self.file.as_raw_fd())
    }
}

/// What genba rings by, and its own pid namespace. `None`: there is no table, and nobody is asked.
#[derive(Clone, Copy, Default)]
pub struct Chain(Option<(&'static Table, u32)>);

impl Chain {
    /// Before `signal` goes to the process `pid`: lets it write what it has, where the signal may end it.
    pub fn before_signal(self, pid: u32, signal: i32) {
        if let Some((table, namespace)) = self.0.filter(|_| is_deadly(signal)) {
            ask_all(&table.places, namespace, |other| other == pid, monotonic_ns() + ANSWER_NS_MAX);
        }
    }
}
