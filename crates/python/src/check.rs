//! The check of a layout before its first use, on one thread state of the living process (I-10).
//! Owns: what must hold of a frame, its code object, its interpreter and the GIL. Never: condemns a layout for one misfit: the thread
//! runs meanwhile (agent/src/sampling/layout_trust.rs counts). Keeps: I-07 (bounded).

use crate::find::Python;
use crate::layout::{CurrentFrame, Layout};
use crate::memory::{Address, Fault, Memory};

/// `ob_type` and `ob_size`, in every CPython with a GIL.
const TYPE: u64 = 8;
const SIZE: u64 = 16;
/// `compact` of a str's state, and the owner from which on a frame is not one of Python code.
const COMPACT: u32 = 1 << 5;
const OWNER_OF_NO_CODE: u8 = 3;
const FRAMES_MAX: usize = 16;
const INTERPRETERS_MAX: usize = 64;

/// `None`: no Python code runs there yet, or it went away meanwhile: ask again. `Some(false)`: by this layout something is not what
/// it has to be.
pub fn fits<M: Memory>(memory: &M, python: &Python, thread_state: Address) -> Option<bool> {
    let frame = newest_frame(memory, &python.layout, thread_state).ok()??;
    let code = Address(memory.word(frame.at(python.layout.frames.code)).ok()? & !7);
    if code.is_null() {
        return None;
    }
    // The interpreter is read only once the frame is known to be one: a wrong thread state leads nowhere.
    let code_fits = is_code(memory, python, code).ok()? && is_inside(memory, &python.layout, frame, code).ok()?;
    Some(code_fits && is_interpreter(memory, python, thread_state).ok()?)
}

/// The newest frame of Python code.
fn newest_frame<M: Memory>(memory: &M, layout: &Layout, thread_state: Address) -> Result<Option<Address>, Fault> {
    let mut frame = match layout.threads.current {
        CurrentFrame::ByCFrame { cframe, current_frame, .. } => {
            memory.address(memory.address(thread_state.at(cframe))?.at(current_frame))?
        }
        CurrentFrame::InThreadState { current_frame, .. } => memory.address(thread_state.at(current_frame))?,
    };
    for _ in 0..FRAMES_MAX {
        if frame.is_null() {
            return Ok(None);
        }
        if memory.byte(frame.at(layout.frames.owner))? < OWNER_OF_NO_CODE {
            break;
        }
        frame = memory.address(frame.at(layout.frames.previous))?;
    }
    Ok(Some(frame))
}

/// A code object with texts for its names and bytes for its location table.
fn is_code<M: Memory>(memory: &M, python: &Python, code: Address) -> Result<bool, Fault> {
    let layout = &python.layout;
    if memory.word(code.at(TYPE))? != layout.codes.type_address {
        return Ok(false);
    }
    for name in [layout.codes.qualname, layout.codes.filename] {
        let name = memory.address(code.at(name))?;
        let is_text = memory.word(name.at(TYPE))? == python.str_type;
        if !is_text || memory.half(name.at(layout.strings.state))? & COMPACT == 0 {
            return Ok(false);
        }
    }
    let linetable = memory.address(code.at(layout.codes.linetable))?;
    Ok(memory.word(linetable.at(TYPE))? == python.bytes_type)
}

/// The frame's instruction is one of its code object, or none yet.
fn is_inside<M: Memory>(memory: &M, layout: &Layout, frame: Address, code: Address) -> Result<bool, Fault> {
    let first = code.at(layout.codes.instructions).0;
    let behind = first.saturating_add(memory.word(code.at(SIZE))?.saturating_mul(2));
    let instruction = memory.word(frame.at(layout.frames.instruction))?;
    Ok((first.saturating_sub(2)..behind).contains(&instruction))
}

