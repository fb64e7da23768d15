//! Pages and exports without `-o`: named after their recording, in the current directory, in the place of nothing.

use std::fs;
use std::process::Command;

use crate::notation;
use crate::sandbox::Sandbox;
use expect_test::expect;
use genba_profile::figures;

const PROFILE: &str = "
    process 4127 3.15.2 executable=/usr/bin/python3.15 cwd=/home/me
    <module>@slices.py:9 > memmove[libc.so.6] x1966
";

fn sandbox(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.file("elsewhere/app.genba", &notation::bytes(PROFILE));
    sandbox
}

/// What genba says it wrote.
fn written(sandbox: &Sandbox, words: &[&str]) -> String {
    let output = sandbox.genba(words).output().expect("genba starts");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{words:?}");
    let words = String::from_utf8(output.stderr).expect("text");
    words.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_file_is_named_after_its_recording() {
    let sandbox = sandbox("named");
    assert_eq!(written(&sandbox, &["html", "../elsewhere/app.genba"]), "app.html");
    for (format, name) in
        [("json", "app.json"), ("speedscope", "app.speedscope.json"), ("collapsed", "app.collapsed.txt")]
    {
        assert_eq!(written(&sandbox, &["export", "--to", format, "../elsewhere/app.genba"]), name);
    }
    // Not even a page of its own is replaced.
    let first = fs::read(sandbox.path("work/app.html")).expect("it was written");
    sandbox.file("work/app-2.html", b"mine");
    assert_eq!(written(&sandbox, &["html", "../elsewhere/app.genba"]), "app-3.html");
    assert_eq!(fs::read(sandbox.path("work/app.html")).expect("it stays"), first);
    assert_eq!(fs::read(sandbox.path("work/app-2.html")).expect("it stays"), b"mine");
}

#[test]
fn a_folder_that_cannot_be_written() {
    let sandbox = sandbox("named-nowhere");
    let recording = sandbox.path("elsewhere/app.genba").display().to_string();
    sandbox.check_command(
        sandbox.genba(&["html", &recording]).current_dir("/proc"),
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot write app.html here: no such file or directory
              hint: name a file in a folder that you may write to, with -o
        "#]],
    );
}

#[test]
fn the_browser_is_given_the_page() {
    let sandbox = sandbox("named-open");
    let opened = sandbox.path("opened");
    assert!(Command::new("mkfifo").arg(&opened).status().expect("mkfifo").success());
    sandbox.script("bin/xdg-open", &format!("echo \"$1\" > {}", opened.display()));
    let mut genba = sandbox.genba(&["html", "--open", "../elsewhere/app.genba"]);
    let mut genba = genba.spawn().expect("genba starts");
    let shown = fs::read_to_string(&opened).expect("the browser's word");
    assert_eq!(shown.trim_end(), sandbox.path("work/app.html").display().to_string());
    assert!(genba.wait().expect("it ends").success());
    sandbox.check(
        "html --open -o - ../elsewhere/app.genba",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: --open shows a file, and -o - writes none
          hint: leave one of them out
    "#]],
    );
}

#[test]
fn without_a_browser_the_page_is_there() {
    let sandbox = sandbox("named-no-browser");
    let mut genba = sandbox.genba(&["html", "--open", "../elsewhere/app.genba"]);
    let said = sandbox.shown(&genba.env("PATH", "/nowhere").output().expect("genba starts"));
    // The page's own size: it grows with the viewer.
    let size_bytes = fs::metadata(sandbox.path("work/app.html")).expect("the page is there").len();
    expect![[r#"
        exit code 0
        stdout
        stderr
          wrote app.html ([its size])
          ticks 1,966 = sampled 1,966 + dropped 0 + refused 0 · CPU covered 100.0 %
          no browser could be started: no such file or directory
          hint: copy the page to a machine with a browser; it needs nothing else
    "#]]
    .assert_eq(&said.replace(&figures::size(size_bytes), "[its size]"));
}
