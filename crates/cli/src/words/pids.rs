//! The number of a process on the command line, or a file in its place.
//! Owns: its grammar. Never: knows whether there is such a process.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};

/// What a verb looks at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    Process(u32),
    File(PathBuf),
}

/// A number is a process, unless there is a file of that name: folders have such names in /proc.
pub fn process_or_file() -> impl TypedValueParser<Value = Target> {
    PathBufValueParser::new().try_map(target)
}

/// Err: words for the user.
fn target(path: PathBuf) -> Result<Target, String> {
    let number = path.to_str().filter(|text| text.bytes().all(|letter| letter.is_ascii_digit()));
    match number.filter(|_| !path.is_file()) {
        Some(number) => pid(number).map(Target::Process),
        None => Ok(Target::File(path)),
    }
}

/// Err: words for the user.
pub fn pid(text: &str) -> Result<u32, String> {
    let expected = "expected the number of a process; genba ps lists those of Python";
    text.parse().ok().filter(|&pid| pid > 0).ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Target, pid, target};
    use std::path::PathBuf;

    #[test]
    fn a_process_has_a_number_above_zero() {
        assert_eq!(pid("4711"), Ok(4711));
        for text in ["abc", "0", "-1", "4294967296", "1.5", ""] {
            assert!(pid(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_is_a_process_and_all_else_a_file() {
        assert_eq!(target(PathBuf::from("4711")), Ok(Target::Process(4711)));
        assert!(target(PathBuf::from("0")).is_err());
        for text in ["/proc/self/comm", "no-such-heap.json", "1.5"] {
            assert_eq!(target(PathBuf::from(text)), Ok(Target::File(PathBuf::from(text))));
        }
    }
}
