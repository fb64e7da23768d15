//! Intervals of made-up sums, beside tables and beside runs that are drawn.

use super::*;
use crate::rules::difference::within_run::visits::Visits;

fn sums(before: &[f64], after: &[f64], deviation: f64) -> Sums {
    let side = |values: &[f64]| {
        values
            .iter()
            .map(|value| Sum { value: *value, variance: deviation * deviation, visits: None })
            .collect::<Vec<_>>()
    };
    Sums { before: side(before), after: side(after), samples_before: 1000, samples_after: 1000 }
}

fn estimate(row: &Sums, compared: usize) -> Estimate {
    Certainty::of(&[], row, compared, Busy::default()).estimate(row, true)
}

#[test]
fn factors_are_those_of_the_tables() {
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 2e-3, "{value}, not {expected}");
    near(factor(1, None), 2.326);
    near(factor(10, None), 3.090);
    near(factor(10, Some(8)), 4.501);
    near(factor(10, Some(4)), 7.173);
    near(factor(1, Some(1)), 31.821);
    near(factor(1000, Some(1998)), 4.277);
    for compared in [1, 100, 10_000, 1_000_000] {
        let factors = [4, 8, 40, 1998].map(|freedom| factor(compared, Some(freedom)));
        assert!(factors.is_sorted_by(|one, other| one > other) && factors[3] > factor(compared, None), "{factors:?}");
    }
}

#[test]
fn one_run_on_each_side_may_differ_by_what_is_assumed() {
    // 2.33 × 5 % × √2 of about 100 is 16.5.
    assert!(!estimate(&sums(&[100.0], &[115.0], 0.0), 1).certain);
    assert!(estimate(&sums(&[100.0], &[120.0], 0.0), 1).certain);
    assert!(!estimate(&sums(&[100.0], &[120.0], 10.0), 1).certain, "few samples");
    assert!(!estimate(&sums(&[100.0], &[120.0], 0.0), 20).certain, "one of many rows");
    let two = estimate(&sums(&[100.0, 100.0], &[110.0, 110.0], 0.0), 1);
    assert!(!two.certain && two.high - two.low > 20.0, "two that agree may do so by chance: {two:?}");
    let two = sums(&[80.0, 120.0], &[130.0, 140.0], 0.0);
    assert!(!estimate(&two, 1).certain, "what two show is more than what is assumed");
}

#[test]
fn a_busy_machine_and_neighbours_may_differ_by_more() {
    let (row, small) = (sums(&[1000.0], &[1300.0], 0.0), sums(&[1.0], &[9.0], 0.0));
    let at = |before: f64, after: f64| {
        let certainty = Certainty::of(&[], &row, 1, Busy { before, after });
        certainty.estimate(&row, true).certain
    };
    assert!(at(0.0, 0.0) && !at(0.3, 0.3) && !at(0.0, 0.3));
    let certainty = Certainty::of(&[&small], &row, 1, Busy::default());
    assert!(!certainty.estimate(&small, true).certain, "8 of 1,000 may be the neighbour's");
}

#[test]
fn a_single_run_is_as_uncertain_as_its_own_calls_and_several_are_measured() {
    let bounded = |runs: usize, variance_max: f64| {
        let mut row = sums(&vec![100.0; runs], &vec![140.0; runs], 0.0);
        let all = row.before.iter_mut().chain(&mut row.after);
        all.for_each(|sum| sum.visits = Some(Visits { variance: 100.0, freedom: 8, variance_max }));
        estimate(&row, 1).margin()
    };
    let with_visits = |runs: usize| bounded(runs, f64::INFINITY);
    // Twice 100 × 2.293 and 5 % of 100 and of 140, 2.326 times.
    let one: f64 = 2.326 * (2.0 * 229.3 + 25.0 + 49.0 + 2.0 * 0.36_f64.powi(2)).sqrt();
    assert!((with_visits(1) - one).abs() < 0.1, "{} and {one}", with_visits(1));
    assert!(with_visits(3) < 2.0, "{}", with_visits(3));
    // No more than there is of the rest of the run.
    let of_rest: f64 = 2.326 * (2.0 * 9.0 + 25.0 + 49.0 + 2.0 * 0.36_f64.powi(2)).sqrt();
    assert!((bounded(1, 9.0) - of_rest).abs() < 0.1, "{} and {of_rest}", bounded(1, 9.0));
}

