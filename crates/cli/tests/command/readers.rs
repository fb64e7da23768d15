//! The reading verbs from outside: which file is read, exit codes, what goes to stdout and what to stderr.

use crate::notation;
use crate::sandbox::Sandbox;
use expect_test::expect;
use genba_format::{BlockHeader, encode_block};

const SLICES: &str = "
    process 4127 3.15.2 executable=/usr/bin/python3.15 cwd=/home/me
    source /home/me/slices.py
    |def before(b):
    |    n = 0
    |    for i in range(len(b)):
    |        n += len(b[i:][:2])
    <module>@slices.py:9 > before@slices.py:4[17-22] > ?bytes.__getitem__[python3.15] > PyBytes_FromStringAndSize[python3.15] > memmove[libc.so.6] x1966
    refused moved 2
";

fn with_slices(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.file("work/slices.genba", &notation::bytes(SLICES));
    sandbox
}

#[test]
fn the_newest_recording_is_read_and_named() {
    let sandbox = with_slices("readers-newest");
    sandbox.file("work/older.genba", b"not even a recording");
    sandbox.file("work/newest.txt", b"nor this");
    sandbox.age("work/older.genba");
    sandbox.check(
        "report",
        expect![[r#"
            exit code 0
            stdout
              CPython 3.15.2 · 3.15 s wall · 3.15 s CPU · 1 process, 1 thread · sampled every 1.6 ms
              ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %
              one place: 100.0 % of 3.15 s CPU is slices.py:4 before   b[i:]

              100.0 %  3.15 s  slices.py:4 before    n += len(b[i:][:2])
                                                              ~~~~~
                                   bytes.__getitem__ → PyBytes_FromStringAndSize → memmove (libc) 100 %
            stderr
              reading slices.genba
        "#]],
    );
    sandbox.check(
        "tree --show python",
        expect![[r#"
            exit code 0
            stdout
              CPython 3.15.2 · 3.15 s wall · 3.15 s CPU · 1 process, 1 thread · sampled every 1.6 ms
              ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %

                share      CPU     self     wall     self  path
              100.0 %   3.15 s        –   3.15 s        –  <module> (slices.py:1)
              100.0 %   3.15 s   3.15 s   3.15 s   3.15 s    before (slices.py:1)
            stderr
              reading slices.genba
        "#]],
    );
    sandbox.check(
        "check",
        expect![[r#"
            exit code 0
            stdout
              slices.genba: 751 bytes, 3 blocks, 1 process
              process 4127 (CPython 3.15.2): 2 blocks, ended (exit)
                ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2)
                CPU 3,145,600,000 ns = sampled 3,145,600,000 + not sampled 0 + genba 0
              every block is intact, both laws hold
            stderr
              reading slices.genba
        "#]],
    );
    sandbox.check("export --to collapsed -o -", expect![[r#"
        exit code 0
        stdout
          <module> (/home/me/slices.py:9);before (/home/me/slices.py:4);bytes.__getitem__ (inferred) [python3.15];PyBytes_FromStringAndSize [python3.15];memmove [libc.so.6] 3145600000
        stderr
          reading slices.genba
    "#]]);
}

#[test]
fn the_golden_recording() {
    let sandbox = Sandbox::new("readers-golden");
    let golden = include_bytes!("../../../../testdata/golden/v1.genba");
    sandbox.file("work/v1.genba", golden);
    sandbox.check("report v1.genba --weight cpu", expect![[r#"
        exit code 0
        stdout
          CPython 3.15.2 · 750 ms wall · 29.4 ms CPU + 90.0 µs genba's · 1 process, 2 threads · sampled every 1 ms, mostly 2 ms · resident 31.0 MB at most, 31.0 MB on average
          ticks 12 = sampled 8 + dropped 2 (fork 1, late 1) + refused 2 (masked 1, moved 1) · CPU covered 20.4 %
          waiting: 750 ms wall, 6.00 ms CPU (0.8 %)
             97.2 %   240 ms  outside of Python   waiting for an event (poll)

          100.0 %  6.00 ms  slices.py before
                                python3.15+0x12340 → python3.15+0x12399 → memmove (libc) 51 %
        stderr
          warning: process 4130 (/usr/bin/pypy3) was not recorded: PyPy 7.3; genba knows CPython 3.11 to 3.15; use another interpreter there: genba doctor --python PATH checks it
          warning: 3 samples, shares are ± 61 points; try --rate 10000 or a longer run
          warning: 33.3 % of the ticks gave no sample, most of them for the reason `moved` (8.3 %): the stack changed while genba read it; a thread's next sample counts the CPU time that passed; shares of short calls may be too small; genba trace counts calls
          warning: samples cover 20.4 % of the program's CPU; 23.4 ms are in no sample (20.0 ms of it before genba was loaded); try a longer run, which has less of it
          warning: process 4127 (CPython 3.15.2): the program installed its own SIGURG handler; leave SIGURG to genba
          warning: process 4127 (CPython 3.15.2): recorded for its first 500 ms only, which is 500 ms before the run ended: --duration reached; a longer --duration records more
    "#]]);
    sandbox.check(
        "check v1.genba",
        expect![[r#"
        exit code 0
        stdout
          v1.genba: 1.41 kB, 5 blocks, 2 processes
          process 4127 (CPython 3.15.2): 3 blocks, ended (duration)
            ticks 12 = sampled 8 + dropped 2 (fork 1, late 1) + refused 2 (masked 1, moved 1)
            CPU 29,500,000 ns = sampled 6,000,000 + not sampled 23,410,000 + genba 90,000
            wall time of refused and dropped ticks: 3.50 ms
            in the handler: 15.0 µs in 4 runs, 3750 ns each
          process 4130: 1 block, no end block
            not sampled: PyPy 7.3; genba knows CPython 3.11 to 3.15
          every block is intact, both laws hold
        stderr
    "#]],
    );
}

#[test]
fn colour_adds_nothing() {
    let sandbox = with_slices("readers-colour");
    let stdout = |colour| {
        let output = sandbox.genba(&["report", "slices.genba", "--color", colour]).output().expect("genba starts");
        String::from_utf8(output.stdout).expect("text")
    };
    let coloured = stdout("always");
    let mut plain = String::new();
    for piece in coloured.split_inclusive('m') {
        plain += piece.split_once('\u{1b}').map_or(piece, |(before, _)| before);
    }
    assert!(coloured.len() > plain.len());
    assert_eq!(plain, stdout("never"));
    assert_eq!(plain, stdout("auto"));
}

#[test]
fn files_that_cannot_be_read() {
    let sandbox = with_slices("readers-refusals");
    sandbox.file("work/notes.txt", b"hello");
    sandbox.file("work/empty", b"");
    sandbox.check(
        "report no-such.genba",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: cannot open no-such.genba: there is no such file
          hint: the newest recording here is slices.genba
    "#]],
    );
    sandbox.check(
        "report notes.txt",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: notes.txt is not a recording
                it begins with "hello"; genba reads recordings of genba, logs of vmprof (plain, gzip or bz2), .prof files and collapsed stacks (`a;b;c 12`)
              hint: genba run app.py makes one
        "#]],
    );
    sandbox.check(
        "report empty",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: empty is empty
            empty at byte 0: expected a block, found the end of the file
          hint: the program ended before genba's library wrote a first block, or it still starts
    "#]],
    );
    sandbox.check(
        "tree ..",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: cannot open ..: it is a directory
          hint: the newest recording here is slices.genba
    "#]],
    );
    std::fs::remove_file(sandbox.path("work/slices.genba")).expect("it was just written");
    sandbox.check(
        "check",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: no recording in the current directory
            found no file named *.genba in [box]/work
          hint: genba run app.py makes one; or name the recording
    "#]],
    );
}

#[test]
fn a_cut_recording_is_shown_as_far_as_it_is_intact() {
    let sandbox = Sandbox::new("readers-cut");
    let bytes = notation::bytes("process 7 3.13.0\n f@a.py:1 x1000");
    sandbox.file("work/cut.genba", &bytes[..bytes.len() - 1]);
    sandbox.check(
        "report cut.genba",
        expect![[r#"
            exit code 0
            stdout
              CPython 3.13.0 · 1.60 s wall · 1.60 s CPU · 1 process, 1 thread · sampled every 1.6 ms
              ticks 1,000 = sampled 1,000 + dropped 0 + refused 0 · CPU covered 100.0 %
              one place: 100.0 % of 1.60 s CPU is a.py:1 f

              100.0 %  1.60 s  a.py:1 f
            stderr
              warning: cut at byte 406 (block 2, field `payload`): expected 9 bytes, found 8; copy the file again, or record again
        "#]],
    );
    sandbox.check(
        "check cut.genba",
        expect![[r#"
        exit code 1
        stdout
          cut.genba: 406 bytes, 2 blocks, 1 process
          process 7 (CPython 3.13.0): 2 blocks, ended (exit)
            ticks 1,000 = sampled 1,000 + dropped 0 + refused 0
            CPU 1,600,000,000 ns = sampled 1,600,000,000 + not sampled 0 + genba 0
        stderr
          error: cut.genba is damaged; both laws hold in what is intact
            cut at byte 406 (block 2, field `payload`): expected 9 bytes, found 8
          hint: the readers show what is intact
    "#]],
    );
}

/// Before, these were recordings of nothing: exit code 0, and the advice to record for longer.
#[test]
fn a_file_of_which_nothing_can_be_read_is_refused() {
    let sandbox = Sandbox::new("readers-nothing");
    let bytes = notation::bytes("process 7 3.13.0\n f@a.py:1 x1000");
    sandbox.file("work/cut.genba", &bytes[..100]);
    let mut newer = Vec::new();
    for read in &notation::recording("process 7 3.13.0\n f@a.py:1 x1000").blocks {
        let header = BlockHeader { version: u16::MAX, ..read.header };
        encode_block(&header, read.whole(), &mut genba_format::compress, &mut newer).expect("small");
    }
    sandbox.file("work/newer.genba", &newer);
    for verb in ["report", "check", "lines", "tree", "html", "export --to json -o -"] {
        let words: Vec<&str> = verb.split(' ').chain(["newer.genba"]).collect();
        let output = sandbox.genba(&words).output().expect("genba starts");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]), "{verb}: {told}");
        assert!(
            told.starts_with("error: newer.genba is newer than this genba\n  newer than this genba at byte "),
            "{told}"
        );
        assert!(told.ends_with("\nhint: install the newest genba\n"), "{verb}: {told}");
    }
    sandbox.check(
        "diff cut.genba newer.genba",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: nothing of cut.genba can be read
            cut at byte 100 (block 0, field `payload`): expected 166 bytes, found 34
          hint: copy the file again, or record again
    "#]],
    );
}

/// The clocks of the last block go on over those of the lost one.
#[test]
fn a_check_tells_the_cpu_of_lost_blocks() {
    let sandbox = Sandbox::new("readers-lost");
    let mut file = Vec::new();
    for (index, read) in notation::recording("process 7 3.13.0\n f@a.py:1 x1000").blocks.iter().enumerate() {
        let (mut header, mut block) = (read.header, read.whole());
        if index == 1 {
            header.sequence += 1;
            let accounting = block.accounting.as_mut().expect("it has one");
            accounting.cpu_sampled_ns += 400_000_000;
            accounting.cpu_process_ns += 400_000_000;
        }
        encode_block(&header, block, &mut genba_format::compress, &mut file).expect("small");
    }
    sandbox.file("work/lost.genba", &file);
    sandbox.check(
        "check lost.genba",
        expect![[r#"
        exit code 1
        stdout
          lost.genba: 407 bytes, 3 blocks, 1 process
          process 7 (CPython 3.13.0): 2 blocks, 1 lost, ended (exit)
            ticks 1,000 = sampled 1,000 + dropped 0 + refused 0
            CPU 2,000,000,000 ns = sampled 2,000,000,000 + not sampled 0 + genba 0
            lost: 400 ms of the sampled CPU, with its blocks
        stderr
          error: lost.genba is damaged; but for 400 ms of sampled CPU in lost blocks, both laws hold in what is intact
            incomplete at byte 232 (block 1, field `sequence`): expected 1, found 2 (1 lost)
          hint: the readers show what is intact
    "#]],
    );
}

#[test]
fn accounting_that_does_not_add_up() {
    let sandbox = Sandbox::new("readers-laws");
    let recording = notation::recording("process 7 3.13.0\n f@a.py:1 x1000");
    let mut file = Vec::new();
    for (index, read) in recording.blocks.iter().enumerate() {
        let mut block = read.whole();
        if index == 0 {
            block.accounting.as_mut().expect("it has one").ticks += 1;
        }
        genba_format::encode_block(&read.header, block, &mut genba_format::compress, &mut file).expect("small");
    }
    sandbox.file("work/wrong.genba", &file);
    sandbox.check(
        "check wrong.genba",
        expect![[r#"
        exit code 1
        stdout
          wrong.genba: 407 bytes, 3 blocks, 1 process
          process 7 (CPython 3.13.0): 2 blocks, ended (exit)
            ticks 1,001 = sampled 1,000 + dropped 0 + refused 0
            CPU 1,600,000,000 ns = sampled 1,600,000,000 + not sampled 0 + genba 0
        stderr
          error: the accounting of wrong.genba does not add up
            law 1 (ticks add up) does not hold at byte 0 (block 0, field `accounting.ticks`): expected 1000, found 1001
          hint: this is a mistake of genba's own; please report it with the recording
    "#]],
    );
}

#[test]
fn exports_to_files() {
    let sandbox = with_slices("readers-exports");
    sandbox.check(
        "export slices.genba --to collapsed --weight cpu -o out.txt",
        expect![[r#"
        exit code 0
        stdout
        stderr
          wrote out.txt (174 bytes): 3.15 s CPU in 1 stack
          ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %
    "#]],
    );
    let written = std::fs::read_to_string(sandbox.path("work/out.txt")).expect("it was written");
    expect![[r#"
        <module> (/home/me/slices.py:9);before (/home/me/slices.py:4);bytes.__getitem__ (inferred) [python3.15];PyBytes_FromStringAndSize [python3.15];memmove [libc.so.6] 3145600000
    "#]].assert_eq(&written);
    sandbox.check(
        "export --to json -o slices.genba",
        expect![[r#"
        exit code 1
        stdout
        stderr
          reading slices.genba
          error: slices.genba is not overwritten: it is a recording
            -o replaces empty files, pages, and JSON that genba exported, nothing else
          hint: give another name with -o, or remove it first
    "#]],
    );
    sandbox.check(
        "export slices.genba --to json --threads -o -",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: --weight and --threads do not belong to --to json
                JSON holds every weight and every thread
              hint: leave them out
        "#]],
    );
    sandbox.check(
        "export slices.genba --to json -o no/such/folder",
        expect![[r#"
            exit code 1
            stdout
            stderr
              error: cannot write no/such/folder: no such file or directory
              hint: genba makes no folders: make it first, or name another file with -o
        "#]],
    );
}

#[test]
fn options_that_cannot_be_read() {
    let sandbox = with_slices("readers-options");
    sandbox.check(
        "report --min-share 101 slices.genba",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: invalid value '101' for '--min-share <PERCENT>': expected a percentage from 0 to 100, as in 1% or 0.5
              hint: genba report --help tells its options
        "#]],
    );
    sandbox.check(
        "tree --max-depth 0 slices.genba",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: invalid value '0' for '--max-depth <N>': expected a whole number, 1 or more
              hint: genba tree --help tells its options
        "#]],
    );
    sandbox.check(
        "export slices.genba --to flame -o -",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: invalid value 'flame' for '--to <FORMAT>'
                [possible values: collapsed, json, speedscope]
              hint: genba html --open writes a page with the call tree; flame graph tools read --to collapsed
        "#]],
    );
}

#[test]
fn a_directory_and_a_named_pipe_are_refused_by_name_by_all_readers() {
    let sandbox = with_slices("readers-no-files");
    std::fs::create_dir(sandbox.path("work/folder")).expect("a folder");
    let made = std::process::Command::new("mkfifo").arg(sandbox.path("work/pipe")).status();
    assert!(made.expect("mkfifo").success());
    for line in [
        "report FILE",
        "report slices.genba FILE",
        "tree FILE",
        "lines FILE",
        "check FILE",
        "export --to json -o - FILE",
        "html -o - FILE",
        "html -o - slices.genba FILE",
        "diff FILE slices.genba",
        "diff slices.genba FILE",
        "gc FILE",
        "view --no-open FILE",
        "push --dry-run FILE http://127.0.0.1:1",
        "push FILE http://127.0.0.1:1",
        "pstats FILE --stats",
        "doctor --clock FILE",
        "top FILE",
        "heap diff FILE slices.genba",
        "bench --against FILE true",
        "bench --history FILE true",
    ] {
        for (file, why) in [("folder", "is a directory"), ("pipe", "it is no regular file")] {
            let line = line.replace("FILE", file);
            let words: Vec<&str> = line.split(' ').collect();
            let output = sandbox.genba(&words).env("TERM", "xterm").output().expect("genba starts");
            let said = String::from_utf8_lossy(&output.stderr);
            let is_named = said.starts_with("error: ") && said.contains(file) && said.contains(why);
            // top has words of its own.
            let is_named = is_named || said.starts_with(&format!("error: {file} is not a file"));
            assert!(is_named && output.stdout.is_empty() && output.status.code() != Some(0), "{line}: {output:?}");
        }
    }
}
