//! `genba serve token`: made, listed, rotated, revoked. A secret is printed once, alone on stdout.

use clap::Subcommand;
use genba_server::{Place, Token, add_token, list_tokens, revoke_token, rotate_token};

use crate::read::print;
use crate::verbs::serve::amounts::{age_ms, now_ms};
use crate::verbs::serve::refusal::failure;
use crate::words::failure::{Failure, say};

const DAY_MS: i64 = 86_400_000;

#[derive(Subcommand)]
pub enum Task {
    /// Make a token and print it, once
    Add {
        #[arg(value_name = "NAME")]
        name: String,
        /// What it may do: read, write, admin, several separated by commas
        #[arg(long, value_name = "SCOPES", default_value = "read,write")]
        scope: String,
        /// Valid for so long, such as 90d, 1y, or never
        #[arg(long, value_name = "AGE", default_value = "1y")]
        expires: String,
    },
    /// All tokens, without their secrets
    List,
    /// A new secret in place of the old one, which is not valid any more
    Rotate {
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Nobody comes in with it any more
    Revoke {
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// `first_token`: the command that makes one there.
pub fn token(task: &Task, place: &Place, first_token: &str) -> Result<(), Failure> {
    match task {
        Task::Add { name, scope, expires } => {
            let expires_ms = match expires.as_str() {
                "never" => None,
                age => {
                    let age = age_ms(age);
                    Some(
                        now_ms()
                            + age.map_err(|why| Failure::usage(format!("--expires {expires}: {why}, or never")))?,
                    )
                }
            };
            let secret = add_token(place, name, scope, expires_ms).map_err(failure)?;
            print(&format!("{secret}\n"))?;
            say(&format!("this is the token {name}; it is shown once: only its hash is kept"));
        }
        Task::List => {
            let tokens = list_tokens(place).map_err(failure)?;
            if tokens.is_empty() {
                say(&format!("there is no token yet: {first_token}"));
            }
            let now_ms = now_ms();
            let lines: String = tokens.iter().map(|token| line(token, now_ms)).collect();
            print(&lines)?;
        }
        Task::Rotate { name } => {
            let secret = rotate_token(place, name).map_err(failure)?;
            print(&format!("{secret}\n"))?;
            say(&format!("this is the token {name} from now on; it is shown once"));
        }
        Task::Revoke { name } => {
            revoke_token(place, name).map_err(failure)?;
            say(&format!("revoked the token {name}"));
        }
    }
    Ok(())
}

fn line(token: &Token, now_ms: i64) -> String {
    let days = |ms: i64| match (now_ms - ms).max(0) / DAY_MS {
        0 => "today".to_owned(),
        1 => "1 day ago".to_owned(),
        days => format!("{days} days ago"),
    };
    let used = token.used_ms.map_or_else(|| "never used".to_owned(), |used_ms| format!("used {}", days(used_ms)));
    let ends = match (token.revoked_ms, token.expires_ms) {
        (Some(revoked_ms), _) => format!("revoked {}", days(revoked_ms)),
        (None, None) => "does not expire".to_owned(),
        (None, Some(expires_ms)) if expires_ms <= now_ms => format!("expired {}", days(expires_ms)),
        (None, Some(expires_ms)) => format!("expires in {} days", (expires_ms - now_ms) / DAY_MS),
    };
    format!("{:<24} {:<18} made {}, {used}, {ends}\n", token.name, token.scopes, days(token.made_ms))
}
