//! The heaps that agents walk while `genba run` and `genba attach` record: each becomes a file that `genba heap diff` reads, and its largest
//! classes go into the recording. Owns: the file that the agents append to, the names of what is kept, the words about it. Never: fails a recording: what goes wrong is a
//! line on stderr. Partner: crates/agent/src/heap/moments.rs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use genba_format::proto;
use genba_heap::answer::{self, Outcome};
use genba_heap::pieces::{ASKED_BYTES, Head, InPlace, Moment, Piece, read_piece};
use genba_heap::walk::Cut;
use genba_process::facts::Facts;
use genba_profile::figures;
use genba_profile::heaps::thinned;
use genba_profile::shell;

use super::asking::{self, Wants};
use super::page::{Page, Process, Row};
use crate::recording::agent_file;
use crate::recording::heap_options::HeapWishes;
use crate::recording::output::Output;
use crate::verbs::attach::left_behind::HEAPS;
use crate::verbs::attach::placed::{Held, Place};
use crate::verbs::gc::cycles::collector;
use crate::verbs::gc::cycles::page::Page as CyclesPage;
use crate::words::failure::{self, Failure, say};

const LOOKED_EVERY: Duration = Duration::from_millis(50);
/// 65,536 classes with long names, and a few of them at once.
const READ_BYTES_MAX: u64 = 256 << 20;
/// More of one recording than anybody looks at.
const FILES_MAX: u32 = 10_000;

/// Where the answers come together, before there is anybody to give one.
pub struct Room {
    place: Place,
    /// Others that come by look for what nobody has a lock on.
    _held: Held,
    file: tempfile::NamedTempFile,
}

/// What the recording holds of one heap. The page shows fewer classes.
const CLASSES_MAX: usize = 1_000;
/// And of heaps. Beyond that every second one of each process and moment is in its file only, so the earlier ones are farther apart than the last.
const HEAPS_MAX: usize = 256;

/// The thread that keeps what comes.
pub struct Keeping {
    shared: Arc<Shared>,
    thread: JoinHandle<Kept>,
}

#[derive(Default)]
struct Shared {
    /// When; 0: never.
    asked_realtime_ns: AtomicU64,
    ends: AtomicBool,
}

/// How the user asks.
#[derive(Clone)]
pub struct Asking(Arc<Shared>);

/// What was kept.
#[derive(Default)]
struct Kept {
    files: Vec<PathBuf>,
    /// Garbage in cycles, before full collections.
    cycles: Vec<PathBuf>,
    /// For the recording.
    heaps: Vec<proto::Heap>,
    /// Walks that began, and did not come to their end.
    unfinished: usize,
    /// Why is said.
    has_failures: bool,
}

impl Room {
    /// `facts`: of the process that must be able to open it.
    pub fn new(facts: &Facts) -> Result<Room, Failure> {
        let cannot = |error: std::io::Error| {
            Failure::no(format!("cannot make a file for heaps: {}", failure::of_system(&error)))
                .hint("TMPDIR=/path/to/folder genba …")
        };
        let file = tempfile::Builder::new().prefix(HEAPS).tempfile().map_err(cannot)?;
        let place = Place::for_process(facts, &agent_file::unpacked()?, file.path())?;
        let held = place.held(file.path())?;
        place.write_first(&0_u64.to_le_bytes()).map_err(cannot)?;
        Ok(Room { place, _held: held, file })
    }

    /// With the file for the answers, by its path as the processes see it: in another root, or for another user, that is none of genba's own.
    pub fn wishes(&self, wishes: HeapWishes) -> HeapWishes {
        HeapWishes { out: Some(self.place.recording.clone()), file: self.place.identity(), ..wishes }
    }

    /// genba ends before the program does: removes the file.
    pub fn leave(&self) -> impl FnOnce() + Send + 'static {
        let path = self.file.path().to_owned();
        move || drop(std::fs::remove_file(path))
    }

    pub fn keep(self, output: &Output) -> Keeping {
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let mut keeper = Keeper::new(output);
        let thread = std::thread::spawn(move || {
            // All of it: its file and its lock are given up at the end only.
            let room = self;
            let mut asked = 0;
            loop {
                // The flag first: what was written before it was set is read.
                let ends = seen.ends.load(Ordering::SeqCst);
                let now = seen.asked_realtime_ns.load(Ordering::SeqCst);
                if now != asked && room.place.write_first(&now.to_le_bytes()).is_ok() {
                    asked = now;
                }
                keeper.look(&room.place);
                if ends {
                    return keeper.ended();
                }
                std::thread::sleep(LOOKED_EVERY);
            }
        });
        Keeping { shared, thread }
    }
}

