//! The dynamic symbols of a process's loaded files.
//! Owns: which file is asked. Never: opens one by itself (files.rs does). Partner: crates/python, which asks by name.

use std::ffi::CStr;

use genba_python::symbols::Symbols;

use crate::elf::files::{Loaded, Mapped};
use crate::kernel::memory::Remote;

/// Files in the order in which they are asked; the first one that defines a name answers.
#[derive(Default)]
pub struct RemoteSymbols {
    pub files: Vec<Loaded>,
}

impl RemoteSymbols {
    /// The definition in the first file for whose name `is_wanted` says yes: `|name| name.starts_with("libc.so")`.
    #[must_use]
    pub fn in_file(&self, is_wanted: impl Fn(&str) -> bool, name: &CStr) -> Option<u64> {
        self.files.iter().find(|file| is_wanted(file.file_name()))?.symbol(name.to_bytes())
    }

    /// Opens the files whose names are wanted; those that cannot be opened are left out.
    #[must_use]
    pub fn of(pid: u32, memory: &Remote, mapped: &[Mapped], is_wanted: impl Fn(&str) -> bool) -> RemoteSymbols {
        let wanted = mapped.iter().filter(|mapped| is_wanted(&mapped.file_name()));
        RemoteSymbols { files: wanted.filter_map(|mapped| mapped.open(pid, memory).ok()).collect() }
    }
}

impl Symbols for RemoteSymbols {
    fn address(&self, name: &CStr) -> Option<u64> {
        self.files.iter().find_map(|file| file.symbol(name.to_bytes()))
    }
}
