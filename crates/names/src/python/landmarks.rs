//! Functions of the interpreter that no table holds, known by what they call and which texts they use.
//! Owns: the rules, each of them read from CPython's sources (3.11 to 3.15). Never: names a function that also does what
//! only its callers do (it was inlined into one of them then), nor one of another file than the interpreter's.

use crate::code::flow::Flow;
use crate::code::lineage::Lineage;
use crate::file::elf::Image;
use crate::file::extents::{ExtentIndex, Extents};
use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind};
use std::collections::BTreeSet;

/// One function, by what its source says. `and` is all of them, `never` none of them, `under` at least one of them.
struct Rule {
    name: &'static str,
    calls: &'static [&'static str],
    texts: &'static [&'static str],
    /// Of functions and texts: what only its callers or its likes have.
    never: &'static [&'static str],
    /// Exported functions that call it.
    under: &'static [&'static str],
    /// The minor version that this name came with, or this shape of it.
    since: u8,
}

/// Text that any function has which calls through `tp_call` (Include/internal/pycore_ceval.h, Objects/call.c).
const RECURSION: &str = " while calling a Python object";
const RETURNED_NULL: &str = "%R returned NULL without setting an exception";

const NO_ARGUMENTS: &str = "%U takes no arguments (%zd given)";
const ONE_ARGUMENT: &str = "%U takes exactly one argument (%zd given)";
const UNBOUND: &str = "unbound method %U needs an argument";

