//! The exports, from a recording written as text.

use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, Import, profile};
use genba_profile::export::{collapsed, json, speedscope};
use genba_profile::reading::Reading;
use genba_profile::weight::Weight;

const RECORDING: &str = "
    process 7 3.13.0 executable=/usr/bin/python3.13 argv=python3+app.py cwd=/app
    source /app/app.py
    |x = 表[i:]
    |y = f(x); z()
    rss 16ms 3000
    note the program installed its own SIGURG handler
    refused moved 1
    <module>@app.py:1[4-11] > ?bytes.__getitem__[python3.13] > memmove[libc.so.6] x3
    <module>@app.py:2[4-8] > f.<locals>.<lambda>@gen;erated.py:7 > +0x1234[libz.so.1] x2
    <module>@app.py:2[10-13] > f.<locals>.<lambda>@gen;erated.py:7 > +0x1234[libz.so.1] x1
    thread 8 work;er
    run@app.py:9 > poll[libc.so.6] x4 poll ticks=2
    (none) x1
    !truncated > down@app.py:3 x1 gc
";

fn check(options: collapsed::Options, expected: Expect) {
    let reading = Reading::of(profile(&notation::recording(RECORDING), &Additions::default()));
    expected.assert_eq(&collapsed::collapsed(&reading, options).to_string());
}

