//! Screens of the sizes that terminals have, and what keys make of them.

use super::{Palette, draw};
use crate::files::growing_file::Fate;
use crate::verbs::attach::missed::Missed;
use crate::verbs::top::follower::{Picture, Status, Wish};
use crate::verbs::top::model::{Column, Effect, Model};
use crate::verbs::top::state::State;
use expect_test::{Expect, expect};
use genba_profile::cpu_over_time::SECOND_NS;
use genba_profile::live::{Live, Part, Row, Rows};
use genba_profile::report::By;
use genba_profile::tree::Order;
use genba_profile::weight::{Totals, Weight};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};

const MS: u64 = 1_000_000;

fn totals(cpu_ms: u64, wall_ms: u64) -> Totals {
    Totals { samples: cpu_ms, cpu_ns: cpu_ms * MS, wall_ns: wall_ms * MS, ..Totals::default() }
}

fn row(name: &str, source: &str, below: &str, own: (u64, u64), total: (u64, u64)) -> Row {
    let [name, source, below] = [name, source, below].map(str::to_owned);
    Row { depth: 0, name, source, below, own: totals(own.0, own.1), total: totals(total.0, total.1), is_last: false }
}

fn picture(wish: Wish) -> Picture {
    let rows = match wish.rows {
        Rows::Table(_) => vec![
            row("slow.py:9 before", "b[i:]", "bytes_subscript → memmove 97 %", (652, 660), (652, 660)),
            row("slow.py:20 <module>", "before(b)", "", (0, 0), (671, 690)),
            row("slow.py:9 before", "b[i:][:2]", "bytes_subscript 100 %", (19, 20), (671, 680)),
            row("queue.py:4 wait", "lock.acquire()", "waiting for a lock (futex) 100 %", (0, 4000), (0, 4000)),
        ],
        Rows::Tree(_) => {
            let line = |depth, name: &str, own, total| Row { depth, ..row(name, "", "", own, total) };
            vec![
                line(0, "<module> (slow.py:1)", (0, 0), (671, 690)),
                line(1, "before (slow.py:5)", (19, 20), (671, 690)),
                line(2, "memmove [libc.so.6]", (652, 670), (652, 670)),
                line(0, "wait (queue.py:1)", (0, 4000), (0, 4000)),
            ]
        }
    };
    let live = Live {
        who: "CPython 3.15.2 · 4.02 s wall · 690 ms CPU · 1 process, 2 threads · 1 ms".to_owned(),
        law: "ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2) · CPU covered 99.7 %".to_owned(),
        whole: totals(680, 4690),
        gil: Part { part_ns: 20 * MS, whole_ns: 700 * MS },
        gc: Part { part_ns: 34 * MS, whole_ns: 680 * MS },
        rows,
        rows_left_out: 0,
    };
    let seconds_ns = [0, 10, 50, 100, 200, 100].map(|percent| percent * SECOND_NS / 100).to_vec();
    Picture { wish, weight: wish.weight.unwrap_or(Weight::Cpu), live, seconds_ns, faults: Vec::new() }
}

/// A recording that grows, in the terminal's first moment.
fn model() -> Model {
    let mut model = Model::new("slow.genba".to_owned());
    model.status = Status { state: State::Recording, bytes: 41_234, ..Status::default() };
    model.see(picture(model.wish()));
    model
}

/// Each letter is a key; a picture follows where one is wished for.
fn press(model: &mut Model, keys: &str) -> Effect {
    let codes = keys.chars().map(|letter| match letter {
        '\n' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        letter => KeyCode::Char(letter),
    });
    codes.fold(Effect::None, |_, code| press_code(model, code))
}

fn press_code(model: &mut Model, code: KeyCode) -> Effect {
    let effect = model.key(KeyEvent::new(code, KeyModifiers::NONE));
    if effect == Effect::Wish {
        model.see(picture(model.wish()));
    }
    effect
}

fn screen(model: &mut Model, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model, Palette::Plain)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| {
        let cells: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        format!("{}\n", cells.trim_end())
    };
    (0..height).map(line).collect()
}

