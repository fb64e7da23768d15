//! The location table of a code object: which line and columns each instruction comes from.
//! Owns: decoding and look-up. Never: fails on a table that is cut or damaged; what stands before the damage is kept.
//! Source: CPython 3.11 to 3.15, Objects/locations.md (3.12 on: InternalDocs/code_objects.md).

/// Where an instruction comes from. Columns count from 0 in UTF-8 bytes of their line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    pub line: u32,
    pub end_line: u32,
    pub byte_columns: Option<ByteColumns>,
}

/// `start` lies in the first line, `end` (exclusive) in the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByteColumns {
    pub start: u32,
    pub end: u32,
}

impl Location {
    /// What tells the expressions of a line apart. They count from 1, as editors do.
    #[must_use]
    pub fn columns_in_words(&self) -> Option<String> {
        let columns = self.byte_columns?;
        let (first, last) = (columns.start + 1, columns.end);
        Some(match self.end_line {
            end_line if end_line > self.line => format!("column {first} to line {end_line}, column {last}"),
            _ if last <= first => format!("column {first}"),
            _ => format!("columns {first} to {last}"),
        })
    }
}

/// A decoded table: one entry for each run of code units (two bytes each), in order.
#[derive(Debug, Default)]
pub struct Locations {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    end_unit: u32,
    location: Option<Location>,
}

impl Locations {
    pub fn decode(linetable: &[u8], first_line: u32) -> Locations {
        let mut bytes = Bytes { rest: linetable };
        let mut line = i64::from(first_line);
        let mut end_unit = 0;
        let mut entries = Vec::new();
        while let Some((units, location)) = entry(&mut bytes, &mut line) {
            end_unit += units;
            entries.push(Entry { end_unit, location });
        }
        Locations { entries }
    }

    /// None: the instruction has no line of its own, or lies behind what is known of the table.
    pub fn at(&self, unit: u32) -> Option<Location> {
        let position = self.entries.partition_point(|entry| entry.end_unit <= unit);
        self.entries.get(position)?.location
    }
}

/// Length in code units and location of the next entry; moves `line` along. None at the end or at damage.
fn entry(bytes: &mut Bytes, line: &mut i64) -> Option<(u32, Option<Location>)> {
    let head = bytes.next()?;
    if head & 0x80 == 0 {
        return None;
    }
    let units = u32::from(head & 7) + 1;
    let code = (head >> 3) & 15;
    let location = match code {
        0..=9 => {
            let low = bytes.next()?;
            let start = (u32::from(code) << 3) | u32::from(low >> 4);
            location(*line, 0, Some((start, start + u32::from(low & 15))))
        }
        10..=12 => {
            *line += i64::from(code - 10);
            let start = bytes.next()?;
            let end = bytes.next()?;
            location(*line, 0, Some((u32::from(start), u32::from(end))))
        }
        13 => {
            *line += bytes.signed()?;
            location(*line, 0, None)
        }
        14 => {
            *line += bytes.signed()?;
            let lines = bytes.unsigned()?;
            // Both columns are stored plus one; 0 says that there is none.
            let start = bytes.unsigned()?.checked_sub(1);
            let end = bytes.unsigned()?.checked_sub(1);
            location(*line, lines, start.zip(end))
        }
        _ => None,
    };
    Some((units, location))
}

fn location(line: i64, lines: u32, columns: Option<(u32, u32)>) -> Option<Location> {
    // A module's first instruction lies in line 0, which is none.
    let line = u32::try_from(line).ok().filter(|&line| line > 0)?;
    Some(Location {
        line,
        end_line: line.checked_add(lines)?,
        byte_columns: columns.map(|(start, end)| ByteColumns { start, end }),
    })
}

struct Bytes<'a> {
    rest: &'a [u8],
}

impl Bytes<'_> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Six bits a byte, lowest first; bit 6 says that more follow.
    fn unsigned(&mut self) -> Option<u32> {
        let mut value = 0;
        let mut shift = 0;
        loop {
            let byte = self.next()?;
            value |= u32::from(byte & 63).checked_shl(shift)?;
            if byte & 64 == 0 {
                return Some(value);
            }
            shift += 6;
        }
    }

    /// The lowest bit is the sign.
    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        let magnitude = i64::from(value >> 1);
        Some(if value & 1 == 1 { -magnitude } else { magnitude })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// `linetable` in hexadecimal; prints one line for each code unit from 0 on.
    fn check(first_line: u32, units: u32, linetable: &str, expected: Expect) {
        let bytes: Vec<u8> = linetable.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        let locations = Locations::decode(&bytes, first_line);
        let mut text = String::new();
        for unit in 0..units {
            text += &match locations.at(unit) {
                None => format!("{unit}: none\n"),
                Some(Location { line, end_line, byte_columns: None }) => format!("{unit}: {line}-{end_line}\n"),
                Some(Location { line, end_line, byte_columns: Some(columns) }) => {
                    format!("{unit}: {line}-{end_line} {}..{}\n", columns.start, columns.end)
                }
            };
        }
        expected.assert_eq(&text);
    }

    /// CPython 3.13.0, `def f(b, i):\n    return b[i:][:2]`; the expectation is what `co_positions()` says.
    #[test]
    fn short_entries() {
        check(
            1,
            9,
            "80 00 d8 0b 0c 88 52 88 35 90 12 90 21 88 39 d0 04 14",
            expect![[r#"
                0: 1-1 0..0
                1: 2-2 11..12
                2: 2-2 13..15
                3: 2-2 11..16
                4: 2-2 17..19
                5: 2-2 18..19
                6: 2-2 11..20
                7: 2-2 4..20
                8: none
            "#]],
        );
    }

    /// CPython 3.13.0, `def g(x):\n    return [y\n        for y in\n           x]` from line 4 on, likewise.
    #[test]
    fn long_entries_and_entries_without_a_line() {
        check(
            4,
            25,
            "80 00 f1 06 00 0c 0d f3 05 02 0c 0e e1 0b 0c f0 03 00 0d 0e f3 03 00 0d 0e e1 0b 0c f1 05 02 0c 0e \
             f0 00 02 05 0e f9 f2 00 02 0c 0e",
            expect![[r#"
                0: 4-4 0..0
                1: 7-7 11..12
                2: 7-7 11..12
                3: 5-7 11..13
                4: 5-7 11..13
                5: 5-7 11..13
                6: 5-7 11..13
                7: 7-7 11..12
                8: 7-7 11..12
                9: 6-6 12..13
                10: 5-5 12..13
                11: 5-5 12..13
                12: 5-5 12..13
                13: 5-5 12..13
                14: 7-7 11..12
                15: 7-7 11..12
                16: 5-7 11..13
                17: 5-7 11..13
                18: 5-7 4..13
                19: none
                20: none
                21: 5-7 11..13
                22: 5-7 11..13
                23: 5-7 11..13
                24: none
            "#]],
        );
    }

    /// An entry without columns (`e8`), and a table that was cut inside the next one.
    #[test]
    fn what_stands_before_damage_is_kept() {
        check(
            3,
            3,
            "80 13 e8 05 f0 02",
            expect![[r#"
            0: 3-3 1..4
            1: 1-1
            2: none
        "#]],
        );
    }
}
