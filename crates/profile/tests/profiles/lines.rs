//! Annotated source, from a recording written as text to the page that is printed, at two widths, with and without colour.
//! testdata/page/lines.json is read by web/model/tables.test.ts, too.

use crate::notation;
use expect_test::{Expect, expect, expect_file};
use genba_profile::build::{Additions, profile};
use genba_profile::export;
use genba_profile::figures::share;
use genba_profile::glob::Glob;
use genba_profile::lines::{Options, json, lines, markdown, text};
use genba_profile::paint::Paint;
use genba_profile::reading::Reading;
use genba_profile::report::{self, By, Sort};
use genba_profile::weight::Weight;
use regex::Regex;
use serde_json::Value;

const SHOP: &str = "
    process 7 3.13.0 executable=/usr/bin/python3.13 argv=python3+/app/shop.py cwd=/app
    source /app/shop.py
    |import json
    |
    |
    |class Shop:
    |    def sell(self, orders, prices):
    |        total = 0
    |        for order in orders:
    |            total += prices[order.item] * order.count
    |        # The next lines are cheap.
    |        a = 1
    |        b = 2
    |        c = 3
    |        d = 4
    |        e = 5
    |        f = 6
    |        return json.dumps({'total': total, 'orders': len(orders), 'currency': 'JPY', 'tax': self.tax(total)})
    |
    |    def tax(self, total):
    |\treturn round(表[total] * 0.1), audit(
    |\t    total,
    |\t)
    |
    |
    |Shop().sell([], {})
    <module>@shop.py:24[0-19] > Shop.sell^5@shop.py:8[21-39] x400
    <module>@shop.py:24[0-19] > Shop.sell^5@shop.py:8[12-54] x100
    <module>@shop.py:24[0-19] > Shop.sell^5@shop.py:13[12-13] x2
    <module>@shop.py:24[0-19] > Shop.sell^5@shop.py:16[15-109] > dumps@/usr/lib/python3.13/json/__init__.py:231[11-43] > encode[_json.so] x150
    <module>@shop.py:24[0-19] > Shop.sell^5@shop.py:16[92-107] > Shop.tax^18@shop.py:19[14-24] > ?dict.__getitem__[python3.13] x200
    <module>@shop.py:24[0-19] > Shop.sell^5@shop.py:16[92-107] > Shop.tax^18@shop.py:19[34-21:2] > poll[libc.so.6] x100 poll
    <module>@shop.py:24[0-19] > Shop.sell^5@shop.py:7 x3
    thread 8 native
    start_thread[libc.so.6] x45
    refused moved 2
";

fn page(options: &Options, width: usize, paint: Paint) -> String {
    let reading = Reading::of(profile(&notation::recording(SHOP), &Additions::default()));
    match lines(&reading, options) {
        None => "nothing fits\n".to_string(),
        Some(lines) => text::text(&reading, &lines, width, paint),
    }
}

fn check(options: Options, width: usize, expected: Expect) {
    expected.assert_eq(&page(&options, width, Paint::Plain));
}

fn on_screen() -> Options {
    Options { share_min: 0.01, ..Options::default() }
}

