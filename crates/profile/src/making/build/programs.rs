//! Which program a process runs, for code without a file: `<stdin>` of two programs are two texts, and of two workers of one program one.
//! Owns: what of a command line is the program, and which processes are workers of their parent's. Never: tells programs apart by the
//! arguments that a script gets, or by the descriptors and names that a worker is told.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::tables::profile::{Process, ProcessIndex};
use crate::tables::table::{Table, TableIndex};

/// Equal for the processes of one program.
pub fn program_of(process: ProcessIndex, processes: &Table<ProcessIndex, Process>) -> u64 {
    let mut index = process;
    loop {
        let row = &processes[index];
        let is_of_parent = row.is_forked || program(&row.argv).is_worker();
        match row.parent.filter(|parent| is_of_parent && parent.position() < index.position()) {
            Some(parent) => index = parent,
            None => return program(&row.argv).hash_value(),
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Program<'a> {
    /// What follows `-m`.
    Module(&'a str),
    /// A path.
    Script(&'a str),
    /// Of `-c`; nothing tells more of it than its command line.
    Text { text: &'a str, argv: &'a [String] },
    /// From stdin, a prompt, or no command line of Python's.
    Other(&'a [String]),
}

fn program(argv: &[String]) -> Program<'_> {
    let is_python = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with("python"));
    let Some((first, words)) = argv.split_first() else { return Program::Other(argv) };
    if !is_python(first) {
        return Program::Other(argv);
    }
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return if word == "-" { Program::Other(argv) } else { Program::Script(word) };
        };
        if letters.starts_with('-') {
            if letters == "-check-hash-based-pycs" {
                words.next();
            }
            continue;
        }
        // Letters in one word, of which the last may have a value, behind it or as the next word.
        let Some(at) = letters.find(['c', 'm', 'X', 'W']) else { continue };
        let behind = &letters[at + 1..];
        let value = if behind.is_empty() { words.next().unwrap_or_default() } else { behind };
        match &letters[at..=at] {
            "c" => return Program::Text { text: value, argv },
            "m" => return Program::Module(value),
            _ => {}
        }
    }
    Program::Other(argv)
}

impl Program<'_> {
    /// Started by multiprocessing or loky, joblib's part for that, to run functions of their parent's program.
    fn is_worker(&self) -> bool {
        let is_of = |module: &str| {
            let mut parts = module.split('.');
            parts.next() == Some("multiprocessing") || module.starts_with("loky.") || module.contains(".loky.")
        };
        match self {
            Program::Module(module) => is_of(module),
            Program::Text { text, .. } => {
                text.strip_prefix("from ").and_then(|rest| rest.split(' ').next()).is_some_and(is_of)
            }
            Program::Script(_) | Program::Other(_) => false,
        }
    }

    fn hash_value(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self {
            // Its parent is not in the recording.
            Program::Text { text, .. } if self.is_worker() => {
                text.replace(|letter: char| letter.is_ascii_digit(), "").hash(&mut hasher)
            }
            program => program.hash(&mut hasher),
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Process, Table, program, program_of};

    fn argv(line: &str) -> Vec<String> {
        line.split_whitespace().map(|word| word.replace('+', " ")).collect()
    }

    fn are_one(one: &str, other: &str) -> bool {
        let of = |line: &str| program(&argv(line)).hash_value();
        of(one) == of(other)
    }

    #[test]
    fn arguments_make_no_other_program() {
        assert!(are_one("python3 worker.py --id 1", "/usr/bin/python3.13 -B worker.py --id 2"));
        assert!(are_one("python -X dev -Wignore -m tool.worker 1", "python -Im tool.worker 2"));
        assert!(!are_one("python a.py", "python b.py"));
        assert!(!are_one("python -m a", "python a"));
        assert!(!are_one("python -c a", "python -c b"));
        assert!(!are_one("python -c a 1", "python -c a 2"), "what it does is in one of the two");
        assert!(!are_one("python -", "python - 1"));
        assert!(!are_one("uwsgi --http 1", "uwsgi --http 2"), "nobody knows its options");
    }

    #[test]
    fn a_worker_runs_the_program_of_its_parent() {
        let mut processes = Table::default();
        let mut add = |line: &str, parent: Option<_>, is_forked: bool| {
            processes.push(Process { argv: argv(line), parent, is_forked, ..Process::default() })
        };
        let root = add("python app.py 8", None, false);
        let spawn =
            "python -c from+multiprocessing.spawn+import+spawn_main;+spawn_main(pipe_handle=15) --multiprocessing-fork";
        let loky = "python -m joblib.externals.loky.backend.popen_loky_posix --process-name LokyProcess-3 --pipe 16";
        let workers = [add(spawn, Some(root), false), add(loky, Some(root), false)];
        let renamed = add("gunicorn:+worker", Some(root), true);
        let server = add("python -c from+multiprocessing.forkserver+import+main;+main(4)", Some(root), false);
        let of_server = add("python -c from+multiprocessing.forkserver+import+main;+main(4)", Some(server), true);
        let other = add("python tool.py", Some(root), false);
        let of_nobody = [add(spawn, None, false), add(&spawn.replace("15", "17"), None, false)];
        let of = |index| program_of(index, &processes);
        assert_eq!(workers.map(of), [of(root); 2]);
        assert_eq!([renamed, of_server].map(of), [of(root); 2]);
        assert_ne!(of(other), of(root));
        assert_eq!(of(of_nobody[0]), of(of_nobody[1]));
    }
}
