//! What `-o` and `--force` replace: empty files and genba's own. Everything else is left as it was, to the byte.

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::Command;

use crate::notation;
use crate::sandbox::Sandbox;
use expect_test::expect;

const PROFILE: &str = "
    process 4127 3.15.2 executable=/usr/bin/python3.15 cwd=/home/me
    <module>@slices.py:9 > memmove[libc.so.6] x1966
";
const SOURCE: &[u8] = b"print('a day of work')\n";

fn sandbox(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.file("work/app.py", SOURCE);
    sandbox.file("work/recorded.genba", &notation::bytes(PROFILE));
    sandbox
}

/// Runs `genba WORDS…`; the exit code.
fn code(sandbox: &Sandbox, line: &str) -> Option<i32> {
    let words: Vec<&str> = line.split(' ').collect();
    sandbox.genba(&words).output().expect("genba starts").status.code()
}

#[test]
fn force_does_not_replace_the_programs_source() {
    let sandbox = sandbox("replacing-source");
    sandbox.check(
        "run --force -o app.py app.py",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: cannot write the recording app.py: the program's own command line names this file
              hint: name another file with -o
        "#]],
    );
    sandbox.file("work/other.py", SOURCE);
    sandbox.check(
        "run --force -o other.py app.py",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: cannot write the recording other.py: it exists and is not a recording
                it begins with "print(\'a day of work\')\n"
              hint: remove it first, or name another file with -o; --force replaces recordings only
        "#]],
    );
    // An empty script, and a file that the program itself is given.
    sandbox.file("work/empty.py", b"");
    sandbox.file("work/data", b"");
    assert_eq!(code(&sandbox, "run --force -o empty.py empty.py"), Some(2));
    assert_eq!(code(&sandbox, "run --force -o data python3 app.py data"), Some(2));
    for unchanged in ["app.py", "other.py"] {
        assert_eq!(fs::read(sandbox.path("work").join(unchanged)).expect("it stays"), SOURCE);
    }
    expect!["app.py data empty.py other.py recorded.genba"].assert_eq(&sandbox.work());
}

#[test]
fn force_replaces_an_empty_file_and_any_recording() {
    let sandbox = sandbox("replacing-recordings");
    sandbox.file("work/empty", b"");
    sandbox.file("work/old.genba", include_bytes!("../../../../testdata/golden/v1.genba"));
    sandbox.file("work/damaged.genba", b"\x89genba\r\nand then nothing that was ever written by genba");
    for replaced in ["empty", "old.genba", "damaged.genba"] {
        assert_eq!(code(&sandbox, &format!("run -q -o {replaced} app.py")), Some(2), "{replaced} without --force");
        assert_eq!(code(&sandbox, &format!("run -q --force -o {replaced} app.py")), Some(0), "{replaced}");
        let recorded = fs::read(sandbox.path("work").join(replaced)).expect("it was written");
        assert!(genba_format::read(&recorded).is_ok_and(|recording| recording.faults.is_empty()), "{replaced}");
    }
    expect!["app.py damaged.genba empty old.genba recorded.genba"].assert_eq(&sandbox.work());
}

#[test]
fn force_follows_no_link_and_waits_for_no_pipe() {
    let sandbox = sandbox("replacing-links");
    symlink("recorded.genba", sandbox.path("work/link.genba")).expect("a link");
    symlink("nowhere", sandbox.path("work/dangling.genba")).expect("a link");
    assert!(Command::new("mkfifo").arg(sandbox.path("work/pipe")).status().expect("mkfifo").success());
    sandbox.file("work/short.genba", b"\x89genba");
    let before = fs::read(sandbox.path("work/recorded.genba")).expect("it is there");
    sandbox.check(
        "run --force -o link.genba app.py",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: cannot write the recording link.genba: it is a symbolic link
                it points to recorded.genba
              hint: name the file itself with -o, or another one
        "#]],
    );
    for refused in ["link.genba", "dangling.genba", "pipe", "short.genba", "/dev/null", "/dev/stdout", "."] {
        assert_eq!(code(&sandbox, &format!("run -q --force -o {refused} app.py")), Some(2), "{refused}");
    }
    assert_eq!(fs::read(sandbox.path("work/recorded.genba")).expect("it stays"), before);
    assert!(sandbox.path("work/link.genba").is_symlink() && sandbox.path("work/dangling.genba").is_symlink());
    assert!(fs::metadata(sandbox.path("work/pipe")).expect("it stays").file_type().is_fifo());
    assert_eq!(fs::read(sandbox.path("work/short.genba")).expect("it stays"), b"\x89genba");
}

