//! The number of a process on the command line.
//! Owns: its grammar. Never: knows whether there is such a process.

/// Err: words for the user.
pub fn pid(text: &str) -> Result<u32, String> {
    let expected = "expected the number of a process; genba ps lists those of Python";
    text.parse().ok().filter(|&pid| pid > 0).ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::pid;

    #[test]
    fn a_process_has_a_number_above_zero() {
        assert_eq!(pid("4711"), Ok(4711));
        for text in ["abc", "0", "-1", "4294967296", "1.5", ""] {
            assert!(pid(text).is_err(), "{text}");
        }
    }
}
