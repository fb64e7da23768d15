//! Recordings made ready to be compared, and what a comparison says in a line a row.
use genba_profile::build::{Additions, accounts, profile_over_time, promoted};
use genba_profile::difference::{Row, Subject};
use genba_profile::difference_view::{Comparison, Run, bins_of};
use genba_profile::filter::Filter;
use genba_profile::reading::Reading;

use crate::notation;

pub fn run(name: &str, notation: &str, filter: &Filter) -> Run {
    let recording = notation::recording(notation);
    let bins = bins_of(&accounts(&recording, &Additions::default()));
    let profile = promoted(profile_over_time(&recording, &Additions::default(), filter.window, bins));
    Run { name: name.to_string(), reading: Reading::filtered(profile, filter).expect("something is kept") }
}

pub fn runs(names: &str, notations: &[String]) -> Vec<Run> {
    let named = notations.iter().enumerate();
    named.map(|(at, notation)| run(&format!("{names}-{}.genba", at + 1), notation, &Filter::default())).collect()
}

/// `← foo 5 +160 certain`: the caller, its line, the change in ms, whether it is certain; certain ones first.
pub fn told(comparison: &Comparison) -> Vec<String> {
    let told = |row: &Row| {
        let Subject::Code { code, caller } = &row.subject else { return format!("{:?}", row.subject) };
        let caller = caller
            .as_ref()
            .map_or(String::new(), |caller| format!(" ← {}:{}", caller.function, caller.line.unwrap_or_default()));
        let expression = code.expression.clone().unwrap_or_else(|| code.function.clone());
        let change = row.estimate.change() / 1e6;
        format!("{expression}{caller} {change:+.0} {}", if row.estimate.certain { "certain" } else { "open" })
    };
    comparison.difference.rows.iter().map(told).collect()
}

/// casebook/two-callers with its halves of work: samples of each half, by caller, again and again.
pub fn two_callers(
    key: u32,
    path: &str,
    first_line: u32,
    of_foo: (u32, u32),
    of_bar: (u32, u32),
    argument: &str,
) -> String {
    rounds_of_two_callers(50, key, path, first_line, of_foo, of_bar, argument)
}

pub fn rounds_of_two_callers(
    rounds: u32,
    key: u32,
    path: &str,
    first_line: u32,
    of_foo: (u32, u32),
    of_bar: (u32, u32),
    argument: &str,
) -> String {
    let blank = "|\n".repeat(first_line as usize - 1);
    let call = format!("sum12(10, {argument})");
    let (foo_line, bar_line) = (first_line + 5, first_line + 8);
    let end = 4 + call.len();
    let mut notation = format!(
        "process 7 3.13.0 cwd={path} key={key}
        source {path}/two.py
        {blank}|def sum12(n, m):
        |    a = sum(range(n))
        |    b = sum(range(m))
        |
        |def foo():
        |    {call}
        |
        |def bar():
        |    sum12(30, 10)
        |
        |while True:
        |    foo()
        |    bar()
        "
    );
    let (first, second, module) = (first_line + 1, first_line + 2, first_line + 11);
    for _ in 0..rounds {
        for (name, line, end, halves) in [("foo", foo_line, end, of_foo), ("bar", bar_line, 17, of_bar)] {
            let def = line - 1;
            let caller = format!(
                "<module>@two.py:{module}[4-9] > {name}^{def}@two.py:{line}[4-{end}] > sum12^{first_line}@two.py"
            );
            if halves.0 > 0 {
                notation += &format!("{caller}:{first}[8-21] > sum[python3.13] x{}\n", halves.0);
            }
            if halves.1 > 0 {
                notation += &format!("{caller}:{second}[8-21] > sum[python3.13] x{}\n", halves.1);
            }
        }
    }
    notation
}
