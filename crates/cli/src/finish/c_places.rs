//! Lines of C sources and inlined functions, as columns: of one unit of the debug information for all its code, and of the addresses
//! that were hit for the recording.
//! Owns: in which pieces a unit is kept. Never: stores in a recording an address of which nothing is known.

use genba_format::proto;
use genba_names::{CPlace, Places, UnitExtent};
use prost::Message;

use super::pieces::{Piece, Texts, text};

/// Whoever asks for an address decodes as many answers.
const ANSWERS_OF_PIECE: usize = 64;

/// All code of one unit. `rows` of a piece: `CPlaces`, for each address at which the answer changes the answer from there on.
pub fn pieces_of(places: &Places<'_>, unit: &UnitExtent) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for code in &unit.code {
        let first = unit.changes.partition_point(|&change| change < code.start);
        let behind = unit.changes.partition_point(|&change| change < code.end);
        let changes = unit.changes.get(first..behind).unwrap_or_default();
        let mut some = changes.chunks(ANSWERS_OF_PIECE).peekable();
        while let Some(changes) = some.next() {
            let (Some(&start), end) = (changes.first(), some.peek().and_then(|next| next.first())) else { break };
            let mut columns = Columns { last_address: start, ..Columns::default() };
            let mut texts = Texts::default();
            let mut last = None;
            for &change in changes {
                let found = known_at(places, change);
                if last.as_ref() != Some(&found) {
                    columns.answer(change, &found, &mut texts);
                    last = Some(found);
                }
            }
            let rows = proto::CPlaces { strings: texts.all, ..columns.rows }.encode_to_vec();
            pieces.push(Piece { start, end: end.copied().unwrap_or(code.end), rows });
        }
    }
    pieces
}

/// Nothing when neither a name nor a file is known.
fn known_at(places: &Places<'_>, address: u64) -> Vec<CPlace> {
    let found = places.at(address);
    let is_known = found.iter().any(|place| place.name.is_some() || place.file.is_some());
    if is_known { found } else { Vec::new() }
}

/// A piece that is to be asked.
pub struct Decoded {
    rows: proto::CPlaces,
    starts: Vec<u64>,
    /// Index of the first frame of each start, and behind the last one.
    first_frames: Vec<usize>,
}

impl Decoded {
    /// `None`: not what `pieces_of` gave.
    pub fn of(piece: &Piece) -> Option<Self> {
        let rows = proto::CPlaces::decode(piece.rows.as_slice()).ok()?;
        let mut at = piece.start;
        let starts = rows.address_delta.iter().map(|delta| {
            at = at.wrapping_add(*delta);
            at
        });
        let starts = starts.collect();
        let mut first_frames = vec![0];
        let mut behind = 0;
        for &frames in &rows.frames {
            behind += frames as usize;
            first_frames.push(behind);
        }
        let columns = [&rows.name, &rows.full_name, &rows.file, &rows.line];
        let is_whole =
            rows.frames.len() == rows.address_delta.len() && columns.iter().all(|column| column.len() == behind);
        is_whole.then_some(Decoded { rows, starts, first_frames })
    }

    /// Appends what is known of `address`, which is larger than those before.
    pub fn copy_to(&self, found: &mut Found, address: u64) {
        let Some(index) = self.starts.partition_point(|&start| start <= address).checked_sub(1) else { return };
        let frames = self.first_frames[index]..self.first_frames[index + 1];
        if frames.is_empty() {
            return;
        }
        let Found { columns, texts } = found;
        columns.begin(address, frames.len());
        for frame in frames {
            let mut again = |column: &[u32]| texts.index(text(&self.rows.strings, column[frame]));
            let texts = [again(&self.rows.name), again(&self.rows.full_name), again(&self.rows.file)];
            columns.push(texts, self.rows.line[frame]);
        }
    }
}

/// What is found for the recording.
#[derive(Default)]
pub struct Found {
    columns: Columns,
    texts: Texts,
}

impl Found {
    /// `None`: nothing.
    pub fn into_rows(self) -> Option<proto::CPlaces> {
        let Found { columns: Columns { rows, .. }, texts } = self;
        (!rows.address_delta.is_empty()).then_some(proto::CPlaces { strings: texts.all, ..rows })
    }
}

#[derive(Default)]
struct Columns {
    rows: proto::CPlaces,
    last_address: u64,
}

impl Columns {
    fn answer(&mut self, address: u64, found: &[CPlace], texts: &mut Texts) {
        self.begin(address, found.len());
        for (depth, place) in found.iter().enumerate() {
            // The outermost is the function that the symbols name, in the same words everywhere.
            let name = place.name.as_ref().filter(|_| depth > 0);
            let full_name = name.and_then(|shown| shown.full_name.as_deref());
            let name = name.map(|shown| shown.name.as_str());
            let texts = [texts.index(name), texts.index(full_name), texts.index(place.file.as_deref())];
            self.push(texts, place.line.unwrap_or_default());
        }
    }

    fn begin(&mut self, address: u64, frames: usize) {
        self.rows.address_delta.push(address - self.last_address);
        self.last_address = address;
        self.rows.frames.push(frames as u32);
    }

    fn push(&mut self, [name, full_name, file]: [u32; 3], line: u32) {
        self.rows.name.push(name);
        self.rows.full_name.push(full_name);
        self.rows.file.push(file);
        self.rows.line.push(line);
    }
}
