//! What a `.prof` file holds: a dict from functions to their counts, times and callers, and behind it what `genba trace` adds.
//! Owns: which shapes a file may have. Never: adds up or orders.

use crate::functions::{Awaits, Callers, Function, FunctionId, Functions, PlaceOf, Prof, Row, Timing};
use crate::marshal::{Damaged, Reader, Tuple, Value};

/// Names that are spelled out in a file, together: so much in any case, and so much for each byte of the file. Five bytes that refer
/// to a name may give a function a name of any length, and each function keeps its own.
const NAME_BYTES_MIN: usize = 16 << 20;
const NAME_BYTES_A_BYTE: usize = 4;
/// In memory, each twice, since lists grow by doubling: a row; a function, what finds its number, and its places; a caller.
const ROW_BYTES: u64 = 160;
const FUNCTION_BYTES: u64 = 160 + 2 * NAME_HEAD_BYTES;
/// Before a name: its two counts, and what the allocator keeps and rounds up to.
const NAME_HEAD_BYTES: u64 = 40;
const CALLER_BYTES: u64 = 80;
/// A value that may be referred to.
const REFERENCE_BYTES: u64 = 96;
/// How awaits begin: with a key that no profile has.
const AWAITS: &[u8] = b"{u\x0d\0\0\0genba: awaits{";
/// All counts of a file together: so many calls take decades.
const COUNTS_MAX: u64 = 1 << 50;

/// Whether the first bytes are those of a dict whose first key is a function.
#[must_use]
pub fn is_prof(bytes: &[u8]) -> bool {
    let kind = |at: usize| bytes.get(at).map(|byte| byte & 0x7f);
    let is_key = match kind(1) {
        Some(b')') => matches!(bytes.get(2), Some(3 | 1)),
        Some(b'(') => matches!(bytes.get(2..6), Some([3 | 1, 0, 0, 0])),
        Some(b'0') => bytes.len() == 2,
        _ => false,
    };
    kind(0) == Some(b'{') && is_key
}

/// # Errors
/// The file is cut, or holds a value that no `.prof` file holds.
pub fn read(bytes: &[u8]) -> Result<Prof, Damaged> {
    read_within(bytes, &mut { u64::MAX })
}

/// `room_bytes`: of memory, since a caller of few bytes takes many here. What the profile takes is taken from it.
///
/// # Errors
/// As `read`, and that it needs more.
pub fn read_within(bytes: &[u8], room_bytes: &mut u64) -> Result<Prof, Damaged> {
    let mut file = File {
        room_bytes: *room_bytes,
        references_counted: 0,
        reader: Reader::new(bytes),
        functions: Functions::default(),
        places: PlaceOf::default(),
        name_bytes_left: NAME_BYTES_MIN + NAME_BYTES_A_BYTE * bytes.len(),
        counts_left: COUNTS_MAX,
    };
    file.reader.dict("a dict of functions")?;
    let mut rows: Vec<Row> = Vec::new();
    let mut row_of = PlaceOf::default();
    let mut is_sampled = false;
    while let Some(function) = file.key(&mut is_sampled)? {
        file.take(ROW_BYTES)?;
        let row = file.row(function)?;
        // As in a dict of Python's: the last one counts, in the place of the first.
        match row_of.get(function) {
            Some(known) => rows[known] = row,
            None => {
                row_of.set(function, rows.len());
                rows.push(row);
            }
        }
    }
    let awaits = file.awaits(&bytes[file.reader.byte()..])?;
    let rest_bytes = (bytes.len() - file.reader.byte()) as u64;
    *room_bytes = file.room_bytes;
    Ok(Prof { functions: file.functions, rows, awaits, is_sampled, rest_bytes })
}

struct File<'a> {
    room_bytes: u64,
    references_counted: usize,
    reader: Reader<'a>,
    functions: Functions,
    /// Of functions in the list that is read.
    places: PlaceOf,
    name_bytes_left: usize,
    counts_left: u64,
}

