//! A frame of the C stack, and why a walk over such frames ended. Never: reads memory.

/// A frame: its program counter and its canonical frame address (the stack pointer of its caller at the call).
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct NativeFrame {
    pub pc: u64,
    pub cfa: u64,
}

/// Why a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum NativeEnd {
    /// At the thread's first frame.
    Complete = 0,
    /// The pc is in no known module.
    NoModule = 1,
    /// The module has no rule for the pc.
    NoRule = 2,
    /// The stack could not be read.
    Fault = 3,
    /// NATIVE_MAX frames.
    TooDeep = 4,
    /// The caller's frame did not lie above its callee's.
    NotRising = 5,
    /// A sleeping thread's rbp is not known from outside.
    NoFramePointer = 6,
    /// Not asked for.
    Off = 7,
}
