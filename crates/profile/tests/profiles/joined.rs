//! Several recordings as one: what stays apart, what adds up, and what is said.

use crate::notation;
use expect_test::expect;
use genba_profile::build::{Additions, profile, profile_in_window};
use genba_profile::filter::{Filter, apply};
use genba_profile::glob::Glob;
use genba_profile::joined::joined;
use genba_profile::profile::Profile;
use genba_profile::reading::Reading;
use genba_profile::report::{By, Options, report, text};
use genba_profile::tree;
use genba_profile::verdict::verdict;
use genba_profile::warnings::warnings;
use genba_profile::weight::{Totals, Weight};
use genba_profile::window::Window;

const FIRST: &str = "
    process 7 3.13.0 executable=/usr/bin/python3.13 argv=python3+app.py cwd=/app
    source /app/app.py
    |x = f(1)
    |y = g(2)
    thread 7 main
    <module>@app.py:1[4-8] > memmove[libc.so.6] x150
    <module>@app.py:2[4-8] x50
    refused moved 2
";

/// The same program with another second line, in a process that happens to have the same number.
const SECOND: &str = "
    process 7 3.14.0 executable=/usr/bin/python3.14 argv=python3+app.py cwd=/app
    source /app/app.py
    |x = f(1)
    |y = h(2) + 1
    |z = 3
    thread 7 main
    <module>@app.py:1[4-8] > memmove[libc.so.6] x100
    <module>@app.py:2[4-8] x100
    dropped late 1
    no end
";

/// Two runs of the same text.
fn twice() -> Profile {
    let again = |name: &str| (name.to_string(), profile(&notation::recording(FIRST), &Additions::default()));
    joined(vec![again("a.genba"), again("b.genba")])
}

fn both(window: Option<Window>) -> Profile {
    let named = |name: &str, text: &str| {
        (name.to_string(), profile_in_window(&notation::recording(text), &Additions::default(), window))
    };
    joined(vec![named("a.genba", FIRST), named("b.genba", SECOND)])
}

fn page(profile: Profile, by: By) -> String {
    let reading = Reading::of(profile);
    text::text(&reading, &report(&reading, &Options { by, ..Options::default() }), None, Default::default())
}

