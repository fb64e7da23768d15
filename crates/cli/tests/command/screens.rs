//! The reading verbs on every kind of screen: terminals of 80, 120 and 160 columns, a pipe, Markdown, colour. One file of snapshots a form.
//! Owns: what holds for all of them: nothing is wider than the terminal, a pipe gets lines as long as they are, colour changes no word.
//! The recordings are testdata/screens, in the tests' notation.

use crate::notation;
use crate::sandbox::Sandbox;
use expect_test::expect_file;
use unicode_width::UnicodeWidthStr;

const VIEWS: [&str; 6] = [
    "report shop.genba",
    "report server.genba",
    "report server.genba --by function",
    "tree shop.genba",
    "lines shop.genba",
    "check server.genba",
];

fn with_recordings(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.file("work/shop.genba", &notation::bytes(include_str!("../../../../testdata/screens/shop.txt")));
    sandbox.file("work/server.genba", &notation::bytes(include_str!("../../../../testdata/screens/server.txt")));
    sandbox
}

/// What each of the commands prints, with warnings below, as a terminal has it.
fn screens(sandbox: &Sandbox, views: &[&str], more: &str, columns: Option<usize>) -> String {
    let mut pages = String::new();
    for view in views {
        let line = format!("{view} {more}");
        let mut command = sandbox.genba(&line.split_whitespace().collect::<Vec<_>>());
        if let Some(columns) = columns {
            command.env("COLUMNS", columns.to_string());
        }
        let output = command.output().expect("genba starts");
        assert!(output.status.success(), "{line}");
        pages += &format!("$ genba {}\n", line.trim_end());
        for page in [output.stdout, output.stderr] {
            pages += &String::from_utf8(page).expect("UTF-8");
        }
        pages.push('\n');
    }
    pages
}

fn without_colour(page: &str) -> String {
    let mut plain = String::new();
    let mut pieces = page.split("\x1b[");
    plain += pieces.next().unwrap_or_default();
    for piece in pieces {
        plain += piece.split_once('m').expect("a colour").1;
    }
    plain
}

fn check_terminal(sandbox: &Sandbox, columns: usize) -> String {
    let page = screens(sandbox, &VIEWS, "", Some(columns));
    for line in page.lines() {
        assert!(line.width() <= columns, "{} cells of {columns}: {line}", line.width());
    }
    let coloured = screens(sandbox, &VIEWS[..5], "--color=always", Some(columns)).replace(" --color=always", "");
    // `genba check` has no colours.
    assert!(page.starts_with(&without_colour(&coloured)), "{coloured}");
    page
}

#[test]
fn terminals() {
    let sandbox = with_recordings("screens-terminals");
    expect_file!["screens/80-columns.txt"].assert_eq(&check_terminal(&sandbox, 80));
    expect_file!["screens/120-columns.txt"].assert_eq(&check_terminal(&sandbox, 120));
    expect_file!["screens/160-columns.txt"].assert_eq(&check_terminal(&sandbox, 160));
}

#[test]
fn a_pipe() {
    let sandbox = with_recordings("screens-pipe");
    expect_file!["screens/pipe.txt"].assert_eq(&screens(&sandbox, &VIEWS, "", None));
}

/// ESC is written `␛`.
#[test]
fn colour() {
    let sandbox = with_recordings("screens-colour");
    let page = screens(&sandbox, &VIEWS[..5], "--color=always", Some(80));
    expect_file!["screens/colour.txt"].assert_eq(&page.replace('\x1b', "␛"));
}

#[test]
fn markdown() {
    let sandbox = with_recordings("screens-markdown");
    let views = ["report shop.genba", "report server.genba", "lines shop.genba"];
    let page = screens(&sandbox, &views, "--format=markdown", None);
    // Markdown is the same in a narrow terminal.
    assert_eq!(screens(&sandbox, &views, "--format=markdown", Some(80)), page);
    expect_file!["screens/markdown.txt"].assert_eq(&page);
}
