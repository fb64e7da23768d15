//! What a comparison can claim, each kind by programs whose answer is known. Figures that follow from the intervals are other tests'.

use crate::compared::{runs, told};
use crate::random::Random;
use genba_profile::difference_view::{Comparison, Run, comparison, text};
use genba_profile::paint::Paint;
use genba_profile::weight::Weight;

fn process(key: usize) -> String {
    format!("process 7 3.13.0 cwd=/app key={key}\n")
}

/// Two functions in turns, with so many samples in each of 100 rounds.
fn turns(key: usize, f: u32, g: u32) -> String {
    process(key) + &format!("f@app.py:3 x{f}\ng@app.py:5 x{g}\n").repeat(100)
}

/// One function with so many samples.
fn alone(key: usize, samples: u32) -> String {
    process(key) + &format!("main@app.py:3 x{samples}\n")
}

fn sides(before: &[String], after: &[String]) -> (Vec<Run>, Vec<Run>) {
    (runs("before", before), runs("after", after))
}

fn page(all: &Comparison) -> String {
    text::text(all, Some(20), None, Paint::Plain)
}

fn assert_has(page: &str, words: &str) {
    assert!(page.contains(words), "{words:?} is not in\n{page}");
}

#[test]
fn the_whole_became_slower_or_faster() {
    let (before, after) = sides(&[alone(1, 900)], &[alone(2, 400)]);
    let of = |before: &[Run], after: &[Run], weight| comparison(before, after, Some(weight)).verdict();
    let starts = |verdict: String, words: &str| assert!(verdict.starts_with(words), "{verdict}");
    starts(of(&before, &after, Weight::Cpu), "B takes 55.6 % less than A: −800 ms ± ");
    starts(of(&after, &before, Weight::Cpu), "B takes 125.0 % longer than A: +800 ms ± ");
    starts(of(&before, &after, Weight::Samples), "B has 55.6 % fewer samples than A: −500 ± ");
    starts(of(&after, &before, Weight::Samples), "B has 125.0 % more samples than A: +500 ± ");
}

/// `f` takes as much more as `g` takes less, nearly.
#[test]
fn rows_changed_and_the_whole_did_not() {
    let (before, after) = sides(&[turns(1, 3, 9)], &[turns(2, 10, 3)]);
    let all = comparison(&before, &after, None);
    let verdict = all.verdict();
    assert!(verdict.starts_with("B differs from A in app.py:3 f: +1.12 s ± "), "{verdict}");
    assert_has(&verdict, " of CPU a run. 2 rows are certain. The change of the whole, +160 ms ± ");
    assert!(verdict.ends_with(", is not certain"), "{verdict}");
    assert_has(&page(&all), "2 rows: 2 certain, 0 cannot tell\n");
}

#[test]
fn a_row_is_certain_or_open_or_has_too_few_samples() {
    let of = |key: usize, main: u32| alone(key, main) + "f@app.py:5 x300\ng@app.py:7 x5\nh@app.py:9 x5\n";
    let (before, after) = sides(&[of(1, 300)], &[of(2, 1_500)]);
    let all = comparison(&before, &after, None);
    let page = page(&all);
    assert_has(&page, "4 rows: 1 certain, 1 cannot tell; 2 have fewer than 20 samples\n");
    let rows = || page.lines().filter(|line| line.starts_with("  "));
    let line = |words: &str| rows().find(|line| line.contains(words)).unwrap_or_default();
    assert!(line("app.py:3 main").ends_with("app.py:3 main"), "{page}");
    assert!(line("app.py:5 f").ends_with("   cannot tell"), "{page}");
    let everything = text::text(&all, None, None, Paint::Plain);
    let few = everything.lines().filter(|line| line.ends_with("   too few samples"));
    assert_eq!(few.count(), 2, "{everything}");
}

/// Servers: one side was recorded 4 % longer, three times on each, or did twice as much in `f` in 2 % longer.
#[test]
fn a_longer_recording_of_a_program_that_went_on_is_no_slow_down() {
    let three = |first_key: usize, samples: u32, end: &str| {
        [0, 1, 2].map(|more| alone(first_key + more, samples + more as u32) + end)
    };
    let compared = |before: &[String], after: &[String]| {
        let (before, after) = sides(before, after);
        let all = comparison(&before, &after, Some(Weight::Cpu));
        (all.verdict(), told(&all), page(&all))
    };
    let (verdict, ..) = compared(&three(1, 900, ""), &three(4, 936, ""));
    assert!(verdict.starts_with("B takes 4.0 % longer than A"), "they ended by themselves: {verdict}");
    let (verdict, rows, page) = compared(&three(1, 900, "end duration\n"), &three(4, 936, "end duration\n"));
    assert!(verdict.starts_with("no difference that these recordings can tell"), "{verdict}");
    assert!(rows.iter().all(|row| row.ends_with(" open")), "{rows:?}");
    assert_has(&page, ", of programs that did not end by themselves: each interval is wider for that\n");
    let of = |key: usize, f: u32, g: u32, more: u32| turns(key, f, g) + &format!("g@app.py:5 x{more}\nend duration\n");
    let before = [1, 2, 3].map(|key| of(key, 3, 9, 1));
    let after = [4, 5, 6].map(|key| of(key, 6, 6, 25));
    let (_, rows, _) = compared(&before, &after);
    assert!(rows.contains(&"f +480 certain".to_owned()), "{rows:?}");
}

