//! Numbers for programs that are made up: from a seed, the same in every run of the tests.

/// The first of PCG's family (O'Neill 2014).
pub struct Random(pub u64);

impl Random {
    /// 0 to 1.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = (((self.0 >> 18) ^ self.0) >> 27) as u32;
        f64::from(word.rotate_right((self.0 >> 59) as u32)) / f64::from(u32::MAX)
    }

    /// As large as that on average.
    pub fn rounded(&mut self, value: f64) -> u32 {
        (value + self.next()) as u32
    }

    /// Of the standard normal distribution (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.next().max(f64::EPSILON).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.next()).cos()
    }

    pub fn below(&mut self, end: usize) -> usize {
        ((self.next() * end as f64) as usize).min(end - 1)
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
