//! The functions of the interpreter that collections need, found by name.
//! Owns: their C signatures. Never: calls one without the GIL.

use crate::system::symbols;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};

/// A Python object of the program's, by its address.
pub type Object = *mut c_void;

/// A `PyMethodDef`. Source: CPython Include/methodobject.h; the same in all versions.
#[repr(C)]
pub struct Method {
    pub name: *const c_char,
    pub function: extern "C" fn(Object, *const Object, isize) -> Object,
    pub flags: c_int,
    pub doc: *const c_char,
}

// SAFETY: constants; the interpreter only reads them.
unsafe impl Sync for Method {}

/// `METH_FASTCALL`: an array of arguments.
pub const FASTCALL: c_int = 0x80;
/// `ob_type`.
const TYPE: usize = 8;

macro_rules! functions {
    ($($field:ident: $name:literal, fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// What the interpreter exports.
        #[derive(Clone, Copy)]
        pub struct Interpreter {
            $(pub $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            pub none: Object,
            pub list_type: Object,
            pub function_type: Object,
            pub collect: u64,
            is_finalizing: Option<unsafe extern "C" fn() -> c_int>,
        }

        impl Interpreter {
            /// None: one of them is not there.
            #[must_use]
            pub fn find() -> Option<Interpreter> {
                Some(Interpreter {
                    $($field: {
                        let address = symbols::address($name)?;
                        // SAFETY: the interpreter's function of this name has this signature.
                        unsafe { core::mem::transmute::<u64, unsafe extern "C" fn($($argument),*) $(-> $result)?>(address) }
                    },)*
                    none: symbols::address(c"_Py_NoneStruct")? as Object,
                    list_type: symbols::address(c"PyList_Type")? as Object,
                    function_type: symbols::address(c"PyCFunction_Type")? as Object,
                    collect: symbols::address(c"PyGC_Collect")?,
                    is_finalizing: symbols::address(c"Py_IsFinalizing").or_else(|| symbols::address(c"_Py_IsFinalizing")).map(
                        // SAFETY: as above.
                        |address| unsafe { core::mem::transmute::<u64, unsafe extern "C" fn() -> c_int>(address) },
                    ),
                })
            }
        }
    };
}

functions! {
    import: c"PyImport_ImportModuleLevel", fn(*const c_char, Object, Object, Object, c_int) -> Object;
    loaded: c"PyImport_GetModule", fn(Object) -> Object;
    attribute: c"PyObject_GetAttrString", fn(Object, *const c_char) -> Object;
    call: c"PyObject_CallNoArgs", fn(Object) -> Object;
    call_with: c"PyObject_CallOneArg", fn(Object, Object) -> Object;
    list: c"PyList_New", fn(isize) -> Object;
    list_length: c"PyList_Size", fn(Object) -> isize;
    list_item: c"PyList_GetItem", fn(Object, isize) -> Object;
    list_set_slice: c"PyList_SetSlice", fn(Object, isize, isize, Object) -> c_int;
    list_append: c"PyList_Append", fn(Object, Object) -> c_int;
    function: c"PyCFunction_NewEx", fn(*const Method, Object, Object) -> Object;
    function_address: c"PyCFunction_GetFunction", fn(Object) -> u64;
    untrack: c"PyObject_GC_UnTrack", fn(Object);
    intern: c"PyUnicode_InternFromString", fn(*const c_char) -> Object;
    compare: c"PyUnicode_CompareWithASCIIString", fn(Object, *const c_char) -> c_int;
    dict_item: c"PyDict_GetItemWithError", fn(Object, Object) -> Object;
    dict_length: c"PyDict_Size", fn(Object) -> isize;
    number: c"PyLong_AsLong", fn(Object) -> c_long;
    hold: c"Py_IncRef", fn(Object);
    release: c"Py_DecRef", fn(Object);
    forget_error: c"PyErr_Clear", fn();
    thread_state: c"PyThreadState_Get", fn() -> u64;
}

impl Interpreter {
    pub fn is_finalizing(&self) -> bool {
        // SAFETY: reads one flag.
        self.is_finalizing.is_some_and(|ask| unsafe { ask() } != 0)
    }

    pub fn is_of_type(object: Object, kind: Object) -> bool {
        // SAFETY: every object has its type there, and the caller has a reference to it.
        !object.is_null() && unsafe { object.byte_add(TYPE).cast::<Object>().read() } == kind
    }

    /// The attribute of a module, which the caller releases.
    pub fn get(&self, module: Object, name: &CStr) -> Option<Object> {
        // SAFETY: with the GIL, as the header says.
        let found = unsafe { (self.attribute)(module, name.as_ptr()) };
        if found.is_null() {
            // SAFETY: as above.
            unsafe { (self.forget_error)() };
            return None;
        }
        Some(found)
    }

    /// A number of a dict, by an interned key: no code of the program's runs for that.
    pub fn number_of(&self, dict: Object, key: Object) -> Option<u64> {
        // SAFETY: with the GIL; the item is borrowed and used at once.
        unsafe {
            let item = (self.dict_item)(dict, key);
            let number = if item.is_null() { -1 } else { (self.number)(item) };
            if number < 0 {
                (self.forget_error)();
            }
            u64::try_from(number).ok()
        }
    }
}
