//! A laboratory of programs whose truth is known: calls in random order, recorded again and again, with nothing changed or with one function slower.
//! Keeps: a comparison of equal programs claims something in no more than 2 of 100. docs/reading/diff.md has the tables of
//! `GENBA_PAIRS=400 cargo test --release -p genba-profile laboratory -- --nocapture`: what each test prints, make/laboratory.py puts there.

mod pairs;
mod programs;
mod unlike;

use crate::compared::run;
use crate::laboratory::pairs::{counted, pairs};
use crate::laboratory::programs::{Change, FUNCTIONS, Program, Shape, body_line};
use crate::laboratory::unlike::Unlike;
use crate::random::Random;
use genba_profile::difference::call_tree::call_tree;
use genba_profile::difference::{ADVISED_CHANGE, Subject};
use genba_profile::difference_view::{Run, comparison};
use genba_profile::filter::Filter;
use genba_profile::glob::Glob;
use genba_profile::weight::Weight;
use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF};

/// Recordings before and after.
const SIDES: [(u64, u64); 3] = [(1, 1), (1, 5), (3, 3)];

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
            let claimed = counted(comparisons, seed as u64 * 1_000 + before * 10 + after, |_, random| {
                let runs: Vec<Run> =
                    (0..before + after).map(|at| program.run(random, at as u32, filter, None)).collect();
                claims_anything(&runs, before as usize, program.weight())
            });
            println!("| {name} | {before} + {after} | {claimed} of {comparisons} |");
            if !is_within(claimed, comparisons) {
                failed.push(format!("{name}, {before} + {after}: {claimed} of {comparisons}"));
            }
        }
    }
    for program in [60, 200].map(Program::short).into_iter().filter(|_| pairs().is_some()) {
        let comparisons = pairs().unwrap_or_default();
        let claimed = counted(comparisons, u64::from(program.burst), |_, random| {
            let runs = [0, 1].map(|at| program.run(random, at, &Filter::default(), None));
            claims_anything(&runs, 1, None)
        });
        let calls = program.samples / program.burst;
        println!("| {}, {calls} calls | 1 + 1 | {claimed} of {comparisons} |", program.named());
    }
    // Their runs differ by three times as much as what is assumed of a single recording.
    let program = Program::of(Shape::Unequal, 8);
    for (before, after) in SIDES.into_iter().filter(|_| pairs().is_some()) {
        let comparisons = comparisons(before + after);
        let claimed = counted(comparisons, 300_000 + before * 10 + after, |_, random| {
            let runs: Vec<Run> =
                (0..before + after).map(|at| program.run(random, at as u32, &Filter::default(), None)).collect();
            claims_anything(&runs, before as usize, None)
        });
        println!("| {} | {before} + {after} | {claimed} of {comparisons} |", program.named());
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// A few samples of a longer tick say as much time as many of a short one.
#[test]
fn laboratory_of_equal_programs_at_unequal_rates() {
    for ticks in [5, 20, 80] {
        let program = Program::of(Shape::Even, 1);
        let comparisons = pairs().unwrap_or(100);
        let claimed = counted(comparisons, u64::from(ticks), |turn, random| {
            let fine = run("fine.genba", &program.text(random, 1, None), &Filter::default());
            let few = run("few.genba", &coarse(&program.text(random, 2, None), ticks), &Filter::default());
            // Each side in its turn.
            claims_anything(&if turn % 2 == 0 { [fine, few] } else { [few, fine] }, 1, None)
        });
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

#[test]
fn laboratory_of_equal_programs_recorded_unlike() {
    let program = Program::of(Shape::Even, 8);
    let mut failed = Vec::new();
    let filters = filters(program).into_iter().take(if pairs().is_some() { usize::MAX } else { 1 });
    let all = [Unlike::Rate, Unlike::Budget, Unlike::Busy, Unlike::Duration];
    // A cell's seed is its place: those without a filter come first.
    let cells = filters
        .flat_map(|(name, filter)| all.map(|unlike| (format!("{}{name}", unlike.name()), unlike, filter.clone())));
    for (seed, (name, unlike, filter)) in cells.enumerate() {
        for (before, after) in SIDES {
            let comparisons = comparisons(before + after);
            let claimed = counted(comparisons, 70_000 + seed as u64 * 1_000 + before * 10 + after, |turn, random| {
                let longer = [0; 4].map(|_| random.next());
                let runs: Vec<Run> = (0..before + after)
                    .map(|at| {
                        let text = program.text(random, at as u32, None);
                        // Each side in its turn.
                        let is_like = (at < before) == (turn % 2 == 0);
                        let text = if is_like { text } else { unlike.recorded(&text, longer, random) };
                        run(&format!("{at}.genba"), &text, &filter)
                    })
                    .collect();
                claims_anything(&runs, before as usize, Some(Weight::Cpu))
            });
            println!("| {}, {name} | {before} + {after} | {claimed} of {comparisons} |", program.named());
            if !is_within(claimed, comparisons) {
                failed.push(format!("{name}, {before} + {after}: {claimed} of {comparisons}"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The page has a claim for each box of the call tree: they err together as rarely as all rows do.
#[test]
fn laboratory_of_boxes_of_equal_programs() {
    let mut failed = Vec::new();
    for (seed, burst) in [8, 1, 60].into_iter().enumerate().take(if pairs().is_some() { 3 } else { 1 }) {
        let program = Program::of(Shape::Even, burst);
        for (before, after) in SIDES {
            let comparisons = comparisons(before + after);
            let claimed = counted(comparisons, 200_000 + seed as u64 * 1_000 + before * 10 + after, |_, random| {
                let runs: Vec<Run> =
                    (0..before + after).map(|at| program.run(random, at as u32, &Filter::default(), None)).collect();
                let (before, after) = runs.split_at(before as usize);
                let all = comparison(before, after, None);
                call_tree(before, after, &all.difference).boxes.iter().any(|found| found.estimate.certain)
            });
            println!("| {}, boxes of the page | {before} + {after} | {claimed} of {comparisons} |", program.named());
            if !is_within(claimed, comparisons) {
                failed.push(format!("{}, {before} + {after}: {claimed} of {comparisons}", program.named()));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// A program, and how its two sides are recorded and compared.
struct Cell {
    name: String,
    program: Program,
    filter: Filter,
    /// Of the side after the change.
    unlike: Option<Unlike>,
}

impl Cell {
    fn of(program: Program) -> Cell {
        Cell { name: program.named(), program, filter: Filter::default(), unlike: None }
    }

    fn weight(&self) -> Option<Weight> {
        if self.unlike.is_some() { Some(Weight::Cpu) } else { self.program.weight() }
    }

    fn is_plain(&self) -> bool {
        self.name == self.program.named()
    }

    /// Whether the filter leaves out nothing but that function.
    fn lacks(&self, function: usize) -> bool {
        self.filter.focus.as_ref().is_some_and(|focus| !focus.is_match(FUNCTIONS[function].0))
    }

    /// So many recordings of a side.
    fn side(&self, runs: u64, change: Option<Change>, random: &mut Random) -> Vec<Run> {
        let unlike = self.unlike.filter(|_| change.is_some());
        let longer = if unlike.is_some() { [0; 4].map(|_| random.next()) } else { [0.0; 4] };
        (0..runs)
            .map(|at| {
                let text = self.program.text(random, at as u32, change);
                let text = match unlike {
                    Some(unlike) => unlike.recorded(&text, longer, random),
                    None => text,
                };
                run(&format!("{at}.genba"), &text, &self.filter)
            })
            .collect()
    }
}

/// Where a function can become slower. A time of a run that takes longer is another part of its work: it has no cell.
fn cells_of_slower_programs() -> Vec<Cell> {
    let mut programs = vec![
        (Shape::Even, 1),
        (Shape::Even, 8),
        (Shape::Even, 60),
        (Shape::Phases, 8),
        (Shape::Apart, 8),
        (Shape::Waits, 8),
    ];
    if pairs().is_some() {
        let others =
            [Shape::Drift, Shape::Lambdas, Shape::Threads, Shape::Processes, Shape::Uncovered, Shape::Clockless];
        programs.extend([(Shape::Apart, 60), (Shape::Even, 20)]);
        programs.extend(others.map(|shape| (shape, 8)));
    }
    let mut cells: Vec<Cell> = programs.into_iter().map(|(shape, burst)| Cell::of(Program::of(shape, burst))).collect();
    if pairs().is_none() {
        return cells;
    }
    let program = Program::of(Shape::Even, 8);
    let filtered = filters(program).into_iter().filter(|one| [", --focus", ", --thread"].contains(&one.0));
    cells.extend(filtered.map(|(name, filter)| Cell {
        name: format!("{}{name}", program.named()),
        filter,
        ..Cell::of(program)
    }));
    cells.extend([Unlike::Rate, Unlike::Budget, Unlike::Busy].map(|unlike| Cell {
        name: format!("{}, {}", program.named(), unlike.name()),
        unlike: Some(unlike),
        ..Cell::of(program)
    }));
    cells
}

/// How many comparisons name a function that became slower, and nothing that became faster.
#[test]
fn laboratory_of_slower_programs() {
    let mut found_all = Vec::new();
    for cell in cells_of_slower_programs() {
        let program = cell.program;
        for function in [2, 1, 0] {
            if cell.lacks(function) {
                continue;
            }
            for part in [0.05, 0.10, 0.30, 1.00] {
                let mut told = Vec::new();
                for runs in [1, 3, 10] {
                    // 10 + 10 runs take a while: only where somebody asks for many.
                    if pairs().is_none() && (runs > 3 || part < 1.0) {
                        continue;
                    }
                    let comparisons = pairs().map_or(4, |pairs| pairs / 4);
                    let seed = u64::from(program.burst) * 100 + function as u64 * 10 + runs;
                    let named = counted(comparisons, seed, |_, random| {
                        let before = cell.side(runs, None, random);
                        let after = cell.side(runs, Some(Change { function, part }), random);
                        names(&comparison(&before, &after, cell.weight()), function)
                    });
                    told.push(format!("{named} of {comparisons}"));
                    if cell.is_plain() {
                        found_all.push((program.burst, function, part, runs, named, comparisons));
                    }
                }
                let (name, share) = (FUNCTIONS[function].0, program.share(function));
                if !told.is_empty() {
                    println!(
                        "| {} | {name}: {:.0} % | +{:.0} % | {} |",
                        cell.name,
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

/// What the last line of a comparison asks for, followed: so many recordings name a function that became slower by that part, and so do as many as
/// there were of longer runs.
#[test]
fn laboratory_of_advice() {
    const PILOTS: usize = 10;
    // Longer ones take hours.
    const TIMES_LONGER_MAX: f64 = 8.0;
    let bursts = if pairs().is_some() { vec![1, 8, 20] } else { vec![1] };
    let change = Change { function: 0, part: ADVISED_CHANGE };
    for program in bursts.into_iter().map(|burst| Program::of(Shape::Even, burst)) {
        let comparisons = pairs().map_or(3, |pairs| pairs / 8);
        let mut random = Random(90_000 + u64::from(program.burst));
        let is_named = |[before, after]: [Vec<Run>; 2]| usize::from(names(&comparison(&before, &after, None), 0));
        let (mut by_runs, mut by_length, mut lengths) = (0, 0, 0);
        for _ in 0..comparisons {
            let [before, after] = sides(program, PILOTS, change, &mut random);
            let Some(advice) = comparison(&before, &after, None).difference.advice else { continue };
            by_runs += is_named(sides(program, advice.runs as usize, change, &mut random));
            let longer = advice.times_longer.filter(|times| pairs().is_some() && *times <= TIMES_LONGER_MAX);
            if let Some(times) = longer {
                let program = Program { samples: program.samples * times.ceil() as u32, ..program };
                by_length += is_named(sides(program, PILOTS, change, &mut random));
                lengths += 1;
            }
        }
        let name = program.named();
        println!("| {name} | as many recordings: {by_runs} of {comparisons} | as long: {by_length} of {lengths} |");
        assert!(is_promised(by_runs, comparisons), "{name}: {by_runs} of {comparisons}");
        assert!(is_promised(by_length, lengths), "{name}, longer runs: {by_length} of {lengths}");
    }
}

/// Before and after a change.
fn sides(program: Program, runs: usize, change: Change, random: &mut Random) -> [Vec<Run>; 2] {
    [None, Some(change)]
        .map(|change| (0..runs).map(|at| program.run(random, at as u32, &Filter::default(), change)).collect())
}

/// So many of a count that fewer would be found once in 2,000 times if 95 % were.
fn is_promised(found: usize, of: usize) -> bool {
    Binomial::new(0.95, of as u64).expect("a share").cdf(found as u64) > 5e-4
}

/// By its line: lambdas have one name.
fn names(comparison: &genba_profile::difference_view::Comparison, function: usize) -> bool {
    let found = &comparison.difference;
    let certain: Vec<_> = found.rows.iter().filter(|row| row.estimate.certain).collect();
    let is_named = certain.iter().any(|row| match &row.subject {
        Subject::Code { code, .. } => code.line == Some(body_line(function)) && row.estimate.change() > 0.0,
        Subject::Phase(_) | Subject::NoPython => false,
    });
    is_named && certain.iter().all(|row| row.estimate.change() > 0.0)
}
