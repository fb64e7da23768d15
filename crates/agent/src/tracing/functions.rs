//! The functions of the interpreter that tracing needs, found by name.
//! Owns: their C signatures. Never: calls one without the GIL, but for those that say whether there is one.

use crate::collections::interpreter::{Method, Object};
use crate::system::symbols;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};

pub type AuditHook = extern "C" fn(*const c_char, Object, *mut c_void) -> c_int;

macro_rules! functions {
    ($(#[$about:meta])* $table:ident: $($field:ident: $name:literal, $kind:ty;)*) => {
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub struct $table {
            $(pub $field: $kind,)*
        }

        impl $table {
            /// None: one of them is not there.
            #[must_use]
            pub fn find() -> Option<$table> {
                Some($table {
                    $($field: {
                        let address = symbols::address($name)?;
                        // SAFETY: what the interpreter has under this name is of this type, a function or an object's address.
                        unsafe { core::mem::transmute_copy::<u64, $kind>(&address) }
                    },)*
                })
            }
        }
    };
}

functions! {
    /// What every version exports.
    Python:
    none: c"_Py_NoneStruct", Object;
    function_type: c"PyCFunction_Type", Object;
    method_type: c"PyCMethod_Type", Object;
    descriptor_type: c"PyMethodDescr_Type", Object;
    python_function_type: c"PyFunction_Type", Object;
    type_type: c"PyType_Type", Object;
    integer_type: c"PyLong_Type", Object;
    is_subtype: c"PyType_IsSubtype", unsafe extern "C" fn(Object, Object) -> c_int;
    look_up: c"_PyType_Lookup", unsafe extern "C" fn(Object, Object) -> Object;
    repr: c"PyObject_Repr", unsafe extern "C" fn(Object) -> Object;
    attribute: c"PyObject_GetAttrString", unsafe extern "C" fn(Object, *const c_char) -> Object;
    call_method: c"PyObject_CallMethod", unsafe extern "C" fn(Object, *const c_char, *const c_char, ...) -> Object;
    function: c"PyCFunction_NewEx", unsafe extern "C" fn(*const Method, Object, Object) -> Object;
    import: c"PyImport_ImportModule", unsafe extern "C" fn(*const c_char) -> Object;
    of_sys: c"PySys_GetObject", unsafe extern "C" fn(*const c_char) -> Object;
    own_interpreter: c"PyInterpreterState_Get", unsafe extern "C" fn() -> u64;
    main_interpreter: c"PyInterpreterState_Main", unsafe extern "C" fn() -> u64;
    add_audit_hook: c"PySys_AddAuditHook", unsafe extern "C" fn(AuditHook, *mut c_void) -> c_int;
    tuple_item: c"PyTuple_GetItem", unsafe extern "C" fn(Object, isize) -> Object;
    number: c"PyLong_AsLong", unsafe extern "C" fn(Object) -> c_long;
    text: c"PyUnicode_FromString", unsafe extern "C" fn(*const c_char) -> Object;
    encoded: c"PyUnicode_AsEncodedString", unsafe extern "C" fn(Object, *const c_char, *const c_char) -> Object;
    bytes: c"PyBytes_AsStringAndSize", unsafe extern "C" fn(Object, *mut *mut c_char, *mut isize) -> c_int;
    hold: c"Py_IncRef", unsafe extern "C" fn(Object);
    release: c"Py_DecRef", unsafe extern "C" fn(Object);
    take_error: c"PyErr_Fetch", unsafe extern "C" fn(*mut Object, *mut Object, *mut Object);
    give_error: c"PyErr_Restore", unsafe extern "C" fn(Object, Object, Object);
    forget_error: c"PyErr_Clear", unsafe extern "C" fn();
    frame: c"PyEval_GetFrame", unsafe extern "C" fn() -> Object;
    has_gil: c"PyGILState_Check", unsafe extern "C" fn() -> c_int;
    is_initialized: c"Py_IsInitialized", unsafe extern "C" fn() -> c_int;
}

functions! {
    /// What a profile function needs (3.11).
    Profiling:
    first_thread: c"PyInterpreterState_ThreadHead", unsafe extern "C" fn(u64) -> u64;
    next_thread: c"PyThreadState_Next", unsafe extern "C" fn(u64) -> u64;
}

/// `ob_type`, `m_ml`, `m_self`, `m_module`, `d_type` and `d_method`. Source: CPython Include/cpython/methodobject.h and descrobject.h; the same
/// in 3.11 to 3.15 with a GIL.
const TYPE: usize = 8;
const METHOD: usize = 16;
const OWN: usize = 24;
const MODULE: usize = 32;
const DESCRIBED_TYPE: usize = 16;
const DESCRIBED_METHOD: usize = 40;

/// A function written in C as it is called.
#[derive(Clone, Copy)]
pub struct CFunction {
    /// Its `PyMethodDef`, which tells it from others.
    pub method: *const Method,
    /// What it is bound to; null: nothing.
    pub own: Object,
    pub module: Object,
}

impl Python {
    #[inline(always)]
    pub fn type_of(object: Object) -> Object {
        // SAFETY: every object has its type there; whoever calls has a reference to it.
        unsafe { object.byte_add(TYPE).cast::<Object>().read() }
    }

    /// Where an object that is a function written in C has its definition.
    pub fn method_of(function: Object) -> *mut *const Method {
        // SAFETY: an object of that type has this field; nothing is read.
        unsafe { function.byte_add(METHOD).cast() }
    }

    /// What cProfile counts as a function written in C: built-in functions, bound methods, and methods of types that are called with an object
    /// of the type first (`first`; null: there is none).
    #[inline]
    pub fn c_function(&self, callable: Object, first: Object) -> Option<CFunction> {
        let kind = Python::type_of(callable);
        if kind == self.python_function_type || kind == self.type_type {
            return None;
        }
        if kind == self.descriptor_type {
            return self.described(callable, first);
        }
        // SAFETY: two types.
        let is_subtype = || unsafe { (self.is_subtype)(kind, self.function_type) } != 0;
        let is_function = kind == self.function_type || kind == self.method_type || is_subtype();
        // SAFETY: an object of that type, or of one that begins as it does, has these fields.
        is_function.then(|| unsafe {
            CFunction {
                method: callable.byte_add(METHOD).cast::<*const Method>().read(),
                own: callable.byte_add(OWN).cast::<Object>().read(),
                module: callable.byte_add(MODULE).cast::<Object>().read(),
            }
        })
    }

    #[inline]
    fn described(&self, descriptor: Object, first: Object) -> Option<CFunction> {
        if first.is_null() {
            return None;
        }
        let kind = Python::type_of(first);
        // SAFETY: an object of that type has these fields, and both are types.
        unsafe {
            let wanted = descriptor.byte_add(DESCRIBED_TYPE).cast::<Object>().read();
            let method = descriptor.byte_add(DESCRIBED_METHOD).cast::<*const Method>().read();
            let fits = kind == wanted || (self.is_subtype)(kind, wanted) != 0;
            fits.then_some(CFunction { method, own: first, module: core::ptr::null_mut() })
        }
    }

    /// The attribute of an object whose type is the interpreter's own. The caller releases it.
    pub fn get(&self, object: Object, name: &CStr) -> Option<Object> {
        // SAFETY: with the GIL, as the header says.
        let found = unsafe { (self.attribute)(object, name.as_ptr()) };
        if found.is_null() {
            // SAFETY: as above.
            unsafe { (self.forget_error)() };
        }
        (!found.is_null()).then_some(found)
    }

    /// With the GIL of the interpreter that runs. Another one may have a GIL of its own.
    pub fn is_in_main_interpreter(&self) -> bool {
        // SAFETY: with a GIL; both only read words of the runtime.
        unsafe { (self.own_interpreter)() == (self.main_interpreter)() }
    }

    /// Whether this thread may look at the counts: it has the GIL, or there is no interpreter that could change them.
    pub fn may_look(&self) -> bool {
        // SAFETY: both only read words of the runtime.
        unsafe { (self.is_initialized)() == 0 || (self.has_gil)() != 0 }
    }
}
