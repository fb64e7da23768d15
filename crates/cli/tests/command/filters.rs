//! The filters from outside: how they are written, what a reader says about them, and how it ends when nothing is kept.

use crate::notation;
use crate::sandbox::Sandbox;
use expect_test::expect;

const SHOP: &str = "
    process 7 3.13.0 executable=/usr/bin/python3.13 argv=python3+/app/shop.py cwd=/app
    thread 7 python3
    sell@shop.py:3 > dumps@/usr/lib/python3.13/json/__init__.py:4 > encode[_json.so] x300
    sell@shop.py:4 x100
    thread 8 worker
    count@shop.py:9 x100
";

fn with_shop(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.file("work/shop.genba", &notation::bytes(SHOP));
    sandbox
}

#[test]
fn every_view_says_what_is_kept() {
    let sandbox = with_shop("filters-kept");
    sandbox.check(
        "report shop.genba --focus ^sell$ --hide json",
        expect![[r#"
            exit code 0
            stdout
              CPython 3.13.0 · 800 ms wall · 800 ms CPU · 1 process, 2 threads · sampled every 1.6 ms
              ticks 500 = sampled 500 + dropped 0 + refused 0 · CPU covered 100.0 %
              one place: 60.0 % of 800 ms CPU is shop.py:3 sell
              kept: 80.0 % of 800 ms CPU (--focus '^sell$' --hide json). Shares below are of what is kept.

               75.0 %  480 ms  shop.py:3 sell
               25.0 %  160 ms  shop.py:4 sell
            stderr
        "#]],
    );
    sandbox.check(
        "tree shop.genba --thread work* --time 700ms..",
        expect![[r#"
            exit code 0
            stdout
              CPython 3.13.0 · 800 ms wall · 800 ms CPU · 1 process, 2 threads · sampled every 1.6 ms
              ticks 500 = sampled 500 + dropped 0 + refused 0 · CPU covered 100.0 %
              kept: 12.6 % of 800 ms CPU (--thread 'work*' --time 700ms..). Shares below are of what is kept.

                share      CPU     self     wall     self  path
              100.0 %   101 ms   101 ms   101 ms   101 ms  count (shop.py:1)
            stderr
              warning: 63 samples, shares are ± 12 points; try --rate 10000 or a longer run
        "#]],
    );
    sandbox.check(
        "export shop.genba --to collapsed -o out.txt --process shop.py --thread 7",
        expect![[r#"
        exit code 0
        stdout
        stderr
          wrote out.txt (129 bytes): 640 ms CPU in 2 stacks
          ticks 500 = sampled 500 + dropped 0 + refused 0 · CPU covered 100.0 %
          kept: 80.0 % of 800 ms CPU (--process shop.py --thread 7)
    "#]],
    );
    sandbox.check(
        "report shop.genba --thread worker --format markdown",
        expect![[r#"
            exit code 0
            stdout
              CPython 3.13.0 · 800 ms wall · 800 ms CPU · 1 process, 2 threads · sampled every 1.6 ms
              ticks 500 = sampled 500 + dropped 0 + refused 0 · CPU covered 100.0 %
              one place: 60.0 % of 800 ms CPU is `shop.py:3 sell`
              kept: 20.0 % of 800 ms CPU (--thread worker). Shares below are of what is kept.

              | share | CPU | where | expression | underneath |
              |--:|--:|---|---|---|
              | 100.0 % | 160 ms | `shop.py:9 count` |  |  |

              **warning:** 100 samples, shares are ± 10 points; try --rate 10000 or a longer run
            stderr
        "#]],
    );
}

#[test]
fn scripts_find_the_filters_in_json() {
    let sandbox = with_shop("filters-json");
    let words = ["report", "shop.genba", "--thread", "worker", "--format", "json"];
    let output = sandbox.genba(&words).output().expect("genba starts");
    let page = String::from_utf8(output.stdout).expect("JSON is text");
    let from = page.find("\"filters\"").expect("the key");
    let till = page.find("\"processes\"").expect("the key after it");
    expect![[r#"
        "filters": {
            "flags": [
              "--thread worker"
            ],
            "share": 0.2,
            "kept": {
              "samples": 100,
              "cpu_ns": 160000000,
              "wall_ns": 160000000
            },
            "whole": {
              "samples": 500,
              "cpu_ns": 800000000,
              "wall_ns": 800000000
            }
          },"#]]
    .assert_eq(page[from..till].trim_end());
}

#[test]
fn what_keeps_nothing_ends_with_1_and_says_what_there_is() {
    let sandbox = with_shop("filters-nothing");
    sandbox.check(
        "report shop.genba --thread wroker",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no thread is called `wroker` or has that number
            found: python3 (7), worker (8)
          hint: genba report --by thread shows their shares
    "#]],
    );
    sandbox.check(
        "tree shop.genba --process 8",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no process is called `8` or has that number
            found: 7 python3 /app/shop.py
          hint: genba report --by process shows their shares
    "#]],
    );
    sandbox.check(
        "report shop.genba --time 2s..3s",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no sample was taken in 2s..3s: the recording goes on for 800 ms
          hint: --time counts from the recording's beginning
    "#]],
    );
    sandbox.check(
        "report shop.genba --hide Json",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: --hide Json: no frame of this recording has such a name or file
          hint: genba tree shows the names; capitals count unless the expression begins with (?i)
    "#]],
    );
    sandbox.check(
        "report shop.genba --focus sell --thread worker",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no sample is left by --thread worker --focus sell together
          hint: leave one out to see what the others keep
    "#]],
    );
}

#[test]
fn what_is_no_filter_ends_with_2() {
    let sandbox = with_shop("filters-wrong");
    sandbox.check("report shop.genba --time 2s", expect![[r#"
        exit code 2
        stdout
        stderr
          error: invalid value '2s' for '--time <A..B>': expected a time from the recording's beginning, such as 1s..2.5s, 500ms.. or ..2s
          hint: genba report --help tells its options
    "#]]);
    sandbox.check(
        "report shop.genba --focus (",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: invalid value '(' for '--focus <REGEX>': not a regular expression: unclosed group
              hint: genba report --help tells its options
        "#]],
    );
}