/// The thread state's interpreter is one of the runtime's, and its collector and its GIL say what they can say.
fn is_interpreter<M: Memory>(memory: &M, python: &Python, thread_state: Address) -> Result<bool, Fault> {
    let layout = &python.layout;
    let interpreter = memory.address(thread_state.at(layout.threads.interpreter))?;
    if !is_listed(memory, python, interpreter)? || memory.half(interpreter.at(layout.runtime.gc_collecting))? > 1 {
        return Ok(false);
    }
    let gil = match (layout.gil.pointer, layout.gil.address) {
        (Some(offset), _) => memory.address(interpreter.at(offset))?,
        (None, address) => Address(address.unwrap_or(0)),
    };
    // -1: nobody has ever held it.
    if gil.is_null() || !(-1..=1).contains(&memory.half(gil.at(layout.gil.locked))?.cast_signed()) {
        return Ok(false);
    }
    let holder = memory.address(gil.at(layout.gil.last_holder))?;
    if holder.is_null() {
        return Ok(true);
    }
    let interpreter = memory.address(holder.at(layout.threads.interpreter))?;
    is_listed(memory, python, interpreter)
}

/// `Fault`: it is none of the newest ones.
fn is_listed<M: Memory>(memory: &M, python: &Python, wanted: Address) -> Result<bool, Fault> {
    // The first entry of the list is the newest interpreter; behind the list's head stands the main one.
    let head = python.runtime.at(python.layout.runtime.interpreters_head);
    if memory.address(head.at(8))? == wanted {
        return Ok(true);
    }
    let mut interpreter = memory.address(head)?;
    for _ in 0..INTERPRETERS_MAX {
        if interpreter.is_null() || interpreter == wanted {
            return Ok(interpreter == wanted);
        }
        interpreter = memory.address(interpreter.at(python.layout.runtime.interpreter_next))?;
    }
    Err(Fault)
}

#[cfg(test)]
mod tests {
    use super::{INTERPRETERS_MAX, SIZE, TYPE, fits};
    use crate::find::{BASE, Python};
    use crate::layout::{Codes, Layout, NO_JIT, Runtime};
    use crate::memory::{Address, Fault, Memory};
    use std::collections::BTreeMap;

    const RUNTIME: u64 = 0x1_0000;
    const MAIN: u64 = 0x2_0000;
    const STATE: u64 = 0x3_0000;
    const CFRAME: u64 = 0x4_0000;
    const FRAME: u64 = 0x5_0000;
    const CODE: u64 = 0x6_0000;
    const NAME: u64 = 0x7_0000;
    const LINES: u64 = 0x8_0000;
    const GIL: u64 = 0x9_0000;
    const OTHER: u64 = 0x10_0000;
    const CODE_TYPE: u64 = 0xB_0000;
    const STR_TYPE: u64 = 0xB_1000;
    const BYTES_TYPE: u64 = 0xB_2000;
    const LAYOUT: Layout = Layout {
        runtime: Runtime { address: RUNTIME, ..BASE.runtime },
        codes: Codes { type_address: CODE_TYPE, ..BASE.codes },
        ..BASE
    };
    const INSTRUCTIONS: u64 = 5;

    /// What was written; all else of a page in which something was is zero.
    #[derive(Default)]
    struct Image(BTreeMap<u64, u8>);

    impl Image {
        fn write(&mut self, at: u64, bytes: &[u8]) {
            self.0.extend((at..).zip(bytes.iter().copied()));
        }

        fn word_at(&mut self, at: u64, value: u64) {
            self.write(at, &value.to_le_bytes());
        }
    }

    impl Memory for Image {
        fn word(&self, address: Address) -> Result<u64, Fault> {
            let page = address.0 & !0xFFF;
            self.0.range(page..page + 0x1000).next().ok_or(Fault)?;
            let byte = |at: u64| self.0.get(&at).copied().unwrap_or(0);
            Ok(u64::from_le_bytes(std::array::from_fn(|index| byte(address.0 + index as u64))))
        }
    }

    fn python() -> Python {
        let (runtime, layout) = (Address(RUNTIME), LAYOUT);
        let (str_type, bytes_type) = (STR_TYPE, BYTES_TYPE);
        Python { runtime, layout, jit: NO_JIT, get_item: None, str_type, bytes_type, dict_type: None, int_type: None }
    }

