//! Names of functions that were Python and became C: mypyc's and Cython's, as their authors wrote them.
//! Owns: how these two spell `module.Class.function` as one word. Never: guesses; a name that does not parse as a whole stays as it is.

use crate::words::slots;

/// None: neither of the two made it.
pub(crate) fn name_of(raw: &str) -> Option<String> {
    if let Some(rest) = raw.strip_prefix("CPyDef_") {
        return mypyc(rest);
    }
    let rest = raw.strip_prefix("__pyx_")?;
    // A `def` is one function, or a wrapper and the function; a `cdef` has no number before its name.
    if let Some(rest) = rest.strip_prefix("pw_") {
        return cython(rest, Numbered::Always);
    }
    if let Some(rest) = rest.strip_prefix("pf_") {
        return cython(rest, Numbered::ButTheFirst);
    }
    if let Some(rest) = rest.strip_prefix("f_") {
        return cython(rest, Numbered::Never);
    }
    match rest.strip_prefix("specialmethod_") {
        Some(wrapper) => name_of(wrapper),
        None => cython_s_slot(rest),
    }
}

/// What Cython puts into a class's slots and properties: `mp_subscript_4test_1A`'s last name has no length.
fn cython_s_slot(rest: &str) -> Option<String> {
    const ACCESSORS: [(&str, &str); 2] = [("getprop", "__get__"), ("setprop", "__set__")];
    let (kind, word) = ACCESSORS
        .into_iter()
        .chain(slots::words())
        .find(|(kind, _)| behind_word(rest, kind).is_some_and(|behind| behind.starts_with(is_digit)))?;
    let owner = cython(behind_word(rest, kind)?, Numbered::Never)?;
    // Helpers of slots, and classes of Cython's own.
    (!owner.contains("__pyx_") && !owner.ends_with("_maybe_call_slot")).then(|| format!("{owner}.{word}"))
}

fn behind_word<'a>(rest: &'a str, word: &str) -> Option<&'a str> {
    rest.strip_prefix(word)?.strip_prefix('_')
}

fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit()
}

/// `mypy___build___load_graph`: a dot is `___`, and `___` itself `___3_`.
fn mypyc(rest: &str) -> Option<String> {
    const DOT: &str = "___";
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    let mut rest = rest;
    while let Some(at) = rest.find(DOT) {
        let behind = &rest[at + DOT.len()..];
        if let Some(more) = behind.strip_prefix("3_") {
            part.push_str(&rest[..at + DOT.len()]);
            rest = more;
            continue;
        }
        part.push_str(&rest[..at]);
        rest = behind;
        // `__main__` ends in underscores of its own.
        if part.starts_with("__")
            && let Some(more) = rest.strip_prefix("__")
        {
            part.push_str("__");
            rest = more;
        }
        parts.push(std::mem::take(&mut part));
    }
    part.push_str(rest);
    parts.push(part);
    (parts.len() > 1 && parts.iter().all(|part| !part.is_empty())).then(|| parts.join("."))
}

/// Whether a function's name stands behind its running number in its module, class or function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbered {
    Never,
    Always,
    /// `1A_first`: then it cannot always be told whether a number is a length or a running number.
    ButTheFirst,
}

/// `6uvloop_4loop_8UVStream_11write`: each name of a module or class behind its length, the function's behind a running number.
fn cython(rest: &str, numbered: Numbered) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = rest;
    while let Some((name, behind)) = behind_its_length(rest) {
        if !behind.starts_with(is_digit) {
            match numbered {
                Numbered::Never => {}
                Numbered::Always => break,
                // Modules come first. The names of classes begin with capitals, those of the functions below properties with `__`.
                Numbered::ButTheFirst => {
                    let is_scope = parts.is_empty() || name.starts_with(char::is_uppercase) || behind.starts_with("__");
                    if !is_scope {
                        return None;
                    }
                }
            }
        }
        parts.push(name);
        rest = behind;
    }
    let function = if numbered == Numbered::Never { rest } else { rest.trim_start_matches(is_digit) };
    let has_number = function.len() < rest.len();
    let fits = has_number == (numbered == Numbered::Always) || numbered == Numbered::ButTheFirst;
    parts.push(function.strip_prefix("__pyx_lambda_funcdef_").unwrap_or(function));
    (parts.len() > 1 && fits && !function.is_empty()).then(|| parts.join("."))
}

