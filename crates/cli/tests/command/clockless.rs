//! Logs of another profiler that tell no clock are compared by their samples.

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
