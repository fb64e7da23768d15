//! Which CPython a program is, and where things lie in it.
//! Owns: the tables of offsets, the refusals by name. Never: calls the interpreter. Partner: check.rs (I-10).
//! Sources: CPython 3.11.7, 3.12.1, 3.13.0, 3.14.10, 3.15.2 headers (Include/internal/pycore_*.h), printed by offsetof; from 3.13
//! on `_Py_DebugOffsets` is read and the numbers are its own offsets (pycore_runtime.h, pycore_debug_offsets.h).

use crate::layout::{
    Codes, CurrentFrame, Frames, Gil, JIT_SHIM, Layout, NO_JIT, OperandLayout, Runtime, Strings, Threads,
};
use crate::memory::{Address, Memory};
use crate::symbols::Symbols;

/// What stands behind `_PyRuntime`.
#[derive(Clone, Copy, Debug)]
pub struct Python {
    pub runtime: Address,
    pub layout: Layout,
    /// How the code that its JIT makes is entered: `NO_JIT`, `JIT_SHIM`, or the address of `_PyJIT_Entry`.
    pub jit: u64,
    /// `PyObject_GetItem`, below which an operand names the slot.
    pub get_item: Option<u64>,
    /// Addresses of `PyUnicode_Type` and `PyBytes_Type`.
    pub str_type: u64,
    pub bytes_type: u64,
    /// Of `PyDict_Type` and `PyLong_Type`, for what is no frame: names of threads.
    pub dict_type: Option<u64>,
    pub int_type: Option<u64>,
}

/// A CPython that genba records, or the reason why it does not.
pub enum Found {
    /// Not a Python process.
    No,
    Yes {
        python: Box<Python>,
        version: String,
    },
    Refused {
        version: String,
        reason: String,
    },
}

/// Looks for an interpreter among the loaded files. Reads symbols and constants only, so it works before `main`.
pub fn find<M: Memory, S: Symbols>(memory: &M, symbols: &S) -> Found {
    if symbols.address(c"pypy_main_startup").is_some() || symbols.address(c"rpython_startup_code").is_some() {
        return Found::Refused { version: "PyPy".to_owned(), reason: "PyPy is not CPython".to_owned() };
    }
    let Some(runtime) = symbols.address(c"_PyRuntime") else {
        return Found::No;
    };
    let hex = match symbols.address(c"Py_Version").map(|at| memory.word(Address(at))) {
        Some(Ok(hex)) => hex as u32,
        _ => {
            let reason = "it is older than CPython 3.11".to_owned();
            return Found::Refused { version: "CPython before 3.11".to_owned(), reason };
        }
    };
    let version = spell(hex);
    let refused = |reason: &str| Found::Refused { version: version.clone(), reason: reason.to_owned() };
    let minor = (hex >> 16 & 0xff) as u8;
    if hex >> 24 != 3 || !(11..=15).contains(&minor) {
        return refused("genba knows CPython 3.11 to 3.15");
    }
    if hex >> 4 & 0xf != 0xf {
        return refused("it is a pre-release: its tables are not final");
    }
    if symbols.address(c"_Py_GetGlobalRefTotal").is_some() || symbols.address(c"_Py_RefTotal").is_some() {
        return refused("it is a debug build");
    }
    if symbols.address(c"_Py_PrintReferences").is_some() {
        return refused("it is built with --with-trace-refs");
    }
    let code_and_type = symbols.address(c"PyCode_Type").zip(symbols.address(c"PyType_Type"));
    let texts = symbols.address(c"PyUnicode_Type").zip(symbols.address(c"PyBytes_Type"));
    let Some(((code_type, type_type), (str_type, bytes_type))) = code_and_type.zip(texts) else {
        return refused("it does not export PyCode_Type and the like");
    };
    let runtime = Address(runtime);
    let layout = match minor {
        11 => Some(layout_3_11(runtime)),
        12 => Some(layout_3_12()),
        _ => layout_from_debug_offsets(memory, runtime, minor, hex),
    };
    let Some(mut layout) = layout else {
        return if minor >= 13 && memory.word(runtime.at(16)) == Ok(1) {
            refused("it is a free-threaded build")
        } else {
            refused("its table of offsets is not the one that genba knows")
        };
    };
    layout.runtime.address = runtime.0;
    layout.codes.type_address = code_type;
    layout.type_type = type_type;
    let jit = match minor {
        ..=13 => NO_JIT,
        14 => JIT_SHIM,
        _ => symbols.address(c"_PyJIT_Entry").unwrap_or(NO_JIT),
    };
    let get_item = symbols.address(c"PyObject_GetItem");
    let (dict_type, int_type) = (symbols.address(c"PyDict_Type"), symbols.address(c"PyLong_Type"));
    let python = Python { runtime, layout, jit, get_item, str_type, bytes_type, dict_type, int_type };
    Found::Yes { python: Box::new(python), version }
}