impl Keeping {
    pub fn asking(&self) -> Asking {
        Asking(Arc::clone(&self.shared))
    }

    /// The program has ended, or the recording: reads what is there, and says what was kept. What it gives is for the recording.
    /// `missent`: the signal that asks for a heap, where it ended the program instead.
    pub fn finish(self, is_quiet: bool, missent: Option<i32>) -> Vec<proto::Heap> {
        self.shared.ends.store(true, Ordering::SeqCst);
        let Ok(kept) = self.thread.join() else { return Vec::new() };
        if kept.unfinished > 0 {
            let walks = figures::counted(kept.unfinished as u64, "heap was", "heaps were");
            say(&format!("note: {walks} not kept: the process ended before the walk did"));
        }
        let shown = |path: &PathBuf| path.display().to_string();
        match kept.cycles.as_slice() {
            _ if is_quiet => {}
            [] => {}
            [only] => say(&format!(
                "kept the garbage in cycles before a full collection in {} · next: genba gc cycles {}",
                shown(only),
                shell::path(only)
            )),
            [first, .., last] => say(&format!(
                "kept the garbage in cycles before {} full collections, {} to {} · next: genba gc cycles {}",
                kept.cycles.len(),
                shown(first),
                shown(last),
                shell::path(last)
            )),
        }
        if let Some(signal) = missent.filter(|_| !is_quiet) {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or_default();
            let pid = std::process::id();
            say(&format!(
                "note: {name} ended the program: --heap-on's signal goes to genba itself (process {pid}), not to the program"
            ));
        }
        match kept.files.as_slice() {
            _ if is_quiet => {}
            [] if missent.is_some() => {}
            [] if kept.has_failures || kept.unfinished > 0 || !kept.cycles.is_empty() => {}
            [] => say("note: nothing of the heap was kept: none of its moments came"),
            [only] => {
                say(&format!("kept the heap in {} · next: genba heap diff {} LATER", shown(only), shell::path(only)))
            }
            [first, .., last] => say(&format!(
                "kept {} heaps, {} to {} · next: genba heap diff {} {}",
                kept.files.len(),
                shown(first),
                shown(last),
                shell::path(first),
                shell::path(last)
            )),
        }
        if !is_quiet && kept.heaps.len() < kept.files.len() {
            say(&format!("note: the recording itself has {} of them", kept.heaps.len()));
        }
        kept.heaps
    }
}

impl Asking {
    pub fn ask(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.0.asked_realtime_ns.store(u64::try_from(now.as_nanos()).unwrap_or(0), Ordering::SeqCst);
    }
}

struct Keeper {
    /// `app` of `app.genba`, with its folder.
    stem: PathBuf,
    /// Of the last file of heaps, and of the last one of cycles.
    number: u32,
    cycles_number: u32,
    /// So many bytes were read.
    done: u64,
    /// Answers that are not whole, by process and number.
    open: BTreeMap<(u64, u64), Vec<u8>>,
    /// Notes. What goes wrong before each full collection is told once.
    said: BTreeSet<String>,
    is_damaged: bool,
    kept: Kept,
}

impl Keeper {
    fn new(output: &Output) -> Keeper {
        Keeper {
            stem: Path::new(&output.shown).with_extension(""),
            number: 0,
            cycles_number: 0,
            done: ASKED_BYTES as u64,
            open: BTreeMap::new(),
            said: BTreeSet::new(),
            is_damaged: false,
            kept: Kept::default(),
        }
    }

