//! What a comparison names first where each side has code under its own text: an expression that was rewritten, and a function that was moved.
//! Owns: the first sentence. Figures that follow from the intervals are other tests'.

use crate::compared::runs;
use genba_profile::difference_view::{Comparison, comparison, json, markdown, page, text};
use genba_profile::paint::Paint;

fn compared<R>(before: &str, after: &str, read: impl FnOnce(&Comparison) -> R) -> R {
    let (before, after) = (runs("before", &[before.to_string()]), runs("after", &[after.to_string()]));
    read(&comparison(&before, &after, None))
}

fn verdict(before: &str, after: &str) -> String {
    compared(before, after, |all| all.verdict())
}

/// `f` with one statement beside the work, by turns with `g`: samples of each in a round.
fn program(key: u32, statement: &str, [of_statement, of_work, of_g]: [u32; 3]) -> String {
    let end = 4 + statement.len();
    let texts = format!(
        "process 7 3.13.0 cwd=/app key={key}
        source /app/app.py
        |def f(n):
        |    {statement}
        |    work()
        |
        |def g(n):
        |    other()
        |
        |def main():
        |    f(1)
        |    g(1)
        "
    );
    let round = format!(
        "main^8@app.py:9[4-8] > f^1@app.py:2[4-{end}] x{of_statement}
        main^8@app.py:9[4-8] > f^1@app.py:3[4-10] x{of_work}
        main^8@app.py:10[4-8] > g^5@app.py:6[4-11] x{of_g}
        "
    );
    texts + &round.repeat(100)
}

const REWRITTEN: &str =
    ". Code was rewritten or moved (2 rows are only in A or only in B), and no change of its time is certain";

#[test]
fn a_renamed_variable_is_no_difference() {
    let (before, after) = (program(1, "step(data)", [8, 1, 1]), program(2, "step(payload)", [8, 1, 1]));
    compared(&before, &after, |all| {
        let verdict = all.verdict();
        assert!(verdict.starts_with("no difference that these recordings can tell: B − A is "), "{verdict}");
        assert!(verdict.ends_with(REWRITTEN), "{verdict}");
        let rows = &all.difference.rows;
        assert_eq!(rows.iter().filter(|row| row.estimate.certain && row.is_rewritten).count(), 2, "{rows:?}");
        let forms = [
            text::text(all, Some(20), None, Paint::Plain),
            markdown::markdown(all, Some(20), &[]),
            json::json(all, Some(20), &[]).expect("JSON"),
            page::json(all, &[]).expect("JSON"),
        ];
        assert!(forms.iter().all(|form| form.contains(&verdict)), "{forms:?}");
    });
}

/// 800 samples less for the one line, 600 more for the other.
#[test]
fn a_changed_argument_counts_with_what_the_line_took_before() {
    let verdict = verdict(&program(1, "step(600)", [16, 1, 9]), &program(2, "step(300)", [8, 1, 15]));
    let expected = "B differs from A in app.py:2 f ← app.py:9 main: −1.28 s ± ";
    assert!(verdict.starts_with(expected), "{verdict}");
    let words = ". 3 rows are certain, 2 of them code that was rewritten or moved. The change of the whole, ";
    assert!(verdict.contains(words), "{verdict}");
    // The line alone.
    let whole = self::verdict(&program(1, "step(600)", [16, 1, 1]), &program(2, "step(300)", [8, 1, 1]));
    assert!(whole.starts_with("B takes 44.4 % less than A: −1.28 s ± "), "{whole}");
    assert!(whole.ends_with(", most of it in app.py:2 f ← app.py:9 main"), "{whole}");
}

#[test]
fn another_function_that_changed_is_named_before_one_that_was_rewritten() {
    let verdict = verdict(&program(1, "step(data)", [20, 1, 1]), &program(2, "step(payload)", [20, 1, 5]));
    assert!(verdict.starts_with("B differs from A in app.py:6 g ← app.py:10 main: +640 ms ± "), "{verdict}");
}

/// `Parser.parse`, called by the `main` of one file: 2 expressions of it, so many samples each in a round.
fn parsed(key: u32, file: &str, samples: u32) -> String {
    let round = format!(
        "main@app.py:9[4-8] > Parser.parse@{file}:2[4-8] x{samples}
        main@app.py:9[4-8] > Parser.parse@{file}:3[4-9] x{samples}
        main@app.py:10[4-8] x1
        "
    );
    format!("process 7 3.13.0 cwd=/app key={key}\n") + &round.repeat(100)
}

#[test]
fn a_function_in_another_file_counts_with_what_it_took_before() {
    let moved = verdict(&parsed(1, "app.py", 4), &parsed(2, "parsing.py", 4));
    assert!(moved.starts_with("no difference that these recordings can tell: "), "{moved}");
    assert!(moved.ends_with(&REWRITTEN.replace('2', "4")), "{moved}");
    // And slower: 800 samples, then 1,600.
    let slower = verdict(&parsed(1, "app.py", 4), &parsed(2, "parsing.py", 8));
    assert!(slower.starts_with("B takes 88.9 % longer than A: +1.28 s ± "), "{slower}");
    assert!(slower.ends_with(", most of it in parsing.py Parser.parse ← app.py main"), "{slower}");
}

/// Nothing of the other side may be it.
#[test]
fn what_is_new_is_named() {
    let before = parsed(1, "app.py", 8);
    let after = before.replace("key=1", "key=2") + &"main@app.py:9[4-8] > added@app.py:20[4-9] x5\n".repeat(100);
    let verdict = verdict(&before, &after);
    assert!(verdict.contains(" in app.py:20 added ← app.py:9 main"), "{verdict}");
}
