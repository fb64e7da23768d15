//! What a walk over the frames of a thread leaves: a word for each frame, how it ended, what the innermost frame works on.
//! Owns: the bits of a word, the numbers of the ends. Never: reads memory.

use crate::memory::Address;

/// Words for Python frames and shims.
pub const PYTHON_MAX: usize = 1536;
/// One more: the shim that every stack begins with cuts none that has room but for it.
pub const PYTHON_WORDS: usize = PYTHON_MAX + 1;
/// So many frames are counted beyond the last word: few enough for `IN_HANDLER_NS_MAX` (agent, looks.rs), for they lie beside each other.
pub const COUNTED_MAX: u32 = 1 << 14;

/// How the walk over the Python frames ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum PythonEnd {
    /// At the first frame.
    Complete = 0,
    /// No thread state belongs to this thread.
    NoThreadState = 1,
    /// A frame could not be read.
    Fault = 2,
    /// PYTHON_MAX words.
    TooDeep = 3,
    /// Several thread states, and which of them belong to this thread's stack cannot be told.
    Ambiguous = 4,
    /// Frames in more than THREAD_STATES_MAX thread states.
    TooMany = 5,
    /// The current frame is none of the thread's any more, or not yet: greenlets change places.
    Popped = 6,
}

/// Frames beyond the last word, of which nothing is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beyond {
    /// Those of each of the codes in `Rest`.
    pub alike: [u32; 2],
    /// All of them; `COUNTED_MAX`: so many at least, or one of them could not be read.
    pub frames: u32,
}

impl Beyond {
    /// False: there may be more.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.frames < COUNTED_MAX
    }
}

/// Which operation the innermost frame executes on which type, where CPython leaves its operands readable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    pub container_type: Address,
}

/// One word of the list of Python frames, innermost first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct PythonWord(u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PythonEntry {
    /// A frame of a known code object (row of the sampler's table), at an instruction (code units).
    Known { code: u32, instruction: u32 },
    /// A frame of a code object described in the tail (position of its entry, in words).
    InTail { position: u32, instruction: u32 },
    /// A frame whose code object found no room in the tail.
    NoRoom,
    /// A C local of the run of the eval loop that executes the frames before it.
    Shim { address: u64 },
}

impl PythonWord {
    pub const EMPTY: PythonWord = PythonWord(0);
    const INDEX_MAX: u64 = (1 << 30) - 1;

    #[inline(always)]
    #[must_use]
    pub const fn new(entry: PythonEntry) -> PythonWord {
        PythonWord(match entry {
            PythonEntry::Known { code, instruction } => (code as u64 & Self::INDEX_MAX) << 32 | instruction as u64,
            PythonEntry::InTail { position, instruction } => {
                1 << 62 | (position as u64 & Self::INDEX_MAX) << 32 | instruction as u64
            }
            PythonEntry::Shim { address } => 2 << 62 | (address & ((1 << 62) - 1)),
            PythonEntry::NoRoom => 3 << 62,
        })
    }

    #[must_use]
    pub const fn entry(self) -> PythonEntry {
        let (index, instruction) = ((self.0 >> 32 & Self::INDEX_MAX) as u32, self.0 as u32);
        match self.0 >> 62 {
            0 => PythonEntry::Known { code: index, instruction },
            1 => PythonEntry::InTail { position: index, instruction },
            2 => PythonEntry::Shim { address: self.0 & ((1 << 62) - 1) },
            _ => PythonEntry::NoRoom,
        }
    }
}
