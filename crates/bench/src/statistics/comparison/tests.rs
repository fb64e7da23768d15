//! Whether intervals are what they are said to be: beside Student's *t*, and by simulations of machines that are restless in several ways.
//! Numbers come from seeds, so each run of the tests is the same.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Comparison, ROUNDS_MIN, Ratio, all_pairs};

struct Machine {
    random: fastrand::Rng,
    noise: Noise,
    /// What it does by itself, in runs.
    drift: f64,
    runs: f64,
}

#[derive(Clone, Copy, Debug)]
enum Noise {
    /// Normal, 2 %.
    Even,
    /// Every tenth run takes up to twice as long.
    Spikes,
    /// Even, and the machine becomes 1 % slower with each run.
    Steady,
    /// Even, and each run begins where the machine was left: a random walk of 2 % steps.
    Walk,
}

const NOISES: [Noise; 4] = [Noise::Even, Noise::Spikes, Noise::Steady, Noise::Walk];

impl Machine {
    fn new(seed: u64, noise: Noise) -> Machine {
        Machine { random: fastrand::Rng::with_seed(seed), noise, drift: 0.0, runs: 0.0 }
    }

    /// Another comparison begins.
    fn rest(&mut self) {
        self.drift = 0.0;
        self.runs = 0.0;
    }

    /// Twelve even numbers are as good as a normal one.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.random.f64()).sum::<f64>() - 6.0
    }

    fn run(&mut self, time: f64) -> f64 {
        self.runs += 1.0;
        let even = 1.0 + 0.02 * self.normal();
        match self.noise {
            Noise::Even => time * even,
            Noise::Spikes if self.random.f64() < 0.1 => time * (even + self.random.f64()),
            Noise::Spikes => time * even,
            Noise::Steady => time * even * (1.0 + 0.01 * self.runs),
            Noise::Walk => {
                self.drift += 0.02 * self.normal();
                time * even * self.drift.exp()
            }
        }
    }

    /// Forward and backward by turns, as `running::rounds` does.
    fn rounds(&mut self, commands: &[f64], rounds: usize) -> Vec<Vec<f64>> {
        let mut times = vec![Vec::new(); commands.len()];
        for round in 0..rounds {
            for position in 0..commands.len() {
                let command = if round % 2 == 0 { position } else { commands.len() - 1 - position };
                let time = self.run(commands[command]);
                times[command].push(time);
            }
        }
        times
    }
}

fn two(times: &[Vec<f64>]) -> Ratio {
    Comparison::of(times, &all_pairs(2)).ratio(0, 1).unwrap()
}

/// With fewer draws, for comparisons by the hundred.
fn quick(times: &[Vec<f64>], pairs: &[(usize, usize)]) -> Comparison {
    Comparison::with_draws(times, pairs, 499)
}

#[test]
fn the_ratio_is_that_of_the_means() {
    let times =
        [vec![10.0, 12.0, 11.0, 9.0, 10.0, 10.5, 10.5, 9.0], vec![20.0, 21.0, 19.5, 20.5, 21.0, 18.0, 20.5, 20.0]];
    let found = two(&times);
    assert!((found.ratio - 160.5 / 82.0).abs() < 1e-12, "{found:?}");
    let (low, high) = found.interval.unwrap();
    assert!(low < found.ratio && found.ratio < high && low > 1.2, "{found:?}");
    assert!(((low * high).sqrt() - found.ratio).abs() < 1e-12, "as far to each side, in proportion");
}

/// Of many normal blocks the bootstrap's factor is Student's: 1.972 of 199 degrees of freedom (published tables: 1.9720).
#[test]
fn of_many_even_rounds_the_factor_is_students() {
    let mut machine = Machine::new(1, Noise::Even);
    let times = machine.rounds(&[100.0, 100.0], 400);
    let found = Comparison::of(&times, &all_pairs(2));
    let factor = found.factor.unwrap();
    assert!((factor - 1.972).abs() < 0.06, "{factor}");
    // The deviation of one block's ratio: 2 % of each of four runs, halved in each mean.
    let spread = found.ratio(0, 1).unwrap().spread;
    assert!((spread - 0.02).abs() < 0.003, "{spread}");
}

#[test]
fn a_steady_drift_cancels() {
    // Without any noise: run number n takes 100 + n.
    let mut machine = 0.0;
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..10 {
        for command in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            times[command].push(100.0 + machine);
            machine += 1.0;
        }
    }
    assert!((two(&times).ratio - 1.0).abs() < 1e-12);
    // One command after the other, as the order of hyperfine's runs is, would have been off by 9 %.
    let one_after_other = (110..120).sum::<i32>() as f64 / (100..110).sum::<i32>() as f64;
    assert!(one_after_other > 1.09);
}

#[test]
fn equal_commands_seldom_differ() {
    let mut without_spikes = 0;
    for noise in NOISES {
        for rounds in [ROUNDS_MIN, 10, 30] {
            let mut machine = Machine::new(5 + rounds as u64, noise);
            let trials = 400;
            let shown = (0..trials).filter(|_| {
                machine.rest();
                quick(&machine.rounds(&[100.0, 100.0], rounds), &all_pairs(2)).ratio(0, 1).unwrap().is_shown()
            });
            // 5 % are 20; five standard deviations (4.4) above.
            let shown = shown.count();
            assert!(shown <= 42, "{noise:?}, {rounds} rounds: {shown} of {trials}");
            // With spikes fewer than 5 % differ.
            without_spikes += if matches!(noise, Noise::Spikes) { 0 } else { shown };
        }
    }
    // 5 % are 180; five standard deviations (13.1) above. 8 % would be 288.
    assert!(without_spikes <= 245, "{without_spikes} of 3600");
}

