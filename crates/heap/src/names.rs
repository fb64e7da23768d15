//! Texts of the program: names that end in a zero, and str objects, as UTF-8.
//! Owns: how both are read, cut and mended. Never: reads more than there is room for.

use crate::layout::Objects;
use crate::raw::{byte, half, word};

/// Copies a text that ends in a zero, as much as there is room for. How long the copy is.
///
/// # Safety
/// `at` is 0 or a text that ends in a zero.
pub unsafe fn c_text(at: u64, into: &mut [u8]) -> usize {
    if at == 0 {
        return 0;
    }
    let mut len = 0;
    for slot in into.iter_mut() {
        // SAFETY: no byte before this one was the zero.
        let next = unsafe { byte(at + len as u64) };
        if next == 0 {
            break;
        }
        *slot = next;
        len += 1;
    }
    len
}

/// A str's length, the bytes of one of its characters, and where they begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Text {
    pub len: u64,
    pub kind: u64,
    pub data: u64,
    pub is_ascii: bool,
    pub is_compact: bool,
}

const COMPACT: u32 = 1 << 5;
const ASCII: u32 = 1 << 6;
/// In every version.
const STATE: u64 = 32;

/// # Safety
/// `object` is a str that is alive.
pub unsafe fn text_of(object: u64, objects: &Objects) -> Text {
    // SAFETY: a str has these fields, and its separate buffer where it is not compact.
    unsafe {
        let state = half(object + STATE);
        let (is_compact, is_ascii) = (state & COMPACT != 0, state & ASCII != 0);
        let [ascii_header, compact_header, _] = objects.str_headers;
        let data = match (is_compact, is_ascii) {
            (true, true) => object + ascii_header,
            (true, false) => object + compact_header,
            (false, _) => word(object + compact_header),
        };
        Text { len: word(object + 16), kind: u64::from(state >> 2 & 7), data, is_ascii, is_compact }
    }
}

/// Writes a str as UTF-8, as much as there is room for; what is no character (half of a surrogate pair) as `U+FFFD`. How many bytes, and
/// whether something was cut.
///
/// # Safety
/// `object` is a str that is alive.
pub unsafe fn utf8_of(object: u64, objects: &Objects, into: &mut [u8]) -> (usize, bool) {
    // SAFETY: as the caller promises.
    let text = unsafe { text_of(object, objects) };
    if text.data == 0 || ![1, 2, 4].contains(&text.kind) {
        return (0, text.len > 0);
    }
    let mut len = 0;
    for position in 0..text.len {
        let at = text.data + position * text.kind;
        // SAFETY: within the str.
        let number = unsafe {
            match text.kind {
                1 => u32::from(byte(at)),
                2 => u32::from(byte(at)) | u32::from(byte(at + 1)) << 8,
                _ => half(at),
            }
        };
        let letter = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
        let mut buffer = [0; 4];
        let encoded = letter.encode_utf8(&mut buffer).as_bytes();
        let Some(slot) = into.get_mut(len..len + encoded.len()) else { return (len, true) };
        slot.copy_from_slice(encoded);
        len += encoded.len();
    }
    (len, false)
}

/// Whether a str is this ASCII text.
///
/// # Safety
/// `object` is a str that is alive.
pub unsafe fn is_text(object: u64, wanted: &[u8], objects: &Objects) -> bool {
    // SAFETY: as the caller promises.
    let text = unsafe { text_of(object, objects) };
    if text.len != wanted.len() as u64 || text.kind != 1 || text.data == 0 {
        return false;
    }
    // SAFETY: within the str.
    wanted.iter().enumerate().all(|(position, &letter)| unsafe { byte(text.data + position as u64) } == letter)
}
