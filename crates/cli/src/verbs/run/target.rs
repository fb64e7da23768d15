//! What the user asked to run, made into a program to start: a script, an archive, a directory, a module, a command.
//! Owns: the reading of the first word, the choice of the interpreter, the name that a recording takes from it.
//! Never: starts anything, judges an interpreter.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::files::interpreter::{self, Named, find_on_path, is_executable};
use crate::words::failure::Failure;
use genba_profile::shell;
use genba_text::is_harmless;

const RUNS: &str = "genba run app.py runs a script, genba run -m module a module, genba run NAME a command on PATH";
const NAMES: &str = "name an existing .py or .pyz file, a directory with __main__.py, -m module, or a command on PATH";

/// How the user named the program.
pub struct Asked<'a> {
    /// `-m MODULE ARGUMENTS…`
    pub module: Option<&'a [OsString]>,
    /// `app.py ARGUMENTS…` or `command ARGUMENTS…`
    pub target: &'a [OsString],
    /// `--python`
    pub python: Option<&'a OsStr>,
    /// The same, set once for a project.
    pub python_of_settings: Option<&'a OsStr>,
    /// The interpreter that runs `python -m genba`.
    pub python_of_genba: Option<&'a OsStr>,
}

/// A program to start.
#[derive(Debug)]
pub struct Program {
    /// The file to execute.
    pub path: PathBuf,
    /// `argv[0]`: a command keeps the name it was called by.
    pub name: OsString,
    pub arguments: Vec<OsString>,
    pub kind: Kind,
    /// Stem of the recording's name: `app`, `module.name`, `gunicorn`.
    pub stem: String,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Kind {
    /// genba chose the interpreter; it must be one that genba knows.
    Interpreter,
    /// The user's own command: perhaps Python, perhaps a launcher.
    Command,
}

impl Program {
    /// The file to execute and the arguments.
    pub fn words(&self) -> Vec<&OsStr> {
        self.arguments.iter().map(OsString::as_os_str).chain([self.path.as_os_str()]).collect()
    }

