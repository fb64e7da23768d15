//! Words of a command that is offered for copying.
//! Keeps: a word is one word for a shell, whatever is in it, and nothing in it steers the terminal.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use genba_text::is_harmless;

/// `app.genba`, `'a b.genba'`, `$'line\x0afeed.genba'`
#[must_use]
pub fn word(text: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "_-./:@%+,=".contains(character);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false if text.chars().all(is_harmless) => format!("'{}'", text.replace('\'', "'\\''")),
        false => by_number(text.as_bytes()),
    }
}

/// The same of a file: one whose name begins with `-` is no option.
#[must_use]
pub fn path(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    match path.to_str() {
        Some(text) if text.starts_with('-') => word(&format!("./{text}")),
        Some(text) => word(text),
        None => by_number(bytes),
    }
}

/// Source: POSIX.1-2024, 2.2.4 Dollar-Single-Quotes.
fn by_number(bytes: &[u8]) -> String {
    let mut word = "$'".to_owned();
    for byte in bytes {
        match byte {
            b'\'' | b'\\' => word.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => word.push(char::from(*byte)),
            // Three digits: a digit that follows would be read as one of them.
            other => word += &format!("\\{other:03o}"),
        }
    }
    word + "'"
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_plain_name_stays_as_it_is() {
        for plain in ["app.genba", "/tmp/a-b_c/x@1:2%+,=.genba", "größe.genba"] {
            assert_eq!(word(plain), plain);
        }
        assert_eq!(path(Path::new("-o.genba")), "./-o.genba");
        assert_eq!(word(""), "''");
        assert_eq!(word("a b"), "'a b'");
    }

    #[test]
    fn a_shell_takes_each_word_as_it_was() {
        let hostile: [&[u8]; 10] = [
            b"a b.genba",
            b"it's",
            b"$(touch x);`y`",
            b"line\nfeed",
            b"\x1b[31m\x07red",
            "\u{202e}gpj.exe\u{2028}1".as_bytes(),
            b"\xff\xfe1",
            b"a\\'\nb",
            b"*?[a]~#",
            b"-x\n7",
        ];
        for bytes in hostile {
            let shown = path(Path::new(OsStr::from_bytes(bytes)));
            assert!(shown.chars().all(is_harmless), "{shown:?}");
            let echoed = Command::new("bash").args(["-c", &format!("printf %s {shown}")]).output().expect("bash");
            let expected = if bytes.starts_with(b"-") { [b"./", bytes].concat() } else { bytes.to_vec() };
            assert_eq!(echoed.stdout, expected, "{shown}");
        }
    }
}