/// `0x030f02f0` -> `3.15.2`.
fn spell(hex: u32) -> String {
    let (major, minor, micro) = (hex >> 24, hex >> 16 & 0xff, hex >> 8 & 0xff);
    match hex >> 4 & 0xf {
        0xf => format!("{major}.{minor}.{micro}"),
        level => {
            format!("{major}.{minor}.{micro}{}{}", ["a", "b", "rc"][(level as usize).clamp(10, 12) - 10], hex & 0xf)
        }
    }
}

pub(crate) const BASE: Layout = Layout {
    minor: 12,
    runtime: Runtime { address: 0, interpreters_head: 40, interpreter_next: 0, threads_head: 72, gc_collecting: 312 },
    gil: Gil { pointer: Some(384), address: None, last_holder: 8, locked: 16, bytes: 208 },
    threads: Threads {
        next: 8,
        interpreter: 16,
        native_id: 144,
        ident: Some(136),
        status: Some(24),
        context_version: 216,
        current: CurrentFrame::ByCFrame { cframe: 56, current_frame: 0, previous: 8, datastack_chunk: 232 },
    },
    frames: Frames { code: 0, previous: 8, instruction: 56, owner: 70, is_entry: None, locals: 72, operands: None },
    codes: Codes {
        filename: 112,
        qualname: 128,
        linetable: 136,
        first_line: 68,
        version: Some(92),
        instructions: 192,
        type_address: 0,
    },
    strings: Strings { length: 16, hash: 24, state: 32, ascii: 40, compact: 56, bytes_size: 16, bytes_value: 32 },
    type_type: 0,
};

const fn layout_3_12() -> Layout {
    BASE
}

const fn layout_3_11(runtime: Address) -> Layout {
    Layout {
        minor: 11,
        runtime: Runtime { threads_head: 16, gc_collecting: 848, ..BASE.runtime },
        gil: Gil { pointer: None, address: Some(runtime.0 + 360), ..BASE.gil },
        threads: Threads {
            native_id: 160,
            ident: Some(152),
            status: None,
            context_version: 232,
            current: CurrentFrame::ByCFrame { cframe: 56, current_frame: 8, previous: 16, datastack_chunk: 296 },
            ..BASE.threads
        },
        frames: Frames { code: 32, previous: 48, owner: 69, is_entry: Some(68), ..BASE.frames },
        codes: Codes { first_line: 72, version: None, instructions: 184, ..BASE.codes },
        strings: Strings { ascii: 48, compact: 72, ..BASE.strings },
        ..BASE
    }
}

/// Offsets within `_Py_DebugOffsets`; its own layout differs by minor version.
struct Where {
    gc: u64,
    ceval_gil: u64,
    thread_next: u64,
    current_frame: u64,
    native_thread_id: u64,
    frame: u64,
    code: u64,
    bytes_size: u64,
    unicode: u64,
    gc_collecting: u64,
}