    fn look(&mut self, place: &Place) {
        if self.is_damaged {
            return;
        }
        let Ok(bytes) = place.content_from(self.done, READ_BYTES_MAX) else { return };
        let mut rest = bytes.as_slice();
        loop {
            match read_piece(rest) {
                Ok(Some(piece)) => {
                    rest = piece.rest;
                    self.take(&piece);
                }
                Ok(None) => break,
                Err(()) => {
                    self.is_damaged = true;
                    say(
                        "note: no more heaps are kept: what the agents wrote is damaged; is the disk of the temporary folder full?",
                    );
                    return;
                }
            }
        }
        self.done += (bytes.len() - rest.len()) as u64;
        place.forget_before(self.done);
    }

    fn take(&mut self, piece: &Piece<'_>) {
        let key = (piece.head.pid, piece.head.number);
        let whole = self.open.entry(key).or_default();
        whole.extend_from_slice(piece.answer);
        if !answer::is_whole(whole) {
            return;
        }
        let whole = self.open.remove(&key).unwrap_or_default();
        if let Err(failure) = self.keep(&piece.head, piece.words, &whole) {
            self.kept.has_failures = true;
            let what = if piece.head.moment == Moment::Cycles as u64 { "garbage in cycles" } else { "a heap" };
            let (pid, moment) = (piece.head.pid, words_of(piece.head.moment));
            let note = format!("note: {what} of process {pid} was not kept ({moment}): {failure}");
            if !self.said.contains(&note) {
                say(&note);
                self.said.insert(note);
            }
        }
    }

    fn keep(&mut self, head: &Head, words: &[u8], whole: &[u8]) -> Result<(), Failure> {
        let answer = answer::read(whole).ok_or_else(|| Failure::ours("the answer of genba's library is damaged"))?;
        let pid = u32::try_from(head.pid).unwrap_or(0);
        if answer.done.outcome == Outcome::Late as u32 {
            return Err(Failure::no("its main thread did not run Python code, or a long C call held the GIL").hint(
                format!("genba dump {pid} shows what its threads do; without --heap-collect any thread will do"),
            ));
        }
        if answer.done.outcome == Outcome::Busy as u32 {
            return Err(Failure::no("another walk of its heap was under way until the end")
                .hint("a longer interval, or genba heap PID after the recording"));
        }
        if head.moment == Moment::Cycles as u64 {
            collector::check_version(&version(head.python), pid)?;
            if answer.done.outcome == Outcome::Cut as u32 && answer.done.detail == Cut::Late as u32 {
                return Err(Failure::no("it was given up, since the program waited for it too long")
                    .hint(format!("genba gc cycles {pid} --fork looks at a copy, and the program goes on")));
            }
        }
        asking::check(pid, &answer, None)?;
        let process = Process { pid, python: version(head.python), argv: command_line(words) };
        let why = [
            (InPlace::Device, "it uses a device whose driver does not bear copies of the process"),
            (InPlace::Overcommit, "vm.overcommit_memory is 2"),
            (InPlace::Small, "fewer than half a million objects find room in its memory, which is less than 24 MB"),
            (InPlace::Container, "its container has less than a tenth of its memory left"),
            (
                InPlace::KilledAsOne,
                "its container has less left than it takes, and is killed as a whole where that is too little (memory.oom.group)",
            ),
            (InPlace::Moment, "the program would not wait for a copy to be made and go on"),
        ];
        let why = why.iter().find(|(why, _)| *why as u64 == head.in_place).map(|(_, words)| (*words).to_owned());
        if head.moment == Moment::Cycles as u64 {
            return self.keep_cycles(head, process, why, answer);
        }
        let wants = Wants { collection: answer.done.collect_ns > 0, ..Wants::default() };
        let mut page = Page::of(process, why, asking::Asked { answer, stopped_ns: 0, wants });
        page.moment = Some(words_of(head.moment).to_owned());
        page.walked_realtime_ns = Some(head.realtime_ns);
        let path = written(&self.stem, "heap", &mut self.number, &page.json()?)?;
        if head.moment == Moment::Signal as u64 {
            let objects = figures::counted(page.objects, "object", "objects");
            say(&format!(
                "kept the heap of process {pid} in {}: {objects}, {}",
                path.display(),
                figures::size(page.bytes)
            ));
        }
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.kept.heaps.push(of_recording(&page, file));
        if self.kept.heaps.len() > HEAPS_MAX {
            let heaps = std::mem::take(&mut self.kept.heaps);
            // So that there is room for as many again.
            self.kept.heaps = thinned(heaps, HEAPS_MAX / 2, |heap| (heap.pid, heap.moment.clone()));
        }
        self.kept.files.push(path);
        Ok(())
    }

