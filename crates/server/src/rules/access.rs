//! Who asks, and what they may do.
//! Owns: the scopes and each decision by them. Never: finds out who asks (`routes/exchange/caller.rs` does).

use crate::storage::recordings::Recording;
use crate::storage::tokens::Token;
use crate::words::problem::Problem;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Read,
    Write,
    Admin,
}

/// Who asks where nobody logs in.
pub const LOCAL: &str = "local";
pub const NAME_LETTERS_MAX: usize = 64;

impl Scope {
    pub const ALL: [Scope; 3] = [Scope::Read, Scope::Write, Scope::Admin];

    pub fn word(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Admin => "admin",
        }
    }

    fn of_word(word: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.word() == word)
    }

    /// `read,write`, as it is typed and stored.
    pub fn listed(words: &str) -> Result<Vec<Scope>, Problem> {
        Scope::each(&words.split(',').map(str::trim).collect::<Vec<_>>())
    }

    /// One at least; each word is one.
    pub fn each(words: &[impl AsRef<str>]) -> Result<Vec<Scope>, Problem> {
        let none = |word: &str| {
            Problem::bad_request(format!("`{word}` is no scope")).hint("scopes are read, write and admin: read,write")
        };
        if words.is_empty() {
            return Err(Problem::bad_request("a token has one scope at least").hint("scopes are read, write and admin"));
        }
        let mut scopes: Vec<Scope> = Vec::new();
        for word in words {
            let scope = Scope::of_word(word.as_ref()).ok_or_else(|| none(word.as_ref()))?;
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        Ok(scopes)
    }
}

/// The words of a list of scopes, separated by commas.
pub fn words(scopes: &[Scope]) -> String {
    let words: Vec<&str> = Scope::ALL.into_iter().filter(|scope| scopes.contains(scope)).map(Scope::word).collect();
    words.join(",")
}

/// A letter or digit, then also `.`, `_`, `@` and `-`.
pub fn is_token_name(name: &str) -> bool {
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric();
    name.len() <= NAME_LETTERS_MAX
        && name.bytes().next().is_some_and(is_plain)
        && name.bytes().all(|letter| is_plain(letter) || b"._@-".contains(&letter))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub name: String,
    pub scopes: Vec<Scope>,
}

impl Caller {
    /// On loopback, while there is no token.
    pub fn local() -> Caller {
        Caller { name: LOCAL.to_owned(), scopes: Scope::ALL.to_vec() }
    }

    pub fn of_token(token: Token) -> Caller {
        let scopes = Scope::listed(&token.scopes).unwrap_or_default();
        Caller { name: token.name, scopes }
    }

    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&Scope::Admin) || self.scopes.contains(&scope)
    }

    pub fn needs(&self, scope: Scope) -> Result<(), Problem> {
        match self.may(scope) {
            true => Ok(()),
            false => Err(Problem::forbidden(format!("the token {} may not do that", self.name)).detail(format!(
                "it has the scope {}, and this needs {}",
                words(&self.scopes),
                scope.word()
            ))),
        }
    }

    pub fn owns(&self, recording: &Recording) -> bool {
        recording.owner == self.name
    }

    /// Rows of all that are listed; a token that may only write sees what it wrote.
    pub fn may_see(&self, recording: &Recording) -> bool {
        (self.may(Scope::Read) && recording.is_listed()) || self.owns(recording) || self.may(Scope::Admin)
    }

    pub fn may_change(&self, recording: &Recording) -> bool {
        self.may(Scope::Admin) || (self.may(Scope::Write) && self.owns(recording))
    }

    pub fn needs_to_change(&self, recording: &Recording) -> Result<(), Problem> {
        self.needs(Scope::Write)?;
        match self.may_change(recording) {
            true => Ok(()),
            false => Err(Problem::forbidden("this recording is somebody else's")
                .detail(format!("{} uploaded it; only that token or an admin may change it", recording.owner))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(scopes: &str) -> Caller {
        Caller { name: "lena".to_owned(), scopes: Scope::listed(scopes).expect("scopes") }
    }

    #[test]
    fn an_admin_may_everything_and_write_is_not_read() {
        assert!(Scope::ALL.into_iter().all(|scope| caller("admin").may(scope)));
        assert!(caller("write").needs(Scope::Read).is_err());
        assert!(caller("read").needs(Scope::Write).is_err());
        assert!(caller("read,write").needs(Scope::Admin).is_err());
        assert!(Scope::listed("read,all").is_err() && Scope::listed("").is_err());
        assert_eq!(words(&Scope::listed("write, read,write").expect("scopes")), "read,write");
    }

    #[test]
    fn names_of_tokens() {
        for name in ["sam", "ci-orders", "lena@build.7", "0"] {
            assert!(is_token_name(name), "{name}");
        }
        for name in ["", "-x", ".", "a b", "a/b", "ä", &"a".repeat(65)] {
            assert!(!is_token_name(name), "{name}");
        }
    }
}
