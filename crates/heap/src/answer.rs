//! The answer of a walk as bytes: the agent writes it, the command reads it.
//! Owns: its layout. Never: believes a length (the reader): the file comes from a process that may be anybody's.

pub use crate::bytes::Sink;
use crate::bytes::{put_text, put_word};
use crate::classes::{NAME_BYTES, OTHERS};
use crate::ground::Ground;
use crate::layout::TYPE_WEAK_REFERENCES;
use crate::raw::word;
use crate::titles::{BEARS_WEAK, HAS_MORE, TEXT_BYTES, has_more, names_of};
use crate::walk::{Walk, Walked};

pub const MAGIC: [u8; 8] = *b"GENBAHP5";
/// The last eight bytes of an answer that is whole.
pub const END: [u8; 8] = *b"GENBAEND";

const TAG_CLASS: u8 = 1;
const TAG_WALKED: u8 = 2;
const TAG_DONE: u8 = 3;

/// How the agent went about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    pub outcome: u32,
    /// Errno of what failed, or the signal that ended the copy.
    pub detail: u32,
    pub is_forked: bool,
    /// So long the GIL was held.
    pub pause_ns: u64,
    /// So long it was waited for.
    pub wait_ns: u64,
    /// So long the copy lived, or the walk took.
    pub walk_ns: u64,
    /// Pages that the program wrote or touched first while the copy lived.
    pub page_faults: u64,
    /// Interpreters with a GIL of their own.
    pub interpreters_left: u64,
    pub has_interned: bool,
    /// A full collection before the walk, and what it found.
    pub collect_ns: u64,
    pub collected: u64,
    /// What the process had in memory when the walk began, and how much of that was of files. 0: not known.
    pub resident_bytes: u64,
    pub resident_files_bytes: u64,
    /// The class whose code ran last, where the copy died.
    pub class: [u8; NAME_BYTES],
}

impl Default for Done {
    fn default() -> Done {
        Done {
            outcome: 0,
            detail: 0,
            is_forked: false,
            pause_ns: 0,
            wait_ns: 0,
            walk_ns: 0,
            page_faults: 0,
            interpreters_left: 0,
            has_interned: false,
            collect_ns: 0,
            collected: 0,
            resident_bytes: 0,
            resident_files_bytes: 0,
            class: [0; NAME_BYTES],
        }
    }
}

/// `Done::outcome`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Outcome {
    Done = 0,
    /// `Cut`, by its number.
    Cut = 1,
    /// The copy could not be made: `detail` is errno.
    NotForked = 2,
    /// The copy was ended by a signal.
    Died = 3,
    /// The copy took too long, and was ended.
    Killed = 4,
    /// The layout does not fit this interpreter.
    Misfit = 5,
    /// No memory for the walk's tables.
    NoMemory = 6,
    /// The interpreter is gone.
    NoInterpreter = 7,
    /// The GIL came too late.
    Late = 8,
    /// The collector was at work each time.
    Collecting = 9,
    /// It did not begin: another walk of this heap was under way until the end.
    Busy = 10,
    /// No thread could be made for it, or there was no memory for one.
    NoThread = 11,
    /// It did not begin: genba does not know this interpreter's structures.
    Unknown = 12,
    /// It did not begin: its tables may take more than the container has left.
    Container = 13,
}

