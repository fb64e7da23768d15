//! Where a loaded file keeps the addresses of memcpy and memmove that it calls: slots that the dynamic linker filled in, as the file's tables
//! say (ELF gABI, chapter 5; x86-64 psABI, chapter 4.4).
//! Owns: reading those tables. Never: reads raw (I-06), writes.

/// The functions, by the names of their symbols.
pub(super) const FUNCTIONS: [&[u8]; 4] = [b"memcpy", b"memmove", b"__memcpy_chk", b"__memmove_chk"];
/// A table that is larger is none of a real file.
const TABLE_BYTES_MAX: u64 = 256 << 20;
const SYMBOL_BYTES: u64 = 24;
const GLOB_DAT: u32 = 6;
const JUMP_SLOT: u32 = 7;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub address: u64,
    /// Index in `FUNCTIONS`.
    pub function: usize,
}

#[derive(Default)]
struct Tables {
    strings: (u64, u64),
    symbols: u64,
    data: (u64, u64),
    calls: (u64, u64),
}

/// `dynamic`: the bytes of the file's dynamic section. `copy` gives bytes of the process, or nothing where they cannot be read.
pub(super) fn slots(bias: u64, dynamic: &[u8], copy: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Option<Vec<Slot>> {
    let tables = Tables::told_by(bias, dynamic);
    let whole = |(at, bytes): (u64, u64)| match bytes {
        0 => Some(Vec::new()),
        1..=TABLE_BYTES_MAX => copy(at, bytes as usize),
        _ => None,
    };
    let mut entries = whole(tables.calls)?;
    entries.extend(whole(tables.data)?);
    let relocations: Vec<(u64, u64)> = entries.as_chunks::<24>().0.iter().filter_map(relocation).collect();
    let (first, last) = (relocations.iter().map(|one| one.1).min()?, relocations.iter().map(|one| one.1).max()?);
    let symbols = whole((tables.symbols + first * SYMBOL_BYTES, (last - first + 1).checked_mul(SYMBOL_BYTES)?))?;
    let strings = whole(tables.strings)?;
    let mut found: Vec<Slot> = relocations
        .into_iter()
        .filter_map(|(place, symbol)| {
            let symbol = symbols.get(((symbol - first) * SYMBOL_BYTES) as usize..)?;
            let name = strings.get(u32::from_le_bytes(*symbol.first_chunk::<4>()?) as usize..)?;
            let name = &name[..name.iter().position(|&byte| byte == 0)?];
            let function = FUNCTIONS.iter().position(|function| *function == name)?;
            Some(Slot { address: bias.wrapping_add(place), function })
        })
        .collect();
    // Some linkers have the calls within the other table, too.
    found.sort_unstable_by_key(|slot| slot.address);
    found.dedup_by_key(|slot| slot.address);
    Some(found)
}

/// Of an entry: what it fills in, from the file's beginning, and the index of the symbol.
fn relocation(entry: &[u8; 24]) -> Option<(u64, u64)> {
    let (place, rest) = entry.split_first_chunk::<8>()?;
    let (kind, symbol) = rest.split_first_chunk::<4>()?;
    let kind = u32::from_le_bytes(*kind);
    let symbol = u32::from_le_bytes(*symbol.first_chunk::<4>()?);
    (kind == GLOB_DAT || kind == JUMP_SLOT).then_some((u64::from_le_bytes(*place), u64::from(symbol)))
}

impl Tables {
    fn told_by(bias: u64, dynamic: &[u8]) -> Tables {
        let mut tables = Tables::default();
        // glibc has made addresses of them where the section can be written to.
        let address = |value: u64| if value < bias { bias.wrapping_add(value) } else { value };
        for entry in dynamic.as_chunks::<16>().0 {
            let (tag, value) = entry.split_at(8);
            let [tag, value] =
                [tag, value].map(|half| half.first_chunk::<8>().map_or(0, |half| u64::from_le_bytes(*half)));
            match tag {
                0 => break,
                2 => tables.calls.1 = value,
                5 => tables.strings.0 = address(value),
                6 => tables.symbols = address(value),
                7 => tables.data.0 = address(value),
                8 => tables.data.1 = value,
                10 => tables.strings.1 = value,
                23 => tables.calls.0 = address(value),
                _ => {}
            }
        }
        tables
    }
}

#[cfg(test)]
mod tests {
    use super::{GLOB_DAT, JUMP_SLOT, Slot, slots};

    const BIAS: u64 = 0x1000;
    const STRINGS: &[u8] = b"\0read\0memcpy\0__memmove_chk\0memcpyx\0";

    /// Symbols 1 to 4 are the names above. At BIAS + 0x100 symbols, + 0x200 strings, + 0x300 relocations.
    fn memory(relocations: &[(u64, u32, u32)]) -> (Vec<u8>, Vec<u8>) {
        let mut bytes = vec![0; 0x1000];
        for (symbol, name) in [(1, 1_u32), (2, 6), (3, 13), (4, 27)] {
            bytes[0x100 + symbol * 24..][..4].copy_from_slice(&name.to_le_bytes());
        }
        bytes[0x200..][..STRINGS.len()].copy_from_slice(STRINGS);
        for (index, &(place, kind, symbol)) in relocations.iter().enumerate() {
            let at = 0x300 + index * 24;
            bytes[at..][..8].copy_from_slice(&place.to_le_bytes());
            bytes[at + 8..][..4].copy_from_slice(&kind.to_le_bytes());
            bytes[at + 12..][..4].copy_from_slice(&symbol.to_le_bytes());
        }
        let calls_bytes = (relocations.len() * 24) as u64;
        let entries = [
            (2, calls_bytes),
            (5, 0x200 + BIAS),
            (6, 0x100 + BIAS),
            (10, STRINGS.len() as u64),
            (23, 0x300),
            (0, 0),
            (8, 99),
        ];
        let dynamic =
            entries.iter().flat_map(|&(tag, value): &(u64, u64)| [tag, value]).flat_map(u64::to_le_bytes).collect();
        (bytes, dynamic)
    }

    fn found(relocations: &[(u64, u32, u32)]) -> Option<Vec<Slot>> {
        let (bytes, dynamic) = memory(relocations);
        slots(BIAS, &dynamic, |at, count| bytes.get((at - BIAS) as usize..)?.get(..count).map(<[u8]>::to_vec))
    }

    #[test]
    fn calls_and_addresses_of_the_four_functions_are_found_once_each() {
        let found = found(&[
            (0x50, JUMP_SLOT, 1),
            (0x60, JUMP_SLOT, 2),
            (0x58, GLOB_DAT, 3),
            (0x68, GLOB_DAT, 4),
            (0x60, GLOB_DAT, 2),
            (0x70, 8, 2),
        ]);
        let expected = [Slot { address: BIAS + 0x58, function: 3 }, Slot { address: BIAS + 0x60, function: 0 }];
        assert_eq!(found.as_deref(), Some(&expected[..]));
    }

    #[test]
    fn a_table_that_cannot_be_read_has_no_slots() {
        assert_eq!(found(&[(0x50, JUMP_SLOT, 4000)]), None);
        assert_eq!(found(&[]), None);
    }
}
