//! The files of `--gc-cycles` beside a recording, for the view GC of its page.
//! Owns: which of them belong to the recording, how many a page shows, and the words about that. Never: fails a page
//! because of such a file: the page names a file that cannot be read.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use genba_profile::figures;
use genba_profile::profile::Profile;
use rustix::process::geteuid;

use super::drawing::{Moment, numbers_in_recording};
use super::page::kept;
use crate::words::failure::Failure;

/// On a page. The reader looks at one of them at a time.
const FILES_MAX: usize = 20;
/// How many are opened: an earlier recording of the same name may have left many more.
const LOOKED_MAX: usize = 200;
/// Enough for 65,536 classes with long names.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// As many kinds as on the screen.
const KINDS_MAX: usize = 10;

/// What a page shows of them.
pub struct Beside {
    /// For `genba_page::with_cycles`.
    pub numbers: String,
    /// For the screen.
    pub words: Vec<String>,
}

/// `accounts`: of the recording; asked only where there are such files. None: the page shows nothing of them.
pub fn of(recording: &Path, accounts: impl FnOnce() -> Profile) -> Result<Option<Beside>, Failure> {
    let all = named(recording);
    if all.is_empty() {
        return Ok(None);
    }
    let accounts = accounts();
    let (mut moments, mut unread, mut earlier) = (Vec::new(), Vec::new(), all.len());
    for path in all.iter().take(LOOKED_MAX) {
        if moments.len() == FILES_MAX {
            break;
        }
        earlier -= 1;
        match check_owner(path, recording).and_then(|()| read(path, &accounts)) {
            Ok(moment) => moments.extend(moment),
            Err(failure) => unread.push(without_folder(&failure, path)),
        }
    }
    if moments.is_empty() && unread.is_empty() {
        return Ok(None);
    }
    moments.reverse();
    let notes = notes(&unread, earlier);
    let shown = shown(&moments).into_iter().chain(notes.iter().cloned());
    Ok(Some(Beside { numbers: numbers_in_recording(&moments, &notes)?, words: shown.collect() }))
}

/// Those of this recording's name, also of an earlier recording; the latest first.
pub fn paths(recording: &Path) -> Vec<PathBuf> {
    let mut paths = named(recording);
    paths.truncate(LOOKED_MAX);
    paths
}

/// Partner: crates/cli/src/verbs/heap/keeping.rs, which gives each the next number that is free.
fn named(recording: &Path) -> Vec<PathBuf> {
    let Some(stem) = recording.file_stem() else { return Vec::new() };
    let begin = format!("{}.cycles-", stem.to_string_lossy());
    let folder = recording.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for name in entries.filter_map(|entry| Some(entry.ok()?.file_name())) {
        let number = name.to_str().and_then(|name| name.strip_prefix(&begin)?.strip_suffix(".json"));
        let number = number.filter(|number| number.bytes().all(|letter| letter.is_ascii_digit()));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            found.push((number, recording.with_file_name(&name)));
        }
    }
    found.sort_unstable();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// In a folder such as /tmp anybody may put a file beside the recording, and a reader would take its advice for genba's.
fn check_owner(path: &Path, recording: &Path) -> Result<(), Failure> {
    let of_recording = std::fs::metadata(recording).map(|found| found.uid()).ok();
    let is_known = |uid: u32| uid == 0 || uid == geteuid().as_raw() || Some(uid) == of_recording;
    match std::fs::symlink_metadata(path) {
        Ok(found) if !is_known(found.uid()) => Err(Failure::no(format!("{} is another user's", path.display()))),
        _ => Ok(()),
    }
}

