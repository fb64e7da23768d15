//! `genba push` against a server that fails in every way that the routes allow.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use crate::notation;
use crate::played_server::{CHUNK_BYTES_MAX, Fault, Played};
use crate::sandbox::Sandbox;
use expect_test::{Expect, expect};

const TOKEN: &str = "genba_0123456789abcdefghijklmnop";

/// Larger than two pieces.
fn recording() -> Vec<u8> {
    let mut text = "process 7 3.13.0 cwd=/app executable=/usr/bin/python3.13 argv=python3+app.py+--token+***\n\
                    source /app/app.py\n|def load(): return int('1')\nthread 7 main\n"
        .to_owned();
    for line in 0..200 {
        text += &format!("load_{}^1@app.py:1[19-27] > long_new_{line}[python3.13] x{line}\n", line * 7919 % 1000);
    }
    let bytes = notation::bytes(&text);
    assert!(bytes.len() > 2 * CHUNK_BYTES_MAX, "{} bytes", bytes.len());
    bytes
}

fn with_recording(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.file("work/app.genba", &recording());
    sandbox
}

fn push(sandbox: &Sandbox, played: &Played, more: &[&str]) -> Command {
    let mut command = sandbox.genba(&["push", "app.genba", &played.address]);
    command.args(more).env("GENBA_TOKEN", TOKEN);
    command
}

fn output(command: &mut Command) -> Output {
    command.output().expect("genba starts")
}

/// The sandbox's words, with the server's address as `[server]`.
#[track_caller]
fn check(sandbox: &Sandbox, played: &Played, output: &Output, expected: Expect) {
    let shown = sandbox.shown(output).replace(&played.address, "[server]");
    assert!(!shown.contains(TOKEN), "{shown}");
    expected.assert_eq(&shown);
}

/// All of it came, and is sealed.
#[track_caller]
fn check_arrived(played: &Played, what: &str) {
    let recordings = played.recordings();
    let last = recordings.last().expect("a recording");
    assert!(last.bytes == recording() && last.sealed.is_some(), "{what}: {} bytes", last.bytes.len());
}

