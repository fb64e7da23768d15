//! A laboratory of programs whose truth is known: calls in random order, recorded again and again, with nothing changed or with one function slower.
//! Keeps: a comparison of equal programs claims something in no more than 2 of 100. docs/reading/diff.md has the table of
//! `GENBA_PAIRS=400 cargo test --release -p genba-profile laboratory -- --nocapture`.

use crate::compared::run;
use crate::random::Random;
use genba_profile::difference::Subject;
use genba_profile::difference_view::{Run, comparison};
use genba_profile::filter::Filter;
use genba_profile::glob::Glob;
use genba_profile::weight::Weight;
use genba_profile::window::Window;
use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF};

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// Calls in random order, from the first to the last.
    Even,
    /// Three phases with other shares.
    Phases,
    /// Two phases, each with functions that the other one does not have.
    Apart,
    /// Shares that change little by little.
    Drift,
    /// Lambdas, of which nothing but their lines tells which is which.
    Lambdas,
    /// Each call waits as long as it computes.
    Waits,
    /// A thread lives for a few calls.
    Threads,
    /// Two processes.
    Processes,
    /// Up to a twentieth of the CPU is in no sample, in each run another part.
    Uncovered,
    /// Of a file that tells no time: samples are counted.
    Clockless,
}

#[derive(Clone, Copy)]
struct Program {
    shape: Shape,
    /// Samples in a call.
    burst: u32,
    samples: u32,
}

/// Recordings before and after.
const SIDES: [(u64, u64); 3] = [(1, 1), (1, 5), (3, 3)];

/// With the shares of their time. No change, or a change of one of the first three.
const FUNCTIONS: [(&str, f64); 4] = [("most", 0.60), ("some", 0.20), ("few", 0.05), ("rest", 0.15)];

#[derive(Clone, Copy)]
struct Change {
    function: usize,
    part: f64,
}

impl Program {
    /// A program comes to each function some ten times, in each quarter of a run, too: nobody can know how often it will come to one that it came to once or twice.
    fn of(shape: Shape, burst: u32) -> Program {
        Program { shape, burst, samples: (400 * burst).max(1600) }
    }

    /// Too short for that.
    fn short(burst: u32) -> Program {
        Program { shape: Shape::Even, burst, samples: 1600 }
    }

    fn named(self) -> String {
        let calls = match self.burst {
            1 => "calls of 1 sample".to_string(),
            burst => format!("calls of {burst} samples"),
        };
        match self.shape {
            Shape::Even => calls,
            Shape::Phases => format!("{calls}, three phases"),
            Shape::Apart => format!("{calls}, each in one of two phases"),
            Shape::Drift => format!("{calls}, drifting"),
            Shape::Lambdas => format!("{calls}, lambdas"),
            Shape::Waits => format!("{calls}, as long waits"),
            Shape::Threads => format!("{calls}, short threads"),
            Shape::Processes => format!("{calls}, two processes"),
            Shape::Uncovered => format!("{calls}, unequal coverage"),
            Shape::Clockless => format!("{calls}, no clocks"),
        }
    }

    fn shares(self, part_of_run: f64) -> [f64; 4] {
        let [most, some, few, rest] = FUNCTIONS.map(|(_, share)| share);
        if self.shape == Shape::Apart {
            return if part_of_run < 0.5 { [0.80, 0.0, few, rest] } else { [0.0, 0.60, few, 0.35] };
        }
        // What moves from one to another is as much in one half as it is less in the other.
        let moved = match self.shape {
            Shape::Phases if part_of_run < 0.25 => 0.15,
            Shape::Phases if part_of_run < 0.75 => -0.15,
            Shape::Phases => 0.15,
            Shape::Drift => 0.3 * (part_of_run - 0.5),
            _ => 0.0,
        };
        [most + moved, some - moved, few, rest]
    }

    /// Of the whole run.
    fn share(self, function: usize) -> f64 {
        f64::midpoint(self.shares(0.25)[function], self.shares(0.75)[function])
    }

