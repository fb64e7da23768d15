//! The walk over a thread's Python frames, innermost first.
//! Owns: which frame is the current one, shims, the operands of the current instruction. Never: follows a pointer unguarded.
//! Keeps: I-06, I-07. Source: CPython 3.11 to 3.15, pycore_frame.h, pycore_interpframe_structs.h, Python/ceval.c.

use crate::code_capture::{self, COMPLETE, Seen, Tail};
use crate::layout::{CurrentFrame, Layout, OperandLayout};
use crate::memory::{Address, Fault, Memory};
use crate::stack::walked::{
    Beyond, COUNTED_MAX, Operand, PYTHON_MAX, PYTHON_WORDS, PythonEnd, PythonEntry, PythonWord,
};

const OWNER_THREAD: u8 = 0;
const OWNER_GENERATOR: u8 = 1;
const OWNER_SHIM_MIN: u8 = 3;
/// Two C locals of one run of the eval loop lie closer than this.
const SAME_RUN_BYTES_MAX: u64 = 4096;
/// Of a chunk of the data stack; its first word is the chunk before.
const CHUNK_SIZE: u64 = 8;

/// Where the walk writes.
pub struct Frames<'a> {
    pub words: &'a mut [PythonWord; PYTHON_WORDS],
    pub len: usize,
    pub tail: Tail<'a>,
    pub top_not_begun: bool,
    pub operand: Option<Operand>,
    /// Canonical frame address of the innermost native frame, when there is one: what lies above it is no longer its own.
    pub innermost_cfa: Option<u64>,
    /// Where the walk goes on, when there is no word left.
    pub rest: Option<Rest>,
}

/// The frames that found no word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rest {
    /// The first of them.
    pub frame: Address,
    /// Of the last frame that has a word, and of the last one before it that has another.
    pub codes: [Address; 2],
}

/// Where the walk begins and what it needs.
#[derive(Clone, Copy)]
struct First {
    frame: Address,
    /// 3.11: the eval loop's C local that belongs to the innermost frames.
    cframe: Address,
}

impl<'a> Frames<'a> {
    /// Of a walk that has not begun. `tail`: takes the descriptions of code objects.
    #[inline(always)]
    pub fn new(words: &'a mut [PythonWord; PYTHON_WORDS], tail: &'a mut [u64]) -> Frames<'a> {
        Frames {
            words,
            len: 0,
            tail: Tail::new(tail),
            top_not_begun: false,
            operand: None,
            innermost_cfa: None,
            rest: None,
        }
    }

    #[inline(always)]
    fn push(&mut self, entry: PythonEntry) -> Result<(), PythonEnd> {
        match self.words.get_mut(self.len) {
            Some(word) => {
                *word = PythonWord::new(entry);
                self.len += 1;
                Ok(())
            }
            None => Err(PythonEnd::TooDeep),
        }
    }
}

/// Walks the frames of `thread_state`; what could be read stays in `out` whatever the end.
#[inline(always)]
pub fn walk<M: Memory>(memory: &M, layout: &Layout, seen: &Seen, thread_state: Address, out: &mut Frames) -> PythonEnd {
    match walk_or_end(memory, layout, seen, thread_state, out) {
        Ok(()) => PythonEnd::Complete,
        Err(end) => end,
    }
}

impl From<Fault> for PythonEnd {
    fn from(_: Fault) -> PythonEnd {
        PythonEnd::Fault
    }
}

