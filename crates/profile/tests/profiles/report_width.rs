//! The report on screens of several widths: nothing is wider than the screen, and a mark stands under its expression.

use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile};
use genba_profile::paint::Paint;
use genba_profile::reading::Reading;
use genba_profile::report::{By, Options, Sort, report, text};
use unicode_width::UnicodeWidthStr;

/// Long lines, names and ways; an expression over two lines; wide characters; one without source.
const SHOP: &str = "
    process 4127 3.13.0 executable=/usr/bin/python3.13 cwd=/home/me
    source /home/me/shop.py
    |import json
    |def sell(orders, prices):
    |    total = sum(prices[order.item] * order.count for order in orders if order.count)
    |    return json.dumps({'total': total, 'orders': [vars(order) for order in orders], 'tax': tax(total)}, indent=2)
    |def tax(total): return total * 0.19 if total > 1000 else '表' * total[len(prices):]
    |def worth(total): return tax(
    |    total)
    sell@shop.py:3[16-34] > PyObject_GetItem[python3.13] > dict_subscript[python3.13] x400
    sell@shop.py:4[49-82] > builtin_vars[python3.13] > PyObject_GetAttr[python3.13] > _PyObject_GenericGetAttrWithDict[python3.13] > _PyType_Lookup[python3.13] > find_name_in_mro[python3.13] > PyDict_GetItem[python3.13] > lookdict[python3.13] > unicodekeys_lookup_unicode[python3.13] > a[python3.13] > b[python3.13] > c[python3.13] > memcmp[libc.so.6] x200
    sell@shop.py:4[11-112] > dumps@/usr/lib/python3.13/json/__init__.py:183[4-20] > encoder_call[_json.cpython-313.so] x100
    tax@shop.py:5[67-83] > list_slice[python3.13] x80
    worth@shop.py:6[25-7:10] x70
    CatalogueRepository.find_everything_that_matches@shop.py:3[8-13] > void·accumulate<std::vector<long·long>,·std::plus<double>>[fast.so] x60
    load_everything@/opt/plugins/nobody_stored_this_one.py:120[4-20] x50
    poll@shop.py:1 x10
";

/// The page without colour is the page with colour without its signs.
fn check(recording: &str, width: usize, options: Options, expected: Expect) {
    let reading = Reading::of(profile(&notation::recording(recording), &Additions::default()));
    let report = report(&reading, &options);
    let page = text::text(&reading, &report, Some(width), Paint::Plain);
    for line in page.lines() {
        assert!(line.width() <= width, "{} cells: {line}", line.width());
    }
    let mut coloured = text::text(&reading, &report, Some(width), Paint::Colour);
    for sign in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[1;31m"] {
        coloured = coloured.replace(sign, "");
    }
    assert_eq!(coloured, page);
    expected.assert_eq(&page);
}

