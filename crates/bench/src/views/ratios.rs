//! How a screen shows times, and the words of ratios: how many times faster, and whether that is certain.
//! Owns: the words. Never: computes a ratio.

use genba_profile::figures::count;
use genba_profile::paint::Paint;
use genba_profile::report::printable;

use crate::judging::findings::{Beside, Findings};
use crate::statistics::comparison::ROUNDS_MIN;
use crate::statistics::earlier::RUNS_MIN;
use crate::words::units::Unit;

#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Else the one that fits each command.
    pub unit: Option<Unit>,
    /// Else the fastest first, in the summary.
    pub is_in_order: bool,
    pub paint: Paint,
}

/// Of the reference to each other one.
pub fn ratios(findings: &Findings<'_>, shown: &Shown) -> String {
    let paint = shown.paint;
    let name = |position: usize| printable(&findings.rows[position].measured.line.name);
    let mut page = format!("  {} ran\n", paint.strong(&name(findings.reference)));
    let order = if shown.is_in_order { (0..findings.rows.len()).collect() } else { findings.by_time() };
    for position in order.into_iter().filter(|position| *position != findings.reference) {
        match findings.rows[position].ratio {
            None => {
                page += &format!(
                    "    in a time without a ratio to {}: one of them took none that could be measured\n",
                    name(position)
                )
            }
            Some(beside) => page += &beside_words(&beside, &name(position), findings, paint),
        }
    }
    page
}

fn beside_words(beside: &Beside, name: &str, findings: &Findings<'_>, paint: Paint) -> String {
    let ratio = beside.ratio();
    let Some((low, high)) = beside.interval() else {
        let needed = match beside {
            Beside::Interleaved { .. } => format!("{ROUNDS_MIN} rounds or more give an interval"),
            Beside::Apart(_) => format!("{RUNS_MIN} runs or more of each command give an interval"),
        };
        let none = paint.strong("too few runs to tell");
        return format!("    {none} from {name}, which took {} times as long ({needed})\n", digits(ratio));
    };
    if beside.is_shown() {
        // The interval of a number below 1 turns round with it.
        let (low, high) = if ratio < 1.0 { (1.0 / high, 1.0 / low) } else { (low, high) };
        return format!("    {} ({} … {})\n", faster(ratio, name, paint), digits(low), digits(high));
    }
    let none = paint.strong("no difference shown");
    let mut page = format!(
        "    {none} to {name}, which took {} times as long ({} … {})\n",
        digits(ratio),
        digits(low),
        digits(high)
    );
    if let Beside::Interleaved { runs_needed, .. } = beside {
        let percent = findings.difference * 100.0;
        let made = findings.session.rounds();
        page += &match runs_needed {
            Some(runs) if *runs <= made => {
                format!("      a difference of {percent} % would be seen with these {made} runs of each\n")
            }
            Some(runs) => format!(
                "      a difference of {percent} % would be seen with {} runs of each, {} more than these\n",
                count(*runs as u64),
                count((*runs - made) as u64)
            ),
            None => format!("      a difference of {percent} % is too small to be seen in 100,000 runs\n"),
        };
    }
    page
}

fn faster(ratio: f64, name: &str, paint: Paint) -> String {
    let (number, word) = if ratio < 1.0 { (1.0 / ratio, "slower") } else { (ratio, "faster") };
    format!("{} times {word} than {name}", paint.strong(&digits(number)))
}

/// Near 1 the third digit counts.
pub fn digits(ratio: f64) -> String {
    if (0.9..1.1).contains(&ratio) { format!("{ratio:.3}") } else { format!("{ratio:.2}") }
}
