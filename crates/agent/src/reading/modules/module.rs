//! A loaded file.
//! Owns: what is known of one. Never: asks the dynamic linker.

use crate::reading::cfi::Compiled;

/// One loaded file.
pub struct Module {
    pub path: String,
    pub build_id: Vec<u8>,
    pub kind: ModuleKind,
    /// Address in the process - address in the file.
    pub bias: u64,
    pub start: u64,
    pub end: u64,
    pub compiled: Compiled,
    /// Writable memory of the file: static objects lie there.
    pub data: Vec<(u64, u64)>,
    /// The row in the recording's table, once a frame was seen in it.
    pub row: Option<u32>,
    pub mapped: bool,
    /// It went before its rows were complete: what was copied may be another file's, and is never used again.
    pub abandoned: bool,
    /// The generation of the list in which it is there without a break.
    pub since: u64,
}

impl Module {
    /// A position without a file.
    pub const VACANT: Module = Module {
        path: String::new(),
        build_id: Vec::new(),
        kind: ModuleKind::File,
        bias: 0,
        start: 0,
        end: 0,
        compiled: Compiled { rows: Vec::new(), functions: Vec::new() },
        data: Vec::new(),
        row: None,
        mapped: false,
        abandoned: false,
        since: 0,
    };
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModuleKind {
    File = 0,
    Vdso = 1,
}
