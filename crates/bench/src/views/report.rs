//! The screen: a block for each command, in hyperfine's words, and what the comparison shows.
//! Owns: the words and their order. Never: computes anything but sums of counts.

use genba_profile::figures::{count, counted, size};
use genba_profile::paint::Paint;
use genba_profile::report::printable;

pub use super::ratios::Shown;
use super::ratios::{digits, ratios};
use super::{start_up, strips};
use crate::judging::findings::{Findings, Row};
use crate::statistics::earlier::{ASSUMED_SPREAD, RUNS_MIN, SESSIONS_MIN};
use crate::statistics::noise::Floor;
use crate::statistics::summary::{Outliers, worth_telling};
use crate::statistics::trend::{P_MAX, Trend};
use crate::subjects::measured::{CountedBy, Run};
use crate::words::units::Unit;

/// Below, the shell's own time is as large as what is measured.
const SHORT_NS: f64 = 5e6;

#[must_use]
pub fn text(findings: &Findings<'_>, shown: &Shown) -> String {
    let mut page = blocks(findings, shown).join("\n\n") + "\n";
    let together = together(findings, shown);
    if !together.is_empty() {
        page += &format!("\n{together}\n");
    }
    page
}

/// What is said of each command alone, without a last line's end.
#[must_use]
pub fn blocks(findings: &Findings<'_>, shown: &Shown) -> Vec<String> {
    let block = |(number, row)| block(findings, number, row, shown).trim_end().to_owned();
    findings.rows.iter().enumerate().map(block).collect()
}

/// What is said of all of them, without a last line's end.
#[must_use]
pub fn together(findings: &Findings<'_>, shown: &Shown) -> String {
    let start_up = findings.start_up.as_ref().map_or(String::new(), |one| start_up::text(one, shown));
    (summary(findings, shown) + &start_up + &against(findings, shown)).trim().to_owned()
}

fn block(findings: &Findings<'_>, number: usize, row: &Row<'_>, shown: &Shown) -> String {
    let paint = shown.paint;
    let (summary, runs) = (&row.summary, &row.measured.runs);
    let unit = shown.unit.unwrap_or_else(|| Unit::fitting(summary.mean));
    let mean = |value: &dyn Fn(&Run) -> f64| runs.iter().map(value).sum::<f64>() / runs.len().max(1) as f64;
    let how = match row.measured.loops {
        Some(loops) => format!(
            "[{} of {} in each process]",
            counted(loops.values, "loop", "loops"),
            counted(loops.turns, "turn", "turns")
        ),
        None => format!(
            "[User: {}, System: {}]",
            unit.text(mean(&|run| run.user_ns)),
            unit.text(mean(&|run| run.system_ns))
        ),
    };
    let head = format!("Benchmark {}: {}", number + 1, printable(&row.measured.line.name));
    let mut page = paint.strong(&head) + "\n";
    let mean_time = paint.strong(&format!("{:>8}", unit.text(summary.mean)));
    match summary.deviation {
        None => page += &format!("  Time (abs ≡):        {mean_time}               {how}\n"),
        Some(deviation) => {
            page += &format!("  Time (mean ± σ):     {mean_time} ± {:>8}    {how}\n", unit.text(deviation));
            page += &format!(
                "  Range (min … max):   {:>8} … {:>8}    {}\n",
                unit.text(summary.min),
                unit.text(summary.max),
                counted(runs.len() as u64, "run", "runs")
            );
            if let Some(strip) = strips::histogram(&row.measured.times(), summary.min, summary.max) {
                let cell = unit.text((summary.max - summary.min) / strips::CELLS as f64);
                page += &format!(
                    "  Histogram:           ▏{strip}▕    {}\n",
                    paint.quiet(&format!("[{} cells of {cell}]", strips::CELLS))
                );
            }
            if let Some(strip) = strips::in_order(&row.measured.times(), summary.min, summary.max) {
                let how = format!(
                    "[from the first to the last, from {} to {}]",
                    unit.text(summary.min),
                    unit.text(summary.max)
                );
                page += &format!("  Run by run:          ▏{strip}▕    {}\n", paint.quiet(&how));
            }
        }
    }
    let each = |value: &dyn Fn(&Run) -> u64| count(mean(&|run| value(run) as f64).round() as u64);
    let memory = runs.iter().map(|run| run.memory_bytes).max().unwrap_or(0);
    let at_most = if memory <= findings.session.memory_floor_bytes { "≤ " } else { "" };
    page += &format!(
        "  Memory (max):        {:>8}    {}\n",
        format!("{at_most}{}", size(memory)),
        paint.quiet(&format!(
            "[Faults: {} minor, {} major; switches: {} voluntary, {} involuntary]",
            each(&|run| run.minor_faults),
            each(&|run| run.major_faults),
            each(&|run| run.voluntary_switches),
            each(&|run| run.involuntary_switches)
        ))
    );
    if let Some(instructions) = row.measured.instructions {
        let by = match instructions.by {
            CountedBy::Processor => "the processor",
            CountedBy::Valgrind => "valgrind",
        };
        let how = paint.quiet(&format!("[of one run, counted by {by} in user mode]"));
        page += &format!("  Instructions:        {:>8}    {how}\n", count(instructions.count));
    }
    page += &noise_alone(findings, row, paint);
    for warning in warnings(findings, row) {
        page += &format!("  {} {warning}\n", paint.warning("warning:"));
    }
    page
}

