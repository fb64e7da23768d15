//! A comparison as the viewer's page gets it: the terminal's words, and the call trees as one.

use crate::compared;
use crate::compared::{runs, two_callers};
use genba_profile::difference_view::{Comparison, Run, comparison, page};
use serde_json::Value;

fn page_of(comparison: &Comparison) -> Value {
    serde_json::from_str(&page::json(comparison, &comparison.warnings()).expect("JSON")).expect("JSON")
}

/// Each box with the way to it: `foo > sum12 +800 ms certain`.
fn told(page: &Value) -> Vec<String> {
    let boxes = page["boxes"].as_array().expect("boxes");
    let mut paths: Vec<String> = Vec::new();
    let mut lines = Vec::new();
    for of in boxes {
        let name = of["name"].as_str().expect("a name").to_string();
        let path = of["parent"].as_u64().map_or(name.clone(), |parent| format!("{} > {name}", paths[parent as usize]));
        let remark = of["remark"].as_str().expect("a remark");
        lines.push(format!("{path} {} {remark}", of["change"].as_str().expect("words")).trim_end().to_string());
        paths.push(path);
    }
    lines
}

fn compared(before: &[Run], after: &[Run]) -> Value {
    page_of(&comparison(before, after, None))
}

#[test]
fn a_change_is_in_the_boxes_under_its_caller_only() {
    // The argument of the call in `foo` was changed, and a line was added above.
    let (before, after) = (
        runs("before", &[two_callers(1, "/app", 1, (1, 10), (3, 1), "100")]),
        runs("after", &[two_callers(2, "/new", 2, (1, 20), (3, 1), "200")]),
    );
    let page = compared(&before, &after);
    let boxes = told(&page);
    let whole = "everything > <module>";
    let has = |line: String| assert!(boxes.contains(&line), "{line} in\n{}", boxes.join("\n"));
    has("everything +800 ms".to_string());
    has(format!("{whole} > foo > sum12 > sum(range(m)) > sum +800 ms"));
    has(format!("{whole} > foo > sum12 > sum(range(n)) 0 ns cannot tell"));
    has(format!("{whole} > bar 0 ns cannot tell"));
    has(format!("{whole} > bar > sum12 > sum(range(m)) > sum 0 ns cannot tell"));
    assert_eq!(page["verdict"], comparison(&before, &after, None).verdict());
    let row = &page["rows"][0];
    assert_eq!((&row["change"], &row["interval"]), (&"+800 ms".into(), &"+521 ms to +1.08 s".into()));
    // A parent is never narrower than its children.
    let boxes = page["boxes"].as_array().expect("boxes");
    for (at, of) in boxes.iter().enumerate() {
        let below = boxes.iter().filter(|other| other["parent"] == at);
        assert!(
            below.map(|of| of["width"].as_u64().expect("a width")).sum::<u64>()
                <= of["width"].as_u64().expect("a width")
        );
    }
}

#[test]
fn equal_programs_have_no_certain_box() {
    let (before, after) = (
        runs("before", &[two_callers(1, "/app", 1, (1, 10), (3, 1), "100")]),
        runs("after", &[two_callers(2, "/app", 1, (1, 10), (3, 1), "100")]),
    );
    let page = compared(&before, &after);
    assert!(page["boxes"].as_array().expect("boxes").iter().all(|of| of["certain"] == false), "{:?}", told(&page));
    assert!(page["boxes"].as_array().expect("boxes").len() > 8);
}

/// Each box hands its sums to its caller's. Where each looked through all samples, two such recordings took many seconds.
#[test]
fn recursion_that_is_900_deep_is_compared() {
    const DEPTH: usize = 900;
    let of = |key: u32| {
        let mut text = format!("process 7 3.13.0 cwd=/app key={key}\n");
        for turn in 0..60 {
            text += &format!("{} x9\n", vec!["f@app.py:1"; DEPTH - turn % 10].join(" > "));
        }
        text
    };
    let page = compared(&runs("before", &[of(1)]), &runs("after", &[of(2)]));
    let boxes = page["boxes"].as_array().expect("boxes");
    assert_eq!(boxes.iter().filter(|of| of["name"] == "f").count(), DEPTH);
    assert!(boxes.iter().all(|of| of["certain"] == false && of["change_value"] == 0));
}

#[test]
fn what_only_one_side_has_says_so() {
    let (before, after) = (
        runs("before", &[two_callers(1, "/app", 1, (5, 5), (5, 0), "100")]),
        runs("after", &[two_callers(2, "/app", 1, (5, 0), (5, 5), "100")]),
    );
    let boxes = told(&compared(&before, &after));
    assert!(
        boxes.contains(&"everything > <module> > foo > sum12 > sum(range(m)) −400 ms only in A".to_string()),
        "{boxes:#?}"
    );
    assert!(
        boxes.contains(&"everything > <module> > bar > sum12 > sum(range(m)) +400 ms only in B".to_string()),
        "{boxes:#?}"
    );
}

