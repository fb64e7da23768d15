//! Servers, and other programs that do little but wait for work: what they worked is judged, and the waiting is one line beside it.

use crate::judged::{PROCESS, check, expressions};
use crate::notation;
use expect_test::expect;
use genba_profile::build::{Additions, profile};
use genba_profile::filter::Filter;
use genba_profile::live::{Row, Rows, live};
use genba_profile::paint::Paint;
use genba_profile::phase::Phase;
use genba_profile::reading::Reading;
use genba_profile::report::{By, Options, Sort, report, text};
use genba_profile::verdict::verdict;
use genba_profile::weight::Weight;

const SERVE: &str = "<module>@app.py:9[0-30] > BaseServer.serve_forever@/usr/lib/python3.13/socketserver.py:235 > _PollLikeSelector.select@/usr/lib/python3.13/selectors.py:398 > poll[libc.so.6]";
const TURN: &str = "<module>@app.py:9[0-30] > BaseEventLoop._run_once@/usr/lib/python3.13/asyncio/base_events.py:600 > EpollSelector.select@/usr/lib/python3.13/selectors.py:452 > poll[libc.so.6]";
const UVICORN: &str = "run@/env/lib/python3.13/site-packages/uvicorn/main.py:5 x1\n";
const HANDLER: &str =
    "thread 8 request\nHandler.do_GET@app.py:4[8-20] > dumps@/usr/lib/python3.13/json/__init__.py:231";

