//! The expectations are what CPython 3.13.0 answered: `re.search` of each expression in each name.

use super::*;

const NAMES: [&str; 7] = [
    "{method 'append' of 'list' objects}",
    "{built-in method builtins.len}",
    "app.py:12(load_all)",
    "app.py:41(<lambda>)",
    "/srv/é[1]&&b.py:8(größe²)",
    "~:0(a-b|c^d~~e--f)",
    "x{,3}:2(n{1)",
];

/// With the places of the names that match; the others do not.
const MATCHES: [(&str, &[usize]); 70] = [
    ("{method", &[0]),
    ("{built-in|l{2}", &[1, 2]),
    ("{", &[0, 1, 6]),
    ("a{", &[]),
    ("}", &[0, 1, 6]),
    ("^{}", &[]),
    ("n{1", &[6]),
    ("n{1,b", &[]),
    ("x{,3}fib", &[]),
    ("^p{,2}", &[0, 1, 2, 3, 4, 5, 6]),
    ("p{2,}", &[0, 2, 3]),
    (r"p{2}\.", &[2, 3]),
    (r"^x\{,3}", &[6]),
    ("l{2}?", &[2]),
    (r"\<", &[3]),
    (r"\>", &[3]),
    (r"\<l.*\>", &[3]),
    (r"\_", &[2]),
    (r"\/", &[4]),
    (r#"\""#, &[]),
    (r"\'", &[0]),
    (r"\é", &[4]),
    (r"^\S+\Z", &[2, 3, 4, 5, 6]),
    (r"\)\Z", &[2, 3, 4, 5, 6]),
    (r"\)$", &[2, 3, 4, 5, 6]),
    ("[[]", &[4]),
    ("[]]", &[4]),
    ("[^]f]$", &[0, 1, 2, 3, 4, 5, 6]),
    ("[[:alpha:]]", &[]),
    ("[a&&b]", &[0, 1, 2, 3, 4, 5]),
    ("[&&]", &[4]),
    ("[~~]", &[5]),
    ("[a~~z]", &[0, 2, 3, 5]),
    ("[|-]", &[1, 5]),
    (r"[\^]", &[5]),
    (r"[^\w\s]\(", &[]),
    (r"[\w-]{4}\)", &[2, 4, 5]),
    (r"[\d\]]]", &[4]),
    ("[--a]-", &[5]),
    ("[+--]", &[1, 5, 6]),
    (r"[a-f-h]\|", &[5]),
    (r"\101", &[]),
    (r"\0", &[]),
    (r"\141pp", &[0, 2, 3]),
    (r"[\141]p", &[0, 2, 3]),
    (r"\x61pp", &[0, 2, 3]),
    (r"\u0061pp", &[0, 2, 3]),
    (r"\U00000061pp", &[0, 2, 3]),
    (r"\w+²", &[4]),
    (r"größe\w", &[4]),
    (r"\W\(", &[]),
    (r"\bapp", &[0, 2, 3]),
    (r"\bb{1}uilt", &[1]),
    (r"\b{start}", &[]),
    (r"\B", &[0, 1, 2, 3, 4, 5, 6]),
    (r"[\b]", &[]),
    (r"(?P<a>p)\w", &[0, 2, 3, 4]),
    ("(?#no)app", &[0, 2, 3]),
    (r"ap(?#no)*\.", &[2, 3]),
    ("a+?", &[0, 2, 3, 5]),
    ("()*", &[0, 1, 2, 3, 4, 5, 6]),
    ("(?:)*app", &[0, 2, 3]),
    ("a|", &[0, 1, 2, 3, 4, 5, 6]),
    ("(?i)APP", &[0, 2, 3]),
    (r"(?i:APP)\.", &[2, 3]),
    ("(?-i:app)", &[0, 2, 3]),
    ("(?s-i:a)", &[0, 2, 3, 5]),
    ("(?u)app", &[0, 2, 3]),
    ("(?u:app)", &[0, 2, 3]),
    ("p{2}{", &[]),
];

const PYTHON_ONLY: [&str; 12] = [
    r"\ud800",
    r"\N{EM DASH}",
    "(?P<a>p)(?P=a)",
    r"(p)\1",
    "(?=p)",
    "(?<!p)y",
    "(?>p)",
    "(p)(?(1)a|b)",
    "a++",
    "a*+",
    r"(?a)\w",
    "(?x)a",
];

const NONE_OF_PYTHON: [&str; 36] = [
    "[a--b]",
    r"\12",
    r"[\8]",
    r"\x{61}",
    r"\p",
    r"\pL",
    r"\z",
    r"[\Z]",
    "(?P=a)",
    r"(p\1)",
    r"\1",
    "(?P<a>p)(?P<a>p)",
    "(?P<1>p)",
    "(?<a>p)",
    "(?(1)a|b)",
    "(p)(?(1)a|b|c)",
    "a**",
    "a{2}{3}",
    "^*",
    "*",
    "(a",
    "a)",
    "[b-a]",
    r"[\w-a]",
    "[",
    r"\",
    "a(?i)b",
    "(?i-i:a)",
    "(?i-s)a",
    "(?au)a",
    "(?L)a",
    "(?z)a",
    "(?U)a",
    "(?R)a",
    "a{3,2}",
    "a{4294967296}",
];

#[test]
fn names_match_as_in_python() {
    for (expression, places) in MATCHES {
        let regex = compiled(expression).unwrap_or_else(|refused| panic!("{expression}: {refused:?}"));
        let found: Vec<usize> = (0..NAMES.len()).filter(|place| regex.is_match(NAMES[*place])).collect();
        assert_eq!(found, places, "{expression} as {regex}");
    }
}

#[test]
fn what_only_python_matches_is_unsupported() {
    let deep = "(".repeat(1000) + &")".repeat(1000);
    for expression in PYTHON_ONLY.into_iter().chain(["a{4294967294}", r"(?:\w{1000}){1000}", &deep]) {
        assert_eq!(compiled(expression).err(), Some(Refused::Unsupported), "{expression}");
    }
}

#[test]
fn what_python_refuses_is_invalid_whatever_the_crate_makes_of_it() {
    for expression in NONE_OF_PYTHON {
        assert_eq!(compiled(expression).err(), Some(Refused::Invalid), "{expression}");
        // What is unsupported before it hides nothing.
        assert_eq!(compiled(&format!("(?=a)|{expression}")).err(), Some(Refused::Invalid), "{expression}");
    }
}

/// Every two parts, four times in a row.
#[test]
fn each_translation_is_bounded_and_taken_by_the_crate() {
    const PARTS: &str =
        r"a é \ [ ] ( ) | * + ? { } {,2} ^ $ . - & ~ # < \w \W \b \Z \1 \0 (? (?: (?P<a> (?i) (?i: (?(1) (?# (?= [^";
    let pairs = PARTS.split(' ').flat_map(|first| PARTS.split(' ').map(move |second| [first, second].concat()));
    for expression in pairs.flat_map(|pair| [pair.repeat(4), pair]) {
        if let Ok(rust) = translated(&expression) {
            assert!(rust.len() <= 7 * expression.len(), "{expression}");
            assert!(Regex::new(&rust).is_ok(), "{expression} as {rust}");
        }
    }
}