/// Two expressions of one line, functions of two files of one base name, and two functions of one name.
#[test]
fn no_two_boxes_under_one_caller_have_the_same_words() {
    let of = |key: u32| {
        format!(
            "process 7 3.13.0 cwd=/app key={key}
            source /app/app.py
            |def main(data):
            |    (step(data), step(data))
            main^1@app.py:2[5-15] > step[python3.13] x300
            main^1@app.py:2[17-27] > step[python3.13] x300
            main^1@app.py:2[5-15] > load^1@/app/a/util.py:2 x300
            main^1@app.py:2[5-15] > load^1@/app/b/util.py:2 x300
            main^1@app.py:2[5-15] > _^3@/app/cost.py:4 x300
            main^1@app.py:2[5-15] > _^7@/app/cost.py:8 x300
            "
        )
    };
    let page = compared(&runs("before", &[of(1)]), &runs("after", &[of(2)]));
    let boxes = page["boxes"].as_array().expect("boxes");
    let main = boxes.iter().position(|of| of["name"] == "main").expect("a box of main");
    let word = |of: &Value, key: &str| of[key].as_str().expect("words").to_string();
    let below = boxes.iter().filter(|of| of["parent"] == main);
    let mut words: Vec<String> = below.map(|of| format!("{} {}", word(of, "name"), word(of, "place"))).collect();
    words.sort();
    assert_eq!(
        words,
        [
            "_ cost.py:3",
            "_ cost.py:7",
            "load a/util.py",
            "load b/util.py",
            "step(data) app.py:2:18",
            "step(data) app.py:2:6"
        ]
    );
}

/// A file that was moved, and another one of its name that is far above what runs: rows and boxes have one answer to which is which.
#[test]
fn rows_and_boxes_are_of_the_same_files() {
    let between = (1..=9).map(|at| format!("c{at}@/app/mid.py:{at}")).collect::<Vec<_>>().join(" > ");
    let of = |key: u32, path: &str| {
        let head = format!("process 7 3.13.0 cwd=/app key={key}");
        format!("{head}\nmain@/app/main.py:2 > {between} > step@{path}:2 x900\n")
    };
    let after = of(2, "/v2/p/x.py") + &format!("far@/v2/q/x.py:2 > {between} > other@/app/mid.py:20 x900\n");
    let page = compared(&runs("before", &[of(1, "/v1/x.py")]), &runs("after", &[after]));
    let count = |list: &str, name: &str| {
        let all = page[list].as_array().expect("a list");
        let has_name = |one: &&Value| one["name"].as_str().expect("words").split_whitespace().any(|word| word == name);
        all.iter().filter(has_name).count()
    };
    assert_eq!((count("rows", "step"), count("boxes", "step")), (2, 2));
}

#[test]
fn too_few_samples_claim_nothing() {
    let few = |key, rounds| compared::rounds_of_two_callers(rounds, key, "/app", 1, (1, 10), (3, 1), "100");
    let page = compared(&runs("before", &[few(1, 2)]), &runs("after", &[few(2, 6)]));
    assert!(page["boxes"].as_array().expect("boxes").iter().all(|of| of["certain"] == false));
    assert!(page["verdict"].as_str().expect("words").starts_with("too few samples to tell"));
}

#[test]
fn what_c_functions_of_an_expression_take_from_each_other_is_not_claimed() {
    let of = |key: u32, (first, second): (u32, u32)| {
        let mut text = format!(
            "process 7 3.13.0 cwd=/app key={key}
            source /app/app.py
            |def load(): return sum(range(9))
            thread 7 main
            "
        );
        for _ in 0..50 {
            for (name, count) in [("allocate", first), ("release", second)] {
                let stack = "load^1@app.py:1[19-32] > sum[python3.13]";
                text += &format!("{stack} > {name}[python3.13] x{count}\n");
            }
        }
        text
    };
    let page = compared(&runs("before", &[of(1, (10, 5))]), &runs("after", &[of(2, (5, 10))]));
    let boxes = told(&page);
    let expression = "everything > load > sum(range(9)) > sum";
    assert!(boxes.contains(&format!("{expression} > allocate −400 ms cannot tell")), "{boxes:#?}");
    // The expression as a whole still tells.
    let boxes = told(&compared(&runs("before", &[of(1, (10, 5))]), &runs("after", &[of(2, (20, 10))])));
    assert!(boxes.contains(&format!("{expression} +1.20 s")), "{boxes:#?}");
}
