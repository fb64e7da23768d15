//! Words that genba does not have, and what it says in place of clap: commands of its verbs, and what other profilers call their own.

use expect_test::expect;

use crate::sandbox::Sandbox;

/// What genba says of the line.
fn said(sandbox: &Sandbox, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let output = sandbox.genba(&words).output().expect("genba starts");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{line}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn a_verb_has_no_such_command() {
    let sandbox = Sandbox::new("no-such-command");
    let lines = [
        "serve stop",
        "serve --data data tokens",
        "serve token create x",
        "serve token",
        "heap ref 12",
        "heap dif a.json b.json",
        "heap 12 13",
        "heap 12 refs",
    ];
    let told: Vec<String> = lines.iter().map(|line| format!("$ genba {line}\n{}", said(&sandbox, line))).collect();
    expect![[r#"
        $ genba serve stop
        error: `stop` is not a command of genba serve
        hint: genba serve --help lists its commands
        $ genba serve --data data tokens
        error: `tokens` is not a command of genba serve
        hint: did you mean `token`?
        $ genba serve token create x
        error: `create` is not a command of genba serve token
        hint: genba serve token --help lists its commands
        $ genba serve token
        error: genba serve token needs a command
        hint: genba serve token --help lists its commands
        $ genba heap ref 12
        error: `ref` is not a command of genba heap
        hint: did you mean `refs`?
        $ genba heap dif a.json b.json
        error: `dif` is not a command of genba heap
        hint: did you mean `diff`?
        $ genba heap 12 13
        error: unexpected argument '13' found
        hint: usage: genba heap [OPTIONS] PID|FILE
           or: genba heap diff BEFORE AFTER
           or: genba heap refs PID --class CLASS
        $ genba heap 12 refs
        error: the subcommand 'refs' cannot be used with '[PID|FILE]'
        hint: usage: genba heap [OPTIONS] PID|FILE
           or: genba heap diff BEFORE AFTER
           or: genba heap refs PID --class CLASS
    "#]]
    .assert_eq(&told.concat());
}

#[test]
fn a_page_is_no_export() {
    let sandbox = Sandbox::new("page-exported");
    let lines = [
        "export --to collapsed -o out.html app.genba",
        "export --to speedscope -o out.svg app.genba",
        "export -o out.html",
        "report --format html app.genba",
        "report --format csv app.genba",
    ];
    let told: Vec<String> = lines.iter().map(|line| format!("$ genba {line}\n{}", said(&sandbox, line))).collect();
    expect![[r#"
        $ genba export --to collapsed -o out.html app.genba
        error: cannot export to out.html: no format of genba export has the ending .html
        hint: genba html -o out.html app.genba
        $ genba export --to speedscope -o out.svg app.genba
        error: cannot export to out.svg: no format of genba export has the ending .svg
        hint: genba html --open writes a page with the call tree; flame graph tools read --to collapsed
        $ genba export -o out.html
        error: cannot export to out.html: no format of genba export has the ending .html
        hint: genba html -o out.html
        $ genba report --format html app.genba
        error: invalid value 'html' for '--format <FORMAT>'
          [possible values: text, json, markdown]
        hint: genba html --open writes the page of a recording, with the call tree
        $ genba report --format csv app.genba
        error: invalid value 'csv' for '--format <FORMAT>'
          [possible values: text, json, markdown]
        hint: --format json is for programs
    "#]]
    .assert_eq(&told.concat());
    assert!(!sandbox.path("work/out.html").exists());
}