/// Writes the rows of a walk.
///
/// # Safety
/// As `Walk::run`.
pub unsafe fn write_classes<G: Ground>(walk: &Walk<'_, G>, walked: &Walked, sink: &mut impl Sink) -> bool {
    let mut is_put = sink.put(&MAGIC);
    for place in OTHERS..walk.classes().len() {
        let row = walk.classes().row(place);
        if row.count == 0 {
            continue;
        }
        let (mut module, mut name) = ([0; TEXT_BYTES], [0; TEXT_BYTES]);
        // SAFETY: a type that objects have is alive.
        let (texts, mut flags) =
            unsafe { names_of(walk, row.class, walk.classes().facts(place).flags, &mut module, &mut name) };
        // SAFETY: as above.
        if unsafe { has_more(walk, row.class, walk.classes().facts(place).kind) } {
            flags |= HAS_MORE;
        }
        // SAFETY: as above.
        if row.class != 0 && unsafe { word(row.class + TYPE_WEAK_REFERENCES) } != 0 {
            flags |= BEARS_WEAK;
        }
        let (module_len, name_len) = texts;
        is_put &= sink.put(&[TAG_CLASS, flags])
            && put_word(sink, place as u64)
            && put_word(sink, row.count)
            && put_word(sink, row.bytes)
            && put_text(sink, module.get(..module_len).unwrap_or_default())
            && put_text(sink, name.get(..name_len).unwrap_or_default());
    }
    is_put
        && sink.put(&[TAG_WALKED])
        && put_word(sink, walked.objects)
        && put_word(sink, walked.bytes)
        && put_word(sink, walked.tracked)
        && put_word(sink, walked.garbage_objects)
        && put_word(sink, walked.garbage_bytes)
}

/// Writes how it went: the last thing of an answer.
pub fn write_done(done: &Done, sink: &mut impl Sink) -> bool {
    let flags = u64::from(done.is_forked) | u64::from(done.has_interned) << 1;
    let words = [
        u64::from(done.outcome),
        u64::from(done.detail),
        flags,
        done.pause_ns,
        done.wait_ns,
        done.walk_ns,
        done.page_faults,
        done.interpreters_left,
        done.collect_ns,
        done.collected,
        done.resident_bytes,
        done.resident_files_bytes,
    ];
    sink.put(&[TAG_DONE])
        && words.into_iter().all(|word| put_word(sink, word))
        && sink.put(&done.class)
        && sink.put(&END)
}

#[cfg(any(test, feature = "std"))]
pub use reading::{Answer, Class, is_whole, read};

#[cfg(any(test, feature = "std"))]
mod reading {
    use super::{Done, END, MAGIC, TAG_CLASS, TAG_DONE, TAG_WALKED};
    use crate::bytes::Rest;
    use crate::chains::{Chain, Held, TAG_CHAIN, TAG_HELD};
    use crate::found::{Cycles, Found, TAG_FOUND, TAG_GROUP};
    use crate::titles::{BEARS_WEAK, HAS_MODULE, HAS_MORE, IS_CUT};
    use std::string::String;
    use std::vec::Vec;