    /// One thread in one function, as CPython 3.12 has it.
    fn image() -> Image {
        let mut image = Image::default();
        let words = [
            (RUNTIME + LAYOUT.runtime.interpreters_head, MAIN),
            (RUNTIME + LAYOUT.runtime.interpreters_head + 8, MAIN),
            (MAIN + LAYOUT.gil.pointer.unwrap(), GIL),
            (GIL + LAYOUT.gil.last_holder, STATE),
            (STATE + LAYOUT.threads.interpreter, MAIN),
            (STATE + 56, CFRAME),
            (CFRAME, FRAME),
            (FRAME + LAYOUT.frames.code, CODE),
            (FRAME + LAYOUT.frames.instruction, CODE + LAYOUT.codes.instructions + 2),
            (CODE + TYPE, CODE_TYPE),
            (CODE + SIZE, INSTRUCTIONS),
            (CODE + LAYOUT.codes.qualname, NAME),
            (CODE + LAYOUT.codes.filename, NAME),
            (CODE + LAYOUT.codes.linetable, LINES),
            (NAME + TYPE, STR_TYPE),
            (LINES + TYPE, BYTES_TYPE),
        ];
        words.into_iter().for_each(|(at, value)| image.word_at(at, value));
        image.write(NAME + LAYOUT.strings.state, &0x64_u32.to_le_bytes());
        image.write(GIL + LAYOUT.gil.locked, &1_u32.to_le_bytes());
        image
    }

    fn after(change: impl FnOnce(&mut Image)) -> Option<bool> {
        let mut changed = image();
        change(&mut changed);
        fits(&changed, &python(), Address(STATE))
    }

    #[test]
    fn a_living_thread_fits() {
        assert_eq!(after(|_| {}), Some(true));
        // Not started yet: one instruction before the first; at the last one.
        assert_eq!(
            after(|image| image.word_at(FRAME + LAYOUT.frames.instruction, CODE + LAYOUT.codes.instructions - 2)),
            Some(true)
        );
        let last = CODE + LAYOUT.codes.instructions + 2 * (INSTRUCTIONS - 1);
        assert_eq!(after(|image| image.word_at(FRAME + LAYOUT.frames.instruction, last)), Some(true));
        assert_eq!(after(|image| image.word_at(GIL + LAYOUT.gil.last_holder, 0)), Some(true));
        assert_eq!(after(|image| image.write(GIL + LAYOUT.gil.locked, &(-1_i32).to_le_bytes())), Some(true));
    }

    #[test]
    fn each_thing_that_is_not_where_it_has_to_be_is_seen() {
        let words = [
            ("code's type", CODE + TYPE, STR_TYPE),
            ("instruction before", FRAME + LAYOUT.frames.instruction, CODE),
            (
                "instruction behind",
                FRAME + LAYOUT.frames.instruction,
                CODE + LAYOUT.codes.instructions + 2 * INSTRUCTIONS,
            ),
            ("name", CODE + LAYOUT.codes.qualname, LINES),
            ("file", CODE + LAYOUT.codes.filename, LINES),
            ("location table", CODE + LAYOUT.codes.linetable, NAME),
            ("interpreter", STATE + LAYOUT.threads.interpreter, GIL),
            ("collector", MAIN + LAYOUT.runtime.gc_collecting, 2),
            ("GIL", MAIN + LAYOUT.gil.pointer.unwrap(), 0),
            ("GIL's state", GIL + LAYOUT.gil.locked, 2),
            ("GIL's holder", GIL + LAYOUT.gil.last_holder, CODE),
        ];
        for (what, at, value) in words {
            assert_eq!(after(|image| image.word_at(at, value)), Some(false), "{what}");
        }
        assert_eq!(after(|image| image.write(NAME + LAYOUT.strings.state, &0x44_u32.to_le_bytes())), Some(false));
    }

    #[test]
    fn where_nothing_runs_nothing_is_said() {
        assert_eq!(after(|image| image.word_at(CFRAME, 0)), None);
        assert_eq!(after(|image| image.word_at(FRAME + LAYOUT.frames.code, 0)), None);
        assert_eq!(after(|image| image.word_at(CFRAME, 0xDEAD_0000)), None, "a frame that is gone");
        // No more than a bounded number of other interpreters is looked at.
        assert_eq!(
            after(|image| {
                image.word_at(STATE + LAYOUT.threads.interpreter, OTHER);
                image.word_at(OTHER + LAYOUT.gil.pointer.unwrap(), GIL);
                for index in 0..=INTERPRETERS_MAX as u64 {
                    let at = OTHER + 0x1000 * (index + 1);
                    image.word_at(at + LAYOUT.runtime.interpreter_next, at + 0x1000);
                }
                image.word_at(RUNTIME + LAYOUT.runtime.interpreters_head, OTHER + 0x1000);
            }),
            None
        );
    }
}
