//! Whose code a frame is: the user's own, a library's, the interpreter's, the C library's.
//! Owns: the rules by path. Never: looks at the file system.

use std::fmt;

use crate::tables::source_text::SourceText;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    User,
    Library,
    Stdlib,
    Interpreter,
    Extension,
    Libc,
    /// Any other C library.
    Native,
}

impl fmt::Display for Owner {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(match self {
            Owner::User => "user",
            Owner::Library => "library",
            Owner::Stdlib => "stdlib",
            Owner::Interpreter => "interpreter",
            Owner::Extension => "extension",
            Owner::Libc => "libc",
            Owner::Native => "native",
        })
    }
}

/// The files of genba's libraries, as `genba run` and `genba attach` name them. The first one wraps functions of libc.
const OWN_LIBRARIES: [&str; 3] = ["genba-agent-", "genba-copies-", "genba-allocations-"];

pub fn is_agent(path: &str) -> bool {
    base_name(path).starts_with(OWN_LIBRARIES[0])
}

/// Of a file with machine code.
pub fn is_genba_s(path: &str) -> bool {
    OWN_LIBRARIES.iter().any(|library| base_name(path).starts_with(library))
}

/// `libc.so.6`, and `libc-2.31.so` before glibc 2.34.
pub fn is_libc(path: &str) -> bool {
    ["libc.so", "libc-2."].iter().any(|libc| base_name(path).starts_with(libc))
}

pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What a process's start block says about where things lie.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'a> {
    pub executable: &'a str,
    /// Folders and modules that an installer put outside of `site-packages`.
    pub packages: &'a [String],
}

/// Whether it is one of them, or in one.
pub fn is_in(packages: &[String], path: &str) -> bool {
    package_of(packages, path).is_some()
}

pub fn package_of<'a>(packages: &'a [String], path: &str) -> Option<&'a str> {
    let is_of = |package: &&String| {
        path.strip_prefix(package.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    packages.iter().find(is_of).map(String::as_str)
}

/// Of a file of an installed package, from the package's name on: `uvicorn/main.py`.
pub fn path_in_installed<'a>(packages: &[String], path: &'a str) -> Option<&'a str> {
    let folders = ["/site-packages/", "/dist-packages/"].into_iter();
    let within = folders.filter_map(|folder| path.rsplit_once(folder)).map(|(_, within)| within);
    within.min_by_key(|within| within.len()).or_else(|| {
        let (folder, _) = package_of(packages, path)?.rsplit_once('/')?;
        path.strip_prefix(folder)?.strip_prefix('/')
    })
}

/// Of a Python file.
pub fn of_python(path: &str, places: Places) -> Owner {
    if path.starts_with("<frozen ") {
        return Owner::Stdlib;
    }
    if path.contains("/site-packages/") || path.contains("/dist-packages/") || is_in(places.packages, path) {
        return Owner::Library;
    }
    if in_versioned_folder(path) || in_build_folder(path, places.executable) {
        return Owner::Stdlib;
    }
    if is_beside(path, places.executable) {
        return Owner::Library;
    }
    Owner::User
}