/// A row of 40 that a run of 1,000 may come to as often as it likes.
#[test]
fn a_row_loses_no_more_than_it_has() {
    let of = |before: f64, after: f64| {
        let mut row = sums(&[before], &[after], 5.0);
        let all = row.before.iter_mut().chain(&mut row.after);
        all.for_each(|sum| sum.visits = Some(Visits { variance: 1e6, freedom: 1, variance_max: 1e6 }));
        let told = estimate(&row, 1);
        // The same without visits: samples and runs leave that much open.
        row.before.iter_mut().chain(&mut row.after).for_each(|sum| sum.visits = None);
        (told, estimate(&row, 1).margin())
    };
    let (told, open) = of(40.0, 30.0);
    assert!(!told.certain, "{told:?}");
    assert!((told.low + 40.0 + open).abs() < 1e-9 && (told.high - 30.0 - open).abs() < 1e-9, "{told:?}, {open}");
    assert!(told.low < -40.0 && told.high > 30.0, "what A has is uncertain, too: {told:?}");
    assert!((told.margin() - (told.high - told.change())).abs() < 1e-9, "the end that is further away: {told:?}");
    // Nothing is cut off where samples alone make an interval.
    let told = estimate(&sums(&[40.0], &[0.0], 5.0), 1);
    assert!((told.high + told.low + 80.0).abs() < 1e-9, "{told:?}");
}

#[test]
fn what_is_in_no_sample_of_one_side_may_be_any_row_s() {
    let row = sums(&[100.0, 100.1, 99.9, 100.0], &[103.0, 103.1, 102.9, 103.0], 0.0);
    let of = |before: f64, after: f64| {
        let certainty = Certainty::of(&[], &row, 1, Busy::default()).with_uncovered((before - after).abs());
        certainty.estimate(&row, true)
    };
    assert!(of(0.0, 0.0).certain && of(5.0, 5.0).certain);
    assert!(!of(3.0, 0.0).certain && !of(0.0, 3.0).certain);
    assert_eq!(of(3.5, 0.0).runs_needed, None, "no number of runs would do");
}

/// In proportion to the row, and to no other one.
#[test]
fn what_one_side_was_recorded_longer_may_be_all_of_a_change() {
    let row = sums(&[100.0, 100.1, 99.9, 100.0], &[104.0, 104.1, 103.9, 104.0], 0.0);
    let of = |part: f64| Certainty::of(&[], &row, 1, Busy::default()).with_longer(part);
    let [alike, longer] = [of(0.0), of(0.04)].map(|certainty| certainty.estimate(&row, true));
    assert!(alike.certain && !longer.certain);
    // 4 % of 102.
    assert!((longer.margin() - alike.margin() - 4.08).abs() < 1e-9, "{longer:?}, not {alike:?}");
    assert_eq!(longer.runs_needed, None, "no number of runs would do");
    // More than both.
    let larger = sums(&[100.0, 100.1, 99.9, 100.0], &[120.0, 120.1, 119.9, 120.0], 0.0);
    assert!(of(0.04).estimate(&larger, true).certain);
}

#[test]
fn one_run_beside_several_measures_nothing() {
    let row = sums(&[100.0], &[90.0, 90.1, 89.9, 90.0, 90.05], 0.0);
    let certainty = Certainty::of(&[], &row, 1, Busy::default());
    assert_eq!(certainty.spread.freedom, None);
    assert!(!certainty.estimate(&row, true).certain, "a single run that differs by two of its standard deviations");
    let two = sums(&[100.0, 100.0], &[90.0, 90.1, 89.9, 90.0], 0.0);
    assert_eq!(Certainty::of(&[], &two, 1, Busy::default()).spread.freedom, None);
    let three = sums(&[100.0, 100.1, 99.9], &[90.0, 90.1, 89.9], 0.0);
    assert_eq!(Certainty::of(&[], &three, 1, Busy::default()).spread.freedom, Some(4));
}

