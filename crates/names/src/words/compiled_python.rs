//! Names of functions that were Python and became C: mypyc's and Cython's, as their authors wrote them.
//! Owns: how these two spell `module.Class.function` as one word. Never: guesses; a name that does not parse as a whole stays as it is.

/// None: neither of the two made it.
pub(crate) fn name_of(raw: &str) -> Option<String> {
    if let Some(rest) = raw.strip_prefix("CPyDef_") {
        return mypyc(rest);
    }
    // A `def` is one function, or a wrapper and the function; a `cdef` has no number before its name.
    if let Some(rest) = raw.strip_prefix("__pyx_pw_").or_else(|| raw.strip_prefix("__pyx_pf_")) {
        return cython(rest, true);
    }
    cython(raw.strip_prefix("__pyx_f_")?, false)
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

/// `6uvloop_4loop_8UVStream_11write`: each name of a module or class behind its length, the function's behind a running number.
fn cython(rest: &str, is_numbered: bool) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = rest;
    while let Some((name, behind)) = behind_its_length(rest) {
        if is_numbered && !behind.starts_with(|letter: char| letter.is_ascii_digit()) {
            break;
        }
        parts.push(name);
        rest = behind;
    }
    let function = if is_numbered { rest.trim_start_matches(|letter: char| letter.is_ascii_digit()) } else { rest };
    let has_number = function.len() < rest.len();
    parts.push(function);
    (parts.len() > 1 && has_number == is_numbered && !function.is_empty()).then(|| parts.join("."))
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
        check("__pyx_tp_dealloc_4test_A", "not one of them");
    }
}
