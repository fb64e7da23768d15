//! Which threads are asked for their filters, and what counts of one that cannot be.

use std::ffi::CStr;
use std::sync::mpsc;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;

use super::{Answer, Filtered, Filters, Mode};
use crate::Door;

#[test]
fn where_it_cannot_be_told_whether_there_are_filters_the_answer_is_no() {
    let pid = std::process::id();
    assert_eq!(Mode::of("/proc/self/task"), Err(Errno::EISDIR));
    assert_eq!(Mode::of("/dev/null"), Err(Errno::ENODATA));
    assert_eq!(Mode::of_thread(pid, i32::MAX), Ok(None), "there is no such thread");
    let mut filters = Filters::unasked(pid, Door::Attached);
    assert_eq!(filters.ask_thread(i32::MAX, Ok(None)), Answer::FINE);
    let untold = Filtered::Untold(Errno::EACCES);
    assert_eq!(filters.ask_thread(i32::MAX, Err(untold)), Answer::none(untold));
}

/// A thread of this process, which waits until it may end.
struct Waiting {
    tid: i32,
    /// Its end lets the thread go.
    _lasts: mpsc::Sender<()>,
}

impl Waiting {
    fn begin(name: &'static CStr) -> Waiting {
        let (tell, told) = mpsc::channel();
        let (lasts, ends) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            // SAFETY: the name outlives the call, and the other one only tells a number.
            let tid = unsafe {
                libc::prctl(libc::PR_SET_NAME, name.as_ptr());
                libc::gettid()
            };
            tell.send(tid).unwrap();
            let _ = ends.recv();
        });
        Waiting { tid: told.recv().unwrap(), _lasts: lasts }
    }
}

#[test]
fn a_thread_whose_name_is_no_text_is_read() {
    let pid = std::process::id();
    let named = Waiting::begin(c"\xff\xfe");
    assert!(std::fs::read_to_string(format!("/proc/{pid}/task/{}/status", named.tid)).is_err(), "it is no text");
    assert_eq!(Mode::of_thread(pid, named.tid), Mode::of_thread(pid, pid.cast_signed()));
}

/// As on Linux before 5.9.
#[test]
fn a_thread_that_was_read_is_known_also_where_the_kernel_tells_no_number() {
    let tid = i32::MAX;
    let mut filters = Filters::unasked(std::process::id(), Door::Attached);
    filters.before.insert(tid, Mode::Filter(None));
    assert!(!filters.is_known(tid));
    assert_eq!(filters.count_unasked(), 1);
    filters.seen.insert(tid, Mode::Filter(None));
    assert!(filters.is_known(tid));
    assert_eq!(filters.count_unasked(), 0);
    filters.look_again().unwrap();
    assert!(filters.seen.is_empty(), "there is no such thread");
}

/// The others count as they were just before the stop.
#[test]
fn new_threads_are_asked_in_any_case_and_others_within_the_time() {
    let first = std::process::id().cast_signed();
    let old = Waiting::begin(c"old");
    let mut filters = Filters::look(std::process::id(), Door::Attached).unwrap();
    let new = [Waiting::begin(c"one"), Waiting::begin(c"other")];
    let all = [first, old.tid, new[0].tid, new[1].tid];
    let asked = |filters: &Filters| all.map(|tid| filters.seen.contains_key(&tid));
    assert_eq!(filters.check_all(&all, Duration::ZERO), Ok(false), "one of the new ones");
    assert_eq!(asked(&filters), [false, false, true, false]);
    filters.look_again().unwrap();
    assert_eq!(filters.check_all(&all, Duration::ZERO), Ok(true), "none is new any more");
    assert_eq!(asked(&filters), [true, false, true, false]);
    assert_eq!(filters.check_all(&all, Duration::from_secs(60)), Ok(true));
    assert_eq!(asked(&filters), [true; 4]);
    // As if one had another filter than before the stop: it may be in all threads.
    let before = Mode::Filter(Some(99));
    filters.before.insert(first, before);
    filters.seen.insert(first, before);
    assert_eq!(filters.check_all(&all, Duration::ZERO), Ok(false));
    filters.must_be_read = true;
    assert!(filters.are_unread());
    assert_eq!(filters.check_all(&all, Duration::from_secs(60)), Ok(true));
    assert!(!filters.are_unread());
}
