//! `genba run --push`: the recording grows on the server while the program runs; whatever happens there, the program notices nothing.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::played_server::{Fault, Played};
use crate::sandbox::{HOLD, RECORD, Sandbox, WAIT};
use expect_test::expect;

#[test]
fn the_recording_is_live_while_the_program_runs_and_sealed_at_its_end() {
    let (sandbox, played) = (Sandbox::new("run-push"), Played::start(&[]));
    sandbox.script("bin/program", &format!("{HOLD}\n{RECORD}\n{WAIT}\nexit 3"));
    let silent = sandbox.silent_pipe();
    let words = ["run", "--push", &played.address, "program"];
    let genba = sandbox.genba(&words).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("genba starts");
    played.wait_for("PATCH /api/recordings/recording-0/content 0");
    let recordings = played.recordings();
    assert!(recordings[0].words.contains("\"live\":true") && recordings[0].sealed.is_none());
    drop(silent);
    let done = genba.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&done.stderr);
    let lines: Vec<&str> = said.lines().collect();
    let [.., pushed, last] = lines.as_slice() else { panic!("{said}") };
    assert_eq!(*pushed, format!("pushed program.genba: {}/r/recording-0", played.address), "{said}");
    assert!(last.starts_with("recorded program.genba ("), "{said}");
    let recordings = played.recordings();
    let file = fs::read(sandbox.path("work/program.genba")).expect("it is kept");
    assert_eq!((done.status.code(), recordings.len()), (Some(3), 1));
    assert!(recordings[0].bytes == file && recordings[0].sealed.is_some());
}

