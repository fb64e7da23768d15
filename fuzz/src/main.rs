//! Feeds the readers of recordings and of other profilers' files, and what makes a page of them, with damaged and random bytes: `cargo run -p genba-fuzz -- --seconds 60 --seed 1`.
//! Owns: the loop, its clock and its words. Never: remembers anything from one input to the next, so that an input
//! is made again from its seed and number alone.
#![forbid(unsafe_code)]

mod judge;
mod mutation;
mod random;
mod shown;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use random::Random;

/// The golden recordings of all format versions.
const GOLDEN: &[&[u8]] = &[
    include_bytes!("../../testdata/golden/v1.genba"),
    include_bytes!("../../testdata/golden/v2.genba"),
    include_bytes!("../../testdata/golden/v3.genba"),
];

/// Files of other profilers.
const FOREIGN: &[&[u8]] = &[
    include_bytes!("../../testdata/imports/format-7-lines-memory.vmprof"),
    include_bytes!("../../testdata/imports/format-7-native.vmprof"),
    include_bytes!("../../testdata/imports/format-7-plain.vmprof.gz"),
    include_bytes!("../../testdata/imports/format-7-plain.vmprof.bz2"),
    include_bytes!("../../testdata/imports/format-6-threads.vmprof"),
    include_bytes!("../../testdata/imports/py-spy.txt"),
    include_bytes!("../../testdata/imports/cprofile-2.7.18.prof"),
    include_bytes!("../../testdata/imports/cprofile-3.13.0.prof"),
    include_bytes!("../../testdata/imports/cprofile-pypy-3.9.prof"),
    include_bytes!("../../testdata/imports/profile-3.13.0.prof"),
    include_bytes!("../../testdata/imports/sampled-3.15.2.prof"),
    include_bytes!("../../testdata/imports/genba-3.13.0.prof"),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let plan = match Plan::from_arguments(&arguments) {
        Ok(plan) => plan,
        Err(text) => {
            eprintln!("error: {text}\nhint: genba-fuzz [--seconds N | --inputs N | --input N] [--seed N]");
            return ExitCode::from(2);
        }
    };
    let seeds = mutation::Seeds::from_files(GOLDEN, FOREIGN);
    let total = match plan.amount {
        Amount::Seconds(seconds) => run(&seeds, plan.seed, 0..u64::MAX, Some(Duration::from_secs(seconds))),
        Amount::Inputs(count) => run(&seeds, plan.seed, 0..count, None),
        Amount::Only(number) => run(&seeds, plan.seed, number..number.saturating_add(1), None),
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
    seed: u64,
    amount: Amount,
}

enum Amount {
    Seconds(u64),
    /// The first so many, however long they take.
    Inputs(u64),
    /// The one of this number.
    Only(u64),
}

impl Plan {
    fn from_arguments(arguments: &[String]) -> Result<Plan, String> {
        let mut plan = Plan { seed: 1, amount: Amount::Seconds(60) };
        for pair in arguments.chunks(2) {
            let [name, value] = pair else {
                return Err(format!("{} needs a number", pair[0]));
            };
            let number: u64 = value.parse().map_err(|_| format!("{name} needs a number, found `{value}`"))?;
            match name.as_str() {
                "--seconds" => plan.amount = Amount::Seconds(number),
                "--seed" => plan.seed = number,
                "--inputs" => plan.amount = Amount::Inputs(number),
                "--input" => plan.amount = Amount::Only(number),
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

    /// In the short form a few: `make fuzz` feeds tens of thousands.
    #[test]
    fn the_first_inputs_are_answered() {
        let seeds = mutation::Seeds::from_files(GOLDEN, FOREIGN);
        let inputs = if std::env::var_os("GENBA_SOAK").is_some() { 10_000 } else { 250 };
        let total = run(&seeds, 20, 0..inputs, None);
        let problems: Vec<_> = total.problems.iter().map(|problem| &problem.text).collect();
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(total.inputs, inputs);
        assert!(total.faults > 0);
    }

    #[test]
    fn an_input_is_made_again_from_seed_and_number() {
        let seeds = mutation::Seeds::from_files(GOLDEN, FOREIGN);
        let make = |seed, number| seeds.input(&mut Random::new(seed, number));
        assert_eq!(make(3, 70), make(3, 70));
        assert_ne!(make(3, 70), make(3, 71));
        assert_ne!(make(3, 70), make(4, 70));
    }
}
