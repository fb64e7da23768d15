//! What `genba heap` asks for, in words.
//! Owns: their syntax: `key=value` fields between `;`, as in a session. Never: guesses at a word that it does not know.
//! Partner: crates/cli/src/verbs/heap/asking.rs writes them.

use crate::process::session::decode;
use crate::system::descriptor::Identity;
use genba_heap::pieces::Head;
use std::borrow::Cow;
use std::ffi::{CStr, CString};

/// How the heap is to be walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// In a copy, and in place where none can be made.
    Auto,
    Fork,
    InPlace,
}

/// What the command asks for.
#[derive(Debug)]
pub struct Request {
    pub out: Cow<'static, CStr>,
    /// The answer is for this file, and for no other one of that name.
    pub only: Option<Identity>,
    pub how: How,
    /// A full collection comes first.
    pub collects: bool,
    /// Objects in use are counted, and those in garbage are not.
    pub is_live: bool,
    /// Ways to objects of the class of this name.
    pub held: Option<Vec<u8>>,
    /// To so many of them.
    pub sample: u64,
    /// Only garbage is counted, and the cycles in it are told.
    pub is_of_cycles: bool,
    /// The GIL may take so long to come.
    pub wait_ns: u64,
    /// A copy may take so long.
    pub limit_ns: u64,
    /// And a walk in place, which keeps the program waiting.
    pub in_place_ns: u64,
    /// The answer is one of many in its file.
    pub piece: Option<Head>,
}

impl Request {
    /// `None`: no command of this version wrote it.
    pub fn parse(text: &str) -> Option<Request> {
        let mut request = Request {
            out: Cow::Borrowed(c""),
            only: None,
            how: How::Auto,
            collects: false,
            is_live: false,
            held: None,
            sample: 0,
            is_of_cycles: false,
            wait_ns: 0,
            limit_ns: 0,
            in_place_ns: 0,
            piece: None,
        };
        let mut version = String::new();
        for field in text.split(';').filter(|field| !field.is_empty()) {
            let (key, value) = field.split_once('=')?;
            let value = decode(value)?;
            match key {
                "v" => version = value,
                "out" => request.out = CString::new(value).ok()?.into(),
                "how" => {
                    request.how = match value.as_str() {
                        "auto" => How::Auto,
                        "fork" => How::Fork,
                        "in-place" => How::InPlace,
                        _ => return None,
                    };
                }
                "collect" => request.collects = value == "1",
                "live" => request.is_live = value == "1",
                "cycles" => request.is_of_cycles = value == "1",
                "held" => request.held = Some(value.into_bytes()),
                "sample" => request.sample = value.parse().ok()?,
                "wait_ns" => request.wait_ns = value.parse().ok()?,
                "limit_ns" => request.limit_ns = value.parse().ok()?,
                "in_place_ns" => request.in_place_ns = value.parse().ok()?,
                _ => return None,
            }
        }
        (version == "1" && !request.out.to_bytes().is_empty()).then_some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::{How, Request};

    #[test]
    fn only_whole_requests_are_understood() {
        let request = Request::parse("v=1;out=%2Ftmp%2Fa;how=fork;wait_ns=5;limit_ns=6;in_place_ns=7").unwrap();
        assert_eq!((&*request.out, request.how, request.limit_ns), (c"/tmp/a", How::Fork, 6));
        for text in ["", "v=1", "v=2;out=/tmp/a", "v=1;out=/tmp/a;how=somehow", "v=1;out=/tmp/a;more=1", "v=1;out=%zz"]
        {
            assert!(Request::parse(text).is_none(), "{text}");
        }
    }
}
