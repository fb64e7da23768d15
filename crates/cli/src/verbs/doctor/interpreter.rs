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
const ITS_OWN: &str = "Python's own, as it was built";
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
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    built(&mut found, answer, &owner, &variable);
    let bolted = asked.found.as_ref().ok().map(Interpreter::is_bolted);
    bolt(&mut found, bolted.or_else(|| answer.is_configured("enable-bolt").then_some(true)));
    let file = asked.found.as_ref().map_or(executable, |interpreter| interpreter.file.as_path());
    symbols(&mut found, file, Path::new("/"));
    allocator(&mut found, &variable, default_allocator(answer));
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
        allocator(&mut found, &variable, ITS_OWN);
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

    /// The value of an option of `configure`, such as `with-lto`. It is `yes` without one, and `no` for the opposite; the last one given holds.
    fn configured(&self, option: &str) -> Option<&str> {
        let opposite = match option.split_once('-')? {
            ("enable", name) => format!("disable-{name}"),
            (_, name) => format!("without-{name}"),
        };
        self.config.get("CONFIG_ARGS")?.split_ascii_whitespace().rev().find_map(|word| {
            let word = word.trim_matches('\'').strip_prefix("--")?;
            let (name, value) = word.split_once('=').unwrap_or((word, "yes"));
            if name == opposite { Some("no") } else { (name == option).then_some(value) }
        })
    }

    fn is_configured(&self, option: &str) -> bool {
        self.configured(option).is_some_and(|value| value != "no")
    }

    /// Whether the compiler was told to keep them: of the two opposite flags the last one holds.
    fn has_frame_pointers(&self) -> bool {
        let flags = self.config.get("PY_CORE_CFLAGS").or_else(|| self.config.get("PY_CFLAGS"));
        let mut words = flags.map_or("", String::as_str).split_ascii_whitespace();
        words.rfind(|word| word.ends_with("omit-frame-pointer")) == Some("-fno-omit-frame-pointer")
    }
}

