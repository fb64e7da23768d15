//! A library in Rust for the tests of names: a generic method of a trait. Driven by ctypes.

pub mod wheels {
    pub trait Turn {
        fn turn(&self, turns: u64) -> u64;
    }
    pub struct Wheel<Number> {
        pub spokes: Number,
    }
    impl<Number: Into<u64> + Copy> Turn for Wheel<Number> {
        #[inline(never)]
        fn turn(&self, turns: u64) -> u64 {
            (0..turns).fold(self.spokes.into(), |seed, _| std::hint::black_box((seed ^ (seed >> 7)).wrapping_mul(31) + 1))
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn turn_wheel(turns: u64) -> u64 {
    use wheels::Turn;
    wheels::Wheel { spokes: 12_u32 }.turn(turns) + 1
}
