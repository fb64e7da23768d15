//! The verdict on threads: on those that wait, and on those of libraries. Each reason just where its rule begins to hold, and just before.

use crate::judged::{PROCESS, check, expressions};
use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile};
use genba_profile::verdict::verdict;

#[test]
fn a_thread_belongs_to_the_library_that_began_it() {
    let begun = "start_thread[libc.so.6] > execute_native_thread_routine[libstdc++.so.6] > run[libjax.so]";
    let threads = format!(
        "thread 8 pool\n{begun} > spin[libstdc++.so.6] x40\nthread 9 omp\nstart_thread[libc.so.6] > gomp_thread_start[libgomp.so.1] x20\n"
    );
    check(
        &format!("{PROCESS}{}{threads}", expressions(7, 10)),
        expect![[r#"
        native threads: 46.2 % of 208 ms CPU is on 2 threads without Python
         30.8 %  64.0 ms  libjax.so on 1 thread
         15.4 %  32.0 ms  libgomp.so.1 on 1 thread
    "#]],
    );
}

#[test]
fn threads_that_wait_for_the_interpreter_three_tenths_of_the_time() {
    let threads = |waits: usize, runs: usize| {
        format!(
            "{PROCESS}main@app.py:1[4-9] x{waits} gil\nmain@app.py:1[4-9] x{runs}\nthread 8 worker\nwork@app.py:2[4-9] x{waits} gil\nwork@app.py:2[4-9] x{runs}\n"
        )
    };
    check(
        &threads(30, 70),
        expect![[r#"
            GIL: 2 threads ran 0.70 cores; 30.0 % of their runnable time was waiting for it, 96.0 ms. The CPU went to:
             50.0 %   112 ms  app.py:1 main
             50.0 %   112 ms  app.py:2 work
            threads cannot help here: processes, or code that releases the GIL
        "#]],
    );
    check(
        &threads(29, 71),
        expect![[r#"
            one place: 50.0 % of 227 ms CPU is app.py:1 main
            and 50.0 % is app.py:2 work
        "#]],
    );
}

/// Threads that wake up for a moment and wait for the one that computes take no time from it.
#[test]
fn threads_that_wait_for_the_only_busy_one_are_no_fight() {
    let threads = |works: usize| {
        let ticker =
            |tid: u32| format!("thread {tid} ticker\ntick@app.py:2[4-9] x80 gil\ntick@app.py:2[4-9] x{works}\n");
        format!("{PROCESS}dump@app.py:1[4-9] x200\n{}{}", ticker(8), ticker(9))
    };
    check(
        &threads(11),
        expect![[r#"
            one place: 90.1 % of 355 ms CPU is app.py:1 dump
        "#]],
    );
    check(
        &threads(12),
        expect![[r#"
            GIL: 3 threads ran 0.58 cores; 41.7 % of their runnable time was waiting for it, 256 ms. The CPU went to:
             89.3 %   320 ms  app.py:1 dump
             10.7 %  38.4 ms  app.py:2 tick
            threads cannot help here: processes, or code that releases the GIL
        "#]],
    );
    // The same two beside another process's busy thread, which waits for nobody.
    let other = "process 9 3.13.0\nload@app.py:3[4-9] x300\n";
    check(
        &format!("{}{other}", threads(11)),
        expect![[r#"
        one place: 57.5 % of 835 ms CPU is app.py:3 load
        and 38.3 % is app.py:1 dump
    "#]],
    );
    // Threads that have ended before others begin have little each, and together what is to be done.
    let short = (20..320).map(|tid| format!("thread {tid} worker\nwork@app.py:2[4-9] x1 gil\nwork@app.py:2[4-9] x1\n"));
    check(
        &format!("{PROCESS}start@app.py:1[4-9] x5\n{}", short.collect::<String>()),
        expect![[r#"
            GIL: 301 threads ran 0.50 cores; 49.6 % of their runnable time was waiting for it, 480 ms. The CPU went to:
             98.4 %   480 ms  app.py:2 work
            threads cannot help here: processes, or code that releases the GIL
            close to a bound: another run may be called waiting
        "#]],
    );
}

/// While one waits for the interpreter another one has it: the two do not work for twice as long.
#[test]
fn bursts_of_threads_that_wait_for_each_other_are_not_added_up() {
    // All threads are there for the same 1.28 s; the notation has one after the other.
    let name = |threads: [&str; 5]| {
        let stacks = threads.iter().zip(8..).map(|(stacks, tid)| format!("thread {tid} worker\n{stacks}"));
        let text = format!("{PROCESS}{}", stacks.collect::<String>());
        let mut profile = profile(&notation::recording(&text), &Additions::default());
        profile.span_ns = 1_280_000_000;
        verdict(&profile).reason.name()
    };
    let main = "main@app.py:1[4-9] x800 poll\n";
    // Four work for 50 samples of 800 each, one after the other.
    let burst = "work@app.py:2[4-9] x100 gil\nwork@app.py:2[4-9] x50\nrest@app.py:3[4-9] x650 poll\n";
    assert_eq!(name([main, burst, burst, burst, burst]), "waiting");
    let long = "work@app.py:2[4-9] x350 gil\nwork@app.py:2[4-9] x125\nrest@app.py:3[4-9] x325 poll\n";
    assert_eq!(name([main, long, long, long, long]), "GIL");
    // Whoever holds it sleeps, and nobody works for a tenth of the time.
    let asleep = "held@app.py:1[4-9] x800 asleep\n";
    let kept = |works: usize| format!("work@app.py:2[4-9] x{} gil\nwork@app.py:2[4-9] x{works}\n", 800 - works);
    assert_eq!(name([asleep, main, main, main, &kept(79)]), "waiting");
    assert_ne!(name([asleep, main, main, main, &kept(80)]), "waiting");
    // Whoever holds it sleeps, and the others have work all the time.
    let held = "work@app.py:2[4-9] x740 gil\nwork@app.py:2[4-9] x60\n";
    assert_eq!(name(["held@app.py:1[4-9] x800 asleep\n", held, held, main, main]), "GIL");
}

#[test]
fn threads_without_python_from_three_tenths() {
    let native = |count: usize| format!("{PROCESS}{}thread 8 pool\ndgemm[libblas.so] x{count}\n", expressions(7, 10));
    check(
        &native(30),
        expect![[r#"
            native threads: 30.0 % of 160 ms CPU is on 1 thread without Python
             30.0 %  48.0 ms  libblas.so on 1 thread
        "#]],
    );
    check(
        &native(29),
        expect![[r#"
            no single cause: the largest expression has 10.1 %, the ten largest 70.7 % of 158 ms CPU
            next: f1 (app.py) has 10.1 % with what it calls (genba report --by function --sort total)
        "#]],
    );
}

#[test]
fn a_library_of_threads_worked_for_whoever_was_in_the_same_library_at_the_same_time() {
    let other = "other@app.py:9[4-9] > fft[libfft.so] x30\n";
    let alone = "alone@app.py:8[4-9] > dgemm[libblas.so] x25\n";
    let step = "step@app.py:7[4-9] > dgemm[libblas.so] x10\nstep@app.py:7[4-9] > wait[libblas.so] x10 futex\n";
    let pool = |at_ms: u64| {
        format!(
            "thread 8 pool\ndgemm[libblas.so] x20 at={at_ms}\nthread 9 pool\ndgemm[libblas.so] x15 at={at_ms}\nread[libc.so.6] x5\n"
        )
    };
    check(
        &format!("{PROCESS}{other}{alone}{step}{}", pool(88)),
        expect![[r#"
        native threads: 38.1 % of 168 ms CPU is on 2 threads without Python
         33.3 %  56.0 ms  libblas.so on 2 threads, for app.py:7 step   (inferred: in the same library at the same time)
    "#]],
    );
    // Nobody was there then.
    check(
        &format!("{PROCESS}{other}{alone}{step}{}", pool(200)),
        expect![[r#"
        native threads: 38.1 % of 168 ms CPU is on 2 threads without Python
         33.3 %  56.0 ms  libblas.so on 2 threads
    "#]],
    );
}

#[test]
fn code_that_waits_and_keeps_the_gil_is_asked_for() {
    let recording = |runs: usize| {
        let worker = |tid: u32, waits: usize, runs: usize| {
            format!("thread {tid} worker\nwork@app.py:2[4-9] x{waits} gil\nwork@app.py:2[4-9] x{runs}\n")
        };
        format!(
            "{PROCESS}nap@app.py:1[4-9] > nanosleep[libc.so.6] x20 asleep\n{}{}",
            worker(8, 200, 130),
            worker(9, 60, runs)
        )
    };
    check(
        &recording(20),
        expect![[r#"
            GIL: 2 threads ran 0.35 cores; 63.4 % of their runnable time was waiting for it, 416 ms. The CPU went to:
            100.0 %   240 ms  app.py:2 work
            some code keeps the GIL while it waits: genba dump PID shows which thread holds it
        "#]],
    );
    check(
        &recording(21),
        expect![[r#"
            GIL: 2 threads ran 0.35 cores; 63.3 % of their runnable time was waiting for it, 416 ms. The CPU went to:
            100.0 %   242 ms  app.py:2 work
            threads cannot help here: processes, or code that releases the GIL
        "#]],
    );
}

/// On a busy machine a thread is at work while it waits for a CPU.
#[test]
fn a_thread_that_waits_for_a_cpu_works_for_whoever_is_in_its_library() {
    let own = "first@app.py:7[4-9] > dgemm[libblas.so] x100\nsecond@app.py:8[4-9] > dgemm[libblas.so] x25\n";
    let pool = "thread 8 pool\ndgemm[libblas.so] x90 cpu at=0\ndgemm[libblas.so] x40 wall=5 at=150\ndgemm[libblas.so] x25 at=160\n";
    check(
        &format!("{PROCESS}{own}{pool}"),
        expect![[r#"
            native threads: 34.2 % of 304 ms CPU is on 1 thread without Python
             34.2 %   104 ms  libblas.so on 1 thread, for app.py:7 first   (inferred: in the same library at the same time)
        "#]],
    );
}

/// With one thread beside it, chance decides which of the two has more.
#[test]
fn whom_the_threads_worked_for_is_no_other_place() {
    let step = "step@app.py:7[4-9] > dgemm[libblas.so] x90\n";
    check(
        &format!("{PROCESS}{step}thread 8 pool\ndgemm[libblas.so] x60 at=16\n"),
        expect![[r#"
            native threads: 40.0 % of 240 ms CPU is on 1 thread without Python
             40.0 %  96.0 ms  libblas.so on 1 thread, for app.py:7 step   (inferred: in the same library at the same time)
        "#]],
    );
}

#[test]
fn waiting_where_there_was_work_for_less_than_half_of_the_time() {
    check(
        &format!("{PROCESS}recv@app.py:1[4-9] > poll[libc.so.6] x51 poll\n{}", expressions(7, 7)),
        expect![[r#"
            waiting: 160 ms wall, 78.4 ms CPU (49.0 %)
             51.0 %  81.6 ms  app.py:1 recv   waiting for an event (poll)
        "#]],
    );
    check(
        &format!("{PROCESS}recv@app.py:1[4-9] > poll[libc.so.6] x50 poll\n{}", expressions(5, 10)),
        expect![[r#"
            no single cause: the largest expression has 20.0 %, the ten largest 100.0 % of 80.0 ms CPU
            next: f1 (app.py) has 20.0 % with what it calls (genba report --by function --sort total)
        "#]],
    );
}

/// 4.4 points for a half of 500 looks, and never less than 3.
#[test]
fn waiting_for_almost_half_of_the_time_is_close_to_a_bound() {
    let called = |works: usize, waits: usize, wait: &str| {
        let text = format!("{PROCESS}main@app.py:2[4-9] x{works}\n{wait} > poll[libc.so.6] x{waits} poll\n");
        let verdict = verdict(&profile(&notation::recording(&text), &Additions::default()));
        (verdict.reason.name(), verdict.may_be)
    };
    let recv = "recv@app.py:1[4-9]";
    assert_eq!(called(250, 250, recv), ("one place", vec!["waiting"]));
    assert_eq!(called(230, 270, recv), ("waiting", vec!["one place"]));
    assert_eq!(called(200, 300, recv), ("waiting", vec![]));
    assert_eq!(called(300, 200, recv), ("one place", vec![]));
    assert_eq!(called(1200, 1300, recv), ("waiting", vec!["one place"]), "1.96 points of 2,500 looks");
    assert_eq!(called(1150, 1350, recv), ("waiting", vec![]));
    assert_eq!(called(95, 100, recv), ("waiting", vec![]), "too few looks for a margin");
    // On either side of the half a server is judged by what it worked.
    let serve = "main@app.py:9[4-9] > BaseServer.serve_forever@/usr/lib/python3.13/socketserver.py:235";
    assert_eq!(called(250, 250, serve), ("one place", vec![]));
    assert_eq!(called(230, 270, serve), ("one place", vec![]));
}

#[test]
fn a_pause_is_no_wait() {
    // The marks belong to the process, whichever thread stands before them.
    let notation = |marks: &str| {
        format!("{PROCESS}work@app.py:1[4-9] x80\n{marks}thread 8 other\nother@app.py:3[4-9] x375 futex\n")
    };
    check(
        &notation("pause 128ms\nresume 600ms\n"),
        expect![[r#"
        one place: 100.0 % of 128 ms CPU is app.py:1 work
        close to a bound: another run may be called waiting
    "#]],
    );
    check(
        &notation(""),
        expect![[r#"
        waiting: 728 ms wall, 128 ms CPU (17.6 %)
         82.4 %   600 ms  app.py:3 other   waiting for a lock (futex)
    "#]],
    );
}

#[test]
fn waits_are_counted_where_they_begin() {
    let wait = "recv@app.py:1[4-9] > poll[libc.so.6] x20 poll\n";
    let run = "main@app.py:2[4-9] x1\n";
    check(
        &format!("{PROCESS}{wait}{run}{wait}{run}thread 8 idle\nidle@app.py:3[4-9] x40 futex\n"),
        expect![[r#"
            waiting: 131 ms wall, 3.20 ms CPU (2.4 %)
             48.8 %  64.0 ms  app.py:1 recv   waiting for an event (poll), at least 2 waits, about 32.0 ms or less on average
             48.8 %  64.0 ms  app.py:3 idle   waiting for a lock (futex)
        "#]],
    );
}

#[test]
fn threads_that_wait_in_libraries_are_one_row() {
    let idle = "_worker@/env/lib/python3.13/site-packages/pool.py:3[4-9] x80 futex\n";
    let own = "main@app.py:2[4-9] x4\nrecv@app.py:1[4-9] x20 poll\n";
    let accepts = "accept@/env/lib/python3.13/site-packages/server.py:9[4-9] x40 poll\n";
    check(
        &format!("{PROCESS}{own}thread 8 pool_0\n{idle}thread 9 pool_1\n{idle}thread 10 server\n{accepts}"),
        expect![[r#"
            waiting: 358 ms wall, 6.40 ms CPU (1.8 %)
              8.9 %  32.0 ms  app.py:1 recv   waiting for an event (poll)
             17.9 %  64.0 ms  server.py:9 accept   waiting for an event (poll)
            waited for work: 256 ms of all threads' 358 ms, in pool.py:3 _worker 71.4 % (genba tree --weight wall)
        "#]],
    );
    // No place of the user's waits, so the answer names the threads that wait.
    check(
        &format!("{PROCESS}main@app.py:2[4-9] x4\nthread 8 pool_0\n{idle}thread 9 pool_1\n{idle}"),
        expect![[r#"
        waiting: 262 ms wall, 6.40 ms CPU (2.4 %)
         97.6 %   256 ms  pool.py:3 _worker   waiting for a lock (futex), at least 2 waits, about 128 ms or less on average
    "#]],
    );
}

/// Thread 10 waits for 128 ms; threads 8 and 9 held what it waited for.
fn held(lines: &str, expected: Expect) {
    let others = "thread 8 worker\nwork@app.py:5[4-9] x5\nthread 9 pool\nwork@app.py:6[4-9] x5\n";
    let wait = "take@app.py:1[4-9] x80 rlock\n";
    check(&format!("{PROCESS}{others}thread 10 main\n{wait}{lines}"), expected);
}

#[test]
fn who_holds_a_lock_for_half_of_the_wait_is_named() {
    held(
        "held 8 64ms\nheld 9 10ms\n",
        expect![[r#"
        waiting: 144 ms wall, 16.0 ms CPU (11.1 %)
         88.9 %   128 ms  app.py:1 take   waiting for a threading.RLock (futex), held by thread 8 (worker)
    "#]],
    );
    held(
        "held 8 30ms\nheld 8 34ms\n",
        expect![[r#"
        waiting: 144 ms wall, 16.0 ms CPU (11.1 %)
         88.9 %   128 ms  app.py:1 take   waiting for a threading.RLock (futex), held by thread 8 (worker)
    "#]],
    );
    held(
        "held 9 100ms\n",
        expect![[r#"
        waiting: 144 ms wall, 16.0 ms CPU (11.1 %)
         88.9 %   128 ms  app.py:1 take   waiting for a threading.RLock (futex), held by thread 9 (pool)
    "#]],
    );
    held(
        "held 8 63ms\nheld 9 63ms\n",
        expect![[r#"
        waiting: 144 ms wall, 16.0 ms CPU (11.1 %)
         88.9 %   128 ms  app.py:1 take   waiting for a threading.RLock (futex)
    "#]],
    );
}

#[test]
fn what_a_wait_is_on_stands_behind_its_call() {
    let run = "main@app.py:2[4-9] x4\n";
    let ask = "ask@app.py:1[4-9] > poll[libc.so.6] x80 socket\n";
    check(
        &format!("{PROCESS}{ask}{run}{ask}thread 8 child\nread@app.py:3[4-9] > read[libc.so.6] x40 pipe\n"),
        expect![[r#"
            waiting: 326 ms wall, 6.40 ms CPU (2.0 %)
             78.4 %   256 ms  app.py:1 ask   waiting for an event (poll on a socket), at least 2 waits, about 128 ms or less on average
             19.6 %  64.0 ms  app.py:3 read   waiting for data (read on a pipe)
        "#]],
    );
}

/// A process that nobody can use, since one thread sleeps and keeps the interpreter.
#[test]
fn who_waits_for_an_interpreter_that_sleeps_is_told_so() {
    let recording = |waits: usize| {
        format!(
            "{PROCESS}nap@app.py:1[4-9] > sleep[libc.so.6] x300 asleep\n\
             thread 8 worker\nwork@app.py:2[4-9] x{waits} gil\nwork@app.py:2[4-9] x1\nrest@app.py:3[4-9] x{} poll\n",
            399 - waits
        )
    };
    check(
        &recording(399),
        expect![[r#"
            waiting: 1.12 s wall, 1.60 ms CPU (0.1 %)
             42.9 %   480 ms  app.py:1 nap   asleep
            some code keeps the GIL while it waits: genba dump PID shows which thread holds it
        "#]],
    );
    check(
        &recording(100),
        expect![[r#"
            waiting: 1.12 s wall, 1.60 ms CPU (0.1 %)
             42.9 %   480 ms  app.py:1 nap   asleep
             42.7 %   478 ms  app.py:3 rest   waiting for an event (poll)
        "#]],
    );
}
