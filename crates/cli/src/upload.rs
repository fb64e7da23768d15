//! Recordings on their way to a genba server: `genba push` and `genba run --push`.
//! Owns: nothing itself. Never: knows of a verb; sends anything unless a verb was told to.

mod address;
mod client;
mod content;
mod live;
mod progress;
mod refusal;
mod remembered;
mod sending;
mod token;
mod waits;

pub use address::Server;
pub use client::{Client, New, SMALL_REQUEST};
pub use content::Content;
pub use live::{Interrupt, Live};
pub use progress::Progress;
pub use refusal::Refusal;
pub use remembered::Remembered;
pub use sending::Sending;
pub use token::{TOKEN_VARIABLE, Token};
pub use waits::Waits;

use std::path::Path;

use genba_text::is_harmless;

/// Of a file, as a server's list takes it.
pub fn name_of(path: &Path) -> String {
    const LETTERS_MAX: usize = 255;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let plain = |letter: char| if !is_harmless(letter) || letter == '\\' { '_' } else { letter };
    name.chars().map(plain).take(LETTERS_MAX).collect()
}

/// Of this machine, for the server's list.
pub fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_name_that_a_server_takes() {
        let names = [
            ("a.genba", "a.genba"),
            ("a\\b\nc", "a_b_c"),
            ("turned\u{202e}gpj", "turned_gpj"),
            ("ended\u{2028}1", "ended_1"),
        ];
        for (name, sent) in names {
            assert_eq!(name_of(&Path::new("/tmp").join(name)), sent);
        }
    }
}
