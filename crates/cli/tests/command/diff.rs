//! `genba diff` from outside: which recordings stand on which side, and what is refused.

use crate::notation;
use crate::sandbox::Sandbox;
use expect_test::expect;

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
    for (file, key, count) in [("a1", 1, 2), ("a2", 2, 2), ("a3", 3, 2), ("b1", 4, 3), ("b2", 5, 3), ("b3", 6, 3)] {
        sandbox.file(&format!("work/{file}.genba"), &recording(key, count));
    }
    sandbox
}

#[test]
fn two_recordings() {
    let sandbox = with_recordings("diff-two");
    sandbox.check("diff a1.genba b1.genba", expect![[r#"
        exit code 0
        stdout
          B takes 26.7 % longer than A: +192 ms ± 158 ms of CPU a run, most of it in app.py:2 parse ← app.py:3 load
          A: a1.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
          B: b1.genba · CPython 3.13.0 · 912 ms wall · 912 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 570 = sampled 570 + dropped 0 + refused 0 · CPU covered 100.0 %

          2 rows: 1 certain, 1 cannot tell
              B − A               interval        A        B
            +192 ms    +75.1 ms to +309 ms   384 ms   576 ms   app.py:2 parse ← app.py:3 load   int(row, 10)
               0 ns   −94.8 ms to +94.8 ms   336 ms   336 ms   app.py:2 parse ← app.py:4 check   int(row, 10)   cannot tell

          intervals: 98 % for all 3 sums together; so few recordings do not tell how much runs of one program differ: genba assumes 5.0 % (standard deviation)
          to tell a change of 5 % in app.py:2 parse ← app.py:3 load: at least 28 recordings of each, or 10 of runs 6 times as long, 5.47 s (genba diff A1 A2 … -- B1 B2 …)
        stderr
    "#]]);
    sandbox.check("diff a1.genba a2.genba --limit 1", expect![[r#"
        exit code 0
        stdout
          no difference that these recordings can tell: B − A is 0 ns ± 138 ms of CPU a run
          A: a1.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
          B: a2.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %

          2 rows: 0 certain, 2 cannot tell
            B − A               interval        A        B
             0 ns   −99.3 ms to +99.3 ms   384 ms   384 ms   app.py:2 parse ← app.py:3 load   int(row, 10)   cannot tell
            1 more row, the largest 0 ns ± 92.6 ms in app.py:2 parse ← app.py:4 check (--limit 0 shows them all)

          intervals: 98 % for all 3 sums together; so few recordings do not tell how much runs of one program differ: genba assumes 5.0 % (standard deviation)
          to tell a change of 5 % in app.py:2 parse ← app.py:3 load: at least 38 recordings of each, or 10 of runs 8 times as long, 5.76 s (genba diff A1 A2 … -- B1 B2 …)
        stderr
    "#]]);
}

#[test]
fn several_on_each_side() {
    let sandbox = with_recordings("diff-several");
    sandbox.check("diff a1.genba a2.genba a3.genba -- b1.genba b2.genba b3.genba", expect![[r#"
        exit code 0
        stdout
          B takes 26.7 % longer than A: +192 ms ± 4.90 ms of CPU a run, most of it in app.py:2 parse ← app.py:3 load
          A: a1.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms · ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
          A: a2.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms · ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
          A: a3.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms · ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
          B: b1.genba · CPython 3.13.0 · 912 ms wall · 912 ms CPU · 1 process, 1 thread · sampled every 1.6 ms · ticks 570 = sampled 570 + dropped 0 + refused 0 · CPU covered 100.0 %
          B: b2.genba · CPython 3.13.0 · 912 ms wall · 912 ms CPU · 1 process, 1 thread · sampled every 1.6 ms · ticks 570 = sampled 570 + dropped 0 + refused 0 · CPU covered 100.0 %
          B: b3.genba · CPython 3.13.0 · 912 ms wall · 912 ms CPU · 1 process, 1 thread · sampled every 1.6 ms · ticks 570 = sampled 570 + dropped 0 + refused 0 · CPU covered 100.0 %

          2 rows: 1 certain, 1 cannot tell
              B − A               interval        A        B
            +192 ms     +117 ms to +267 ms   384 ms   576 ms   app.py:2 parse ← app.py:3 load   int(row, 10)
               0 ns   −75.0 ms to +75.0 ms   336 ms   336 ms   app.py:2 parse ← app.py:4 check   int(row, 10)   cannot tell

          intervals: 98 % for all 3 sums together; runs of one side differ by 0.2 % (standard deviation), beside what their samples tell
          to tell a change of 5 % in app.py:2 parse ← app.py:3 load: 28 recordings of each, or 10 of runs 6 times as long, 5.47 s (genba diff A1 A2 … -- B1 B2 …)
        stderr
    "#]]);
    sandbox.check("diff --weight samples --format markdown --limit 1 a1.genba a2.genba -- b1.genba", expect![[r#"
        exit code 0
        stdout
          **B has 26.7 % more samples than A: +120 ± 89 samples a run, most of it in app.py:2 parse ← app.py:3 load**

          A: a1.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms · ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
          A: a2.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms · ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
          B: b1.genba · CPython 3.13.0 · 912 ms wall · 912 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
          ticks 570 = sampled 570 + dropped 0 + refused 0 · CPU covered 100.0 %
          weight: samples

          2 rows: 1 certain, 1 cannot tell

          | B − A | interval | A | B | where | expression | |
          |--:|--:|--:|--:|---|---|---|
          | +120 | +54 to +186 | 240 | 360 | `app.py:2 parse ← app.py:3 load` | `int(row, 10)` |  |

          1 more row.

          intervals: 98 % for all 3 sums together; so few recordings do not tell how much runs of one program differ: genba assumes 5.0 % (standard deviation)

          to tell a change of 5 % in app.py:2 parse ← app.py:3 load: at least 28 recordings of each, or 10 of runs 6 times as long, 5.47 s (genba diff A1 A2 … -- B1 B2 …)
        stderr
    "#]]);
}

#[test]
fn json_for_scripts() {
    let sandbox = with_recordings("diff-json");
    let words =
        ["diff", "--format", "json", "a1.genba", "a2.genba", "a3.genba", "--", "b1.genba", "b2.genba", "b3.genba"];
    let output = sandbox.genba(&words).output().expect("genba starts");
    let page: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = page["differences"].as_array().expect("rows");
    let load = rows.iter().find(|row| row["caller"]["function"] == "load").expect("a row under load");
    let check = rows.iter().find(|row| row["caller"]["function"] == "check").expect("a row under check");
    let of = |row: &serde_json::Value, key: &str| row[key].clone();
    assert_eq!((of(load, "before_ns"), of(load, "after_ns")), (384_000_000.into(), 576_000_000.into()));
    assert_eq!((of(load, "change"), of(load, "certain")), (192_000_000.into(), true.into()));
    assert_eq!((of(check, "change"), of(check, "certain")), (0.into(), false.into()));
    for row in [load, check] {
        assert_eq!((of(row, "file"), of(row, "line")), ("/app/app.py".into(), 2.into()));
        assert_eq!((of(row, "function"), of(row, "expression")), ("parse".into(), "int(row, 10)".into()));
        let bounds = ["low", "change", "high"].map(|key| row[key].as_i64().expect("nanoseconds"));
        assert!(bounds.is_sorted(), "{bounds:?}");
        assert_eq!(bounds[0] > 0 || bounds[2] < 0, row["certain"] == true);
    }
    for (side, files) in
        [("before", ["a1.genba", "a2.genba", "a3.genba"]), ("after", ["b1.genba", "b2.genba", "b3.genba"])]
    {
        let recordings = page[side]["recordings"].as_array().expect("recordings");
        for (recording, file) in recordings.iter().zip(files) {
            assert_eq!(recording["recording"], file);
            let accounting = &recording["accounting"];
            assert_eq!(accounting["ticks"], accounting["sampled"], "nothing was lost here");
        }
        assert_eq!(recordings.len(), 3);
    }
    assert_eq!(page["spread"]["measured"], true);
}

#[test]
fn filters_hold_for_each() {
    let sandbox = with_recordings("diff-filters");
    sandbox.check("diff a1.genba b1.genba --focus check --limit 1", expect![[r#"
        exit code 0
        stdout
          no difference that these recordings can tell: B − A is 0 ns ± 89.3 ms of CPU a run
          A: a1.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
             kept: 46.7 % of 720 ms CPU (--focus check)
          B: b1.genba · CPython 3.13.0 · 912 ms wall · 912 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 570 = sampled 570 + dropped 0 + refused 0 · CPU covered 100.0 %
             kept: 36.8 % of 912 ms CPU (--focus check)

          1 row: 0 certain, 1 cannot tell
            B − A               interval        A        B
             0 ns   −90.0 ms to +90.0 ms   336 ms   336 ms   app.py:2 parse ← app.py:4 check   int(row, 10)   cannot tell

          intervals: 98 % for all 2 sums together; so few recordings do not tell how much runs of one program differ: genba assumes 5.0 % (standard deviation)
          to tell a change of 5 % in app.py:2 parse ← app.py:4 check: at least 48 recordings of each, or 10 of runs 10 times as long, 9.12 s (genba diff A1 A2 … -- B1 B2 …)
        stderr
    "#]]);
    sandbox.check(
        "diff a1.genba b1.genba --focus nobody",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: --focus nobody: no frame of this recording has such a name or file
            in a1.genba
          hint: genba tree shows the names; capitals count unless the expression begins with (?i)
    "#]],
    );
    sandbox.check(
        "diff a1.genba b1.genba --time 9s..",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no sample was taken in 9s..: the recording goes on for 720 ms
            in a1.genba
          hint: --time counts from the recording's beginning
    "#]],
    );
}

#[test]
fn what_is_no_pair() {
    let sandbox = with_recordings("diff-refused");
    sandbox.check(
        "diff",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: the following required arguments were not provided:
                <BEFORE>...
              hint: usage: genba diff [OPTIONS] BEFORE AFTER
                 or: genba diff [OPTIONS] BEFORE... -- AFTER...
                 or: genba diff [OPTIONS] --before-time A..B --after-time C..D FILE
        "#]],
    );
    sandbox.check(
        "diff a1.genba",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: one recording has nothing to be compared with
              hint: genba diff before.genba a1.genba
              hint: genba diff --before-time ..2s --after-time 2s..4s a1.genba compares two times of it
        "#]],
    );
    sandbox.check(
        "diff a1.genba a2.genba b1.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: 3 recordings, and nothing says which are on which side
          hint: genba diff before-1.genba before-2.genba -- after-1.genba after-2.genba
    "#]],
    );
    sandbox.check(
        "diff a1.genba -- a1.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: a1.genba is named twice
            its samples would count twice
          hint: name each recording once
    "#]],
    );
    sandbox.check(
        "diff a1.genba -- b1.genba --format json",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: --format stands behind `--`, where only recordings can be
          hint: genba diff OPTIONS before-1.genba before-2.genba -- after-1.genba after-2.genba
    "#]],
    );
    sandbox.check(
        "diff a1.genba none.genba",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: cannot open none.genba: there is no such file
          hint: the newest recording here is b3.genba
    "#]],
    );
    sandbox.file("work/empty.genba", b"");
    sandbox.check(
        "diff a1.genba empty.genba",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: empty.genba is empty
            empty at byte 0: expected a block, found the end of the file
          hint: the program ended before genba's library wrote a first block, or it still starts
    "#]],
    );
    sandbox.file("work/few.genba", &notation::bytes("process 7 3.13.0 cwd=/app key=9\nparse@app.py:2 x12"));
    sandbox.check("diff a1.genba few.genba --limit 1", expect![[r#"
        exit code 0
        stdout
          B takes 97.3 % less than A: −701 ms ± 97.8 ms of CPU a run, most of it in app.py parse ← app.py load
          A: a1.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
          B: few.genba · CPython 3.13.0 · 19.2 ms wall · 19.2 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 12 = sampled 12 + dropped 0 + refused 0 · CPU covered 100.0 %

          3 rows: 2 certain, 0 cannot tell; 1 has fewer than 20 samples
              B − A             interval        A      B
            −384 ms   −455 ms to −313 ms   384 ms   0 ns   app.py parse ← app.py load   only in A
            2 more rows, the largest −336 ms ± 65.9 ms in app.py parse ← app.py check (--limit 0 shows them all)

          intervals: 98 % for all 3 sums together; so few recordings do not tell how much runs of one program differ: genba assumes 5.0 % (standard deviation)
          to tell a change of 5 % in app.py parse ← app.py load: at least 72 recordings of each, or 10 of runs 16 times as long, 11.5 s (genba diff A1 A2 … -- B1 B2 …)
        stderr
          warning: few.genba: 12 samples, shares are ± 28 points; try --rate 10000 or a longer run
    "#]]);
    sandbox.file("work/nothing.genba", &notation::bytes("process 7 3.13.0 cwd=/app key=10"));
    sandbox.check("diff a1.genba nothing.genba --limit 1", expect![[r#"
        exit code 0
        stdout
          too few samples to tell: A has 450, B has 0, and genba compares from 100 on one side and 10 on the other; record longer runs, or with a higher --rate
          the sides are unlike: 1 thread against 0 threads
          A: a1.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
          B: nothing.genba · CPython 3.13.0 · 0 ns wall · 0 ns CPU · 1 process, 0 threads · sampled every 1.6 ms
             ticks 0 = sampled 0 + dropped 0 + refused 0

          2 rows: 0 certain, 0 cannot tell; 2 not compared
              B − A             interval        A      B
            −384 ms   −444 ms to −324 ms   384 ms   0 ns   app.py:2 parse ← app.py:3 load   int(row, 10)   too few samples
            1 more row, the largest −336 ms ± 55.9 ms in app.py:2 parse ← app.py:4 check (--limit 0 shows them all)

          intervals: 98 % for all 1 sum together; so few recordings do not tell how much runs of one program differ: genba assumes 5.0 % (standard deviation)
        stderr
          warning: nothing.genba: no samples: the program ended after 0 ns, before the first tick; try --rate 10000
    "#]]);
}

#[test]
fn two_times_of_one_recording() {
    let sandbox = with_recordings("diff-times");
    sandbox.check("diff --before-time ..300ms --after-time 300ms..600ms --limit 2 a1.genba", expect![[r#"
        exit code 0
        stdout
          no difference that these recordings can tell: B − A is 0 ns ± 165 ms of CPU
          A: a1.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
             kept: 41.6 % of 720 ms CPU (--time ..300ms)
          B: a1.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
             kept: 41.6 % of 720 ms CPU (--time 300ms..600ms)

          2 rows: 0 certain, 2 cannot tell
               B − A               interval        A        B
            −9.60 ms    −101 ms to +82.0 ms   165 ms   155 ms   app.py:2 parse ← app.py:3 load   int(row, 10)   cannot tell
            +9.60 ms   −72.6 ms to +91.8 ms   134 ms   144 ms   app.py:2 parse ← app.py:4 check   int(row, 10)   cannot tell

          intervals: 98 % for all 3 sums together; so few recordings do not tell how much runs of one program differ: genba assumes 5.0 % (standard deviation)
          to tell a change of 5 % in app.py:2 parse ← app.py:3 load: at least 319 recordings for each of the two times (genba diff --before-time ..300ms --after-time 300ms..600ms A1 A2 … -- B1 B2 …)
        stderr
          warning: a1.genba: 187 samples, shares are ± 7 points; try --rate 10000 or a longer run
    "#]]);
    sandbox.check(
        "diff --before-time ..300ms --after-time 300ms.. a1.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: the two times are not equally long
            --before-time has 300 ms, --after-time 420 ms
          hint: genba diff --before-time ..2s --after-time 2s..4s FILE
    "#]],
    );
    sandbox.check(
        "diff --before-time ..300ms --after-time 200ms..500ms a1.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: the two times overlap
            what is in both would be compared with itself
          hint: genba diff --before-time ..2s --after-time 2s..4s FILE
    "#]],
    );
    sandbox.check(
        "diff --before-time ..300ms a1.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: the following required arguments were not provided:
            --after-time <A..B>
          hint: usage: genba diff [OPTIONS] BEFORE AFTER
             or: genba diff [OPTIONS] BEFORE... -- AFTER...
             or: genba diff [OPTIONS] --before-time A..B --after-time C..D FILE
    "#]],
    );
    sandbox.check("diff --before-time ..300ms --after-time ..300ms a1.genba b1.genba --limit 1", expect![[r#"
        exit code 0
        stdout
          no difference that these recordings can tell: B − A is 0 ns ± 137 ms of CPU
          A: a1.genba · CPython 3.13.0 · 720 ms wall · 720 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 450 = sampled 450 + dropped 0 + refused 0 · CPU covered 100.0 %
             kept: 41.6 % of 720 ms CPU (--time ..300ms)
          B: b1.genba · CPython 3.13.0 · 912 ms wall · 912 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
             ticks 570 = sampled 570 + dropped 0 + refused 0 · CPU covered 100.0 %
             kept: 32.8 % of 912 ms CPU (--time ..300ms)

          2 rows: 0 certain, 2 cannot tell
               B − A              interval        A        B
            +27.2 ms   −60.6 ms to +115 ms   165 ms   192 ms   app.py:2 parse ← app.py:3 load   int(row, 10)   cannot tell
            1 more row, the largest −27.2 ms ± 63.7 ms in app.py:2 parse ← app.py:4 check (--limit 0 shows them all)

          intervals: 98 % for all 3 sums together; so few recordings do not tell how much runs of one program differ: genba assumes 5.0 % (standard deviation)
          to tell a change of 5 % in app.py:2 parse ← app.py:3 load: at least 225 recordings of each (genba diff A1 A2 … -- B1 B2 …)
        stderr
          warning: a1.genba: 187 samples, shares are ± 7 points; try --rate 10000 or a longer run
          warning: b1.genba: 187 samples, shares are ± 7 points; try --rate 10000 or a longer run
    "#]]);
}

/// Each of eight short recordings has a warning. A screen has six of them.
#[test]
fn a_screen_counts_the_warnings_that_it_does_not_show() {
    let sandbox = Sandbox::new("diff-warnings");
    let mut words = vec!["diff".to_string()];
    for key in 1..=8 {
        let few = format!("process 7 3.13.0 cwd=/app key={key}\nparse@app.py:2 x12");
        sandbox.file(&format!("work/{key}.genba"), &notation::bytes(&few));
        words.extend((key == 5).then(|| "--".to_string()));
        words.push(format!("{key}.genba"));
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = sandbox.genba(&words).output().expect("genba starts");
    let said = String::from_utf8(output.stderr).expect("text");
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_eq!(lines.len(), 7, "{said}");
    assert_eq!(lines[6], "warning: 2 more warnings (--format json has all of them)");
}
