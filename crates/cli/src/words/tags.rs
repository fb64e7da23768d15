//! Words of the user's own beside a recording: `--tag KEY=VALUE`.
//! Owns: their grammar on the command line.

pub fn tag(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if !key.is_empty() => Ok(text.to_owned()),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}
