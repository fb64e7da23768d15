//! Names of threads: which one is shown, and when the kernel's stands beside it.

use crate::notation;
use genba_profile::build::{Additions, profile};

/// The kernel's name of each thread, and what `threading` called it one after the other.
fn names(threads: &[(u32, &str, &[&str])]) -> Vec<String> {
    let mut text = "process 7 3.13.0 executable=/usr/bin/python3.13\n".to_string();
    for (tid, kernels, pythons) in threads {
        text += &format!("thread {tid} {kernels}\nrun@pool.py:5 x1\n");
        for name in *pythons {
            text += &format!("named {tid} {name}\n");
        }
    }
    let profile = profile(&notation::recording(&text), &Additions::default());
    profile.threads.iter().map(|thread| thread.names_in_words()).collect()
}

#[test]
fn the_last_name_is_shown_and_those_before() {
    assert_eq!(names(&[(7, "python", &[])]), ["python"]);
    assert_eq!(names(&[(7, "python", &["MainThread"])]), ["MainThread"]);
    assert_eq!(names(&[(7, "python", &["a", "a", "b"])]), ["b, before a"]);
    assert_eq!(names(&[(7, "python", &["a", "b", "a"])]), ["a, before b"]);
    assert_eq!(names(&[(7, "python", &["a", "b", "c", "d", "e"])]), ["e, before b, c, d and 1 more"]);
}

#[test]
fn the_kernels_name_stands_beside_where_it_tells_more() {
    let main = (7, "python", &["MainThread"][..]);
    let shown = |kernels: &'static str, pythons: &'static str| names(&[main, (8, kernels, &[pythons])]).remove(1);
    assert_eq!(shown("python", "encoder"), "encoder");
    assert_eq!(shown("worker/3", "encoder"), "encoder (worker/3)");
    assert_eq!(shown("upload-to-the-a", "upload-to-the-archive"), "upload-to-the-archive");
    // The kernel cuts at 15 bytes, or before a letter that does not fit.
    assert_eq!(shown("upload", "upload-to-the-archive"), "upload-to-the-archive (upload)");
    assert_eq!(
        names(&[main, (8, "Thread-1·(work)", &["Thread-1·(work)", "late"])]).remove(1),
        "late, before Thread-1·(work)"
    );
    assert_eq!(shown("рабочий", "рабочий-с-именем"), "рабочий-с-именем");
    assert_eq!(names(&[main, (8, "worker/3", &[])]), ["MainThread", "worker/3"]);
}
