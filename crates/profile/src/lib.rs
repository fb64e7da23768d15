//! A profile: tables made from recordings, and every view of them. Pure: bytes and tables in, text and tables out.
#![forbid(unsafe_code)]
