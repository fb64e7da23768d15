//! How a linker name is written for people.
//! Owns: which endings the compiler added, and which libc names are variants chosen for the processor. Never: changes a
//! name it does not fully recognise.

use super::demangle::demangled;

/// A symbol's name in its author's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spelling {
    pub name: String,
    /// The symbol names a part that the compiler moved out of the function.
    pub cold: bool,
}

/// A name for the screen, and the whole of it where the first leaves something out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub name: String,
    /// With argument types or hash, or as the linker has it.
    pub full_name: Option<String>,
}

/// A linker name as it is shown: without the compiler's endings, C++, Rust and compiled Python demangled.
pub(crate) fn shown(raw: &str, libc: bool) -> Shown {
    shown_spelling(&spell(raw, libc).name)
}

/// As `shown`, for a name that was spelled already.
pub(crate) fn shown_spelling(name: &str) -> Shown {
    match demangled(name) {
        Some(name) => Shown { full_name: Some(name.full).filter(|full| *full != name.short), name: name.short },
        None => Shown { name: name.to_owned(), full_name: None },
    }
}

/// `libc` says that the file is the C library, whose variants for processors read as the public function.
pub(crate) fn spell(raw: &str, libc: bool) -> Spelling {
    let unversioned = raw.split('@').next().unwrap_or(raw);
    let mut name = unversioned;
    let mut cold = false;
    while let Some((before, ending)) = split_ending(name) {
        cold |= ending == "cold";
        name = before;
    }
    if libc {
        name = name.strip_prefix("__GI_").unwrap_or(name);
        name = variant_of(name).unwrap_or(name);
    }
    Spelling { name: name.to_owned(), cold }
}

/// Which of several names of one address is shown: the smallest. A public name before a private one (`malloc` before
/// `__libc_malloc`), the usual name of a function with two (`memmove` also serves `memcpy`), the shorter one.
pub(crate) fn preference(name: &str) -> (usize, bool, usize) {
    let bare = name.trim_start_matches('_');
    let second = SECOND_NAMES.iter().any(|second| bare == *second || bare.strip_suffix("_chk") == Some(second));
    (name.len() - bare.len(), second, name.len())
}

/// Names of functions that have a more usual one.
const SECOND_NAMES: [&str; 5] = ["memcpy", "bcmp", "index", "rindex", "cfree"];

/// Endings added by GCC and Clang, alone (`.cold`) or with a number (`.part.0`).
const ENDINGS: [&str; 7] = ["cold", "part", "isra", "constprop", "lto_priv", "localalias", "llvm"];

/// Name before the ending, and the ending's word (empty for a bare number).
fn split_ending(name: &str) -> Option<(&str, &str)> {
    let (before, last) = name.rsplit_once('.')?;
    if before.is_empty() {
        return None;
    }
    if ENDINGS.contains(&last) {
        return Some((before, last));
    }
    if last.is_empty() || !last.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match before.rsplit_once('.') {
        Some((shorter, word)) if ENDINGS.contains(&word) && !shorter.is_empty() => Some((shorter, word)),
        _ => Some((before, "")),
    }
}

/// Words that glibc puts behind a function's name when it has one form for each kind of processor.
const PROCESSORS: [&str; 18] = [
    "sse2", "sse3", "ssse3", "sse4", "sse41", "sse42", "avx", "avx2", "avx512", "avx512f", "avx10", "evex", "evex256",
    "evex512", "erms", "fma", "fma4", "generic",
];

/// `__memmove_avx_unaligned_erms` → `memmove`, `__memset_chk_evex_unaligned` → `__memset_chk`, `__sin_fma` → `sin`.
fn variant_of(name: &str) -> Option<&str> {
    let plain = name.strip_prefix("__")?;
    let mut split = None;
    let mut from = 0;
    while let Some(offset) = plain[from..].find('_') {
        let at = from + offset;
        let word = plain[at + 1..].split('_').next().unwrap_or_default();
        if PROCESSORS.contains(&word) {
            split = Some(at);
            break;
        }
        from = at + 1;
    }
    let at = split.filter(|&at| at > 0)?;
    let base = &plain[..at];
    let checked_start = name.len() - plain.len();
    if base.contains('_') {
        // `__memmove_chk`: the public name of the checking form begins with the underscores.
        Some(&name[..checked_start + at])
    } else {
        Some(base)
    }
}

#[cfg(test)]
mod tests {
    use super::{preference, spell};

    #[track_caller]
    fn check(raw: &str, expected: &str) {
        let spelling = spell(raw, true);
        let cold = if spelling.cold { " (cold)" } else { "" };
        assert_eq!(format!("{}{cold}", spelling.name), expected, "{raw}");
    }

    #[test]
    fn endings_of_the_compiler_are_not_part_of_the_name() {
        check("list_sort", "list_sort");
        check("list_sort.cold", "list_sort (cold)");
        check("merge_at.constprop.0.isra.0.cold", "merge_at (cold)");
        check("set_add.part.0.lto_priv.1", "set_add");
        check("counter.12", "counter");
        check("memcpy@@GLIBC_2.14", "memcpy");
        check("operator.new", "operator.new");
        check(".plt", ".plt");
        check(".cold", ".cold");
    }

    #[test]
    fn variants_of_the_c_library_read_as_the_public_function() {
        check("__memmove_avx_unaligned_erms", "memmove");
        check("__memmove_chk_evex_unaligned", "__memmove_chk");
        check("__strlen_avx2", "strlen");
        check("__sin_fma", "sin");
        check("__libc_malloc", "__libc_malloc");
        check("__GI_strstr", "strstr");
        check("__avx2", "__avx2");
        assert_eq!(spell("__mix_avx2", false).name, "__mix_avx2");
    }

    #[test]
    fn the_usual_public_name_comes_first() {
        let shown = |names: &str| {
            let first = names.split_whitespace().min_by_key(|name| preference(name));
            first.unwrap_or_default().to_owned()
        };
        assert_eq!(shown("memcpy memmove __memmove"), "memmove");
        assert_eq!(shown("__memcpy_chk __memmove_chk"), "__memmove_chk");
        assert_eq!(shown("bcmp memcmp"), "memcmp");
        assert_eq!(shown("__libc_malloc malloc"), "malloc");
    }
}
