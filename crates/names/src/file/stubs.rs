//! Names of the linker's stubs (`.plt`, `.plt.sec`, `.plt.got`): `memmove@plt`.
//! Owns: reading a stub's indirect jump. Never: names a stub whose jump it cannot follow to an imported symbol.

use super::cells::{Cell, Cells};
use super::elf::Image;
use std::ops::Range;

/// The stub around an address, and the linker name of the symbol it leads to; `own` names the functions of the file.
pub(crate) fn stub_at(
    image: &Image<'_>,
    cells: &Cells<'_>,
    address: u64,
    own: &dyn Fn(u64) -> Option<String>,
) -> Option<(Range<u64>, String)> {
    let section = image
        .code_sections()
        .find(|section| (section.start..section.start + section.bytes.len() as u64).contains(&address))?;
    let stub_bytes = match section.name {
        b".plt" | b".plt.sec" | b".plt.got" if section.entry_bytes > 0 => section.entry_bytes,
        _ => return None,
    };
    let start = address - (address - section.start) % stub_bytes;
    let offset = usize::try_from(start - section.start).ok()?;
    let stub = section.bytes.get(offset..)?;
    let stub = &stub[..stub.len().min(usize::try_from(stub_bytes).ok()?)];
    // jmp *displacement(%rip), perhaps behind endbr64 or a bnd prefix
    let jump = stub.windows(6).position(|bytes| bytes[..2] == [0xff, 0x25])?;
    let displacement = i32::from_le_bytes(stub[jump + 2..jump + 6].try_into().ok()?);
    let place = start.wrapping_add(jump as u64 + 6).wrapping_add_signed(i64::from(displacement));
    match cells.at(place)? {
        Cell::Import(name) => Some((start..start + stub_bytes, std::str::from_utf8(name).ok()?.to_owned())),
        // A public function of the file itself, which another file may replace.
        Cell::Address(function) => Some((start..start + stub_bytes, own(function)?)),
        Cell::Number(_) => None,
    }
}
