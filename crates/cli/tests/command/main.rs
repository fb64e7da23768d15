//! The command from outside: the built `genba`, its words, files and exit codes. One subject a file; `sandbox` is the room that each runs in,
//! and `played_server` the other side of `push`. One target, so that what all of them use is linked once.

mod clockless;
mod command_line;
mod compared_pages;
mod crowded_pages;
mod diff;
mod filters;
mod hostile_names;
mod imports;
mod lines;
mod named;
#[path = "../../../profile/tests/profiles/notation.rs"]
mod notation;
mod offered;
mod other_words;
mod played_server;
mod push;
mod readers;
mod replacing;
mod sandbox;
mod screens;
mod several;
mod view;

/// `genba run`.
mod run {
    mod limits;
    mod output;
    mod program;
    mod push;
    mod refusals;
    mod targets;
    mod terminal;
}
