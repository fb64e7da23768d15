//! Where functions begin and end, from the unwind table (`.eh_frame`).
//! Owns: the sorted extents. Never: joins or guesses; code without a description has no extent.
//! Keeps: a damaged table gives the entries before the damage.

use super::elf::Image;
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameOffset, EndianSlice, LittleEndian, UnwindContext, UnwindSection,
};

/// [start, end) of one entry. A function that the compiler split has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub start: u64,
    pub end: u64,
    entry: usize,
}

/// Index of an extent in the table of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ExtentIndex(u32);

impl ExtentIndex {
    /// In `Extents::all`.
    pub fn position(self) -> usize {
        self.0 as usize
    }
}

pub(crate) struct Extents<'a> {
    frames: Option<EhFrame<EndianSlice<'a, LittleEndian>>>,
    bases: BaseAddresses,
    sorted: Vec<Extent>,
}

impl<'a> Extents<'a> {
    pub fn new(image: &Image<'a>) -> Self {
        let Some((address, bytes)) = image.section(".eh_frame") else {
            return Extents { frames: None, bases: BaseAddresses::default(), sorted: Vec::new() };
        };
        let frames = EhFrame::new(bytes, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame(address);
        let mut sorted = read_entries(&frames, &bases);
        sorted.retain(|extent| extent.start < extent.end && image.is_code(extent.start));
        sorted.sort_by_key(|extent| (extent.start, extent.end));
        sorted.dedup_by_key(|extent| extent.start);
        Extents { frames: Some(frames), bases, sorted }
    }

    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    pub fn get(&self, index: ExtentIndex) -> Extent {
        self.sorted[index.0 as usize]
    }

    pub fn all(&self) -> &[Extent] {
        &self.sorted
    }

    pub fn containing(&self, address: u64) -> Option<ExtentIndex> {
        // Most addresses that instructions use are of data, which lies behind the code.
        self.sorted.last().filter(|last| address < last.end)?;
        let after = self.sorted.partition_point(|extent| extent.start <= address);
        let index = after.checked_sub(1)?;
        (address < self.sorted[index].end).then_some(ExtentIndex(u32::try_from(index).ok()?))
    }

    pub fn starting_at(&self, address: u64) -> Option<ExtentIndex> {
        self.containing(address).filter(|&index| self.get(index).start == address)
    }

    /// Whether the code begins as a function does: with nothing but the return address on the stack. A part that was
    /// moved away from the middle of a function often does not.
    pub fn begins_like_a_function(&self, index: ExtentIndex) -> bool {
        let Some(frames) = &self.frames else {
            return true;
        };
        let Ok(entry) =
            frames.fde_from_offset(&self.bases, EhFrameOffset(self.get(index).entry), EhFrame::cie_from_offset)
        else {
            return true;
        };
        let mut context = UnwindContext::new();
        let Ok(mut rows) = entry.rows(frames, &self.bases, &mut context) else {
            return true;
        };
        match rows.next_row() {
            Ok(Some(row)) => matches!(
                row.cfa(),
                CfaRule::RegisterAndOffset { register, offset: 8 } if *register == gimli::X86_64::RSP
            ),
            Ok(None) | Err(_) => true,
        }
    }
}

fn read_entries(frames: &EhFrame<EndianSlice<'_, LittleEndian>>, bases: &BaseAddresses) -> Vec<Extent> {
    let mut extents = Vec::new();
    let mut entries = frames.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        if let Ok(whole) = partial.parse(EhFrame::cie_from_offset) {
            extents.push(Extent { start: whole.initial_address(), end: whole.end_address(), entry: whole.offset() });
        }
    }
    extents
}