#[test]
fn what_a_server_worked_is_judged() {
    check(
        &format!("{PROCESS}{SERVE} x2000 poll\n{HANDLER} x70\n"),
        expect![[r#"
            one place: 100.0 % of 112 ms CPU is app.py:4 Handler.do_GET
            waited for work: 3.20 s of all threads' 3.31 s, in app.py:9 <module> 96.6 % (genba tree --weight wall)
        "#]],
    );
}

#[test]
fn a_handler_that_waits_is_what_the_server_waited_for() {
    check(
        &format!(
            "{PROCESS}{SERVE} x2000 poll\n{HANDLER} x30\nHandler.query@app.py:5[8-20] > recv[libc.so.6] x400 socket\n"
        ),
        expect![[r#"
            waiting: 3.89 s wall, 48.0 ms CPU (1.2 %)
             16.5 %   640 ms  app.py:5 Handler.query   waiting for an event (poll on a socket)
            waited for work: 3.20 s of all threads' 3.89 s, in app.py:9 <module> 82.3 % (genba tree --weight wall)
        "#]],
    );
}

#[test]
fn a_server_that_nobody_asked_waits() {
    check(
        &format!("{PROCESS}{SERVE} x2000 poll\n{HANDLER} x20\n"),
        expect![[r#"
            waiting: 3.23 s wall, 32.0 ms CPU (1.0 %)
             99.0 %   3.20 s  app.py:9 <module>   waiting for an event (poll)
        "#]],
    );
}

/// `python -m http.server`: where a module of the standard library is the program, its code counts as the user's own.
#[test]
fn a_server_of_the_standard_library_waits_for_work() {
    let own = SERVE.replace("/usr/lib/python3.13/", "/home/me/");
    check(
        &format!("{PROCESS}{own} x2000 poll\n{HANDLER} x70\n"),
        expect![[r#"
        one place: 100.0 % of 112 ms CPU is app.py:4 Handler.do_GET
        waited for work: 3.20 s of all threads' 3.31 s, in selectors.py:398 _PollLikeSelector.select 96.6 % (genba tree --weight wall)
    "#]],
    );
}

#[test]
fn little_of_it_is_not_told() {
    let pool =
        "thread 9 pool\n_worker@/usr/lib/python3.13/concurrent/futures/thread.py:89 > sem_wait[libc.so.6] x30 futex\n";
    check(
        &format!("{PROCESS}main@app.py:3[4-9] x700 poll\n{pool}thread 8 other\n{}", expressions(10, 7)),
        expect![[r#"
            waiting: 1.28 s wall, 112 ms CPU (8.8 %)
             87.5 %   1.12 s  app.py:3 main   waiting for an event (poll)
              3.8 %  48.0 ms  thread.py:89 _worker   waiting for a lock (futex)
        "#]],
    );
}

#[test]
fn an_event_loop_waits_for_work_in_a_server_only() {
    let client = format!("{PROCESS}{TURN} x2000 poll\n{}", expressions(10, 7));
    check(
        &client,
        expect![[r#"
            waiting: 3.31 s wall, 112 ms CPU (3.4 %)
             96.6 %   3.20 s  app.py:9 <module>   waiting for an event (poll)
        "#]],
    );
    check(
        &format!("{client}{UVICORN}"),
        expect![[r#"
            no single cause: the largest expression has 9.9 %, the ten largest 98.6 % of 114 ms CPU
            next: f1 (app.py) has 9.9 % with what it calls (genba report --by function --sort total)
            waited for work: 3.20 s of all threads' 3.31 s, in app.py:9 <module> 96.6 % (genba tree --weight wall), or for what requests await (genba trace tells)
        "#]],
    );
}

/// A client of a project that can also serve imports `uvicorn`, and does not run it.
#[test]
fn an_import_of_a_server_does_not_make_one() {
    let uvicorn = "/env/lib/python3.13/site-packages/uvicorn";
    let import = "<module>@app.py:2[0-20] > _call_with_frames_removed@<frozen importlib._bootstrap>:480";
    let class = format!("<module>@{uvicorn}/config.py:70 > Config@{uvicorn}/config.py:180");
    let called = format!("{class} > default@{uvicorn}/config.py:90");
    let started = format!("_run_code@<frozen runpy>:88 > <module>@{uvicorn}/__main__.py:4");
    for (run, name) in [
        (format!("{import} > {class}"), "waiting"),
        (format!("{import} > {called}"), "waiting"),
        (started, "no single cause"),
        // A server's own program is imported by it.
        (format!("run@{uvicorn}/main.py:5 > {import}"), "no single cause"),
        (format!("{import} > <module>@serve.py:9[0-20] > run@{uvicorn}/main.py:5"), "no single cause"),
    ] {
        let program = format!("{PROCESS}{TURN} x2000 poll\n{}{run} x1\n", expressions(10, 7));
        let verdict = verdict(&profile(&notation::recording(&program), &Additions::default()));
        assert_eq!(verdict.reason.name(), name, "{run}");
    }
}

/// A package has the name where an installer put it, and there only.
#[test]
fn a_folder_of_the_users_makes_no_server() {
    let name = |folder: &str, packages: &[&str]| {
        let text = format!("{PROCESS}{TURN} x2000 poll\n{}run@{folder}/main.py:5 x1\n", expressions(10, 7));
        let mut profile = profile(&notation::recording(&text), &Additions::default());
        profile.packages = packages.iter().map(ToString::to_string).collect();
        verdict(&profile).reason.name()
    };
    assert_eq!(name("/home/me/uvicorn", &[]), "waiting");
    assert_eq!(name("/env/lib/python3.13/site-packages/shop/uvicorn", &[]), "waiting");
    assert_eq!(name("/env/lib/python3.13/site-packages/uvicorn", &[]), "no single cause");
    assert_eq!(name("/home/me/lib/uvicorn", &["/home/me/lib/uvicorn"]), "no single cause");
    assert_eq!(name("/home/me/lib/shop/uvicorn", &["/home/me/lib/shop"]), "waiting");
}

#[test]
fn who_waits_for_an_answer_does_not_wait_for_work() {
    // `subprocess.run` asks the same selector as a server does.
    let child = "<module>@app.py:3[0-30] > Popen._communicate@/usr/lib/python3.13/subprocess.py:2126 > _PollLikeSelector.select@/usr/lib/python3.13/selectors.py:398 > poll[libc.so.6]";
    check(
        &format!("{PROCESS}{child} x2000 poll\n{}", expressions(10, 7)),
        expect![[r#"
            waiting: 3.31 s wall, 112 ms CPU (3.4 %)
             96.6 %   3.20 s  app.py:3 <module>   waiting for an event (poll)
        "#]],
    );
}

const POPEN: &str = "call@/usr/lib/python3.13/subprocess.py:391 > Popen.wait@/usr/lib/python3.13/subprocess.py:1274 > Popen._wait@/usr/lib/python3.13/subprocess.py:2053 > Popen._try_wait@/usr/lib/python3.13/subprocess.py:2011 > wait4[libc.so.6]";
const EVENT: &str = "Event.wait@/usr/lib/python3.13/threading.py:659 > Condition.wait@/usr/lib/python3.13/threading.py:363 > sem_wait[libc.so.6]";
const RECEIVES: &str = "_ConnectionBase.recv@/usr/lib/python3.13/multiprocessing/connection.py:250 > Connection._recv@/usr/lib/python3.13/multiprocessing/connection.py:395 > read[libc.so.6]";
const WAIT: &str = "wait@/usr/lib/python3.13/multiprocessing/connection.py:1148 > _PollLikeSelector.select@/usr/lib/python3.13/selectors.py:398 > poll[libc.so.6]";

/// What `manage.py runserver`, `flask run --debug`, `uvicorn --workers 2` and `uvicorn --reload` have beside the server, in processes of their own.
#[test]
fn parents_of_a_server_wait_for_work() {
    let packages = "/env/lib/python3.13/site-packages";
    let parents = [
        format!("restart_with_reloader@{packages}/django/utils/autoreload.py:271 > {POPEN}"),
        format!("ReloaderLoop.restart_with_reloader@{packages}/werkzeug/_reloader.py:275 > {POPEN}"),
        format!("Multiprocess.run@{packages}/uvicorn/supervisors/multiprocess.py:203 > {EVENT}"),
        format!("Process._healthcheck@{packages}/uvicorn/supervisors/multiprocess.py:44 > {RECEIVES}"),
        format!("Process.pong@{packages}/uvicorn/supervisors/multiprocess.py:64 > {RECEIVES}"),
        format!("BaseReload.pause@{packages}/uvicorn/supervisors/basereload.py:63 > {EVENT}"),
        format!("watch@{packages}/watchfiles/main.py:117 > clock_nanosleep[libc.so.6]"),
        format!("run@{packages}/hypercorn/run.py:93 > {WAIT}"),
    ];
    for parent in parents {
        let program = format!("{PROCESS}<module>@app.py:9[0-30] > {parent} x2000 poll\n{HANDLER} x70\n");
        let verdict = verdict(&profile(&notation::recording(&program), &Additions::default()));
        assert_eq!(verdict.reason.name(), "one place", "{parent}");
        assert_eq!(verdict.waited_for_work.map(|waited| waited.wall_ns), Some(3_200_000_000), "{parent}");
    }
}

#[test]
fn a_loop_of_ones_own_over_a_selector_waits_for_work() {
    let select = "EpollSelector.select@/usr/lib/python3.13/selectors.py:452 > epoll_wait[libc.so.6]";
    check(
        &format!("{PROCESS}serve@app.py:9[4-30] > {select} x2000 poll\n{HANDLER} x70\n"),
        expect![[r#"
            one place: 100.0 % of 112 ms CPU is app.py:4 Handler.do_GET
            waited for work: 3.20 s of all threads' 3.31 s, in app.py:9 serve 96.6 % (genba tree --weight wall)
        "#]],
    );
    // A library selects for the answer to what it was asked, and `multiprocessing` for a process. Who takes from a queue waits for a thread of
    // the program, which is judged as well.
    for answer in [
        format!("query@/env/lib/python3.13/site-packages/database.py:7 > {select}"),
        format!("results@app.py:9[4-30] > {WAIT}"),
        format!("results@app.py:9[4-30] > Queue.get@/usr/lib/python3.13/queue.py:210 > {EVENT}"),
    ] {
        let program = format!("{PROCESS}<module>@app.py:20[0-9] > {answer} x2000 poll\n{HANDLER} x70\n");
        let verdict = verdict(&profile(&notation::recording(&program), &Additions::default()));
        assert_eq!((verdict.reason.name(), verdict.waited_for_work), ("waiting", None), "{answer}");
    }
}

/// Its handlers have the function of `trio` that calls them on their stacks.
#[test]
fn an_event_loop_of_trio_waits_for_work_where_it_serves() {
    let trio = "/env/lib/python3.13/site-packages/trio";
    let program = |handler: &str| {
        let turn = format!("EpollIOManager.get_events@{trio}/_core/_io_epoll.py:227 > epoll_wait[libc.so.6]");
        let program =
            format!("{PROCESS}<module>@app.py:9[0-30] > {turn} x2000 poll\n{handler}answer@app.py:4[4-30] x70\n");
        verdict(&profile(&notation::recording(&program), &Additions::default())).reason.name()
    };
    assert_eq!(program(""), "waiting");
    assert_eq!(program(&format!("_run_handler@{trio}/_highlevel_serve_listeners.py:29 > ")), "one place");
}

/// A pool that was given `subprocess.call`, in place of a function that calls it, is not idle.
#[test]
fn a_task_that_waits_for_a_child_is_no_idle_worker() {
    let task = format!("worker@/usr/lib/python3.13/multiprocessing/pool.py:125 > {POPEN}");
    check(
        &format!("{PROCESS}<module>@app.py:9[0-30] > {task} x2000 poll\n{HANDLER} x70\n"),
        expect![[r#"
            waiting: 3.31 s wall, 112 ms CPU (3.4 %)
             96.6 %   3.20 s  app.py:9 <module>   waiting for an event (poll)
        "#]],
    );
}

const ACQUIRE: &str = "lock_PyThread_acquire_lock[libpython3.13.so] > sem_wait[libc.so.6] x2000 futex";
const QUEUE: &str = "Queue.get@/usr/lib/python3.13/queue.py:210 > Condition.wait@/usr/lib/python3.13/threading.py:359";

/// A pool was given a function in C or of a library, so no code of the program is in its thread: `await asyncio.to_thread(lock.acquire)`.
#[test]
fn a_task_of_a_pool_is_at_work_whosever_code_it_is() {
    let lib = "/usr/lib/python3.13";
    let anyio = "WorkerThread.run@/env/lib/python3.13/site-packages/anyio/_backends/_asyncio.py:1124";
    let trio = "/env/lib/python3.13/site-packages/trio/_core/_thread_cache.py";
    let item =
        format!("_worker@{lib}/concurrent/futures/thread.py:93 > _WorkItem.run@{lib}/concurrent/futures/thread.py:59");
    let process = format!("_process_worker@{lib}/concurrent/futures/process.py:253");
    let judged = |stack: &str| {
        let thread = format!("thread 9 pool_0\nThread._bootstrap@{lib}/threading.py:1012 > {stack} > {ACQUIRE}\n");
        let program = format!("{PROCESS}main@app.py:2[4-9] x70\n{thread}");
        verdict(&profile(&notation::recording(&program), &Additions::default()))
    };
    for task in [
        item.clone(),
        format!("{item} > query@/env/lib/python3.13/site-packages/database.py:7"),
        format!("{item} > {QUEUE}"),
        format!("worker@{lib}/multiprocessing/pool.py:125 > mapstar@{lib}/multiprocessing/pool.py:48"),
        format!(
            "WorkerThread._work@{trio}:218 > WorkerThread._handle_job@{trio}:172 > capture@/env/outcome/_impl.py:101"
        ),
        anyio.to_owned(),
        format!("{anyio} > Thread.join@{lib}/threading.py:1092"),
        process.clone(),
    ] {
        let verdict = judged(&task);
        assert_eq!((verdict.reason.name(), verdict.waited_for_work), ("waiting", None), "{task}");
    }
    for idle in [
        format!("_worker@{lib}/concurrent/futures/thread.py:90"),
        format!("WorkerThread._work@{trio}:216"),
        format!("{anyio} > {QUEUE}"),
        format!("{process} > Queue.get@{lib}/multiprocessing/queues.py:101"),
    ] {
        let verdict = judged(&idle);
        assert_eq!(verdict.reason.name(), "one place", "{idle}");
        assert_eq!(verdict.waited_for_work.map(|waited| waited.wall_ns), Some(3_200_000_000), "{idle}");
    }
}

/// A busy server waits for less than a tick at a time: its clock moved, and the samples say *running*.
#[test]
fn waits_shorter_than_a_tick_are_for_work_as_well() {
    let turns = "thread 7 server\nturns 7 9000 1ms\n";
    check(
        &format!("{PROCESS}{turns}{SERVE} x400 ticks=5\n{HANDLER} x200\n"),
        expect![[r#"
        one place: 66.7 % of 960 ms CPU is app.py:9 <module>
        and 33.3 % is app.py:4 Handler.do_GET
        waited for work: 2.56 s of all threads' 3.52 s, in app.py:9 <module> 72.7 % (genba tree --weight wall)
    "#]],
    );
}

#[test]
fn idle_threads_of_pools_wait_for_work() {
    let pool = "Thread._bootstrap@/usr/lib/python3.13/threading.py:1012 > _worker@/usr/lib/python3.13/concurrent/futures/thread.py:89[20-40] > sem_wait[libc.so.6]";
    let flushes = "Flusher.run@/env/lib/python3.13/site-packages/metrics.py:7 > Event.wait@/usr/lib/python3.13/threading.py:655 > sem_wait[libc.so.6]";
    let reads = "read@/env/lib/python3.13/site-packages/database.py:7 > recv[libc.so.6]";
    let program = format!(
        "{PROCESS}main@app.py:2[4-9] x110\nmain@app.py:3[4-9] x80 poll\nthread 8 pool_0\n{pool} x160 futex\nthread 9 metrics\n{flushes} x160 futex\nthread 10 database\n"
    );
    // Nor does a thread without Python that polls hide anything.
    let native = "thread 11 grpc\nevent_engine[libgrpc.so] > poll[libc.so.6] x500 poll\n";
    check(
        &format!("{program}{reads} x10 socket\n{native}"),
        expect![[r#"
        one place: 100.0 % of 176 ms CPU is app.py:2 main
        waited for work: 1.31 s of all threads' 1.63 s, in outside of Python 49.0 %, thread.py:89 _worker 15.7 % (genba tree --weight wall)
    "#]],
    );
    // Its main thread had work for half of the time that is not idle.
    check(
        &format!("{program}{reads} x10 socket\n"),
        expect![[r#"
            one place: 100.0 % of 176 ms CPU is app.py:2 main
            waited for work: 512 ms of all threads' 832 ms, in thread.py:89 _worker 30.8 %, threading.py:655 Event.wait 30.8 % (genba tree --weight wall)
        "#]],
    );
    // A thread of a library that waits for an answer had somebody ask.
    check(
        &format!("{program}{reads} x700 socket\n"),
        expect![[r#"
            waiting: 1.94 s wall, 176 ms CPU (9.1 %)
              6.6 %   128 ms  app.py:3 main   waiting for an event (poll)
             57.9 %   1.12 s  database.py:7 read   waiting for an event (poll on a socket)
            waited for work: 512 ms of all threads' 1.94 s, in thread.py:89 _worker 13.2 %, threading.py:655 Event.wait 13.2 % (genba tree --weight wall)
        "#]],
    );
}

/// Its parent runs code of libraries alone, which counts as the user's own there.
#[test]
fn the_parts_of_a_pool_of_celery_wait_for_work() {
    const SITE: &str = "/v/lib/python3.13/site-packages";
    let billiard = format!("{SITE}/billiard");
    let thread = |number: u32, frames: &str, wait: &str| {
        format!(
            "thread {number} t{number}\nThread._bootstrap@/usr/lib/python3.13/threading.py:1030 > {frames} x1000 {wait}\n"
        )
    };
    let naps = "clock_nanosleep[libc.so.6]";
    let parent = [
        format!(
            "<module>@{SITE}/celery/bin.py:9 > synloop.<locals>._loop_cycle@{SITE}/celery/worker/loops.py:192 > Connection.drain_events@{SITE}/kombu/connection.py:399 > Transport.drain_events@{SITE}/kombu/transport/virtual/base.py:1012 > {naps} x1000 asleep\n"
        ),
        thread(5, &format!("TimeoutHandler.body@{billiard}/pool.py:825 > {naps}"), "asleep"),
        thread(
            6,
            &format!(
                "TaskHandler.body@{billiard}/pool.py:648 > Queue.get@/usr/lib/python3.13/queue.py:171 > sem_wait[libc.so.6]"
            ),
            "futex",
        ),
        thread(
            7,
            &format!(
                "Pool._setup_queues.<locals>._poll_result@{billiard}/pool.py:1470 > _poll@{billiard}/connection.py:977 > poll[libc.so.6]"
            ),
            "poll",
        ),
        // Of a library that is in no list.
        thread(8, &format!("Beat.run@{SITE}/beats.py:5 > sem_wait[libc.so.6]"), "futex"),
    ];
    let receive = format!(
        "<module>@{SITE}/celery/bin.py:9 > Worker.workloop@{billiard}/pool.py:357 > Worker._make_recv_method.<locals>._recv@{billiard}/pool.py:506"
    );
    let idle =
        format!("{receive} > SemLock.__enter__@{billiard}/synchronize.py:115 > sem_wait[libc.so.6] x1000 futex\n");
    let mail = format!(
        "<module>@{SITE}/celery/bin.py:9 > Worker.workloop@{billiard}/pool.py:369 > mail@tasks.py:17[4-17] > {naps} x300 asleep\n"
    );
    let children = format!("process 5000 3.13.0 parent=7\n{idle}{mail}mail@tasks.py:16[4-17] x20\n");
    check(
        &format!("{PROCESS}{}{children}", parent.concat()),
        expect![[r#"
        waiting: 8.00 s wall, 32.0 ms CPU (0.4 %)
          4.7 %   480 ms  tasks.py:17 mail   asleep
        waited for work: 9.60 s of all threads' 10.1 s, in synchronize.py:115 SemLock.__enter__ 15.8 %, base.py:1012 Transport.drain_events 15.8 % (genba tree --weight wall)
    "#]],
    );
    // Who asks with the same library waits for an answer.
    let client = format!(
        "<module>@app.py:3[0-9] > Transport.drain_events@{SITE}/kombu/transport/virtual/base.py:1012 > {naps} x1000 asleep\n"
    );
    check(
        &format!("{PROCESS}{client}app.py@app.py:4[0-9] x20\n"),
        expect![[r#"
        waiting: 1.63 s wall, 32.0 ms CPU (2.0 %)
         98.0 %   1.60 s  app.py:3 <module>   asleep
    "#]],
    );
}

#[test]
fn by_wall_time_the_wait_for_work_is_the_last_row() {
    let reading = Reading::of(profile(&notation::recording(&waiting_server()), &Additions::default()));
    let rows = rows_of(&reading, &Options { rows_max: Some(1), ..Options::default() });
    expect![[r#"
        rows:
         16.5 %  640 ms  app.py:5 Handler.query (columns 9 to 20)
                             recv (libc) → in poll(2) on a socket 100 %
         82.3 %  3.20 s  waiting for work
          1.2 %  1 more row (--min-share 0 --limit 0 shows them all)
    "#]]
    .assert_eq(&rows);
}

#[test]
fn a_recording_that_is_followed_has_the_rows_of_the_report() {
    let reading = Reading::of(profile(&notation::recording(&waiting_server()), &Additions::default()));
    let rows = |rows, weight| {
        let row = |row: Row| (row.name, row.own.wall_ns / 1_000_000, row.is_last);
        live(&reading, rows, weight).rows.into_iter().map(row).collect::<Vec<_>>()
    };
    let named = |name: &str, ms, is_last| (name.to_owned(), ms, is_last);
    let by_wall = [
        named("app.py:9 <module>", 0, false),
        named("app.py:5 Handler.query", 640, false),
        named("app.py:4 Handler.do_GET", 48, false),
        named("waiting for work", 3_200, true),
    ];
    assert_eq!(rows(Rows::Table(By::Expression), Weight::Wall), by_wall);
    // By CPU the report sets nothing apart, nor does it by thread.
    let has_last = |of, weight| rows(of, weight).iter().any(|(.., is_last)| *is_last);
    assert!(!has_last(Rows::Table(By::Expression), Weight::Cpu) && !has_last(Rows::Table(By::Thread), Weight::Wall));
}

/// A program of which waits for work are set apart, with 3.20 s of them below `app.py:9 <module>`.
fn waiting_server() -> String {
    format!("{PROCESS}{SERVE} x2000 poll\n{HANDLER} x30\nHandler.query@app.py:5[8-20] > recv[libc.so.6] x400 socket\n")
}

fn rows_of(reading: &Reading, options: &Options) -> String {
    let shown = text::text(reading, &report(reading, options), None, Paint::Plain);
    format!("rows:\n{}", shown.split_once("\n\n").expect("rows below the verdict").1)
}

#[test]
fn what_leads_to_a_wait_for_work_has_it_in_total() {
    let reading = Reading::of(profile(&notation::recording(&waiting_server()), &Additions::default()));
    let rows = report(&reading, &Options { sort: Sort::Total, ..Options::default() }).rows;
    let main = rows.iter().find(|row| row.subject.line == Some(9)).expect("a row of the line that serves");
    assert_eq!((main.own.wall_ns, main.total.wall_ns), (0, 3_200_000_000));
}

#[test]
fn a_filter_does_not_change_what_is_set_apart() {
    let filter = Filter { focus: Some("serve_forever".parse().expect("a pattern")), ..Filter::default() };
    let recording = notation::recording(&waiting_server());
    let reading = Reading::filtered(profile(&recording, &Additions::default()), &filter).expect("a part is kept");
    expect![[r#"
        rows:
        100.0 %  3.20 s  waiting for work
    "#]]
    .assert_eq(&rows_of(&reading, &Options::default()));
}

/// What is hidden still tells that the program is a server.
#[test]
fn a_server_whose_code_is_hidden_waits_for_work() {
    let program = format!("{PROCESS}{TURN} x2000 poll\n{UVICORN}{}", expressions(10, 7));
    let filter = Filter { hide: Some("uvicorn".parse().expect("a pattern")), ..Filter::default() };
    let profile = profile(&notation::recording(&program), &Additions::default());
    let reading = Reading::filtered(profile, &filter).expect("a part is kept");
    let options = Options { weight: Some(Weight::Wall), ..Options::default() };
    let rows = report(&reading, &options).rows;
    assert_eq!(
        rows.last().map(|row| (row.subject.phase.map(Phase::name), row.own.wall_ns)),
        Some((Some("waiting for work"), 3_200_000_000))
    );
}
