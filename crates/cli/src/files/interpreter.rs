//! Which interpreter runs a script or a snippet, and where a program of a name is.
//! Owns: the order in which interpreters are looked for. Never: starts one, judges one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::words::failure::Failure;

/// Who named the interpreter.
#[derive(Clone, Copy, Debug)]
pub enum Named<'a> {
    /// `--python`. `example`: a command with one, for who typed another.
    Typed {
        python: &'a OsStr,
        example: &'static str,
    },
    OfSettings(&'a OsStr),
}

/// The one that was named, else the one that runs `python -m genba`, else the active virtual environment's, else `python3`.
pub fn chosen(named: Option<Named<'_>>, of_genba: Option<&OsStr>) -> Result<PathBuf, Failure> {
    let named = named.map(|named| match named {
        Named::Typed { python, example } => (python, "--python ", example),
        Named::OfSettings(named) => (named, "the setting `python`, ", "genba run --show-config says where it is set"),
    });
    if let Some((named, whence, hint)) = named {
        let path = Path::new(named);
        let found = if named.as_bytes().contains(&b'/') {
            Some(path.to_path_buf()).filter(|path| path.is_file() && is_executable(path))
        } else {
            find_on_path(named)
        };
        return found.ok_or_else(|| {
            Failure::usage(format!("{whence}{}: no such interpreter", named.display()))
                .detail("looked for an executable file of that path, or of that name on PATH")
                .hint(hint)
        });
    }
    if let Some(own) = of_genba {
        return Ok(PathBuf::from(own));
    }
    let environment = std::env::var_os("VIRTUAL_ENV").filter(|folder| !folder.is_empty());
    if let Some(environment) = environment {
        let path = Path::new(&environment).join("bin/python");
        if is_executable(&path) {
            return Ok(path);
        }
        if std::fs::metadata(&path).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
            return Err(Failure::usage(format!("permission denied: {}", path.display()))
                .detail("VIRTUAL_ENV names that folder, and this user may not look into it")
                .hint("name an interpreter with --python, or run genba as the user whom the environment belongs to"));
        }
        return Err(Failure::usage(format!("the active virtual environment has no interpreter: {}", path.display()))
            .detail("VIRTUAL_ENV names that folder")
            .hint("activate another environment, or name an interpreter with --python"));
    }
    find_on_path(OsStr::new("python3")).ok_or_else(|| {
        Failure::usage("no `python3` on PATH").hint("name an interpreter: genba run --python /path/to/python3 app.py")
    })
}

/// The first executable file of that name on PATH, as a shell would find it.
pub fn find_on_path(name: &OsStr) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_executable(path))
}

pub fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