const RULES: [Rule; 17] = [
    // Python/pythonrun.c, from the outermost to the innermost.
    Rule {
        name: "_PyRun_AnyFile",
        calls: &["isatty", "fclose"],
        texts: &["<stdin>"],
        never: &[
            "_PyArena_New",
            "PyArena_New",
            "PyMarshal_ReadLongFromFile",
            "PYTHONSTARTUP",
            "Py_RunMain",
            "__main__",
        ],
        under: &["PyRun_AnyFileExFlags"],
        since: 14,
    },
    Rule {
        name: "_PyRun_SimpleFile",
        calls: &["PyMarshal_ReadLongFromFile", "PyImport_AddModuleRef"],
        texts: &["python: Can't reopen .pyc file\n", "__main__"],
        never: &["_PyArena_New", "isatty", "PYTHONSTARTUP", "%S: can't open file %R: [Errno %d] %s\n"],
        under: &[],
        since: 14,
    },
    Rule {
        name: "_PyRun_File",
        calls: &["_PyArena_New", "_PyArena_Free", "fclose"],
        texts: &[],
        never: &["__main__", "PyMarshal_ReadLongFromFile", "PyEval_EvalCode", "linecache", "exec", "ps1", "encoding"],
        under: &["PyRun_FileExFlags"],
        since: 14,
    },
    Rule {
        name: "run_mod",
        calls: &[],
        texts: &["linecache._register_code is not callable", "exec"],
        never: &["_PyArena_New", "_PyArena_Free", "__main__"],
        under: &[],
        since: 11,
    },
    Rule {
        name: "run_eval_code_obj",
        calls: &["PyEval_EvalCode"],
        texts: &["__builtins__", "globals must be a real dict…"],
        never: &["exec", "linecache", "_PyArena_New", "__main__"],
        under: &[],
        since: 11,
    },
    // Modules/main.c
    Rule {
        name: "pymain_main",
        calls: &["Py_RunMain", "Py_ExitStatusException"],
        texts: &[],
        never: &["PyConfig_Read"],
        under: &["Py_BytesMain"],
        since: 11,
    },
    // Objects/call.c, Objects/descrobject.c. A copy for fewer arguments is the same function.
    Rule {
        name: "_PyObject_Call",
        calls: &["PyMem_Free", "_PyErr_Format", "_Py_CheckRecursiveCall"],
        texts: &[RECURSION, RETURNED_NULL],
        never: &[
            "_PyTuple_FromArray",
            "PyTuple_FromArray",
            "_PyObject_GC_NewVar",
            "PyTuple_New",
            "_PyStack_AsDict",
            "PyMem_Malloc",
        ],
        under: &[
            "PyEval_CallObjectWithKeywords",
            "PyObject_CallObject",
            "PyInstanceMethod_New",
            "_PyObject_Call_Prepend",
        ],
        since: 11,
    },
    Rule {
        name: "_PyObject_MakeTpCall",
        calls: &["_PyObject_GC_NewVar", "_PyErr_Format", "_Py_CheckRecursiveCall"],
        texts: &[RECURSION, RETURNED_NULL],
        never: &["PyMem_Free", "PyMem_Malloc", "_PyStack_AsDict", UNBOUND, "PyErr_Format"],
        under: &["PyObject_CallOneArg", "PyObject_CallFunctionObjArgs", "PyObject_VectorcallMethod"],
        since: 11,
    },
    // The one of `method_vectorcall_…` that makes both a tuple and a dictionary.
    Rule {
        name: "method_vectorcall_VARARGS_KEYWORDS",
        calls: &["_PyStack_AsDict", "_Py_CheckRecursiveCall"],
        texts: &[RECURSION, UNBOUND],
        never: &[],
        under: &[],
        since: 11,
    },
    // The same, where `_PyStack_AsDict` was inlined.
    Rule {
        name: "method_vectorcall_VARARGS_KEYWORDS",
        calls: &["_PyTuple_FromArray", "_PyDict_FromItems", "_Py_CheckRecursiveCall"],
        texts: &[RECURSION, UNBOUND],
        never: &["_PyStack_AsDict"],
        under: &[],
        since: 14,
    },
    Rule {
        name: "method_vectorcall_NOARGS",
        calls: &["_Py_CheckRecursiveCall"],
        texts: &[RECURSION, UNBOUND, NO_ARGUMENTS],
        never: &[],
        under: &[],
        since: 14,
    },
    Rule {
        name: "method_vectorcall_O",
        calls: &["_Py_CheckRecursiveCall"],
        texts: &[RECURSION, UNBOUND, ONE_ARGUMENT],
        never: &[],
        under: &[],
        since: 14,
    },
    // Objects/methodobject.c
    Rule {
        name: "cfunction_vectorcall_NOARGS",
        calls: &["_Py_CheckRecursiveCall"],
        texts: &[RECURSION, NO_ARGUMENTS],
        // Nor what inlined it beside other ways to call.
        never: &[UNBOUND, ONE_ARGUMENT, "_PyObject_MakeTpCall", "PyMem_Malloc", "PyErr_NoMemory"],
        under: &[],
        since: 14,
    },
    // Python/ceval.c. The compiler's copy for calls that nobody monitors, which nearly all are; the function itself is exported.
    Rule {
        name: "_Py_VectorCallInstrumentation_StackRefSteal",
        calls: &["_PyObject_MakeTpCall", "PyMem_Malloc", "PyMem_Free", "_Py_Dealloc", "PyErr_NoMemory"],
        texts: &[RETURNED_NULL],
        never: &["_Py_call_instrumentation_2args", "_PyStack_AsDict", "PyObject_GetAttr", "PyTuple_New"],
        under: &["_PyEval_EvalFrameDefault"],
        since: 15,
    },
    // Modules/_sre/sre.c
    Rule {
        name: "pattern_subx",
        calls: &["PyBytes_Join", "PyUnicode_Join", "PyObject_CallOneArg"],
        texts: &["cannot use a bytes pattern on a string-like object"],
        never: &[],
        under: &["re.Pattern.sub", "re.Pattern.subn"],
        since: 14,
    },
    // Objects/stringlib/join.h, for bytes
    Rule {
        name: "stringlib_bytes_join",
        calls: &["PySequence_Fast"],
        texts: &["can only join an iterable"],
        never: &["PyUnicode_New", "sequence item %zd: expected str instance, %.80s found"],
        under: &["PyBytes_Join"],
        since: 14,
    },
    // Objects/dictobject.c: the other one that is called there, `insert_to_emptydict`, looks nothing up.
    Rule {
        name: "insertdict",
        calls: &["_Py_dict_lookup", "_Py_Dealloc"],
        texts: &[],
        never: &["PyObject_Hash", "PyErr_SetObject"],
        under: &["_PyDict_SetItem_KnownHash_LockHeld"],
        since: 14,
    },
];