/// `variable`: of the environment in which the interpreter will run. It was asked without one (`-E`).
fn built(found: &mut Facts, answer: &Answer, owner: &Owner, variable: &dyn Fn(&str) -> Option<String>) {
    let flags = answer.flags();
    let has = |signs: &[&str]| signs.iter().any(|sign| flags.contains(sign));
    // Debian's sysconfig describes its shared library's build, and its executable is another one.
    let tells = !matches!(owner, Owner::Dpkg(_)) && answer.config.contains_key("CONFIG_ARGS");
    let untold = "its sysconfig does not tell: it may describe another build of the same package";
    let why = "a build that was trained with its own profile runs the same program in less time";
    match answer.is_configured("enable-optimizations") || has(&["-fprofile-use", "-fprofile-instr-use"]) {
        true => found.ok("PGO", "yes", why),
        false if tells => found.slow("PGO", "no", why, optimized(answer, owner)),
        false => found.unknown("PGO", untold, why),
    }
    let why = "the compiler saw the whole interpreter at once";
    match answer.is_configured("with-lto") || has(&["-flto"]) {
        true => found.ok("LTO", "yes", why),
        false if tells => found.fact("LTO", "no", why),
        false => found.unknown("LTO", untold, why),
    }
    let pointers = if answer.has_frame_pointers() { "yes" } else { "not asked for" };
    found.fact("frame pointers", pointers, "perf needs them; genba unwinds by tables");
    // `interpreter` and `interpreter-off` are CPython's way to try the JIT's input without machine code.
    let is_jit_configured = matches!(answer.configured("enable-experimental-jit"), Some("yes" | "yes-off"));
    let chosen = variable("PYTHON_JIT").map(|value| !value.starts_with('0'));
    let jit = match (answer.jit.as_deref(), chosen) {
        (Some("on" | "off"), Some(true)) | (Some("on"), None) => "on",
        (Some("on" | "off"), _) => "built in, and off",
        (None, _) if is_jit_configured => "built in; this version does not tell whether it is on",
        _ => "not built in",
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

/// Without a word of the environment.
fn default_allocator(answer: &Answer) -> &'static str {
    match answer.config.get("WITH_PYMALLOC").map(String::as_str) {
        _ if answer.is_set("Py_GIL_DISABLED") => "mimalloc, as in each free-threaded build",
        Some("1") => "pymalloc",
        Some("0") => "libc's malloc for all objects: it was built without pymalloc",
        _ => ITS_OWN,
    }
}

/// What the environment chooses, else `default`.
fn allocator(found: &mut Facts, variable: &dyn Fn(&str) -> Option<String>, default: &str) {
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
        None => found.ok("allocator", default, why),
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
    use super::{Answer, Fact, Facts, ITS_OWN, Owner, allocator, bolt, built, default_allocator};
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
        with_variable(answer, owner, name, "", "")
    }

    fn with_variable(answer: &Answer, owner: &Owner, name: &str, variable: &str, value: &str) -> Fact {
        let mut found = Facts::of("");
        built(&mut found, answer, owner, &|asked| (asked == variable).then(|| value.to_owned()));
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
        for (arguments, flags, lto) in [
            ("'--with-lto'", "", "yes"),
            ("'--with-lto=thin'", "", "yes"),
            ("", "-O3 -flto -g", "yes"),
            ("'--with-lto=no'", "", "no"),
            ("'--without-lto'", "", "no"),
            ("'--with-lto=full' '--without-lto'", "", "no"),
            ("", "-O3", "no"),
        ] {
            assert_eq!(one(&answer(arguments, flags), &Owner::Pyenv, "LTO").value, lto, "{arguments} {flags}");
        }
        for arguments in ["'--enable-optimizations=no'", "'--enable-optimizations' '--disable-optimizations'"] {
            assert_eq!(one(&answer(arguments, ""), &Owner::Pyenv, "PGO").standing, Standing::Slow, "{arguments}");
        }
    }

    #[test]
    fn of_two_flags_for_frame_pointers_the_last_one_holds() {
        for (flags, value) in [
            ("-O3 -Wall", "not asked for"),
            ("-O3 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer", "yes"),
            ("-fno-omit-frame-pointer -fomit-frame-pointer", "not asked for"),
            ("-fomit-frame-pointer -O2 -fno-omit-frame-pointer", "yes"),
            ("-mno-omit-leaf-frame-pointer", "not asked for"),
        ] {
            assert_eq!(one(&answer("", flags), &Owner::Pyenv, "frame pointers").value, value, "{flags}");
        }
        let mut older = answer("", "");
        older.config.remove("PY_CORE_CFLAGS");
        older.config.insert("PY_CFLAGS".to_owned(), "-fno-omit-frame-pointer".to_owned());
        assert_eq!(one(&older, &Owner::Pyenv, "frame pointers").value, "yes");
    }

    #[test]
    fn a_jit_is_told_by_the_interpreter_or_by_its_configuration() {
        let told = |jit: &str, arguments: &str, variable: &str| {
            let answer = Answer { jit: (!jit.is_empty()).then(|| jit.to_owned()), ..answer(arguments, "") };
            let name = if variable.is_empty() { "" } else { "PYTHON_JIT" };
            with_variable(&answer, &Owner::Pyenv, "JIT", name, variable).value
        };
        let (on, off, absent) = ("on", "built in, and off", "not built in");
        for (jit, variable, value) in [
            ("on", "", on),
            ("off", "", off),
            ("absent", "", absent),
            // It was asked with -E.
            ("off", "1", on),
            ("on", "0", off),
            ("absent", "1", absent),
        ] {
            assert_eq!(told(jit, "'--enable-experimental-jit'", variable), value, "{jit} {variable}");
        }
        // CPython 3.13 has no sys._jit.
        let untold = "built in; this version does not tell whether it is on";
        for (arguments, value) in [
            ("'--enable-experimental-jit'", untold),
            ("'--enable-experimental-jit=yes-off'", untold),
            ("'--enable-experimental-jit=interpreter'", absent),
            ("'--enable-experimental-jit=no'", absent),
            ("'--disable-experimental-jit'", absent),
            ("'--enable-shared'", absent),
        ] {
            assert_eq!(told("", arguments, "1"), value, "{arguments}");
        }
    }

    #[test]
    fn debug_and_free_threaded_builds_are_named() {
        let with = |name: &str, value: &str| {
            let mut answer = answer("'--enable-optimizations'", "");
            answer.config.insert(name.to_owned(), value.to_owned());
            answer
        };
        for name in ["Py_DEBUG", "Py_TRACE_REFS"] {
            let fact = one(&with(name, "1"), &Owner::Pyenv, "debug build");
            assert_eq!((fact.standing, fact.value.as_str()), (Standing::Slow, "yes"), "{name}");
            assert_eq!(fact.remedy.as_deref(), Some("a release build of the same version"));
            assert_eq!(one(&with(name, "0"), &Owner::Pyenv, "debug build").standing, Standing::Ok, "{name}");
        }
        // Debian's sysconfig is right here: each of its builds has one of its own.
        let debian = Owner::Dpkg("python3.13-dbg".to_owned());
        assert_eq!(one(&with("Py_DEBUG", "1"), &debian, "debug build").standing, Standing::Slow);
        let free = one(&with("Py_GIL_DISABLED", "1"), &Owner::Pyenv, "threads");
        assert_eq!((free.standing, free.value.as_str()), (Standing::Fact, "free-threaded"));
        for answer in [with("Py_GIL_DISABLED", "0"), answer("", "")] {
            let one_lock = one(&answer, &Owner::Pyenv, "threads");
            assert_eq!((one_lock.standing, one_lock.value.as_str()), (Standing::Ok, "one GIL an interpreter"));
        }
    }

    #[test]
    fn bolt_is_said_where_it_is_known() {
        let told = |is_bolted| {
            let mut found = Facts::of("");
            bolt(&mut found, is_bolted);
            let fact = found.rows.remove(0);
            (fact.standing, fact.value)
        };
        assert_eq!(told(Some(true)), (Standing::Fact, "yes".to_owned()));
        assert_eq!(told(Some(false)), (Standing::Fact, "no".to_owned()));
        assert_eq!(told(None).0, Standing::Unknown);
        assert!(answer("'--enable-bolt'", "").is_configured("enable-bolt"));
        assert!(!answer("'--enable-bolt=no'", "").is_configured("enable-bolt"));
    }

    #[test]
    fn an_allocator_that_checks_is_slow() {
        let chosen = |value: &'static str| {
            let mut found = Facts::of("");
            let variable = |name: &str| (name == "PYTHONMALLOC" && !value.is_empty()).then(|| value.to_owned());
            allocator(&mut found, &variable, ITS_OWN);
            found.rows.remove(0).standing
        };
        assert_eq!((chosen("debug"), chosen("malloc"), chosen("")), (Standing::Slow, Standing::Fact, Standing::Ok));
        let default = |config: &[(&str, &str)]| {
            let config = config.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            default_allocator(&Answer { config, ..Answer::default() })
        };
        assert_eq!(default(&[("WITH_PYMALLOC", "1"), ("Py_GIL_DISABLED", "0")]), "pymalloc");
        assert!(default(&[("WITH_PYMALLOC", "1"), ("Py_GIL_DISABLED", "1")]).starts_with("mimalloc"));
        assert!(default(&[("WITH_PYMALLOC", "0")]).starts_with("libc's malloc"));
        assert_eq!(default(&[]), ITS_OWN);
    }
}
