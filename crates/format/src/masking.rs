//! Secrets on a command line, replaced by `***` before a recording holds it.
//! Owns: the rule (docs/privacy.md). Never: shortens a command line, so that what remains can be read and repeated.

const MASK: &str = "***";
/// In the name of an option, a variable, a field or a header.
const SECRET_WORDS: [&str; 7] = ["pass", "pwd", "token", "secret", "key", "cred", "auth"];

/// The words with the values of secrets masked: what follows an option with such a name, `NAME=VALUE` and `NAME: VALUE` anywhere in a
/// word, and `user:password@` or `token@` in an address.
#[must_use]
pub fn masked<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut is_value_of_secret = false;
    let mut line = Vec::new();
    for word in words {
        // A value may begin with one dash, as some tokens do.
        if is_value_of_secret && !word.starts_with("--") {
            is_value_of_secret = false;
            line.push(MASK.to_owned());
            continue;
        }
        is_value_of_secret = word.starts_with('-') && !word.contains(['=', ':']) && is_secret(word);
        line.push(without_users(&without_values(word)));
    }
    line
}

fn is_secret(name: &str) -> bool {
    // An author is not asked for anything.
    let name = name.to_lowercase().replace("authori", "auth").replace("author", "");
    SECRET_WORDS.iter().any(|secret| name.contains(secret))
}

/// `password=abc` → `password=***`, `Authorization: Bearer abc` → `Authorization: ***`.
fn without_values(word: &str) -> String {
    let mut masked = String::new();
    let mut rest = word;
    while let Some(at) = rest.find(['=', ':']) {
        let (before, sign) = (&rest[..at], rest.as_bytes()[at]);
        let value = &rest[at + 1..];
        let named = before.trim_end_matches(['"', '\'']);
        let name_starts = named
            .rfind(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '-' | '_'))
            .map_or(0, |at| at + named[at..].chars().next().map_or(1, char::len_utf8));
        let is_path = sign == b':' && (value.starts_with(':') || value.starts_with("//"));
        if is_path || value.is_empty() || !is_secret(&named[name_starts..]) {
            masked.push_str(&rest[..=at]);
            // `::` stands between names.
            let signs = usize::from(is_path && value.starts_with(':'));
            masked.push_str(&value[..signs]);
            rest = &value[signs..];
            continue;
        }
        masked.push_str(&rest[..=at]);
        let blanks = value.len() - value.trim_start().len();
        masked.push_str(&value[..blanks]);
        masked.push_str(MASK);
        rest = &value[blanks + value_bytes(&value[blanks..], sign)..];
    }
    masked + rest
}

/// How long a value is: to its closing quote, or to where the next field begins; without either a header's goes to the end.
fn value_bytes(value: &str, sign: u8) -> usize {
    if let Some(quote) = value.chars().next().filter(|letter| matches!(letter, '"' | '\'')) {
        return value[1..].find(quote).map_or(value.len(), |end| end + 2);
    }
    match sign {
        b'=' => value.find([' ', '\t', '\n', '&']).unwrap_or(value.len()),
        _ => value.len(),
    }
}

/// `https://user:pass@host/path` and `https://token@host/path` → `https://***@host/path`.
fn without_users(word: &str) -> String {
    let mut masked = String::new();
    let mut rest = word;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        masked.push_str(before);
        let authority_ends = after.find(['/', '?', '#', ' ', ',']).unwrap_or(after.len());
        rest = after;
        if let Some(host_starts) = after[..authority_ends].rfind('@') {
            masked.push_str(MASK);
            rest = &after[host_starts..];
        }
    }
    masked + rest
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        assert_eq!(masked(line.split('|')).join("|"), expected);
    }

    #[test]
    fn what_follows_a_secret_option_is_masked() {
        check("app.py|--api-token|abc|--verbose", "app.py|--api-token|***|--verbose");
        check("app.py|--API-Token=abc=d|x", "app.py|--API-Token=***|x");
        check("app.py|--use-key|--verbose|-k|v", "app.py|--use-key|--verbose|-k|v");
        check("app.py|--password", "app.py|--password");
        check("app.py|--password|-x1secret|-v", "app.py|--password|***|-v");
        check(
            "app.py|--db-pwd|a|--secret|b|--auth|c|--credentials|d",
            "app.py|--db-pwd|***|--secret|***|--auth|***|--credentials|***",
        );
        check("app.py|token|abc|--author|me|--author=me", "app.py|token|abc|--author|me|--author=me");
    }

    #[test]
    fn values_with_a_secret_name_are_masked_wherever_they_stand() {
        check("env|DB_PASSWORD=hunter2|python", "env|DB_PASSWORD=***|python");
        check("--env=API_TOKEN=p8|key=v", "--env=API_TOKEN=***|key=***");
        check("postgres://h/db?password=p7&x=1", "postgres://h/db?password=***&x=1");
        check("--dsn|host=h password=p9 port=1", "--dsn|host=h password=*** port=1");
        check("--dsn|host=h password='p 9' port=1", "--dsn|host=h password=*** port=1");
        check("-H|Authorization: Bearer p12", "-H|Authorization: ***");
        check("-H|X-Api-Key:p12", "-H|X-Api-Key:***");
        check(r#"{"user": "me", "password": "p", "port": 1}"#, r#"{"user": "me", "password": ***, "port": 1}"#);
        check("tests/test_token.py::test_key|a::secret::b", "tests/test_token.py::test_key|a::secret::b");
        check("größe=1|schlüssel_token=ö|=|:|a=:", "größe=1|schlüssel_token=***|=|:|a=:");
    }

    #[test]
    fn users_in_addresses_are_masked() {
        check("https://me:pw@host/p?q=a:b@c", "https://***@host/p?q=a:b@c");
        check("--url=postgres://me:p@ss@host:5432/db", "--url=postgres://***@host:5432/db");
        check("https://ghp_tok6@github.com/x|http://host:80/a@b", "https://***@github.com/x|http://host:80/a@b");
        check("a://u:p@h,b://u:p@h", "a://***@h,b://***@h");
    }
}
