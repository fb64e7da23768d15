//! Two recordings compared, from recordings written as text to what is printed.

use crate::compared::{rounds_of_two_callers, run, runs, told, two_callers};
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, accounts, profile_over_time, promoted};
use genba_profile::difference::Subject;
use genba_profile::difference_view::{Run, bins_of, comparison, json, text};
use genba_profile::filter::Filter;
use genba_profile::paint::Paint;
use genba_profile::reading::Reading;
use genba_profile::weight::Weight;

fn check(before: &[Run], after: &[Run], expected: Expect) {
    expected.assert_eq(&text::text(&comparison(before, after, None), Some(20), None, Paint::Plain));
}

#[test]
fn a_changed_argument_shows_under_its_caller_only() {
    let before = two_callers(1, "/app", 1, (1, 10), (3, 1), "100");
    // The file is in another folder, three lines were added at its top, and foo's call does twice as much.
    let after = two_callers(2, "/new", 4, (1, 20), (3, 1), "200");
    let (before, after) = (runs("before", &[before]), runs("after", &[after]));
    let all = comparison(&before, &after, None);
    let mut rows = told(&all);
    rows.sort();
    assert_eq!(
        rows,
        [
            "sum(range(m)) ← bar:12 +0 open",
            "sum(range(m)) ← foo:9 +800 certain",
            "sum(range(n)) ← bar:12 +0 open",
            "sum(range(n)) ← foo:9 +0 open",
        ]
    );
    check(
        &before,
        &after,
        expect![[r#"
            B takes 66.7 % longer than A: +800 ms ± 348 ms of CPU a run, most of it in two.py:6 sum12 ← two.py:9 foo
            A: before-1.genba · CPython 3.13.0 · 1.20 s wall · 1.20 s CPU · 1 process, 1 thread · sampled every 1.6 ms
               ticks 750 = sampled 750 + dropped 0 + refused 0 · CPU covered 100.0 %
            B: after-1.genba · CPython 3.13.0 · 2.00 s wall · 2.00 s CPU · 1 process, 1 thread · sampled every 1.6 ms
               ticks 1,250 = sampled 1,250 + dropped 0 + refused 0 · CPU covered 100.0 %

            4 rows: 1 certain, 3 cannot tell
                B − A               interval         A         B
              +800 ms     +521 ms to +1.08 s    800 ms    1.60 s   two.py:6 sum12 ← two.py:9 foo   sum(range(m))
                 0 ns   −35.5 ms to +35.5 ms   80.0 ms   80.0 ms   two.py:5 sum12 ← two.py:9 foo   sum(range(n))   cannot tell
                 0 ns   −76.1 ms to +76.1 ms    240 ms    240 ms   two.py:5 sum12 ← two.py:12 bar   sum(range(n))   cannot tell
                 0 ns   −35.5 ms to +35.5 ms   80.0 ms   80.0 ms   two.py:6 sum12 ← two.py:12 bar   sum(range(m))   cannot tell

            functions, each with all its expressions
                B − A               interval        A        B
              +800 ms     +509 ms to +1.09 s   880 ms   1.68 s   two.py sum12 ← two.py foo   2 expressions
                 0 ns   −96.5 ms to +96.5 ms   320 ms   320 ms   two.py sum12 ← two.py bar   2 expressions   cannot tell

            intervals: 98 % for all 7 sums together; so few recordings do not tell how much runs of one program differ: genba assumes 5.0 % (standard deviation)
            to tell a change of 5 % in two.py sum12 ← two.py foo: at least 10 recordings of each (genba diff A1 A2 … -- B1 B2 …)
        "#]],
    );
}

/// As in casebook/two-callers: the halves are functions of their own, which one function calls for both.
#[test]
fn the_caller_is_the_one_at_which_the_ways_divide() {
    let of = |key: u32, of_foo: u32| {
        let mut text = format!("process 7 3.13.0 cwd=/app key={key}\n");
        for _ in 0..100 {
            text += &format!("foo@two.py:28 > sum12@two.py:20 > sum2@two.py:14 x{of_foo}\n");
            text += "bar@two.py:32 > sum12@two.py:20 > sum2@two.py:14 x6\n";
        }
        text
    };
    let rows = comparison_of(&[of(1, 5)], &[of(2, 9)]);
    assert_eq!(rows, ["sum2 ← foo:28 +640 certain", "sum2 ← bar:32 +0 open"]);
}

#[test]
fn a_recording_and_its_like_differ_in_nothing() {
    let same = |key: u32| two_callers(key, "/app", 1, (2, 7), (3, 4), "100");
    let (before, after) = (runs("before", &[same(1)]), runs("after", &[same(2)]));
    let all = comparison(&before, &after, None);
    assert!(told(&all).iter().all(|row| row.ends_with("+0 open")), "{:?}", told(&all));
    assert!(!all.difference.whole.certain);
    expect!["no difference that these recordings can tell: B − A is 0 ns ± 270 ms of CPU a run"]
        .assert_eq(&all.verdict());
}

#[test]
fn several_recordings_tell_what_two_cannot() {
    // 6 % more under foo, and runs that differ by less than 1 %.
    let of = |key: u32, more_of_foo: u32, more: u32| {
        let rounds = rounds_of_two_callers(400, key, "/app", 1, (1, 16 + more_of_foo), (3, 1), "100");
        rounds + &format!("f@two.py:1 x{}\n", 20 + more)
    };
    let before: Vec<String> = [0, 7, 3, 9].iter().zip(1..).map(|(more, key)| of(key, 0, *more)).collect();
    let after: Vec<String> = [5, 2, 8, 1].iter().zip(11..).map(|(more, key)| of(key, 1, *more)).collect();
    let one = comparison_of(&before[..1], &after[..1]);
    assert!(one.iter().all(|row| row.ends_with("open")), "{one:?}");
    let four = comparison_of(&before, &after);
    assert_eq!(four[0], "sum(range(m)) ← foo:6 +640 certain", "{four:?}");
    assert!(four[1..].iter().all(|row| row.ends_with("open")), "{four:?}");
}

fn comparison_of(before: &[String], after: &[String]) -> Vec<String> {
    let (before, after) = (runs("before", before), runs("after", after));
    told(&comparison(&before, &after, None))
}

#[test]
fn too_few_samples_are_said() {
    let of = |key: u32, count: u32| format!("process 7 3.13.0 cwd=/app key={key}\nwork@app.py:3 x{count}\n");
    let verdict = |before: u32, after: u32| {
        let (before, after) = (runs("before", &[of(1, before)]), runs("after", &[of(2, after)]));
        comparison(&before, &after, None).verdict()
    };
    expect!["too few samples to tell: A has 9, B has 900, and genba compares from 100 on one side and 10 on the other; record runs 2 times as long, or with a --rate 2 times as high"].assert_eq(&verdict(9, 900));
    expect!["too few samples to tell: A has 0, B has 40, and genba compares from 100 on one side and 10 on the other; record longer runs, or with a higher --rate"].assert_eq(&verdict(0, 40));
    expect!["too few samples to tell: A has 40, B has 99, and genba compares from 100 on one side and 10 on the other; record runs 2 times as long, or with a --rate 2 times as high"].assert_eq(&verdict(40, 99));
    // What became much faster has few samples.
    expect!["B takes 98.7 % less than A: −1.42 s ± 186 ms of CPU a run, most of it in app.py:3 work"]
        .assert_eq(&verdict(900, 12));
    expect!["B takes 125.0 % longer than A: +800 ms ± 203 ms of CPU a run, most of it in app.py:3 work"]
        .assert_eq(&verdict(400, 900));
    expect!["B takes 55.6 % less than A: −800 ms ± 203 ms of CPU a run, most of it in app.py:3 work"]
        .assert_eq(&verdict(900, 400));
}

#[test]
fn what_is_on_one_side_only_is_there() {
    let line = |key: u32, text: &str, end: u32, count: u32| {
        format!(
            "process 7 3.13.0 cwd=/app key={key}
            source /app/app.py
            |def parse(row): return {text}
            |def load():
            |    parse(1)
            load^2@app.py:3[4-12] > parse@app.py:1[23-{end}] x{count}
            load^2@app.py:3[4-12] x30
            "
        )
    };
    let before = runs("before", &[line(1, "fromiso(row)", 35, 100)]);
    let after = runs("after", &[line(2, "strptime(row)", 36, 700)]);
    check(
        &before,
        &after,
        expect![[r#"
            B takes 461.5 % longer than A: +960 ms ± 171 ms of CPU a run, most of it in app.py:1 parse ← app.py:3 load
            A: before-1.genba · CPython 3.13.0 · 208 ms wall · 208 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
               ticks 130 = sampled 130 + dropped 0 + refused 0 · CPU covered 100.0 %
            B: after-1.genba · CPython 3.13.0 · 1.17 s wall · 1.17 s CPU · 1 process, 1 thread · sampled every 1.6 ms
               ticks 730 = sampled 730 + dropped 0 + refused 0 · CPU covered 100.0 %

            3 rows: 2 certain, 1 cannot tell
                B − A              interval         A         B
              +1.12 s    +935 ms to +1.30 s      0 ns    1.12 s   app.py:1 parse ← app.py:3 load   strptime(row)   only in B
              −160 ms   −253 ms to −66.8 ms    160 ms      0 ns   app.py:1 parse ← app.py:3 load   fromiso(row)   only in A
                 0 ns    −127 ms to +127 ms   48.0 ms   48.0 ms   app.py:3 load   parse(1)   cannot tell

            functions, each with all its expressions
                B − A             interval        A        B
              +960 ms   +754 ms to +1.17 s   160 ms   1.12 s   app.py parse ← app.py load   2 expressions

            intervals: 98 % for all 5 sums together; so few recordings do not tell how much runs of one program differ: genba assumes 5.0 % (standard deviation)
            to tell a change of 5 % in app.py parse ← app.py load: at least 47 recordings of each, or 10 of runs 11 times as long, 12.8 s (genba diff A1 A2 … -- B1 B2 …)
        "#]],
    );
}

#[test]
fn waits_are_compared_by_wall_time() {
    let of = |key: u32, polls: u32| {
        format!(
            "process 7 3.13.0 cwd=/app key={key}
            main@app.py:3 x100
            main@app.py:4 > poll[libc.so.6] x{polls} poll
            "
        )
    };
    let (before, after) = (runs("before", &[of(1, 400)]), runs("after", &[of(2, 900)]));
    let all = comparison(&before, &after, None);
    assert_eq!(all.difference.choice.weight, Weight::Wall);
    expect!["B takes 100.0 % longer than A: +800 ms ± 251 ms of wall time a run, most of it in app.py:4 main"]
        .assert_eq(&all.verdict());
    let cpu = comparison(&before, &after, Some(Weight::Cpu));
    expect!["no difference that these recordings can tell: B − A is 0 ns ± 29.2 ms of CPU a run"]
        .assert_eq(&cpu.verdict());
    let samples = comparison(&before, &after, Some(Weight::Samples));
    expect!["no difference that these recordings can tell: B − A is 0 ± 18 samples a run"]
        .assert_eq(&samples.verdict());
}

/// One side alone mostly waited: the change is in its waits.
#[test]
fn waits_that_are_gone_are_compared_by_wall_time() {
    let of = |key: u32, polls: u32| {
        format!(
            "process 7 3.13.0 cwd=/app key={key}
            main@app.py:3 x300
            main@app.py:4 > poll[libc.so.6] x{polls} poll
            "
        )
    };
    let (slow, fast) = (runs("before", &[of(1, 900)]), runs("after", &[of(2, 100)]));
    for sides in [(&slow, &fast), (&fast, &slow)] {
        assert_eq!(comparison(sides.0, sides.1, None).difference.choice.weight, Weight::Wall);
    }
    // Neither waits most of the time, and the wall time changes much.
    let (some, fast) = (runs("before", &[of(3, 250)]), runs("after", &[of(4, 1)]));
    let choice = comparison(&some, &fast, None).difference.choice;
    assert_eq!(choice.weight, Weight::Cpu);
    assert!(choice.why.is_some_and(|why| why.ends_with("--weight wall compares it")));
}

/// The next sample brings the time of ticks that gave none, and is one sample: a busy machine has fewer of them for the same work.
#[test]
fn ticks_without_a_sample_are_no_less_work() {
    let of = |key: u32, samples: u32, late: u32| {
        format!("process 7 3.13.0 cwd=/app key={key}\nmain@app.py:3 x{samples}\ndropped late {late}\n")
    };
    let before = runs("before", &[of(1, 900, 0), of(2, 901, 0), of(3, 899, 0)]);
    let after = runs("after", &[of(4, 700, 200), of(5, 701, 200), of(6, 699, 200)]);
    let all = comparison(&before, &after, Some(Weight::Samples));
    assert!(
        all.verdict().starts_with("not comparable: 0.0 % of A's ticks gave no sample, 22.2 % of B's: "),
        "{}",
        all.verdict()
    );
    let rows = &all.difference.rows;
    assert!(rows.len() == 1 && !rows[0].estimate.certain && !all.difference.whole.certain, "{rows:?}");
}

/// By the clock each row takes longer, whatever its code: what the runs waited for a CPU may be of any row.
#[test]
fn what_the_machine_made_a_program_wait_is_no_slow_down() {
    // 500 samples of 1.6 ms, of which each took that many hundredths of its time.
    let of = |key: u32, wall: u32, queue_ms: u32| {
        format!(
            "process 7 3.13.0 cwd=/app key={key}
            main@app.py:3 x500 wall={wall}
            turns 7 900 {queue_ms}ms
            ended 7 800ms 0ms
            "
        )
    };
    let side = |names: &str, first_key: u32, wall: u32, queue_ms: u32| {
        let texts: Vec<String> = (0..5).map(|at| of(first_key + at, wall, queue_ms)).collect();
        runs(names, &texts)
    };
    let idle = side("before", 1, 100, 0);
    let busy = side("after", 11, 120, 160);
    let all = comparison(&idle, &busy, Some(Weight::Wall));
    assert_eq!(told(&all), ["main +160 open"]);
    assert!(!all.difference.whole.certain, "{}", all.verdict());
    let page = text::text(&all, None, None, Paint::Plain);
    let second = page.lines().nth(1);
    expect!["a run of B waited for a CPU 17 % of its time, of A 0 %: the intervals are wider for that; record both sides in turn"]
        .assert_eq(second.unwrap_or_default());
    // The same time with a CPU to itself is the program's.
    let slower = side("after", 11, 120, 0);
    assert_eq!(told(&comparison(&idle, &slower, Some(Weight::Wall))), ["main +160 certain"]);
}

#[test]
fn a_machine_that_others_had_on_one_side_is_an_obstacle() {
    let of = |key: u32, samples: u32, queue_ms: u32| {
        let cpu_ms = samples * 16 / 10;
        let clocks = format!("turns 7 900 {queue_ms}ms\nended 7 {cpu_ms}ms 0ms\n");
        format!("process 7 3.13.0 cwd=/app key={key}\nmain@app.py:3 x{samples}\n{clocks}")
    };
    let (before, after) = (runs("before", &[of(1, 500, 0)]), runs("after", &[of(2, 1500, 4800)]));
    let all = comparison(&before, &after, Some(Weight::Cpu));
    let verdict = all.verdict();
    assert!(
        verdict.starts_with("not comparable: runs of A waited for a CPU 0 % of their time, those of B 67 %: "),
        "{verdict}"
    );
    assert_eq!(told(&all), ["main +1600 open"]);
}

/// A wait is stored as one sample, and seen at each tick.
#[test]
fn long_waits_are_not_few() {
    let of = |key: u32, waits: u32| {
        format!(
            "process 7 3.13.0 cwd=/app key={key}
            main@app.py:3 x9
            main@app.py:4 > poll[libc.so.6] x{waits} poll ticks=800
            "
        )
    };
    let (before, after) = (runs("before", &[of(1, 60)]), runs("after", &[of(2, 61)]));
    let all = comparison(&before, &after, None);
    assert_eq!((all.difference.samples_before, all.difference.samples_after), (48_009, 48_809));
    let rows = told(&all);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(all.difference.rows.iter().any(|row| !row.estimate.is_too_few && row.samples_before == 48_000));
    assert!(all.verdict().starts_with("no difference that these recordings can tell"), "{}", all.verdict());
}

#[test]
fn filters_hold_for_both_sides() {
    let of = |key: u32, more_of_foo: u32| two_callers(key, "/app", 1, (1, more_of_foo), (3, 5), "100");
    let filter = Filter { focus: Some(regex::Regex::new("^bar$").expect("a pattern")), ..Filter::default() };
    let side = |name: &str, notation: &str| vec![run(name, notation, &filter)];
    let (before, after) = (side("a.genba", &of(1, 10)), side("b.genba", &of(2, 20)));
    let all = comparison(&before, &after, None);
    assert_eq!(told(&all), ["sum(range(n)) ← bar:9 +0 open", "sum(range(m)) ← bar:9 +0 open"]);
    assert!(text::text(&all, None, None, Paint::Plain).contains("kept: 42.1 %"));
    let hide = Filter { hide: Some(regex::Regex::new("^sum12$").expect("a pattern")), ..Filter::default() };
    let side = |name: &str, notation: &str| vec![run(name, notation, &hide)];
    let (before, after) = (side("a.genba", &of(1, 10)), side("b.genba", &of(2, 20)));
    let rows = told(&comparison(&before, &after, None));
    assert_eq!(rows, ["sum12(10, 100) ← <module>:12 +800 certain", "sum12(30, 10) ← <module>:12 +0 open"]);
}

/// Any bytes give a comparison, and none a panic.
#[test]
fn damaged_recordings_are_compared_too() {
    const GOLDEN: &[u8] = include_bytes!("../../../../testdata/golden/v3.genba");
    let run_of = |bytes: &[u8]| {
        let recording = genba_format::read(bytes).ok()?;
        let bins = bins_of(&accounts(&recording, &Additions::default()));
        let profile = promoted(profile_over_time(&recording, &Additions::default(), None, bins));
        Some(Run { name: "damaged.genba".to_string(), reading: Reading::of(profile) })
    };
    let whole = [run_of(GOLDEN).expect("a recording")];
    let mut compared = 0;
    for at in (0..GOLDEN.len()).step_by(71) {
        let mut flipped = GOLDEN.to_vec();
        flipped[at] ^= 0x40;
        for damaged in [run_of(&GOLDEN[..at]), run_of(&flipped)].into_iter().flatten() {
            let damaged = [damaged];
            for weight in [Weight::Cpu, Weight::Wall, Weight::Samples] {
                let page = text::text(&comparison(&whole, &damaged, Some(weight)), None, Some(60), Paint::Plain);
                assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
                let is_damaged = damaged[0].reading.blocks_lost > 0;
                assert_eq!(page.starts_with("not comparable: damaged.genba lost "), is_damaged, "{page}");
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

/// Two lambdas with one text, met in another order: each is compared with itself.
#[test]
fn functions_of_one_name_are_not_swapped() {
    let of = |key: u32, lines: [u32; 2], samples: [u32; 2], main: u32| {
        let mut text = format!("process 7 3.13.0 cwd=/app key={key}\nmain^{main}@app.py:{} x9\n", main + 1);
        for (line, count) in lines.iter().zip(samples) {
            text += &format!("main^{main}@app.py:{} > <lambda>^{line}@app.py:{line} x{count}\n", main + 2);
        }
        text
    };
    let lambdas = |before: &str, after: &str| {
        let (before, after) = (runs("before", &[before.to_string()]), runs("after", &[after.to_string()]));
        let all = comparison(&before, &after, None);
        let mut rows: Vec<String> = told(&all).into_iter().filter(|row| row.contains("lambda")).collect();
        rows.sort();
        (rows, all.difference.merged.len(), text::text(&all, None, None, Paint::Plain))
    };
    let same = ["<lambda> ← main:22 +0 open", "<lambda> ← main:22 +0 open"];
    let before = of(1, [3, 4], [300, 900], 20);
    assert_eq!(lambdas(&before, &of(2, [4, 3], [900, 300], 20)).0, same);
    // Six lines were added above them.
    let moved = ["<lambda> ← main:28 +0 open", "<lambda> ← main:28 +0 open"];
    assert_eq!(lambdas(&before, &of(2, [10, 9], [900, 300], 26)).0, moved);
    // One of them changed, and it is that one which says so.
    let (rows, ..) = lambdas(&before, &of(2, [4, 3], [1500, 300], 20));
    assert_eq!(rows, ["<lambda> ← main:22 +0 open", "<lambda> ← main:22 +960 certain"]);
    // Which of the two the other recording has, nobody knows: one row, and it says so.
    let (rows, merged, page) = lambdas(&before, &of(2, [9, 9], [600, 600], 26));
    assert_eq!((rows, merged), (vec!["<lambda> ← main:28 +0 open".to_string()], 1));
    assert!(page.contains("nothing tells apart in these recordings, are one: app.py <lambda>"), "{page}");
    let (before, after) = (runs("before", &[before]), runs("after", &[of(2, [9, 9], [600, 600], 26)]));
    let page = json::json(&comparison(&before, &after, None), None, &[]).expect("JSON");
    let page: serde_json::Value = serde_json::from_str(&page).expect("JSON");
    assert_eq!(page["merged"], serde_json::json!([{ "file": "/app/app.py", "function": "<lambda>" }]));
}

/// Each recording met one `_` of a `singledispatch`. Both texts have both.
#[test]
fn functions_of_one_name_that_were_met_apart_are_not_compared() {
    let of = |key: u32, first_line: u32, second: &str| {
        format!(
            "process 7 3.13.0 cwd=/app key={key}
            source /app/app.py
            |@cost.register
            |def _(data: list):
            |    step(data)
            |
            |@cost.register
            |def _(data: {second}):
            |    step(data)
            |
            |def main():
            |    cost(data)
            main^9@app.py:10[4-14] > _^{first_line}@app.py:{}[4-14] x900
            ",
            first_line + 2
        )
    };
    let rows = |before: String, after: String| {
        let (before, after) = (runs("before", &[before]), runs("after", &[after]));
        told(&comparison(&before, &after, None))
    };
    let apart = ["step(data) ← main:10 -1440 certain", "step(data) ← main:10 +1440 certain"];
    assert_eq!(rows(of(1, 1, "tuple"), of(2, 5, "tuple")), apart);
    assert_eq!(rows(of(1, 5, "tuple"), of(2, 5, "tuple")), ["step(data) ← main:10 +0 open"]);
    // Its line was written anew: the same function.
    assert_eq!(rows(of(1, 5, "tuple"), of(2, 5, "set")), ["step(data) ← main:10 +0 open"]);
}

/// Their `def` lines are there twice and more often: what they are indented under, and decorators, tell them apart.
#[test]
fn both_arms_of_an_if_and_getter_and_setter_are_not_compared() {
    let of = |key: u32, stack: &str| {
        let class = "|    @property
            |    def value(self):
            |        turn(data)
            |
            |    @value.setter
            |    def value(self, data):
            |        turn(data)
            |";
        format!(
            "process 7 3.13.0 cwd=/app key={key}
            source /app/app.py
            |if FAST:
            |    def step(data):
            |        turn(data)
            |else:
            |    def step(data):
            |        turn(data)
            |
            |class A:
            {class}
            |class B:
            {class}
            |def main():
            |    step(data)
            main^26@app.py:27[4-14] > {stack} x900
            "
        )
    };
    let rows = |before: &str, after: &str| {
        let (before, after) = (runs("before", &[of(1, before)]), runs("after", &[of(2, after)]));
        told(&comparison(&before, &after, None))
    };
    let apart = ["turn(data) ← main:27 -1440 certain", "turn(data) ← main:27 +1440 certain"];
    assert_eq!(rows("step^2@app.py:3[8-18]", "step^5@app.py:6[8-18]"), apart);
    assert_eq!(rows("A.value^9@app.py:11[8-18]", "A.value^13@app.py:15[8-18]"), apart);
    assert_eq!(rows("step^5@app.py:6[8-18]", "step^5@app.py:6[8-18]"), ["turn(data) ← main:27 +0 open"]);
    assert_eq!(rows("B.value^18@app.py:20[8-18]", "B.value^18@app.py:20[8-18]"), ["turn(data) ← main:27 +0 open"]);
}

/// Two functions of one name, of which one became slower and the other as much faster: each is a row of its own, and says in which line it begins.
#[test]
fn functions_of_one_name_are_added_up_apart() {
    let of = |key: u32, samples: [u32; 2]| {
        let mut text = format!(
            "process 7 3.13.0 cwd=/app key={key}
            source /app/app.py
            |if FAST:
            |    def step(data):
            |        turn(data)
            |        push(data)
            |else:
            |    def step(data):
            |        turn(data)
            |        push(data)
            |def main():
            |    step(data)
            "
        );
        for (first_line, count) in [2, 6].into_iter().zip(samples) {
            for (line, call) in [(first_line + 1, count), (first_line + 2, 100)] {
                text += &format!("main^9@app.py:10[4-14] > step^{first_line}@app.py:{line}[8-18] x{call}\n");
            }
        }
        text
    };
    let functions = |before: [u32; 2], after: [u32; 2]| {
        let (before, after) = (runs("before", &[of(1, before)]), runs("after", &[of(2, after)]));
        let all = comparison(&before, &after, None);
        let told = |row: &genba_profile::difference::Row| {
            let Subject::Code { code, .. } = &row.subject else { panic!("{:?}", row.subject) };
            let (change, certain) = (row.estimate.change() / 1e6, row.estimate.certain);
            format!("{}:{} {} {change:+.0} {certain}", code.function, code.line.unwrap_or_default(), row.expressions)
        };
        let mut told: Vec<String> = all.difference.functions.iter().map(told).collect();
        told.sort();
        told
    };
    assert_eq!(functions([300, 900], [900, 300]), ["step:2 2 +960 true", "step:6 2 -960 true"]);
    assert_eq!(functions([300, 900], [300, 900]), ["step:2 2 +0 false", "step:6 2 +0 false"]);
}
