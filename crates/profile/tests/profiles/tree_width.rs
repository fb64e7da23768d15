//! The tree on screens of several widths: nothing is wider than the screen, and names are readable however deep they stand.

use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile};
use genba_profile::paint::Paint;
use genba_profile::reading::Reading;
use genba_profile::tree::{Options, text, tree};
use unicode_width::UnicodeWidthStr;

const SHOP: &str = "
    process 7 3.13.0 cwd=/app
    main@app.py:10 > CatalogueRepository.find_everything_that_matches@app.py:3 > 表@app.py:5 > _PyObject_GenericGetAttrWithDict[libpython3.13.so.1.0] x100
    main@app.py:10 > CatalogueRepository.find_everything_that_matches@app.py:3 > sum2@app.py:5 > ?sum[python3.13] x30
    main@app.py:10 > CatalogueRepository.find_everything_that_matches@app.py:3 > sum3@app.py:5 x1
    main@app.py:10 > poll[libc.so.6] x1 poll
";

/// `calls` calls of one function, and others below them.
fn recursion(calls: usize) -> String {
    let frames = vec!["Node.visit_children@app.py:3"; calls].join(" > ");
    format!("process 7 3.13.0 cwd=/app\n{frames} > leaf@app.py:5 x100\n{frames} > other@app.py:6 x1")
}

/// The page without colour is the page with colour without its signs.
fn check(recording: &str, width: usize, last: usize, expected: Expect) {
    let reading = Reading::of(profile(&notation::recording(recording), &Additions::default()));
    let options = Options { share_min: 0.02, ..Options::default() };
    let tree = tree(&reading, &options);
    let page = text::text(&reading, &tree, &options, Some(width), Paint::Plain);
    for line in page.lines() {
        assert!(line.width() <= width, "{} cells: {line}", line.width());
    }
    let coloured = text::text(&reading, &tree, &options, Some(width), Paint::Colour);
    assert_eq!(coloured.replace("\u{1b}[0m", "").replace("\u{1b}[2m", ""), page);
    let lines: Vec<&str> = page.lines().collect();
    expected.assert_eq(&lines[lines.len().saturating_sub(last)..].join("\n"));
}