#[test]
fn a_side_that_was_busier_may_be_slower_for_that_alone() {
    let row = sums(&[100.0, 100.1, 99.9, 100.0], &[110.0, 110.1, 109.9, 110.0], 0.0);
    let at = |before: f64, after: f64| {
        let certainty = Certainty::of(&[], &row, 1, Busy { before, after });
        certainty.estimate(&row, true).certain
    };
    assert!(at(0.0, 0.0) && at(0.4, 0.4), "what both sides had is in what their runs differ by");
    assert!(!at(0.0, 0.4) && !at(0.4, 0.0));
}

#[test]
fn several_runs_tell_how_much_they_differ() {
    let steady = sums(&[100.0, 101.0, 99.0, 100.5], &[105.0, 104.0, 106.0, 105.5], 0.0);
    let told = estimate(&steady, 1);
    assert!(told.certain && told.low > 0.0 && told.high < 10.0, "{told:?}");
    let restless = sums(&[100.0, 110.0, 90.0, 105.0], &[105.0, 95.0, 116.0, 110.0], 0.0);
    let told = estimate(&restless, 1);
    assert!(!told.certain, "{told:?}");
    assert!(told.runs_needed > Some(10), "{told:?}");
}

#[test]
fn advice_counts_with_what_few_runs_cannot_show() {
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 2e-3, "{value}, not {expected}");
    // Of the tables: 4 / 1.0636, 8 / 3.4895, 50 / 37.689.
    near(at_most(4), 3.761);
    near(at_most(8), 2.293);
    near(at_most(50), 1.327);
    // 4.5008 + 1.645 × √(1 + 4.5008² / 16), and with 3.1319 and 396.
    near(found(10, 8), 6.977);
    near(found(10, 198), 4.797);
    let advised = |row: &Sums| Certainty::of(&[], row, 10, Busy::default()).advised_variance(row);
    // Five of each with a variance of 16 among them.
    let row = sums(&[96.0, 96.0, 100.0, 104.0, 104.0], &[96.0, 96.0, 100.0, 104.0, 104.0], 0.0);
    near(advised(&row), 16.0 * at_most(8));
    // Alike by chance, and no less than what the samples leave open.
    near(advised(&sums(&[100.0; 5], &[100.0; 5], 0.0)), 2.25);
    near(advised(&sums(&[100.0; 5], &[100.0; 5], 4.0)), 18.25);
    near(advised(&sums(&[100.0], &[100.0], 4.0)), 18.25);
}

/// Runs that are drawn anew for each comparison, with as many on each side as five of each asked for.
#[test]
fn what_is_asked_for_finds_the_change_in_95_of_100() {
    let mut random = Random(13);
    for deviation in [2.0, 3.0] {
        let mut side =
            |runs: usize, mean: f64| -> Vec<f64> { (0..runs).map(|_| mean + deviation * random.normal()).collect() };
        let mut found = 0;
        for _ in 0..400 {
            let pilots = sums(&side(5, 100.0), &side(5, 105.0), 0.5);
            let certainty = Certainty::of(&[], &pilots, 25, Busy::default());
            let runs = certainty.runs_needed(&pilots, 5.0).expect("a number of runs") as usize;
            let row = sums(&side(runs, 100.0), &side(runs, 105.0), 0.5);
            found += u32::from(estimate(&row, 25).certain);
        }
        // 95 % of 400 less 5 σ.
        assert!(found >= 358, "{found} of 400");
    }
}

/// Numbers from a seed, the same in every run of the tests: the first of PCG's family (O'Neill 2014).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = (((self.0 >> 18) ^ self.0) >> 27) as u32;
        f64::from(word.rotate_right((self.0 >> 59) as u32)) / f64::from(u32::MAX)
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

#[test]
fn the_runs_that_are_asked_for_tell() {
    let row = sums(&[100.0, 102.0, 98.0], &[100.0, 101.0, 99.0], 1.0);
    let certainty = Certainty::of(&[], &row, 10, Busy::default());
    let runs = certainty.runs_needed(&row, 5.0).expect("a number of runs");
    let noise = certainty.advised_variance(&row);
    let errors = |runs: u32| 5.0 / (noise * 2.0 / f64::from(runs)).sqrt();
    let needed = |runs: u32| found(10, 2 * runs as usize - 2);
    assert!(errors(runs) >= needed(runs) && runs >= ADVISED_RUNS_MIN);
    assert!(runs == ADVISED_RUNS_MIN || errors(runs - 1) < needed(runs - 1));
    assert_eq!(certainty.runs_needed(&row, 0.0), None);
    assert_eq!(certainty.runs_needed(&row, 1e-6), None, "no number of runs would do");
    assert!(certainty.runs_needed(&row, 1.0) > Some(runs));
}

