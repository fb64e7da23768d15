//! `genba html` of a recording with more calls than a page has room for: what is left out is counted, and `--all-samples` leaves nothing out.

use std::fmt::Write;
use std::fs;
use std::io::Read;

use crate::notation;
use crate::sandbox::Sandbox;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};

const RARE_CALLS: u32 = 20_500;

/// What the page holds, as text.
fn numbers(sandbox: &Sandbox, words: &[&str]) -> String {
    let _ = fs::remove_file(sandbox.path("work/page.html"));
    let output = sandbox.genba(words).output().expect("genba starts");
    assert!(output.status.success(), "{output:?}");
    let page = fs::read_to_string(sandbox.path("work/page.html")).expect("the page");
    let (_, numbers) = page.split_once("data-numbers").expect("numbers");
    let numbers = numbers.split_once('>').and_then(|(_, rest)| rest.split_once('<')).expect("numbers").0;
    let mut text = String::new();
    let bytes = STANDARD.decode(numbers.trim()).expect("base64");
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).expect("gzip");
    text
}

#[test]
fn rare_calls_are_counted_marks_unless_all_are_asked_for() {
    let sandbox = Sandbox::new("crowded");
    let mut program = "process 7 3.13.0 cwd=/app\nmain@a.py:1 > heavy@a.py:2 x9000\n".to_owned();
    for call in 0..RARE_CALLS {
        writeln!(program, "main@a.py:1 > f{call}@a.py:{} x1", call + 3).expect("text");
    }
    sandbox.file("work/app.genba", &notation::bytes(&program));
    let page = |words: &[&str]| -> Value { serde_json::from_str(&numbers(&sandbox, words)).expect("JSON") };
    let has_frame = |page: &Value, name: &str| {
        page["profile"]["frames"].as_array().expect("frames").iter().any(|frame| frame["name"] == name)
    };
    let pruned = page(&["html", "app.genba", "-o", "page.html"]);
    let time_ns = u64::from(RARE_CALLS) * 1_600_000;
    let rare =
        json!({ "calls": RARE_CALLS, "share": 0.0002, "samples": RARE_CALLS, "cpu_ns": time_ns, "wall_ns": time_ns });
    assert_eq!(pruned["rare"], rare);
    assert!(has_frame(&pruned, "rarer than 0.02 %") && has_frame(&pruned, "heavy") && !has_frame(&pruned, "f20499"));
    assert_eq!(pruned["reports"]["cpu"]["folded"]["rows"], RARE_CALLS);
    let later = pruned["profile"]["moments"]["bins_later"].as_array().expect("bins of time");
    let last: u64 = later.iter().filter_map(Value::as_u64).sum();
    assert!((1_000..2_000).contains(&last), "the last of 2,000 bins of time is number {last}");
    let whole = page(&["html", "--all-samples", "app.genba", "-o", "page.html"]);
    assert!(whole["rare"].is_null() && has_frame(&whole, "f20499") && !has_frame(&whole, "rarer than 0.02 %"));
    assert_eq!(whole["reports"]["cpu"]["folded"]["rows"], 0);
    // Both laws are of the whole recording on either page.
    assert_eq!(pruned["profile"]["accounting"], whole["profile"]["accounting"]);
}

#[test]
fn what_a_filter_takes_out_is_not_counted_as_left_out() {
    let sandbox = Sandbox::new("crowded-filtered");
    let mut program = "process 7 3.13.0 cwd=/app\nthread 7 main\nmain@a.py:1 > heavy@a.py:2 x9000\n".to_owned();
    for call in 0..RARE_CALLS {
        writeln!(program, "main@a.py:1 > f{call}@a.py:{} x1", call + 3).expect("text");
    }
    sandbox.file("work/app.genba", &notation::bytes(&program));
    let page = |words: &[&str]| -> Value { serde_json::from_str(&numbers(&sandbox, words)).expect("JSON") };
    // Two calls are kept: a page has room for them.
    let filtered = page(&["html", "--focus", "^heavy$", "app.genba", "-o", "page.html"]);
    assert!(filtered["rare"].is_null(), "{}", filtered["rare"]);
    assert_eq!(filtered["reports"]["cpu"]["folded"]["rows"], 0);
    // All but one are kept, and too many: those are counted.
    let hidden = page(&["html", "--focus", "^f", "app.genba", "-o", "page.html"]);
    assert_eq!(hidden["rare"]["calls"], RARE_CALLS);
}