    fn text(self, random: &mut Random, key: u32, change: Option<Change>) -> String {
        let mut text = format!("process 7 3.13.0 cwd=/app key={}\n", key % 120 + 1);
        let calls = self.samples / self.burst;
        let missed = if self.shape == Shape::Uncovered { 0.05 * random.next() } else { 0.0 };
        let mut uncovered = 0;
        for at in 0..calls {
            match self.shape {
                Shape::Threads => text += &format!("thread {} worker\n", 1000 + at * self.burst / 100),
                Shape::Processes if at == calls / 2 => {
                    text += &format!("process 9 3.13.0 cwd=/app parent=7 key={}\n", key % 120 + 121);
                }
                Shape::Processes => {}
                _ if random.next() < 0.6 => text += "thread 7 main\n",
                _ => text += "thread 8 worker\n",
            }
            let mut chosen = random.next();
            let shares = self.shares(f64::from(at) / f64::from(calls));
            let function = shares.iter().take(3).position(|share| {
                chosen -= share;
                chosen < 0.0
            });
            let function = function.unwrap_or(3);
            let part = change.filter(|change| change.function == function).map_or(0.0, |change| change.part);
            let samples = random.rounded(f64::from(self.burst) * (1.0 + part));
            let seen = (0..samples).filter(|_| random.next() >= missed).count() as u32;
            uncovered += samples - seen;
            let (line, body) = (9 + function, 2 * function + 2);
            let name = match self.shape {
                Shape::Lambdas => format!("<lambda>^{body}"),
                _ => FUNCTIONS[function].0.to_string(),
            };
            if seen > 0 {
                text += &format!("main@app.py:{line} > {name}@app.py:{body} x{seen}\n");
            }
            if self.shape == Shape::Waits {
                text +=
                    &format!("main@app.py:{line} > {name}@app.py:{body} > poll[libc.so.6] x1 poll ticks={samples}\n");
            }
        }
        if uncovered > 0 {
            // Each sample is 1.6 ms.
            text += &format!("unsampled {}ms\n", uncovered * 16 / 10);
        }
        text
    }

    fn run(self, random: &mut Random, key: u32, filter: &Filter, change: Option<Change>) -> Run {
        run(&format!("{key}.genba"), &self.text(random, key, change), filter)
    }

    fn weight(self) -> Option<Weight> {
        match self.shape {
            Shape::Waits => Some(Weight::Wall),
            Shape::Clockless => Some(Weight::Samples),
            _ => None,
        }
    }

    /// A quarter of the run.
    fn window(self) -> Window {
        let span_us = u64::from(self.samples) * 1600;
        Window { start_ns: span_us * 250, end_ns: Some(span_us * 500) }
    }
}

/// Without a filter, and with each that leaves something out of such a program.
fn filters(program: Program) -> Vec<(&'static str, Filter)> {
    let focus = Filter { focus: Some(regex::Regex::new("^most$").expect("a pattern")), ..Filter::default() };
    // Short threads have one name.
    let name = if program.shape == Shape::Threads { "10?5" } else { "worker" };
    let thread = Filter { threads: vec![Glob::new(name).expect("a name")], ..Filter::default() };
    let time = Filter { window: Some(program.window()), ..Filter::default() };
    let all = [("", Filter::default()), (", --focus", focus), (", --thread", thread), (", --time", time)];
    let leaves_something_out = |name: &str| match program.shape {
        Shape::Lambdas => name != ", --focus",
        Shape::Processes => name != ", --thread",
        _ => true,
    };
    all.into_iter().filter(|one| leaves_something_out(one.0)).collect()
}

/// As many as are asked for.
fn pairs() -> Option<usize> {
    std::env::var("GENBA_PAIRS").ok().and_then(|pairs| pairs.parse().ok())
}

fn claims_anything(runs: &[Run], before: usize, weight: Option<Weight>) -> bool {
    let all = comparison(&runs[..before], &runs[before..], weight);
    let found = &all.difference;
    found.whole.certain || found.rows.iter().chain(&found.functions).any(|row| row.estimate.certain)
}

/// Of so many recordings each.
fn comparisons(recordings: u64) -> usize {
    pairs().unwrap_or(if recordings > 2 { 4 } else { 16 })
}

