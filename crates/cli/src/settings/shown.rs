//! `--show-config`: what each option of a verb is, and where that comes from. The page is TOML: what is set as `key = value`, what is
//! not as a comment; the settings in it can be put into genba.toml as they are.
//! Owns: that page. Never: decides what holds.

use std::ffi::OsStr;

use clap::{Arg, ArgMatches, Command};

use super::definition::{self, Kind};
use super::setting::{SHOW_CONFIG, Setting, Value, is_typed};

use super::file::Nearest;

/// `file` is None where settings are switched off.
pub fn page(verb: &Command, typed: &ArgMatches, chosen: &[&Setting], file: Option<&Nearest>) -> String {
    let mut page = match file.map(|file| &file.shown) {
        Some(Some(shown)) => format!("# settings: {shown}\n"),
        Some(None) => {
            "# settings: no genba.toml and no pyproject.toml with [tool.genba], from here up to /\n".to_owned()
        }
        None => "# settings: none, because GENBA_SETTINGS is none\n".to_owned(),
    };
    if let Some(outdone) = file.and_then(|file| file.outdone.as_ref()) {
        page += &format!("# not used: [tool.genba] in {outdone}, because genba.toml lies beside it\n");
    }
    for words in file.iter().flat_map(|file| &file.passed_over) {
        page += &format!("# {words}\n");
    }
    let rows: Vec<(String, String)> = keys(verb).iter().map(|key| row(verb, typed, chosen, key)).collect();
    let width = rows.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
    for (what, whence) in rows {
        page += &format!("{what:width$}  # {whence}\n");
    }
    page
}

/// The names of all options, in the order of `--help`; `--no-native` is `native`.
fn keys(verb: &Command) -> Vec<&str> {
    let mut keys = Vec::new();
    for option in verb.get_arguments().filter(|option| !option.is_hide_set()) {
        let Some(long) = option.get_long().filter(|long| *long != "help" && option.get_id() != SHOW_CONFIG) else {
            continue;
        };
        let key = long.strip_prefix("no-").unwrap_or(long);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// `key = value` or a comment, and whence.
fn row(verb: &Command, typed: &ArgMatches, chosen: &[&Setting], key: &str) -> (String, String) {
    if let Some(setting) = chosen.iter().find(|setting| setting.key == key) {
        let value = match &setting.value {
            Value::Switch(on) => on.to_string(),
            Value::Text(text) => text_as_toml(text),
            Value::List(texts) => list_as_toml(texts.iter().map(AsRef::as_ref)),
        };
        return (format!("{key} = {value}"), setting.origin.to_string());
    }
    let options = definition::options(verb, key);
    let flag = options.iter().find(|option| is_typed(typed, option.get_id().as_str()));
    let whence = match flag.and_then(|option| option.get_long()) {
        Some(long) => format!("--{long}"),
        None => "default".to_owned(),
    };
    let option = flag.or(options.first());
    let raw: Vec<&OsStr> = option
        .filter(|option| typed.value_source(option.get_id().as_str()).is_some())
        .and_then(|option| typed.get_raw(option.get_id().as_str()))
        .map(Iterator::collect)
        .unwrap_or_default();
    match definition::kind(verb, key) {
        Kind::Switch => {
            let is_on = match flag.and_then(|option| option.get_long()) {
                Some(long) => long == key,
                // `--no-native` is worth a line of --help only where native frames are what happens otherwise.
                None => options.iter().any(|option| option.get_long() != Some(key) && !option.is_hide_set()),
            };
            (format!("{key} = {is_on}"), whence)
        }
        // What takes a value back has none.
        _ if flag.and_then(|option| option.get_long()).is_some_and(|long| long != key) => (format!("# {key}"), whence),
        _ if raw.is_empty() => (format!("# {key}"), default_in_words(option.copied())),
        Kind::List => (format!("{key} = {}", list_as_toml(raw.into_iter())), whence),
        Kind::Value => (format!("{key} = {}", text_as_toml(raw[0])), whence),
    }
}

/// A default that depends on something stands in the help: `[default: …]`.
fn default_in_words(option: Option<&Arg>) -> String {
    let help = option.and_then(Arg::get_help).map(ToString::to_string).unwrap_or_default();
    let words = help.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
    words.map_or_else(|| "not set".to_owned(), |(words, _)| format!("default: {words}"))
}

fn text_as_toml(text: &OsStr) -> String {
    let text = text.to_string_lossy();
    match text.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) => toml::Value::String(text.into_owned()).to_string(),
    }
}

fn list_as_toml<'a>(texts: impl Iterator<Item = &'a OsStr>) -> String {
    let texts = texts.map(|text| toml::Value::String(text.to_string_lossy().into_owned()));
    toml::Value::Array(texts.collect()).to_string()
}
