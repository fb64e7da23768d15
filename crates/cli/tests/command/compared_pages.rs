//! `genba html` of a comparison from outside: which recordings stand on which side, and what lies in the page.

use std::fs;
use std::io::Read;

use crate::notation;
use crate::sandbox::Sandbox;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use expect_test::expect;
use flate2::read::GzDecoder;
use serde_json::Value;

/// `parse` is called by two; `load` gives it `count` times as much to do.
fn recording(key: u8, count: u32) -> Vec<u8> {
    let mut text = format!(
        "process 7 3.13.0 cwd=/app key={key}
        source /app/app.py
        |def parse(row):
        |    return int(row, 10)
        |def load(): parse(1)
        |def check(): parse(2)
        thread 7 main
        "
    );
    for _ in 0..30 {
        text += &format!("load^3@app.py:3[12-20] > parse@app.py:2[11-23] > long_new[python3.13] x{}\n", 4 * count);
        text += "check^4@app.py:4[13-21] > parse@app.py:2[11-23] > long_new[python3.13] x7\n";
    }
    notation::bytes(&text)
}

fn with_recordings(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    for (file, key, count) in [("a1", 1, 2), ("a2", 2, 2), ("b1", 3, 3), ("b2", 4, 3)] {
        sandbox.file(&format!("work/{file}.genba"), &recording(key, count));
    }
    sandbox
}

/// What lies in a page.
fn numbers(sandbox: &Sandbox, page: &str) -> Value {
    let page = fs::read_to_string(sandbox.path("work").join(page)).expect("a page");
    let packed = page.split("data-numbers=\"gzip+base64\">").nth(1).and_then(|rest| rest.split('<').next());
    let bytes = STANDARD.decode(packed.expect("numbers")).expect("base64");
    let mut text = String::new();
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).expect("gzip");
    serde_json::from_str(&text).expect("JSON")
}

/// Without the page's size.
fn shown(sandbox: &Sandbox, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let shown = sandbox.shown(&sandbox.genba(&words).output().expect("genba starts"));
    let without_size = |line: &str| match (line.find(" ("), line.find("): open")) {
        (Some(from), Some(to)) => format!("{}{}", &line[..from], &line[to + 1..]),
        _ => line.to_owned(),
    };
    shown.lines().map(|line| without_size(line) + "\n").collect()
}

#[test]
fn two_recordings_are_compared_and_each_is_there() {
    let sandbox = with_recordings("html-two");
    expect![[r#"
        exit code 0
        stdout
        stderr
          wrote b1.diff.html: open it in a browser
          B takes 26.7 % longer than A: +192 ms ± 158 ms of CPU a run, most of it in app.py:2 parse ← app.py:3 load
          A: ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
          B: ticks 570 = sampled 570 + dropped 0 + refused 0 · CPU covered 100.0 %
    "#]]
    .assert_eq(&shown(&sandbox, "html a1.genba b1.genba"));
    let page = numbers(&sandbox, "b1.diff.html");
    assert_eq!(page["before"]["profile"]["meta"]["recording"], "a1.genba");
    assert_eq!(page["after"]["profile"]["accounting"]["sampled"], 570);
    let diff = sandbox.genba(&["diff", "a1.genba", "b1.genba"]).output().expect("genba starts");
    let terminal = String::from_utf8(diff.stdout).expect("text");
    let comparison = &page["comparison"];
    for words in [&comparison["verdict"], &comparison["counts"], &comparison["rows"][0]["interval"]] {
        let words = words.as_str().expect("words");
        assert!(terminal.contains(words), "`{words}` is not in\n{terminal}");
    }
    let accounts = comparison["accounts"].as_array().expect("accounts");
    assert!(accounts.iter().all(|line| terminal.contains(line.as_str().expect("words").trim())), "{accounts:?}");
}

#[test]
fn the_weight_is_that_of_diff() {
    let sandbox = with_recordings("html-weight");
    let said = shown(&sandbox, "html --weight samples -o samples.html a1.genba b1.genba");
    assert!(said.contains("B has 26.7 % more samples than A"), "{said}");
    let comparison = &numbers(&sandbox, "samples.html")["comparison"];
    assert_eq!(comparison["rows"][0]["before"], "240");
    assert_eq!(comparison["accounts"].as_array().and_then(|lines| lines.last()), Some(&Value::from("weight: samples")));
}

#[test]
fn several_on_each_side_or_as_one() {
    let sandbox = with_recordings("html-several");
    expect![[r#"
        exit code 0
        stdout
        stderr
          wrote b1.diff.html: open it in a browser
          B takes 26.7 % longer than A: +192 ms ± 112 ms of CPU a run, most of it in app.py:2 parse ← app.py:3 load
          A: ticks 900 = sampled 900 + dropped 0 + refused 0 · CPU covered 100.0 %
          B: ticks 1,140 = sampled 1,140 + dropped 0 + refused 0 · CPU covered 100.0 %
    "#]]
    .assert_eq(&shown(&sandbox, "html a1.genba a2.genba -- b1.genba b2.genba"));
    assert_eq!(numbers(&sandbox, "b1.diff.html")["before"]["profile"]["meta"]["recording"], "a1.genba, a2.genba");
    sandbox.check(
        "html a1.genba a2.genba b1.genba",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: 3 recordings, and nothing says which are on which side
              hint: genba html before-1.genba before-2.genba -- after-1.genba after-2.genba
              hint: --as-one reads them as one recording
        "#]],
    );
    expect![[r#"
        exit code 0
        stdout
        stderr
          wrote a1.html: open it in a browser
          ticks 900 = sampled 900 + dropped 0 + refused 0 · CPU covered 100.0 %
    "#]]
    .assert_eq(&shown(&sandbox, "html --as-one a1.genba a2.genba"));
    assert_eq!(numbers(&sandbox, "a1.html")["profile"]["accounting"]["sampled"], 900);
    sandbox.check(
        "html -- b1.genba",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: no recording is named before `--`
              hint: genba html before-1.genba before-2.genba -- after-1.genba after-2.genba
        "#]],
    );
}

#[test]
fn stacks_without_times_are_not_compared() {
    let sandbox = with_recordings("html-timeless");
    sandbox.file("work/stacks.txt", b"main;load 10\nmain;save 4\n");
    sandbox.check(
        "html a1.genba stacks.txt",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: stacks.txt cannot be compared
                collapsed stacks tell no times, and how certain a change is follows from the times of the samples
              hint: record with genba run, or compare the files' reports
        "#]],
    );
    sandbox.check(
        "html a1.genba missing.genba",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot open missing.genba: there is no such file
              hint: the newest recording here is b2.genba
        "#]],
    );
}

#[test]
fn two_times_of_one_recording_are_two_sides() {
    let sandbox = with_recordings("html-times");
    let said = shown(&sandbox, "html --before-time ..300ms --after-time 300ms..600ms a1.genba -o two.html");
    assert!(said.contains("no difference that these recordings can tell"), "{said}");
    let page = numbers(&sandbox, "two.html");
    let name = |side: &str| page["comparison"][side].to_string();
    assert_eq!(name("before"), r#""a1.genba --time ..300ms""#);
    assert_eq!(name("after"), r#""a1.genba --time 300ms..600ms""#);
    let kept = |side: &str| page[side]["profile"]["filters"]["flags"].to_string();
    assert_eq!(kept("before"), r#"["--time ..300ms"]"#);
    assert_eq!(kept("after"), r#"["--time 300ms..600ms"]"#);
}
