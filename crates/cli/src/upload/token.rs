//! The token that says to a server who pushes: from GENBA_TOKEN or a file, never from the command line.
//! Owns: where it is looked for. Never: shows one; `Token` cannot be printed.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use reqwest::header::HeaderValue;

use crate::words::failure::{Failure, of_system, say};

pub const TOKEN_VARIABLE: &str = "GENBA_TOKEN";
/// Longer than any token.
const BYTES_MAX: u64 = 4096;
const READABLE_BY_OTHERS: u32 = 0o044;

#[derive(Clone)]
pub struct Token(HeaderValue);

impl Token {
    /// Of the file if one is named, else of the variable. None: there is no token, as for a server on this machine.
    pub fn find(file: Option<&Path>) -> Result<Option<Token>, Failure> {
        match (file, std::env::var_os(TOKEN_VARIABLE).filter(|value| !value.is_empty())) {
            (Some(file), _) => read(file).map(Some),
            (None, Some(value)) => of_text(value.to_str().unwrap_or("\u{fffd}"), TOKEN_VARIABLE).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// `Bearer …`
    pub fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

fn read(path: &Path) -> Result<Token, Failure> {
    let shown = path.display();
    let cannot = |error: std::io::Error| {
        Failure::usage(format!("cannot read the token in {shown}: {}", of_system(&error)))
            .hint("name a file of yours that holds the token alone, or put the token into GENBA_TOKEN")
    };
    let file = File::open(path).map_err(cannot)?;
    let mode = file.metadata().map_err(cannot)?.mode();
    if mode & READABLE_BY_OTHERS != 0 {
        say(&format!("warning: others can read the token in {shown} (mode {:o}); chmod 600 {shown}", mode & 0o7777));
    }
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text).map_err(cannot)?;
    of_text(&text, &shown.to_string())
}

fn of_text(text: &str, place: &str) -> Result<Token, Failure> {
    let text = text.trim();
    let is_token = !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_graphic());
    let header = HeaderValue::from_str(&format!("Bearer {text}")).ok().filter(|_| is_token);
    let mut header = header.ok_or_else(|| {
        Failure::usage(format!("there is no token in {place}"))
            .detail("expected one word, as genba serve token add NAME prints it")
            .hint("genba serve token add NAME, on the server, makes a token")
    })?;
    header.set_sensitive(true);
    Ok(Token(header))
}
