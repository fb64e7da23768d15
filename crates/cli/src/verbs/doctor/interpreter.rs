//! Facts about an interpreter: which one, whose build, how it was built, and whether its C functions have names.
//! Owns: what of its own configuration proves what. Never: takes a sign that is missing for a *no* where that build is known not to tell.

use std::path::Path;

use genba_process::interpreter::Interpreter;
use genba_process::maps::Mapping;

use super::asking::{Answer, Asked};
use super::fact::{Fact, Facts};
use crate::files::packages;
use crate::finish::{self, SymbolsAt};

const GROUP: &str = "the interpreter";
const SYMBOLS: &str = "with them, C functions have the names of their source";
const BOLT: &str = "functions that BOLT made do not bear signals everywhere: genba gives each thread a stack for them (docs/limits.md)";

/// Whose build it is, as far as files tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A package of dpkg's.
    Dpkg(String),
    Conda,
    Pyenv,
    /// python-build-standalone, which uv brings too.
    Standalone,
    Unknown,
}

impl Owner {
    /// `package`: of dpkg's that has the executable.
    fn of(answer: &Answer, package: Option<String>, is_conda: bool) -> Owner {
        if let Some(package) = package {
            return Owner::Dpkg(package);
        }
        let arguments = answer.config.get("CONFIG_ARGS").map_or("", String::as_str);
        let is_standalone = answer.config.get("PYTHON_BUILD_STANDALONE").is_some_and(|value| value == "1")
            || answer.base_prefix.contains("/uv/python/")
            || arguments.contains("--prefix=/install") && arguments.contains("/tools/");
        match () {
            () if is_conda => Owner::Conda,
            () if answer.base_prefix.contains("/.pyenv/versions/") => Owner::Pyenv,
            () if is_standalone => Owner::Standalone,
            () => Owner::Unknown,
        }
    }

    fn words(&self) -> String {
        match self {
            Owner::Dpkg(package) => format!("of the system's package {package}"),
            Owner::Conda => "conda's".to_owned(),
            Owner::Pyenv => "built by pyenv on this machine".to_owned(),
            Owner::Standalone => "of python-build-standalone, which uv brings".to_owned(),
            Owner::Unknown => "no file that genba knows tells whose".to_owned(),
        }
    }
}

/// Of an interpreter that was started for this.
pub fn facts(asked: &Asked) -> Vec<Fact> {
    let answer = &asked.answer;
    let executable = Path::new(&answer.executable);
    let package = packages::debian_package(executable);
    let owner = Owner::of(answer, package, Path::new(&answer.base_prefix).join("conda-meta").is_dir());
    let mut found = Facts::of(GROUP);
    let number = answer.version.split(' ').next().unwrap_or_default();
    let why = "what `genba run app.py` starts";
    found.fact(
        "python",
        format!("{} {number} at {}; {}", answer.implementation, answer.executable, owner.words()),
        why,
    );
    let known = "genba reads its structures";
    match &asked.found {
        Ok(interpreter) => found.ok("genba", format!("knows CPython {}", interpreter.version), known),
        Err(refusal) => {
            let words = refusal.details().first().cloned().unwrap_or_else(|| refusal.to_string());
            found.hinders("genba", words, known, refusal.hint());
        }
    }
    built(&mut found, answer, &owner);
    let bolted = asked.found.as_ref().ok().map(Interpreter::is_bolted);
    bolt(&mut found, bolted.or_else(|| answer.flags().contains("--enable-bolt").then_some(true)));
    let file = asked.found.as_ref().map_or(executable, |interpreter| interpreter.file.as_path());
    symbols(&mut found, file, Path::new("/"));
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    allocator(&mut found, &variable);
    found.rows
}