#[inline(always)]
fn walk_or_end<M: Memory>(
    memory: &M,
    layout: &Layout,
    seen: &Seen,
    thread_state: Address,
    out: &mut Frames,
) -> Result<(), PythonEnd> {
    let begin = out.len;
    out.top_not_begun = false;
    let First { mut frame, mut cframe } = first_frame(memory, layout, thread_state, out)?;
    let base = match layout.threads.current {
        CurrentFrame::InThreadState { base_frame: Some(offset), .. } => memory.address(thread_state.at(offset))?,
        _ => Address::NULL,
    };
    let mut last = (Address::NULL, 0_u64, PythonEntry::NoRoom);
    let mut code_before = Address::NULL;
    // I-07: each round pushes a word or ends; it ends at PYTHON_MAX, or one word later.
    while !frame.is_null() && frame != base {
        if out.len >= PYTHON_MAX && !(out.len == PYTHON_MAX && is_first_shim(memory, layout, frame, base) == Ok(true)) {
            out.rest = Some(Rest { frame, codes: [last.0, code_before] });
            return Err(PythonEnd::TooDeep);
        }
        let owner = memory.byte(frame.at(layout.frames.owner))?;
        let previous = memory.address(frame.at(layout.frames.previous))?;
        if owner >= OWNER_SHIM_MIN {
            out.push(PythonEntry::Shim { address: frame.0 })?;
            frame = previous;
            continue;
        }
        let code = Address(memory.word(frame.at(layout.frames.code))? & !7);
        let at = memory.word(frame.at(layout.frames.instruction))?;
        let instruction = (at.wrapping_sub(code.0).wrapping_sub(layout.codes.instructions) as i64 / 2).max(0) as u32;
        if out.len == begin
            && !out.top_not_begun
            && let Some(operands) = &layout.frames.operands
        {
            out.operand = operand(memory, operands, frame, owner, Address(at)).unwrap_or(None);
        }
        let entry = if code == last.0 {
            last.2
        } else {
            let key = code_capture::key(memory, layout, code)?;
            let entry = code_entry(memory, layout, seen, code, key, &mut out.tail)?;
            code_before = last.0;
            last = (code, key, entry);
            entry
        };
        out.push(match entry {
            PythonEntry::Known { code, .. } => PythonEntry::Known { code, instruction },
            PythonEntry::InTail { position, .. } => PythonEntry::InTail { position, instruction },
            other => other,
        })?;
        if let Some(is_entry) = layout.frames.is_entry
            && memory.byte(frame.at(is_entry))? & 1 == 1
            && !cframe.is_null()
        {
            if out.len == PYTHON_MAX && !previous.is_null() {
                out.rest = Some(Rest { frame: previous, codes: [code, code_before] });
                return Err(PythonEnd::TooDeep);
            }
            out.push(PythonEntry::Shim { address: cframe.0 })?;
            cframe = previous_cframe(memory, layout, cframe)?;
        }
        frame = previous;
    }
    Ok(())
}

/// Whether the stack begins with `frame`, and that is a shim. 3.11 has none: an entry frame is its own.
fn is_first_shim<M: Memory>(memory: &M, layout: &Layout, frame: Address, base: Address) -> Result<bool, Fault> {
    let previous = memory.address(frame.at(layout.frames.previous))?;
    Ok((previous.is_null() || previous == base) && memory.byte(frame.at(layout.frames.owner))? >= OWNER_SHIM_MIN)
}

/// How many frames there are beyond the last word. Behind one that cannot be read there may be more, as behind the bound.
#[inline(never)]
pub fn count<M: Memory>(memory: &M, layout: &Layout, rest: Rest) -> Beyond {
    let (mut frame, [last, before]) = (rest.frame, rest.codes);
    let (mut of_last, mut of_before) = (0, 0);
    // I-07.
    for frames in 0..COUNTED_MAX {
        if frame.is_null() {
            return Beyond { alike: [of_last, of_before], frames };
        }
        let Ok(code) = memory.word(frame.at(layout.frames.code)) else { break };
        let Ok(previous) = memory.address(frame.at(layout.frames.previous)) else { break };
        let code = Address(code & !7);
        of_last += u32::from(code == last);
        of_before += u32::from(code == before);
        frame = previous;
    }
    Beyond { alike: [of_last, of_before], frames: COUNTED_MAX }
}

#[inline(always)]
fn code_entry<M: Memory>(
    memory: &M,
    layout: &Layout,
    seen: &Seen,
    code: Address,
    key: u64,
    tail: &mut Tail,
) -> Result<PythonEntry, PythonEnd> {
    let known = seen.find(key);
    if let Some(progress) = known
        && progress as u32 as u64 == COMPLETE
    {
        return Ok(PythonEntry::Known { code: (progress >> 32) as u32, instruction: 0 });
    }
    if let Some(position) = tail.position(key) {
        return Ok(PythonEntry::InTail { position, instruction: 0 });
    }
    let copied = tail.copy(memory, layout, code, key, known.map(|progress| progress as u32))?;
    Ok(match (copied, known) {
        (Some(position), _) => PythonEntry::InTail { position, instruction: 0 },
        (None, Some(progress)) => PythonEntry::Known { code: (progress >> 32) as u32, instruction: 0 },
        (None, None) => PythonEntry::NoRoom,
    })
}