fn warnings(findings: &Findings<'_>, row: &Row<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let runs = &row.measured.runs;
    if findings.session.shell_ns.is_some() && row.measured.loops.is_none() && row.summary.min < SHORT_NS {
        warnings.push(
            "less than 5 ms: the shell's own time, which is taken off, varies by as much; -N runs it without a shell"
                .to_owned(),
        );
    }
    let failed = runs.iter().filter(|run| run.exit_code != 0).count();
    if failed > 0 {
        warnings.push(format!(
            "{failed} of {} ended with an exit code other than 0, which is ignored",
            counted(runs.len() as u64, "run", "runs")
        ));
    }
    let is_first_slow = row.summary.outliers == Outliers::First;
    if is_first_slow {
        warnings.push(format!(
            "the first run was much slower than the others ({}): --warmup 1 fills caches, --prepare CMD empties them before each run",
            Unit::fitting(runs[0].time_ns).text(runs[0].time_ns)
        ));
    }
    warnings.extend(far_runs(&row.measured.times(), row.summary.median, is_first_slow));
    if let Some(trend) = &row.trend {
        warnings.push(trend_words(trend, row.measured.loops.is_some()));
    }
    warnings
}

/// Slow runs and fast ones, the farthest of each by its number. `is_first_told`: the first run has its own warning.
fn far_runs(times_ns: &[f64], median_ns: f64, is_first_told: bool) -> Vec<String> {
    let far = worth_telling(times_ns, median_ns);
    let far = if is_first_told { &far[1..] } else { &far };
    let (slow, fast): (Vec<usize>, Vec<usize>) = far.iter().partition(|run| times_ns[**run] > median_ns);
    let words = |runs: &[usize], cause: &str| {
        let distance = |run: &usize| (times_ns[*run] - median_ns).abs();
        let farthest = runs.iter().max_by(|one, other| distance(one).total_cmp(&distance(other))).copied()?;
        let lies = if runs.len() == 1 { "lies" } else { "lie" };
        Some(format!(
            "{} of {} {lies} far outside of the others (run {}: {}): {cause}",
            runs.len(),
            counted(times_ns.len() as u64, "run", "runs"),
            farthest + 1,
            Unit::fitting(times_ns[farthest]).text(times_ns[farthest])
        ))
    };
    let slow = words(&slow, "something else ran on this machine");
    let fast = words(&fast, "faster than the others, so perhaps without a part of the work");
    slow.into_iter().chain(fast).collect()
}

fn trend_words(trend: &Trend, is_snippet: bool) -> String {
    let unit = Unit::fitting(trend.first_third.max(trend.last_third));
    let how = if trend.correlation > 0.0 { "slower" } else { "faster" };
    let cause = match (is_snippet, trend.correlation > 0.0) {
        (true, _) => "processes of the snippet find what those before them left, or the machine changed",
        (false, true) => {
            "the command changes its own input, or the machine changed; --prepare CMD gives the input back before each run"
        }
        (false, false) => {
            "caches fill, or the command uses up its input; --warmup 3 fills caches, --prepare CMD gives the input back before each run"
        }
    };
    format!(
        "runs become {how}, from {} in the first third to {} in the last (Spearman's ρ {:.2}, p < {P_MAX}): {cause}",
        unit.text(trend.first_third),
        unit.text(trend.last_third),
        trend.correlation
    )
}