/// So many of a count that more would happen once in 2,000 times if 2 % were true. With 400 or more: so few that 4 % is more than what may be true
/// (the upper end of a 95 % interval, Clopper and Pearson 1934).
fn is_within(claimed: usize, of: usize) -> bool {
    if of >= 400 {
        let upper =
            Beta::new(claimed as f64 + 1.0, (of - claimed) as f64).expect("two numbers above 0").inverse_cdf(0.975);
        return upper <= 0.04;
    }
    let by_chance = Binomial::new(0.02, of as u64).expect("a share");
    claimed == 0 || by_chance.sf(claimed as u64 - 1) > 5e-4
}

#[test]
fn laboratory_of_equal_programs() {
    let with_filters = |program: Program| {
        let all = filters(program).into_iter();
        all.map(move |(name, filter)| (format!("{}{name}", program.named()), program, filter))
    };
    let mut cells: Vec<(String, Program, Filter)> = Vec::new();
    for burst in [1, 8, 20, 60, 200] {
        let is_short = pairs().is_none() && burst != 8;
        cells.extend(with_filters(Program::of(Shape::Even, burst)).take(if is_short { 1 } else { usize::MAX }));
    }
    let others = [
        Shape::Phases,
        Shape::Apart,
        Shape::Drift,
        Shape::Lambdas,
        Shape::Waits,
        Shape::Threads,
        Shape::Processes,
        Shape::Uncovered,
    ];
    for shape in others {
        let program = Program::of(shape, 8);
        cells.push((program.named(), program, Filter::default()));
    }
    let program = Program::of(Shape::Apart, 60);
    if pairs().is_some() {
        cells.push((program.named(), program, Filter::default()));
    }
    let program = Program::of(Shape::Processes, 8);
    let process = Filter { processes: vec![Glob::new("9").expect("a pid")], ..Filter::default() };
    cells.push((format!("{}, --process", program.named()), program, process));
    // A cell's seed is its place: what is new comes behind the others.
    let program = Program::of(Shape::Clockless, 8);
    cells.push((program.named(), program, Filter::default()));
    for shape in others.into_iter().filter(|_| pairs().is_some()) {
        // Without a filter it is there.
        cells.extend(with_filters(Program::of(shape, 8)).skip(1));
    }
    let mut failed = Vec::new();
    for (seed, (name, program, filter)) in cells.iter().enumerate() {
        for (before, after) in SIDES {
            // Six runs of the longest calls are half a million samples.
            if pairs().is_none() && program.burst == 200 && before + after > 2 {
                continue;
            }
            let comparisons = comparisons(before + after);
            let mut random = Random(seed as u64 * 1_000 + before * 10 + after);
            let claimed = (0..comparisons).filter(|_| {
                let runs: Vec<Run> =
                    (0..before + after).map(|at| program.run(&mut random, at as u32, filter, None)).collect();
                claims_anything(&runs, before as usize, program.weight())
            });
            let claimed = claimed.count();
            println!("| {name} | {before} + {after} | {claimed} of {comparisons} |");
            if !is_within(claimed, comparisons) {
                failed.push(format!("{name}, {before} + {after}: {claimed} of {comparisons}"));
            }
        }
    }
    for program in [60, 200].map(Program::short).into_iter().filter(|_| pairs().is_some()) {
        let mut random = Random(u64::from(program.burst));
        let comparisons = pairs().unwrap_or_default();
        let claimed = (0..comparisons).filter(|_| {
            let runs = [0, 1].map(|at| program.run(&mut random, at, &Filter::default(), None));
            claims_anything(&runs, 1, None)
        });
        let (calls, claimed) = (program.samples / program.burst, claimed.count());
        println!("| {}, {calls} calls | 1 + 1 | {claimed} of {comparisons} |", program.named());
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// A few samples of a longer tick say as much time as many of a short one.
#[test]
fn laboratory_of_equal_programs_at_unequal_rates() {
    for ticks in [5, 20, 80] {
        let program = Program::of(Shape::Even, 1);
        let mut random = Random(u64::from(ticks));
        let mut claimed = 0;
        let comparisons = pairs().unwrap_or(100);
        for at in 0..comparisons / 2 {
            let fine = program.text(&mut random, 2 * at as u32, None);
            let few = coarse(&program.text(&mut random, 2 * at as u32 + 1, None), ticks);
            let (fine, few) =
                (|| run("fine.genba", &fine, &Filter::default()), || run("few.genba", &few, &Filter::default()));
            claimed += usize::from(claims_anything(&[fine(), few()], 1, None));
            claimed += usize::from(claims_anything(&[few(), fine()], 1, None));
        }
        println!("| calls of 1 sample, one side with a sample of {ticks} | 1 + 1 | {claimed} of {comparisons} |");
        assert!(is_within(claimed, comparisons), "one sample of {ticks}: {claimed} of {comparisons}");
    }
}

/// A recording of calls of one sample, with only every `ticks`th sample: its tick is that many times as long.
fn coarse(text: &str, ticks: u32) -> String {
    let mut lines = text.lines();
    let process = lines.next().unwrap_or_default();
    let pairs: Vec<&str> = lines.collect();
    let calls = pairs.chunks_exact(2).step_by(ticks as usize);
    let kept = calls.flatten().map(|line| match line.strip_suffix(" x1") {
        Some(call) => format!("{call} x1 every={ticks}\n"),
        None => format!("{line}\n"),
    });
    format!("{process}\n{}", kept.collect::<String>())
}

/// What is beside the program on one side of a comparison.
#[derive(Clone, Copy)]
enum Unlike {
    /// A quarter of the samples, each of so much more time.
    Rate,
    /// The same from the middle of the run on, as where the budget is used up.
    Budget,
    /// Each run waits for a CPU in 40 % of its time, and each function takes up to 10 % longer: in all runs of the side as much.
    Busy,
}

impl Unlike {
    fn name(self) -> &'static str {
        match self {
            Unlike::Rate => "a quarter of them on one side",
            Unlike::Budget => "a quarter of them on one side from its middle on",
            Unlike::Busy => "a busy machine on one side",
        }
    }

    /// `longer`: how much of those 10 %, of each function.
    fn recorded(self, text: &str, longer: [f64; 4], random: &mut Random) -> String {
        match self {
            Unlike::Rate => coarser(text, 4, 0.0),
            Unlike::Budget => coarser(text, 4, 0.5),
            Unlike::Busy => busier(text, longer, random),
        }
    }
}

/// A recording with only every `ticks`th sample, from that part of its lines on.
fn coarser(text: &str, ticks: u32, from: f64) -> String {
    let first = (text.lines().count() as f64 * from) as usize;
    let (mut coarse, mut passed) = (String::new(), 0);
    for (at, line) in text.lines().enumerate() {
        let call = line.rsplit_once(" x").filter(|_| at >= first);
        let Some((call, samples)) = call else {
            coarse += &format!("{line}\n");
            continue;
        };
        let samples: u32 = samples.parse().expect("a number of samples");
        let kept = (passed + samples) / ticks - passed / ticks;
        passed += samples;
        if kept > 0 {
            coarse += &format!("{call} x{kept} every={ticks}\n");
        }
    }
    coarse
}

/// The same work on a machine that others use, too.
fn busier(text: &str, longer: [f64; 4], random: &mut Random) -> String {
    let (mut busy, mut all) = (String::new(), 0);
    for line in text.lines() {
        let called = line.rsplit_once(" x").zip(FUNCTIONS.iter().position(|function| line.contains(function.0)));
        let Some(((call, samples), function)) = called else {
            busy += &format!("{line}\n");
            continue;
        };
        let samples: f64 = samples.parse().expect("a number of samples");
        let samples = random.rounded(samples * (1.0 + 0.1 * longer[function]));
        all += samples;
        busy += &format!("{call} x{samples}\n");
    }
    // Each sample is 1.6 ms.
    let cpu_ms = all * 16 / 10;
    busy + &format!("turns 7 900 {}ms\nended 7 {cpu_ms}ms 0ms\n", cpu_ms * 2 / 3)
}

#[test]
fn laboratory_of_equal_programs_recorded_unlike() {
    let program = Program::of(Shape::Even, 8);
    let mut failed = Vec::new();
    for (seed, unlike) in [Unlike::Rate, Unlike::Budget, Unlike::Busy].into_iter().enumerate() {
        for (before, after) in SIDES {
            let comparisons = comparisons(before + after);
            let mut random = Random(70_000 + seed as u64 * 1_000 + before * 10 + after);
            let claimed = (0..comparisons).filter(|turn| {
                let longer = [0; 4].map(|_| random.next());
                let runs: Vec<Run> = (0..before + after)
                    .map(|at| {
                        let text = program.text(&mut random, at as u32, None);
                        // Each side in its turn.
                        let is_like = (at < before) == (turn % 2 == 0);
                        let text = if is_like { text } else { unlike.recorded(&text, longer, &mut random) };
                        run(&format!("{at}.genba"), &text, &Filter::default())
                    })
                    .collect();
                claims_anything(&runs, before as usize, Some(Weight::Cpu))
            });
            let claimed = claimed.count();
            println!("| {}, {} | {before} + {after} | {claimed} of {comparisons} |", program.named(), unlike.name());
            if !is_within(claimed, comparisons) {
                failed.push(format!("{}, {before} + {after}: {claimed} of {comparisons}", unlike.name()));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// How many comparisons name a function that became slower, and nothing that became faster.
#[test]
fn laboratory_of_slower_programs() {
    let mut found_all = Vec::new();
    let programs = [
        (Shape::Even, 1),
        (Shape::Even, 8),
        (Shape::Even, 60),
        (Shape::Phases, 8),
        (Shape::Apart, 8),
        (Shape::Apart, 60),
        (Shape::Waits, 8),
    ];
    for (shape, burst) in programs {
        if pairs().is_none() && (shape, burst) == (Shape::Apart, 60) {
            continue;
        }
        let program = Program::of(shape, burst);
        for function in [2, 1, 0] {
            for part in [0.05, 0.10, 0.30, 1.00] {
                let mut told = Vec::new();
                for runs in [1, 3, 10] {
                    // 10 + 10 runs take a while: only where somebody asks for many.
                    if pairs().is_none() && (runs > 3 || part < 1.0) {
                        continue;
                    }
                    let comparisons = pairs().map_or(4, |pairs| pairs / 4);
                    let mut random = Random(u64::from(burst) * 100 + function as u64 * 10 + runs);
                    let named = (0..comparisons).filter(|_| {
                        let of = |random: &mut Random, change| -> Vec<Run> {
                            (0..runs).map(|at| program.run(random, at as u32, &Filter::default(), change)).collect()
                        };
                        let (before, after) = (of(&mut random, None), of(&mut random, Some(Change { function, part })));
                        names(&comparison(&before, &after, program.weight()), FUNCTIONS[function].0)
                    });
                    let named = named.count();
                    told.push(format!("{named} of {comparisons}"));
                    found_all.push((program.burst, function, part, runs, named, comparisons));
                }
                let (name, share) = (FUNCTIONS[function].0, program.share(function));
                if !told.is_empty() {
                    println!(
                        "| {} | {name}: {:.0} % | +{:.0} % | {} |",
                        program.named(),
                        share * 100.0,
                        part * 100.0,
                        told.join(" | ")
                    );
                }
            }
        }
    }
    // Twice as long, and three fifths of the time: no pair of runs of short calls misses that.
    let missed = found_all.iter().find(|(burst, function, part, _, named, comparisons)| {
        *burst <= 8 && *function == 0 && *part >= 1.0 && *named * 10 < *comparisons * 9
    });
    assert_eq!(missed, None);
}

fn names(comparison: &genba_profile::difference_view::Comparison, function: &str) -> bool {
    let found = &comparison.difference;
    let certain: Vec<_> = found.rows.iter().filter(|row| row.estimate.certain).collect();
    let is_named = certain.iter().any(|row| match &row.subject {
        Subject::Code { code, .. } => code.function == function && row.estimate.change() > 0.0,
        Subject::Phase(_) | Subject::NoPython => false,
    });
    is_named && certain.iter().all(|row| row.estimate.change() > 0.0)
}
