//! The interpreter's own calls that only pass a call on: between two functions they say nothing to a reader.
//! Owns: their names. Never: decides which views leave them out.
//! Partner: web/model/tree/fold.ts, which has the same names for the page.

/// `*` matches any ending.
const PASSES_ON: [&str; 14] = [
    "PyObject_Vectorcall*",
    "_PyObject_Vectorcall*",
    "PyVectorcall_*",
    "_PyVectorcall_*",
    "_PyFunction_Vectorcall*",
    "cfunction_vectorcall_*",
    "method_vectorcall*",
    "PyObject_Call*",
    "_PyObject_Call*",
    "_PyObject_MakeTpCall",
    "object_vacall",
    "_PyEval_Vector",
    "_PyEval_EvalFrame*",
    "PyEval_EvalCode*",
];

/// Whether a function of the interpreter is one of them.
pub(crate) fn passes_on(name: &str) -> bool {
    PASSES_ON.iter().any(|known| match known.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == *known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_that_a_call_is_passed_on() {
        for name in
            ["PyObject_Vectorcall", "_PyObject_VectorcallTstate", "cfunction_vectorcall_O", "_PyEval_EvalFrameDefault"]
        {
            assert!(passes_on(name), "{name}");
        }
        for name in ["list_vectorcall", "builtin_sorted", "PyObject_GetItem", "PyEval_RestoreThread", "_PyEval_Vectors"]
        {
            assert!(!passes_on(name), "{name}");
        }
    }

    #[test]
    fn the_page_knows_the_same_names() {
        let page = include_str!("../../../../web/model/tree/fold.ts");
        let list =
            page.split("PASSES_ON = [").nth(1).and_then(|rest| rest.split(']').next()).expect("the list of names");
        let names: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
        assert_eq!(names, PASSES_ON);
    }
}