#[test]
fn of_four_equal_commands_none_differs_in_most_comparisons() {
    let mut machine = Machine::new(3, Noise::Even);
    let shown = (0..200).filter(|_| {
        let found = quick(&machine.rounds(&[100.0; 4], 20), &all_pairs(4));
        all_pairs(4).iter().any(|(one, other)| found.ratio(*one, *other).unwrap().is_shown())
    });
    // 5 % are 10; five standard deviations (3.1) above.
    let shown = shown.count();
    assert!(shown <= 25, "{shown} of 200");
}

#[test]
fn a_planted_difference_is_found_and_its_interval_holds_it() {
    for noise in [Noise::Even, Noise::Steady, Noise::Walk] {
        let mut machine = Machine::new(9, noise);
        let (mut shown, mut held) = (0, 0);
        for _ in 0..200 {
            machine.rest();
            let found = quick(&machine.rounds(&[100.0, 105.0], 30), &all_pairs(2)).ratio(0, 1).unwrap();
            let (low, high) = found.interval.unwrap();
            shown += usize::from(low > 1.0);
            held += usize::from(low <= 1.05 && 1.05 <= high);
        }
        // By Student's t of 15 blocks with a deviation of 2 % (of a walk: 4 %) nearly all are found.
        assert!(shown >= 180, "{noise:?}: {shown} of 200");
        assert!(held >= 175, "{noise:?}: {held} of 200 hold it");
    }
}

#[test]
fn few_rounds_and_no_times_tell_nothing() {
    let some = vec![10.0, 11.0, 10.0, 11.0, 10.0, 11.0, 10.0];
    assert!(some.len() < ROUNDS_MIN);
    let found = two(&[some.clone(), some.iter().map(|time| time * 2.0).collect()]);
    assert_eq!((found.ratio, found.interval, found.is_shown()), (2.0, None, false));
    let none = Comparison::of(&[vec![0.0; 10], vec![1.0; 10]], &all_pairs(2));
    assert_eq!(none.ratio(0, 1), None);
    // The last round has no partner, and counts.
    let odd = two(&[vec![1.0; 9], [vec![2.0; 8], vec![11.0]].concat()]);
    assert!((odd.ratio - 3.0).abs() < 1e-12 && odd.blocks == 4);
}

/// Two of these four blocks nearly agree, so that draws of those alone have an error of next to nothing.
#[test]
fn few_rounds_show_what_is_plain() {
    let slow = vec![1.35, 0.86, 1.1, 1.12, 1.3, 1.25, 1.1, 1.19];
    let fast = vec![0.022, 0.059, 0.036, 0.037, 0.03, 0.05, 0.031, 0.04];
    let (low, high) = two(&[fast, slow]).interval.unwrap();
    assert!(15.0 < low && high < 60.0, "{low} to {high}");
}

#[test]
fn nearly_equal_times_and_one_far_one_have_an_interval_without_an_end() {
    // Most draws have no block of the far run, and a tiny error.
    let fast: Vec<f64> = (0..20).map(|run| 1.0 + f64::from(run) * 1e-12).collect();
    let slow: Vec<f64> = (0..20).map(|run| if run == 0 { 3.0 } else { 1.0 }).collect();
    let found = two(&[fast, slow]);
    assert_eq!((found.interval, found.is_shown()), (Some((0.0, f64::INFINITY)), false));
}

#[test]
fn the_same_times_give_the_same_interval() {
    let times = Machine::new(4, Noise::Spikes).rounds(&[100.0, 101.0], 20);
    assert_eq!(two(&times), two(&times));
}

/// What docs/bench.md says of machines. Student's *t* judges the same two commands measured one after the other.
#[test]
#[ignore = "a table for docs/bench.md, which judges nothing"]
#[expect(clippy::print_stdout, reason = "the table")]
fn how_often_equal_commands_seem_to_differ() {
    const COMPARISONS: usize = 1_000;
    println!("| the machine | rounds | `genba bench` | one after the other, *t* test |\n|---|---|---|---|");
    for noise in NOISES {
        for rounds in [ROUNDS_MIN, 10, 30] {
            let mut machine = Machine::new(5 + rounds as u64, noise);
            let (mut in_turns, mut in_rows) = (0, 0);
            for _ in 0..COMPARISONS {
                machine.rest();
                in_turns += usize::from(two(&machine.rounds(&[100.0, 100.0], rounds)).is_shown());
                machine.rest();
                let mut row = || (0..rounds).map(|_| machine.run(100.0)).collect::<Vec<f64>>();
                in_rows += usize::from(student_differs(&row(), &row()));
            }
            let percent = |shown: usize| shown as f64 * 100.0 / COMPARISONS as f64;
            println!("| {noise:?} | {rounds} | {:.1} % | {:.1} % |", percent(in_turns), percent(in_rows));
        }
    }
}

/// Two means of as many runs each, at 5 %.
fn student_differs(one: &[f64], other: &[f64]) -> bool {
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let squares = |times: &[f64]| times.iter().map(|time| (time - mean(times)).powi(2)).sum::<f64>();
    let freedom = (one.len() + other.len() - 2) as f64;
    let error =
        ((squares(one) + squares(other)) / freedom * (1.0 / one.len() as f64 + 1.0 / other.len() as f64)).sqrt();
    let quantile = StudentsT::new(0.0, 1.0, freedom).unwrap().inverse_cdf(0.975);
    (mean(one) - mean(other)).abs() > quantile * error
}
