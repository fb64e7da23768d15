//! The address of a genba server, as the user types it: `http://host:8970`, with or without `/`, with a path before it, https.
//! Owns: which addresses are refused, and where the interface and the pages lie below one. Never: asks the network; repeats an address
//! that may hold a secret.

use reqwest::Url;

use crate::words::failure::Failure;

const EXAMPLE: &str = "http://127.0.0.1:8970";
/// How a token of a genba server begins, and how many letters follow at least.
const TOKEN_MARK: &str = "genba_";
const TOKEN_LETTERS_MIN: usize = 16;

#[derive(Clone, Debug)]
pub struct Server {
    /// Ends with `/`.
    base: Url,
}

impl Server {
    /// Whether a word of the command line is meant as an address.
    pub fn is_address(word: &str) -> bool {
        let begins = |scheme: &str| word.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme));
        begins("http://") || begins("https://")
    }

    /// Err: words for the user, without the address where it holds a secret.
    pub fn parse(text: &str) -> Result<Server, Failure> {
        let text = text.trim();
        if !Server::is_address(text) {
            return Err(no_address(text));
        }
        if has_token(text) {
            return Err(secret("the address has a token in it"));
        }
        let mut base = Url::parse(text).map_err(|why| {
            // Without the address: `user:password@` may be part of it, and nobody can tell.
            Failure::usage(format!("the address of the server cannot be read: {why}"))
                .hint(format!("an address looks like {EXAMPLE}"))
        })?;
        if !base.username().is_empty() || base.password().is_some() {
            return Err(secret("the address has a user name or a password in it"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(Failure::usage("the address of a server has no `?` and no `#`")
                .detail("what stands behind them may be a secret, so it is not repeated here")
                .hint(format!("the address alone, such as {EXAMPLE}")));
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        Ok(Server { base })
    }

    /// As one would type it.
    pub fn shown(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// `path` is `api/…`; it is of characters that need no encoding.
    pub fn at(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path()));
        url
    }

    /// Of the recording with that number.
    pub fn page(&self, id: &str) -> String {
        self.at(&format!("r/{id}")).to_string()
    }

    pub fn is_encrypted(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// On this machine: no proxy is needed.
    pub fn is_here(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

/// Not repeated where it may hold a secret.
fn no_address(text: &str) -> Failure {
    let is_plain = !text.is_empty() && !text.contains(['@', '?', '#']) && !has_token(text);
    let what = if is_plain { format!("`{text}`") } else { "this".to_owned() };
    let failure = Failure::usage(format!("{what} is not the address of a server"))
        .detail("expected an address that begins with http:// or https://");
    let is_host = is_plain && !text.contains("://") && Url::parse(&format!("http://{text}")).is_ok();
    failure.hint(if is_host { format!("http://{text}") } else { format!("such as {EXAMPLE}") })
}

fn has_token(text: &str) -> bool {
    let is_letter = |letter: &char| letter.is_ascii_alphanumeric() || "-_".contains(*letter);
    text.split(TOKEN_MARK).skip(1).any(|rest| rest.chars().take_while(is_letter).count() >= TOKEN_LETTERS_MIN)
}

fn secret(what: &str) -> Failure {
    Failure::usage(what)
        .detail("every user of this machine can read a command line, and recordings store it")
        .hint("the address alone, and the token in GENBA_TOKEN or in a file that --token-file names")
}

#[cfg(test)]
mod tests {
    use super::Server;

    #[test]
    fn interface_and_pages_lie_below_the_address() {
        let check = |text: &str, api: &str, page: &str| {
            let server = Server::parse(text).unwrap();
            assert_eq!((server.at("api").as_str(), server.page("a1").as_str()), (api, page), "{text}");
        };
        check("http://host:8970", "http://host:8970/api", "http://host:8970/r/a1");
        check("http://host:8970/", "http://host:8970/api", "http://host:8970/r/a1");
        check("HTTPS://team.example/genba", "https://team.example/genba/api", "https://team.example/genba/r/a1");
        check(" https://team.example/genba/ ", "https://team.example/genba/api", "https://team.example/genba/r/a1");
        check("http://host/genba_team", "http://host/genba_team/api", "http://host/genba_team/r/a1");
        check("http://[::1]:8970", "http://[::1]:8970/api", "http://[::1]:8970/r/a1");
    }

    #[test]
    fn an_address_with_a_secret_is_refused_and_not_repeated() {
        for text in [
            "http://me:hunter2@host",
            "https://hunter2@host/",
            "http://host/?token=hunter2",
            "http://host/#hunter2",
            "http://host/genba_hunter2hunter2hunter2",
            "http://me:hunter2@host:port",
            "ftp://me:hunter2@host",
            "me:hunter2@host",
        ] {
            let words = Server::parse(text).unwrap_err().to_string();
            assert!(words.starts_with("error: ") && !words.contains("hunter2"), "{text}: {words}");
        }
    }

    #[test]
    fn a_host_without_a_scheme_gets_one_in_the_hint() {
        let words = Server::parse("host:8970").unwrap_err().to_string();
        assert!(words.ends_with("hint: http://host:8970"), "{words}");
        assert!(Server::parse("app.genba").is_err());
    }

    #[test]
    fn this_machine_is_told_from_others() {
        let is_here = |text: &str| Server::parse(text).unwrap().is_here();
        assert!(is_here("http://127.0.0.1:8970") && is_here("http://localhost") && is_here("http://[::1]:1/x"));
        assert!(!is_here("http://10.0.0.1") && !is_here("http://localhost.example"));
    }
}
