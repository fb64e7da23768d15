//! Feeds the reader of recordings with damaged and random bytes: `cargo run -p genba-fuzz -- --seconds 60 --seed 1`.
//! Owns: the loop, its clock and its words. Never: remembers anything from one input to the next, so that an input
//! is made again from its seed and number alone.
#![forbid(unsafe_code)]

mod judge;
mod mutation;
mod random;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use random::Random;

/// The golden recordings of all format versions.
const GOLDEN: &[&[u8]] = &[include_bytes!("../../testdata/golden/v1.genba")];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let plan = match Plan::from_arguments(&arguments) {
        Ok(plan) => plan,
        Err(text) => {
            eprintln!("error: {text}\nhint: genba-fuzz [--seconds N] [--seed N] [--input N]");
            return ExitCode::from(2);
        }
    };
    let seeds = mutation::Seeds::from_recordings(GOLDEN);
    let total = match plan.only_input {
        Some(number) => run(&seeds, plan.seed, number..number + 1, None),
        None => run(&seeds, plan.seed, 0..u64::MAX, Some(Duration::from_secs(plan.seconds))),
    };
    println!("{} inputs, {} faults, {} panics", total.inputs, total.faults, total.panics);
    for problem in &total.problems {
        let Problem { number, text } = problem;
        eprintln!(
            "error: input {number} of seed {}: {text}\nhint: --seed {0} --input {number} runs it alone",
            plan.seed
        );
    }
    if total.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Plan {
    seconds: u64,
    seed: u64,
    only_input: Option<u64>,
}

impl Plan {
    fn from_arguments(arguments: &[String]) -> Result<Plan, String> {
        let mut plan = Plan { seconds: 60, seed: 1, only_input: None };
        for pair in arguments.chunks(2) {
            let [name, value] = pair else {
                return Err(format!("{} needs a number", pair[0]));
            };
            let number: u64 = value.parse().map_err(|_| format!("{name} needs a number, found `{value}`"))?;
            match name.as_str() {
                "--seconds" => plan.seconds = number,
                "--seed" => plan.seed = number,
                "--input" => plan.only_input = Some(number),
                other => return Err(format!("no option `{other}`")),
            }
        }
        Ok(plan)
    }
}

#[derive(Default)]
struct Total {
    inputs: u64,
    faults: u64,
    panics: u64,
    /// The first few inputs the reader answered wrongly.
    problems: Vec<Problem>,
}

struct Problem {
    number: u64,
    text: String,
}

const PROBLEMS_MAX: usize = 5;

fn run(seeds: &mutation::Seeds, seed: u64, numbers: std::ops::Range<u64>, limit: Option<Duration>) -> Total {
    let begin = Instant::now();
    let mut total = Total::default();
    for number in numbers {
        if limit.is_some_and(|limit| begin.elapsed() >= limit) || total.problems.len() == PROBLEMS_MAX {
            break;
        }
        let input = seeds.input(&mut Random::new(seed, number));
        total.inputs += 1;
        match judge::judge(&input) {
            Ok(faults) => total.faults += faults,
            Err(wrong) => {
                total.panics += u64::from(matches!(wrong, judge::Wrong::Panic(_)));
                total.problems.push(Problem { number, text: wrong.to_string() });
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_inputs_are_answered() {
        let seeds = mutation::Seeds::from_recordings(GOLDEN);
        let total = run(&seeds, 20, 0..1_000, None);
        let problems: Vec<_> = total.problems.iter().map(|problem| &problem.text).collect();
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(total.inputs, 1_000);
        assert!(total.faults > 0);
    }

    #[test]
    fn an_input_is_made_again_from_seed_and_number() {
        let seeds = mutation::Seeds::from_recordings(GOLDEN);
        let make = |seed, number| seeds.input(&mut Random::new(seed, number));
        assert_eq!(make(3, 70), make(3, 70));
        assert_ne!(make(3, 70), make(3, 71));
        assert_ne!(make(3, 70), make(4, 70));
    }
}
