//! Lengths that lie cost no memory: a process that may map 256 MiB in all reads every input. GENBA_SOAK: more of them.

use std::process::Command;

const LIMIT_KIB: u32 = 256 << 10;

#[test]
fn a_lying_length_costs_no_memory() {
    let inputs = if std::env::var_os("GENBA_SOAK").is_some() { 20_000 } else { 600 };
    let ended = Command::new("sh")
        .args(["-c", &format!("ulimit -v {LIMIT_KIB} && exec \"$0\" --seed 5 --inputs {inputs}")])
        .arg(env!("CARGO_BIN_EXE_genba-fuzz"))
        .output()
        .expect("a shell");
    let (stdout, stderr) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{stdout}{stderr}");
    assert!(stdout.starts_with(&format!("{inputs} inputs, ")) && stdout.ends_with(" faults, 0 panics\n"), "{stdout}");
}