#[test]
fn the_address_of_the_page_is_printed_and_the_recording_is_there() {
    let (sandbox, played) = (with_recording("push"), Played::start(&[]));
    let done = output(&mut push(&sandbox, &played, &["--tag", "build=42", "--name", "nightly"]));
    let size = recording().len();
    let shown = sandbox.shown(&done).replace(&played.address, "[server]").replace(&size.to_string(), "SIZE");
    assert!(
        shown.starts_with("exit code 0\nstdout\n  [server]/r/recording-0\nstderr\n  pushed app.genba ("),
        "{shown}"
    );
    check_arrived(&played, "plain");
    let words = played.recordings()[0].words.clone();
    for part in ["\"name\":\"nightly\"", "\"tags\":[\"build=42\"]", "\"host\":\"", "\"live\":false"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    played
        .look(|seen| assert!(seen.tokens.iter().all(|token| *token == format!("Bearer {TOKEN}")), "{:?}", seen.tokens));
    let uploads = fs::read_dir(sandbox.path(".cache/genba/uploads")).expect("the folder").count();
    assert_eq!(uploads, 0, "nothing is remembered of what is done");
}

#[test]
fn the_newest_recording_goes_to_an_address_alone_and_quiet_is_the_address() {
    let (sandbox, played) = (with_recording("push-newest"), Played::start(&[]));
    let done = output(&mut sandbox.genba(&["push", "-q", &format!("{}/", played.address)]));
    check(
        &sandbox,
        &played,
        &done,
        expect![[r#"
        exit code 0
        stdout
          [server]/r/recording-0
        stderr
          pushing app.genba
    "#]],
    );
    played.look(|seen| assert!(seen.tokens.iter().all(String::is_empty)));
}

#[test]
fn a_connection_that_breaks_at_any_stage_costs_nothing() {
    let stages: [(&str, Fault); 10] = [
        ("GET /api", Fault::Cut),
        ("POST /api/recordings", Fault::Cut),
        ("POST /api/recordings", Fault::CutAfter),
        ("PATCH /api/recordings/recording-0/content 0", Fault::Cut),
        ("PATCH /api/recordings/recording-0/content 0", Fault::CutAfter),
        ("PATCH /api/recordings/recording-0/content 400", Fault::CutAfter),
        ("POST /api/recordings/recording-0/seal", Fault::Cut),
        ("POST /api/recordings/recording-0/seal", Fault::CutAfter),
        (
            "PATCH /api/recordings/recording-0/content 400",
            Fault::Answer("503 Service Unavailable", "Retry-After: 0\r\n", ""),
        ),
        // A slow line, for a server that waits no longer.
        (
            "PATCH /api/recordings/recording-0/content 400",
            Fault::Answer("408 Request Timeout", "Retry-After: 0\r\n", ""),
        ),
    ];
    let sandbox = with_recording("push-cut");
    for (stage, fault) in stages {
        // And the question that follows it, too.
        let played = Played::start(&[(stage, fault), ("HEAD", Fault::Cut)]);
        let done = output(&mut push(&sandbox, &played, &[]));
        assert_eq!(done.status.code(), Some(0), "{stage}: {}", sandbox.shown(&done));
        check_arrived(&played, stage);
    }
}

#[test]
fn a_server_that_has_other_bytes_is_followed() {
    let sandbox = with_recording("push-offset");
    // It lost what it had not yet on its disk.
    let played = Played::start(&[("PATCH /api/recordings/recording-0/content 800", Fault::Lose(100))]);
    let done = output(&mut push(&sandbox, &played, &[]));
    assert_eq!(done.status.code(), Some(0), "{}", sandbox.shown(&done));
    assert_eq!(played.count("PATCH /api/recordings/recording-0/content 100"), 1);
    check_arrived(&played, "lost");
}

#[test]
fn the_next_push_goes_on_where_one_stopped() {
    let sandbox = with_recording("push-resume");
    let full = Fault::Answer("507 Insufficient Storage", "", "{\"title\":\"no room\"}");
    let played = Played::start(&[("PATCH /api/recordings/recording-0/content 400", full)]);
    let stopped = output(&mut push(&sandbox, &played, &[]));
    check(
        &sandbox,
        &played,
        &stopped,
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: app.genba was not pushed: the server's disk is full
            no room
          hint: genba serve prune --older 30d, on the server, makes room
    "#]],
    );
    let remembered: Vec<_> = fs::read_dir(sandbox.path(".cache/genba/uploads")).expect("it").flatten().collect();
    assert_eq!(remembered.len(), 1);
    let mode = remembered[0].metadata().expect("it").permissions().mode() & 0o777;
    assert_eq!((mode, fs::read_to_string(remembered[0].path()).expect("text")), (0o600, "recording-0".to_owned()));

    let done = output(&mut push(&sandbox, &played, &[]));
    assert_eq!(done.status.code(), Some(0), "{}", sandbox.shown(&done));
    assert_eq!(
        (played.count("POST /api/recordings"), played.count("PATCH /api/recordings/recording-0/content 0")),
        (2, 1)
    );
    check_arrived(&played, "resumed");
}

#[test]
fn a_push_with_another_name_or_other_tags_does_not_go_on_with_the_first() {
    let sandbox = with_recording("push-renamed");
    let full = || ("PATCH", Fault::Answer("507 Insufficient Storage", "", ""));
    let played = Played::start(&[full(), full(), full()]);
    let first: &[&str] = &["--name", "first.genba", "--tag", "a=1"];
    for words in [first, &["--name", "second.genba", "--tag", "a=1"], &["--name", "first.genba", "--tag", "b=2"]] {
        assert_eq!(output(&mut push(&sandbox, &played, words)).status.code(), Some(1));
    }
    let done = output(&mut push(&sandbox, &played, &["--name", "second.genba", "--tag", "a=1"]));
    assert_eq!(String::from_utf8_lossy(&done.stdout), format!("{}/r/recording-1\n", played.address));
    let begun: Vec<String> = played.recordings().iter().map(|recording| recording.words.clone()).collect();
    let parts = [("first.genba", "a=1"), ("second.genba", "a=1"), ("first.genba", "b=2")];
    assert_eq!(begun.len(), parts.len());
    for (words, (name, tag)) in begun.iter().zip(parts) {
        assert!(words.contains(&format!("\"{name}\"")) && words.contains(&format!("[\"{tag}\"]")), "{words}");
    }
}

#[test]
fn a_server_that_stays_out_of_order_is_given_up() {
    let sandbox = with_recording("push-given-up");
    let fault = ("PATCH", Fault::Answer("500 Internal Server Error", "", "{\"title\":\"out of order\"}"));
    let played = Played::start(&vec![fault; 100]);
    let done = output(&mut push(&sandbox, &played, &[]));
    check(
        &sandbox,
        &played,
        &done,
        expect![[r#"
        exit code 1
        stdout
        stderr
          [server] does not take it yet: trying again for a while
          error: app.genba was not pushed: [server] answered 500: out of order
          hint: the same command goes on where this one stopped
    "#]],
    );
    assert_eq!(played.count("PATCH"), 8);
}

#[test]
fn an_upload_that_the_server_forgot_is_begun_anew() {
    let sandbox = with_recording("push-forgotten");
    let full = Fault::Answer("507 Insufficient Storage", "", "");
    let played = Played::start(&[("PATCH /api/recordings/recording-0/content 400", full)]);
    assert_eq!(output(&mut push(&sandbox, &played, &[])).status.code(), Some(1));
    played.look(|seen| seen.recordings[0].is_deleted = true);
    let done = output(&mut push(&sandbox, &played, &[]));
    assert_eq!(done.status.code(), Some(0), "{}", sandbox.shown(&done));
    assert!(String::from_utf8_lossy(&done.stdout).ends_with("/r/recording-1\n"));
    check_arrived(&played, "anew");
}

#[test]
fn a_refusal_is_said_with_its_remedy() {
    let sandbox = with_recording("push-refused");
    let said = |begin: &'static str, fault: Fault| {
        let played = Played::start(&[(begin, fault)]);
        let done = output(&mut push(&sandbox, &played, &[]));
        let shown = sandbox.shown(&done).replace(&played.address, "[server]");
        assert!(!shown.contains(TOKEN) && shown.starts_with("exit code 1\nstdout\nstderr\n"), "{shown}");
        let _ = fs::remove_dir_all(sandbox.path(".cache/genba/uploads"));
        shown.lines().skip(3).map(|line| format!("{}\n", &line[2..])).collect::<String>()
    };
    let create = "POST /api/recordings";
    let all = [
        said(create, Fault::Answer("401 Unauthorized", "", "")),
        said(create, Fault::Answer("403 Forbidden", "", "{\"title\":\"the token may only read\"}")),
        said(create, Fault::Answer("403 Forbidden", "", "{\"title\":\"as many as it may\",\"hint\":\"delete some\"}")),
        said(create, Fault::Answer("429 Too Many Requests", "Retry-After: 600\r\n", "")),
        said(
            "POST /api/recordings/recording-0/seal",
            Fault::Answer("422 Unprocessable", "", "{\"title\":\"damaged at byte 7\"}"),
        ),
        said("PATCH", Fault::Answer("413 Too Large", "", "")),
        said(create, Fault::Answer("302 Found", "Location: http://evil.example/api/recordings\r\n", "")),
        said("GET /api", Fault::Answer("404 Not Found", "", "<html>")),
        said("GET /api", Fault::Answer("200 OK", "", "<html>")),
        said("GET /api", Fault::Answer("301 Moved", "Location: https://other.example/api\r\n", "")),
    ];
    expect![[r#"
          error: app.genba was not pushed: the server does not accept this token
          hint: it may be mistyped, expired or revoked; genba serve token list, on the server, tells
          error: app.genba was not pushed: the server does not allow that
            the token may only read
          hint: a token that may upload has the scope write: genba serve token add NAME --scope read,write
          error: app.genba was not pushed: the server does not allow that
            as many as it may
          hint: delete some
          error: app.genba was not pushed: the server asks to come back later
          hint: try again in a few minutes
          error: app.genba was not pushed: the server cannot read it as a recording
            damaged at byte 7
          error: app.genba was not pushed: the recording is larger than the server takes
          hint: genba serve --max-recording SIZE takes larger ones; a shorter run, or --source none, makes a smaller one
          error: app.genba was not pushed: [server] leads to another address, and a token is not sent there
          error: app.genba was not pushed: [server] is not a genba server
            /api answered 404
          hint: the address of genba serve, with its path if it has one: http://127.0.0.1:8970
          error: app.genba was not pushed: [server] is not a genba server
            /api did not answer as a genba server does
          hint: the address of genba serve, with its path if it has one: http://127.0.0.1:8970
          error: app.genba was not pushed: [server] leads to another address, and a token is not sent there
          hint: if you trust it, push to https://other.example
    "#]]
    .assert_eq(&all.join(""));
}

#[test]
fn nobody_listens() {
    let sandbox = with_recording("push-down");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("its address"));
    drop(listener);
    let shown = sandbox.shown(&output(&mut sandbox.genba(&["push", "app.genba", &address])));
    expect![[r#"
        exit code 1
        stdout
        stderr
          error: app.genba was not pushed: cannot reach [server]: connection refused
          hint: genba serve --listen ADDR:PORT starts a server on that machine
    "#]]
    .assert_eq(&shown.replace(&address, "[server]"));
    let unknown = sandbox.shown(&output(&mut sandbox.genba(&["push", "app.genba", "http://no-such-host.invalid"])));
    expect![[r#"
        exit code 1
        stdout
        stderr
          error: app.genba was not pushed: no machine has the name in http://no-such-host.invalid
          hint: look for a mistake in the name
    "#]]
    .assert_eq(&unknown);
}

#[test]
fn a_dry_run_says_all_and_connects_to_nobody() {
    let (sandbox, played) = (with_recording("push-dry"), Played::start(&[]));
    let done = output(&mut push(&sandbox, &played, &["--dry-run", "--tag", "build=42"]));
    let shown = sandbox.shown(&done).replace(&played.address, "[server]");
    assert_eq!(played.look(|seen| seen.connections), 0);
    assert!(!shown.contains(TOKEN), "{shown}");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let hash =
        shown.find("sha256").map(|at| shown[at..].split_whitespace().nth(1).unwrap_or("").to_owned()).expect("a hash");
    assert_eq!(hash.len(), 64);
    let shown = shown.replace(&hash, "HASH").replace(&format!(" {}\n", host.trim()), " HOST\n");
    expect![[r#"
        exit code 0
        stdout
          to [server], with each request
            user              the name of the token in GENBA_TOKEN, which the server knows
            program           genba 0.1.0
            address           this machine's network address, as every server sees it

          about the recording
            name              app.genba
            host              HOST
            tags              build=42
            size              4.20 kB (4,197 bytes)
            sha256            HASH

          the file itself, unchanged; it holds
            process           7 (started by 1)
            executable        /usr/bin/python3.13
            command line      python3 app.py --token ***
            genba's own       none
            working directory /app
            versions          Python 3.13.0
            stored tags       none
            options           none
            time              began 1767225600000 ms after 1970
            interval          1.60 ms
            not sampled       none
            not followed      none
            modules           /usr/bin/python3.13
            Python code       200 functions, each with its name, file, first line and location table
            their files       app.py
            counts of calls   none
            stacks            400 frames of stacks
            threads           7 main
            tasks and tags    none
            C names           200
            C sources         none
            packages          none
            samples           19,900
            copied bytes      none
            allocated bytes   none
            accounting        counts and clocks of 2 parts of the time
            children's CPU    none
            collections       none
            memory            0 resident sizes
            heaps             0
            files of heaps    none
            heap by class     none
            marks             0
            words of marks    none
            source text       1 file of your own
            your own          /app/app.py: 1 of 1 lines
            end               not told

          never
            environment       neither names nor values
            values            contents of variables, arguments of functions
            files             other than this one; what is in it of source text is listed above
            network           addresses that the program talked to
        stderr
          nothing was sent
    "#]]
    .assert_eq(&shown);
    // Stacks of another profiler tell nothing of a process.
    sandbox.file("work/stacks.txt", b"a;b 5\n");
    let shown = sandbox.shown(&output(&mut sandbox.genba(&["push", "--dry-run", "stacks.txt", &played.address])));
    let told = |field: &str| shown.lines().find_map(|line| line.trim_start().strip_prefix(field)).map(str::trim);
    assert_eq!(
        ["process", "command line", "versions", "time", "threads", "samples"].map(told),
        ["none", "none", "none", "not told", "none", "1"].map(Some),
        "{shown}"
    );
}

#[test]
fn an_address_with_a_secret_and_other_words_that_are_none() {
    let sandbox = with_recording("push-words");
    let said = |words: &[&str]| sandbox.shown(&output(&mut sandbox.genba(words)));
    let all = [
        said(&["push", "app.genba", "http://me:hunter2@host"]),
        said(&["push", "app.genba", "localhost:8970"]),
        said(&["push", "app.genba"]),
        said(&["push"]),
        said(&["push", "http://localhost", "app.genba"]),
        said(&["push", "none.genba", "http://localhost"]),
        said(&["push", "--token-file", "none", "app.genba", "http://localhost"]),
    ];
    assert!(!all.join("").contains("hunter2"));
    expect![[r#"
        exit code 2
        stdout
        stderr
          error: the address has a user name or a password in it
            every user of this machine can read a command line, and recordings store it
          hint: the address alone, and the token in GENBA_TOKEN or in a file that --token-file names
        exit code 2
        stdout
        stderr
          error: `localhost:8970` is not the address of a server
            expected an address that begins with http:// or https://
          hint: http://localhost:8970
        exit code 2
        stdout
        stderr
          error: no server to push to
            expected an address that begins with http:// or https://
          hint: genba push FILE http://127.0.0.1:8970; genba serve starts a server
        exit code 2
        stdout
        stderr
          error: no server to push to
          hint: genba push FILE URL, or genba push URL for the newest recording here
        exit code 2
        stdout
        stderr
          error: the file stands before the address
          hint: genba push FILE URL
        exit code 1
        stdout
        stderr
          error: cannot open none.genba: there is no such file
          hint: the newest recording here is app.genba
        exit code 2
        stdout
        stderr
          error: cannot read the token in none: no such file or directory
          hint: name a file of yours that holds the token alone, or put the token into GENBA_TOKEN
    "#]]
    .assert_eq(&all.join(""));
}

#[test]
fn what_is_no_recording_never_leaves() {
    let (sandbox, played) = (with_recording("push-other"), Played::start(&[]));
    sandbox.file("work/id_rsa", b"-----BEGIN OPENSSH PRIVATE KEY-----\n");
    let done = output(&mut sandbox.genba(&["push", "id_rsa", &played.address]));
    assert_eq!((done.status.code(), played.look(|seen| seen.connections)), (Some(1), 0), "{}", sandbox.shown(&done));
    sandbox.file("work/stacks.txt", b"a;b 12\na;c 3\n");
    let done = output(&mut sandbox.genba(&["push", "stacks.txt", &played.address]));
    assert_eq!(done.status.code(), Some(0), "{}", sandbox.shown(&done));
    assert_eq!(played.recordings()[0].bytes, b"a;b 12\na;c 3\n");
}

#[test]
fn a_token_comes_from_a_file_that_others_should_not_read() {
    let (sandbox, played) = (with_recording("push-token"), Played::start(&[]));
    sandbox.file("work/token", format!("{TOKEN}\n").as_bytes());
    sandbox.mode("work/token", 0o644);
    let words = ["push", "-q", "--token-file", "token", "app.genba", &played.address];
    let done = output(sandbox.genba(&words).env("GENBA_TOKEN", "another"));
    check(
        &sandbox,
        &played,
        &done,
        expect![[r#"
        exit code 0
        stdout
          [server]/r/recording-0
        stderr
          warning: others can read the token in token (mode 644); chmod 600 token
    "#]],
    );
    played.look(|seen| assert!(seen.tokens.iter().all(|token| *token == format!("Bearer {TOKEN}"))));
    sandbox.mode("work/token", 0o600);
    sandbox.age("work/token");
    assert_eq!(String::from_utf8_lossy(&output(&mut sandbox.genba(&words)).stderr), "");
}