impl File<'_> {
    /// None: no further one. The mark of the sampling profiler is passed over.
    fn key(&mut self, is_sampled: &mut bool) -> Result<Option<FunctionId>, Damaged> {
        const WHAT: &str = "a function (file, line, name)";
        loop {
            if self.reader.peek() == Some(b'0') {
                self.reader.skip();
                return Ok(None);
            }
            let begin = self.reader.byte();
            match self.reader.tuple(WHAT)? {
                Tuple::Items(1, _) => {
                    let text = self.reader.text("the mark of the sampling profiler")?;
                    if self.reader.peek().is_none() {
                        let end = self.reader.byte();
                        return Err(self.reader.wrong(end, "the mark's value", "the end of the file".to_owned()));
                    }
                    if &*text != "__sampled__" || self.reader.peek() != Some(b'T') {
                        return Err(self.reader.wrong(begin, WHAT, "a tuple of 1".to_owned()));
                    }
                    self.reader.skip();
                    *is_sampled = true;
                }
                tuple => return self.function_of(begin, tuple, WHAT).map(Some),
            }
        }
    }

    fn function(&mut self, what: &str) -> Result<FunctionId, Damaged> {
        let begin = self.reader.byte();
        let tuple = self.reader.tuple(what)?;
        self.function_of(begin, tuple, what)
    }

    fn function_of(&mut self, begin: usize, tuple: Tuple, what: &str) -> Result<FunctionId, Damaged> {
        let place = match tuple {
            Tuple::Reference(Value::Function(function)) => return Ok(function),
            Tuple::Reference(_) => {
                return Err(self.reader.wrong(begin, what, "a reference to another value".to_owned()));
            }
            Tuple::Items(3, place) => place,
            Tuple::Items(count, _) => return Err(self.reader.wrong(begin, what, format!("a tuple of {count}"))),
        };
        let file = self.reader.text("the file of a function")?;
        let line = self.reader.whole("the line of a function")?;
        let name = self.reader.text("the name of a function")?;
        let name_bytes = file.len() + name.len();
        let left = self.name_bytes_left.checked_sub(name_bytes);
        self.name_bytes_left = left.ok_or_else(|| {
            self.reader.wrong(begin, "names that are together not many times as large as the file", "more".to_owned())
        })?;
        let known = self.functions.count();
        let function = self.functions.id(Function { file, line, name });
        let is_new = self.functions.count() > known;
        self.take(name_bytes as u64 + if is_new { FUNCTION_BYTES } else { 0 })?;
        self.reader.name(place, || Value::Function(function));
        Ok(function)
    }

    /// What `genba trace` writes behind the profile, where marshal does not look: a dict with one key. `rest`: from here to the end.
    fn awaits(&mut self, rest: &[u8]) -> Result<Vec<(FunctionId, Awaits)>, Damaged> {
        let is_cut = !rest.is_empty() && AWAITS.starts_with(rest);
        if !rest.starts_with(AWAITS) && !is_cut {
            return Ok(Vec::new());
        }
        self.reader.dict("a dict of awaits")?;
        self.reader.text("the name of awaits")?;
        self.reader.dict("a dict of awaits by function")?;
        let mut awaits = Vec::new();
        while self.reader.peek() != Some(b'0') {
            let function = self.function("a function that awaits (file, line, name)")?;
            let begin = self.reader.byte();
            match self.reader.tuple("a count, a time and a count of awaits")? {
                Tuple::Items(3, _) => {}
                _ => return Err(self.reader.wrong(begin, "a tuple of 3", "another value".to_owned())),
            }
            let count = self.count("a count of awaits")?;
            let waited_s = self.reader.seconds("the time of awaits")?;
            let open = self.count("a count of awaits that had not ended")?;
            let is_new = self.places.put(&mut awaits, function, Awaits { count, waited_s, open });
            self.take_caller(is_new)?;
        }
        self.reader.skip();
        let end = self.reader.byte();
        if self.reader.peek() != Some(b'0') {
            return Err(self.reader.wrong(end, "the end of the awaits", "another value".to_owned()));
        }
        self.reader.skip();
        Ok(awaits)
    }

    /// One that the list had is no more memory.
    fn take_caller(&mut self, is_new: bool) -> Result<(), Damaged> {
        self.take(if is_new { CALLER_BYTES } else { 0 })
    }

    fn take(&mut self, bytes: u64) -> Result<(), Damaged> {
        let references = self.reader.references();
        let new = (references - self.references_counted) as u64;
        self.references_counted = references;
        let left = self.room_bytes.checked_sub(bytes + new * REFERENCE_BYTES);
        self.room_bytes = left.ok_or_else(|| {
            let begin = self.reader.byte();
            let expected = "functions and callers that fit into the memory for a file of this size";
            Damaged { needs_more_memory: true, ..self.reader.wrong(begin, expected, "more".to_owned()) }
        })?;
        Ok(())
    }

    fn row(&mut self, function: FunctionId) -> Result<Row, Damaged> {
        const WHAT: &str = "a tuple of counts, times and callers";
        let begin = self.reader.byte();
        match self.reader.tuple(WHAT)? {
            Tuple::Items(5, _) => {}
            Tuple::Items(count, _) => return Err(self.reader.wrong(begin, WHAT, format!("a tuple of {count}"))),
            Tuple::Reference(_) => return Err(self.reader.wrong(begin, WHAT, "a reference".to_owned())),
        }
        let primitive_calls = self.count("a count of primitive calls")?;
        let calls = self.count("a count of calls")?;
        let own_s = self.reader.seconds("the time in a function itself")?;
        let total_s = self.reader.seconds("the time in a function and its callees")?;
        let callers = self.callers()?;
        Ok(Row { function, calls, primitive_calls, own_s, total_s, callers })
    }

    fn callers(&mut self) -> Result<Callers, Damaged> {
        const WHAT: &str = "what a caller had of a function";
        self.reader.dict("a dict of callers")?;
        let (mut timed, mut counted) = (Vec::new(), Vec::new());
        loop {
            if self.reader.peek() == Some(b'0') {
                self.reader.skip();
                break;
            }
            let caller = self.function("a caller (file, line, name)")?;
            let begin = self.reader.byte();
            let is_number = matches!(self.reader.peek(), Some(b'i' | b'I' | b'l'));
            if is_number && timed.is_empty() {
                let calls = self.count(WHAT)?;
                let is_new = self.places.put(&mut counted, caller, calls);
                self.take_caller(is_new)?;
                continue;
            }
            let (value, place) = match self.reader.tuple(WHAT)? {
                Tuple::Reference(Value::Timing(timing)) => (Some(timing), None),
                // A small number, which Python has once.
                Tuple::Reference(Value::Whole(whole)) if timed.is_empty() => match u64::try_from(whole) {
                    Ok(calls) => {
                        let calls = self.counted(begin, WHAT, calls)?;
                        let is_new = self.places.put(&mut counted, caller, calls);
                        self.take_caller(is_new)?;
                        continue;
                    }
                    Err(_) => return Err(self.reader.wrong(begin, WHAT, format!("{whole}"))),
                },
                Tuple::Items(4, place) if counted.is_empty() => (None, place),
                Tuple::Items(count, _) => return Err(self.reader.wrong(begin, WHAT, format!("a tuple of {count}"))),
                Tuple::Reference(_) => return Err(self.reader.wrong(begin, WHAT, "a reference".to_owned())),
            };
            let timing = match value {
                Some(timing) if counted.is_empty() => timing,
                Some(_) => return Err(self.reader.wrong(begin, WHAT, "a tuple after a number".to_owned())),
                None => {
                    let calls = self.count("a count of calls")?;
                    let primitive_calls = self.count("a count of primitive calls")?;
                    let own_s = self.reader.seconds("a time in a function itself")?;
                    let total_s = self.reader.seconds("a time in a function and its callees")?;
                    Timing { calls, primitive_calls, own_s, total_s }
                }
            };
            self.reader.name(place, || Value::Timing(timing));
            let is_new = self.places.put(&mut timed, caller, timing);
            self.take_caller(is_new)?;
        }
        // Most functions have one or two callers, and a list begins with room for four.
        timed.shrink_to_fit();
        counted.shrink_to_fit();
        Ok(if counted.is_empty() { Callers::Timed(timed) } else { Callers::Counted(counted) })
    }

    fn count(&mut self, what: &str) -> Result<u64, Damaged> {
        let begin = self.reader.byte();
        let count = self.reader.count(what)?;
        self.counted(begin, what, count)
    }

    fn counted(&mut self, begin: usize, what: &str, count: u64) -> Result<u64, Damaged> {
        let left = self.counts_left.checked_sub(count);
        self.counts_left = left.ok_or_else(|| {
            self.reader.wrong(begin, &format!("{what}: at most {COUNTS_MAX} in all"), format!("{count} more"))
        })?;
        Ok(count)
    }
}
