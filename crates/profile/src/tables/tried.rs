//! Which releases of CPython, and whose builds of them, every test of the repository has run on.
//! Owns: that list; docs/limits.md shows it. Never: refuses an interpreter: layouts are checked on the living process,
//! so other releases of the same minor versions are recorded, too.

/// One build of one release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// `platform.python_version()`.
    pub version: &'static str,
    /// Who built it, and how.
    pub build: &'static str,
}

const PYENV: &str = "pyenv: GCC, shared, symbols";
const DEBIAN: &str = "Debian sid: GCC, LTO, PGO, stripped";

pub const TRIED: [Tried; 7] = [
    Tried { version: "3.11.7", build: PYENV },
    Tried { version: "3.11.11", build: "python-build-standalone: Clang, LTO, PGO, shared, symbols" },
    Tried { version: "3.12.1", build: PYENV },
    Tried { version: "3.13.0", build: PYENV },
    Tried {
        version: "3.14.6",
        build: "python-build-standalone: Clang, LTO, PGO, BOLT, tail calls between instructions, stripped",
    },
    Tried { version: "3.14.10", build: DEBIAN },
    Tried { version: "3.15.2", build: DEBIAN },
];

/// The builds of a release that were tried; none: genba's tests have never run on it.
pub fn builds_of(version: &str) -> impl Iterator<Item = &'static str> {
    TRIED.iter().filter(move |tried| tried.version == version).map(|tried| tried.build)
}

#[cfg(test)]
mod tests {
    use super::{TRIED, builds_of};

    #[test]
    fn the_page_shows_the_list() {
        let page = include_str!("../../../../docs/limits.md");
        let rows: Vec<String> = TRIED.iter().map(|tried| format!("| {} | {} |", tried.version, tried.build)).collect();
        let (_, shown) = page.split_once("| CPython | build |\n|---|---|\n").expect("a table in docs/limits.md");
        let shown: Vec<&str> = shown.lines().take_while(|line| line.starts_with('|')).collect();
        assert_eq!(shown, rows);
    }

    #[test]
    fn an_unknown_release_was_not_tried() {
        assert_eq!(builds_of("3.13.0").count(), 1);
        assert_eq!(builds_of("3.13").count(), 0);
    }
}
