//! Settings in the environment: `GENBA_` and the key in capitals, `GENBA_MIN_SHARE`.
//! Owns: their spelling. Never: looks at a variable that is no setting (genba has others, for its own library and tests),
//! changes one.

use std::ffi::{OsStr, OsString};

use clap::Command;

use super::definition::{self, Kind};
use super::setting::{Origin, Setting, Value};
use crate::words::failure::Failure;

const ON: [&str; 4] = ["1", "true", "yes", "on"];
const OFF: [&str; 4] = ["0", "false", "no", "off"];

/// Those of `keys` that are set; an empty one is not.
pub fn read(command: &Command, keys: &[&'static str]) -> Result<Vec<Setting>, Failure> {
    let mut settings = Vec::new();
    for &key in keys {
        let name = name_of(key);
        let Some(text) = std::env::var_os(&name).filter(|text| !text.is_empty()) else {
            continue;
        };
        let kind = definition::verb_of(command, key).map_or(Kind::Value, |(_, verb)| definition::kind(verb, key));
        let value = value(kind, &text).ok_or_else(|| {
            Failure::usage(format!("{name}: `{key}` cannot be `{}`", text.display()))
                .detail("expected 1 or 0, true or false, yes or no, on or off")
                .hint(format!("{name}=1, or unset {name}"))
        })?;
        let setting = Setting { key, value, origin: Origin::Variable(name) };
        definition::check(command, &setting)?;
        settings.push(setting);
    }
    Ok(settings)
}

pub fn name_of(key: &str) -> String {
    format!("GENBA_{}", key.replace('-', "_").to_uppercase())
}

/// A list is separated by commas. None: a switch that is neither on nor off.
fn value(kind: Kind, text: &OsStr) -> Option<Value> {
    match kind {
        Kind::Value => Some(Value::Text(OsString::from(text))),
        Kind::List => Some(Value::List(text.to_string_lossy().split(',').map(str::to_owned).collect())),
        Kind::Switch => {
            let text = text.to_string_lossy().to_lowercase();
            let is = |words: [&str; 4]| words.contains(&text.as_str());
            (is(ON) || is(OFF)).then(|| Value::Switch(is(ON)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_named_after_its_key_and_reads_as_its_option() {
        assert_eq!(name_of("min-share"), "GENBA_MIN_SHARE");
        let check =
            |kind, text: &str, expected: Option<Value>| assert_eq!(value(kind, text.as_ref()), expected, "{text}");
        check(Kind::Switch, "Yes", Some(Value::Switch(true)));
        check(Kind::Switch, "0", Some(Value::Switch(false)));
        check(Kind::Switch, "maybe", None);
        check(Kind::List, "a=1,b=2", Some(Value::List(vec!["a=1".to_owned(), "b=2".to_owned()])));
        check(Kind::Value, "a,b", Some(Value::Text("a,b".into())));
    }
}
