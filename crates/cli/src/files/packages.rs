//! Which package has the names of a file's functions.
//! Owns: where the system's and Python's packages say whose a file is. Never: asks the network, installs anything.

use std::path::Path;

/// dpkg's lists: a file a package, a path a line.
const DPKG_LISTS: &str = "var/lib/dpkg/info";

/// `libsqlite3-0-dbgsym would bring them`, or what else helps. `root`: below which the packages are that have the file.
pub fn with_names_of(file: &Path, root: &Path) -> String {
    if let Some(wheel) = wheel_of(file) {
        return format!(
            "the wheel of {wheel} was built without: a build of your own, with -g and not stripped, has them"
        );
    }
    match debian_package_of(file, &root.join(DPKG_LISTS)) {
        Some(package) => format!("{} would bring them", with_debug_files(&package)),
        None => "a build with -g that is not stripped has them".to_owned(),
    }
}

/// The package of dpkg's that has a file.
pub fn debian_package(file: &Path) -> Option<String> {
    debian_package_of(file, &Path::new("/").join(DPKG_LISTS))
}

/// Whose an interpreter is, as far as its path tells: `pyenv`, `uv`, `conda`, `system`. `root`: where the process that runs it has its files.
pub fn owner_by_path(file: &Path, root: &Path) -> Option<&'static str> {
    let path = file.to_str()?;
    let is_conda = || {
        let mut above = file.ancestors().skip(2).take(1).filter_map(|folder| folder.strip_prefix("/").ok());
        above.any(|folder| root.join(folder).join("conda-meta").is_dir())
    };
    match () {
        () if path.contains("/.pyenv/versions/") => Some("pyenv"),
        () if path.contains("/uv/python/") => Some("uv"),
        () if is_conda() => Some("conda"),
        () if path.starts_with("/usr/") && !path.starts_with("/usr/local/") => Some("system"),
        () => None,
    }
}

/// The folder below site-packages: `numpy` of `numpy/core/…so` and of `numpy.libs/…so`.
fn wheel_of(file: &Path) -> Option<String> {
    let mut words = file.iter().map(|word| word.to_string_lossy());
    words.find(|word| word == "site-packages" || word == "dist-packages")?;
    let first = words.next()?;
    Some(first.split('.').next().unwrap_or(&first).to_owned())
}

fn debian_package_of(file: &Path, lists: &Path) -> Option<String> {
    // A library is opened by a link to it, which not every list names.
    let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let path = file.to_str()?;
    // Before /lib became a link to /usr/lib, packages named it.
    let names = [path, path.strip_prefix("/usr").unwrap_or(path)];
    let owns = |list: &str| list.lines().any(|line| names.contains(&line));
    for entry in std::fs::read_dir(lists).ok()?.flatten() {
        let name = entry.file_name();
        let Some(package) = name.to_str().and_then(|name| name.strip_suffix(".list")) else { continue };
        if std::fs::read_to_string(entry.path()).is_ok_and(|list| owns(&list)) {
            return Some(package.split(':').next().unwrap_or(package).to_owned());
        }
    }
    None
}

/// Python's and the C library's debug files have names of their own; all others are made by one rule.
fn with_debug_files(package: &str) -> String {
    let package = package.strip_prefix("lib").filter(|name| name.starts_with("python3.")).unwrap_or(package);
    match package.split_once('-').map_or(package, |(name, _)| name) {
        python if python.starts_with("python3.") => format!("{python}-dbg"),
        "libc6" => "libc6-dbg".to_owned(),
        _ => format!("{package}-dbgsym"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wheel_that_brought_it() {
        let wheel = |path: &str| wheel_of(Path::new(path));
        assert_eq!(wheel("/v/lib/python3.13/site-packages/numpy.libs/libopenblas.so").as_deref(), Some("numpy"));
        assert_eq!(wheel("/v/lib/python3.13/site-packages/lxml/etree.so").as_deref(), Some("lxml"));
        assert_eq!(wheel("/usr/lib/libsqlite3.so.0"), None);
    }

    #[test]
    fn a_path_tells_whose_it_is() {
        let root = tempfile::TempDir::new().unwrap();
        std::fs::create_dir_all(root.path().join("opt/forge/conda-meta")).unwrap();
        let owner = |path: &str| owner_by_path(Path::new(path), root.path());
        assert_eq!(owner("/home/me/.pyenv/versions/3.13.1/lib/libpython3.13.so.1.0"), Some("pyenv"));
        assert_eq!(owner("/home/me/.local/share/uv/python/cpython-3.13/bin/python3.13"), Some("uv"));
        assert_eq!((owner("/opt/forge/bin/python3.13"), owner("/opt/other/bin/python3.13")), (Some("conda"), None));
        assert_eq!((owner("/usr/bin/python3.13"), owner("/usr/local/bin/python3.13")), (Some("system"), None));
    }

    #[test]
    fn the_package_that_has_its_debug_files() {
        let lists = std::env::temp_dir().join(format!("genba-lists-{}", std::process::id()));
        std::fs::create_dir_all(&lists).unwrap();
        std::fs::write(lists.join("libsqlite3-0:amd64.list"), "/.\n/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6\n")
            .unwrap();
        std::fs::write(lists.join("zlib1g.list"), "/lib/x86_64-linux-gnu/libz.so.1.2\n").unwrap();
        std::fs::write(lists.join("zlib1g.md5sums"), "/usr/lib/other.so\n").unwrap();
        let package = |path: &str| debian_package_of(Path::new(path), &lists);
        assert_eq!(package("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6").as_deref(), Some("libsqlite3-0"));
        assert_eq!(package("/usr/lib/x86_64-linux-gnu/libz.so.1.2").as_deref(), Some("zlib1g"));
        assert_eq!((package("/usr/lib/other.so"), package("/opt/own.so")), (None, None));
        std::fs::remove_dir_all(&lists).unwrap();

        let names = ["libsqlite3-0", "python3.15-minimal", "libpython3.15-stdlib", "libpython3.15", "libc6"];
        let expected = ["libsqlite3-0-dbgsym", "python3.15-dbg", "python3.15-dbg", "python3.15-dbg", "libc6-dbg"];
        assert_eq!(names.map(with_debug_files), expected);
    }
}
