//! Where things lie in one CPython: bytes from the beginning of each struct, for one minor version.
//! Owns: `Layout` and its groups. Filled by find.rs, checked before first use (check.rs, I-10), read by the handler.

/// How the code that CPython's JIT makes is entered, where it is not through `_PyJIT_Entry`: there is no such code.
pub const NO_JIT: u64 = 0;
/// 3.14: each trace begins with a shim that the eval loop calls.
pub const JIT_SHIM: u64 = 1;

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

/// The runtime, its list of interpreters, and an interpreter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Runtime {
    /// Address of `_PyRuntime`.
    pub address: u64,
    pub interpreters_head: u64,
    pub interpreter_next: u64,
    pub threads_head: u64,
    pub gc_collecting: u64,
}

/// The GIL's struct, and where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gil {
    /// 3.12 and later: the field of the interpreter state that points to it.
    pub pointer: Option<u64>,
    /// 3.11: its address (in the runtime).
    pub address: Option<u64>,
    pub last_holder: u64,
    pub locked: u64,
    /// The size of the struct.
    pub bytes: u64,
}

/// A thread state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads {
    pub next: u64,
    pub interpreter: u64,
    pub native_id: u64,
    /// 3.11, 3.12: `pthread_t` of the thread that made the thread state.
    pub ident: Option<u64>,
    /// 3.12 and later: the flags of the thread state; one of them says that it is the last one that its thread activated.
    pub status: Option<u64>,
    /// A number that changes when the thread enters or leaves a context (`contextvars`).
    pub context_version: u64,
    pub current: CurrentFrame,
}

/// A frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frames {
    pub code: u64,
    pub previous: u64,
    pub instruction: u64,
    pub owner: u64,
    /// 3.11 only: the flag that marks the first frame of a run of the eval loop.
    pub is_entry: Option<u64>,
    pub locals: u64,
    pub operands: Option<OperandLayout>,
}

/// A code object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Codes {
    /// Address of `PyCode_Type`.
    pub type_address: u64,
    pub filename: u64,
    pub qualname: u64,
    pub linetable: u64,
    pub first_line: u64,
    /// 3.12 and later: a number that no other code object of the process has.
    pub version: Option<u64>,
    pub instructions: u64,
}

/// A str, and a bytes object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strings {
    pub length: u64,
    pub hash: u64,
    pub state: u64,
    pub ascii: u64,
    pub compact: u64,
    pub bytes_size: u64,
    pub bytes_value: u64,
}

/// A group for each of CPython's structs. All values are byte offsets unless they say otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// 11 to 15.
    pub minor: u8,
    pub runtime: Runtime,
    pub gil: Gil,
    pub threads: Threads,
    pub frames: Frames,
    pub codes: Codes,
    pub strings: Strings,
    /// Address of `PyType_Type`.
    pub type_type: u64,
}