#[test]
fn the_same_expression_is_one_row_and_another_text_is_another_file() {
    expect![[r#"
        2 recordings · CPython 3.13.0 · 640 ms wall · 640 ms CPU · 2 processes, 2 threads · sampled every 1.6 ms
        ticks 404 = sampled 400 + dropped 0 + refused 4 (moved 4) · CPU covered 100.0 %
        one place: 75.0 % of 640 ms CPU is app.py:1 <module>   f(1)

         75.0 %  480 ms  app.py:1 <module>    x = f(1)
                                                  ~~~~
                             memmove (libc) 100 %
         25.0 %  160 ms  app.py:2 <module>    y = g(2)
                                                  ~~~~
    "#]]
    .assert_eq(&page(twice(), By::Expression));
    expect![[r#"
        2 recordings · CPython 3.13.0, 3.14.0 · 640 ms wall · 640 ms CPU · 2 processes, 2 threads · sampled every 1.6 ms
        ticks 403 = sampled 400 + dropped 1 (late 1) + refused 2 (moved 2) · CPU covered 100.0 %
        one function: 50.0 % of 640 ms CPU is <module> (app.py), in 2 lines
           37.5 %   240 ms  line 1   x = f(1)
           12.5 %  80.0 ms  line 2   y = g(2)

         37.5 %   240 ms  app.py:1 <module>              x = f(1)
                                                             ~~~~
                              memmove (libc) 100 %
         25.0 %   160 ms  app.py (b.genba):1 <module>    x = f(1)
                                                             ~~~~
                              memmove (libc) 100 %
         25.0 %   160 ms  app.py (b.genba):2 <module>    y = h(2) + 1
                                                             ~~~~
         12.5 %  80.0 ms  app.py:2 <module>              y = g(2)
                                                             ~~~~
    "#]]
    .assert_eq(&page(both(None), By::Expression));
}

#[test]
fn processes_and_threads_with_equal_numbers_stay_apart() {
    let rows = |by: By| format!("rows\n{}", page(both(None), by).split_once("\n\n").expect("rows below the header").1);
    expect![[r#"
        rows
         50.0 %  320 ms  process 7 of a.genba python3 app.py
                             memmove (libc) 75 %
         50.0 %  320 ms  process 7 of b.genba python3 app.py
                             memmove (libc) 50 %
    "#]]
    .assert_eq(&rows(By::Process));
    expect![[r#"
        rows
         50.0 %  320 ms  thread 7 main of process 7 of a.genba
                             memmove (libc) 75 %
         50.0 %  320 ms  thread 7 main of process 7 of b.genba
                             memmove (libc) 50 %
    "#]]
    .assert_eq(&rows(By::Thread));
}

#[test]
fn what_each_recording_counted_adds_up() {
    let alone = |text: &str| profile(&notation::recording(text), &Additions::default());
    let (first, second, both) = (alone(FIRST), alone(SECOND), both(None));
    let mut totals = Totals::of_profile(&first);
    totals.add(Totals::of_profile(&second));
    assert_eq!(Totals::of_profile(&both), totals);
    assert_eq!(both.accounting().ticks, first.accounting().ticks + second.accounting().ticks);
    assert_eq!(both.accounting().sampled, first.accounting().sampled + second.accounting().sampled);
    assert_eq!(both.clocks().cpu_ns, first.clocks().cpu_ns + second.clocks().cpu_ns);
    assert_eq!(both.wall_ns(), first.wall_ns() + second.wall_ns());
    let tree = tree::tree(&Reading::of(twice()), &tree::Options::default());
    assert_eq!((tree.roots.len(), tree.whole.samples), (1, 400), "the module is one function in both");
}

#[test]
fn what_is_wrong_with_one_says_with_which() {
    expect![[r#"
        /app/app.py is not the same in b.genba as in a recording before it: it is shown as another file; record both with the same source
        process 7 of b.genba (CPython 3.14.0) has no end in this recording: killed, or still running; the last quarter of a second may be missing; let it end by itself to have that"#]].assert_eq(&warnings(&both(None), Weight::Cpu).join("\n"));
}

/// A window counts from the beginning of each.
#[test]
fn filters_look_at_each_of_them() {
    let window = Some(Window { start_ns: 0, end_ns: Some(16_000_000) });
    let (kept, _) = apply(both(window), &Filter { window, ..Filter::default() }).expect("something is kept");
    // Samples 1 to 9 of each: the tenth ends at 16 ms.
    assert_eq!(Totals::of_profile(&kept).samples, 18);
    let process = Filter { processes: vec![Glob::new("7").expect("a short glob")], ..Filter::default() };
    assert_eq!(Totals::of_profile(&apply(both(None), &process).expect("kept").0).samples, 400);
}

/// Two programs given by `-c`, of which no text is known.
#[test]
fn code_without_a_file_stays_apart() {
    let program = "
        process 7 3.13.0 executable=/usr/bin/python3.13 argv=python3+-c+x
        <module>@<string>:2[4-8] x100
    ";
    let named =
        |name: &str| (name.to_string(), profile_in_window(&notation::recording(program), &Additions::default(), None));
    expect![[r#"
        2 recordings · CPython 3.13.0 · 320 ms wall · 320 ms CPU · 2 processes, 2 threads · sampled every 1.6 ms
        ticks 200 = sampled 200 + dropped 0 + refused 0 · CPU covered 100.0 %
        one place: 50.0 % of 320 ms CPU is <string> (a.genba):2 <module>
          and 50.0 % is <string> (b.genba):2 <module>

         50.0 %  160 ms  <string> (a.genba):2 <module> (columns 5 to 8)
         50.0 %  160 ms  <string> (b.genba):2 <module> (columns 5 to 8)
    "#]]
    .assert_eq(&page(joined(vec![named("a.genba"), named("b.genba")]), By::Expression));
}

/// The second one, read alone, would have its libraries as own code: next to none of the user's ran there.
#[test]
fn whose_code_it_is_is_decided_once() {
    let tool = "main@/v/lib/python3.13/site-packages/tool.py:3 > loads@/usr/lib/python3.13/json/__init__.py:300";
    let process = "process 7 3.13.0 executable=/usr/bin/python3.13 cwd=/app";
    let first = format!("{process}\n{tool} x92\nown@app.py:1 > {tool} x8\n");
    let second = format!("{process}\n{tool} x100\n");
    let named = |name: &str, text: &str| {
        (name.to_string(), profile_in_window(&notation::recording(text), &Additions::default(), None))
    };
    expect![[r#"
        2 recordings · CPython 3.13.0 · 320 ms wall · 320 ms CPU · 2 processes, 2 threads · sampled every 1.6 ms
        ticks 200 = sampled 200 + dropped 0 + refused 0 · CPU covered 100.0 %
        one place: 100.0 % of 320 ms CPU is tool.py:3 main

        100.0 %  320 ms  tool.py:3 main
                             loads 100 %
    "#]]
    .assert_eq(&page(joined(vec![named("a.genba", &first), named("b.genba", &second)]), By::Expression));
}

#[test]
fn one_alone_stays_as_it_is() {
    let alone = profile(&notation::recording(FIRST), &Additions::default());
    let only = joined(vec![("a.genba".to_string(), profile(&notation::recording(FIRST), &Additions::default()))]);
    assert_eq!(page(only, By::Process), page(alone, By::Process));
}

/// Of two recordings of a recursion the deeper one tells.
#[test]
fn the_deepest_count_of_all_is_told() {
    let named = |name: &str, depth: u32| {
        let cut = "![Python·stack·cut:·more·than·1,536·frames]";
        let fib = "fib@app.py:2[4-9]";
        let text = format!("process 7 3.13.0\n{cut} > {fib} > {fib} > {fib} x100\ndeep {depth}\n");
        (name.to_string(), profile(&notation::recording(&text), &Additions::default()))
    };
    let both = joined(vec![named("a.genba", 4000), named("b.genba", 3000)]);
    let said = verdict(&both).said(&both).first.to_string();
    assert!(said.contains(" ×4000 deep holds "), "{said}");
}
