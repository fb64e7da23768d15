//! A setting: an option's value, and where it was found.
//! Owns: which options are settings. Never: reads a file, a variable or a command line.

use std::ffi::OsString;
use std::fmt::{Display, Formatter};

use clap::ArgMatches;
use clap::parser::ValueSource;

pub const SHOW_CONFIG: &str = "show_config";

/// The options that may be set, a verb. A key is the option's name; `native = false` is `--no-native`. An option that stands under
/// several verbs is one setting. Not settings: what names a file, and what a script that reads genba's output relies on.
pub const KEYS: [(&str, &[&str]); 9] = [
    ("diff", &["color", "weight"]),
    ("dump", &["color"]),
    ("gc", &["color"]),
    ("report", &["by", "color", "limit", "min-share", "show", "sort", "weight"]),
    ("lines", &["color", "min-share", "sort", "weight"]),
    ("tree", &["color", "inverted", "max-depth", "min-share", "show", "sort", "weight"]),
    (
        "run",
        &[
            "alloc",
            "budget",
            "children",
            "color",
            "copies",
            "duration",
            "gc",
            "interval",
            "mem",
            "min-share",
            "native",
            "push",
            "python",
            "quiet",
            "rate",
            "show",
            "sort",
            "source",
            "tag",
            "weight",
        ],
    ),
    (
        "attach",
        &[
            "budget",
            "children",
            "color",
            "copies",
            "duration",
            "gc",
            "interval",
            "mem",
            "min-share",
            "native",
            "quiet",
            "rate",
            "show",
            "sort",
            "source",
            "tag",
            "weight",
        ],
    ),
    ("trace", &["python", "quiet"]),
];

/// A value for an option, and where it was found.
#[derive(Debug)]
pub struct Setting {
    pub key: &'static str,
    pub value: Value,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Switch(bool),
    Text(OsString),
    /// Of an option that may be repeated.
    List(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    File { shown: String, line: usize },
    Variable(String),
}

impl Display for Origin {
    fn fmt(&self, page: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::File { shown, line } => write!(page, "{shown}:{line}"),
            Origin::Variable(name) => page.write_str(name),
        }
    }
}

pub fn is_typed(typed: &ArgMatches, option: &str) -> bool {
    typed.value_source(option) == Some(ValueSource::CommandLine)
}
