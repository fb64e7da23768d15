//! How large a value in an array of numpy's is, and where its dtype says what it has.
//! Owns: the layouts of numpy 1 and 2. Never: believes a dtype of another size.
//! Sources: numpy 1.26 and 2.5, ndarraytypes.h.

use crate::layout::{TYPE, TYPE_BASIC_SIZE};
use crate::raw::{half, word};

/// Of `PyArrayObject_fields`.
pub const DTYPE: u64 = 56;
/// Of a dtype.
pub const TYPE_NUMBER: u64 = 28;
/// Those below are numpy's own (`NPY_NTYPES_LEGACY`).
const NUMBERS_OF_NUMPY: u32 = 24;

/// How many bytes a value takes, where a dtype has its flags and, if it is `numpy.void`, its subarray.
///
/// # Safety
/// A dtype that is alive.
pub unsafe fn layout_of(dtype: u64) -> Option<(u64, u64, u64)> {
    /// Bytes of a dtype, by numpy's version.
    const NUMPY_1: u64 = 96;
    const NUMPY_2: u64 = 120;
    // SAFETY: as the caller promises.
    unsafe {
        match word(word(dtype + TYPE) + TYPE_BASIC_SIZE) {
            NUMPY_1 => Some((u64::from(half(dtype + 32)), 27, 40)),
            NUMPY_2 => Some((word(dtype + 40), 32, 88)),
            _ => None,
        }
    }
}

/// Of the one value that an array without dimensions has; 0: genba does not know.
///
/// # Safety
/// `array` is an array of numpy's that is alive.
pub unsafe fn value_bytes(array: u64) -> u64 {
    // SAFETY: as the caller promises.
    unsafe {
        match word(array + DTYPE) {
            0 => 0,
            // A dtype of an extension may have the size of another version's, and fields of its own there.
            dtype if half(dtype + TYPE_NUMBER) >= NUMBERS_OF_NUMPY => 0,
            dtype => layout_of(dtype).map_or(0, |(bytes, ..)| bytes),
        }
    }
}
