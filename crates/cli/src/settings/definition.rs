//! A setting beside the definition of the command line: which options it stands for, which values they take.
//! Owns: the way from a key and a value to the words that would be typed. Never: checks a value itself; clap does.

use std::error::Error;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};

use super::setting::{KEYS, Setting, Value};
use crate::words::failure::Failure;

/// The option of a verb that a setting is handed to, where that is not the one of the same name: a command brings its own
/// interpreter, so `--python` is refused beside one, and the setting is not.
const HANDED_TO: [(&str, &str); 1] = [("python", "python-of-settings")];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `--key` and `--no-key`.
    Switch,
    Value,
    /// An option that may be repeated.
    List,
}

/// `--key`, and `--no-key` if there is one.
pub fn options<'a>(verb: &'a Command, key: &str) -> Vec<&'a Arg> {
    let names = [key.to_owned(), format!("no-{key}")];
    verb.get_arguments()
        .filter(|option| option.get_long().is_some_and(|long| names.iter().any(|name| name == long)))
        .collect()
}

pub fn kind(verb: &Command, key: &str) -> Kind {
    match options(verb, key).first().map(|option| option.get_action()) {
        Some(ArgAction::SetTrue) => Kind::Switch,
        Some(ArgAction::Append) => Kind::List,
        _ => Kind::Value,
    }
}

/// As it would be typed.
pub fn words(setting: &Setting) -> Vec<OsString> {
    let name = HANDED_TO.iter().find(|(key, _)| *key == setting.key).map_or(setting.key, |(_, name)| *name);
    let with_value = |value: &std::ffi::OsStr| {
        let mut word = OsString::from(format!("--{name}="));
        word.push(value);
        word
    };
    match &setting.value {
        Value::Switch(true) => vec![format!("--{name}").into()],
        Value::Switch(false) => vec![format!("--no-{name}").into()],
        Value::Text(text) => vec![with_value(text)],
        Value::List(texts) => texts.iter().map(|text| with_value(text.as_ref())).collect(),
    }
}

/// The first verb with this setting; the others define it alike, but for the values that some of them do not take.
pub fn verb_of<'a>(command: &'a Command, key: &str) -> Option<(&'static str, &'a Command)> {
    let (key, name) = KEYS.iter().find_map(|(name, keys)| Some((*keys.iter().find(|known| **known == key)?, *name)))?;
    Some((key, command.find_subcommand(name)?))
}

/// Err: the value is none for this option of any verb; what it is and where it stands, in words.
pub fn check(command: &Command, setting: &Setting) -> Result<(), Failure> {
    let verbs = KEYS.iter().filter(|(_, keys)| keys.contains(&setting.key));
    let verbs: Vec<&Command> = verbs.filter_map(|(name, _)| command.find_subcommand(name)).collect();
    let mut refusals = Vec::new();
    for verb in verbs {
        match refusal(verb, setting) {
            Some(refusal) => refusals.push((verb.get_name(), refusal)),
            None => return Ok(()),
        }
    }
    // The words of the verb that takes most values.
    let Some((verb_name, refusal)) = refusals.into_iter().rev().max_by_key(|(_, refusal)| expected(refusal).len())
    else {
        return Ok(());
    };
    let found = match &setting.value {
        Value::Switch(on) => on.to_string(),
        Value::Text(text) => format!("`{}`", text.display()),
        Value::List(texts) => format!("`{}`", texts.join("`, `")),
    };
    Err(Failure::usage(format!("{}: `{}` cannot be {found}", setting.origin, setting.key))
        .detail(expected(&refusal))
        .hint(format!("genba {verb_name} --help says what --{} takes", setting.key)))
}

/// Why the verb does not take it.
pub fn refusal(verb: &Command, setting: &Setting) -> Option<clap::Error> {
    let line = [OsString::from(verb.get_name())].into_iter().chain(words(setting));
    verb.clone().try_get_matches_from(line).err()
}

fn expected(refusal: &clap::Error) -> String {
    let values = match refusal.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) if refusal.kind() == ErrorKind::InvalidValue => values.join(", "),
        _ => String::new(),
    };
    match refusal.source() {
        _ if !values.is_empty() => format!("expected one of {values}"),
        Some(source) => source.to_string(),
        None => refusal.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    }
}
