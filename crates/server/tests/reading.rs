//! Recordings as strangers may send them, read in processes that may die: each gets an answer or a reason, and the next one is read.

mod recordings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_server::reading::{Answer, Answers, Ask, Asker, Facts, Limits, OrderBy, RowsBy, Unread, WeighedBy, Workers};
use recordings::{bomb, file, golden, spoken};
use serde_json::Value;

const LIMITS: Limits = Limits {
    at_once: 2,
    memory_bytes: 1 << 30,
    cpu_s: 60,
    wall: Duration::from_secs(120),
    answer_bytes_max: 64 << 20,
    queue_max: 8,
};

/// Beside this test. `cargo test -p genba-server` builds examples; `--test reading` alone does not.
fn reader() -> PathBuf {
    let mut folder = std::env::current_exe().expect("this test has a path");
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    let reader = folder.join("examples/reader");
    assert!(reader.is_file(), "cargo build -p genba-server --example reader makes {}", reader.display());
    reader
}

fn workers(limits: Limits) -> Workers {
    Workers::new(reader(), Vec::new(), limits)
}

/// A reader that misbehaves.
fn bad(how: &str, limits: Limits) -> Workers {
    Workers::new(reader(), vec![OsString::from(how)], limits)
}

fn run<Done>(work: impl Future<Output = Done>) -> Done {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

fn ask(workers: &Workers, ask: &Ask, files: &[&Path]) -> Result<Answer, Unread> {
    run(workers.answer(ask, files))
}

fn facts_of(path: &Path) -> Facts {
    let answer = ask(&workers(LIMITS), &Ask::Facts { name: "app.genba".into() }, &[path]).expect("facts");
    assert_eq!(answer.content_type, "application/json");
    serde_json::from_slice(&answer.body).expect("facts")
}

fn text(answer: &Answer) -> &str {
    std::str::from_utf8(&answer.body).expect("UTF-8")
}

#[test]
fn every_version_is_answered() {
    for version in ["v1", "v2", "v3"] {
        let path = golden(version);
        let facts = facts_of(&path);
        assert!(
            !facts.program.is_empty() && facts.processes > 0 && facts.accounting.starts_with("ticks "),
            "{facts:?}"
        );
        assert_eq!(facts.spark.len(), 60, "{version}");
        let name = "app.genba".to_owned();
        let json = [
            Ask::Tree { weight: Some(WeighedBy::Wall), inverted: true, min_share: Some(1.0) },
            Ask::Rows { by: RowsBy::Function, weight: None, sort: OrderBy::Total, limit: Some(3) },
            Ask::Memory { from_ns: None, to_ns: None, bins: 10, process: None },
        ];
        for question in json {
            let answer = ask(&workers(LIMITS), &question, &[&path]).expect("an answer");
            let json: Value = serde_json::from_slice(&answer.body).expect("JSON");
            assert_eq!(json["version"], 1, "{question:?}");
        }
        let page = ask(&workers(LIMITS), &Ask::Page { name }, &[&path]).expect("a page");
        assert_eq!(page.content_type, "text/html; charset=utf-8");
        assert!(text(&page).starts_with("<!doctype html>"));
    }
}

#[test]
fn the_facts_of_a_recording_that_was_written_by_hand() {
    let facts = facts_of(&golden("v3"));
    assert_eq!(facts.pythons, ["3.15.2"]);
    assert_eq!(facts.tags, ["commit=3f2a"]);
    assert_eq!(facts.masked, 1, "{}", facts.program);
    assert_eq!(facts.started_ms, Some(1_795_000_000_000));
    assert!(facts.functions.iter().flatten().any(|function| function.name == "before"), "{:?}", facts.functions);
    assert_eq!(facts.functions_more, Some(0));
}

#[test]
fn a_damaged_recording_is_read_as_far_as_it_goes_or_refused_and_breaks_nothing() {
    let bytes = std::fs::read(golden("v3")).expect("a golden recording");
    let workers = workers(LIMITS);
    // Each is a process; a step that shares nothing with the lengths of blocks.
    for cut in (0..bytes.len()).step_by(97) {
        let file = file(&bytes[..cut]);
        match ask(&workers, &Ask::Facts { name: "a".into() }, &[file.path()]) {
            Ok(answer) => {
                let facts: Facts = serde_json::from_slice(&answer.body).expect("facts");
                assert!(!facts.accounting.is_empty());
            }
            Err(Unread::Refused(refusal)) => assert!(!refusal.title.is_empty() && refusal.detail.is_some()),
            Err(other) => panic!("cut at {cut}: {other}"),
        }
    }
    for (bytes, title) in [(&b""[..], "the file is empty"), (b"\x7fELF and so on", "the file is not a recording")] {
        let file = file(bytes);
        match ask(&workers, &Ask::Page { name: "a".into() }, &[file.path()]) {
            Err(Unread::Refused(refusal)) => assert_eq!(refusal.title, title),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_bomb_is_defused() {
    let file = file(&bomb());
    let facts = facts_of(file.path());
    assert!(facts.faults.iter().any(|fault| fault.contains("`decoded bytes`")), "{:?}", facts.faults);
}

#[test]
fn limits_are_told() {
    let path = golden("v3");
    let page = Ask::Page { name: "a".into() };
    // One that does not fit as it is, and one whose stacks take more than its bytes.
    let stacks: String = (0..100_000).map(|line| format!("f{line};g{line} 1\n")).collect();
    for (bytes, memory_bytes, most) in
        [(vec![b'a'; 200 << 20], 100_000_000, "100 MB"), (stacks.into(), 60_000_000, "60.0 MB")]
    {
        let large = file(&bytes);
        match ask(&workers(Limits { memory_bytes, ..LIMITS }), &page, &[large.path()]) {
            Err(Unread::TooLarge { words }) => assert!(words.contains(most), "{words}"),
            other => panic!("{other:?}"),
        }
    }
    match ask(&workers(Limits { answer_bytes_max: 1_000, ..LIMITS }), &page, &[&path]) {
        Err(Unread::TooLarge { words }) => assert!(words.contains("1.00 kB"), "{words}"),
        other => panic!("{other:?}"),
    }
    match ask(&bad("sleep", Limits { wall: Duration::from_millis(300), ..LIMITS }), &page, &[&path]) {
        Err(Unread::TooLong { words }) => assert!(words.contains("300 ms"), "{words}"),
        other => panic!("{other:?}"),
    }
    match ask(&bad("spin", Limits { cpu_s: 1, ..LIMITS }), &page, &[&path]) {
        Err(Unread::TooLong { words }) => assert!(words.contains("1 s of CPU"), "{words}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reader_that_dies_is_told_and_the_next_one_answers() {
    let path = golden("v3");
    let question = Ask::Facts { name: "a".into() };
    for (how, words) in [
        ("abort", "by signal 6"),
        ("overflow", "by signal 6"),
        ("panic", "with exit code 101"),
        ("other", "with exit code 3"),
        ("half", "with exit code 0"),
        ("endless", "an answer of an unknown form"),
    ] {
        match ask(&bad(how, LIMITS), &question, &[&path]) {
            Err(Unread::Broken { words: told }) => assert!(told.contains(words), "{how}: {told}"),
            other => panic!("{how}: {other:?}"),
        }
    }
    let much = ask(&bad("much", LIMITS), &question, &[&path]);
    assert!(matches!(much, Err(Unread::TooLarge { .. })), "{much:?}");
    let absent = Workers::new("/nowhere/genba".into(), Vec::new(), LIMITS);
    assert!(matches!(ask(&absent, &question, &[&path]), Err(Unread::Broken { .. })));
    facts_of(&path);
}

#[test]
fn who_waits_too_long_in_line_is_sent_away() {
    let limits = Limits { at_once: 1, queue_max: 1, wall: Duration::from_millis(400), ..LIMITS };
    let workers = bad("sleep", limits);
    let path = golden("v3");
    let question = Ask::Facts { name: "a".into() };
    let answers = run(async {
        let one = || workers.answer(&question, std::slice::from_ref(&path));
        let (first, second, third) = tokio::join!(one(), one(), one());
        [first, second, third].map(|answer| answer.expect_err("it sleeps"))
    });
    assert!(matches!(answers, [Unread::TooLong { .. }, Unread::TooLong { .. }, Unread::Busy]), "{answers:?}");
}

#[test]
fn a_file_that_never_comes_gives_its_turn_back() {
    let limits = Limits { at_once: 1, wall: Duration::from_millis(50), ..LIMITS };
    let answers = Answers::new(workers(limits), 64 << 20);
    let page = Ask::Page { name: "a".into() };
    for content in ["one", "another"] {
        let never = std::future::pending::<Result<Vec<PathBuf>, Unread>>();
        match run(answers.answer(Asker::Reader, &page, &[content], never)) {
            Err(Unread::NotFetched(problem)) => assert_eq!(problem.status, 503),
            other => panic!("{other:?}"),
        }
    }
}

/// Both turns are taken.
async fn waits<T>(waiting: std::pin::Pin<&mut impl Future<Output = T>>) {
    tokio::select! {
        biased;
        _ = waiting => panic!("a turn is free"),
        () = tokio::task::yield_now() => {}
    }
}

#[test]
fn a_seal_that_waits_takes_no_turn_of_a_reader() {
    let workers = workers(Limits { at_once: 1, ..LIMITS });
    run(async {
        let seal = workers.turn(Asker::Seal).await.expect("a turn");
        let reader = workers.turn(Asker::Reader).await.expect("a turn");
        let mut waiting = std::pin::pin!(workers.turn(Asker::Seal));
        waits(waiting.as_mut()).await;
        drop(reader);
        let reader = tokio::select! {
            biased;
            turn = workers.turn(Asker::Reader) => turn.expect("a turn"),
            _ = &mut waiting => panic!("the turn is a reader's"),
        };
        drop(seal);
        assert!(waiting.await.is_ok());
        drop(reader);
        // Nobody needs it.
        let _seal = workers.turn(Asker::Seal).await.expect("a turn");
        assert!(workers.turn(Asker::Seal).await.is_ok());
    });
}

#[test]
fn a_seal_that_waits_takes_the_turn_that_no_reader_wants_any_more() {
    let workers = workers(Limits { at_once: 1, ..LIMITS });
    run(async {
        let _seal = workers.turn(Asker::Seal).await.expect("a turn");
        let reader = workers.turn(Asker::Reader).await.expect("a turn");
        let mut waiting = std::pin::pin!(workers.turn(Asker::Seal));
        waits(waiting.as_mut()).await;
        drop(reader);
        // The other seal goes on: without a bound this would wait for good.
        let turn = tokio::time::timeout(Duration::from_secs(60), waiting).await;
        assert!(turn.expect("a turn became free").is_ok());
    });
}

#[test]
fn a_seal_waits_for_no_reader_and_whoever_waits_has_no_copy() {
    let answers = Answers::new(workers(Limits { at_once: 1, ..LIMITS }), 64 << 20);
    let path = golden("v3");
    let fetched = std::sync::atomic::AtomicU32::new(0);
    let copied = || fetched.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let page = Ask::Page { name: "a".into() };
    let begun = tokio::sync::Semaphore::new(0);
    run(async {
        // A file that never comes: it has the only turn of readers.
        let slow = answers.answer(Asker::Reader, &page, &["slow"], async {
            begun.add_permits(2);
            std::future::pending::<Result<Vec<PathBuf>, Unread>>().await
        });
        let behind = async {
            let _begun = begun.acquire().await;
            let copy = async {
                copied();
                Ok(vec![path.clone()])
            };
            answers.answer(Asker::Reader, &page, &["behind"], copy).await
        };
        let seal = async {
            let _begun = begun.acquire().await;
            answers.facts(Asker::Seal, "a", "sealed", async { Ok(path.clone()) }).await
        };
        tokio::select! {
            facts = seal => assert_eq!(facts.expect("facts").pythons, ["3.15.2"]),
            _ = slow => panic!("its file never comes"),
            _ = behind => panic!("there is one turn, and it is taken"),
        }
    });
    assert_eq!(fetched.into_inner(), 0);
}

#[test]
fn many_readers_of_one_page_cost_one_process() {
    let answers = Answers::new(workers(LIMITS), 64 << 20);
    let path = golden("v3");
    let fetched = std::sync::atomic::AtomicU32::new(0);
    let page = Ask::Page { name: "a".into() };
    run(async {
        let one = || {
            answers.answer(Asker::Reader, &page, &["hash"], async {
                fetched.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                Ok(vec![path.clone()])
            })
        };
        let (first, second, third) = tokio::join!(one(), one(), one());
        assert!(first.is_ok() && first == second && second == third);
        assert_eq!(one().await, first);
        let facts = answers.facts(Asker::Seal, "a", "hash", async { Ok(path.clone()) }).await.expect("facts");
        assert_eq!(facts.pythons, ["3.15.2"]);
        // What is no recording is not read again.
        let nothing = file(b"nothing");
        let refused =
            || answers.answer(Asker::Reader, &page, &["other"], async { Ok(vec![nothing.path().to_owned()]) });
        assert!(matches!(refused().await, Err(Unread::Refused(_))));
        let known =
            answers.answer(Asker::Reader, &page, &["other"], async { Err::<Vec<PathBuf>, _>(Unread::Busy) }).await;
        assert!(matches!(known, Err(Unread::Refused(_))));
        // A store that fails is asked again.
        let failing =
            answers.answer(Asker::Reader, &page, &["third"], async { Err::<Vec<PathBuf>, _>(Unread::Busy) }).await;
        assert_eq!(failing, Err(Unread::Busy));
        assert!(answers.answer(Asker::Reader, &page, &["third"], async { Ok(vec![path.clone()]) }).await.is_ok());
    });
    assert_eq!(fetched.into_inner(), 1);
}

#[test]
fn names_with_scripts_in_them_stay_names() {
    let script = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
    let file = file(&spoken(script, "/app/a.py"));
    let page = ask(&workers(LIMITS), &Ask::Page { name: script.into() }, &[file.path()]).expect("a page");
    let plain = ask(&workers(LIMITS), &Ask::Page { name: "a".into() }, &[&golden("v3")]).expect("a page");
    for sign in ["<script", "</script", "<img", "alert(1)"] {
        assert_eq!(text(&page).matches(sign).count(), text(&plain).matches(sign).count(), "{sign}");
    }
    let facts = facts_of(file.path());
    assert!(facts.functions.iter().flatten().any(|function| function.name == script), "{:?}", facts.functions);
}

#[test]
fn names_that_are_huge_are_cut_and_say_so() {
    let file = file(&spoken(&"ä".repeat(100_000), "/app/a.py"));
    let facts = facts_of(file.path());
    let name = &facts.functions.as_ref().expect("functions")[0].name;
    assert_eq!((name.chars().count(), name.ends_with('…')), (200, true));
    let bytes = serde_json::to_vec(&facts).expect("JSON").len();
    assert!(bytes < 20_000, "{bytes}");
}

#[test]
fn files_that_a_recording_names_stay_closed() {
    let secret = file(b"def secret():\n    return 'the words of a file on the machine of the server'\n");
    let path = secret.path().to_str().expect("UTF-8");
    let recording = file(&spoken("secret", path));
    let questions = [
        Ask::Page { name: "a".into() },
        Ask::Rows { by: RowsBy::Expression, weight: None, sort: OrderBy::Own, limit: None },
        Ask::Tree { weight: None, inverted: false, min_share: None },
        Ask::Facts { name: "a".into() },
    ];
    for question in questions {
        let answer = ask(&workers(LIMITS), &question, &[recording.path()]).expect("an answer");
        let shown = recordings::unpacked(text(&answer));
        assert!(shown.contains("secret"), "{question:?} does not name the function");
        assert!(!shown.contains("the words of a file"), "{question:?} shows a file of the server's machine");
    }
}

#[test]
fn a_comparison_needs_two_recordings_with_times() {
    let (one, other) = (file(&spoken("before", "/app/a.py")), golden("v2"));
    let compared = Ask::Difference { before_name: "a".into(), after_name: "a".into() };
    let answer = ask(&workers(LIMITS), &compared, &[one.path(), &other]).expect("a comparison");
    assert!(serde_json::from_slice::<Value>(&answer.body).is_ok());
    let page = Ask::Comparison { before_name: "a".into(), after_name: "b".into() };
    let answer = ask(&workers(LIMITS), &page, &[one.path(), &other]).expect("a page");
    assert!(text(&answer).starts_with("<!doctype html>"));
    let stacks = file(b"main;load;read 12\nmain;load 3\n");
    let titles = [(stacks.path(), "b cannot be compared"), (one.path(), "both recordings hold the same processes")];
    for (after, title) in titles {
        match ask(&workers(LIMITS), &page, &[one.path(), after]) {
            Err(Unread::Refused(refusal)) => assert_eq!(refusal.title, title),
            other => panic!("{other:?}"),
        }
    }
    let facts = facts_of(stacks.path());
    assert_eq!((facts.cpu_ns, facts.spark.len(), facts.samples), (None, 0, 15));
    let memory = Ask::Memory { from_ns: Some(5), to_ns: None, bins: 1, process: None };
    assert!(matches!(ask(&workers(LIMITS), &memory, &[stacks.path()]), Err(Unread::Refused(_))));
    let absent = Ask::Memory { from_ns: None, to_ns: None, bins: 1, process: Some(99) };
    assert!(matches!(ask(&workers(LIMITS), &absent, &[&other]), Err(Unread::Absent { .. })));
}