    pub fn resolve(asked: &Asked<'_>) -> Result<Program, Failure> {
        if let Some([module, arguments @ ..]) = asked.module {
            let mut all = vec![OsString::from("-m"), module.clone()];
            all.extend_from_slice(arguments);
            all.extend_from_slice(asked.target);
            return with_interpreter(asked, all, stem_of(module));
        }
        let [first, arguments @ ..] = asked.target else {
            return Err(
                Failure::usage("nothing to run").hint("genba run app.py, genba run -m module, or genba run command")
            );
        };
        let path = Path::new(first);
        if path.is_dir() {
            if !path.join("__main__.py").is_file() {
                return Err(Failure::usage(format!(
                    "cannot run the directory {}: it has no __main__.py",
                    path.display()
                ))
                .hint("name a script in it, or a module with -m"));
            }
            let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
            let stem = stem_of(whole.file_name().unwrap_or(OsStr::new("directory")));
            return with_interpreter(asked, asked.target.to_vec(), stem);
        }
        if matches!(path.extension().map(OsStr::as_bytes), Some(b"py" | b"pyz")) {
            if path.is_file() {
                let stem = stem_of(path.file_stem().unwrap_or(first));
                return with_interpreter(asked, asked.target.to_vec(), stem);
            }
            if !first.as_bytes().contains(&b'/') && find_on_path(first).is_none() {
                return Err(no_such_file(path));
            }
        }
        let found = if first.as_bytes().contains(&b'/') {
            if !path.exists() {
                return Err(no_such_file(path));
            }
            if !is_executable(path) {
                let is_run = || format!("genba run python {0}, or chmod +x {0}", shell::path(path));
                return Err(Failure::usage(format!("cannot run {}: it is not executable", path.display()))
                    .hint(of_recording(path).unwrap_or_else(is_run)));
            }
            path.to_path_buf()
        } else {
            find_on_path(first).ok_or_else(|| {
                let failure = Failure::usage(format!("no command `{}` on PATH", first.display()));
                if let Some(hint) = of_recording(path) {
                    return failure.hint(hint);
                }
                if path.is_file() {
                    return failure
                        .detail("a file of that name is here, but its name does not end in .py or .pyz")
                        .hint(format!("genba run python {0}, or genba run ./{0}", shell::path(path)));
                }
                failure.hint(meant(first).unwrap_or_else(|| RUNS.to_owned()))
            })?
        };
        if asked.python.is_some() {
            return Err(Failure::usage(format!(
                "--python is for scripts and modules; `{}` is a command",
                first.display()
            ))
            .detail("a command brings its own interpreter")
            .hint(format!("leave --python out, or run it as a module: genba run --python … -m {}", stem_of(first))));
        }
        let stem = stem_of_command(first, arguments);
        let (name, arguments) = (first.clone(), arguments.to_vec());
        Ok(Program { path: found, name, arguments, kind: Kind::Command, stem })
    }
}

fn with_interpreter(asked: &Asked<'_>, arguments: Vec<OsString>, stem: String) -> Result<Program, Failure> {
    let typed = asked.python.map(|python| Named::Typed { python, example: "genba run --python python3.13 app.py" });
    let named = typed.or(asked.python_of_settings.map(Named::OfSettings));
    let path = interpreter::chosen(named, asked.python_of_genba)?;
    Ok(Program { name: path.clone().into_os_string(), path, arguments, kind: Kind::Interpreter, stem })
}

fn no_such_file(path: &Path) -> Failure {
    let failure = Failure::usage(format!("no such file: {}", path.display()));
    let folder = std::env::current_dir().map(|folder| folder.display().to_string()).unwrap_or_default();
    let failure = if path.is_relative() { failure.detail(format!("looked in {folder}")) } else { failure };
    failure.hint(meant(path.as_os_str()).unwrap_or_else(|| NAMES.to_owned()))
}

/// A recording is read, not run.
fn of_recording(path: &Path) -> Option<String> {
    let is_recording = path.extension().is_some_and(|ending| ending == "genba");
    is_recording.then(|| format!("genba report {0}, or genba view {0}", shell::path(path)))
}

/// Where the first word names nothing, but what was meant can be seen.
fn meant(first: &OsStr) -> Option<String> {
    let first = first.to_str()?;
    match first {
        "-" => return Some("genba run python -".to_owned()),
        "-c" => return Some("genba run python -c CODE".to_owned()),
        _ => {}
    }
    let script = PathBuf::from(format!("{first}.py"));
    let is_command = |word: &str| find_on_path(OsStr::new(word)).is_some();
    if first.split_once(' ').is_some_and(|(command, _)| is_command(command)) {
        Some(format!("without the quotes: genba run {first}"))
    } else if let Some((name, value)) = first.split_once('=').filter(|(name, _)| is_of_variable(name)) {
        let in_one = value.split_once(' ').filter(|(_, line)| line.split(' ').next().is_some_and(is_command));
        let (value, program) = in_one.unwrap_or((value, "app.py"));
        Some(format!("a variable comes first: {name}={} genba run {program}", shell::word(value)))
    } else {
        script.is_file().then(|| format!("genba run {}", shell::path(&script)))
    }
}

/// A shell takes `NAME=value` for a variable, where the name is not in quotes.
fn is_of_variable(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.starts_with(|letter: char| is_letter(letter) && !letter.is_ascii_digit()) && name.chars().all(is_letter)
}

/// A file name has 255 bytes at most, and `-10000.genba` or `-10000.speedscope.json` follows.
const STEM_BYTES_MAX: usize = 220;

/// A file name for a recording of `name`.
fn stem_of(name: &OsStr) -> String {
    let last = Path::new(name).file_name().unwrap_or(name);
    let mut stem: String =
        last.to_string_lossy().chars().map(|letter| if is_harmless(letter) { letter } else { '_' }).collect();
    stem.truncate(stem.floor_char_boundary(STEM_BYTES_MAX));
    stem
}

/// `python app.py` is named after the script, `python -m module` after the module, any other command after itself.
fn stem_of_command(command: &OsStr, arguments: &[OsString]) -> String {
    let own = stem_of(command);
    if !own.starts_with("python") {
        return own;
    }
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_bytes() {
            b"-m" => return words.next().map_or(own, |module| stem_of(module)),
            b"-c" | b"-" => return own,
            b"-W" | b"-X" | b"--check-hash-based-pycs" => drop(words.next()),
            option if option.starts_with(b"-") => {}
            _ => return stem_of(Path::new(word).file_stem().unwrap_or(word)),
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_one_for_the_shell_too() {
        let hint = |first: &str| meant(OsStr::new(first));
        let words = "a variable comes first: GREETING='good day' genba run app.py";
        assert_eq!(hint("GREETING=good day").as_deref(), Some(words));
        assert_eq!(hint("COUNT=3 sh -c pwd").as_deref(), Some("a variable comes first: COUNT=3 genba run sh -c pwd"));
        assert_eq!(hint("./out=3/no-such-program"), None);
        assert_eq!(hint("3=4"), None);
    }

    #[test]
    fn code_that_is_typed_or_piped_in_is_pythons() {
        let hint = |first: &str| meant(OsStr::new(first));
        assert_eq!(hint("-").as_deref(), Some("genba run python -"));
        assert_eq!(hint("-c").as_deref(), Some("genba run python -c CODE"));
    }

    #[test]
    fn a_recording_is_named_after_what_runs() {
        let check = |line: &str, expected: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(stem_of_command(&words[0], &words[1..]), expected, "{line}");
        };
        check("gunicorn app:app -w 2", "gunicorn");
        check("./bin/tool x.py", "tool");
        check("python app.py", "app");
        check("/usr/bin/python3.12 -X dev -u src/app.py --flag", "app");
        check("python3 -m http.server 8000", "http.server");
        check("python3 -c pass", "python3");
        check("python", "python");
        check("python /tmp/gpj\u{202e}\u{1b}[31m\u{2028}.py", "gpj__[31m_");
        check("./\u{9b}tool\u{7f}", "_tool_");
        // Of 255 bytes, as long as a file name can be.
        check(&format!("python {}é{}.py", "x".repeat(219), "y".repeat(31)), &"x".repeat(219));
    }
}
