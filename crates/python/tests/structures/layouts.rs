//! Layouts as CPython's are, for memory that tests make up.
//! Owns: where the fields of their structures lie. Never: is an interpreter's own (python/src/find.rs).

use genba_python::layout::{Codes, CurrentFrame, Frames, Gil, Layout, OperandLayout, Runtime, Strings, Threads};

/// Where the made-up memory begins.
pub const REGION: u64 = 0x7f00_0000_0000;
pub const CODE_TYPE: u64 = 0x5555_0000_1000;

const BASE: Layout = Layout {
    minor: 12,
    runtime: Runtime {
        address: REGION + 4096,
        interpreters_head: 40,
        interpreter_next: 0,
        threads_head: 72,
        gc_collecting: 312,
    },
    gil: Gil { pointer: Some(384), address: None, last_holder: 8, locked: 16, bytes: 208 },
    threads: Threads {
        next: 8,
        interpreter: 16,
        native_id: 144,
        ident: Some(136),
        status: Some(24),
        context_version: 240,
        current: CurrentFrame::ByCFrame { cframe: 56, current_frame: 0, previous: 8, datastack_chunk: 232 },
    },
    frames: Frames { code: 0, previous: 24, instruction: 56, owner: 70, is_entry: None, locals: 72, operands: None },
    codes: Codes {
        filename: 112,
        qualname: 128,
        linetable: 152,
        first_line: 68,
        version: Some(92),
        instructions: 192,
        type_address: CODE_TYPE,
    },
    strings: Strings { length: 16, hash: 24, state: 32, ascii: 40, compact: 56, bytes_size: 16, bytes_value: 32 },
    type_type: 0,
};
const OPERANDS: OperandLayout = OperandLayout {
    stackpointer: 64,
    binary_slice: 1,
    slice_container: 3,
    binary_op: 42,
    subscript_argument: 26,
    subscript_container: 2,
};
/// As 3.11, 3.12 and 3.15 find their frames.
pub const LAYOUTS: [Layout; 3] = [
    Layout {
        minor: 11,
        gil: Gil { pointer: None, address: Some(REGION + 64), ..BASE.gil },
        threads: Threads { ident: Some(168), status: None, ..BASE.threads },
        frames: Frames { is_entry: Some(68), ..BASE.frames },
        ..BASE
    },
    BASE,
    Layout {
        minor: 15,
        threads: Threads {
            ident: None,
            current: CurrentFrame::InThreadState { current_frame: 56, base_frame: Some(200) },
            ..BASE.threads
        },
        frames: Frames { operands: Some(OPERANDS), ..BASE.frames },
        ..BASE
    },
];
