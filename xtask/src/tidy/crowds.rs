//! Folders in which too many files lie side by side: a reader finds no room for a change there.
//! Owns: how many are too many. Never: counts tests, or what lies in folders below.

use std::collections::BTreeMap;

use crate::sources::SourceFile;
use crate::violation::Violation;

const FILES_MAX: usize = 12;
const REASON: &str = "Over twelve files:";
const CODE: &[&str] = &["rs", "ts", "tsx", "py"];

pub fn check(files: &[SourceFile], violations: &mut Vec<Violation>) {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| CODE.contains(&file.extension()) && !is_test(file)) {
        if let Some((folder, _)) = file.path.rsplit_once('/') {
            *folders.entry(folder).or_default() += 1;
        }
    }
    for (folder, count) in folders {
        let speaks_for_it = [
            format!("{folder}.rs"),
            format!("{folder}/lib.rs"),
            format!("{folder}/main.rs"),
            format!("{folder}/__init__.py"),
            format!("{folder}/README.md"),
        ];
        let has_reason = |file: &SourceFile| speaks_for_it.contains(&file.path) && file.text.contains(REASON);
        if count > FILES_MAX && !files.iter().any(has_reason) {
            violations.push(Violation::new(
                folder,
                format!("{count} files side by side"),
                format!("sort them into folders by subject, or say why in the module's own file or a README.md: `{REASON} …`"),
            ));
        }
    }
}

fn is_test(file: &SourceFile) -> bool {
    file.path.split('/').any(|part| part == "tests" || part == "fixtures")
        || file.stem().starts_with("test_")
        || file.stem().ends_with("_test")
        || file.path.contains(".test.")
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::sources::SourceFile;

    fn crowd(folder: &str, count: usize, others: &[(&str, &str)]) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let mut files: Vec<SourceFile> = (0..count).map(|n| file(&format!("{folder}/part_{n}.rs"), "")).collect();
        files.extend(others.iter().map(|(path, text)| file(path, text)));
        let mut violations = Vec::new();
        check(&files, &mut violations);
        violations.into_iter().map(|violation| format!("{}: {}", violation.place, violation.found)).collect()
    }

    #[test]
    fn thirteen_files_need_a_reason() {
        let none: [&str; 0] = [];
        assert_eq!(crowd("crates/a/src", 12, &[]), none);
        assert_eq!(crowd("crates/a/src", 13, &[]), ["crates/a/src: 13 files side by side"]);
        assert_eq!(crowd("crates/a/src", 12, &[("crates/a/src/lib.rs", "")]), ["crates/a/src: 13 files side by side"]);
        assert_eq!(crowd("crates/a/src", 12, &[("crates/a/src/lib.rs", "//! Over twelve files: one a verb.")]), none);
        assert_eq!(crowd("crates/a/src/b", 13, &[("crates/a/src/b.rs", "//! Over twelve files: one a verb.")]), none);
        assert_eq!(crowd("crates/a/tests", 30, &[]), none);
    }
}
