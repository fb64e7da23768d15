//! What the addresses of a vmprof log are called: `py:name:line:file` and `n:name:line:file`.
//! Owns: which record counts where an address has several. Never: looks a name up outside of the log.

use std::collections::HashMap;

use crate::Refused;
use crate::builder::Frame;
use crate::room::{NAME_COPIES, PLACE_BYTES, Room};
use crate::vmprof::log::{Entry, Log};

pub struct Names<'a> {
    names: HashMap<u64, &'a [u8]>,
    frames: HashMap<Entry, Frame>,
    /// Addresses that stacks hold and no record names.
    nameless: u64,
}

impl<'a> Names<'a> {
    /// Of several records the last in the order of the text: vmprof's own reader sorts them (`finished_reading_profile`). So `py:` is
    /// taken before the `n:<native symbol …>` that vmprof writes for Python code which it could not name.
    pub fn of(log: &Log<'a>) -> Names<'a> {
        let mut names: HashMap<u64, &'a [u8]> = HashMap::new();
        for &(address, name) in &log.names {
            let known = names.entry(address).or_insert(name);
            *known = name.max(*known);
        }
        Names { names, frames: HashMap::new(), nameless: 0 }
    }

    /// # Errors
    /// The file has no room for a further name.
    pub fn frame(&mut self, entry: Entry, room: &mut Room) -> Result<Frame, Refused> {
        if let Some(frame) = self.frames.get(&entry) {
            return Ok(frame.clone());
        }
        room.take(PLACE_BYTES)?;
        let frame = match self.names.get(&entry.address) {
            Some(name) => {
                room.take(NAME_COPIES * name.len() as u64)?;
                named(&String::from_utf8_lossy(name), entry)
            }
            None => {
                self.nameless += 1;
                nameless(entry.address)
            }
        };
        self.frames.insert(entry, frame.clone());
        Ok(frame)
    }

    pub fn note(&self) -> Option<String> {
        (self.nameless > 0).then(|| {
            let nameless = self.nameless;
            format!(
                "vmprof stored no name for {nameless} addresses in the stacks: it writes names when profiling is \
                 disabled, which a killed program never does"
            )
        })
    }
}

fn nameless(address: u64) -> Frame {
    Frame::Mark(format!("no name in the log: {address:#x}").into())
}

fn named(text: &str, entry: Entry) -> Frame {
    let Some((language, rest)) = text.split_once(':') else {
        return Frame::Mark(text.into());
    };
    let Some((name, line, file)) = parts(rest) else {
        return Frame::Mark(text.into());
    };
    match language {
        "py" => Frame::Python { name: name.into(), file: file.into(), first_line: line, line: entry.line },
        // Native code has the lowest bit set; vmprof calls a code object so that was freed before it could be named.
        "n" if entry.address & 1 == 0 && name.starts_with("<native symbol ") => nameless(entry.address),
        "n" => {
            let module = (file != "-" && !file.is_empty()).then(|| file.into());
            Frame::C { name: name.into(), module }
        }
        _ => Frame::Mark(text.into()),
    }
}

/// Name, line and file of `name:line:file`, where names of C++ and files may hold colons: the first number between two colons counts.
fn parts(rest: &str) -> Option<(&str, u32, &str)> {
    rest.match_indices(':').find_map(|(colon, _)| {
        let (digits, file) = rest.get(colon + 1..)?.split_once(':')?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let line = digits.parse().ok().filter(|_| is_number)?;
        Some((&rest[..colon], line, file))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_colons() {
        assert_eq!(parts("main:43:work.py"), Some(("main", 43, "work.py")));
        assert_eq!(
            parts("std::vector<int>::push:0:/usr/lib/x.so"),
            Some(("std::vector<int>::push", 0, "/usr/lib/x.so"))
        );
        assert_eq!(parts("f:1:C:/x.py"), Some(("f", 1, "C:/x.py")));
        assert_eq!(parts("f:x.py"), None);
        assert_eq!(parts(":0:"), Some(("", 0, "")));
    }

    #[test]
    fn languages() {
        let entry = |address| Entry { address, line: Some(3) };
        let python = Frame::Python { name: "f".into(), file: "a.py".into(), first_line: 2, line: Some(3) };
        assert_eq!(named("py:f:2:a.py", entry(16)), python);
        assert_eq!(named("n:g:7:x.c", entry(17)), Frame::C { name: "g".into(), module: Some("x.c".into()) });
        let unknown = "n:<native symbol 0x11>:0:-";
        assert_eq!(named(unknown, entry(17)), Frame::C { name: "<native symbol 0x11>".into(), module: None });
        assert_eq!(named(unknown, entry(16)), Frame::Mark("no name in the log: 0x10".into()));
        assert_eq!(named("jit:x:0:y", entry(16)), Frame::Mark("jit:x:0:y".into()));
    }
}
