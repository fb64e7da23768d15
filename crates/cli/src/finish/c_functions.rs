//! Functions of a module, as columns: in each piece a few stretches of addresses and the functions that they belong to.
//! Owns: in which pieces they are kept, finding an address in one. Never: reads a file, knows the path of the module.

use genba_names::Answer;
use prost::Message;

use super::pieces::{Piece, Texts, text};

/// One function, or the part of one that the unwind table describes.
pub struct Function {
    pub start: u64,
    pub end: u64,
    pub named: Option<Named>,
}

pub struct Named {
    pub name: String,
    pub full_name: Option<String>,
    pub origin: String,
}

/// Whoever asks for an address decodes as many stretches.
const STRETCHES_OF_PIECE: usize = 16;

/// One entry a stretch of addresses with one answer, or a function. Strings are stored as index + 1.
#[derive(Clone, PartialEq, Message)]
struct Rows {
    /// As differences to the end of the stretch before; the first to the start of the piece.
    #[prost(uint64, repeated, tag = "1")]
    stretch_delta: Vec<u64>,
    #[prost(uint64, repeated, tag = "2")]
    stretch_bytes: Vec<u64>,
    /// Index of its function.
    #[prost(uint32, repeated, tag = "3")]
    stretch_function: Vec<u32>,
    #[prost(uint64, repeated, tag = "4")]
    function_start: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    function_bytes: Vec<u64>,
    #[prost(uint32, repeated, tag = "6")]
    name: Vec<u32>,
    #[prost(uint32, repeated, tag = "7")]
    full_name: Vec<u32>,
    #[prost(uint32, repeated, tag = "8")]
    origin: Vec<u32>,
    #[prost(string, repeated, tag = "9")]
    strings: Vec<String>,
}

/// `answers` as `Names::answers` gives them: sorted, without overlap.
pub fn pieces_of(answers: &[Answer]) -> Vec<Piece> {
    let piece_of = |answers: &[Answer]| {
        let (first, last) = (answers.first()?, answers.last()?);
        let (start, end) = (first.stretch.start, last.stretch.end);
        Some(Piece { start, end, rows: rows_of(answers, start).encode_to_vec() })
    };
    answers.chunks(STRETCHES_OF_PIECE).filter_map(piece_of).collect()
}

fn rows_of(answers: &[Answer], start: u64) -> Rows {
    let mut rows = Rows::default();
    let mut texts = Texts::default();
    let mut behind = start;
    let mut last: Option<&Answer> = None;
    for answer in answers {
        if last.is_none_or(|last| (&last.function, &last.named) != (&answer.function, &answer.named)) {
            let named = answer.named.as_ref();
            rows.name.push(texts.index(named.map(|named| named.name.as_str())));
            rows.full_name.push(texts.index(named.and_then(|named| named.full_name.as_deref())));
            rows.origin.push(texts.index(named.map(|named| named.origin.to_string()).as_deref()));
            rows.function_start.push(answer.function.start);
            rows.function_bytes.push(answer.function.end - answer.function.start);
        }
        rows.stretch_delta.push(answer.stretch.start - behind);
        rows.stretch_bytes.push(answer.stretch.end - answer.stretch.start);
        rows.stretch_function.push(rows.function_start.len() as u32 - 1);
        behind = answer.stretch.end;
        last = Some(answer);
    }
    Rows { strings: texts.all, ..rows }
}

/// A piece that can be asked.
pub struct Decoded {
    rows: Rows,
    /// Start and end of each stretch.
    stretches: Vec<(u64, u64)>,
}

impl Decoded {
    /// `None`: not what `pieces_of` gave.
    pub fn of(piece: &Piece) -> Option<Self> {
        let rows = Rows::decode(piece.rows.as_slice()).ok()?;
        let mut behind = piece.start;
        let stretches = rows.stretch_delta.iter().zip(&rows.stretch_bytes).map(|(&delta, &bytes)| {
            let start = behind.wrapping_add(delta);
            behind = start.wrapping_add(bytes);
            (start, behind)
        });
        let stretches = stretches.collect();
        Some(Decoded { rows, stretches })
    }

    pub fn at(&self, address: u64) -> Option<Function> {
        let index = self.stretches.partition_point(|&(start, _)| start <= address).checked_sub(1)?;
        self.stretches.get(index).filter(|&&(_, end)| address < end)?;
        self.function(*self.rows.stretch_function.get(index)? as usize)
    }

    fn function(&self, index: usize) -> Option<Function> {
        let rows = &self.rows;
        let start = *rows.function_start.get(index)?;
        let text = |column: &[u32]| text(&rows.strings, *column.get(index)?).map(str::to_owned);
        let named = text(&rows.name).map(|name| Named {
            name,
            full_name: text(&rows.full_name),
            origin: text(&rows.origin).unwrap_or_default(),
        });
        Some(Function { start, end: start.saturating_add(*rows.function_bytes.get(index)?), named })
    }
}
