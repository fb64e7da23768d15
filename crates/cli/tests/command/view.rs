//! `genba view` from outside: who gets an answer, what the pages hold, and how it ends.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::notation;
use crate::sandbox::{RECORD, Sandbox};
use expect_test::expect;
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

fn recording(key: u8, count: u32) -> Vec<u8> {
    let mut text = format!(
        "process 7 3.13.0 cwd=/app key={key}
        source /app/app.py
        |def load(): return int('1')
        thread 7 main
        "
    );
    for _ in 0..30 {
        text += &format!("load^1@app.py:1[19-27] > long_new[python3.13] x{count}\n");
    }
    notation::bytes(&text)
}

/// A running `genba view`, ended with the test.
struct View {
    child: Child,
    /// `127.0.0.1:4127`
    host: String,
    /// `/secret/`
    root: String,
}

impl View {
    fn start(command: &mut Command) -> View {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("genba starts");
        let mut address = String::new();
        BufReader::new(child.stdout.as_mut().expect("stdout")).read_line(&mut address).expect("the address");
        let rest = address.trim_end().strip_prefix("http://").expect("an address");
        let (host, path) = rest.split_once('/').expect("a path");
        View { child, host: host.to_owned(), root: format!("/{path}") }
    }

    /// The status, and the whole answer.
    fn ask(&self, method: &str, path: &str, host: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer)
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.ask("GET", &format!("{}{path}", self.root), &self.host)
    }

    /// Ctrl-C: the exit code, and what was said.
    fn interrupt(mut self) -> (Option<i32>, String) {
        let kill = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().expect("kill");
        assert!(kill.success());
        let mut said = String::new();
        self.child.stderr.take().expect("stderr").read_to_string(&mut said).expect("text");
        (self.child.wait().expect("it ends").code(), said)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn with_recordings(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.file("work/a.genba", &recording(1, 10));
    sandbox.file("work/b.genba", &recording(2, 20));
    sandbox
}

#[test]
fn one_recording_is_its_page_and_ctrl_c_ends_it() {
    let sandbox = with_recordings("view-one");
    let view = View::start(&mut sandbox.genba(&["view", "--no-open", "a.genba"]));
    assert!(view.host.starts_with("127.0.0.1:") && view.root.len() > 32, "{} {}", view.host, view.root);
    let (status, page) = view.get("");
    assert_eq!(status, 200);
    assert!(page.contains("data-numbers=\"gzip+base64\">") && page.contains("content-type: text/html; charset=utf-8"));
    for header in [
        "content-security-policy: default-src 'none'; ",
        "cache-control: no-store",
        "referrer-policy: no-referrer",
        "x-content-type-options: nosniff",
        "x-frame-options: DENY",
        "cross-origin-resource-policy: same-origin",
    ] {
        assert!(page.contains(header), "{header}");
    }
    assert!(!page.to_lowercase().contains("access-control-allow-origin"));
    let (code, said) = view.interrupt();
    assert_eq!(code, Some(0));
    assert_eq!(said, "showing a.genba; only this machine can open the address; Ctrl-C ends it\n");
}

#[test]
fn nobody_else_gets_an_answer() {
    let sandbox = with_recordings("view-others");
    let view = View::start(&mut sandbox.genba(&["view", "--no-open", "a.genba", "b.genba"]));
    let status = |method: &str, path: &str, host: &str| view.ask(method, path, host).0;
    let port = view.host.split(':').nth(1).expect("a port");
    assert_eq!(status("GET", &view.root, &format!("localhost:{port}")), 200);
    assert_eq!(status("HEAD", &view.root, &view.host), 200);
    assert_eq!(status("POST", &view.root, &view.host), 405);
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1"] {
        assert_eq!(status("GET", &view.root, host), 421, "{host}");
    }
    let mut wrong = view.root.clone();
    wrong.replace_range(1..2, if wrong.starts_with("/A") { "B" } else { "A" });
    for path in ["/", "/recording/0", &wrong, &format!("{wrong}recording/0"), view.root.trim_end_matches('/')] {
        assert_eq!(status("GET", path, &view.host), 404, "{path}");
    }
    // Another start has another secret.
    let other = View::start(&mut sandbox.genba(&["view", "--no-open", "a.genba"]));
    assert_ne!(view.root, other.root);
}