/// None: it is of another recording, of another process or from before the beginning of this one.
fn read(path: &Path, accounts: &Profile) -> Result<Option<Moment>, Failure> {
    let bytes = std::fs::metadata(path).map_or(0, |found| found.len());
    if bytes > FILE_BYTES_MAX {
        let (size, most) = (figures::size(bytes), figures::size(FILE_BYTES_MAX));
        return Err(Failure::no(format!("{} has {size}, and a page takes at most {most}", path.display())));
    }
    let page = kept::open(path, Some(KINDS_MAX))?;
    let is_recorded = accounts.processes.iter().any(|process| process.pid == Some(page.pid));
    let moments = page.walked_realtime_ns.zip(accounts.start_realtime_ns).filter(|_| is_recorded);
    let at_ns = moments.and_then(|(walked_ns, start_ns)| walked_ns.checked_sub(start_ns));
    Ok(at_ns.map(|at_ns| Moment { page, at_ns, file: file_name(path) }))
}

/// What the page does not show.
fn notes(unread: &[String], earlier: usize) -> Vec<String> {
    let unread = unread.first().map(|first| match unread.len() - 1 {
        0 => format!("Not shown: {first}"),
        more => format!("Not shown: {first}; and {}", figures::counted(more as u64, "more file", "more files")),
    });
    let earlier = (earlier > 0).then(|| {
        let files = figures::counted(earlier as u64, "earlier file", "earlier files");
        format!("Not shown: {files} of --gc-cycles; genba gc cycles FILE shows one")
    });
    unread.into_iter().chain(earlier).collect()
}

/// They hold names and keys of the program, and the reader may not know that they are there.
fn shown(moments: &[Moment]) -> Option<String> {
    match moments {
        [] => None,
        [only] => Some(format!("the page's view GC shows the garbage in cycles of {}", only.file)),
        [first, .., last] => {
            let (files, first, last) = (moments.len(), &first.file, &last.file);
            Some(format!("the page's view GC shows the garbage in cycles of {files} files, {first} to {last}"))
        }
    }
}

