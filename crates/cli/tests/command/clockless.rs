//! Logs of another profiler that tell no clock are compared by their samples.

use std::path::Path;

use crate::notation;
use crate::sandbox::Sandbox;

/// A log of vmprof in format 1: of each hundred samples below `main` so many are of `load`, in turns that `step` tells, and the others of `save`.
fn log(samples: u64, of_load: u64, step: u64) -> Vec<u8> {
    let mut bytes: Vec<u8> = [0_u64, 3, 0, 1000, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(b"\x05\x00\x01\x07cpython");
    let names = [(16_u64, "py:main:1:/app/app.py"), (32, "py:load:3:/app/app.py"), (48, "py:save:9:/app/app.py")];
    for (address, name) in names {
        bytes.push(2);
        bytes.extend(address.to_le_bytes());
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name.as_bytes());
    }
    for sample in 0..samples {
        let address = if sample * step % 100 < of_load { 32 } else { 48 };
        bytes.push(1);
        bytes.extend([1, 2, address, 16, 1].iter().flat_map(|word: &u64| word.to_le_bytes()));
    }
    bytes.push(3);
    bytes
}

fn said(sandbox: &Sandbox, words: &[&str]) -> String {
    let output = sandbox.genba(words).output().expect("genba starts");
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn equal_logs_differ_in_nothing_and_a_change_is_told_in_samples() {
    let sandbox = Sandbox::new("clockless");
    for (file, samples, of_load, step) in [("before", 2_000, 50, 37), ("same", 2_000, 50, 63), ("after", 4_000, 75, 37)]
    {
        sandbox.file(&format!("work/{file}.vmprof"), &log(samples, of_load, step));
    }
    let equal = said(&sandbox, &["diff", "before.vmprof", "same.vmprof"]);
    assert!(equal.starts_with("no difference that these recordings can tell: B − A is 0 ± "), "{equal}");
    assert!(equal.contains("weight: samples, because before.vmprof tells no clock"), "{equal}");
    let more = said(&sandbox, &["diff", "before.vmprof", "after.vmprof"]);
    assert!(more.starts_with("B has 100.0 % more samples than A: +2,000 ± "), "{more}");
    let page = said(&sandbox, &["diff", "--format", "json", "before.vmprof", "after.vmprof"]);
    let page: serde_json::Value = serde_json::from_str(&page).expect("JSON");
    let rows = page["differences"].as_array().expect("rows");
    let of = |function: &str| rows.iter().find(|row| row["function"] == function).expect("a row");
    assert_eq!((&page["comparable"], &page["weight"]), (&true.into(), &"samples".into()));
    assert_eq!((&of("load")["change"], &of("load")["certain"]), (&2_000.into(), &true.into()));
    assert_eq!((&of("save")["change"], &of("save")["certain"]), (&0.into(), &false.into()));
}

/// Before, it was an empty file or an empty table, and exit code 0; beside a recording that tells it, the log was left out.
#[test]
fn a_weight_that_a_file_does_not_tell_is_refused() {
    let sandbox = Sandbox::new("clockless-weight");
    sandbox.file("work/a.vmprof", &log(2_000, 50, 37));
    sandbox.file("work/a.txt", b"main;load 3\nmain;save 4\n");
    let prof = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/imports/cprofile-3.13.0.prof");
    sandbox.file("work/a.prof", &std::fs::read(prof).expect("a golden file"));
    sandbox.file("work/a.genba", &notation::bytes("process 7 3.13.0\n f@a.py:1 x1000"));
    let refused = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let output = sandbox.genba(&words).output().expect("genba starts");
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]), "{words:?}: {output:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let of_calls = "error: counts of calls tell no CPU time\nhint: --weight wall shows what there is\n";
    for words in [
        "export --to collapsed --weight cpu -o - a.prof",
        "export --to speedscope --weight cpu -o - a.prof",
        "report --weight cpu a.prof",
        "report --weight cpu --focus add a.prof",
        "tree --weight cpu a.prof",
        "lines --weight cpu a.prof",
    ] {
        assert_eq!(refused(words), of_calls, "{words}");
    }
    for (what, weight, files) in
        [("wall", "wall", "a.txt"), ("CPU", "cpu", "a.vmprof"), ("CPU", "cpu", "a.prof a.genba")]
    {
        let told = refused(&format!("export --to collapsed -o - --weight {weight} {files}"));
        assert!(told.starts_with(&format!("error: an imported file tells no {what} time\n")), "{files}: {told}");
        assert!(told.contains("\nhint: --weight "), "{files}: {told}");
    }
    assert!(
        said(&sandbox, &["report", "--weight", "wall", "--focus", "fibonacci", "a.prof"])
            .contains("counted.py fibonacci")
    );
    assert!(
        said(&sandbox, &["export", "--to", "collapsed", "--weight", "cpu", "-o", "-", "a.genba"])
            .contains("f (a.py:1) ")
    );
}
