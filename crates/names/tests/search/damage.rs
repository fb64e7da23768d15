//! Damaged ELF files: any bytes give names or an error, never a panic, and never a name outside its extent. GENBA_SOAK: more
//! damage.

use genba_names::{KnownFunction, Names};

const SHOP: &[u8] = include_bytes!("../shop/shop.so");

/// Asks for everything; panics when a name does not cover what was asked for.
fn exercise(bytes: &[u8], debug: Option<&[u8]>) {
    let known = [KnownFunction { address: 0x1330, name: "memmove" }];
    let Ok(names) = Names::new(bytes, debug, &known) else {
        return;
    };
    let starts: Vec<u64> = names.function_starts().take(64).collect();
    let fixed = [0, 0x1020, 0x1120, 0x1270, 0x1330, 0x13a0, 0x4000, u64::MAX];
    for address in starts.into_iter().chain(fixed) {
        if let Some(found) = names.name_of(address) {
            assert!(
                (found.start..found.end).contains(&address),
                "{address:#x} is not in {:#x}..{:#x}",
                found.start,
                found.end
            );
        }
    }
}

/// A small generator (xorshift64*): the same seed gives the same damage everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }
}

#[test]
fn a_file_may_end_anywhere() {
    for end in 0..SHOP.len() {
        // Every byte of the tables at both ends, every 16th between.
        if end < 1024 || end % 16 == 0 || end > SHOP.len() - 2048 {
            exercise(&SHOP[..end], None);
        }
    }
}

#[test]
fn any_byte_may_be_anything() {
    let interesting = [0x00, 0x01, 0x7f, 0x80, 0xff, 0xfe, 0x10, 0xe8];
    let seeds = if std::env::var_os("GENBA_SOAK").is_some() { 60_000 } else { 1_500 };
    for seed in 1..=seeds {
        let mut dice = Dice(seed);
        let mut bytes = SHOP.to_vec();
        for _ in 0..=dice.below(12) {
            // Half of the damage goes to the headers, where it does most.
            let at = match dice.below(4) {
                0 => dice.below(1024),
                1 => bytes.len() - 1 - dice.below(1900),
                _ => dice.below(bytes.len()),
            };
            match dice.below(3) {
                0 => bytes[at] = interesting[dice.below(interesting.len())],
                1 => bytes[at] ^= 1 << dice.below(8),
                _ => {
                    let length = dice.below(9).min(bytes.len() - at);
                    let value = interesting[dice.below(interesting.len())];
                    bytes[at..at + length].fill(value);
                }
            }
        }
        exercise(&bytes, None);
        exercise(SHOP, Some(&bytes));
    }
}