#[test]
fn collapsed_counts_running_samples() {
    check(
        collapsed::Options { weight: Weight::Samples, threads: false },
        expect![[r#"
        (no stack) 1
        (truncated);down (/app/app.py:3);in gc 1
        <module> (/app/app.py:1);bytes.__getitem__ (inferred) [python3.13];memmove [libc.so.6] 3
        <module> (/app/app.py:2);f.<locals>.<lambda> (/app/gen\;erated.py:7);libz.so.1+0x1234 [libz.so.1] 3
    "#]],
    );
}

#[test]
fn collapsed_by_wall_time_with_threads() {
    check(
        collapsed::Options { weight: Weight::Wall, threads: true },
        expect![[r#"
        process 7 (python3.13);thread 7 (main);<module> (/app/app.py:1);bytes.__getitem__ (inferred) [python3.13];memmove [libc.so.6] 4800000
        process 7 (python3.13);thread 7 (main);<module> (/app/app.py:2);f.<locals>.<lambda> (/app/gen\;erated.py:7);libz.so.1+0x1234 [libz.so.1] 4800000
        process 7 (python3.13);thread 8 (work\;er);(no stack) 1600000
        process 7 (python3.13);thread 8 (work\;er);(truncated);down (/app/app.py:3);in gc 1600000
        process 7 (python3.13);thread 8 (work\;er);run (/app/app.py:9);poll [libc.so.6];in poll(2) 12800000
    "#]],
    );
}

#[test]
fn the_whole_profile_as_json() {
    let reading = Reading::of(profile(&notation::recording(RECORDING), &Additions::default()));
    let warnings = ["a warning".to_string()];
    let context = json::Context { genba_version: "0.0.0", recording: Some("app.genba"), warnings: &warnings };
    let text = json::json(&reading, context).unwrap();
    let mut written = Vec::new();
    json::write(&reading, context, &mut written).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), text);
    let page: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut shown = String::new();
    for (key, value) in page.as_object().unwrap() {
        match value.as_array() {
            None => shown += &format!("{key}: {value}\n"),
            Some(rows) => {
                shown += &format!("{key}:\n");
                for row in rows {
                    shown += &format!("  {row}\n");
                }
            }
        }
    }
    expect![[r#"
        accounting: {"cpu_before_ns":0,"cpu_genba_ns":0,"cpu_lost_ns":0,"cpu_not_recorded_ns":0,"cpu_not_sampled_ns":0,"cpu_ns":12800000,"cpu_sampled_ns":12800000,"dropped":{},"refused":{"moved":1},"sampled":16,"ticks":17,"wall_not_sampled_ns":0}
        filters: null
        format: "genba-profile"
        frames:
          {"byte_column":null,"byte_end_column":null,"column":4,"end_column":9,"end_line":1,"expression":"表[i:]","file":"/app/app.py","first_line":1,"full_name":null,"kind":"python","line":1,"module":null,"name":"<module>","origin":null,"owner":"user"}
          {"byte_column":null,"byte_end_column":null,"column":null,"end_column":null,"end_line":null,"expression":null,"file":null,"first_line":null,"full_name":null,"kind":"inferred","line":null,"module":"/usr/bin/python3.13","name":"bytes.__getitem__","origin":"symbol table","owner":"interpreter"}
          {"byte_column":null,"byte_end_column":null,"column":null,"end_column":null,"end_line":null,"expression":null,"file":null,"first_line":null,"full_name":null,"kind":"c","line":null,"module":"/usr/lib/libc.so.6","name":"memmove","origin":"symbol table","owner":"libc"}
          {"byte_column":null,"byte_end_column":null,"column":4,"end_column":8,"end_line":2,"expression":"f(x)","file":"/app/app.py","first_line":1,"full_name":null,"kind":"python","line":2,"module":null,"name":"<module>","origin":null,"owner":"user"}
          {"byte_column":null,"byte_end_column":null,"column":null,"end_column":null,"end_line":7,"expression":null,"file":"/app/gen;erated.py","first_line":1,"full_name":null,"kind":"python","line":7,"module":null,"name":"f.<locals>.<lambda>","origin":null,"owner":"user"}
          {"byte_column":null,"byte_end_column":null,"column":null,"end_column":null,"end_line":null,"expression":null,"file":null,"first_line":null,"full_name":null,"kind":"c","line":null,"module":"/usr/lib/libz.so.1","name":"libz.so.1+0x1234","origin":null,"owner":"native"}
          {"byte_column":null,"byte_end_column":null,"column":10,"end_column":13,"end_line":2,"expression":"z()","file":"/app/app.py","first_line":1,"full_name":null,"kind":"python","line":2,"module":null,"name":"<module>","origin":null,"owner":"user"}
          {"byte_column":null,"byte_end_column":null,"column":null,"end_column":null,"end_line":9,"expression":null,"file":"/app/app.py","first_line":1,"full_name":null,"kind":"python","line":9,"module":null,"name":"run","origin":null,"owner":"user"}
          {"byte_column":null,"byte_end_column":null,"column":null,"end_column":null,"end_line":null,"expression":null,"file":null,"first_line":null,"full_name":null,"kind":"c","line":null,"module":"/usr/lib/libc.so.6","name":"poll","origin":"symbol table","owner":"libc"}
          {"byte_column":null,"byte_end_column":null,"column":null,"end_column":null,"end_line":null,"expression":null,"file":null,"first_line":null,"full_name":null,"kind":"mark","line":null,"module":null,"name":"truncated","origin":null,"owner":null}
          {"byte_column":null,"byte_end_column":null,"column":null,"end_column":null,"end_line":3,"expression":null,"file":"/app/app.py","first_line":1,"full_name":null,"kind":"python","line":3,"module":null,"name":"down","origin":null,"owner":"user"}
        marks:
          {"at_ns":0,"kind":"note","process":0,"text":"the program installed its own SIGURG handler","value":null}
        meta: {"argv":null,"budget_per_mille":null,"cpu_ns":12800000,"default_weight":"cpu","default_weight_why":null,"exit_code":null,"exit_signal":null,"genba_version":"0.0.0","interval_mostly_ns":1600000,"interval_ns":1600000,"native":true,"recording":"app.genba","rss_max_bytes":3000,"rss_mean_bytes":3000,"start_realtime_ns":1767225600000000000,"tags":[],"title":"python3 app.py","wall_ns":25600000}
        moments: null
        nodes: {"frame":[0,1,2,3,4,5,6,4,5,7,8,9,10],"parent":[null,0,1,null,3,4,null,6,7,null,9,null,11]}
        not_followed:
        not_followed_words: null
        processes:
          {"accounting":{"dropped":{},"refused":{"moved":1},"sampled":16,"ticks":17},"argv":["python3","app.py"],"blocks":2,"blocks_lost":0,"budget_per_mille":null,"counts_calls":false,"cpu_before_ns":0,"cpu_genba_ns":0,"cpu_lost_ns":0,"cpu_not_recorded_ns":0,"cpu_not_sampled_ns":0,"cpu_ns":12800000,"cpu_sampled_ns":12800000,"cwd":"/app","ended":"exit","executable":"/usr/bin/python3.13","handler_ns":0,"handler_runs":0,"imported":null,"interval_ns":1600000,"native":true,"parent":null,"pid":7,"python":"3.13.0","recording":null,"refused":null,"rss_max_bytes":3000,"rss_mean_bytes":3000,"start_ns":0,"threads":2,"wall_not_sampled_ns":0,"wall_ns":25600000}
        rss:
          {"at_ns":16000000,"bytes":3000,"process":0}
        samples: {"cpu_ns":[4800000,3200000,1600000,0,1600000,1600000],"cpu_us2":[7680000,5120000,2560000,0,2560000,2560000],"node":[2,5,8,10,null,12],"samples":[3,2,1,4,1,1],"state":[0,0,0,2,0,1],"thread":[0,0,0,1,1,1],"ticks":[3,2,1,8,1,1],"wall_ns":[4800000,3200000,1600000,12800000,1600000,1600000]}
        sources:
          {"chunks":[{"first_line":1,"text":"x = 表[i:]\ny = f(x); z()\n"}],"lack":null,"lines":2,"path":"/app/app.py","sha256":null}
        states:
          "running"
          "in gc"
          "in poll(2)"
        threads:
          {"cpu_not_sampled_ns":null,"cpu_ns":null,"ended":false,"former_names":[],"kernel_name":null,"name":"main","process":0,"start_ns":0,"tid":7}
          {"cpu_not_sampled_ns":null,"cpu_ns":null,"ended":false,"former_names":[],"kernel_name":null,"name":"work;er","process":0,"start_ns":0,"tid":8}
        version: 1
        warnings:
          "a warning"
    "#]].assert_eq(&shown);
}

#[test]
fn speedscope_gets_a_profile_a_thread() {
    let reading = Reading::of(profile(&notation::recording(RECORDING), &Additions::default()));
    let check = |weight: Weight, expected: Expect| {
        let context = speedscope::Context { genba_version: "1.2.3", name: "app.genba", weight };
        let mut written = Vec::new();
        speedscope::write(&reading, context, &mut written).expect("memory takes all");
        let text = String::from_utf8(written).expect("JSON");
        expected.assert_eq(&text.replace("},{", "},\n{").replace("],\"", "],\n\""));
    };
    check(
        Weight::Wall,
        expect![[r#"
        {"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"genba@1.2.3","name":"app.genba","activeProfileIndex":0,"shared":{"frames":[{"name":"memmove","file":"/usr/lib/libc.so.6"},
        {"name":"bytes.__getitem__ (inferred)","file":"/usr/bin/python3.13"},
        {"name":"<module>","file":"/app/app.py","line":1},
        {"name":"libz.so.1+0x1234","file":"/usr/lib/libz.so.1"},
        {"name":"f.<locals>.<lambda>","file":"/app/gen;erated.py","line":1},
        {"name":"in poll(2)"},
        {"name":"poll","file":"/usr/lib/libc.so.6"},
        {"name":"run","file":"/app/app.py","line":1},
        {"name":"(no stack)"},
        {"name":"in gc"},
        {"name":"down","file":"/app/app.py","line":1},
        {"name":"(truncated)"}]},"profiles":[{"type":"sampled","name":"thread 8 work;er of process 7","unit":"nanoseconds","startValue":0,"endValue":16000000,"samples":[[7,6,5],[8],[11,10,9]],
        "weights":[12800000,1600000,1600000]},
        {"type":"sampled","name":"thread 7 main of process 7","unit":"nanoseconds","startValue":0,"endValue":9600000,"samples":[[2,1,0],[2,4,3],[2,4,3]],
        "weights":[4800000,1600000,3200000]}]}
    "#]],
    );
    check(
        Weight::Samples,
        expect![[r#"
        {"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"genba@1.2.3","name":"app.genba","activeProfileIndex":0,"shared":{"frames":[{"name":"memmove","file":"/usr/lib/libc.so.6"},
        {"name":"bytes.__getitem__ (inferred)","file":"/usr/bin/python3.13"},
        {"name":"<module>","file":"/app/app.py","line":1},
        {"name":"libz.so.1+0x1234","file":"/usr/lib/libz.so.1"},
        {"name":"f.<locals>.<lambda>","file":"/app/gen;erated.py","line":1},
        {"name":"(no stack)"},
        {"name":"in gc"},
        {"name":"down","file":"/app/app.py","line":1},
        {"name":"(truncated)"}]},"profiles":[{"type":"sampled","name":"thread 7 main of process 7","unit":"none","startValue":0,"endValue":6,"samples":[[2,1,0],[2,4,3],[2,4,3]],
        "weights":[3,1,2]},
        {"type":"sampled","name":"thread 8 work;er of process 7","unit":"none","startValue":0,"endValue":2,"samples":[[5],[8,7,6]],
        "weights":[1,1]}]}
    "#]],
    );
}

/// No block of a file of another profiler was lost: that profiler wrote no number.
#[test]
fn speedscope_names_an_imported_process_as_the_report_does() {
    let recording = notation::recording("process 0 3.13.0\n f@a.py:1 x3");
    let import = Some(Import { words: "imported".to_owned(), ..Import::default() });
    let reading = Reading::of(profile(&recording, &Additions { import, ..Additions::default() }));
    let context = speedscope::Context { genba_version: "1.2.3", name: "app.prof", weight: Weight::Cpu };
    let mut written = Vec::new();
    speedscope::write(&reading, context, &mut written).expect("memory takes all");
    let text = String::from_utf8(written).expect("JSON");
    assert!(text.contains(" of process without a number\""), "{text}");
}