#[test]
fn longer_runs_help_where_samples_are_few_alone() {
    let few = sums(&[100.0; 10], &[100.0; 10], 5.0);
    let certainty = Certainty::of(&[], &few, 10, Busy::default());
    let times = certainty.times_longer(&few, 5.0).expect("more samples tell");
    assert!((5.0..50.0).contains(&times), "{times}");
    let restless = sums(&[90.0, 110.0, 95.0, 105.0], &[90.0, 110.0, 95.0, 105.0], 0.1);
    let one = sums(&[100.0], &[100.0], 5.0);
    assert_eq!(Certainty::of(&[], &restless, 10, Busy::default()).times_longer(&restless, 5.0), None);
    assert_eq!(
        Certainty::of(&[], &one, 10, Busy::default()).times_longer(&one, 5.0),
        None,
        "nothing is known of other runs"
    );
}

#[test]
fn fewer_longer_runs_do_as_well() {
    for (before, after) in [(vec![100.0], vec![100.0]), (vec![100.0; 3], vec![100.0; 3])] {
        let row = sums(&before, &after, 8.0);
        let of = |row: &Sums| Certainty::of(&[], row, 10, Busy::default());
        let runs = of(&row).runs_needed(&row, 5.0).expect("a number of runs");
        let longer_than = |longest_ns: u64| of(&row).fewer_longer(&row, 5.0, runs, longest_ns);
        let longer = longer_than(1_000_000_000).expect("more samples tell");
        assert!((LONGER_RUNS_MIN..runs).contains(&longer.runs) && longer.times > 1.0, "{longer:?}, not {runs}");
        assert!(longer.times <= TIMES_LONGER_MAX, "{longer:?}");
        // Runs of that length, and a thousandth longer.
        let same = sums(&before, &after, 8.0 / (longer.times * 1.001).sqrt());
        assert_eq!(of(&same).runs_needed(&same, 5.0), Some(longer.runs));
        // Of runs of 40 s more are asked for, none of which is longer than two minutes; of runs of two minutes none.
        let of_long = longer_than(40_000_000_000).expect("more samples tell");
        assert!(of_long.times <= 3.0 && of_long.runs > longer.runs, "{of_long:?}, not {longer:?}");
        assert_eq!(longer_than(120_000_000_000), None);
    }
}

/// What made all runs of one side slower is in no run of it: no number of runs tells a change that is less.
#[test]
fn a_machine_that_was_busier_on_one_side_is_in_the_advice() {
    let row = sums(&[100.0; 10], &[100.0; 10], 1.0);
    let of = |after: f64| Certainty::of(&[], &row, 10, Busy { before: 0.0, after });
    let idle = of(0.0).runs_needed(&row, 5.0).expect("a number of runs");
    assert!(of(0.03).runs_needed(&row, 5.0) > Some(idle));
    let busy = of(0.4);
    assert!(!busy.estimate(&sums(&[100.0; 10], &[105.0; 10], 1.0), true).certain);
    assert_eq!(busy.runs_needed(&row, 5.0), None);
    assert_eq!(busy.times_longer(&row, 5.0), None);
    // A side has more in no sample than the change.
    let uncovered = of(0.0).with_uncovered(6.0);
    assert_eq!((uncovered.runs_needed(&row, 5.0), uncovered.times_longer(&row, 5.0)), (None, None));
    // It was recorded longer by more than the change, and by a part of it.
    let longer = of(0.0).with_longer(0.06);
    assert_eq!((longer.runs_needed(&row, 5.0), longer.times_longer(&row, 5.0)), (None, None));
    assert_eq!(longer.fewer_longer(&row, 5.0, 1_000, 1_000_000_000), None);
    assert!(of(0.0).with_longer(0.02).runs_needed(&row, 5.0) > Some(idle));
}
