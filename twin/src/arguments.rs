//! The twin's command line: three verbs and a few numbers.
//! Owns: its grammar. Never: guesses at what is missing.

use std::path::PathBuf;

use crate::{image, recording, watch};

const USAGE: &str =
    "usage: genba-twin watch PID --python 3.N --stops N --seed N --under NAME [--summary FILE] [--instructions apart]
       genba-twin recording FILE --under NAME [--root FOLDER] [--from-ns N --to-ns N]
       genba-twin image PID --to FILE";

pub enum Verb {
    Watch(watch::Options),
    Recording(recording::Options),
    Image(image::Options),
}

impl Verb {
    pub fn run(self) -> Result<(), String> {
        match self {
            Verb::Watch(options) => watch::run(&options),
            Verb::Recording(options) => recording::run(&options),
            Verb::Image(options) => image::run(&options),
        }
    }
}

pub fn read(arguments: &[String]) -> Result<Verb, String> {
    let (verb, rest) = arguments.split_first().ok_or(USAGE)?;
    let (subject, flags) = rest.split_first().ok_or(USAGE)?;
    if flags.chunks(2).any(|pair| pair.len() != 2) {
        return Err(USAGE.to_owned());
    }
    let flag = |name: &str| flags.chunks_exact(2).find(|pair| pair[0] == name).map(|pair| pair[1].clone());
    let must = |name: &str| flag(name).ok_or_else(|| format!("{name} is missing\n{USAGE}"));
    let number =
        |name: &str, text: String| text.parse::<u64>().map_err(|_| format!("{name} {text}: not a number\n{USAGE}"));
    let root = flag("--root").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    match verb.as_str() {
        "watch" => {
            let version = must("--python")?;
            let minor = version.split('.').nth(1).and_then(|minor| minor.parse().ok());
            Ok(Verb::Watch(watch::Options {
                pid: number("PID", subject.clone())? as i32,
                minor: minor.ok_or_else(|| format!("--python {version}: not a version\n{USAGE}"))?,
                stops: number("--stops", must("--stops")?)?,
                seed: number("--seed", must("--seed")?)?,
                under: must("--under")?,
                instructions_apart: flag("--instructions").is_some_and(|where_| where_ == "apart"),
                summary: flag("--summary").map(PathBuf::from),
            }))
        }
        "recording" => Ok(Verb::Recording(recording::Options {
            file: PathBuf::from(subject),
            under: must("--under")?,
            root,
            from_ns: flag("--from-ns").map_or(Ok(0), |text| number("--from-ns", text))?,
            to_ns: flag("--to-ns").map_or(Ok(u64::MAX), |text| number("--to-ns", text))?,
        })),
        "image" => Ok(Verb::Image(image::Options {
            pid: number("PID", subject.clone())? as i32,
            file: PathBuf::from(must("--to")?),
        })),
        other => Err(format!("no verb `{other}`\n{USAGE}")),
    }
}
