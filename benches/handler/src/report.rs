//! The numbers as JSON, for benches/goals/handler.py, which prints the table.
//! Owns: quantiles. Never: leaves a run out; runs with a context switch inside are counted and also shown apart.

use crate::asking::Measured;
use crate::measured::{CHAIN_FRAMES, CHAIN_ROUNDS, Numbers, Way};

pub fn text(measured: &Measured) -> String {
    let mut rows = Vec::new();
    for (way, numbers) in &measured.numbers {
        let row = |name: &str, values: Vec<f64>| format!("{:?}: {}", format!("{way:?} {name}"), quantiles(values));
        let ns = |tsc: u64| tsc as f64 / measured.tsc_per_ns;
        let frames = |one: &Numbers| one.frames.max(1) as f64;
        let steps = if *way == Way::FramePointers { (CHAIN_ROUNDS * CHAIN_FRAMES) as f64 } else { 0.0 };
        let divided = |one: &Numbers| if steps > 0.0 { steps } else { frames(one) };
        rows.push(row("frames", numbers.iter().map(frames).collect()));
        rows.push(row("first", numbers.iter().map(|one| ns(one.first_tsc)).collect()));
        rows.push(row("again", numbers.iter().map(|one| ns(one.again_tsc)).collect()));
        rows.push(row("first per frame", numbers.iter().map(|one| ns(one.first_tsc) / divided(one)).collect()));
        rows.push(row("again per frame", numbers.iter().map(|one| ns(one.again_tsc) / divided(one)).collect()));
        let quiet = numbers.iter().filter(|one| one.context_switches == 0);
        rows.push(row("undisturbed", quiet.map(|one| ns(one.first_tsc)).collect()));
        let faulted = numbers.iter().filter(|one| one.page_faults > 0);
        rows.push(row("with page faults", faulted.map(|one| ns(one.first_tsc)).collect()));
    }
    format!("{{{}, \"python_cut\": {}}}", rows.join(", "), measured.python_cut)
}

fn quantiles(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values.get((values.len() as f64 * share) as usize).or(values.last()).copied().unwrap_or(0.0);
    format!(
        "{{\"count\": {}, \"median\": {:.2}, \"p99\": {:.2}, \"p999\": {:.2}, \"max\": {:.2}}}",
        values.len(),
        at(0.5),
        at(0.99),
        at(0.999),
        values.last().copied().unwrap_or(0.0)
    )
}
