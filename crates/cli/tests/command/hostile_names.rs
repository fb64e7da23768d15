//! Names of a foreign file that would steer a terminal, end a line, turn the direction of writing or begin a table's cell or a script:
//! every view in every format shows them, and none of them does so.

use std::fs;

use crate::sandbox::Sandbox;
use serde_json::Value;

const HOSTILE: [&str; 9] = [
    "line\nfeed",
    "return\rback",
    "escape\x1b[31mred",
    "bell\x07",
    "csi\u{9b}31m",
    "turned\u{202e}gpj.exe",
    "separated\u{2028}1",
    "cell | next",
    "<script>alert(1)</script>",
];
const VIEWS: [&[&str]; 4] =
    [&["report"], &["tree"], &["lines", "--limit", "0"], &["diff", "--limit", "0", "faster.vmprof"]];

/// A log of vmprof in format 1: so many samples of each name, below `main`, in a file of that name.
fn log(samples: u32) -> Vec<u8> {
    let mut bytes: Vec<u8> = [0_u64, 3, 0, 1000, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(b"\x05\x00\x01\x07cpython");
    let mut name = |address: u64, name: String| {
        bytes.push(2);
        bytes.extend(address.to_le_bytes());
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name.as_bytes());
    };
    name(16, "py:main:1:/app/main.py".to_owned());
    for (address, hostile) in (32..).step_by(16).zip(HOSTILE) {
        name(address, format!("py:{hostile}:1:/app/{hostile}.py"));
    }
    for (address, _) in (32_u64..).step_by(16).zip(HOSTILE) {
        for _ in 0..samples {
            bytes.push(1);
            bytes.extend([1, 2, address, 16, 1].iter().flat_map(|word| word.to_le_bytes()));
        }
    }
    bytes.push(3);
    bytes
}

fn shown(sandbox: &Sandbox, view: &[&str], format: &[&str]) -> String {
    let words = [view, &["hostile.vmprof"], format].concat();
    let output = sandbox.genba(&words).env("COLUMNS", "300").output().expect("genba starts");
    assert!(output.status.success(), "{words:?}: {output:?}");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(steering(&said), [' '; 0], "{words:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

/// What must not come through. A view itself ends lines.
fn steering(page: &str) -> Vec<char> {
    let steers = |character: &char| {
        (character.is_control() && *character != '\n') || ['\u{202e}', '\u{2028}', '\u{2029}'].contains(character)
    };
    page.chars().filter(steers).collect()
}

/// Bars that begin a cell.
fn bars(line: &str) -> usize {
    line.replace("\\|", "").matches('|').count()
}

#[test]
fn no_view_lets_a_name_steer_what_shows_it() {
    let sandbox = Sandbox::new("hostile-names");
    sandbox.file("work/hostile.vmprof", &log(200));
    sandbox.file("work/faster.vmprof", &log(150));
    for view in VIEWS {
        for format in ["text", "markdown"] {
            let page = shown(&sandbox, view, &["--format", format]);
            assert_eq!(steering(&page), [' '; 0], "{view:?} {format}: {page}");
            // Each name is there, and in one piece.
            for (name, seen) in
                [("line\u{fffd}feed", "line"), ("escape\u{fffd}", "escape"), ("turned\u{fffd}", "turned")]
            {
                let lines: Vec<&str> = page.lines().filter(|line| line.contains(seen)).collect();
                assert!(!lines.is_empty(), "{view:?} {format} {name}: {page}");
                for line in lines.iter().filter(|line| line.contains("/app/") || line.contains(".py")) {
                    assert!(line.contains(name), "{view:?} {format} {name}: {line}");
                }
            }
            if format == "markdown" {
                let (mut cells, mut fenced) = (0, false);
                for line in page.lines() {
                    fenced ^= line.starts_with("```");
                    if fenced {
                        continue;
                    }
                    // A table has as many cells in each of its lines.
                    let is_row = line.starts_with('|');
                    assert!(!is_row || cells == 0 || bars(line) == cells, "{view:?}: {line}");
                    cells = if is_row { bars(line) } else { 0 };
                    let outside: String = line.split('`').step_by(2).collect();
                    assert!(!outside.replace("\\<", "").contains("<script"), "{view:?}: {line}");
                }
            }
        }
        let page: Value = serde_json::from_str(&shown(&sandbox, view, &["--format", "json"])).expect("JSON");
        if view[0] != "tree" {
            // What it is, character by character: JSON has its own escapes.
            let text = page.to_string();
            for name in HOSTILE {
                let name = Value::from(name).to_string();
                assert!(text.contains(name.trim_matches('"')), "{name}");
            }
        }
    }
    for by in ["line", "function", "module", "thread", "process"] {
        for format in ["text", "markdown"] {
            let page = shown(&sandbox, &["report", "--by", by], &["--limit", "0", "--format", format]);
            assert_eq!(steering(&page), [' '; 0], "--by {by} {format}: {page}");
        }
    }
    // A line a stack.
    let stacks = shown(&sandbox, &["export"], &["--to", "collapsed", "-o", "-"]);
    assert_eq!(steering(&stacks), [' '; 0], "{stacks}");
    assert_eq!(stacks.lines().filter(|line| line.ends_with(" 200")).count(), HOSTILE.len(), "{stacks}");
    assert_eq!(stacks.lines().count(), HOSTILE.len(), "{stacks}");
    for words in [&["html", "-o", "page.html"][..], &["html", "faster.vmprof", "-o", "page.html"]] {
        let _ = fs::remove_file(sandbox.path("work/page.html"));
        shown(&sandbox, words, &[]);
        let page = fs::read_to_string(sandbox.path("work/page.html")).expect("the page");
        assert!(!page.contains("alert(1)"), "{words:?}");
        let title = page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).expect("a title").0;
        assert_eq!(steering(title), [' '; 0]);
    }
}
