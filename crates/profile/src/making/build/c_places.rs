//! Where in their sources addresses lie, and what was inlined there, as the recording stores it.
//! Never: takes the place of a neighbouring address. Keeps: columns that do not fit together give no places.

use foldhash::HashMap;

use genba_format::proto;

use crate::tables::profile::CLine;

/// One function at an address.
pub struct CPlace<'a> {
    /// None: it is not known, or it is the function that contains the address.
    pub name: Option<&'a str>,
    pub full_name: Option<&'a str>,
    pub line: Option<CLine>,
}

/// Rows of one module, and the first of each address's frames.
struct Rows<'a> {
    stored: &'a proto::CPlaces,
    frame_first: HashMap<u64, (usize, usize)>,
}

/// By module path, then build id, as names are.
#[derive(Default)]
pub struct CPlaces<'a> {
    modules: HashMap<&'a str, HashMap<&'a [u8], Rows<'a>>>,
}

impl<'a> CPlaces<'a> {
    /// What was added first counts.
    pub fn add(&mut self, modules: &'a [proto::CPlaces]) {
        for stored in modules {
            let mut frame_first = HashMap::default();
            let mut first = 0_usize;
            let mut address = 0_u64;
            for (&delta, &frames) in stored.address_delta.iter().zip(&stored.frames) {
                address = address.wrapping_add(delta);
                frame_first.insert(address, (first, frames as usize));
                first = first.saturating_add(frames as usize);
            }
            let builds = self.modules.entry(stored.module.as_str()).or_default();
            builds.entry(stored.build_id.as_slice()).or_insert(Rows { stored, frame_first });
        }
    }

    /// Outermost first: the first is the function that contains the address, the others were inlined. Empty: not known.
    pub fn at(&self, module: &str, build_id: &[u8], address: u64) -> Vec<CPlace<'a>> {
        let rows = self.modules.get(module).and_then(|builds| builds.get(build_id));
        let Some((rows, &(first, frames))) = rows.and_then(|rows| Some((rows, rows.frame_first.get(&address)?))) else {
            return Vec::new();
        };
        (first..first.saturating_add(frames)).map_while(|frame| rows.place(frame)).collect()
    }
}

impl<'a> Rows<'a> {
    fn place(&self, frame: usize) -> Option<CPlace<'a>> {
        let stored = self.stored;
        let text = |column: &[u32]| {
            let index = column.get(frame)?.checked_sub(1)?;
            stored.strings.get(index as usize).map(String::as_str)
        };
        let line = *stored.line.get(frame)?;
        Some(CPlace {
            name: text(&stored.name),
            full_name: text(&stored.full_name),
            line: text(&stored.file)
                .map(|file| CLine { file: file.to_owned(), line: Some(line).filter(|line| *line > 0) }),
        })
    }
}