/// A library, wherever it is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library<'a> {
    Stdlib(&'a str),
    Installed(&'a str),
}

impl<'a> Library<'a> {
    /// The one that a file belongs to: of `…/site-packages/simplejson/decoder.py` it is `simplejson`. None: it is no library's, as far as the path tells.
    pub fn of(path: &'a str) -> Option<Library<'a>> {
        let first = |within: &'a str| within.split('/').find(|part| !part.ends_with(".egg")).unwrap_or(within);
        match path_in_installed(&[], path) {
            Some(within) => Some(Library::Installed(first(within))),
            None => versioned_folder(path).map(|within| Library::Stdlib(first(within))),
        }
    }
}

/// Whether code of that name has no file: `<stdin>`, `<string>`.
pub fn is_nameless(path: &str) -> bool {
    path.starts_with('<') && !path.starts_with("<frozen ")
}

/// Whether it is a text that was given to `python -c` or `exec`; joined recordings say whose.
pub fn is_program_text(path: &str) -> bool {
    path == "<string>" || path.starts_with("<string> (")
}

/// Whether somebody typed that code: at a prompt, into a notebook, a doctest or `timeit`. So did who wrote functions of `__main__` that
/// cloudpickle takes into another process, without their file (`<dynamic-code>`).
pub fn is_typed(path: &str) -> bool {
    const TYPED: [&str; 9] = [
        "<stdin>",
        "<console>",
        "<python-input-",
        "<ipython-input-",
        "<doctest ",
        "<timeit-src>",
        "<pyshell#",
        "<input>",
        "<dynamic-code>",
    ];
    TYPED.iter().any(|typed| path.starts_with(typed))
}

/// Whether a script without `.py` in some `bin` is what an installer wrote: two imports and a call.
pub fn is_starter(path: &str, text: &SourceText) -> bool {
    const LINES_MAX: u32 = 20;
    let is_in_bin =
        path.rsplit_once('/').is_some_and(|(folder, name)| folder.ends_with("/bin") && !name.ends_with(".py"));
    let has = |begin: &str, inside: &str| {
        let mut lines = (1..=text.line_count).filter_map(|line| text.line(line)).map(str::trim);
        lines.any(|line| line.starts_with(begin) && line.contains(inside))
    };
    is_in_bin && text.line_count < LINES_MAX && has("from ", " import ") && has("sys.exit(", "()")
}

fn in_versioned_folder(path: &str) -> bool {
    versioned_folder(path).is_some()
}

/// What follows `…/lib/python3.13/` (also lib64) and `…/python313.zip/`.
pub(super) fn versioned_folder(path: &str) -> Option<&str> {
    let mut before = "";
    let mut rest = path;
    while let Some((folder, after)) = rest.split_once('/') {
        let library = before.starts_with("lib")
            && folder.strip_prefix("python3.").is_some_and(|minor| {
                !minor.is_empty() && minor.trim_end_matches('t').bytes().all(|byte| byte.is_ascii_digit())
            });
        let zip = folder
            .strip_prefix("python3")
            .and_then(|rest| rest.strip_suffix(".zip"))
            .is_some_and(|minor| minor.bytes().all(|byte| byte.is_ascii_digit()));
        if library || zip {
            return Some(after);
        }
        (before, rest) = (folder, after);
    }
    None
}

/// `Lib/` beside an interpreter that was built and not installed.
fn in_build_folder(path: &str, executable: &str) -> bool {
    let folder = executable.rsplit_once('/').map(|(folder, _)| folder);
    folder.is_some_and(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with("/Lib/")))
}

/// The starter that an installer put beside the interpreter (`bin/pytest`): nobody's own code.
fn is_beside(path: &str, executable: &str) -> bool {
    let (Some((folder, name)), Some((beside, _))) = (path.rsplit_once('/'), executable.rsplit_once('/')) else {
        return false;
    };
    !name.ends_with(".py") && folder == beside
}

/// Of a loaded file. The interpreter is the executable, or libpython.
pub fn of_module(path: &str, places: Places) -> Owner {
    let name = path.rsplit('/').next().unwrap_or(path);
    if path == places.executable || is_interpreter(name) {
        return Owner::Interpreter;
    }
    const LIBC: [&str; 9] =
        ["libc", "libm", "libpthread", "libdl", "librt", "libutil", "ld-linux-x86-64", "linux-vdso", "[vdso]"];
    let stem = name.split(['.', '-']).next().unwrap_or(name);
    if LIBC.iter().any(|known| name.split(".so").next() == Some(known) || (stem == *known && name.contains("-2."))) {
        return Owner::Libc;
    }
    let extension = name.contains(".cpython-3")
        || name.contains(".abi3.")
        || path.contains("/lib-dynload/")
        || path.contains("/site-packages/")
        || path.contains("/dist-packages/")
        || is_in(places.packages, path);
    if extension { Owner::Extension } else { Owner::Native }
}

/// `python3.13`, `python`, `libpython3.13.so.1.0`.
fn is_interpreter(name: &str) -> bool {
    name.starts_with("libpython3")
        || name
            .strip_prefix("python")
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_format::proto;

    #[test]
    fn owners_of_python_files() {
        let packages = ["/home/me/deps/six.py", "/home/me/deps/numpy"].map(str::to_owned);
        let places = Places { executable: "/home/me/.venv/bin/python", packages: &packages };
        for (path, owner) in [
            ("/home/me/app.py", Owner::User),
            ("app.py", Owner::User),
            ("<string>", Owner::User),
            ("<frozen importlib._bootstrap>", Owner::Stdlib),
            ("/usr/lib/python3.15/json/decoder.py", Owner::Stdlib),
            ("/usr/lib/python3/dist-packages/six.py", Owner::Library),
            ("/home/me/.venv/lib/python3.15/site-packages/six.py", Owner::Library),
            ("/home/me/python3.15/app.py", Owner::User),
            ("/usr/lib/python315.zip/json/decoder.py", Owner::Stdlib),
            ("/home/me/.venv/bin/pytest", Owner::Library),
            ("/home/me/.venv/bin/app.py", Owner::User),
            ("/home/me/project/bin/tool", Owner::User),
            ("/home/me/.venv/bin/Lib/json/decoder.py", Owner::Stdlib),
            ("/home/me/Lib/json/decoder.py", Owner::User),
            ("/home/me/deps/six.py", Owner::Library),
            ("/home/me/deps/numpy/core/numeric.py", Owner::Library),
            ("/home/me/deps/numpy_of_mine.py", Owner::User),
        ] {
            assert_eq!(of_python(path, places), owner, "{path}");
        }
    }

    #[test]
    fn what_an_installer_writes_is_a_starter() {
        let starter = "#!/usr/bin/python3\nimport sys\nfrom pkg.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n";
        let check = |path: &str, text: &str| {
            let chunks = vec![proto::SourceChunk { first_line: 1, text: text.to_string() }];
            let lines = text.lines().count() as u32;
            is_starter(path, &SourceText::new(&proto::Source { lines, chunks, ..Default::default() }))
        };
        assert!(check("/home/me/.local/bin/tool", starter));
        assert!(!check("/home/me/tool", starter));
        assert!(!check("/home/me/bin/tool.py", starter));
        assert!(!check("/home/me/bin/tool", "import json\njson.dumps(1)\n"));
        assert!(!check("/home/me/bin/tool", &(starter.to_string() + &"x = 1\n".repeat(20))));
    }

    #[test]
    fn owners_of_loaded_files() {
        let packages = ["/opt/app/deps/numpy".to_owned()];
        let places = Places { executable: "/opt/app/interpreter", packages: &packages };
        for (path, owner) in [
            ("/opt/app/interpreter", Owner::Interpreter),
            ("/usr/bin/python3.15", Owner::Interpreter),
            ("/usr/lib/libpython3.12.so.1.0", Owner::Interpreter),
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", Owner::Libc),
            ("/lib/libc-2.17.so", Owner::Libc),
            ("/usr/lib/x86_64-linux-gnu/libm.so.6", Owner::Libc),
            ("/lib64/ld-linux-x86-64.so.2", Owner::Libc),
            ("[vdso]", Owner::Libc),
            ("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", Owner::Native),
            ("/usr/lib/python3.15/lib-dynload/_ssl.cpython-315-x86_64-linux-gnu.so", Owner::Extension),
            ("/v/lib/python3.12/site-packages/numpy.libs/libopenblas.so", Owner::Extension),
            ("/opt/app/deps/numpy/core/fast.so", Owner::Extension),
            ("/opt/app/deps/libown.so", Owner::Native),
        ] {
            assert_eq!(of_module(path, places), owner, "{path}");
        }
    }
}