/// Of the interpreter in a process that runs, from its files: it is not started, since another user may have written it.
pub fn facts_of_process(interpreter: &Interpreter) -> Vec<Fact> {
    let mut found = Facts::of(GROUP);
    let pid = interpreter.facts.pid;
    let value = format!("CPython {} at {}: genba knows it", interpreter.version, interpreter.file.display());
    found.ok("python", value, "genba reads its structures");
    let program =
        interpreter.facts.executable.as_ref().map_or_else(|| "FILE".to_owned(), |path| path.display().to_string());
    let value = format!("not told by a process that runs: genba doctor --python {program} asks the file");
    found.unknown("PGO, LTO", value, "an optimized build runs the same program in less time");
    bolt(&mut found, Some(interpreter.is_bolted()));
    symbols(&mut found, &interpreter.file_inside(), &interpreter.root_here());
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let variable = |name: &str| {
        let found = environment.split('\0').find_map(|entry| entry.strip_prefix(name)?.strip_prefix('='));
        found.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    if environment.is_empty() {
        found.unknown(
            "allocator",
            "its environment cannot be read",
            "another allocator, or one that checks, changes the program's pace",
        );
    } else {
        allocator(&mut found, &variable);
    }
    libraries(&mut found, &interpreter.maps);
    found.rows
}

impl Answer {
    /// All words that the build was configured and compiled with.
    fn flags(&self) -> String {
        let names = ["CONFIG_ARGS", "PY_CORE_CFLAGS", "PY_CFLAGS", "PY_CORE_LDFLAGS", "LDFLAGS"];
        names.iter().filter_map(|name| self.config.get(*name)).map(|words| format!(" {words} ")).collect()
    }

    fn is_set(&self, name: &str) -> bool {
        self.config.get(name).is_some_and(|value| value == "1")
    }
}

fn built(found: &mut Facts, answer: &Answer, owner: &Owner) {
    let flags = answer.flags();
    let has = |signs: &[&str]| signs.iter().any(|sign| flags.contains(sign));
    // Debian's sysconfig describes its shared library's build, and its executable is another one.
    let tells = !matches!(owner, Owner::Dpkg(_)) && answer.config.contains_key("CONFIG_ARGS");
    let untold = "its sysconfig does not tell: it may describe another build of the same package";
    let why = "a build that was trained with its own profile runs the same program in less time";
    match has(&["--enable-optimizations", "-fprofile-use", "-fprofile-instr-use"]) {
        true => found.ok("PGO", "yes", why),
        false if tells => found.slow("PGO", "no", why, optimized(answer, owner)),
        false => found.unknown("PGO", untold, why),
    }
    let why = "the compiler saw the whole interpreter at once";
    match has(&["--with-lto'", "--with-lto ", "--with-lto=", "-flto"]) && !has(&["--with-lto=no"]) {
        true => found.ok("LTO", "yes", why),
        false if tells => found.fact("LTO", "no", why),
        false => found.unknown("LTO", untold, why),
    }
    let pointers = if has(&["-fno-omit-frame-pointer"]) { "yes" } else { "not asked for" };
    found.fact("frame pointers", pointers, "perf needs them; genba unwinds by tables");
    let jit = match answer.jit.as_deref() {
        Some("on") => "on",
        Some("off") => "built in, and off",
        Some(_) => "not built in",
        None if has(&["--enable-experimental-jit"]) => "built in; this version does not tell whether it is on",
        None => "not built in",
    };
    found.fact("JIT", jit, "genba's frames of Python are the same with it");
    match answer.is_set("Py_GIL_DISABLED") {
        true => found.fact("threads", "free-threaded", "genba records builds with a GIL"),
        false => found.ok("threads", "one GIL an interpreter", "genba records builds with a GIL"),
    }
    let why = "a debug build checks everything it does, and takes several times as long";
    match answer.is_set("Py_DEBUG") || answer.is_set("Py_TRACE_REFS") {
        true => found.slow("debug build", "yes", why, "a release build of the same version"),
        false if answer.config.contains_key("Py_DEBUG") => found.ok("debug build", "no", why),
        false => found.unknown("debug build", "its sysconfig does not tell", why),
    }
}

/// Where an optimized build of the same version comes from.
fn optimized(answer: &Answer, owner: &Owner) -> String {
    let version = answer.version.split(' ').next().unwrap_or_default();
    match owner {
        Owner::Pyenv => {
            format!("PYTHON_CONFIGURE_OPTS='--enable-optimizations --with-lto' pyenv install --force {version}")
        }
        _ => "a build configured with --enable-optimizations --with-lto, as uv python install brings".to_owned(),
    }
}

fn bolt(found: &mut Facts, is_bolted: Option<bool>) {
    match is_bolted {
        Some(true) => found.fact("BOLT", "yes", BOLT),
        Some(false) => found.fact("BOLT", "no", BOLT),
        None => found.unknown("BOLT", "not told: genba did not read its file", BOLT),
    }
}

/// `root`: below which the file lies.
fn symbols(found: &mut Facts, file: &Path, root: &Path) {
    let here = root.join(file.strip_prefix("/").unwrap_or(file));
    match finish::symbols_of(&here) {
        None => found.unknown("symbols", format!("{} cannot be read", file.display()), SYMBOLS),
        Some(SymbolsAt::Own) => found.ok("symbols", format!("in {}", file.display()), SYMBOLS),
        Some(SymbolsAt::Apart(debug)) => found.ok("symbols", format!("in {}", debug.display()), SYMBOLS),
        Some(SymbolsAt::Nowhere) => {
            let remedy = packages::with_names_of(file, root);
            found.fact(
                "symbols",
                format!("stripped; {remedy} (genba finds most names without, docs/names.md)"),
                SYMBOLS,
            );
        }
    }
}

/// What the environment chooses.
fn allocator(found: &mut Facts, variable: &dyn Fn(&str) -> Option<String>) {
    let why = "another allocator, or one that checks, changes the program's pace";
    let chosen = variable("PYTHONMALLOC");
    let checks = ["debug", "pymalloc_debug", "malloc_debug", "mimalloc_debug"];
    match chosen {
        Some(name) if checks.contains(&name.as_str()) => {
            found.slow("allocator", format!("PYTHONMALLOC={name}"), why, "unset PYTHONMALLOC");
        }
        Some(name) => found.fact("allocator", format!("PYTHONMALLOC={name}"), why),
        None if variable("PYTHONDEVMODE").is_some() => {
            found.slow("allocator", "one that checks, by PYTHONDEVMODE", why, "unset PYTHONDEVMODE");
        }
        None => found.ok("allocator", "Python's own, as it was built", why),
    }
    if let Some(libraries) = variable("LD_PRELOAD") {
        found.fact("LD_PRELOAD", libraries, "these libraries come before libc: their functions replace its own");
    }
}

/// Allocators among the loaded files.
fn libraries(found: &mut Facts, maps: &[Mapping]) {
    let mut names: Vec<String> = maps
        .iter()
        .filter_map(|mapping| mapping.path.as_ref()?.file_name()?.to_str().map(str::to_owned))
        .filter(|name| ["jemalloc", "tcmalloc", "mimalloc"].iter().any(|allocator| name.contains(allocator)))
        .collect();
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() {
        found.fact("malloc", names.join(", "), "it answers instead of libc's malloc");
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Fact, Facts, Owner, allocator, built};
    use crate::verbs::doctor::fact::Standing;

    fn answer(arguments: &str, flags: &str) -> Answer {
        let config = [("CONFIG_ARGS", arguments), ("PY_CORE_CFLAGS", flags), ("Py_DEBUG", "0")];
        Answer {
            version: "3.13.1 (main)".to_owned(),
            base_prefix: "/home/me/.pyenv/versions/3.13.1".to_owned(),
            config: config.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..Answer::default()
        }
    }

    fn one(answer: &Answer, owner: &Owner, name: &str) -> Fact {
        let mut found = Facts::of("");
        built(&mut found, answer, owner);
        found.rows.into_iter().find(|fact| fact.name == name).unwrap()
    }

    #[test]
    fn an_owner_is_told_by_files_and_configuration() {
        let own = answer("'--prefix=/x'", "");
        assert_eq!(
            Owner::of(&own, Some("python3.11-minimal".to_owned()), true),
            Owner::Dpkg("python3.11-minimal".to_owned())
        );
        assert_eq!(Owner::of(&own, None, true), Owner::Conda);
        assert_eq!(Owner::of(&own, None, false), Owner::Pyenv);
        let elsewhere = Answer { base_prefix: "/opt/python".to_owned(), ..own };
        assert_eq!(Owner::of(&elsewhere, None, false), Owner::Unknown);
        let standalone = answer("'--prefix=/install' '--with-build-python=/tools/host/bin/python3.11'", "");
        let standalone = Answer { base_prefix: "/opt/python".to_owned(), ..standalone };
        assert_eq!(Owner::of(&standalone, None, false), Owner::Standalone);
    }

    #[test]
    fn a_build_without_pgo_is_slow_only_where_its_configuration_tells() {
        let plain = answer("'--enable-shared'", "-O3");
        let slow = one(&plain, &Owner::Pyenv, "PGO");
        assert_eq!(slow.standing, Standing::Slow);
        assert!(slow.remedy.unwrap().ends_with("pyenv install --force 3.13.1"));
        assert_eq!(one(&plain, &Owner::Dpkg("python3.13-minimal".to_owned()), "PGO").standing, Standing::Unknown);
        assert_eq!(one(&Answer::default(), &Owner::Unknown, "PGO").standing, Standing::Unknown);
        assert_eq!(one(&Answer::default(), &Owner::Unknown, "debug build").standing, Standing::Unknown);
        for (arguments, flags) in [
            ("'--enable-optimizations'", ""),
            ("", "-O3 -fprofile-use -fprofile-correction"),
            ("", "-fprofile-instr-use=x"),
        ] {
            assert_eq!(one(&answer(arguments, flags), &Owner::Pyenv, "PGO").standing, Standing::Ok);
        }
        assert_eq!(one(&answer("'--with-lto'", ""), &Owner::Pyenv, "LTO").value, "yes");
        assert_eq!(one(&answer("'--with-lto=no'", ""), &Owner::Pyenv, "LTO").value, "no");
    }

    #[test]
    fn an_allocator_that_checks_is_slow() {
        let chosen = |value: &'static str| {
            let mut found = Facts::of("");
            allocator(&mut found, &|name| (name == "PYTHONMALLOC" && !value.is_empty()).then(|| value.to_owned()));
            found.rows.remove(0).standing
        };
        assert_eq!((chosen("debug"), chosen("malloc"), chosen("")), (Standing::Slow, Standing::Fact, Standing::Ok));
    }
}