#[test]
fn a_server_that_is_down_changes_nothing_but_a_warning() {
    let sandbox = Sandbox::new("run-push-down");
    sandbox.script("bin/program", &format!("{RECORD}; echo output; exit 3"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("its address"));
    drop(listener);
    let output = sandbox.genba(&["run", "-q", "--push", &address, "program"]).output().expect("genba starts");
    expect![[r#"
        exit code 3
        stdout
          output
        stderr
          warning: program.genba was not pushed: cannot reach [server]: connection refused
          hint: genba push program.genba [server]
    "#]]
    .assert_eq(&sandbox.shown(&output).replace(&address, "[server]"));
    assert_eq!(sandbox.work(), "program.genba");
}

#[test]
fn a_failed_upload_is_pushed_later_from_where_it_stopped() {
    let sandbox = Sandbox::new("run-push-later");
    sandbox.script("bin/program", &format!("{RECORD}; exit 3"));
    let full = Fault::Answer("507 Insufficient Storage", "", "");
    let played = Played::start(&[("POST /api/recordings/recording-0/seal", full)]);
    let output = sandbox.genba(&["run", "-q", "--push", &played.address, "program"]).output().expect("genba starts");
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr).replace(&played.address, "[server]");
    expect![[r#"
        warning: program.genba was not pushed: the server's disk is full
        hint: genba serve prune --older 30d, on the server, makes room
        hint: genba push program.genba [server]
    "#]]
    .assert_eq(&said);
    let later = sandbox.genba(&["push", "-q", "program.genba", &played.address]).output().expect("genba starts");
    assert_eq!(String::from_utf8_lossy(&later.stdout), format!("{}/r/recording-0\n", played.address));
}

#[test]
fn a_refusal_says_why_and_what_to_mend_before_the_push_later() {
    let sandbox = Sandbox::new("run-push-refused");
    sandbox.script("bin/program", &format!("{RECORD}; exit 3"));
    let said = |begin: &'static str, fault: Fault| {
        let played = Played::start(&[(begin, fault)]);
        let output = sandbox.genba(&["run", "-q", "--push", &played.address, "program"]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(3));
        fs::remove_file(sandbox.path("work/program.genba")).expect("it was recorded");
        String::from_utf8_lossy(&output.stderr).replace(&played.address, "[server]")
    };
    let words = "{\"title\":\"the token ci may not do that\",\"detail\":\"it has the scope read\"}";
    let forbidden = said("POST /api/recordings", Fault::Answer("403 Forbidden", "", words));
    let elsewhere = said("GET /api", Fault::Answer("404 Not Found", "", "<html>"));
    expect![[r#"
        warning: program.genba was not pushed: the server does not allow that
          the token ci may not do that
          it has the scope read
        hint: a token that may upload has the scope write: genba serve token add NAME --scope read,write
        hint: genba push program.genba [server]
        warning: program.genba was not pushed: [server] is not a genba server
          /api answered 404
        hint: the address of genba serve, with its path if it has one: http://127.0.0.1:8970
        hint: genba push program.genba URL
    "#]]
    .assert_eq(&(forbidden + &elsewhere));
}

#[test]
fn a_signal_ends_the_wait_for_the_upload_alone_and_is_named() {
    for (signal, name) in [("-INT", "Ctrl-C"), ("-TERM", "SIGTERM")] {
        let sandbox = Sandbox::new("run-push-interrupted");
        sandbox.script("bin/program", &format!("{RECORD}; exit 3"));
        let played = Played::start(&[("POST /api/recordings/recording-0/seal", Fault::Hang)]);
        let words = ["run", "-q", "--push", &played.address, "program"];
        let mut genba = sandbox.genba(&words).stderr(Stdio::piped()).spawn().expect("genba starts");
        played.wait_for("POST /api/recordings/recording-0/seal");
        let sent = Command::new("kill").args([signal, &genba.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        let mut said = String::new();
        genba.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
        assert_eq!(genba.wait().expect("it ends").code(), Some(3), "{said}");
        let said = said.replace(&played.address, "[server]");
        let why = format!("{name} ended the upload");
        assert_eq!(
            said,
            format!("warning: program.genba was not pushed: {why}\nhint: genba push program.genba [server]\n")
        );
    }
}

#[test]
fn a_command_without_python_leaves_nothing_on_the_server() {
    let (sandbox, played) = (Sandbox::new("run-push-nothing"), Played::start(&[]));
    sandbox.script("bin/launcher", "exit 0");
    let output = sandbox.genba(&["run", "--push", &played.address, "launcher"]).output().expect("genba starts");
    assert_eq!((output.status.code(), played.recordings().len()), (Some(1), 0));
}

#[test]
fn a_setting_pushes_and_is_taken_back() {
    let (sandbox, played) = (Sandbox::new("run-push-setting"), Played::start(&[]));
    sandbox.script("bin/program", RECORD);
    sandbox.file("work/genba.toml", format!("push = \"{}\"\n", played.address).as_bytes());
    let run = |words: &[&str]| {
        let output = sandbox.genba(&[&["run", "-q"], words, &["program"]].concat()).output().expect("genba starts");
        assert_eq!(output.status.code(), Some(0), "{}", sandbox.shown(&output));
        played.recordings().len()
    };
    assert_eq!((run(&["--no-push"]), run(&[])), (0, 1));
    let page = |words: &[&str]| {
        let words = [&["run"], words, &["--show-config", "program"]].concat();
        let output = sandbox.genba(&words).env("GENBA_PUSH", "http://variable").output().expect("genba starts");
        let page = String::from_utf8(output.stdout).expect("text");
        let line = page.lines().find(|line| line.contains("push")).expect("the setting").to_owned();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(page(&[]), "push = \"http://variable\" # GENBA_PUSH");
    assert_eq!(page(&["--no-push"]), "# push # --no-push");
}

#[test]
fn an_address_with_a_secret_is_refused_before_the_program_starts() {
    let sandbox = Sandbox::new("run-push-secret");
    sandbox.script("bin/program", &format!("{RECORD}; echo started"));
    let output = sandbox.genba(&["run", "--push", "http://me:hunter2@host", "program"]).output().expect("genba starts");
    let shown = sandbox.shown(&output);
    assert!(shown.starts_with("exit code 2\nstdout\nstderr\n") && !shown.contains("hunter2"), "{shown}");
    assert_eq!(sandbox.work(), "");
}

#[test]
fn a_recording_that_somebody_seals_meanwhile_is_begun_anew_once() {
    let (sandbox, played) = (Sandbox::new("run-push-sealed"), Played::start(&[]));
    let more = "while [ ! -e \"$HOME/sealed\" ]; do sleep 0.05; done";
    sandbox.script("bin/program", &format!("{HOLD}\n{RECORD}\n{more}\n{RECORD}\n{WAIT}\nexit 3"));
    let silent = sandbox.silent_pipe();
    let words = ["run", "-q", "--push", &played.address, "program"];
    let genba = sandbox.genba(&words).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("genba starts");
    played.wait_for("PATCH /api/recordings/recording-0/content 0");
    played.look(|seen| seen.recordings[0].sealed = Some("of an owner".to_owned()));
    sandbox.file("sealed", b"");
    played.wait_for("PATCH /api/recordings/recording-1/content 0");
    drop(silent);
    let done = genba.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&done.stderr).replace(&played.address, "[server]");
    expect![[r#"
        pushed program.genba: [server]/r/recording-1
        note: somebody sealed [server]/r/recording-0 while the program ran; it holds the recording up to then
    "#]]
    .assert_eq(&said);
    let recordings = played.recordings();
    let file = fs::read(sandbox.path("work/program.genba")).expect("it is kept");
    assert_eq!((done.status.code(), recordings.len()), (Some(3), 2));
    assert!(recordings[1].bytes == file && recordings[1].sealed.is_some());
    assert!(file.starts_with(&recordings[0].bytes) && recordings[0].bytes.len() < file.len());
    // It was told once that nothing may be added, and asked once whether that is for good.
    let first = "/api/recordings/recording-0/content";
    let at = recordings[0].bytes.len();
    let count = |request: String| played.look(|seen| seen.requests.iter().filter(|seen| **seen == request).count());
    assert_eq!((count(format!("PATCH {first} {at}")), count(format!("HEAD {first}"))), (1, 1));
}

#[test]
fn a_server_that_takes_nothing_and_is_not_sealed_is_asked_again_after_waits() {
    let sandbox = Sandbox::new("run-push-stuck");
    sandbox.script("bin/program", &format!("{HOLD}\n{RECORD}\n{WAIT}\nexit 3"));
    let stuck = Fault::Answer("409 Conflict", "Upload-Offset: 0\r\nUpload-Complete: ?0\r\n", "");
    let played = Played::start(&[("PATCH", stuck.clone()), ("PATCH", stuck)]);
    let silent = sandbox.silent_pipe();
    let words = ["run", "-q", "--push", &played.address, "program"];
    let genba = sandbox.genba(&words).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("genba starts");
    played.wait_for("HEAD");
    drop(silent);
    let done = genba.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&done.stderr).replace(&played.address, "[server]");
    assert_eq!((done.status.code(), &*said), (Some(3), "pushed program.genba: [server]/r/recording-0\n"));
}

#[test]
fn web_and_its_address_push_as_with_vmprof() {
    let (sandbox, played) = (Sandbox::new("run-web"), Played::start(&[]));
    sandbox.script("bin/program", RECORD);
    let run =
        |words: &[&str]| sandbox.genba(&[&["run", "-q"], words, &["program"]].concat()).output().expect("it runs");
    let pushed = run(&["--web", "--web-url", &played.address]);
    assert_eq!(
        String::from_utf8_lossy(&pushed.stderr),
        format!("pushed program.genba: {}/r/recording-0\n", played.address)
    );
    // Beside a setting it decides; beside --no-push nothing is sent.
    sandbox.file("work/genba.toml", b"push = \"http://127.0.0.1:1\"\n");
    assert_eq!(run(&["--web", "--web-url", &played.address]).status.code(), Some(0));
    assert_eq!(run(&["--web", "--web-url", &played.address, "--no-push"]).status.code(), Some(0));
    assert_eq!(played.recordings().len(), 2);
    let page = run(&["--web", "--push", &played.address]);
    assert_eq!(page.status.code(), Some(2));
    expect![[r#"
        exit code 2
        stdout
        stderr
          error: `genba run` has no option --web-auth
            every user of the machine could read a token on the command line
          hint: put it into GENBA_TOKEN, or into a file that --token-file names
    "#]]
    .assert_eq(&sandbox.shown(&run(&["--web", "--web-auth", "token"])));
}