#[test]
fn on_80_columns() {
    check(
        SHOP,
        80,
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 1.55 s wall · 1.55 s CPU · 1 process, 1 thread ·
              sampled every 1.6 ms
            ticks 970 = sampled 970 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 41.2 % of 1.55 s CPU is shop.py:3 sell   prices[order.item]
              and 20.6 % is shop.py:4 sell   [vars(order) for order in orders]

             41.2 %   640 ms  shop.py:3 sell     total = sum(prices[order.item] * order.cou…
                                                             ~~~~~~~~~~~~~~~~~~
                                  PyObject_GetItem → dict_subscript 100 %
             20.6 %   320 ms  shop.py:4 sell     …rders': [vars(order) for order in orders]…
                                                          ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                  builtin_vars → PyObject_GetAttr
                                    → _PyObject_GenericGetAttrWithDict → (5 more) → a → b
                                    → c → memcmp (libc) 100 %
             10.3 %   160 ms                     return json.dumps({'total': total, 'orders…
                                                        ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                  dumps → encoder_call (_json.so) 100 %
              8.2 %   128 ms  shop.py:5 tax      …tal > 1000 else '表' * total[len(prices):]
                                                                           ~~~~~~~~~~~~~~~~
                                  list_slice 100 %
              7.2 %   112 ms  shop.py:6 worth    def worth(total): return tax(
                                                       goes on for 1 line ~~~~
              6.2 %  96.0 ms  shop.py:3 CatalogueRepository.find_everything_that_matches
                                  total = sum(prices[order.item] * order.count for order in…
                                      ~~~~~
                                  void accumulate<std::vector…s<double>> (fast.so) 100 %
              5.2 %  80.0 ms  nobody_stored_this_one.py:120 load_everything
                                (columns 5 to 20)
              1.0 %  16.0 ms  shop.py:1 poll     import json
        "#]],
    );
}

#[test]
fn on_160_columns() {
    check(
        SHOP,
        160,
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 1.55 s wall · 1.55 s CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 970 = sampled 970 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 41.2 % of 1.55 s CPU is shop.py:3 sell   prices[order.item]
              and 20.6 % is shop.py:4 sell   [vars(order) for order in orders]

             41.2 %   640 ms  shop.py:3 sell     total = sum(prices[order.item] * order.count for order in orders if order.count)
                                                             ~~~~~~~~~~~~~~~~~~
                                  PyObject_GetItem → dict_subscript 100 %
             20.6 %   320 ms  shop.py:4 sell     return json.dumps({'total': total, 'orders': [vars(order) for order in orders], 'tax': tax(total)}, indent=2)
                                                                                              ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                  builtin_vars → PyObject_GetAttr → _PyObject_GenericGetAttrWithDict → _PyType_Lookup → find_name_in_mro → PyDict_GetItem → lookdict
                                    → unicodekeys_lookup_unicode → a → b → c → memcmp (libc) 100 %
             10.3 %   160 ms                            ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                  dumps → encoder_call (_json.so) 100 %
              8.2 %   128 ms  shop.py:5 tax      def tax(total): return total * 0.19 if total > 1000 else '表' * total[len(prices):]
                                                                                                                   ~~~~~~~~~~~~~~~~
                                  list_slice 100 %
              7.2 %   112 ms  shop.py:6 worth    def worth(total): return tax(
                                                                          ~~~~ goes on for 1 line
              6.2 %  96.0 ms  shop.py:3 CatalogueRepository.find_everything_that_matches    total = sum(prices[order.item] * order.count for order in orders if order.count)
                                                                                                ~~~~~
                                  void accumulate<std::vector<long long>, std::plus<double>> (fast.so) 100 %
              5.2 %  80.0 ms  nobody_stored_this_one.py:120 load_everything (columns 5 to 20)
              1.0 %  16.0 ms  shop.py:1 poll     import json
        "#]],
    );
}

#[test]
fn on_50_columns() {
    check(
        SHOP,
        50,
        Options { rows_max: Some(2), ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 1.55 s wall · 1.55 s CPU ·
              1 process, 1 thread · sampled every 1.6 ms
            ticks 970 = sampled 970 + dropped 0 + refused 0 ·
              CPU covered 100.0 %
            one place: 41.2 % of 1.55 s CPU is shop.py:3 sell
              prices[order.item]
              and 20.6 % is shop.py:4 sell
                  [vars(order) for order in orders]

             41.2 %  640 ms  shop.py:3 sell
                total = sum(prices[order.item] * order.count …
                            ~~~~~~~~~~~~~~~~~~
                PyObject_GetItem → dict_subscript 100 %
             20.6 %  320 ms  shop.py:4 sell
                … 'orders': [vars(order) for order in orders]…
                            ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                builtin_vars → PyObject_GetAttr
                  → _PyObject_GenericGetAttrWithDict
                  → (5 more) → a → b → c → memcmp (libc) 100 %
             38.1 %  6 more rows (--min-share 0 --limit 0
                  shows them all)
        "#]],
    );
}

#[test]
fn with_a_wide_column_of_times() {
    let options = Options { sort: Sort::Total, rows_max: Some(4), ..Options::default() };
    check(
        SHOP,
        80,
        options,
        expect![[r#"
            CPython 3.13.0 · 1.55 s wall · 1.55 s CPU · 1 process, 1 thread ·
              sampled every 1.6 ms
            ticks 970 = sampled 970 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 41.2 % of 1.55 s CPU is shop.py:3 sell   prices[order.item]
              and 20.6 % is shop.py:4 sell   [vars(order) for order in orders]

             41.2 %  640 ms (self 640 ms)  shop.py:3 sell
                                               total = sum(prices[order.item] * order.count…
                                                           ~~~~~~~~~~~~~~~~~~
                                               PyObject_GetItem → dict_subscript 100 %
             20.6 %  320 ms (self 320 ms)  shop.py:4 sell
                                               …'orders': [vars(order) for order in orders]…
                                                          ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                               builtin_vars → PyObject_GetAttr → (6 more)
                                                 → a → b → c → memcmp (libc) 100 %
             10.3 %  160 ms (self 160 ms)      return json.dumps({'total': total, 'orders':…
                                                      ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                               dumps → encoder_call (_json.so) 100 %
              8.2 %  128 ms (self 128 ms)  shop.py:5 tax
                                               …total > 1000 else '表' * total[len(prices):]
                                                                           ~~~~~~~~~~~~~~~~
                                               list_slice 100 %
             19.6 %  4 more rows (--min-share 0 --limit 0 shows them all)
        "#]],
    );
}

#[test]
fn no_width_is_too_narrow_or_too_wide() {
    let reading = Reading::of(profile(&notation::recording(SHOP), &Additions::default()));
    for (by, sort) in [(By::Expression, Sort::Own), (By::Line, Sort::Total), (By::Function, Sort::Own)] {
        let report = report(&reading, &Options { by, sort, ..Options::default() });
        for width in 40..200 {
            let page = text::text(&reading, &report, Some(width), Paint::Plain);
            let word = |line: &str| line.split_whitespace().map(UnicodeWidthStr::width).max().unwrap_or(0);
            let too_wide = page.lines().find(|line| line.width() > width && word(line) < width / 2);
            assert_eq!(too_wide, None, "{width}");
        }
    }
}

/// In a pipe: one line a row, one a chain, for grep.
#[test]
fn without_a_screen_no_line_is_broken() {
    let reading = Reading::of(profile(&notation::recording(SHOP), &Additions::default()));
    let report = report(&reading, &Options { rows_max: Some(2), ..Options::default() });
    expect![[r#"
        CPython 3.13.0 · 1.55 s wall · 1.55 s CPU · 1 process, 1 thread · sampled every 1.6 ms
        ticks 970 = sampled 970 + dropped 0 + refused 0 · CPU covered 100.0 %
        one place: 41.2 % of 1.55 s CPU is shop.py:3 sell   prices[order.item]
          and 20.6 % is shop.py:4 sell   [vars(order) for order in orders]

         41.2 %  640 ms  shop.py:3 sell    total = sum(prices[order.item] * order.count for order in orders if order.count)
                                                       ~~~~~~~~~~~~~~~~~~
                             PyObject_GetItem → dict_subscript 100 %
         20.6 %  320 ms  shop.py:4 sell    return json.dumps({'total': total, 'orders': [vars(order) for order in orders], 'tax': tax(total)},…
                                                                                        ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                             builtin_vars → PyObject_GetAttr → _PyObject_GenericGetAttrWithDict → _PyType_Lookup → (3 more) → unicodekeys_lookup_unicode → a → b → c → memcmp (libc) 100 %
         38.1 %  6 more rows (--min-share 0 --limit 0 shows them all)
    "#]].assert_eq(&text::text(&reading, &report, None, Paint::Plain));
}

#[test]
fn colour_is_in_each_line_that_was_broken() {
    let reading = Reading::of(profile(&notation::recording(SHOP), &Additions::default()));
    let report = report(&reading, &Options { rows_max: Some(2), ..Options::default() });
    let page = text::text(&reading, &report, Some(80), Paint::Colour).replace('\u{1b}', "ESC");
    expect![[r#"
        CPython 3.13.0 · 1.55 s wall · 1.55 s CPU · 1 process, 1 thread ·
          sampled every 1.6 ms
        ticks 970 = sampled 970 + dropped 0 + refused 0 · CPU covered 100.0 %
        one place: 41.2 % of 1.55 s CPU is shop.py:3 sell   prices[order.item]
          and 20.6 % is shop.py:4 sell   [vars(order) for order in orders]

        ESC[1m 41.2 %ESC[0m  640 ms  shop.py:3 sell    total = sum(prices[order.item] * order.count…
                                                       ESC[1;31m~~~~~~~~~~~~~~~~~~ESC[0m
                             ESC[2mPyObject_GetItem → dict_subscript 100 %ESC[0m
        ESC[1m 20.6 %ESC[0m  320 ms  shop.py:4 sell    …'orders': [vars(order) for order in orders]…
                                                      ESC[1;31m~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ESC[0m
                             ESC[2mbuiltin_vars → PyObject_GetAttrESC[0m
                             ESC[2m  → _PyObject_GenericGetAttrWithDict → (5 more) → a → b → cESC[0m
                             ESC[2m  → memcmp (libc) 100 %ESC[0m
        ESC[2m 38.1 %  6 more rows (--min-share 0 --limit 0 shows them all)ESC[0m
    "#]]
    .assert_eq(&page);
}

#[test]
fn details_of_a_verdict_are_broken_between_their_columns() {
    let recording = "
    process 7 3.13.0 cwd=/app
    source /app/app.py
    |connection.receive_everything_that_has_arrived(4096)
    |work()
    <module>@app.py:2[0-6] x20
    SocketOfTheOldServer.receive@app.py:1[0-52] > sock_recv[python3.13] > poll[libc.so.6] x100 poll ticks=3
    ";
    check(
        recording,
        80,
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 512 ms wall · 32.0 ms CPU · 1 process, 1 thread ·
              sampled every 1.6 ms
            ticks 320 = sampled 320 + dropped 0 + refused 0 · CPU covered 100.0 %
            waiting: 512 ms wall, 32.0 ms CPU (6.2 %). Shares below are of 512 ms in 1
              thread.
               93.8 %   480 ms  app.py:1 SocketOfTheOldServer.receive
                  connection.receive_everything_that_has_arrived(4096)
                  waiting for an event (poll)

             93.8 %   480 ms  app.py:1 SocketOfTheOldServer.receive
                                  connection.receive_everything_that_has_arrived(4096)
                                  ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                  sock_recv → poll (libc) → in poll(2) 100 %
              6.2 %  32.0 ms  app.py:2 <module>    work()
                                                   ~~~~~~
        "#]],
    );
}
