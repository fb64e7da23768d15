//! Where things lie in one CPython: bytes from the beginning of each struct, for one minor version.
//! Owns: `Layout`. Filled and checked by the agent before first use (I-10), read by the handler.

/// How the current frame of a thread state is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CurrentFrame {
    /// 3.11, 3.12: thread state -> cframe -> current frame; each cframe is a C local of one run of the eval loop.
    ByCFrame { cframe: u64, current_frame: u64, previous: u64, datastack_chunk: u64 },
    /// 3.13 and later: in the thread state. `base_frame`: 3.15's sentinel that ends every chain.
    InThreadState { current_frame: u64, base_frame: Option<u64> },
}

/// Where the operands of the current instruction are found (3.14 and later).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandLayout {
    pub stackpointer: u64,
    pub binary_slice: u8,
    /// How many entries below the stack pointer the container of a slice lies.
    pub slice_container: u64,
    pub binary_op: u8,
    pub subscript_argument: u8,
    pub subscript_container: u64,
}

/// All values are byte offsets unless they say otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// 11 to 15.
    pub minor: u8,
    /// Address of `_PyRuntime`.
    pub runtime: u64,
    pub interpreters_head: u64,
    pub interpreter_next: u64,
    pub threads_head: u64,
    pub gc_collecting: u64,
    /// The GIL struct: 3.12 and later a pointer in the interpreter state; 3.11 its address (in the runtime).
    pub gil_pointer: Option<u64>,
    pub gil_address: Option<u64>,
    pub gil_last_holder: u64,
    pub gil_locked: u64,
    pub gil_bytes: u64,
    pub thread_next: u64,
    pub thread_interpreter: u64,
    pub native_thread_id: u64,
    /// 3.11, 3.12: `pthread_t` of the thread that made the thread state.
    pub thread_id: Option<u64>,
    /// 3.12 and later: the flags of the thread state; one of them says that it is the last one that its thread activated.
    pub thread_status: Option<u64>,
    /// A number that changes when the thread enters or leaves a context (`contextvars`).
    pub context_version: u64,
    pub current: CurrentFrame,
    pub frame_code: u64,
    pub frame_previous: u64,
    pub frame_instruction: u64,
    pub frame_owner: u64,
    /// 3.11 only: the flag that marks the first frame of a run of the eval loop.
    pub frame_is_entry: Option<u64>,
    pub frame_locals: u64,
    pub code_filename: u64,
    pub code_qualname: u64,
    pub code_linetable: u64,
    pub code_first_line: u64,
    /// 3.12 and later: a number that no other code object of the process has.
    pub code_version: Option<u64>,
    pub code_instructions: u64,
    pub str_length: u64,
    pub str_hash: u64,
    pub str_state: u64,
    pub str_ascii: u64,
    pub str_compact: u64,
    pub bytes_size: u64,
    pub bytes_value: u64,
    pub operands: Option<OperandLayout>,
    /// Address of `PyCode_Type`.
    pub code_type: u64,
    /// Address of `PyType_Type`.
    pub type_type: u64,
}
