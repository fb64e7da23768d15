//! The interpreter's own calls that only pass a call or an import on: between two functions they say nothing to a reader.
//! Owns: their names. Never: decides which views leave them out.

use crate::tables::owner::Owner;
use crate::tables::profile::{FunctionIndex, Home, Profile};

/// `*` matches any ending.
const IN_C: [&str; 20] = [
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
    "PyImport_Import*",
    "import_find_and_load",
    "import_name",
    "_PyEval_ImportName*",
    "builtin___import__*",
    "builtin_exec*",
];

/// In Python: of the modules frozen as `importlib._bootstrap` and `importlib._bootstrap_external`, without their classes.
const OF_IMPORTS: [&str; 9] = [
    "_find_and_load",
    "_find_and_load_unlocked",
    "_load_unlocked",
    "_call_with_frames_removed",
    "_handle_fromlist",
    "_gcd_import",
    "module_from_spec",
    "create_module",
    "exec_module",
];

/// Whether a function is one of them.
#[must_use]
pub fn passes_on(profile: &Profile, function: FunctionIndex) -> bool {
    let row = &profile.functions[function];
    match row.home {
        Home::C { .. } => profile.owner_of(function) == Some(Owner::Interpreter) && is_in_c(&row.name),
        Home::Python { file, .. } => is_of_imports(&profile.files[file].path, &row.name),
        Home::Mark => false,
    }
}

fn is_in_c(name: &str) -> bool {
    IN_C.iter().any(|known| match known.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == *known,
    })
}

fn is_of_imports(path: &str, name: &str) -> bool {
    let name = name.rsplit('.').next().unwrap_or(name);
    path.starts_with("<frozen importlib._bootstrap") && OF_IMPORTS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_that_a_call_is_passed_on() {
        for name in
            ["PyObject_Vectorcall", "_PyObject_VectorcallTstate", "cfunction_vectorcall_O", "_PyEval_EvalFrameDefault"]
        {
            assert!(is_in_c(name), "{name}");
        }
        for name in ["PyImport_ImportModuleLevelObject", "builtin_exec", "builtin_exec_impl"] {
            assert!(is_in_c(name), "{name}");
        }
        for name in ["list_vectorcall", "builtin_sorted", "PyObject_GetItem", "PyEval_RestoreThread", "_PyEval_Vectors"]
        {
            assert!(!is_in_c(name), "{name}");
        }
    }

    #[test]
    fn the_frozen_functions_of_an_import_that_only_lead_to_a_module_pass_it_on() {
        let of_modules = ["<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>"];
        for name in ["_find_and_load", "_LoaderBasics.exec_module", "FrozenImporter.exec_module"] {
            assert!(of_modules.iter().all(|path| is_of_imports(path, name)), "{name}");
            assert!(!is_of_imports("/app/loader.py", name), "{name}");
        }
        for name in ["FileFinder.find_spec", "_compile_bytecode", "SourceLoader.get_code"] {
            assert!(!of_modules.iter().any(|path| is_of_imports(path, name)), "{name}");
        }
    }
}
