//! Files of other profilers in place of recordings: every reader takes them, and says what they do not tell.

use std::path::Path;

use crate::sandbox::{Sandbox, one_block};
use expect_test::expect;
use genba_format::proto;

fn with_files(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    for file in [
        "format-7-plain.vmprof",
        "format-7-plain.vmprof.gz",
        "format-7-plain.vmprof.bz2",
        "format-7-lines-memory.vmprof",
        "format-7-wall-threads.vmprof",
        "format-7-killed.vmprof",
        "format-6-threads.vmprof",
        "py-spy.txt",
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/imports").join(file);
        sandbox.file(&format!("work/{file}"), &std::fs::read(path).expect("a golden file"));
    }
    sandbox
}

fn stdout(sandbox: &Sandbox, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let output = sandbox.genba(&words).output().expect("the command starts");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_log_of_vmprof_with_a_clock() {
    let sandbox = with_files("imports-clock");
    sandbox.check("report format-7-lines-memory.vmprof", expect![[r#"
        exit code 0
        stdout
          imported from vmprof (log format 7): one sample is one tick of 4.99 ms of CPU time; CPU is the process's clock from one sample to the next; ran 287 ms; no states, no accounting · 1 process, 1 thread · resident 37.9 MB at most, 27.5 MB on average
          ticks 46 = sampled 46 + dropped 0 + refused 0 · an imported file tells only its samples
          too short to judge: 287 ms wall, 46 samples
            run for longer: a verdict needs 50 samples

           39.5 %  73.1 ms  work.py:23 second
           19.2 %  35.6 ms  work.py:23 <lambda>
           16.6 %  30.7 ms  work.py:13 inner
            8.6 %  16.0 ms  work.py:31 work
            8.3 %  15.4 ms  work.py:12 inner
            7.8 %  14.4 ms  work.py:22 second
        stderr
          warning: 46 samples, shares are ± 16 points; try a longer run
    "#]]);
    sandbox.check("tree format-7-plain.vmprof", expect![[r#"
        exit code 0
        stdout
          imported from vmprof (log format 7): one sample is one tick of 4.99 ms of CPU time; CPU is the process's clock from one sample to the next; ran 268 ms; no states, no accounting · 1 process, 1 thread
          ticks 42 = sampled 42 + dropped 0 + refused 0 · an imported file tells only its samples

            share      CPU     self     wall     self  path
          100.0 %   208 ms        –        –        –  <module> (work.py:1)
          100.0 %   208 ms  4.00 ms        –        –    main (work.py:43)
           98.1 %   204 ms  16.0 ms        –        –      work (work.py:26)
           79.1 %   165 ms  93.8 ms        –        –        second (work.py:21)
           34.0 %  70.8 ms  70.8 ms        –        –          <lambda> (work.py:23)
           11.3 %  23.5 ms        –        –        –        first (work.py:17)
           11.3 %  23.5 ms  23.5 ms        –        –          inner (work.py:10)
        stderr
          warning: 42 samples, shares are ± 16 points; try a longer run
    "#]]);
    sandbox.check("check format-7-plain.vmprof", expect![[r#"
        exit code 0
        stdout
          format-7-plain.vmprof: 3.67 kB
            imported from vmprof (log format 7): one sample is one tick of 4.99 ms of CPU time; CPU is the process's clock from one sample to the next; ran 268 ms; no states, no accounting
            ticks 42 = sampled 42 + dropped 0 + refused 0
          not checked: vmprof's log tells the ticks that gave a sample, not those that gave none (law 1), and no clock of the whole process beside its samples for law 2
          the file is intact
        stderr
    "#]]);
    sandbox.check("report format-7-wall-threads.vmprof --by thread", expect![[r#"
        exit code 0
        stdout
          imported from vmprof (log format 7): one sample is one tick of 4.99 ms of wall time; wall is the time from a thread's sample to its next; ran 120 ms; no states, no accounting · 1 process, 2 threads
          ticks 42 = sampled 42 + dropped 0 + refused 0 · an imported file tells only its samples
          not judged: 42 samples, and no CPU time for a verdict; the rows below count what there is
          weight: wall, because an imported file tells no CPU time

           51.2 %  110 ms  thread 1 0x7ffbf24b36c8
           48.8 %  105 ms  thread 2 0x559f43fe4370
        stderr
          warning: 42 samples, shares are ± 15 points; try a longer run
    "#]]);
}

#[test]
fn a_log_of_vmprof_without_a_clock() {
    let sandbox = with_files("imports-no-clock");
    sandbox.check("report format-6-threads.vmprof --thread 0x5576545c74c0", expect![[r#"
        exit code 0
        stdout
          imported from vmprof (log format 6): one sample is one tick of 4.99 ms of CPU time; no clocks: samples count; ran 140 ms; no states, no accounting · 1 process, 2 threads
          ticks 22 = sampled 22 + dropped 0 + refused 0 · an imported file tells only its samples
          not judged: 22 samples, and no CPU time for a verdict; the rows below count what there is
          weight: samples, because an imported file tells no clock
          kept: 54.5 % of 22 samples (--thread 0x5576545c74c0). Shares below are of what is kept.

           50.0 %  6  work.py second
           41.7 %  5  work.py <lambda>
            8.3 %  1  work.py inner
        stderr
          warning: 12 samples, shares are ± 28 points; try a longer run
    "#]]);
    sandbox.check("check format-7-killed.vmprof", expect![[r#"
        exit code 0
        stdout
          format-7-killed.vmprof: 3.08 kB
            imported from vmprof (log format 7): one sample is one tick of 4.99 ms of CPU time; CPU is the process's clock from one sample to the next; how long it ran is not told; no states, no accounting
            ticks 44 = sampled 44 + dropped 0 + refused 0
          not checked: vmprof's log tells the ticks that gave a sample, not those that gave none (law 1), and no clock of the whole process beside its samples for law 2
          the file is intact
        stderr
          warning: the log ends at byte 3080 without a trailer: the program was killed, or it is still running
          warning: vmprof stored no name for 7 addresses in the stacks: it writes names when profiling is disabled, which a killed program never does
    "#]]);
}

#[test]
fn what_both_files_tell_is_compared() {
    let sandbox = with_files("imports-compared");
    let verdict = |line: &str| stdout(&sandbox, line).lines().next().unwrap_or_default().to_owned();
    expect!["too few samples to tell: A has 22, B has 44, and genba compares from 100 on one side and 10 on the other; record runs 3 times as long, or with a --rate 3 times as high"]
        .assert_eq(&verdict("diff format-6-threads.vmprof format-7-killed.vmprof"));
    let said = stdout(&sandbox, "diff format-6-threads.vmprof format-7-killed.vmprof");
    assert!(said.contains("weight: samples, because format-6-threads.vmprof tells no clock"), "{said}");
    sandbox.check(
        "diff --weight cpu format-7-killed.vmprof format-6-threads.vmprof",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: format-6-threads.vmprof tells no CPU time
            a file of another profiler has what that profiler stored
          hint: --weight samples compares what all of these files tell
    "#]],
    );
    sandbox.check(
        "html --weight cpu format-7-killed.vmprof format-6-threads.vmprof",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: format-6-threads.vmprof tells no CPU time
            a file of another profiler has what that profiler stored
          hint: --weight samples compares what all of these files tell
    "#]],
    );
    sandbox.check(
        "html --weight samples format-7-killed.vmprof",
        expect![[r#"
        exit code 2
        stdout
        stderr
          error: --weight is for comparisons: a page of one recording has each weight
          hint: the page's first row has a switch for it, and so has the key w
    "#]],
    );
}

#[test]
fn without_a_clock_the_tree_counts_samples() {
    let sandbox = with_files("imports-tree");
    sandbox.check("tree format-6-threads.vmprof", expect![[r#"
        exit code 0
        stdout
          imported from vmprof (log format 6): one sample is one tick of 4.99 ms of CPU time; no clocks: samples count; ran 140 ms; no states, no accounting · 1 process, 2 threads
          ticks 22 = sampled 22 + dropped 0 + refused 0 · an imported file tells only its samples
          weight: samples, because an imported file tells no clock

            share  samples     self  path
           54.5 %       12        –  beside (work.py:36)
           54.5 %       12        –    work (work.py:26)
           50.0 %       11        6      second (work.py:21)
           22.7 %        5        5        <lambda> (work.py:23)
            4.5 %        1        –      first (work.py:17)
            4.5 %        1        1        inner (work.py:10)
           45.5 %       10        –  (no name in the log: 0x7f100acf6190)
           45.5 %       10        –    main (work.py:43)
           45.5 %       10        2      work (work.py:26)
           31.8 %        7        4        second (work.py:21)
           13.6 %        3        3          <lambda> (work.py:23)
            4.5 %        1        –        first (work.py:17)
            4.5 %        1        1          inner (work.py:10)
        stderr
          warning: 22 samples, shares are ± 21 points; try a longer run
    "#]]);
}

#[test]
fn compressed_logs_are_told_by_their_content() {
    let sandbox = with_files("imports-compressed");
    let plain = stdout(&sandbox, "report format-7-plain.vmprof");
    for packed in ["gz", "bz2"] {
        sandbox.file(
            "work/app.genba",
            &std::fs::read(sandbox.path(&format!("work/format-7-plain.vmprof.{packed}"))).unwrap(),
        );
        assert_eq!(stdout(&sandbox, "report app.genba"), plain);
    }
}

#[test]
fn collapsed_stacks() {
    let sandbox = with_files("imports-collapsed");
    sandbox.check(
        "report py-spy.txt",
        expect![[r#"
        exit code 0
        stdout
          imported from collapsed stacks: counts only; no clocks, no states, no accounting · 1 process, 1 thread
          ticks 147 = sampled 147 + dropped 0 + refused 0 · an imported file tells only its samples
          not judged: 147 samples, and no CPU time for a verdict; the rows below count what there is
          weight: samples, because an imported file tells no clock

           45.6 %  67  spied.py:11 main
           28.6 %  42  spied.py:11 main.<locals>.<lambda>
           15.6 %  23  spied.py:5 inner.<locals>.<genexpr>
            9.5 %  14  spied.py:5 inner
            0.7 %  1 more row (--min-share 0 --limit 0 shows them all)
        stderr
          warning: 147 samples, shares are ± 8 points; try a longer run
    "#]],
    );
    sandbox.check(
        "report py-spy.txt --time 0s..1s",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: --time does not apply to py-spy.txt
            collapsed stacks tell no times
          hint: leave --time out
    "#]],
    );
    sandbox.check(
        "diff py-spy.txt format-7-plain.vmprof",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: py-spy.txt cannot be compared
            collapsed stacks tell no times, and how certain a change is follows from the times of the samples
          hint: record with genba run, or compare the files' reports
    "#]],
    );
    sandbox.check("check py-spy.txt", expect![[r#"
        exit code 0
        stdout
          py-spy.txt: 296 bytes
            imported from collapsed stacks: counts only; no clocks, no states, no accounting
            ticks 147 = sampled 147 + dropped 0 + refused 0
          not checked: collapsed stacks tell counts alone: no clocks for law 2, and no ticks that gave no sample for law 1
          the file is intact
        stderr
    "#]]);
}

/// Each export of a file, read again, gives the same export.
#[test]
fn what_is_exported_and_read_again_is_the_same() {
    let sandbox = with_files("imports-again");
    sandbox.file(
        "work/names.txt",
        b"a\\;b (x y.py:3);f [libc.so.6] 7\njava/lang/String.hash_[j];g (inlined) [m.so];(truncated) 2\n",
    );
    for file in
        ["py-spy.txt", "names.txt", "format-7-plain.vmprof", "format-7-lines-memory.vmprof", "format-6-threads.vmprof"]
    {
        let first = stdout(&sandbox, &format!("export {file} --to collapsed -o -"));
        assert!(first.lines().count() > 1, "{file}");
        sandbox.file("work/first.txt", first.as_bytes());
        assert_eq!(stdout(&sandbox, "export first.txt --to collapsed -o -"), first, "{file}");
    }
    let names = stdout(&sandbox, "export names.txt --to collapsed -o -");
    assert_eq!(names, String::from_utf8(std::fs::read(sandbox.path("work/names.txt")).unwrap()).unwrap());
}

#[test]
fn other_views_take_them_too() {
    let sandbox = with_files("imports-views");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&sandbox, "export format-7-lines-memory.vmprof --to json -o -")).expect("JSON");
    assert_eq!(json["rss"].as_array().map(Vec::len), Some(46));
    assert!(json["processes"][0]["imported"].as_str().is_some_and(|words| words.starts_with("imported from vmprof")));
    assert_eq!(json["processes"][0]["pid"], serde_json::Value::Null);
    let report: serde_json::Value =
        serde_json::from_str(&stdout(&sandbox, "report format-6-threads.vmprof --format json")).expect("JSON");
    assert_eq!((report["weight"].as_str(), report["verdict"]["name"].as_str()), (Some("samples"), Some("not judged")));
    assert_eq!(report["accounting"]["sampled"], 22);
    stdout(&sandbox, "html format-7-plain.vmprof -o page.html");
    assert!(stdout(&sandbox, "lines format-7-lines-memory.vmprof").contains("second"));
}

#[test]
fn what_is_damaged_or_not_read_is_told() {
    let sandbox = with_files("imports-damaged");
    let plain = std::fs::read(sandbox.path("work/format-7-plain.vmprof")).expect("a golden file");
    sandbox.file("work/cut.vmprof", &plain[..1000]);
    let mut pypy = plain.clone();
    pypy[43] |= 8;
    sandbox.file("work/pypy.vmprof", &pypy);
    sandbox.file("work/lines.txt", b"a;b 3\nhello\n");
    sandbox.check("check cut.vmprof", expect![[r#"
        exit code 1
        stdout
          cut.vmprof: 1.00 kB
            imported from vmprof (log format 7): one sample is one tick of 4.99 ms of CPU time; CPU is the process's clock from one sample to the next; how long it ran is not told; no states, no accounting
            ticks 12 = sampled 12 + dropped 0 + refused 0
          not checked: vmprof's log tells the ticks that gave a sample, not those that gave none (law 1), and no clock of the whole process beside its samples for law 2
        stderr
          warning: vmprof stored no name for 7 addresses in the stacks: it writes names when profiling is disabled, which a killed program never does
          error: cut.vmprof is damaged
            the log is damaged at byte 993: expected a time of 8 bytes, found 7 bytes and the end of the file; the 12 samples before it are read, what follows is not
          hint: the readers show what is intact
    "#]]);
    sandbox.check(
        "report pypy.vmprof",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: pypy.vmprof cannot be read
            a log of vmprof for PyPy: genba reads those of CPython on 64-bit Linux
    "#]],
    );
    sandbox.check(
        "report lines.txt",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: lines.txt is damaged
            collapsed stacks, damaged at byte 6: expected frames, a space and a whole number in line 2, found "hello"
          hint: nothing of it can be read; make the file again
    "#]],
    );
}

fn with_prof_files(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    for file in ["cprofile-3.13.0.prof", "cprofile-2.7.18.prof", "profile-3.13.0.prof"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/imports").join(file);
        sandbox.file(&format!("work/{file}"), &std::fs::read(path).expect("a golden file"));
    }
    sandbox
}

#[test]
fn prof_files_in_all_readers() {
    let sandbox = with_prof_files("imports-prof");
    sandbox.check("report cprofile-3.13.0.prof --by function --weight samples --limit 3", expect![[r#"
        exit code 0
        stdout
          imported from a .prof file: one sample is one call, and all were counted; wall is the time in a function itself, below the function that called it; no call tree, no accounting; genba pstats has cumulative times · 1 process, 1 thread
          ticks 19,953 = sampled 19,953 + dropped 0 + refused 0 · counted calls
          not judged: 19,953 samples, and no CPU time for a verdict; the rows below count what there is
          weight: samples

           99.8 %  19,913  counted.py:8 fibonacci
            0.2 %  8 more rows (--min-share 0 --limit 0 shows them all)
        stderr
    "#]]);
    sandbox.check("tree cprofile-3.13.0.prof --weight samples --min-share 0 --limit 2", expect![[r#"
        exit code 0
        stdout
          imported from a .prof file: one sample is one call, and all were counted; wall is the time in a function itself, below the function that called it; no call tree, no accounting; genba pstats has cumulative times · 1 process, 1 thread
          ticks 19,953 = sampled 19,953 + dropped 0 + refused 0 · counted calls
          weight: samples

            share      CPU     self     wall     self  path
           99.8 %        –        –  4.06 ms        –  fibonacci (counted.py:8)
           99.8 %        –        –  4.06 ms  4.06 ms    fibonacci (counted.py:8)
            0.1 %        –        –  32.0 µs  16.0 µs  main (counted.py:36)
            0.0 %        –        –        –        –    numbers (counted.py:12)
            0.0 %        –        –        –        –    add (counted.py:29)
            0.1 %                                        (4 more paths not shown)
            0.1 %                                      (4 more paths not shown)
        stderr
    "#]]);
    sandbox.check("tree profile-3.13.0.prof --limit 2", expect![[r#"
        exit code 0
        stdout
          imported from a .prof file: one sample is one call, and all were counted; wall is the time in a function itself, below its caller where it has one caller alone; no call tree, no accounting; genba pstats has the others · 1 process, 1 thread
          ticks 19,954 = sampled 19,954 + dropped 0 + refused 0 · counted calls
          weight: wall, because counts of calls tell no CPU time

            share      CPU     self     wall     self  path
           98.5 %        –        –  16.5 ms  16.5 ms  fibonacci (counted.py:8)
            1.5 %                                      (6 more paths not shown)
        stderr
    "#]]);
    sandbox.check("check cprofile-2.7.18.prof", expect![[r#"
        exit code 0
        stdout
          cprofile-2.7.18.prof: 1.71 kB
            imported from a .prof file: one sample is one call, and all were counted; wall is the time in a function itself, below the function that called it; no call tree, no accounting; genba pstats has cumulative times
            ticks 19,954 = sampled 19,954 + dropped 0 + refused 0
          not checked: a .prof file tells sums alone: no clock of the process beside them for law 2, and no ticks for law 1
          the file is intact
        stderr
    "#]]);
    sandbox.check(
        "report cprofile-3.13.0.prof --time 0s..1s",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: --time does not apply to cprofile-3.13.0.prof
            a .prof file tells sums, not moments
          hint: leave --time out
    "#]],
    );
    stdout(&sandbox, "html cprofile-3.13.0.prof -o page.html");
    let collapsed = stdout(&sandbox, "export cprofile-3.13.0.prof --to collapsed -o -");
    assert!(
        collapsed.lines().any(|line| line.starts_with("main (") && line.contains(";tried (") && line.ends_with(" 5"))
    );
}

#[test]
fn two_prof_files_are_compared_by_function() {
    let sandbox = with_prof_files("imports-prof-diff");
    let page = stdout(&sandbox, "diff profile-3.13.0.prof cprofile-3.13.0.prof --weight samples --limit 3");
    assert!(page.contains("calls:  19,954 → 19,953\n"), "{page}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&sandbox, "diff cprofile-2.7.18.prof cprofile-3.13.0.prof --format json"))
            .expect("JSON");
    let rows = json["rows"].as_array().expect("rows");
    let row = |name: &str| rows.iter().find(|row| row["function"] == name).unwrap_or_else(|| panic!("no {name}"));
    // The same function, though its file has another folder there.
    assert_eq!(row("/srv/demo/counted.py:8(fibonacci)")["calls"], serde_json::json!([19913, 19913]));
    assert_eq!(row("/srv/demo/counted.py:8(fibonacci)")["primitive_calls"], serde_json::json!([5, 5]));
    sandbox.check(
        "diff cprofile-2.7.18.prof cprofile-3.13.0.prof --focus f",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: filters do not apply to counts of calls: they tell functions, not samples
              hint: genba pstats cprofile-2.7.18.prof --stats REGEX lists some functions
        "#]],
    );
    sandbox.check(
        "diff cprofile-2.7.18.prof cprofile-3.13.0.prof --weight cpu",
        expect![[r#"
            exit code 2
            stdout
            stderr
              error: counts of calls tell no CPU time
              hint: --weight wall orders functions by their time, --weight samples by their calls
        "#]],
    );
    sandbox.check(
        "html cprofile-2.7.18.prof cprofile-3.13.0.prof -o page.html",
        expect![[r#"
        exit code 1
        stdout
        stderr
          error: genba html does not compare these counts of calls
            genba diff compares those of two files; other comparisons need the times of samples
          hint: genba diff cprofile-2.7.18.prof cprofile-3.13.0.prof
    "#]],
    );
}

/// A hostile file of some kilobytes, whose counts are one row, 180,000 times: the last one counts, as when pstats reads them.
#[test]
fn one_row_many_times_takes_no_memory() {
    let mut prof = b"{".to_vec();
    for _ in 0..180_000 {
        // (`a`, 1, `b`): (1, 1, 0.0, 0.0, {})
        prof.extend_from_slice(b")\x03z\x01ai\x01\0\0\0z\x01b)\x05i\x01\0\0\0i\x01\0\0\0");
        prof.extend_from_slice(b"g\0\0\0\0\0\0\0\0g\0\0\0\0\0\0\0\0{0");
    }
    prof.push(b'0');
    let start = proto::Start { pid: 4127, ..proto::Start::default() };
    let traced = proto::Traced { prof, call_ps: 0 };
    let block = proto::Block { start: Some(start), traced: Some(traced), ..proto::Block::default() };
    let recording = one_block(&block);
    assert!(recording.len() < 200_000, "{} bytes", recording.len());
    let sandbox = Sandbox::new("imports-small-counts");
    sandbox.file("work/small.genba", &recording);
    let output = sandbox.genba(&["report", "--weight", "samples", "small.genba"]).output().expect("the command starts");
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && words.contains("100.0 %  1  a b"), "{words}");
}
