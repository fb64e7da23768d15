//! Secrets on a command line, replaced by `***` before it is stored.
//! Owns: the rule: values of options whose name contains password, token, secret or key, and `user:pass@` in URLs.
//! Never: shortens a command line, so that what remains can be read and repeated.

const MASK: &str = "***";
const SECRET_WORDS: [&str; 4] = ["password", "token", "secret", "key"];

/// `--api-token VALUE` and `--api-token=VALUE`, and `scheme://user:pass@host`.
pub fn masked<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut is_value_of_secret = false;
    let mut line = Vec::new();
    for word in words {
        if is_value_of_secret && !word.starts_with('-') {
            is_value_of_secret = false;
            line.push(MASK.to_owned());
            continue;
        }
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let is_secret = name.starts_with('-') && {
            let name = name.to_lowercase();
            SECRET_WORDS.iter().any(|secret| name.contains(secret))
        };
        is_value_of_secret = is_secret && value.is_none();
        if is_secret && value.is_some() {
            line.push(format!("{name}={MASK}"));
        } else {
            line.push(without_credentials(word));
        }
    }
    line
}

/// `https://user:pass@host/path` → `https://***@host/path`.
fn without_credentials(word: &str) -> String {
    let mut masked = String::new();
    let mut rest = word;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        masked.push_str(before);
        let authority_ends = after.find(['/', '?', '#', ' ']).unwrap_or(after.len());
        let host_starts = after[..authority_ends].rfind('@').map(|at| at + 1);
        rest = after;
        if let Some(host_starts) = host_starts
            && after[..host_starts].contains(':')
        {
            masked.push_str(MASK);
            rest = &after[host_starts - 1..];
        }
    }
    masked + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_options_and_credentials_in_urls_are_masked() {
        let check = |line: &str, expected: &str| assert_eq!(masked(line.split(' ')).join(" "), expected);
        check("app.py --api-token abc --verbose", "app.py --api-token *** --verbose");
        check("app.py --API-Token=abc=d x", "app.py --API-Token=*** x");
        check("app.py --use-key --verbose -k v", "app.py --use-key --verbose -k v");
        check("app.py --password", "app.py --password");
        check("app.py --db-password a --secret b", "app.py --db-password *** --secret ***");
        check("app.py token abc key=v", "app.py token abc key=v");
        check("app.py https://me:pw@host/p?q=a:b@c", "app.py https://***@host/p?q=a:b@c");
        check("app.py --url=postgres://me:p@ss@host:5432/db", "app.py --url=postgres://***@host:5432/db");
        check("app.py https://me@host http://host:80/a@b", "app.py https://me@host http://host:80/a@b");
        check("a://u:p@h,b://u:p@h", "a://***@h,b://***@h");
    }
}