/// `4loop_8UVStream_11write` → `loop` and `8UVStream_11write`.
fn behind_its_length(rest: &str) -> Option<(&str, &str)> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = rest[..digits].parse().ok()?;
    let name = rest.get(digits..digits.checked_add(length)?)?;
    let behind = rest.get(digits + length..)?.strip_prefix('_')?;
    (!name.is_empty() && !behind.is_empty()).then_some((name, behind))
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[track_caller]
    fn check(raw: &str, expected: &str) {
        assert_eq!(name_of(raw).as_deref().unwrap_or("not one of them"), expected, "{raw}");
    }

    #[test]
    fn mypyc_s_names() {
        check("CPyDef_mypy___build___load_graph", "mypy.build.load_graph");
        check("CPyDef_build___BuildManager___parse_file", "build.BuildManager.parse_file");
        check("CPyDef_nodes___TypeInfo_____init__", "nodes.TypeInfo.__init__");
        check("CPyDef___main_____fib", "__main__.fib");
        check("CPyDef_a___b___3_c", "a.b___c");
        check("CPyDef_alone", "not one of them");
        check("CPyDef_a______", "not one of them");
        check("CPyPy_mypy___build___load_graph", "not one of them");
    }

    #[test]
    fn cython_s_names() {
        check("__pyx_pw_6uvloop_4loop_8UVStream_11write", "uvloop.loop.UVStream.write");
        check("__pyx_pf_6uvloop_4loop_8UVStream_10write", "uvloop.loop.UVStream.write");
        check("__pyx_f_6uvloop_4loop_8UVStream__write", "uvloop.loop.UVStream._write");
        check("__pyx_pw_4test_1f", "test.f");
        check("__pyx_pw_4test_3foo_bar", "test.foo_bar");
        check("__pyx_pw_4test_1A_1__init__", "test.A.__init__");
        check("__pyx_pw_4test", "not one of them");
        check("__pyx_pw_99test_1f", "not one of them");
        check("__pyx_pw_", "not one of them");
        check("__pyx_pw_4tést_1f", "not one of them");
        check("__pyx_pw_4test_1A_3fun_2__pyx_lambda_funcdef_lambda", "test.A.fun.lambda");
        check("__pyx_gb_4test_6generator", "not one of them");
    }

    #[test]
    fn the_first_function_of_a_scope_has_no_number() {
        check("__pyx_pf_4test_first", "test.first");
        check("__pyx_pf_4test_1A_first", "test.A.first");
        check("__pyx_pf_4test_1A___init__", "test.A.__init__");
        check("__pyx_pf_4test_1A_4prop___get__", "test.A.prop.__get__");
        check("__pyx_pf_4test_1A_4prop_2__set__", "test.A.prop.__set__");
        // `inner` in `meth`, or the fourth function, `meth_inner`.
        check("__pyx_pf_4test_1A_4meth_inner", "not one of them");
        check("__pyx_pf_4test_2meth_inner", "test.meth_inner");
    }

    #[test]
    fn cython_s_slots() {
        check("__pyx_mp_subscript_4test_A", "test.A.__getitem__");
        check("__pyx_nb_add_4test_A", "test.A.__add__");
        check("__pyx_tp_dealloc_6uvloop_4loop_A", "uvloop.loop.A.tp_dealloc");
        check("__pyx_getprop_4test_1A_prop", "test.A.prop.__get__");
        check("__pyx_setprop_4test_1A_prop", "test.A.prop.__set__");
        check("__pyx_specialmethod___pyx_pw_4test_1A_15__next__", "test.A.__next__");
        check("__pyx_nb_add_4test_A_maybe_call_slot", "not one of them");
        check("__pyx_tp_new_vectorcall_4test_A", "not one of them");
        check("__pyx_tp_dealloc_4test___pyx_scope_struct__gen", "not one of them");
    }
}