impl Rule {
    fn fits(&self, deeds: &Deeds) -> bool {
        let has_text = |wanted: &str| match wanted.strip_suffix('…') {
            Some(beginning) => deeds.texts.iter().any(|text| text.starts_with(beginning)),
            None => deeds.texts.contains(wanted),
        };
        self.calls.iter().all(|call| deeds.calls.contains(*call))
            && self.texts.iter().all(|text| has_text(text))
            && !self.never.iter().any(|word| deeds.calls.contains(*word) || has_text(word))
    }
}

/// The name of the function that does `deeds`; `callers` are the names of those that call it, `minor` is the interpreter's version at the least.
pub(crate) fn name_of(deeds: &Deeds, callers: &dyn Fn() -> BTreeSet<String>, minor: u8) -> Option<&'static str> {
    let mut fitting = RULES.iter().filter(|rule| rule.since <= minor && rule.fits(deeds));
    let rule = fitting.next()?;
    let known = rule.under.is_empty() || {
        let callers = callers();
        rule.under.iter().any(|under| callers.contains(*under))
    };
    (known && fitting.next().is_none()).then_some(rule.name)
}

/// What one function was seen to do, its moved parts included.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    /// Names of the functions it calls or jumps to; of those without one, nothing.
    pub calls: BTreeSet<String>,
    /// Texts whose addresses it takes.
    pub texts: BTreeSet<String>,
}

const TEXT_BYTES_MAX: usize = 160;
const PARTS_MAX: usize = 4;

pub(crate) fn deeds_of(
    image: &Image<'_>,
    extents: &Extents<'_>,
    flow: &Flow,
    index: ExtentIndex,
    name_of: &dyn Fn(u64) -> Option<String>,
) -> Deeds {
    let lineage = Lineage { extents, flow };
    let mut deeds = Deeds::default();
    let mut parts = vec![index];
    let mut at = 0;
    while let Some(&part) = parts.get(at) {
        at += 1;
        let extent = extents.get(part);
        let size = usize::try_from(extent.end - extent.start).unwrap_or(usize::MAX);
        let bytes = image.bytes_from(extent.start).unwrap_or_default();
        let mut decoder = Decoder::with_ip(64, &bytes[..bytes.len().min(size)], extent.start, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        let mut seen = BTreeSet::new();
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            if instruction.op0_kind() == OpKind::NearBranch64 {
                let to = instruction.near_branch64();
                let inside = parts.iter().any(|&part| (extents.get(part).start..extents.get(part).end).contains(&to));
                if inside || !seen.insert(to) {
                    continue;
                }
                if let Some(name) = name_of(to) {
                    deeds.calls.insert(name);
                } else if let Some(target) = extents.containing(to)
                    && parts.len() < PARTS_MAX
                    && lineage.whole_of(target) == Some(index)
                {
                    parts.push(target);
                }
                continue;
            }
            let used = if instruction.is_ip_rel_memory_operand() {
                Some(instruction.ip_rel_memory_address())
            } else {
                (0..instruction.op_count()).find_map(|operand| match instruction.op_kind(operand) {
                    OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64 => {
                        Some(instruction.immediate(operand))
                    }
                    _ => None,
                })
            };
            if let Some(text) = used.and_then(|used| image.text_at(used, TEXT_BYTES_MAX)).filter(|text| text.len() > 3)
            {
                deeds.texts.insert(text.to_owned());
            }
        }
    }
    deeds
}
