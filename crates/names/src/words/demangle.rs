//! Names of C++, Rust and compiled Python as their authors wrote them.
//! Owns: the short form for the screen, without argument lists and hashes. Never: changes a name that is not mangled.

use super::compiled_python;

/// Template arguments that are longer than this are written `<…>` in the short form.
const ARGUMENTS_CHARS_MAX: usize = 24;
/// A mangled name that unfolds to more than this stays mangled: nobody reads it.
const FULL_BYTES_MAX: usize = 1 << 14;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Demangled {
    pub short: String,
    pub full: String,
}

/// None: not mangled.
pub(crate) fn demangled(raw: &str) -> Option<Demangled> {
    let (short, full) = if let Ok(name) = rustc_demangle::try_demangle(raw) {
        (format!("{name:#}"), name.to_string())
    } else if raw.starts_with("_Z") {
        cpp(raw)?
    } else {
        (compiled_python::name_of(raw)?, raw.to_owned())
    };
    (full.len() <= FULL_BYTES_MAX).then(|| Demangled { short: without_long_arguments(&short), full })
}

fn cpp(raw: &str) -> Option<(String, String)> {
    let symbol = cpp_demangle::Symbol::new(raw).ok().or_else(|| without_types(raw))?;
    let bare = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let full = symbol.demangle().ok()?;
    let short = symbol.demangle_with_options(&bare).unwrap_or_else(|_| full.clone());
    let short = without_qualifiers(&short).to_owned();
    // What Cython compiled as C++ has a name of each.
    Some((compiled_python::name_of(&short).unwrap_or(short), full))
}

/// The name alone, where the types that follow are written in a way that is not known. It is the shortest beginning that is a whole name.
fn without_types(raw: &str) -> Option<cpp_demangle::Symbol<&str>> {
    const ENDS_MAX: usize = 64;
    let ends = raw.bytes().enumerate().filter(|(_, letter)| *letter == b'E').take(ENDS_MAX);
    let mut beginnings = ends.filter_map(|(at, _)| raw.get(..=at));
    beginnings.find_map(|name| cpp_demangle::Symbol::new(name).ok())
}

/// `Loader::call &&`: for which objects a method is.
fn without_qualifiers(name: &str) -> &str {
    let mut name = name;
    while let Some(rest) = [" &&", " &", " const"].iter().find_map(|end| name.strip_suffix(end)) {
        // A conversion's type is its name: `A::operator B const &`.
        if rest.contains("operator ") {
            break;
        }
        name = rest;
    }
    name
}

/// `solve<std::vector<double, std::allocator<double>>, 3>` → `solve<…>`. A `<` that begins a name (`<T as Trait>::f`) and
/// the ones of operators stay.
fn without_long_arguments(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut short = String::new();
    let mut at = 0;
    while at < letters.len() {
        let opens =
            letters[at] == '<' && short.ends_with(|before: char| before.is_alphanumeric() || "_:".contains(before));
        if !opens || short.ends_with("operator") {
            short.push(letters[at]);
            at += 1;
            continue;
        }
        let end = closing(&letters, at);
        if end - at > ARGUMENTS_CHARS_MAX {
            short.push_str("<…>");
        } else {
            short.extend(&letters[at..end]);
        }
        at = end;
    }
    short
}

/// Behind the `>` that belongs to the `<` at `open`; the end when there is none.
fn closing(letters: &[char], open: usize) -> usize {
    let mut depth = 0;
    for (at, letter) in letters.iter().enumerate().skip(open) {
        match letter {
            '<' => depth += 1,
            '>' if letters[at - 1] != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    letters.len()
}

#[cfg(test)]
mod tests {
    use super::demangled;

    #[track_caller]
    fn check(raw: &str, expected: &str) {
        let found = demangled(raw).map(|name| format!("{} = {}", name.short, name.full));
        assert_eq!(found.as_deref().unwrap_or("not mangled"), expected, "{raw}");
    }

    #[test]
    fn cpp_names_lose_their_argument_lists() {
        check("_ZN4wiki7article6formatEv", "wiki::article::format = wiki::article::format()");
        check(
            "_ZNSt6vectorIiSaIiEE9push_backERKi",
            "std::vector<…>::push_back = std::vector<int, std::allocator<int> >::push_back(int const&)",
        );
        check("_ZlsRSoRK5Shape", "operator<< = operator<<(std::ostream&, Shape const&)");
        check(
            "_Z5solveISt6vectorIdSaIdEELi3EEvRT_",
            "solve<…> = void solve<std::vector<double, std::allocator<double> >, 3>(std::vector<double, std::allocator<double> >&)",
        );
        check("_ZN12_GLOBAL__N_14stepEi", "(anonymous namespace)::step = (anonymous namespace)::step(int)");
    }

    #[test]
    fn methods_for_some_objects_only_have_their_plain_names() {
        check("_ZNO6Loader5plainEv", "Loader::plain = Loader::plain() &&");
        check("_ZNKR6Loader5plainEv", "Loader::plain = Loader::plain() const &");
        check("_ZNK6Loader5plainEv", "Loader::plain = Loader::plain() const");
        check("_ZN6LoaderaaERKS_", "Loader::operator&& = Loader::operator&&(Loader const&)");
    }

    /// GCC's form of `std::is_void<T>::value` in a type.
    #[test]
    fn a_name_whose_types_are_not_known_is_read_without_them() {
        check(
            "_ZNO6Loader4callImRFmmEEENSt9enable_ifIXntsrSt7is_voidIT_E5valueES5_E4typeEOT0_",
            "Loader::call<…> = Loader::call<unsigned long, unsigned long (&)(unsigned long)> &&",
        );
    }

    #[test]
    fn cython_s_names_in_cpp_are_those_of_the_source() {
        check("_ZL22__pyx_pw_6work_m_1busyP7_objectS0_", "work_m.busy = __pyx_pw_6work_m_1busy(_object*, _object*)");
    }

    #[test]
    fn rust_names_lose_their_hash() {
        check("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write = core::fmt::write::h0123456789abcdef");
        check("_RNvCskwGfYPst2Cb_3foo3bar", "foo::bar = foo[ef17931c9e9b4641]::bar");
        check(
            "_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
            "<alloc::string::String as core::fmt::Debug>::fmt = <alloc::string::String as core::fmt::Debug>::fmt::h0123456789abcdef",
        );
    }

    #[test]
    fn other_names_are_left_alone() {
        check("list_sort_impl", "not mangled");
        check("_Z", "not mangled");
        check("_Zebra", "not mangled");
        check("_Rope", "not mangled");
        check("", "not mangled");
    }
}