#[test]
fn on_80_columns_a_name_is_cut_at_its_end() {
    check(
        SHOP,
        80,
        20,
        expect![[r#"
            CPython 3.13.0 · 211 ms wall · 210 ms CPU · 1 process, 1 thread ·
              sampled every 1.6 ms
            ticks 132 = sampled 132 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
            100.0 %   210 ms        –   211 ms        –  main (app.py:1)
            100.0 %   210 ms        –   210 ms        –    CatalogueRepository.find_everyth…
             76.3 %   160 ms        –   160 ms        –      表 (app.py:1)
             76.3 %   160 ms   160 ms   160 ms   160 ms        _PyObject_GenericGetAttrWith…
             22.9 %  48.0 ms        –  48.0 ms        –      sum2 (app.py:1)
             22.9 %  48.0 ms  48.0 ms  48.0 ms  48.0 ms        sum (inferred) [python3.13]
              0.8 %                                      (2 more paths)"#]],
    );
}

#[test]
fn on_160_columns_nothing_is_cut() {
    check(
        SHOP,
        160,
        20,
        expect![[r#"
            CPython 3.13.0 · 211 ms wall · 210 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 132 = sampled 132 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
            100.0 %   210 ms        –   211 ms        –  main (app.py:1)
            100.0 %   210 ms        –   210 ms        –    CatalogueRepository.find_everything_that_matches (app.py:1)
             76.3 %   160 ms        –   160 ms        –      表 (app.py:1)
             76.3 %   160 ms   160 ms   160 ms   160 ms        _PyObject_GenericGetAttrWithDict [libpython3.13.so.1.0]
             22.9 %  48.0 ms        –  48.0 ms        –      sum2 (app.py:1)
             22.9 %  48.0 ms  48.0 ms  48.0 ms  48.0 ms        sum (inferred) [python3.13]
              0.8 %                                      (2 more paths not shown, under 2 % in each place)"#]],
    );
}

#[test]
fn a_narrow_screen_goes_without_the_other_clock() {
    check(
        SHOP,
        60,
        20,
        expect![[r#"
            CPython 3.13.0 · 211 ms wall · 210 ms CPU ·
              1 process, 1 thread · sampled every 1.6 ms
            ticks 132 = sampled 132 + dropped 0 + refused 0 ·
              CPU covered 100.0 %

              share      CPU     self  path
            100.0 %   210 ms        –  main (app.py:1)
            100.0 %   210 ms        –    CatalogueRepository.find_every…
             76.3 %   160 ms        –      表 (app.py:1)
             76.3 %   160 ms   160 ms        _PyObject_GenericGetAttrWi…
             22.9 %  48.0 ms        –      sum2 (app.py:1)
             22.9 %  48.0 ms  48.0 ms        sum (inferred) [python3.13]
              0.8 %                    (2 more paths)"#]],
    );
    check(
        SHOP,
        44,
        20,
        expect![[r#"
            CPython 3.13.0 · 211 ms wall · 210 ms CPU ·
              1 process, 1 thread · sampled every 1.6 ms
            ticks 132 = sampled 132 + dropped 0 +
              refused 0 · CPU covered 100.0 %

              share  path
            100.0 %  main (app.py:1)
            100.0 %    CatalogueRepository.find_everyth…
             76.3 %      表 (app.py:1)
             76.3 %        _PyObject_GenericGetAttrWith…
             22.9 %      sum2 (app.py:1)
             22.9 %        sum (inferred) [python3.13]
              0.8 %  (2 more paths)"#]],
    );
}

#[test]
fn a_deep_path_is_indented_less_and_then_numbered() {
    check(
        &recursion(5),
        80,
        4,
        expect![[r#"
            100.0 %   162 ms        –   162 ms        –        Node.visit_children (app.py:…
            100.0 %   162 ms        –   162 ms        –          Node.visit_children (app.p…
             99.0 %   160 ms   160 ms   160 ms   160 ms            leaf (app.py:1)
              1.0 %                                      (1 more path)"#]],
    );
    check(
        &recursion(6),
        80,
        4,
        expect![[r#"
            100.0 %   162 ms        –   162 ms        –      Node.visit_children (app.py:1)
            100.0 %   162 ms        –   162 ms        –       Node.visit_children (app.py:1)
             99.0 %   160 ms   160 ms   160 ms   160 ms        leaf (app.py:1)
              1.0 %                                      (1 more path)"#]],
    );
    check(
        &recursion(20),
        80,
        9,
        expect![[r#"
            100.0 %   162 ms        –   162 ms        –        [13] Node.visit_children (ap…
            100.0 %   162 ms        –   162 ms        –        [14] Node.visit_children (ap…
            100.0 %   162 ms        –   162 ms        –        [15] Node.visit_children (ap…
            100.0 %   162 ms        –   162 ms        –        [16] Node.visit_children (ap…
            100.0 %   162 ms        –   162 ms        –        [17] Node.visit_children (ap…
            100.0 %   162 ms        –   162 ms        –        [18] Node.visit_children (ap…
            100.0 %   162 ms        –   162 ms        –        [19] Node.visit_children (ap…
             99.0 %   160 ms   160 ms   160 ms   160 ms        [20] leaf (app.py:1)
              1.0 %                                      (1 more path)"#]],
    );
    check(
        &recursion(70),
        160,
        4,
        expect![[r#"
            100.0 %   162 ms        –   162 ms        –                                                       [68] Node.visit_children (app.py:1)
            100.0 %   162 ms        –   162 ms        –                                                       [69] Node.visit_children (app.py:1)
             99.0 %   160 ms   160 ms   160 ms   160 ms                                                       [70] leaf (app.py:1)
              1.0 %                                      (1 more path not shown, under 2 % in each place)"#]],
    );
    check(
        &recursion(40),
        160,
        4,
        expect![[r#"
            100.0 %   162 ms        –   162 ms        –                                        Node.visit_children (app.py:1)
            100.0 %   162 ms        –   162 ms        –                                         Node.visit_children (app.py:1)
             99.0 %   160 ms   160 ms   160 ms   160 ms                                          leaf (app.py:1)
              1.0 %                                      (1 more path not shown, under 2 % in each place)"#]],
    );
}