#[test]
fn several_are_listed_and_compared_and_a_reload_shows_the_new_state() {
    let sandbox = with_recordings("view-several");
    sandbox.file("work/broken.genba", b"no recording");
    let view = View::start(&mut sandbox.genba(&["view", "--no-open", "a.genba", "b.genba", "broken.genba"]));
    let list = view.get("").1;
    assert!(
        list.contains("<a href=\"recording/1\">b.genba</a>") && list.contains("<form action=\"compare\">"),
        "{list}"
    );
    let (status, compared) = view.get("compare?before=0&after=1");
    assert_eq!(status, 200);
    assert!(compared.contains("data-numbers"));
    let (status, refused) = view.get("compare?before=0&after=1&focus=load(%3F%3D_)");
    assert!(status == 400 && refused.contains("--focus load(?=_): not a regular expression: look-around"), "{refused}");
    let (status, broken) = view.get("recording/2");
    assert_eq!(status, 500);
    assert!(
        broken.contains("error: broken.genba is not a recording")
            && broken.contains("hint: genba run app.py makes one"),
        "{broken}"
    );
    let (status, itself) = view.get("compare?before=0&after=0");
    assert!(status == 500 && itself.contains("a.genba is named twice"), "{itself}");

    // The server lives on, and reads anew.
    let before = view.get("recording/0").1;
    sandbox.file("work/a.genba", &recording(1, 40));
    let after = view.get("recording/0").1;
    let numbers = |page: &str| page.split("gzip+base64\">").nth(1).map(str::to_owned).expect("numbers");
    assert_ne!(numbers(&before), numbers(&after));
    fs::remove_file(sandbox.path("work/a.genba")).expect("removed");
    let (status, gone) = view.get("recording/0");
    assert!(status == 500 && gone.contains("error: cannot open a.genba: there is no such file"), "{gone}");
    assert_eq!(view.get("recording/1").0, 200);
}

/// An address that shows nothing but an error is none. A recording is empty until its program has begun.
#[test]
fn what_is_no_recording_is_refused_at_once() {
    let sandbox = with_recordings("view-source");
    sandbox.file("work/app.py", b"print(1)\n");
    let done = sandbox.genba(&["view", "--no-open", "app.py"]).output().expect("genba starts");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(1), &b""[..]), "{said}");
    assert!(said.starts_with("error: app.py is not a recording\n"), "{said}");
    assert!(said.ends_with("\nhint: genba run app.py makes one\n"), "{said}");
    sandbox.file("work/begins.genba", b"");
    let view = View::start(&mut sandbox.genba(&["view", "--no-open", "begins.genba"]));
    assert!(view.get("").1.contains("error: begins.genba is empty"));
    sandbox.file("work/begins.genba", &recording(3, 10));
    assert_eq!(view.get("").0, 200);
}

#[test]
fn without_a_file_the_newest_is_shown() {
    let sandbox = with_recordings("view-newest");
    let view = View::start(&mut sandbox.genba(&["view", "--no-open"]));
    let (code, said) = view.interrupt();
    assert_eq!((code, said.starts_with("showing b.genba;")), (Some(0), true), "{said}");
}

#[test]
fn the_browser_is_led_to_the_address_and_no_command_line_holds_the_secret() {
    let sandbox = with_recordings("view-open");
    let opened = sandbox.path("opened");
    assert!(Command::new("mkfifo").arg(&opened).status().expect("mkfifo").success());
    // All that another user could see of the opener, and then what only its own user can.
    sandbox.script("bin/xdg-open", &format!("{{ echo \"$#\"; echo \"$1\"; }} > {}", opened.display()));
    let mut view = View::start(sandbox.genba(&["view", "a.genba"]).env("DISPLAY", ":7"));
    let shown = fs::read_to_string(&opened).expect("the browser's word");
    let page = Path::new(shown.strip_prefix("1\n").expect("one argument").trim_end());
    let secret = view.root.trim_matches('/');
    assert!(!shown.contains(secret), "{shown}");
    for of in ["cmdline", "environ"] {
        let seen = fs::read(format!("/proc/{}/{of}", view.child.id())).expect("a process");
        assert!(!String::from_utf8_lossy(&seen).contains(secret), "{of}");
    }
    let mode = fs::metadata(page).expect("a page that leads on").mode();
    assert_eq!(mode & 0o777, 0o600);
    let leads = format!("<meta http-equiv=\"refresh\" content=\"0; url=http://{}{}\">", view.host, view.root);
    assert!(fs::read_to_string(page).expect("text").contains(&leads));
    assert!(Command::new("kill").args(["-TERM", &view.child.id().to_string()]).status().expect("kill").success());
    assert_eq!(view.child.wait().expect("it ends").signal(), Some(15));
    assert!(!page.exists());

    // Without a screen nothing is started: a browser that was would stand on stderr as one that failed.
    let hidden = View::start(sandbox.genba(&["view", "a.genba"]).env("PATH", "/nowhere"));
    assert_eq!(hidden.get("").0, 200);
    assert!(!hidden.interrupt().1.contains("browser"));
    let failed = View::start(sandbox.genba(&["view", "a.genba"]).env("DISPLAY", ":7").env("PATH", "/nowhere"));
    assert_eq!(failed.get("").0, 200);
    assert!(failed.interrupt().1.contains("no browser could be started: no such file or directory"));
}