    fn keep_cycles(
        &mut self,
        head: &Head,
        process: Process,
        why: Option<String>,
        answer: answer::Answer,
    ) -> Result<(), Failure> {
        let asked = asking::Asked { answer, stopped_ns: 0, wants: Wants { cycles: true, ..Wants::default() } };
        let page = CyclesPage::of(asked, None, |asked| {
            let page = Page::of(process, why, asked);
            Page { walked_realtime_ns: Some(head.realtime_ns), ..page }
        })?;
        let path = written(&self.stem, "cycles", &mut self.cycles_number, &page.json()?)?;
        self.kept.cycles.push(path);
        Ok(())
    }

    fn ended(mut self) -> Kept {
        self.kept.unfinished = self.open.len();
        self.kept
    }
}

/// Into a file of the next name that is free; `number` becomes its.
fn written(stem: &Path, kind: &str, number: &mut u32, json: &str) -> Result<PathBuf, Failure> {
    while *number < FILES_MAX {
        *number += 1;
        let path = PathBuf::from(format!("{}.{kind}-{number}.json", stem.display()));
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let is_made = made.is_ok();
        match made.and_then(|mut file| file.write_all(json.as_bytes())) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                // A part of it is of no use, and the next one may have its name.
                if is_made {
                    drop(std::fs::remove_file(&path));
                }
                *number -= 1;
                return Err(Failure::no(format!("cannot write {}: {}", path.display(), failure::of_system(&error))));
            }
        }
    }
    Err(Failure::no(format!("there are {FILES_MAX} files {}.{kind}-….json already", stem.display()))
        .hint("name another recording with -o"))
}

/// Its largest classes. `page` has them in that order.
fn of_recording(page: &Page, file: String) -> proto::Heap {
    let rows = &page.classes[..page.classes.len().min(CLASSES_MAX)];
    proto::Heap {
        pid: page.pid,
        realtime_ns: page.walked_realtime_ns.unwrap_or(0),
        moment: page.moment.clone().unwrap_or_default(),
        collected: page.collection.is_some(),
        objects: page.objects,
        bytes: page.bytes,
        pause_ns: page.pause_ns,
        file,
        classes: rows.iter().map(Row::full_name).collect(),
        class_objects: rows.iter().map(|row| row.count).collect(),
        class_bytes: rows.iter().map(|row| row.bytes).collect(),
    }
}

/// As it is in the file.
fn words_of(moment: u64) -> &'static str {
    let words = [
        (Moment::Signal, "signal"),
        (Moment::Interval, "interval"),
        (Moment::Resident, "rss"),
        (Moment::BeforeCollection, "before_gc"),
        (Moment::AfterCollection, "after_gc"),
        (Moment::Exit, "exit"),
        (Moment::Cycles, "cycles"),
    ];
    words.iter().find(|(known, _)| *known as u64 == moment).map_or("unknown", |(_, words)| words)
}

/// `Py_Version` as text. Source: CPython Include/patchlevel.h, `PY_VERSION_HEX`.
fn version(number: u64) -> String {
    let part = |shift: u32| number >> shift & 0xff;
    let level = match number >> 4 & 0xf {
        0xa => "a",
        0xb => "b",
        0xc => "rc",
        _ => return format!("{}.{}.{}", part(24), part(16), part(8)),
    };
    format!("{}.{}.{}{level}{}", part(24), part(16), part(8), number & 0xf)
}

fn command_line(words: &[u8]) -> Vec<String> {
    let words = words.strip_suffix(&[0]).unwrap_or(words);
    words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{command_line, version};

    #[test]
    fn versions_are_told_as_python_does() {
        assert_eq!(version(0x030d_00f0), "3.13.0");
        assert_eq!(version(0x030f_00a2), "3.15.0a2");
        assert_eq!(version(0x030e_05c1), "3.14.5rc1");
    }

    #[test]
    fn a_command_line_has_its_words() {
        assert_eq!(command_line(b"python\0app.py\0"), ["python", "app.py"]);
    }
}
