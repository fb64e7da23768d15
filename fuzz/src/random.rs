//! Numbers drawn from a seed (SplitMix64). Owns: its state. Never: the clock or the system's randomness.

pub struct Random {
    state: u64,
}

impl Random {
    /// The numbers of input `number` under `seed`.
    pub fn new(seed: u64, number: u64) -> Random {
        let mut outer = Random { state: seed };
        let state = outer.next() ^ number.wrapping_mul(0xd134_2543_de82_ef95);
        Random { state }
    }

    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        match end {
            0 => 0,
            end => (self.next() % end as u64) as usize,
        }
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    /// A number as found at the edges of types, or a small one.
    pub fn edge(&mut self) -> u64 {
        match self.below(6) {
            0 => u64::MAX,
            1 => u64::from(u32::MAX),
            2 => 1 << self.below(64),
            3 => (1u64 << self.below(64)).wrapping_sub(1),
            4 => self.next(),
            _ => self.next() % 16,
        }
    }
}
