//! Settings in a file: the nearest `genba.toml`, or `pyproject.toml` with a table `[tool.genba]`, from the current directory up to
//! the root. In one folder genba.toml wins; files are not merged.
//! Owns: the search, and the words for a file that cannot be used, with its line. Never: writes; takes the file of another
//! user from a folder that everybody may write to (`/tmp/genba.toml` must not choose an interpreter).

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Command;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::definition::{self, Kind};
use super::setting::{KEYS, Origin, Setting, Value};
use crate::words::commands::slips_max;
use crate::words::failure::{self, Failure};

const OWN: &str = "genba.toml";
const SHARED: &str = "pyproject.toml";
/// Names of fewer letters are a slip away from many others.
const SHORT: usize = 3;
const WRITABLE_BY_ALL: u32 = 0o002;

/// What the search found.
#[derive(Default)]
pub struct Nearest {
    /// Of the file and its table, None when there is none.
    pub shown: Option<String>,
    /// In the order of the keys.
    pub settings: Vec<Setting>,
    /// Files that were there and not taken, with the reason.
    pub passed_over: Vec<String>,
    /// `pyproject.toml` beside `genba.toml`, with settings of its own.
    pub outdone: Option<String>,
}

pub fn nearest(command: &Command) -> Result<Nearest, Failure> {
    let mut found = Nearest::default();
    // Without a current directory there is nothing to be near to.
    let Ok(here) = std::env::current_dir() else {
        return Ok(found);
    };
    for folder in here.ancestors() {
        for name in [OWN, SHARED] {
            let path = folder.join(name);
            let shown = path.strip_prefix(&here).unwrap_or(&path).display().to_string();
            if found.shown.is_some() {
                // Nothing is wrong with what is not used.
                found.outdone = has_table(&path).then_some(shown);
                continue;
            }
            let Some(text) = text_of(&path, &shown, folder, &mut found.passed_over)? else {
                continue;
            };
            let Some(settings) = Reader { command, text: &text, shown: &shown, folder }.settings(name)? else {
                continue;
            };
            found.settings = settings;
            found.shown = Some(if name == OWN { shown } else { format!("{shown} [tool.genba]") });
        }
        if found.shown.is_some() {
            break;
        }
    }
    Ok(found)
}

/// Whether it is a `pyproject.toml` with a table of genba's, as far as that can be read.
fn has_table(path: &Path) -> bool {
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    let text = if is_file { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
    let document = DeTable::parse(&text);
    document.is_ok_and(|document| own_table(document.get_ref()).is_some())
}

fn own_table<'a, 'b>(document: &'a DeTable<'b>) -> Option<&'a Spanned<DeValue<'b>>> {
    document.get("tool").and_then(|tool| tool.get_ref().get("genba"))
}

/// None: no such file, one that is not to be trusted, or a pyproject.toml that does not know genba.
fn text_of(
    path: &PathBuf,
    shown: &str,
    folder: &Path,
    passed_over: &mut Vec<String>,
) -> Result<Option<String>, Failure> {
    let unusable = |why: String| {
        Failure::usage(format!("cannot read the settings in {shown}: {why}"))
            .hint("make it readable, or start genba in another folder")
    };
    let metadata = match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => metadata,
        _ => return Ok(None),
    };
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(failure::of_system(&error))),
    };
    let is_for_genba = path.ends_with(OWN) || bytes.windows(5).any(|name| name == b"genba");
    if !is_for_genba {
        return Ok(None);
    }
    let owner = metadata.uid();
    let is_of_somebody_else = owner != 0 && owner != rustix::process::geteuid().as_raw();
    if is_of_somebody_else && fs::metadata(folder).is_ok_and(|folder| folder.mode() & WRITABLE_BY_ALL != 0) {
        passed_over.push(format!(
            "the settings in {shown} are not used: the file is user {owner}'s, in a folder that everybody may write to"
        ));
        return Ok(None);
    }
    String::from_utf8(bytes).map(Some).map_err(|_| unusable("it is not UTF-8".to_owned()))
}

struct Reader<'a> {
    command: &'a Command,
    text: &'a str,
    shown: &'a str,
    folder: &'a Path,
}