#[test]
fn exports_replace_empty_files_and_exports_only() {
    let sandbox = sandbox("replacing-exports");
    let writers = [
        ("html recorded.genba -o", "page.html"),
        ("export recorded.genba --to json -o", "tables.json"),
        ("export recorded.genba --to speedscope -o", "scope.json"),
        ("export recorded.genba --to collapsed -o", "stacks.txt"),
    ];
    for (words, name) in writers {
        assert_eq!(code(&sandbox, &format!("{words} app.py")), Some(1), "{words} a source file");
        assert_eq!(code(&sandbox, &format!("{words} recorded.genba")), Some(1), "{words} a recording");
        sandbox.file("work/empty", b"");
        assert_eq!(code(&sandbox, &format!("{words} empty")), Some(0), "{words} an empty file");
        assert_eq!(code(&sandbox, &format!("{words} {name}")), Some(0), "{words} a new file");
        let first = fs::read(sandbox.path("work").join(name)).expect("it was written");
        // Collapsed stacks have no place for a mark.
        let again = if name == "stacks.txt" { 1 } else { 0 };
        // Longer than what replaces it: nothing of it may stay.
        if again == 0 {
            let longer: Vec<u8> = first.iter().copied().chain(*b"and more").collect();
            sandbox.file(&format!("work/{name}"), &longer);
        }
        assert_eq!(code(&sandbox, &format!("{words} {name}")), Some(again), "{words} its own file");
        assert_eq!(fs::read(sandbox.path("work").join(name)).expect("it stays"), first, "{words}");
    }
    assert_eq!(fs::read(sandbox.path("work/app.py")).expect("it stays"), SOURCE);
    assert_eq!(fs::read(sandbox.path("work/recorded.genba")).expect("it stays"), notation::bytes(PROFILE));
    // One export takes another's place, through a link too; a link to somebody else's file protects that file.
    symlink("scope.json", sandbox.path("work/link.json")).expect("a link");
    symlink("app.py", sandbox.path("work/source.html")).expect("a link");
    symlink("nowhere", sandbox.path("work/dangling.html")).expect("a link");
    assert_eq!(code(&sandbox, "export recorded.genba --to json -o link.json"), Some(0));
    assert!(
        fs::read(sandbox.path("work/scope.json")).expect("it is there").starts_with(b"{\"format\":\"genba-profile\"")
    );
    sandbox.check(
        "html recorded.genba -o source.html",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: source.html is not overwritten: it begins with "print(\'a day of work\')\n"
                -o replaces empty files, pages, and JSON that genba exported, nothing else
              hint: give another name with -o, or remove it first
        "#]],
    );
    sandbox.check(
        "html recorded.genba -o dangling.html",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: dangling.html is a symbolic link to a file that does not exist
              hint: name the file itself with -o
        "#]],
    );
}

#[test]
fn exports_still_go_to_devices_and_pipes() {
    let sandbox = sandbox("replacing-devices");
    assert_eq!(code(&sandbox, "export recorded.genba --to json -o /dev/null"), Some(0));
    let piped = sandbox.genba(&["export", "recorded.genba", "--to", "json", "-o", "/dev/stdout"]).output();
    let dashed = sandbox.genba(&["export", "recorded.genba", "--to", "json", "-o", "-"]).output();
    assert_eq!(piped.expect("genba starts").stdout, dashed.expect("genba starts").stdout);
    // `-o /dev/stdout >> notes` is a regular file by another name.
    let notes = fs::OpenOptions::new().append(true).open(sandbox.path("work/app.py")).expect("it is there");
    let appended =
        sandbox.genba(&["export", "recorded.genba", "--to", "json", "-o", "/dev/stdout"]).stdout(notes).status();
    assert_eq!(appended.expect("genba starts").code(), Some(1));
    assert_eq!(fs::read(sandbox.path("work/app.py")).expect("it stays"), SOURCE);
}
