//! What is known of the interpreter before its heap is walked, and whether it is so (I-10).
//! Owns: the addresses of CPython's types, the check of the tables on the living process. Never: reads without the kernel's guard (I-06).

use crate::system::proc::own_pid;
use crate::system::symbols::{self, Linker};
use genba_heap::layout::{self, Frames, Objects, TYPE_BASIC_SIZE, Types};
use genba_python::find::{Found, Python, find};
use genba_python::layout::CurrentFrame;
use genba_python::memory::{Address, Fault, Memory};
use genba_signal::memory::WordsByKernel;
use std::ffi::CStr;

const INTERPRETERS_MAX: usize = 64;

/// The interpreter, before anything of it was looked at.
#[derive(Clone, Copy)]
pub struct Known {
    pub python: Python,
    pub objects: Objects,
    pub types: Types,
    pub frames: Frames,
}

/// The interpreters to walk.
#[derive(Clone, Copy, Debug)]
pub struct Interpreters {
    addresses: [u64; INTERPRETERS_MAX],
    len: usize,
    /// With a GIL of their own, being made, or too many.
    pub left: u64,
    pub has_interned: bool,
    /// Whether each has its `sys.modules` where the table says.
    pub has_modules: bool,
}

impl Interpreters {
    pub fn addresses(&self) -> &[u64] {
        self.addresses.get(..self.len).unwrap_or_default()
    }
}

impl Known {
    /// `None`: there is none that genba knows.
    pub fn find() -> Option<Known> {
        // Constants and symbols only.
        let memory = WordsByKernel { pid: own_pid() };
        let Found::Yes { python, .. } = find(&memory, &Linker) else { return None };
        let objects = layout::of(python.layout.minor)?;
        let types = types(&python)?;
        let layout = &python.layout;
        let (c_frame, current_frame) = match layout.threads.current {
            CurrentFrame::ByCFrame { cframe, current_frame, .. } => (Some(cframe), current_frame),
            CurrentFrame::InThreadState { current_frame, .. } => (None, current_frame),
        };
        let frames = Frames {
            threads_head: layout.runtime.threads_head,
            thread_next: layout.threads.next,
            c_frame,
            current_frame,
            code: layout.frames.code,
            previous: layout.frames.previous,
            owner: layout.frames.owner,
            locals: layout.frames.locals,
            stack_pointer: layout.frames.operands.map(|operands| operands.stackpointer),
        };
        Some(Known { python: *python, objects, types, frames })
    }

    /// Whether each table fits, and which interpreters there are. With the GIL. `None`: something is not where the table says.
    pub fn check(&self) -> Option<Interpreters> {
        let memory = WordsByKernel { pid: own_pid() };
        if !self.sizes_fit(&memory).ok()? {
            return None;
        }
        let layout = &self.python.layout;
        let head = self.python.runtime.at(layout.runtime.interpreters_head);
        // Behind the list's head is the main interpreter.
        let main = memory.address(head.at(8)).ok()?;
        if !self.lists_fit(&memory, main).ok()? {
            return None;
        }
        let gil = |interpreter: Address| layout.gil.pointer.map(|pointer| memory.word(interpreter.at(pointer)));
        let mut found =
            Interpreters { addresses: [0; INTERPRETERS_MAX], len: 0, left: 0, has_interned: true, has_modules: true };
        let mut interpreter = memory.address(head).ok()?;
        for _ in 0..INTERPRETERS_MAX * 16 {
            if interpreter.is_null() {
                break;
            }
            let is_ours = gil(interpreter) == gil(main) && self.lists_fit(&memory, interpreter) == Ok(true);
            match found.addresses.get_mut(found.len).filter(|_| is_ours) {
                Some(slot) => {
                    *slot = interpreter.0;
                    found.len += 1;
                    found.has_modules &= self.is_dict(&memory, interpreter, self.objects.modules) == Ok(true);
                    found.has_interned &= self.interned_fits(&memory, interpreter) == Ok(true);
                }
                None => found.left += 1,
            }
            interpreter = memory.address(interpreter.at(layout.runtime.interpreter_next)).ok()?;
        }
        found.addresses().contains(&main.0).then_some(found)
    }

    fn sizes_fit(&self, memory: &WordsByKernel) -> Result<bool, Fault> {
        let (types, sizes) = (&self.types, self.objects.sizes);
        let wanted = [
            (types.r#type, sizes.r#type),
            (types.code, sizes.code),
            (types.str, sizes.str),
            (types.bytearray, sizes.bytearray),
            (types.generator, sizes.generator),
            (types.frame, sizes.frame),
            (types.dict, sizes.dict),
            (types.list, sizes.list),
            (types.set, sizes.set),
        ];
        for (class, bytes) in wanted {
            if memory.word(Address(class + TYPE_BASIC_SIZE))? != bytes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next one of each list's head knows the head, and so does the one before it.
    fn lists_fit(&self, memory: &WordsByKernel, interpreter: Address) -> Result<bool, Fault> {
        const LINK: u64 = !3;
        for list in self.objects.gc_lists {
            let head = interpreter.at(self.objects.gc + list);
            let (next, previous) = (memory.word(head)? & LINK, memory.word(head.at(8))? & LINK);
            if memory.word(Address(next).at(8))? & LINK != head.0 || memory.word(Address(previous))? & LINK != head.0 {
                return Ok(false);
            }
        }
        Ok(memory.half(interpreter.at(self.objects.gc + self.objects.gc_collecting))? <= 1)
    }

    fn interned_fits(&self, memory: &WordsByKernel, interpreter: Address) -> Result<bool, Fault> {
        let Some(interned) = self.objects.interned else { return Ok(false) };
        self.is_dict(memory, interpreter, interned)
    }

    fn is_dict(&self, memory: &WordsByKernel, interpreter: Address, field: u64) -> Result<bool, Fault> {
        let dict = memory.address(interpreter.at(field))?;
        Ok(!dict.is_null() && memory.word(dict.at(layout::TYPE))? == self.types.dict)
    }
}

fn types(python: &Python) -> Option<Types> {
    let of = |name: &CStr| symbols::address(name);
    Some(Types {
        r#type: python.layout.type_type,
        str: python.str_type,
        int: of(c"PyLong_Type")?,
        bytes: python.bytes_type,
        bytearray: of(c"PyByteArray_Type")?,
        list: of(c"PyList_Type")?,
        tuple: of(c"PyTuple_Type")?,
        dict: of(c"PyDict_Type")?,
        // None has it before 3.15; no type is at 0.
        frozendict: of(c"PyFrozenDict_Type").unwrap_or(0),
        set: of(c"PySet_Type")?,
        frozenset: of(c"PyFrozenSet_Type")?,
        code: python.layout.codes.type_address,
        range: of(c"PyRange_Type")?,
        generator: of(c"PyGen_Type")?,
        coroutine: of(c"PyCoro_Type")?,
        async_generator: of(c"PyAsyncGen_Type")?,
        frame: of(c"PyFrame_Type")?,
        method_descriptor: of(c"PyMethodDescr_Type")?,
        class_method_descriptor: of(c"PyClassMethodDescr_Type")?,
        member_descriptor: of(c"PyMemberDescr_Type")?,
        getset_descriptor: of(c"PyGetSetDescr_Type")?,
        wrapper_descriptor: of(c"PyWrapperDescr_Type")?,
    })
}