fn summary(findings: &Findings<'_>, shown: &Shown) -> String {
    if findings.rows.len() < 2 {
        return String::new();
    }
    let paint = shown.paint;
    let how = if findings.session.is_interleaved {
        format!(
            "{} forward and backward by turns; all intervals hold in 95 of 100 comparisons",
            counted(findings.session.rounds() as u64, "round", "rounds")
        )
    } else {
        format!(
            "measured one after the other: intervals assume that the machine changed by {:.1} % meanwhile",
            ASSUMED_SPREAD * 100.0
        )
    };
    let mut page = format!("{} {}\n", paint.strong("Summary"), paint.quiet(&format!("({how})")));
    page += &noise(findings, paint);
    page + &ratios(findings, shown)
}

/// Of the command with the most of it. Commands that were measured one after the other differ by more than their own runs do.
fn noise(findings: &Findings<'_>, paint: Paint) -> String {
    let noises = findings.rows.iter().filter_map(|row| row.noise);
    let most = noises.clone().map(|noise| noise.part).reduce(f64::max);
    let Some(part) = most.filter(|_| findings.session.is_interleaved) else { return String::new() };
    let all = Floor { part, left_out: noises.map(|noise| noise.left_out).sum() };
    paint.quiet(&format!(
        "  noise: two equal commands seem up to {:.1} % apart here (each command against itself{})",
        part * 100.0,
        left_out(&all)
    )) + "\n"
}

/// A command alone, as it would be beside itself.
fn noise_alone(findings: &Findings<'_>, row: &Row<'_>, paint: Paint) -> String {
    let is_alone = findings.rows.len() == 1 && findings.session.is_interleaved;
    let Some(noise) = row.noise.filter(|_| is_alone) else { return String::new() };
    let how = format!("[two such commands, in turns, seem up to that far apart{}]", left_out(&noise));
    format!("  Noise:               {:>8}    {}\n", format!("{:.1} %", noise.part * 100.0), paint.quiet(&how))
}

fn left_out(noise: &Floor) -> String {
    match noise.left_out {
        0 => String::new(),
        1 => ", without 1 run that lies far outside".to_owned(),
        runs => format!(", without {runs} runs that lie far outside"),
    }
}

