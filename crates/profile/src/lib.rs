//! A profile: tables made from recordings, and every view of them. Pure: bytes and tables in, text and tables out.
//! Never: opens a file, asks a clock or the environment, prints, starts a thread. The caller owns all of these.
//! Begin at `profile` (the tables), `build` (recording to tables) and `report` (the first view).
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod build;
mod event_loop;
pub mod export;
pub mod figures;
pub mod filter;
pub mod glob;
pub mod hits;
pub mod integrity;
pub mod joined;
pub mod lines;
pub mod locations;
pub mod nameless;
pub mod near_hits;
mod own_code;
pub mod owner;
pub mod pace;
pub mod paint;
pub mod phase;
pub mod profile;
pub mod reading;
pub mod report;
mod short_waits;
pub mod show;
pub mod source_text;
pub mod state;
mod stored;
pub mod summary;
pub mod table;
pub mod tree;
pub mod tried;
pub mod verdict;
pub mod warnings;
pub mod weight;
pub mod wrap;