    /// One class.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Class {
        /// Its number, in steps of ways.
        pub row: u64,
        /// `None`: its `__module__` is no text, or it has none.
        pub module: Option<String>,
        /// Empty: all classes beyond the table.
        pub name: String,
        /// The names are longer.
        pub is_cut: bool,
        /// Its objects own memory of which the walk does not know.
        pub has_more: bool,
        /// `weakref.ref` takes its objects.
        pub bears_weak: bool,
        pub count: u64,
        pub bytes: u64,
    }

    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Answer {
        pub classes: Vec<Class>,
        pub objects: u64,
        pub bytes: u64,
        pub tracked: u64,
        pub garbage_objects: u64,
        pub garbage_bytes: u64,
        /// Where ways to objects were asked for.
        pub held: Option<Held>,
        pub chains: Vec<Chain>,
        /// Where cycles were asked for.
        pub found: Option<Found>,
        pub cycles: Vec<Cycles>,
        pub done: Done,
    }

    /// Whether the agent has written all of it.
    #[must_use]
    pub fn is_whole(bytes: &[u8]) -> bool {
        bytes.ends_with(&END)
    }

    /// `None`: these are no bytes of an answer's.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Answer> {
        let mut rest = Rest(bytes);
        let mut answer = Answer::default();
        if bytes.starts_with(&MAGIC) {
            rest.take(MAGIC.len())?;
        }
        loop {
            match rest.take(1)? {
                [TAG_CLASS] => {
                    let &[flags] = rest.take(1)? else { return None };
                    let (row, count, bytes) = (rest.word()?, rest.word()?, rest.word()?);
                    let (module, name) = (rest.text()?, rest.text()?);
                    let module = (flags & HAS_MODULE != 0).then_some(module);
                    let [is_cut, has_more, bears_weak] = [IS_CUT, HAS_MORE, BEARS_WEAK].map(|flag| flags & flag != 0);
                    answer.classes.push(Class { row, module, name, is_cut, has_more, bears_weak, count, bytes });
                }
                [TAG_WALKED] => {
                    (answer.objects, answer.bytes, answer.tracked) = (rest.word()?, rest.word()?, rest.word()?);
                    (answer.garbage_objects, answer.garbage_bytes) = (rest.word()?, rest.word()?);
                }
                [TAG_HELD] => answer.held = Some(Held::read(&mut rest)?),
                [TAG_FOUND] => answer.found = Some(Found::read(&mut rest)?),
                [TAG_GROUP] => answer.cycles.push(Cycles::read(&mut rest)?),
                [TAG_CHAIN] => answer.chains.push(Chain::read(&mut rest)?),
                [TAG_DONE] => {
                    let mut words = [0; 12];
                    for word in &mut words {
                        *word = rest.word()?;
                    }
                    let [
                        outcome,
                        detail,
                        flags,
                        pause_ns,
                        wait_ns,
                        walk_ns,
                        page_faults,
                        interpreters_left,
                        collect_ns,
                        collected,
                        resident_bytes,
                        resident_files_bytes,
                    ] = words;
                    answer.done = Done {
                        outcome: u32::try_from(outcome).ok()?,
                        detail: u32::try_from(detail).ok()?,
                        is_forked: flags & 1 != 0,
                        has_interned: flags & 2 != 0,
                        pause_ns,
                        wait_ns,
                        walk_ns,
                        page_faults,
                        interpreters_left,
                        collect_ns,
                        collected,
                        resident_bytes,
                        resident_files_bytes,
                        class: rest.take(super::NAME_BYTES)?.try_into().ok()?,
                    };
                    return (rest.0 == END).then_some(answer);
                }
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BEARS_WEAK, Done, MAGIC, Sink, TAG_CLASS, TAG_WALKED, is_whole, put_text, put_word, read, write_done};
    use crate::titles::HAS_MODULE;

    impl Sink for Vec<u8> {
        fn put(&mut self, bytes: &[u8]) -> bool {
            self.extend_from_slice(bytes);
            true
        }
    }

    fn answer() -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([TAG_CLASS, HAS_MODULE | BEARS_WEAK]);
        let _ = put_word(&mut bytes, 7) && put_word(&mut bytes, 3) && put_word(&mut bytes, 144);
        let _ = put_text(&mut bytes, b"app") && put_text(&mut bytes, b"Node");
        bytes.push(TAG_WALKED);
        let _ = put_word(&mut bytes, 3) && put_word(&mut bytes, 144) && put_word(&mut bytes, 2);
        let _ = put_word(&mut bytes, 8) && put_word(&mut bytes, 9);
        let done = Done { is_forked: true, pause_ns: 7, class: [b'x'; super::NAME_BYTES], ..Done::default() };
        assert!(write_done(&done, &mut bytes));
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let read = read(&answer()).unwrap();
        assert_eq!((read.objects, read.bytes, read.tracked, read.done.pause_ns), (3, 144, 2, 7));
        assert_eq!((read.garbage_objects, read.garbage_bytes), (8, 9));
        assert!(read.done.is_forked && !read.done.has_interned);
        let [class] = read.classes.as_slice() else { panic!("{read:?}") };
        assert_eq!((class.module.as_deref(), class.name.as_str(), class.count), (Some("app"), "Node", 3));
        assert!(class.bears_weak && !class.has_more && !class.is_cut);
    }

    #[test]
    fn no_part_of_an_answer_is_one() {
        let whole = answer();
        for len in 0..whole.len() {
            assert!(!is_whole(&whole[..len]));
            assert_eq!(read(&whole[..len]), None, "{len} bytes");
        }
        let mut longer = whole.clone();
        longer.push(0);
        assert_eq!(read(&longer), None);
        // A length beyond the end.
        let mut lies = whole;
        lies[8 + 2 + 24] = 0xff;
        assert_eq!(read(&lies), None);
    }
}
