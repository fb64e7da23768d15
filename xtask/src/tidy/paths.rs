//! Paths in comments: a file of ours that a comment names is there.
//! Owns: which words are such paths. Never: judges a path in code or in a document (links of documents have their own test), or one of
//! another project, whose sources comments cite (`Objects/call.c`).

use std::collections::HashSet;

use crate::sources::SourceFile;
use crate::violation::Violation;

/// Names with these endings are ours wherever they appear: no other project's source that comments cite has them.
const OURS: &[&str] = &[".rs", ".ts", ".tsx", ".mjs"];
const TEXTS: &[&str] =
    &[".rs", ".ts", ".tsx", ".mjs", ".py", ".md", ".c", ".h", ".sh", ".mk", ".css", ".toml", ".proto"];
const COMMENTS: &[(&str, &[&str])] =
    &[("//", &["rs", "ts", "tsx", "mjs", "c", "h"]), ("#", &["py", "sh", "mk", "toml"]), ("*", &["c", "h", "css"])];

pub fn check(files: &[SourceFile], violations: &mut Vec<Violation>) {
    let paths: HashSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let folders: HashSet<&str> = paths.iter().filter_map(|path| path.split_once('/')).map(|(top, _)| top).collect();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            let Some(comment) = comment_of(file, line) else { continue };
            for word in words(comment) {
                let is_ours = OURS.iter().any(|ending| word.ends_with(ending));
                let is_whole = word.split_once('/').is_some_and(|(top, _)| folders.contains(top));
                let is_there = paths.contains(word) || is_ours && ends_a_path(&paths, word) || !is_ours && !is_whole;
                if !is_there {
                    violations.push(Violation::new(
                        format!("{}:{}", file.path, index + 1),
                        format!("`{word}`, which is not there"),
                        "name the file as it is called now",
                    ));
                }
            }
        }
    }
}

/// The text of a line that is nothing but a comment.
fn comment_of<'l>(file: &SourceFile, line: &'l str) -> Option<&'l str> {
    let line = line.trim_start();
    let mut signs = COMMENTS.iter().filter(|(_, endings)| endings.contains(&file.extension()));
    signs.find_map(|(sign, _)| line.strip_prefix(sign))
}

/// Words that look like a path of a text file; patterns and placeholders (`src/*.rs`, `NAME.rs`) are none.
fn words(comment: &str) -> impl Iterator<Item = &str> {
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || "_-./*<>{}…".contains(sign);
    let words = comment.split(move |sign| !is_part(sign)).map(|word| word.trim_matches('.'));
    words.filter(|word| {
        let stem = TEXTS.iter().find_map(|ending| word.strip_suffix(ending));
        stem.is_some_and(|stem| !stem.is_empty() && stem.chars().any(char::is_lowercase))
            && !word.contains(['*', '<', '>', '{', '}', '…'])
    })
}

fn ends_a_path(paths: &HashSet<&str>, word: &str) -> bool {
    paths.iter().any(|path| path.strip_suffix(word).is_some_and(|above| above.is_empty() || above.ends_with('/')))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::sources::SourceFile;

    fn found(comment: &str) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile { path: path.into(), text: text.into() };
        let files =
            [file("crates/a/src/lib.rs", comment), file("crates/a/src/part/bells.rs", ""), file("docs/a.md", "")];
        let mut violations = Vec::new();
        check(&files, &mut violations);
        violations.iter().map(|violation| violation.found.clone()).collect()
    }

    #[test]
    fn a_file_that_a_comment_names_is_there() {
        assert_eq!(found("//! Partners: bells.rs, part/bells.rs (docs/a.md)."), Vec::<String>::new());
        assert_eq!(found("// See bell.rs."), ["`bell.rs`, which is not there"]);
        assert_eq!(found("    // part/lib.rs"), ["`part/lib.rs`, which is not there"]);
        assert_eq!(
            found("/// docs/b.md, crates/a/src/bells.rs, src/part/bells.rs"),
            ["`docs/b.md`, which is not there", "`crates/a/src/bells.rs`, which is not there",]
        );
    }

    #[test]
    fn what_is_no_file_of_ours_is_not_judged() {
        for comment in
            ["// Objects/call.c, app.py:3", "// crates/*/src/lib.rs, `NAME.rs`", "let part = \"bell.rs\";", "// .rs"]
        {
            assert_eq!(found(comment), Vec::<String>::new(), "{comment}");
        }
    }
}