#[test]
fn it_ends_with_whoever_holds_its_standard_input() {
    let sandbox = with_recordings("view-input");
    // sshd without a terminal: a pipe, which still holds what the user typed, or a pair of sockets.
    let mut piped = View::start(sandbox.genba(&["view", "--no-open", "a.genba"]).stdin(Stdio::piped()));
    piped.child.stdin.as_mut().expect("a pipe").write_all(b"typed").expect("room");
    let (end, other_end) = UnixStream::pair().expect("sockets");
    let paired = View::start(sandbox.genba(&["view", "--no-open", "a.genba"]).stdin(OwnedFd::from(other_end)));
    // With one, and `ssh -t`: the terminal.
    let (terminal, screen) = terminal();
    let typed = View::start(sandbox.genba(&["view", "--no-open", "a.genba"]).stdin(screen));
    assert_eq!([&piped, &paired, &typed].map(|view| view.get("").0), [200; 3]);
    // `ssh -n` ends the input alone, and still waits for the server.
    end.shutdown(std::net::Shutdown::Write).expect("a socket");
    assert_eq!(paired.get("").0, 200);
    drop((piped.child.stdin.take(), end, terminal));
    for mut view in [piped, paired, typed] {
        let mut said = String::new();
        view.child.stderr.take().expect("stderr").read_to_string(&mut said).expect("text");
        assert_eq!(view.child.wait().expect("it ends").code(), Some(0), "{said}");
        assert!(said.ends_with("ended: the process that held the other side of standard input is gone\n"), "{said}");
    }
    // What nobody held from the beginning says nothing.
    let mut closed = Command::new("true").stdout(Stdio::piped()).spawn().expect("true");
    let nobody = closed.stdout.take().expect("a pipe");
    closed.wait().expect("it ends");
    for input in
        [Stdio::from(nobody), Stdio::null(), Stdio::from(fs::File::open(sandbox.path("work/a.genba")).expect("a file"))]
    {
        let view = View::start(sandbox.genba(&["view", "--no-open", "a.genba"]).stdin(input));
        assert_eq!(view.get("").0, 200);
        assert_eq!(view.interrupt().0, Some(0));
    }
}

/// The side that draws and types, and the side of the program.
fn terminal() -> (OwnedFd, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let terminal = openpt(flags).expect("a terminal");
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("its other side");
    let name = ptsname(&terminal, Vec::new()).expect("its name");
    let screen = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty());
    (terminal, screen.expect("its other side"))
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let sandbox = with_recordings("view-refused");
    sandbox.check(
        "view --no-open missing.genba",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: cannot open missing.genba: there is no such file
          hint: the newest recording here is b.genba
    "#]],
    );
    sandbox.check(
        "view --no-open --port 0 a.genba",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: invalid value '0' for '--port <PORT>': expected a whole number from 1 to 65535
              hint: genba view --help tells its options
        "#]],
    );
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let output = sandbox.genba(&["view", "--no-open", "--port", &port, "a.genba"]).output().expect("genba starts");
    expect![[r#"
        exit code 1
        stdout
        stderr
          error: cannot listen on 127.0.0.1:[port]: address already in use
          hint: name another --port, or leave it out: genba then takes a free one
    "#]]
    .assert_eq(&sandbox.shown(&output).replace(&port, "[port]"));
    let empty = Sandbox::new("view-none");
    empty.check(
        "view --no-open",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no recording in the current directory
            found no file named *.genba in [box]/work
          hint: genba run app.py makes one; or name the recording
    "#]],
    );
    sandbox.check(
        "view --help",
        expect![[r#"
        exit code 0
        stdout
          Look at recordings in the browser, and compare them; the pages are served on this machine only

          Usage: genba view [OPTIONS] [FILE]...

          Arguments:
            [FILE]...  Recordings of genba, vmprof's logs (plain, gzip, bz2), .prof files or collapsed stacks;
                       any two can be compared [default: the newest *.genba here]

          Options:
                --port <PORT>  Listen on this port of 127.0.0.1 [default: a free one]
                --no-open      Print the address only; without this the browser is opened where there is one
                --show-config  Do nothing but say what each option is, and where that comes from
            -h, --help         Print help
        stderr
    "#]],
    );
}

#[test]
fn a_run_shows_its_recording_until_ctrl_c_and_ends_as_the_program_did() {
    let sandbox = Sandbox::new("view-run");
    sandbox.script("bin/python3", &format!("echo \"the program's own\"; {RECORD}; exit 3"));
    sandbox.file("work/app.py", b"print('made up')\n");
    let mut command = sandbox.genba(&["run", "--view", "app.py"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("genba starts");
    let mut view = View { child, host: String::new(), root: String::new() };
    let mut said = BufReader::new(view.child.stderr.take().expect("stderr")).lines().map(|line| line.expect("text"));
    let showing = said.find(|line| line.starts_with("showing ")).expect("what is shown");
    assert_eq!(showing, "showing app.genba; only this machine can open the address; Ctrl-C ends it");
    let address = said.next().filter(|line| line.starts_with("http://")).expect("the address");
    let (host, path) = address["http://".len()..].split_once('/').expect("a path");
    (view.host, view.root) = (host.to_owned(), format!("/{path}"));
    assert_eq!(view.get("").0, 200);
    assert!(Command::new("kill").args(["-INT", &view.child.id().to_string()]).status().expect("kill").success());
    let mut printed = String::new();
    view.child.stdout.take().expect("stdout").read_to_string(&mut printed).expect("text");
    assert_eq!((view.child.wait().expect("it ends").code(), printed.as_str()), (Some(3), "the program's own\n"));
}