/// The current frame. In 3.11 and 3.12 the eval loop publishes its C local before it fills it in, so the newest one is
/// believed only when what hangs on it fits together; else the walk begins at the run before.
#[inline(always)]
fn first_frame<M: Memory>(
    memory: &M,
    layout: &Layout,
    thread_state: Address,
    out: &mut Frames,
) -> Result<First, PythonEnd> {
    match layout.threads.current {
        CurrentFrame::InThreadState { current_frame, .. } => {
            Ok(First { frame: memory.address(thread_state.at(current_frame))?, cframe: Address::NULL })
        }
        CurrentFrame::ByCFrame { cframe, current_frame, previous, datastack_chunk } => {
            let newest = memory.address(thread_state.at(cframe))?;
            let frame = memory.address(newest.at(current_frame))?;
            let before = memory.address(newest.at(previous))?;
            // A run that has called something is past its beginning.
            let has_called = out.innermost_cfa.is_some_and(|cfa| newest.0 >= cfa);
            let datastack = thread_state.at(datastack_chunk);
            if has_called && is_popped(memory, layout, datastack, frame)? {
                return Err(PythonEnd::Popped);
            }
            if before.is_null() || has_called {
                return Ok(First { frame, cframe: newest });
            }
            let frame_before = memory.address(before.at(current_frame))?;
            if begun(memory, layout, datastack, newest, frame, frame_before) == Ok(true) {
                return Ok(First { frame, cframe: newest });
            }
            out.top_not_begun = true;
            Ok(First { frame: frame_before, cframe: before })
        }
    }
}

fn previous_cframe<M: Memory>(memory: &M, layout: &Layout, cframe: Address) -> Result<Address, Fault> {
    match layout.threads.current {
        CurrentFrame::ByCFrame { previous, .. } => memory.address(cframe.at(previous)),
        CurrentFrame::InThreadState { .. } => Ok(Address::NULL),
    }
}

/// Whether `frame` can be the current frame of the newest run of the eval loop: it is alive, and the frames of that run
/// end at the run's own first frame, behind which the frame of the run before lies. Of a run with more frames than are
/// looked at, all of these lie above the frame of the run before.
fn begun<M: Memory>(
    memory: &M,
    layout: &Layout,
    datastack: Address,
    newest: Address,
    frame: Address,
    frame_before: Address,
) -> Result<bool, Fault> {
    if frame.is_null() {
        return Ok(false);
    }
    let (chunk, top, limit) = (memory.word(datastack)?, memory.word(datastack.at(8))?, memory.word(datastack.at(16))?);
    let (mut current, mut lowest) = (frame, None);
    for _ in 0..PYTHON_MAX {
        let owner = memory.byte(current.at(layout.frames.owner))?;
        let previous = memory.address(current.at(layout.frames.previous))?;
        if owner >= OWNER_SHIM_MIN {
            return Ok(current.0.abs_diff(newest.0) < SAME_RUN_BYTES_MAX && previous == frame_before);
        }
        if !is_executing(memory, layout, current)? {
            return Ok(false);
        }
        if owner == OWNER_GENERATOR {
            // The generator's state byte lies five bytes before its frame; 0 is FRAME_EXECUTING.
            if memory.byte(Address(current.0.wrapping_sub(5)))? != 0 {
                return Ok(false);
            }
        } else {
            if current.0 >= chunk && current.0 < limit && current.0 >= top {
                return Ok(false);
            }
            lowest = Some(current);
        }
        if let Some(is_entry) = layout.frames.is_entry
            && memory.byte(current.at(is_entry))? & 1 == 1
        {
            return Ok(previous == frame_before);
        }
        if previous.is_null() || previous == frame_before {
            return Ok(false);
        }
        current = previous;
    }
    match (lowest, on_datastack(memory, layout, frame_before)?) {
        (Some(lowest), Some(before)) => is_above(memory, datastack, lowest, before),
        // No run has so many generators' frames by chance, and below the first run there is none.
        _ => Ok(true),
    }
}

/// The first frame from this one on that lies on the data stack: a generator's lies in the generator.
fn on_datastack<M: Memory>(memory: &M, layout: &Layout, mut frame: Address) -> Result<Option<Address>, Fault> {
    for _ in 0..PYTHON_MAX {
        if frame.is_null() || memory.byte(frame.at(layout.frames.owner))? == OWNER_THREAD {
            return Ok(Some(frame).filter(|frame| !frame.is_null()));
        }
        frame = memory.address(frame.at(layout.frames.previous))?;
    }
    Ok(None)
}

