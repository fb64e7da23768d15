//! The number of a process on the command line, or a file in its place.
//! Owns: its grammar. Never: knows whether there is such a process.

use std::path::{Path, PathBuf};

/// What a verb looks at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    Process(u32),
    File(PathBuf),
}

/// A number is a process, unless there is a file of that name: folders have such names in /proc. Err: words for the user.
pub fn process_or_file(text: &str) -> Result<Target, String> {
    if Path::new(text).is_file() { Ok(Target::File(PathBuf::from(text))) } else { pid(text).map(Target::Process) }
}

/// Err: words for the user.
pub fn pid(text: &str) -> Result<u32, String> {
    let expected = "expected the number of a process; genba ps lists those of Python";
    text.parse().ok().filter(|&pid| pid > 0).ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Target, pid, process_or_file};
    use std::path::PathBuf;

    #[test]
    fn a_process_has_a_number_above_zero() {
        assert_eq!(pid("4711"), Ok(4711));
        for text in ["abc", "0", "-1", "4294967296", "1.5", ""] {
            assert!(pid(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_is_one_that_is_there() {
        assert_eq!(process_or_file("/proc/self/comm"), Ok(Target::File(PathBuf::from("/proc/self/comm"))));
        assert_eq!(process_or_file("4711"), Ok(Target::Process(4711)));
        assert_eq!(process_or_file("/proc"), pid("/proc").map(Target::Process));
        assert_eq!(process_or_file("no-such-heap.json"), pid("no-such-heap.json").map(Target::Process));
    }
}