fn against(findings: &Findings<'_>, shown: &Shown) -> String {
    if findings.sessions == 0 {
        return String::new();
    }
    let paint = shown.paint;
    let mut page = format!("\n{}\n", paint.strong("At other times"));
    let mut is_assumed = false;
    for row in &findings.rows {
        let name = printable(&row.measured.line.name);
        let Some(apart) = row.apart else {
            page += &format!("  {name}: not in these files\n");
            continue;
        };
        is_assumed |= apart.is_spread_assumed && apart.interval.is_some();
        let sessions = counted(apart.sessions as u64, "session", "sessions");
        let Some((low, high)) = apart.interval else {
            page += &format!(
                "  {name}: {} from {sessions} before: {} times as long ({RUNS_MIN} runs or more in each give an interval)\n",
                paint.strong("too few runs to tell"),
                digits(apart.ratio)
            );
            continue;
        };
        let interval = format!("({} … {})", digits(low), digits(high));
        page += &match apart.is_shown() {
            true => format!(
                "  {name}: {} times as long as in {sessions} before {interval}\n",
                paint.strong(&digits(apart.ratio))
            ),
            false => format!(
                "  {name}: {} from {sessions} before: {} times as long {interval}\n",
                paint.strong("no difference shown"),
                digits(apart.ratio)
            ),
        };
    }
    if is_assumed {
        page += &paint.quiet(&format!(
            "  Sessions differ by more than runs: {:.1} % are assumed; from {SESSIONS_MIN} files on (--against) genba measures it, and a history is one of them.\n",
            ASSUMED_SPREAD * 100.0
        ));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{Shown, text};
    use crate::judging::findings::{Asked, Earlier, Findings};
    use crate::subjects::lines::{Line, Parameters};
    use crate::subjects::measured::{Loops, Measured, Run, Session};

    fn session(times: &[(&str, f64)], loops: Option<Loops>) -> Session {
        let measured = times.iter().map(|(name, factor)| Measured {
            line: Line { name: (*name).into(), command: (*name).into(), parameters: Parameters::default() },
            runs: [1.00, 1.02, 0.99, 1.01, 1.00, 0.98, 1.01, 0.99]
                .iter()
                .enumerate()
                .map(|(number, time)| Run {
                    // Not the same noise on each side.
                    time_ns: 1e8
                        * factor
                        * if *factor > 1.0 { 2.0 - time * (1.0 + 0.001 * number as f64) } else { *time },
                    user_ns: 5e7,
                    system_ns: 1e6,
                    memory_bytes: 9_800_000,
                    minor_faults: 1234,
                    voluntary_switches: 2,
                    ..Run::default()
                })
                .collect(),
            loops,
            instructions: None,
        });
        Session {
            measured: measured.collect(),
            is_interleaved: true,
            shell_ns: Some(1e6),
            memory_floor_bytes: 0,
            ended_early: None,
            start_up: None,
        }
    }

    fn shown(session: &Session, asked: &Asked) -> String {
        text(&Findings::of(session, asked).unwrap(), &Shown::default())
    }

    #[test]
    fn a_block_reads_as_hyperfines() {
        let page = shown(&session(&[("sleep 0.1", 1.0)], None), &Asked::default());
        assert_eq!(
            page,
            "Benchmark 1: sleep 0.1\n  Time (mean ± σ):     100.0 ms ±   1.3 ms    [User: 50.0 ms, System: 1.0 ms]\n  \
             Range (min … max):    98.0 ms … 102.0 ms    8 runs\n  \
             Memory (max):         9.80 MB    [Faults: 1,234 minor, 0 major; switches: 2 voluntary, 0 involuntary]\n  \
             Noise:                  2.9 %    [two such commands, in turns, seem up to that far apart]\n"
        );
        let page = shown(&session(&[("x\u{1b}[2J", 1.0)], Some(Loops { turns: 1024, values: 2 })), &Asked::default());
        assert!(page.contains("[2 loops of 1,024 turns in each process]") && !page.contains('\u{1b}'), "{page}");
    }

    #[test]
    fn the_summary_says_what_is_shown() {
        let page = shown(&session(&[("a", 1.0), ("b", 2.0)], None), &Asked { difference: 0.01, ..Asked::default() });
        assert!(page.contains("Summary (8 rounds forward and backward by turns;"), "{page}");
        assert!(page.contains("\n  noise: two equal commands seem up to "), "{page}");
        assert!(page.contains("  a ran\n    1.99 times faster than b ("), "{page}");
        let asked = Asked { difference: 0.01, reference: Some(1), ..Asked::default() };
        let page = shown(&session(&[("a", 1.0), ("b", 2.0)], None), &asked);
        assert!(page.contains("  b ran\n    1.99 times slower than a ("), "{page}");
        let page = shown(&session(&[("a", 1.0), ("b", 1.001)], None), &Asked { difference: 0.01, ..Asked::default() });
        assert!(
            page.contains("no difference shown to ") && page.contains("a difference of 1 % would be seen with"),
            "{page}"
        );
    }

    #[test]
    fn what_is_left_without_the_start_up_is_compared_too() {
        let mut session = session(&[("a", 1.0), ("b", 2.0), ("pass", 0.5)], None);
        let start_ups = session.measured[2].runs.clone();
        session.measured[1].runs.iter_mut().zip(&start_ups).for_each(|(run, start_up)| {
            // Three times as long as the rest of a.
            run.time_ns = 4.0 * start_up.time_ns + 1e5;
        });
        let page = shown(&session.with_last_as_start_up(), &Asked { difference: 0.01, ..Asked::default() });
        assert!(!page.contains("Benchmark 3"), "{page}");
        assert!(page.contains("\nBeyond the start-up (each run without"), "{page}");
        assert!(page.contains(" 50.0 ms ±   0.7 ms    pass, the start-up\n"), "{page}");
        assert!(page.contains("    b, the rest\n  a ran\n    3.00 times faster than b ("), "{page}");
    }

    #[test]
    fn a_far_run_and_a_trend_are_named() {
        let mut session = session(&[("a", 1.0)], None);
        let runs = session.measured[0].runs.clone();
        session.measured[0].runs = [runs.clone(), runs.clone()].concat();
        session.measured[0].runs[6].time_ns = 1.3e9;
        let page = shown(&session, &Asked::default());
        assert!(
            page.contains("warning: 1 of 16 runs lies far outside of the others (run 7: 1.300 s): something else"),
            "{page}"
        );
        assert!(page.contains("seem up to that far apart, without 1 run that lies far outside]\n"), "{page}");
        session.measured[0].runs[6].time_ns = 1e7;
        let page = shown(&session, &Asked::default());
        assert!(
            page.contains("of the others (run 7: 10.0 ms): faster than the others, so perhaps without a part"),
            "{page}"
        );
        assert!(!page.contains("something else ran"), "{page}");
        session.measured[0].runs[6].time_ns = 1.3e9;
        session.measured[0].runs[0].time_ns = 5e9;
        let page = shown(&session, &Asked::default());
        assert!(page.contains("the first run was much slower than the others (5.000 s)"), "{page}");
        assert!(page.contains("warning: 1 of 16 runs lies far outside of the others (run 7"), "{page}");
        assert!(!page.contains(", without"), "two of sixteen are part of the noise: {page}");
        session.measured[0].runs[0].time_ns = 1e8;
        session.measured.push(session.measured[0].clone());
        let page = shown(&session, &Asked::default());
        assert!(page.contains("(each command against itself, without 2 runs that lie far outside)\n"), "{page}");
        session.measured.truncate(1);
        session.measured[0].runs = runs;
        let grow = |(number, run): (usize, &mut Run)| run.time_ns *= 1.0 + 0.3 * number as f64;
        session.measured[0].runs.iter_mut().enumerate().for_each(grow);
        let page = shown(&session, &Asked::default());
        let words = "warning: runs become slower, from 116.3 ms in the first third to 294.9 ms in the last (Spearman's ρ 1.00, p < 0.001): the command changes its own input";
        assert!(page.contains(words) && page.contains("--prepare CMD"), "{page}");
        session.measured[0].runs.reverse();
        let page = shown(&session, &Asked::default());
        assert!(page.contains("warning: runs become faster, from 294.9 ms") && page.contains("--warmup 3"), "{page}");
        session.measured[0].loops = Some(Loops { turns: 1024, values: 2 });
        let page = shown(&session, &Asked::default());
        assert!(page.contains("p < 0.001): processes of the snippet find") && !page.contains("--prepare"), "{page}");
    }

    #[test]
    fn other_times_say_what_they_assume() {
        let earlier = |times: &[f64]| Earlier { file: "x".into(), times: vec![("a".into(), times.to_vec())] };
        let asked = Asked { earlier: vec![earlier(&[1e8, 1e8])], ..Asked::default() };
        let page = shown(&session(&[("a", 1.0), ("b", 2.0)], None), &asked);
        assert!(page.contains("  a: no difference shown from 1 session before: 1.000 times as long ("), "{page}");
        assert!(page.contains("  b: not in these files\n") && page.contains("2.5 % are assumed"), "{page}");
        let asked = Asked { earlier: vec![earlier(&[1e9])], ..Asked::default() };
        let page = shown(&session(&[("a", 1.0)], None), &asked);
        assert!(
            page.contains("  a: too few runs to tell from 1 session before: 0.10 times as long (2 runs or more in each give an interval)"),
            "{page}"
        );
        assert!(!page.contains("are assumed"), "{page}");
    }

    #[test]
    fn one_after_the_other_says_how_many_runs_are_needed() {
        let mut session = session(&[("a", 1.0), ("b", 2.0)], None);
        session.is_interleaved = false;
        assert!(shown(&session, &Asked::default()).contains("    1.99 times faster than b (1.8"), "{session:?}");
        session.measured.iter_mut().for_each(|one| one.runs.truncate(1));
        let page = shown(&session, &Asked::default());
        assert!(
            page.contains("    too few runs to tell from b, which took 2.00 times as long (2 runs or more of each command give an interval)"),
            "{page}"
        );
    }
}