fn layout_from_debug_offsets<M: Memory>(memory: &M, runtime: Address, minor: u8, hex: u32) -> Option<Layout> {
    let table = match minor {
        13 => Where {
            gc: 80,
            ceval_gil: 112,
            thread_next: 168,
            current_frame: 184,
            native_thread_id: 200,
            frame: 232,
            code: 280,
            bytes_size: 520,
            unicode: 544,
            gc_collecting: 576,
        },
        14 => Where {
            gc: 88,
            ceval_gil: 120,
            thread_next: 192,
            current_frame: 208,
            native_thread_id: 224,
            frame: 256,
            code: 320,
            bytes_size: 600,
            unicode: 624,
            gc_collecting: 656,
        },
        _ => Where {
            gc: 88,
            ceval_gil: 120,
            thread_next: 192,
            current_frame: 208,
            native_thread_id: 248,
            frame: 320,
            code: 384,
            bytes_size: 696,
            unicode: 720,
            gc_collecting: 760,
        },
    };
    let word = |offset: u64| memory.word(runtime.at(offset)).ok();
    // An offset; one that no struct of CPython reaches means that this is another table.
    let offset = |at: u64| word(at).filter(|&value| value < 1 << 20);
    if word(0)? != u64::from_le_bytes(*b"xdebugpy") || word(8)? as u32 != hex || word(16)? != 0 {
        return None;
    }
    let frame_locals = offset(table.frame + 24)?;
    let stackpointer = if minor >= 14 { offset(table.frame + 40) } else { None };
    let operands = stackpointer.map(|stackpointer| OperandLayout {
        stackpointer,
        binary_slice: 1,
        slice_container: if minor == 14 { 1 } else { 3 },
        binary_op: if minor == 14 { 44 } else { 42 },
        subscript_argument: 26,
        subscript_container: 2,
    });
    let str_ascii = offset(table.unicode + 16)?;
    Some(Layout {
        minor,
        runtime: Runtime {
            interpreters_head: offset(40)?,
            interpreter_next: offset(64)?,
            threads_head: offset(72)?,
            gc_collecting: offset(table.gc)? + offset(table.gc_collecting)?,
            ..BASE.runtime
        },
        gil: Gil { pointer: Some(offset(table.ceval_gil)?), ..BASE.gil },
        threads: Threads {
            next: offset(table.thread_next)?,
            interpreter: offset(table.thread_next + 8)?,
            native_id: offset(table.native_thread_id)?,
            ident: None,
            status: Some(32),
            context_version: if minor >= 15 { 240 } else { 216 },
            current: CurrentFrame::InThreadState {
                current_frame: offset(table.current_frame)?,
                base_frame: if minor >= 15 { Some(80) } else { None },
            },
        },
        frames: Frames {
            previous: offset(table.frame)?,
            code: offset(table.frame + 8)?,
            instruction: offset(table.frame + 16)?,
            owner: offset(table.frame + 32)?,
            locals: frame_locals,
            operands,
            ..BASE.frames
        },
        codes: Codes {
            filename: offset(table.code)?,
            qualname: offset(table.code + 16)?,
            linetable: offset(table.code + 24)?,
            first_line: offset(table.code + 32)?,
            instructions: offset(table.code + 64)?,
            ..BASE.codes
        },
        strings: Strings {
            state: offset(table.unicode)?,
            length: offset(table.unicode + 8)?,
            ascii: str_ascii,
            compact: str_ascii + 16,
            bytes_size: offset(table.bytes_size)?,
            bytes_value: offset(table.bytes_size + 8)?,
            ..BASE.strings
        },
        ..BASE
    })
}

#[cfg(test)]
mod tests {
    use super::spell;

    #[test]
    fn spells_versions_as_python_does() {
        assert_eq!(spell(0x030f_02f0), "3.15.2");
        assert_eq!(spell(0x0310_00a2), "3.16.0a2");
        assert_eq!(spell(0x030e_00c1), "3.14.0rc1");
    }
}
