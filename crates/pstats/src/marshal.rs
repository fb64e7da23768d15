//! Values of CPython's marshal format: the types that `.prof` files hold, of every version of the format (0 to 5).
//! Owns: references between values, and the words about a type that no such file holds. Never: reads a value of another type, or
//! follows a reference to something that holds values itself, so that no few bytes become many.

use std::sync::Arc;

use crate::functions::{FunctionId, Timing};

/// Longer than any path and qualified name: what is longer is no name.
const TEXT_BYTES_MAX: usize = 1 << 14;
/// The bit of a type byte that says that the value may be referred to. Source: marshal.c, FLAG_REF.
const FLAG_REF: u8 = 0x80;
/// Digits of a long have 15 bits. Source: marshal.c, PyLong_MARSHAL_SHIFT.
const DIGIT_BITS: u32 = 15;

/// Why a file is not read: where, and what is there instead of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    pub byte: u64,
    pub expected: String,
    pub found: String,
    /// Up to here it is as it should be. What follows needs more memory than the reader was given.
    pub needs_more_memory: bool,
}

/// What a reference may stand for.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(Arc<str>),
    Whole(i64),
    Real(f64),
    Function(FunctionId),
    Timing(Timing),
    /// Of these no reference is followed.
    Other(&'static str),
}

impl Value {
    fn name(&self) -> &'static str {
        match self {
            Value::Text(_) => "a string",
            Value::Whole(_) => "an integer",
            Value::Real(_) => "a float",
            Value::Function(_) | Value::Timing(_) => "a tuple",
            Value::Other(name) => name,
        }
    }
}

/// A value, or where the place of a value that holds others is kept.
pub(crate) enum Tuple {
    /// So many items follow. The place of the tuple among the references, where it may be referred to.
    Items(usize, Option<usize>),
    Reference(Value),
}

pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    byte: usize,
    references: Vec<Value>,
    /// Python 2 counts its interned strings on their own.
    interned: Vec<Arc<str>>,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, byte: 0, references: Vec::new(), interned: Vec::new() }
    }

    pub fn byte(&self) -> usize {
        self.byte
    }

    /// How many values may be referred to so far.
    pub fn references(&self) -> usize {
        self.references.len()
    }

    /// The type of the next value.
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.byte).map(|kind| kind & !FLAG_REF)
    }

    pub fn skip(&mut self) {
        self.byte += 1;
    }

    /// A dict begins. Its items are a key and a value in turns, and `0` is behind them.
    pub fn dict(&mut self, what: &str) -> Result<(), Damaged> {
        let begin = self.byte;
        match self.kind(what)? {
            (b'{', flagged) => {
                self.keep(flagged, || Value::Other("a dict"));
                Ok(())
            }
            (kind, _) => Err(self.wrong_type(begin, what, kind)),
        }
    }

    pub fn tuple(&mut self, what: &str) -> Result<Tuple, Damaged> {
        let begin = self.byte;
        let (kind, flagged) = self.kind(what)?;
        let items = match kind {
            b')' => usize::from(self.take(1, "the length of a tuple")?[0]),
            b'(' => self.length("the length of a tuple")?,
            b'r' => return self.reference(begin, what).map(Tuple::Reference),
            kind => return Err(self.wrong_type(begin, what, kind)),
        };
        // A tuple has its place among the references before its items have theirs.
        let place = flagged.then_some(self.references.len());
        self.keep(flagged, || Value::Other("a tuple that holds itself"));
        Ok(Tuple::Items(items, place))
    }

    /// What a tuple is, now that its items are read.
    pub fn name(&mut self, place: Option<usize>, value: impl FnOnce() -> Value) {
        if let Some(reference) = place.and_then(|place| self.references.get_mut(place)) {
            *reference = value();
        }
    }

    pub fn text(&mut self, what: &str) -> Result<Arc<str>, Damaged> {
        let begin = self.byte;
        let (kind, flagged) = self.kind(what)?;
        let length = match kind {
            b's' | b't' | b'u' | b'a' | b'A' => self.length("the length of a string")?,
            b'z' | b'Z' => usize::from(self.take(1, "the length of a string")?[0]),
            b'R' => {
                let at = self.length("the number of an interned string")?;
                let known = self.interned.get(at).cloned();
                return known.ok_or_else(|| self.wrong(begin, what, format!("a reference to interned string {at}")));
            }
            b'r' => {
                return match self.reference(begin, what)? {
                    Value::Text(text) => Ok(text),
                    other => Err(self.wrong(begin, what, format!("a reference to {}", other.name()))),
                };
            }
            kind => return Err(self.wrong_type(begin, what, kind)),
        };
        if length > TEXT_BYTES_MAX {
            return Err(self.wrong(begin, &format!("{what} of at most {TEXT_BYTES_MAX} bytes"), format!("{length}")));
        }
        let bytes = self.take(length, what)?;
        let text: Arc<str> = String::from_utf8_lossy(bytes).into();
        if kind == b't' {
            self.interned.push(Arc::clone(&text));
        }
        self.keep(flagged, || Value::Text(Arc::clone(&text)));
        Ok(text)
    }

    pub fn whole(&mut self, what: &str) -> Result<i64, Damaged> {
        let begin = self.byte;
        match self.number(what)? {
            Value::Whole(whole) => Ok(whole),
            other => Err(self.wrong(begin, what, other.name().to_owned())),
        }
    }

    /// A count: an integer that is not negative.
    pub fn count(&mut self, what: &str) -> Result<u64, Damaged> {
        let begin = self.byte;
        let whole = self.whole(what)?;
        u64::try_from(whole).map_err(|_| self.wrong(begin, &format!("{what} of at least 0"), format!("{whole}")))
    }

    /// profile writes 0 where no time passed, not 0.0.
    pub fn seconds(&mut self, what: &str) -> Result<f64, Damaged> {
        let begin = self.byte;
        match self.number(what)? {
            Value::Whole(whole) => Ok(whole as f64),
            Value::Real(real) if real.is_finite() => Ok(real),
            Value::Real(real) => Err(self.wrong(begin, &format!("{what} in seconds"), format!("{real}"))),
            other => Err(self.wrong(begin, what, other.name().to_owned())),
        }
    }

    fn number(&mut self, what: &str) -> Result<Value, Damaged> {
        let begin = self.byte;
        let (kind, flagged) = self.kind(what)?;
        let value = match kind {
            b'i' => Value::Whole(i64::from(self.int32(what)?)),
            b'I' => Value::Whole(self.take(8, what)?.try_into().map_or(0, i64::from_le_bytes)),
            b'l' => Value::Whole(self.long(begin, what)?),
            b'g' => Value::Real(self.take(8, what)?.try_into().map_or(0.0, f64::from_le_bytes)),
            b'f' => {
                let length = usize::from(self.take(1, "the length of a float")?[0]);
                let digits = std::str::from_utf8(self.take(length, what)?).ok();
                let real = digits.and_then(|digits| digits.trim().parse().ok());
                Value::Real(real.ok_or_else(|| self.wrong(begin, what, "a float whose digits are none".to_owned()))?)
            }
            b'r' => return self.reference(begin, what),
            kind => return Err(self.wrong_type(begin, what, kind)),
        };
        self.keep(flagged, || value.clone());
        Ok(value)
    }

    fn long(&mut self, begin: usize, what: &str) -> Result<i64, Damaged> {
        let count = self.int32("the digits of a long")?;
        let too_large = |reader: &Self| reader.wrong(begin, what, format!("a long of {} digits", count.unsigned_abs()));
        if count.unsigned_abs() > 63_u32.div_ceil(DIGIT_BITS) {
            return Err(too_large(self));
        }
        let mut sum = 0_u128;
        for position in 0..count.unsigned_abs() {
            let digit = self.take(2, "a digit of a long")?.try_into().map_or(0, u16::from_le_bytes);
            if u32::from(digit) >> DIGIT_BITS != 0 {
                return Err(self.wrong(begin, "a long whose digits have 15 bits", format!("{digit}")));
            }
            sum |= u128::from(digit) << (position * DIGIT_BITS);
        }
        let whole = i64::try_from(sum).map_err(|_| too_large(self))?;
        Ok(if count < 0 { -whole } else { whole })
    }

    fn reference(&mut self, begin: usize, what: &str) -> Result<Value, Damaged> {
        let at = self.length("the number of a reference")?;
        match self.references.get(at) {
            Some(Value::Other(name)) => Err(self.wrong(begin, what, format!("a reference to {name}"))),
            Some(value) => Ok(value.clone()),
            None => Err(self.wrong(begin, what, format!("a reference to value {at} of {}", self.references.len()))),
        }
    }

    fn kind(&mut self, what: &str) -> Result<(u8, bool), Damaged> {
        let kind = self.take(1, what)?[0];
        Ok((kind & !FLAG_REF, kind & FLAG_REF != 0))
    }

    fn keep(&mut self, flagged: bool, value: impl FnOnce() -> Value) {
        if flagged {
            self.references.push(value());
        }
    }

    fn int32(&mut self, what: &str) -> Result<i32, Damaged> {
        Ok(self.take(4, what)?.try_into().map_or(0, i32::from_le_bytes))
    }

    /// 2³¹ and more are negative to CPython, which refuses them.
    fn length(&mut self, what: &str) -> Result<usize, Damaged> {
        let begin = self.byte;
        let length = self.int32(what)?;
        usize::try_from(length).map_err(|_| self.wrong(begin, &format!("{what} of at least 0"), format!("{length}")))
    }

    fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8], Damaged> {
        let taken = self.byte.checked_add(count).and_then(|end| self.bytes.get(self.byte..end));
        match taken {
            Some(taken) => {
                self.byte += count;
                Ok(taken)
            }
            None => {
                let found = match self.bytes.len() - self.byte {
                    0 => "the end of the file".to_owned(),
                    left => format!("{left} of {count} bytes and the end of the file"),
                };
                Err(self.wrong(self.byte, what, found))
            }
        }
    }

    pub fn wrong(&self, byte: usize, expected: &str, found: String) -> Damaged {
        Damaged { byte: byte as u64, expected: expected.to_owned(), found, needs_more_memory: false }
    }

    fn wrong_type(&self, byte: usize, what: &str, kind: u8) -> Damaged {
        let name = match kind {
            b'0' => "nothing",
            b'N' => "None",
            b'F' | b'T' => "a bool",
            b'S' => "StopIteration",
            b'.' => "an ellipsis",
            b'i' | b'I' | b'l' => "an integer",
            b'f' | b'g' => "a float",
            b'x' | b'y' => "a complex number",
            b's' | b't' | b'R' | b'u' | b'a' | b'A' | b'z' | b'Z' => "a string",
            b'(' | b')' => "a tuple",
            b'[' => "a list",
            b'{' => "a dict",
            b'<' | b'>' => "a set",
            b'c' | b'C' => "a code object",
            b':' => "a slice",
            b'r' => "a reference",
            _ => {
                return self.wrong(byte, what, format!("type byte {kind:#04x}, which marshal does not know"));
            }
        };
        self.wrong(byte, what, format!("{name} (type `{}`)", char::from(kind)))
    }
}