/// Whether `upper` lies above `lower` on the data stack: in a newer chunk, or behind it in the same. False, too: neither lies there.
fn is_above<M: Memory>(memory: &M, datastack: Address, upper: Address, lower: Address) -> Result<bool, Fault> {
    let mut chunk = memory.address(datastack)?;
    // I-07: a frame more needs no more than a chunk more.
    for _ in 0..PYTHON_MAX {
        if chunk.is_null() {
            break;
        }
        let end = chunk.0.saturating_add(memory.word(chunk.at(CHUNK_SIZE))?);
        let [has_upper, has_lower] = [upper, lower].map(|frame| (chunk.0..end).contains(&frame.0));
        if has_upper || has_lower {
            return Ok(has_upper && (!has_lower || upper.0 > lower.0));
        }
        chunk = memory.address(chunk)?;
    }
    Ok(false)
}

/// Whether `frame` would lie on the thread's data stack, but there is none at that place. While greenlets change places, the C stack of the one
/// that comes lies where the run of the one that goes had its C local, and may hold an old one of its own there.
fn is_popped<M: Memory>(memory: &M, layout: &Layout, datastack: Address, frame: Address) -> Result<bool, Fault> {
    if frame.is_null() || memory.byte(frame.at(layout.frames.owner))? != OWNER_THREAD {
        return Ok(false);
    }
    let (chunk, top) = (memory.address(datastack)?, memory.word(datastack.at(8))?);
    // The thread's limit is still that of the chunk above while CPython gives this one back to the kernel.
    if is_in_chunk(memory, chunk, frame)? {
        return Ok(frame.0 >= top);
    }
    // A frame that is being made may have a chunk of its own before it is the current one.
    let previous = memory.address(chunk)?;
    Ok(previous.is_null() || !is_in_chunk(memory, previous, frame)?)
}

fn is_in_chunk<M: Memory>(memory: &M, chunk: Address, frame: Address) -> Result<bool, Fault> {
    let end = chunk.0.saturating_add(memory.word(chunk.at(CHUNK_SIZE))?);
    Ok((chunk.0..end).contains(&frame.0))
}

/// The frame's code is a code object, and its instruction lies in it (or just before: not started).
fn is_executing<M: Memory>(memory: &M, layout: &Layout, frame: Address) -> Result<bool, Fault> {
    const SIZE: u64 = 16;
    let code = Address(memory.word(frame.at(layout.frames.code))? & !7);
    if memory.word(code.at(8))? != layout.codes.type_address {
        return Ok(false);
    }
    let first = code.at(layout.codes.instructions).0;
    let behind = first.wrapping_add(memory.word(code.at(SIZE))?.wrapping_mul(2));
    let instruction = memory.word(frame.at(layout.frames.instruction))?;
    Ok(instruction.wrapping_add(2) >= first && instruction < behind)
}

/// The type of the container that the current instruction subscripts. The saved stack pointer is not cleared in release
/// builds, so it is believed only within the frame, and the sampler believes the type only when it knows it.
#[inline(never)]
fn operand<M: Memory>(
    memory: &M,
    layout: &OperandLayout,
    frame: Address,
    owner: u8,
    instruction: Address,
) -> Result<Option<Operand>, Fault> {
    const FRAME_BYTES_MAX: u64 = 1 << 20;
    if owner > OWNER_GENERATOR {
        return Ok(None);
    }
    let (opcode, argument) = (memory.byte(instruction)?, memory.byte(instruction.at(1))?);
    let entries_below = if opcode == layout.binary_slice {
        layout.slice_container
    } else if opcode == layout.binary_op && argument == layout.subscript_argument {
        layout.subscript_container
    } else {
        return Ok(None);
    };
    let stackpointer = memory.word(frame.at(layout.stackpointer))?;
    let slot = stackpointer.wrapping_sub(8 * entries_below);
    if slot < frame.0 || slot > frame.0.wrapping_add(FRAME_BYTES_MAX) || slot & 7 != 0 {
        return Ok(None);
    }
    let reference = memory.word(Address(slot))?;
    if reference & 3 == 3 || reference & !7 == 0 {
        return Ok(None);
    }
    let container_type = memory.address(Address(reference & !7).at(8))?;
    Ok(Some(Operand { container_type }))
}