/// Servers that were recorded for as long: of one of them others had the CPU in 45 % of the time.
#[test]
fn what_a_program_that_went_on_waited_for_a_cpu_is_no_speed_up() {
    let busy = |end: &str, queue_ms: u32| {
        let clocks = format!("turns 7 900 {queue_ms}ms\nended 7 880ms 0ms\n");
        process(2) + "main@app.py:3 x450 cpu\nmain@app.py:3 x550\n" + &clocks + end
    };
    let rows = |end: &str, queue_ms: u32| {
        let idle = alone(1, 1_000) + "turns 7 900 0ms\nended 7 1600ms 0ms\n" + end;
        let (before, after) = sides(&[idle], &[busy(end, queue_ms)]);
        let all = comparison(&before, &after, Some(Weight::Cpu));
        assert_eq!(all.difference.whole.certain, told(&all)[0].ends_with("certain"), "{}", all.verdict());
        told(&all)
    };
    assert_eq!(rows("end duration\n", 720), ["main -720 open"]);
    assert_eq!(rows("end duration\n", 0), ["main -720 certain"]);
    // It did all of its work, and that was less.
    assert_eq!(rows("", 720), ["main -720 certain"]);
}

/// The same program, recorded with `--no-children` and without.
#[test]
fn children_that_one_side_left_out_are_no_speed_up() {
    let both = process(1) + "main@app.py:3 x500\nprocess 8 3.13.0 cwd=/app parent=7 key=2\nf@app.py:5 x900\n";
    let first = |key: usize| format!("process 7 3.13.0 cwd=/app key={key} without_children=1\nmain@app.py:3 x500\n");
    let assert_starts = |before: String, after: String, words: &str| {
        let (before, after) = sides(&[before], &[after]);
        let all = comparison(&before, &after, None);
        assert!(!all.difference.whole.certain && all.verdict().starts_with(words), "{}", all.verdict());
    };
    assert_starts(first(3), first(4), "no difference that these recordings can tell");
    let words = "not comparable: B was made with --no-children, A has samples of 2 processes: record all in one way";
    assert_starts(both, first(3), words);
}

/// How much runs differ is assumed, shown or measured.
#[test]
fn how_much_runs_differ_is_said() {
    let said = |before: &[String], after: &[String]| {
        let (before, after) = sides(before, after);
        page(&comparison(&before, &after, Some(Weight::Cpu)))
    };
    assert_has(&said(&[alone(1, 900)], &[alone(2, 900)]), "genba assumes 5.0 % (standard deviation)\n");
    let busy = |key: usize| alone(key, 500) + "turns 7 900 200ms\nended 7 800ms 0ms\n";
    assert_has(&said(&[busy(1)], &[busy(2)]), " (standard deviation), as a run waited for a CPU 20 % of its time\n");
    let unlike = [alone(1, 900), alone(2, 1_400)];
    let few = said(&unlike, &[alone(3, 900), alone(4, 1_400)]);
    assert_has(&few, ", and fewer than three on a side are too few to measure it\n");
    let three = said(&[alone(1, 900), alone(2, 901), alone(3, 902)], &[alone(4, 900), alone(5, 901), alone(6, 902)]);
    assert_has(&three, " (standard deviation), beside what their samples tell\n");
}

/// As many recordings as there are; more of them; or as many, with more samples. None is longer than two minutes.
#[test]
fn the_advice_is_what_is_lacking() {
    let said = |of: &dyn Fn(usize) -> String| {
        let texts: Vec<String> = (1..=20).map(of).collect();
        let (before, after) = sides(&texts[..10], &texts[10..]);
        page(&comparison(&before, &after, None))
    };
    let enough = said(&|key| alone(key, 900));
    assert_has(&enough, "a change of 5 % in app.py:3 main is certain with ");
    assert_has(&enough, " recordings of each, or fewer\n");
    // 400 samples of two functions by chance, each of so many ticks.
    let by_chance = |key: usize, ticks: u32| {
        let mut random = Random(7);
        let sample = |random: &mut Random| if random.next() < 0.5 { "f@app.py:3" } else { "g@app.py:5" };
        let samples = (0..400).map(|_| format!("{} x1 every={ticks}\n", sample(&mut random)));
        process(key) + &samples.collect::<String>()
    };
    let short = said(&|key| by_chance(key, 1));
    assert_has(&short, ", or as many as now, each ");
    assert_has(&short, " times as long or with so much higher a --rate (genba diff ");
    // Of 26 s each.
    let long = said(&|key| by_chance(key, 40));
    assert_has(&long, ", or as many as now, each with a --rate ");
    assert_has(&long, " times as high (genba diff ");
}