impl Reader<'_> {
    /// None: no table of genba's in it.
    fn settings(&self, name: &str) -> Result<Option<Vec<Setting>>, Failure> {
        let document =
            DeTable::parse(self.text).map_err(|error| {
                let at = self.at(error.span().map_or(0, |span| span.start));
                Failure::usage(format!("{at}: not TOML: {}", error.message().trim_end().replace('\n', ", "))).hint(
                    format!("correct line {} of {}", self.line(error.span().map_or(0, |span| span.start)), self.shown),
                )
            })?;
        let document = document.get_ref();
        if name == OWN {
            return self.of_table(document).map(Some);
        }
        match own_table(document).map(|own| (own, own.get_ref().as_table())) {
            None => Ok(None),
            Some((_, Some(table))) => self.of_table(table).map(Some),
            Some((own, None)) => Err(Failure::usage(format!(
                "{}: `tool.genba` is {}, not a table",
                self.at(own.span().start),
                named(own.get_ref())
            ))
            .hint("[tool.genba], and below it lines such as: interval = \"1ms\"")),
        }
    }

    fn of_table(&self, table: &DeTable<'_>) -> Result<Vec<Setting>, Failure> {
        let mut settings = Vec::new();
        let mut in_order: Vec<_> = table.iter().collect();
        in_order.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in in_order {
            let Some((known, verb)) = definition::verb_of(self.command, key.get_ref()) else {
                return Err(self.unknown(key));
            };
            let kind = definition::kind(verb, known);
            let line = self.line(key.span().start);
            let value = self.value(kind, value.get_ref()).ok_or_else(|| {
                let expected = match kind {
                    Kind::Switch => ("true or false", format!("{known} = true")),
                    Kind::Value => ("a string or a number", format!("{known} = \"…\"")),
                    Kind::List => ("a list of strings", format!("{known} = [\"…\"]")),
                };
                Failure::usage(format!("{}:{line}: `{known}` cannot be {}", self.shown, named(value.get_ref())))
                    .detail(format!("expected {}", expected.0))
                    .hint(format!("{}; genba {} --help says what --{known} takes", expected.1, verb.get_name()))
            })?;
            let value = if known == "python" { self.beside(value) } else { value };
            let setting = Setting { key: known, value, origin: Origin::File { shown: self.shown.to_owned(), line } };
            definition::check(self.command, &setting)?;
            settings.push(setting);
        }
        Ok(settings)
    }

    /// None: another type than the option takes. A number is what would be typed.
    fn value(&self, kind: Kind, value: &DeValue<'_>) -> Option<Value> {
        let text = |text: &str| Some(Value::Text(text.into()));
        match (kind, value) {
            (Kind::Switch, DeValue::Boolean(on)) => Some(Value::Switch(*on)),
            (Kind::Value, DeValue::String(string)) => text(string),
            (Kind::Value, DeValue::Integer(number)) => {
                let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
                text(&number.to_string())
            }
            (Kind::Value, DeValue::Float(number)) => text(number.as_str()),
            (Kind::List, DeValue::Array(array)) => {
                let texts = array.iter().map(|one| one.get_ref().as_str().map(str::to_owned));
                texts.collect::<Option<Vec<_>>>().map(Value::List)
            }
            _ => None,
        }
    }

    /// A path to an interpreter is relative to the file, wherever genba is started below it; a name is looked up on PATH.
    fn beside(&self, value: Value) -> Value {
        match value {
            Value::Text(path) if path.to_string_lossy().contains('/') => Value::Text(self.folder.join(path).into()),
            other => other,
        }
    }

    fn unknown(&self, key: &Spanned<std::borrow::Cow<'_, str>>) -> Failure {
        let name = key.get_ref();
        let failure = Failure::usage(format!("{}: `{name}` is not a setting of genba", self.at(key.span().start)));
        let keys = || KEYS.iter().flat_map(|(_, keys)| keys.iter().copied());
        if self.shown.ends_with(OWN) && name == "tool" {
            return failure.hint("in genba.toml the settings stand at the top, without [tool.genba]");
        }
        let bare = name.trim_start_matches('-').replace('_', "-");
        let bare = bare.strip_prefix("no-").unwrap_or(&bare);
        let slips = |key: &str| strsim::osa_distance(key, bare);
        let like = keys().min_by_key(|key| slips(key));
        let is_short = bare.len() < SHORT;
        if let Some(like) = like.filter(|like| slips(like) == 0 || !is_short && slips(like) <= slips_max(bare)) {
            let is_negated = like == bare && name.starts_with("no");
            return failure.hint(if is_negated {
                format!("{like} = false")
            } else {
                format!("did you mean `{like}`?")
            });
        }
        let has_it =
            |verb: &&Command| verb.get_arguments().any(|one| one.get_long() == Some(bare) && !one.is_hide_set());
        let failure = match self.command.get_subcommands().find(has_it) {
            Some(verb) => failure.hint(format!("--{bare} is an option of genba {}, and no setting", verb.get_name())),
            None => failure,
        };
        let mut keys: Vec<&str> = keys().collect();
        keys.sort_unstable();
        keys.dedup();
        failure.hint(format!("the settings are {}", keys.join(", ")))
    }

    fn at(&self, byte: usize) -> String {
        format!("{}:{}", self.shown, self.line(byte))
    }

    /// From 1.
    fn line(&self, byte: usize) -> usize {
        self.text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count() + 1
    }
}

fn named(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