#[test]
fn at_80_columns() {
    check(
        on_screen(),
        80,
        expect![[r#"
            CPython 3.13.0 · 1.60 s wall · 1.44 s CPU · 1 process, 2 threads ·
              sampled every 1.6 ms
            ticks 1,002 = sampled 1,000 + dropped 0 + refused 2 (moved 2) ·
              CPU covered 100.0 %

            shop.py:5 Shop.sell · 95.0 %, self 72.8 % of 1.44 s CPU
              total      CPU     wall     self  line
                                                   5  def sell(self, orders, prices):
                                                   6      total = 0
              0.3 %  4.80 ms  4.80 ms    0.3 %     7      for order in orders:
             55.6 %   800 ms   800 ms   55.6 %     8          total += prices[order.item] *…
                                                                44.4 % ~~~~~~~~~~~~~~~~~~
                                                   9      # The next lines are cheap.
                                                  10      a = 1
                                                   ⋮  3 lines, 0.2 %
                                                  14      e = 5
                                                  15      f = 6
             38.9 %   560 ms   720 ms   16.7 %    16      return json.dumps({'total': total…
                                                      ~ json.dumps({'total': total, … 16.7 %

            shop.py:18 Shop.tax · 22.2 % of 1.44 s CPU
              total      CPU     wall     self  line
                                                  18  def tax(self, total):
             22.2 %   320 ms   480 ms   22.2 %    19      return round(表[total] * 0.1), au…
                                                                       ~~~~~~~~~ 22.2 %
                                                  20          total,
                                                  21      )
        "#]],
    );
}

#[test]
fn at_160_columns() {
    check(
        on_screen(),
        160,
        expect![[r#"
            CPython 3.13.0 · 1.60 s wall · 1.44 s CPU · 1 process, 2 threads · sampled every 1.6 ms
            ticks 1,002 = sampled 1,000 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %

            shop.py:5 Shop.sell · 95.0 %, self 72.8 % of 1.44 s CPU
              total      CPU     wall     self  line
                                                   5  def sell(self, orders, prices):
                                                   6      total = 0
              0.3 %  4.80 ms  4.80 ms    0.3 %     7      for order in orders:
             55.6 %   800 ms   800 ms   55.6 %     8          total += prices[order.item] * order.count
                                                                       ~~~~~~~~~~~~~~~~~~ 44.4 %
                                                   9      # The next lines are cheap.
                                                  10      a = 1
                                                   ⋮  3 lines, 0.2 %
                                                  14      e = 5
                                                  15      f = 6
             38.9 %   560 ms   720 ms   16.7 %    16      return json.dumps({'total': total, 'orders': len(orders), 'currency': 'JPY', 'tax': self.tax(total)})
                                                                 ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ 16.7 %

            shop.py:18 Shop.tax · 22.2 % of 1.44 s CPU
              total      CPU     wall     self  line
                                                  18  def tax(self, total):
             22.2 %   320 ms   480 ms   22.2 %    19      return round(表[total] * 0.1), audit(
                                                                       ~~~~~~~~~ 22.2 %
                                                  20          total,
                                                  21      )
        "#]],
    );
}

#[test]
fn colour_adds_nothing() {
    let function = Regex::new("sell").expect("a regular expression");
    let options = Options { function: Some(function), ..on_screen() };
    let colours = Regex::new("\u{1b}\\[[0-9;]*m").expect("a regular expression");
    for width in [80, 160] {
        let coloured = page(&options, width, Paint::Colour);
        assert_ne!(coloured, page(&options, width, Paint::Plain));
        assert_eq!(colours.replace_all(&coloured, ""), page(&options, width, Paint::Plain));
    }
    let visible = page(&options, 80, Paint::Colour).replace('\u{1b}', "^");
    expect![[r#"
        CPython 3.13.0 · 1.60 s wall · 1.44 s CPU · 1 process, 2 threads ·
          sampled every 1.6 ms
        ticks 1,002 = sampled 1,000 + dropped 0 + refused 2 (moved 2) ·
          CPU covered 100.0 %

        ^[1mshop.py:5 Shop.sell · 95.0 %, self 72.8 % of 1.44 s CPU^[0m
        ^[2m  total      CPU     wall     self  line^[0m
        ^[2m                                       5  def sell(self, orders, prices):^[0m
        ^[2m                                       6      total = 0^[0m
          0.3 %  4.80 ms  4.80 ms    0.3 %     7      for order in orders:
        ^[1m 55.6 %   800 ms   800 ms   55.6 %^[0m     8          total += prices[order.item] *…
                                                            44.4 % ^[1;31m~~~~~~~~~~~~~~~~~~^[0m
        ^[2m                                       9      # The next lines are cheap.^[0m
        ^[2m                                      10      a = 1^[0m
        ^[2m                                       ⋮  3 lines, 0.2 %^[0m
        ^[2m                                      14      e = 5^[0m
        ^[2m                                      15      f = 6^[0m
        ^[1m 38.9 %   560 ms   720 ms   16.7 %^[0m    16      return json.dumps({'total': total…
                                                  ^[1;31m~ json.dumps({'total': total, …^[0m 16.7 %
    "#]]
    .assert_eq(&visible);
}

#[test]
fn no_line_is_wider_than_the_screen() {
    for (width, weight) in [(80, Weight::Cpu), (90, Weight::Wall), (100, Weight::Wall), (160, Weight::Cpu)] {
        for line in page(&Options { weight: Some(weight), ..Options::default() }, width, Paint::Plain).lines() {
            let cells = unicode_width::UnicodeWidthStr::width(line);
            assert!(cells <= width, "{cells} cells of {width}: {line}");
        }
    }
}

#[test]
fn by_total_callers_stand_first() {
    check(
        Options { sort: Sort::Total, functions_max: Some(1), share_min: 0.05, ..Options::default() },
        100,
        expect![[r#"
            CPython 3.13.0 · 1.60 s wall · 1.44 s CPU · 1 process, 2 threads · sampled every 1.6 ms
            ticks 1,002 = sampled 1,000 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %

            shop.py:1 <module> · 95.0 %, self 0.0 % of 1.44 s CPU
              total      CPU     wall     self  line
                                                   1  import json
                                                   ⋮  20 lines
                                                  22
                                                  23
             95.0 %   1.37 s   1.53 s        –    24  Shop().sell([], {})
                                                      ~~~~~~~~~~~~~~~~~~~ 95.0 %

            95.0 % in 2 more functions (--min-share 0 --limit 0 shows them all)
        "#]],
    );
}

#[test]
fn by_wall_time() {
    let function = Regex::new("tax").expect("a regular expression");
    check(
        Options { weight: Some(Weight::Wall), function: Some(function), ..on_screen() },
        100,
        expect![[r#"
            CPython 3.13.0 · 1.60 s wall · 1.44 s CPU · 1 process, 2 threads · sampled every 1.6 ms
            ticks 1,002 = sampled 1,000 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %
            weight: wall

            shop.py:18 Shop.tax · 30.0 % of 1.60 s wall
              total      CPU     wall     self  line
                                                  18  def tax(self, total):
             30.0 %   320 ms   480 ms   30.0 %    19      return round(表[total] * 0.1), audit(
                                                                       ~~~~~~~~~ 20.0 %
                                                              10.0 %, goes on for 2 lines ~~~~~
                                                  20          total,
                                                  21      )
        "#]],
    );
}

#[test]
fn a_library_that_is_asked_for_counts_as_own_code() {
    let file = |glob: &str| Some(Glob::new(glob).expect("a short glob"));
    check(
        Options { file: file("json/*.py"), ..on_screen() },
        100,
        expect![[r#"
            CPython 3.13.0 · 1.60 s wall · 1.44 s CPU · 1 process, 2 threads · sampled every 1.6 ms
            ticks 1,002 = sampled 1,000 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %

            __init__.py:1 dumps · 16.7 % of 1.44 s CPU
              total      CPU     wall     self  line
                                                   ⋮  230 lines
             16.7 %   240 ms   240 ms   16.7 %   231  (source not recorded)
        "#]],
    );
    check(
        Options { file: file("nothing.py"), ..on_screen() },
        100,
        expect![[r#"
        nothing fits
    "#]],
    );
}

/// A template's file, or one that was written meanwhile: its text is no text of what ran, and the figures are what was asked for.
#[test]
fn hot_lines_of_another_text_are_shown_without_it() {
    let recording = "
        process 7 3.13.0 executable=/usr/bin/python3.13 argv=python3+/app/shop.py cwd=/app
        source /app/page.py changed
        root^1@page.py:17[4-9] x300
        root^1@page.py:24[4-9] x2
    ";
    let reading = Reading::of(profile(&notation::recording(recording), &Additions::default()));
    let lines = lines(&reading, &on_screen()).expect("a function of the program's own");
    let page = text::text(&reading, &lines, 100, Paint::Plain);
    let (_, shown) = page.split_once("\n\n").expect("a header");
    expect![[r#"
        page.py:1 root · 100.0 % of 483 ms CPU
          total      CPU     wall     self  line
                                               ⋮  16 lines
         99.3 %   480 ms   480 ms   99.3 %    17  (the file was changed after the program began)
    "#]]
    .assert_eq(shown);
}

#[test]
fn as_markdown_and_as_json() {
    let reading = Reading::of(profile(&notation::recording(SHOP), &Additions::default()));
    let function = Regex::new("tax").expect("a regular expression");
    let options = Options { function: Some(function), ..on_screen() };
    let lines = lines(&reading, &options).expect("the function is there");
    let warnings = ["a warning".to_string()];
    expect![[r#"
        CPython 3.13.0 · 1.60 s wall · 1.44 s CPU · 1 process, 2 threads · sampled every 1.6 ms  
        ticks 1,002 = sampled 1,000 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %  

        ### shop.py:18 Shop.tax · 22.2 % of 1.44 s CPU

        ```text
          total      CPU     wall     self  line
                                              18  def tax(self, total):
         22.2 %   320 ms   480 ms   22.2 %    19      return round(表[total] * 0.1), audit(
                                                                   ~~~~~~~~~ 22.2 %
                                              20          total,
                                              21      )
        ```

        **warning:** a warning
    "#]]
    .assert_eq(&markdown::markdown(&reading, &lines, &warnings));
    expect![[r#"
        {
          "version": 1,
          "weight": "cpu",
          "weight_why": null,
          "wall_ns": 1600000000,
          "cpu_ns": 1440000000,
          "accounting": {
            "ticks": 1002,
            "sampled": 1000,
            "dropped": {},
            "refused": {
              "moved": 2
            }
          },
          "filters": null,
          "functions": [
            {
              "file": "/app/shop.py",
              "function": "Shop.tax",
              "first_line": 18,
              "samples": 200,
              "cpu_ns": 320000000,
              "wall_ns": 480000000,
              "share": 0.2222222222222222,
              "total_samples": 200,
              "total_cpu_ns": 320000000,
              "total_wall_ns": 480000000,
              "total_share": 0.2222222222222222,
              "lines": [
                {
                  "line": 19,
                  "source": "\treturn round(表[total] * 0.1), audit(",
                  "samples": 200,
                  "cpu_ns": 320000000,
                  "wall_ns": 480000000,
                  "share": 0.2222222222222222,
                  "total_samples": 200,
                  "total_cpu_ns": 320000000,
                  "total_wall_ns": 480000000,
                  "total_share": 0.2222222222222222,
                  "expressions": [
                    {
                      "expression": "表[total]",
                      "column": 14,
                      "end_line": 19,
                      "end_column": 22,
                      "samples": 200,
                      "cpu_ns": 320000000,
                      "wall_ns": 320000000,
                      "share": 0.2222222222222222,
                      "total_samples": 200,
                      "total_cpu_ns": 320000000,
                      "total_wall_ns": 320000000,
                      "total_share": 0.2222222222222222
                    }
                  ]
                }
              ]
            }
          ],
          "folded": {
            "functions": 0,
            "share": 0.0
          },
          "warnings": [
            "a warning"
          ]
        }
    "#]]
    .assert_eq(&json::json(&reading, &lines, &warnings).expect("JSON"));
}

/// What `genba report --by line` counts is what stands beside the lines.
#[test]
fn the_numbers_are_those_of_the_report() {
    let reading = Reading::of(profile(&notation::recording(SHOP), &Additions::default()));
    let options = report::Options { by: By::Line, sort: Sort::Total, ..Default::default() };
    let report = report::report(&reading, &options);
    let mut of_report: Vec<_> = report
        .rows
        .iter()
        .filter_map(|row| Some((row.subject.function?, row.subject.line, row.own, row.total)))
        .collect();
    let lines = lines(&reading, &Options { sort: Sort::Total, ..Options::default() }).expect("nothing was asked for");
    let mut of_lines: Vec<_> = lines
        .functions
        .iter()
        .flat_map(|function| function.lines.iter().map(|line| (function.function, line.line, line.own, line.total)))
        .collect();
    of_report.sort_by_key(|(function, line, ..)| (*function, *line));
    of_lines.sort_by_key(|(function, line, ..)| (*function, *line));
    assert_eq!(of_lines, of_report);
    let own_ns: u64 = of_lines.iter().map(|(.., own, _)| own.cpu_ns).sum();
    let outside_ns = 45 * notation::SAMPLE_QUANTA * genba_format::QUANTUM_NS;
    assert_eq!(own_ns + outside_ns, report.whole.cpu_ns);
}

/// A recursion, in which a line and a function count once, and a collection of garbage.
const ALSO: &str = "
    thread 9 again
    <module>@shop.py:24[0-19] > Shop.tax^18@shop.py:20[4-9] > Shop.tax^18@shop.py:20[4-9] > Shop.tax^18@shop.py:19[14-24] x30
    <module>@shop.py:24[0-19] > Shop.sell^5@shop.py:7 x5 gc
";

/// What the viewer is tested against: tables, and what each function of the user's own and each of its lines weighs.
#[test]
fn functions_and_lines_as_the_viewer_weighs_them() {
    let recording = notation::recording(&format!("{SHOP}{ALSO}"));
    let reading = Reading::of(profile(&recording, &Additions::default()));
    let weights = [Weight::Cpu, Weight::Wall, Weight::Samples].map(|weight| {
        let options = Options { weight: Some(weight), sort: Sort::Total, ..Options::default() };
        let found = lines(&reading, &options).expect("nothing was asked for");
        let mut functions = Vec::new();
        for function in &found.functions {
            let (file, name) = (&reading.files[function.file].path, &reading.functions[function.function].name);
            let total = function.total.by(weight);
            let mut shares = Vec::new();
            for line in &function.lines {
                shares.push((line.line, share(line.total.by(weight), found.whole.by(weight))));
            }
            functions.push(serde_json::json!({ "file": file, "name": name, "total": total, "lines": shares }));
        }
        serde_json::json!({ "weight": weight.key(), "functions": functions })
    });
    let context = export::json::Context { genba_version: "1", recording: Some("app.genba"), warnings: &[] };
    let tables: Value = serde_json::from_str(&export::json::json(&reading, context).expect("JSON")).expect("JSON");
    let golden = serde_json::json!({ "profile": tables, "weights": weights });
    let golden = serde_json::to_string_pretty(&golden).expect("JSON") + "\n";
    expect_file!["../../../../testdata/page/lines.json"].assert_eq(&golden);
}

#[test]
fn a_hot_line_of_small_expressions_says_how_many() {
    let source = format!("[{}]", "a(), ".repeat(150));
    let stacks: String = (0..150).map(|at| format!("<module>@long.py:1[{}-{}] x2\n", 1 + at * 5, 4 + at * 5)).collect();
    let recording = notation::recording(&format!("process 7 3.13.0\nsource long.py\n|{source}\n{stacks}"));
    let reading = Reading::of(profile(&recording, &Additions::default()));
    let page = text::text(&reading, &lines(&reading, &on_screen()).expect("a line"), 80, Paint::Plain);
    assert!(page.trim_end().ends_with(" … 150 expressions, each below 1.0 %"), "{page}");
}
