//! Layouts as CPython's are, for memory that tests make up.
//! Owns: where the fields of their structures lie. Never: is an interpreter's own (agent/src/reading/python.rs).

use genba_signal::layout::{CurrentFrame, Layout, OperandLayout};

/// Where the made-up memory begins.
pub const REGION: u64 = 0x7f00_0000_0000;
pub const CODE_TYPE: u64 = 0x5555_0000_1000;

const BASE: Layout = Layout {
    minor: 12,
    runtime: REGION + 4096,
    interpreters_head: 40,
    interpreter_next: 0,
    threads_head: 72,
    gc_collecting: 312,
    gil_pointer: Some(384),
    gil_address: None,
    gil_last_holder: 8,
    gil_locked: 16,
    gil_bytes: 208,
    thread_next: 8,
    thread_interpreter: 16,
    native_thread_id: 144,
    thread_id: Some(136),
    thread_status: Some(24),
    context_version: 240,
    current: CurrentFrame::ByCFrame { cframe: 56, current_frame: 0, previous: 8, datastack_chunk: 232 },
    frame_code: 0,
    frame_previous: 24,
    frame_instruction: 56,
    frame_owner: 70,
    frame_is_entry: None,
    frame_locals: 72,
    code_filename: 112,
    code_qualname: 128,
    code_linetable: 152,
    code_first_line: 68,
    code_version: Some(92),
    code_instructions: 192,
    str_length: 16,
    str_hash: 24,
    str_state: 32,
    str_ascii: 40,
    str_compact: 56,
    bytes_size: 16,
    bytes_value: 32,
    operands: None,
    code_type: CODE_TYPE,
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
        frame_is_entry: Some(68),
        gil_pointer: None,
        gil_address: Some(REGION + 64),
        thread_id: Some(168),
        thread_status: None,
        ..BASE
    },
    BASE,
    Layout {
        minor: 15,
        thread_id: None,
        current: CurrentFrame::InThreadState { current_frame: 56, base_frame: Some(200) },
        operands: Some(OPERANDS),
        ..BASE
    },
];