/// The page is made to be passed on.
fn without_folder(failure: &Failure, path: &Path) -> String {
    failure.in_two().0.replace(&path.display().to_string(), &file_name(path))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use genba_profile::profile::Process;
    use serde_json::{Value, json};

    use super::*;

    const START_NS: u64 = 1_000;

    fn accounts() -> Profile {
        let mut accounts = Profile { start_realtime_ns: Some(START_NS), ..Profile::default() };
        accounts.processes.push(Process { pid: Some(7), ..Process::default() });
        accounts
    }

    fn kept(pid: u32, walked_realtime_ns: Option<u64>) -> String {
        let kind = json!({
            "cycles": 1, "objects": 1, "bytes": 64, "held_objects": 0, "held_bytes": 0, "largest": 1,
            "classes": [], "references": [], "breaks": {"each": false, "drop": []},
        });
        let page = json!({
            "format": "genba-gc-cycles", "version": 1, "genba_version": "0.1.0", "pid": pid, "python": "3.13.0",
            "argv": ["app.py"], "walked_realtime_ns": walked_realtime_ns, "tracked": 20, "would_free": 12,
            "generators": 0, "objects": 12, "bytes": 768, "cycles": 12, "automatic": true, "in_gc_garbage": 0,
            "kinds": vec![kind; 12], "kinds_left_out": 0, "classes": [], "walked": "in_place", "why_in_place": null,
            "pause_ns": 1, "stopped_ns": 0, "wait_ns": 0, "walk_ns": 1, "page_faults": null,
        });
        page.to_string()
    }

    /// What the page has of a folder with these files.
    fn beside(files: &[(&str, String)]) -> Option<(Value, Vec<String>)> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, content) in files {
            std::fs::write(folder.path().join(name), content).expect("written");
        }
        let found = of(&folder.path().join("app.genba"), accounts).expect("files that are none fail nothing")?;
        Some((serde_json::from_str(&found.numbers).expect("JSON"), found.words))
    }

    fn shown_files(numbers: &Value) -> Vec<(&str, u64)> {
        let moments = numbers["moments"].as_array().expect("a list");
        moments.iter().filter_map(|moment| Some((moment["file"].as_str()?, moment["at_ns"].as_u64()?))).collect()
    }

    #[test]
    fn those_of_the_recording_are_shown_in_their_order() {
        let files = [
            ("app.cycles-10.json", kept(7, Some(START_NS + 9))),
            ("app.cycles-9.json", kept(7, Some(START_NS))),
            // Of another process, of an earlier recording, of no recording, of one of another name, and of no number.
            ("app.cycles-11.json", kept(8, Some(START_NS + 9))),
            ("app.cycles-1.json", kept(7, Some(START_NS - 1))),
            ("app.cycles-2.json", kept(7, None)),
            ("other.cycles-3.json", kept(7, Some(START_NS + 9))),
            ("app.cycles-+4.json", kept(7, Some(START_NS + 9))),
            ("app.cycles-.json", kept(7, Some(START_NS + 9))),
        ];
        let (numbers, words) = beside(&files).expect("two files");
        assert_eq!(shown_files(&numbers), [("app.cycles-9.json", 0), ("app.cycles-10.json", 9)]);
        let picture = &numbers["moments"][1]["picture"];
        assert_eq!(picture["kinds"].as_array().map(Vec::len), Some(KINDS_MAX));
        assert_eq!(picture["more"], "2 more kinds of cycles");
        assert_eq!(numbers["notes"], json!([]));
        let files_shown = "2 files, app.cycles-9.json to app.cycles-10.json";
        assert_eq!(words, [format!("the page's view GC shows the garbage in cycles of {files_shown}")]);
        assert!(beside(&files[2..]).is_none() && beside(&[]).is_none());
    }

    #[test]
    fn what_is_left_out_is_told() {
        let names: Vec<String> = (1..=25).map(|number| format!("app.cycles-{number}.json")).collect();
        let mut files = vec![("app.cycles-99.json", "no JSON".to_owned()), ("app.cycles-98.json", String::new())];
        files.extend(names.iter().map(|name| (name.as_str(), kept(7, Some(START_NS + 1)))));
        let (numbers, words) = beside(&files).expect("files");
        let shown = shown_files(&numbers);
        assert_eq!(shown.len(), FILES_MAX);
        assert_eq!((shown[0].0, shown[FILES_MAX - 1].0), ("app.cycles-6.json", "app.cycles-25.json"));
        let notes: Vec<&str> = numbers["notes"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let begin = "Not shown: app.cycles-99.json is not a file of --gc-cycles: ";
        assert!(notes[0].starts_with(begin), "{notes:?}");
        assert!(notes[0].ends_with("; and 1 more file"), "{notes:?}");
        assert_eq!(notes[1..], ["Not shown: 5 earlier files of --gc-cycles; genba gc cycles FILE shows one"]);
        assert_eq!(words[1..], notes);
        let (numbers, words) = beside(&files[..1]).expect("a note");
        assert_eq!((shown_files(&numbers).len(), words.len()), (0, 1));
    }

    #[test]
    fn what_another_user_put_there_is_not_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let (recording, file) = (folder.path().join("app.genba"), folder.path().join("app.cycles-1.json"));
        std::fs::write(&recording, "").expect("written");
        std::fs::write(&file, kept(7, Some(START_NS))).expect("written");
        if std::os::unix::fs::chown(&file, Some(4_711), None).is_err() {
            // Only root gives a file away, and not in every container.
            return;
        }
        let words = || of(&recording, accounts).expect("files that are none fail nothing").map(|found| found.words);
        assert_eq!(words(), Some(vec!["Not shown: app.cycles-1.json is another user's".to_owned()]));
        // Of a program that another user ran, with the recording.
        std::os::unix::fs::chown(&recording, Some(4_711), None).expect("given away");
        assert_eq!(
            words(),
            Some(vec!["the page's view GC shows the garbage in cycles of app.cycles-1.json".to_owned()])
        );
    }
}