/// The lines of the rows alone.
fn rows(model: &mut Model) -> String {
    let page = screen(model, 80, 24);
    let rows = page.lines().skip_while(|line| !line.contains("total")).take_while(|line| !line.is_empty());
    // With a margin: `expect` takes away what all lines begin with.
    rows.map(|line| format!("|{line}\n")).collect()
}

fn check(page: &str, expected: Expect) {
    expected.assert_eq(page);
}

#[test]
fn eighty_columns() {
    check(
        &screen(&mut model(), 80, 24),
        expect![[r#"
        genba top slow.genba                                          recording, 41.2 kB
        CPython 3.15.2 · 4.02 s wall · 690 ms CPU · 1 process, 2 threads · 1 ms
        ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2) ·
          CPU covered 99.7 %
        GIL: 2.9 % of the time with work was spent waiting for it · GC: 5.0 % of CPU
        CPU 1.00 cores ▁▁▂▄█▄
         1 expression   2 line   3 function   4 thread   t tree   since the beginning
                        ── CPU ──        ── wall ──
              %    self↓    total     self    total  expression
           95.9   652 ms   652 ms   660 ms   660 ms  slow.py:9 before  b[i:]
            2.8  19.0 ms   671 ms  20.0 ms   680 ms  slow.py:9 before  b[i:][:2]
            0.0        –   671 ms        –   690 ms  slow.py:20 <module>  before(b)
            0.0        –        –   4.00 s   4.00 s  queue.py:4 wait  lock.acquire()








        slow.py:9 before   b[i:]
          → bytes_subscript → memmove 97 %
        q quit  ? keys  / filter  t tree  ←→ sort  w window  f freeze
    "#]],
    );
}

#[test]
fn two_hundred_columns() {
    check(
        &screen(&mut model(), 200, 60),
        expect![[r#"
        genba top slow.genba                                                                                                                                                                  recording, 41.2 kB
        CPython 3.15.2 · 4.02 s wall · 690 ms CPU · 1 process, 2 threads · 1 ms
        ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2) · CPU covered 99.7 %
        GIL: 2.9 % of the time with work was spent waiting for it · GC: 5.0 % of CPU
        CPU 1.00 cores ▁▁▂▄█▄
         1 expression   2 line   3 function   4 thread   t tree   since the beginning
                               ── CPU ──                      ── wall ──
            self↓      %    total      %     self      %    total      %  expression
           652 ms   95.9   652 ms   95.9   660 ms   14.1   660 ms   14.1  slow.py:9 before     b[i:]
          19.0 ms    2.8   671 ms   98.7  20.0 ms    0.4   680 ms   14.5  slow.py:9 before     b[i:][:2]
                –    0.0   671 ms   98.7        –    0.0   690 ms   14.7  slow.py:20 <module>  before(b)
                –    0.0        –    0.0   4.00 s   85.3   4.00 s   85.3  queue.py:4 wait      lock.acquire()













































        slow.py:9 before   b[i:]
          → bytes_subscript → memmove 97 %
        q quit  ? keys  / filter  t tree  ←→ sort  w window  f freeze
    "#]],
    );
}

#[test]
fn the_tree_and_back() {
    let mut model = model();
    press(&mut model, "t");
    check(
        &rows(&mut model),
        expect![[r#"
            |      %     self   total↓     self    total  path
            |   98.7        –   671 ms        –   690 ms  <module> (slow.py:1)
            |   98.7  19.0 ms   671 ms  20.0 ms   690 ms   before (slow.py:5)
            |   95.9   652 ms   652 ms   670 ms   670 ms    memmove [libc.so.6]
            |    0.0        –        –   4.00 s   4.00 s  wait (queue.py:1)
        "#]],
    );
    press(&mut model, "/memmove\n");
    check(
        &rows(&mut model),
        expect![[r#"
            |      %     self   total↓     self    total  path
            |   98.7        –   671 ms        –   690 ms  <module> (slow.py:1)
            |   98.7  19.0 ms   671 ms  20.0 ms   690 ms   before (slow.py:5)
            |   95.9   652 ms   652 ms   670 ms   670 ms    memmove [libc.so.6]
        "#]],
    );
    press(&mut model, "t");
    assert_eq!(model.wish().rows, Rows::Table(By::Expression));
    assert_eq!(model.column, Column::OwnCpu);
    // A column that was chosen stays.
    press(&mut model, "<>t");
    assert_eq!((model.column, model.wish().rows), (Column::OwnCpu, Rows::Tree(Order::Own)));
}

#[test]
fn the_wait_for_work_is_the_last_row_in_any_order() {
    let mut model = model();
    let mut picture = picture(model.wish());
    picture.weight = Weight::Wall;
    picture.live.rows.push(Row { is_last: true, ..row("waiting for work", "", "", (0, 9000), (0, 9000)) });
    model.see(picture);
    assert_eq!(model.column, Column::OwnWall);
    for _ in 0..2 {
        assert_eq!(model.rows().last().map(|row| row.name.as_str()), Some("waiting for work"));
        press(&mut model, "r");
    }
}

#[test]
fn rows_are_in_the_order_of_any_column() {
    let mut model = model();
    press(&mut model, ">");
    check(
        &rows(&mut model),
        expect![[r#"
            |      %     self   total↓     self    total  expression
            |   98.7        –   671 ms        –   690 ms  slow.py:20 <module>  before(b)
            |   98.7  19.0 ms   671 ms  20.0 ms   680 ms  slow.py:9 before  b[i:][:2]
            |   95.9   652 ms   652 ms   660 ms   660 ms  slow.py:9 before  b[i:]
            |    0.0        –        –   4.00 s   4.00 s  queue.py:4 wait  lock.acquire()
        "#]],
    );
    press(&mut model, ">");
    assert_eq!(model.wish().weight, Some(Weight::Wall));
    check(
        &rows(&mut model),
        expect![[r#"
            |      %     self    total    self↓    total  expression
            |   85.3        –        –   4.00 s   4.00 s  queue.py:4 wait  lock.acquire()
            |   14.1   652 ms   652 ms   660 ms   660 ms  slow.py:9 before  b[i:]
            |    0.4  19.0 ms   671 ms  20.0 ms   680 ms  slow.py:9 before  b[i:][:2]
            |    0.0        –   671 ms        –   690 ms  slow.py:20 <module>  before(b)
        "#]],
    );
    press(&mut model, ">>");
    check(
        &rows(&mut model),
        expect![[r#"
            |      %     self    total     self    total  expression↓
            |   85.3        –        –   4.00 s   4.00 s  queue.py:4 wait  lock.acquire()
            |    0.0        –   671 ms        –   690 ms  slow.py:20 <module>  before(b)
            |    0.4  19.0 ms   671 ms  20.0 ms   680 ms  slow.py:9 before  b[i:][:2]
            |   14.1   652 ms   652 ms   660 ms   660 ms  slow.py:9 before  b[i:]
        "#]],
    );
    press(&mut model, "r");
    check(
        &rows(&mut model),
        expect![[r#"
            |      %     self    total     self    total  expression↑
            |    0.4  19.0 ms   671 ms  20.0 ms   680 ms  slow.py:9 before  b[i:][:2]
            |   14.1   652 ms   652 ms   660 ms   660 ms  slow.py:9 before  b[i:]
            |    0.0        –   671 ms        –   690 ms  slow.py:20 <module>  before(b)
            |   85.3        –        –   4.00 s   4.00 s  queue.py:4 wait  lock.acquire()
        "#]],
    );
}

#[test]
fn a_filter_keeps_rows_and_says_what_it_is() {
    let mut model = model();
    press(&mut model, "/b\\[i");
    assert!(screen(&mut model, 80, 24).contains("/b\\[i_   Enter: show rows that match   Esc: all rows"));
    press(&mut model, "\n");
    check(
        &rows(&mut model),
        expect![[r#"
            |      %    self↓    total     self    total  expression
            |   95.9   652 ms   652 ms   660 ms   660 ms  slow.py:9 before  b[i:]
            |    2.8  19.0 ms   671 ms  20.0 ms   680 ms  slow.py:9 before  b[i:][:2]
        "#]],
    );
    assert!(screen(&mut model, 80, 24).contains("rows that match /b\\[i/ (Esc: all)"));
    press_code(&mut model, KeyCode::Esc);
    assert_eq!(model.rows().len(), 4);
    press(&mut model, "/(\n");
    assert!(screen(&mut model, 80, 24).contains("not a regular expression: unclosed group"));
    assert_eq!(model.rows().len(), 4);
    press(&mut model, "/xyz\n");
    assert!(rows(&mut model).contains("no row matches"));
}

#[test]
fn a_row_stays_selected_when_others_go_past_it() {
    let mut model = model();
    press(&mut model, "j");
    assert_eq!(model.selected_row().unwrap().source, "b[i:][:2]");
    let mut next = picture(model.wish());
    next.live.rows[2].own = totals(900, 900);
    model.see(next);
    assert_eq!((model.selected, model.selected_row().unwrap().source.as_str()), (0, "b[i:][:2]"));
}

#[test]
fn more_rows_than_lines_scroll_with_the_selected_one() {
    let mut model = model();
    let mut many = picture(model.wish());
    many.live.rows = (0..50).map(|place| row(&format!("row {place}"), "", "", (100 - place, 1), (100, 100))).collect();
    many.live.rows_left_out = 7;
    model.see(many);
    let page = screen(&mut model, 80, 24);
    assert!(page.contains("row 0\n") && !page.contains("row 30\n"), "{page}");
    press(&mut model, "G");
    let page = screen(&mut model, 80, 24);
    assert!(!page.contains("row 0\n") && page.contains("row 49\n"), "{page}");
    press(&mut model, "g");
    assert!(screen(&mut model, 80, 24).contains("row 0\n"));
}

#[test]
fn keys_ask_for_what_they_say() {
    let mut model = model();
    assert_eq!(press(&mut model, "2"), Effect::Wish);
    assert_eq!(model.wish().rows, Rows::Table(By::Line));
    press(&mut model, "\t");
    assert_eq!(model.wish().rows, Rows::Table(By::Function));
    press(&mut model, "4");
    assert_eq!(model.wish().rows, Rows::Table(By::Thread));
    press(&mut model, "w");
    assert_eq!(model.wish().last_ns, Some(10 * SECOND_NS));
    assert!(screen(&mut model, 80, 24).contains("last 10 s"));
    press(&mut model, "ww");
    assert_eq!(model.wish().last_ns, None);
    press(&mut model, "f");
    assert!(model.wish().is_frozen && screen(&mut model, 80, 24).contains(" FROZEN "));
    press(&mut model, " ");
    assert!(!model.wish().is_frozen);
    assert_eq!(press(&mut model, "?q"), Effect::Quit);
    let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
    assert_eq!((model.key(control('c')), model.key(control('z'))), (Effect::Quit, Effect::Stop));
    press(&mut model, "/");
    assert_eq!(model.key(control('c')), Effect::Quit, "also while a filter is typed");
}

#[test]
fn the_list_of_keys_fits_a_small_screen() {
    let mut model = model();
    press(&mut model, "?");
    check(
        &screen(&mut model, 80, 24),
        expect![[r#"
        genba top slow.genba                                          recording, 41.2 kB
        CPython 3.15.2 · 4.02 s wall · 690 ms CPU · 1 process, 2 threads · 1 ms
        ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2) ·
          CPU covered 99.7 %
        GIL: 2.9 % of the time with work was spent waiting for it · GC: 5.0 % of CPU
        CPU 1.00 cores ▁▁▂▄█▄
         1 expression   2 line   3 function   4 thread   t tree   since the beginning
          1 2 3 4  rows: expressions, lines, functions, threads (or Tab)
          t        the tree of calls, and back to the rows
          ← →      the column that the rows are in the order of (or < >)
          r        the other way round
          /        show rows whose name, source or chain matches an expression
          Esc      show all rows
          ↑ ↓      select a row (or k j, PgUp PgDn, Home End)
          w        since the beginning, the last 10 s, the last 60 s
          f        freeze: nothing new is read until the next f (or space)
          Ctrl-Z   stop genba, fg goes on
          q        quit; the program and its recording go on
          self: ends here or in C below; total: passes through. Any key goes back.




        q quit  ? keys  / filter  t tree  ←→ sort  w window  f freeze
    "#]],
    );
}

#[test]
fn what_became_of_the_recording() {
    let first = |state: State| {
        let mut model = model();
        model.status.state = state;
        screen(&mut model, 80, 24).lines().next().unwrap().to_owned()
    };
    assert!(first(State::Ended("exit code 0".to_owned())).ends_with("ended: exit code 0, 41.2 kB"));
    let left_behind = |processes| first(State::LeftBehind { how: "exit code 0".to_owned(), processes });
    assert!(left_behind(1).ends_with("ended: exit code 0, 1 process goes on, 41.2 kB"));
    assert!(left_behind(2).ends_with("ended: exit code 0, 2 processes go on, 41.2 kB"));
    assert!(first(State::Quiet { seconds: 12 }).ends_with("no new block for 12 s, 41.2 kB"));
    assert!(first(State::Gone { seconds: 12 }).ends_with("no new block for 12 s, and no process of it runs here"));
    let with = |change: fn(&mut Model)| {
        let mut model = model();
        change(&mut model);
        screen(&mut model, 80, 24)
    };
    let faults = |model: &mut Model| {
        model.picture.as_mut().unwrap().faults = (0..5).map(|place| format!("damaged at byte {place}")).collect();
    };
    let page = with(faults);
    assert!(page.contains("\ndamaged at byte 1\nand 3 faults more (genba check lists them)\n"), "{page}");
    assert!(with(|model| model.status.fate = Fate::Truncated).contains("the file is shorter than what was read"));
    assert!(with(|model| model.status.fate = Fate::Replaced).contains("another file has this name now"));
    assert!(with(|model| model.status.fate = Fate::Removed).contains("it was moved or removed"));
}

#[test]
fn a_process_that_is_not_recorded_is_on_every_screen() {
    let missed = |pid| Missed {
        pid,
        why: format!("error: cannot enter process {pid}\n  its libc does not export dlopen\nhint: genba knows glibc"),
    };
    let mut model = model();
    model.miss(missed(9326));
    let page = screen(&mut model, 200, 24);
    let why = |pid| format!("cannot enter process {pid}: its libc does not export dlopen\n");
    assert!(page.contains(&format!("\nprocess 9326 is not recorded: {}", why(9326))), "{page}");
    model.miss(missed(9327));
    model.miss(missed(9326));
    press(&mut model, "?");
    let page = screen(&mut model, 200, 24);
    let both = format!("\n2 processes are not recorded; the last one is 9326: {}", why(9326));
    assert!(page.contains(&both) && page.contains("freeze: nothing new is read"), "{page}");
    let page = screen(&mut model, 40, 12);
    assert!(page.contains("2 processes are not recorded"), "{page}");
}

#[test]
fn before_the_first_block_and_in_a_tiny_window() {
    let mut model = Model::new("slow.genba".to_owned());
    let page = screen(&mut model, 80, 24);
    assert!(page.contains("waiting for the first block") && page.contains("nothing is recorded yet"), "{page}");
    assert!(screen(&mut model, 30, 24).contains("genba top needs 40 x 12"));
    for (width, height) in [(1, 1), (40, 12), (41, 19), (80, 20), (119, 30), (120, 30), (500, 200)] {
        screen(&mut self::model(), width, height);
    }
}

#[test]
fn without_colour_there_is_none() {
    let colours = |palette| {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(frame, &mut model(), palette)).unwrap();
        let cells = terminal.backend().buffer().content.clone();
        let is_coloured = cells.iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
        (is_coloured, cells.iter().any(|cell| cell.modifier.contains(Modifier::REVERSED)))
    };
    assert_eq!(colours(Palette::Plain), (false, true));
    assert_eq!(colours(Palette::Colour), (true, true));
}
