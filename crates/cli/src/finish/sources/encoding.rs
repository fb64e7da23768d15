//! From the bytes of a source file to its text, as CPython reads it (PEP 263).
//! Owns: byte order mark, coding line, line ends. Never: replaces what it cannot decode: such a file has no text,
//! because columns would lie beside the characters.

use encoding_rs::Encoding;

/// The byte order mark in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// As `decoded`; most files are such a text as they are.
pub fn decoded_whole(bytes: Vec<u8>) -> Option<String> {
    let is_text = !bytes.starts_with(MARK) && coding_of(&bytes).is_none() && !bytes.contains(&b'\r');
    if is_text { String::from_utf8(bytes).ok() } else { decoded(&bytes) }
}

/// UTF-8 with `\n` line ends. `None`: an unknown encoding, or bytes that are not in it.
pub fn decoded(bytes: &[u8]) -> Option<String> {
    let text = match bytes.strip_prefix(MARK) {
        Some(rest) => std::str::from_utf8(rest).ok()?.to_owned(),
        None => match coding_of(bytes) {
            Some(coding) => decoded_as(bytes, &coding)?,
            None => std::str::from_utf8(bytes).ok()?.to_owned(),
        },
    };
    if text.contains('\r') { Some(text.replace("\r\n", "\n").replace('\r', "\n")) } else { Some(text) }
}

fn decoded_as(bytes: &[u8], coding: &str) -> Option<String> {
    let coding = coding.to_ascii_lowercase().replace('_', "-");
    match coding.as_str() {
        "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "iso-latin-1" | "l1" | "8859" | "cp819" => {
            // Not windows-1252, which WHATWG means by these labels.
            return Some(bytes.iter().map(|&byte| char::from(byte)).collect());
        }
        "utf-8" | "utf8" | "utf-8-sig" | "u8" | "ascii" | "us-ascii" => {
            return std::str::from_utf8(bytes).ok().map(str::to_owned);
        }
        _ => {}
    }
    if coding.starts_with("utf-8-") {
        return std::str::from_utf8(bytes).ok().map(str::to_owned);
    }
    let label = match coding.as_str() {
        "cp932" | "ms932" | "mskanji" => "shift_jis",
        "cp936" | "ms936" => "gbk",
        "cp949" | "uhc" => "euc-kr",
        "cp950" | "ms950" => "big5",
        "mac-roman" => "macintosh",
        "shift-jis" => "shift_jis",
        "latin9" | "iso-8859-15" => "iso-8859-15",
        other => other,
    };
    let encoding = Encoding::for_label(label.as_bytes())?;
    encoding.decode_without_bom_handling_and_without_replacement(bytes).map(|text| text.into_owned())
}

/// The name in a coding line: a comment in the first line, or in the second when the first is blank or a comment.
fn coding_of(bytes: &[u8]) -> Option<String> {
    let mut lines = bytes.split(|&byte| byte == b'\n' || byte == b'\r').filter({
        // The empty line between \r and \n is none.
        let mut previous_ended_in_return = false;
        let mut position = 0;
        move |line| {
            let ends_at = position + line.len();
            let between = line.is_empty() && previous_ended_in_return && bytes.get(ends_at) == Some(&b'\n');
            previous_ended_in_return = bytes.get(ends_at) == Some(&b'\r');
            position = ends_at + 1;
            !between
        }
    });
    for _ in 0..2 {
        let line = lines.next()?;
        let blank = [b' ', b'\t', b'\x0c'];
        let begin = line.iter().position(|byte| !blank.contains(byte));
        match begin.map(|begin| &line[begin..]) {
            Some(comment) if comment.starts_with(b"#") => {
                if let Some(name) = coding_in(comment) {
                    return Some(name);
                }
            }
            Some(_) => return None,
            None => {}
        }
    }
    None
}

/// `coding[:=]\s*([-\w.]+)`
fn coding_in(comment: &[u8]) -> Option<String> {
    let mut rest = comment;
    while let Some(at) = rest.windows(6).position(|window| window == b"coding") {
        rest = &rest[at + 6..];
        let Some(after) = rest.strip_prefix(b":").or_else(|| rest.strip_prefix(b"=")) else {
            continue;
        };
        let name: String = after
            .iter()
            .skip_while(|&&byte| byte == b' ' || byte == b'\t')
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
            .map(|&byte| char::from(byte))
            .collect();
        if !name.is_empty() {
            return Some(name);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{decoded, decoded_whole};

    #[track_caller]
    fn check(bytes: &[u8], expected: Option<&str>) {
        assert_eq!(decoded(bytes).as_deref(), expected);
        assert_eq!(decoded_whole(bytes.to_vec()).as_deref(), expected);
    }

    #[test]
    fn text_is_read_as_python_reads_it() {
        check("x = '表'\n".as_bytes(), Some("x = '表'\n"));
        check(b"\xef\xbb\xbfx = 1\r\ny = 2\r", Some("x = 1\ny = 2\n"));
        check(b"# -*- coding: latin-1 -*-\nx = '\xe9\x80'\n", Some("# -*- coding: latin-1 -*-\nx = 'é\u{80}'\n"));
        check(
            b"#!/bin/x\n# vim: set fileencoding=cp1251 :\n'\xcf'\n",
            Some("#!/bin/x\n# vim: set fileencoding=cp1251 :\n'П'\n"),
        );
        check(b"#!/bin/x\r\n# coding: koi8-r\r\n'\xf0'\r\n", Some("#!/bin/x\n# coding: koi8-r\n'П'\n"));
        check(b"# coding: euc_jp\n'\xc9\xbd'\n", Some("# coding: euc_jp\n'表'\n"));
        check(b"", Some(""));
    }

    #[test]
    fn what_is_not_a_coding_line_is_none() {
        check(b"x = 1\n# coding: latin-1\n'\xe9'\n", None);
        check(b"\n\n# coding: latin-1\n'\xe9'\n", None);
        check(b"\n# coding: latin-1\n'\xe9'\n", Some("\n# coding: latin-1\n'é'\n"));
        check(b"# encoding is utf, coding rules\n", Some("# encoding is utf, coding rules\n"));
    }

    #[test]
    fn what_cannot_be_decoded_has_no_text() {
        check(b"x = '\xff'\n", None);
        check(b"# coding: no-such-thing\n", None);
        check(b"# coding: euc-jp\n'\xff\xff'\n", None);
    }
}
