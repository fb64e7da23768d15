//! The command line as it is stored: secrets are masked. docs/privacy.md describes the rule.
//! Owns: the rule. Never: stores what it masked. Partner: the command masks its own line by the same rule.

const SECRET_WORDS: [&str; 4] = ["password", "token", "secret", "key"];
const MASK: &str = "***";

/// Masks values of options whose name contains a secret word, and `user:password@` in addresses.
#[must_use]
pub fn masked(argv: &[String]) -> Vec<String> {
    let mut value_is_secret = false;
    argv.iter()
        .map(|argument| {
            if value_is_secret && !argument.starts_with('-') {
                value_is_secret = false;
                return MASK.to_owned();
            }
            value_is_secret = false;
            if argument.starts_with('-') {
                if let Some((name, _)) = argument.split_once('=') {
                    if is_secret(name) {
                        return format!("{name}={MASK}");
                    }
                } else {
                    value_is_secret = is_secret(argument);
                }
            }
            without_user(argument)
        })
        .collect()
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// `scheme://user:password@host` with what stands before the `@` masked.
fn without_user(argument: &str) -> String {
    let Some((scheme, rest)) = argument.split_once("://") else {
        return argument.to_owned();
    };
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..host_end].rfind('@') {
        Some(at) if rest[..at].contains(':') => format!("{scheme}://{MASK}@{}", &rest[at + 1..]),
        _ => argument.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::masked;

    fn check(line: &str, expected: &str) {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(masked(&argv).join(" "), expected);
    }

    #[test]
    fn masks_values_of_secret_options() {
        check("app.py --api-token abc x", "app.py --api-token *** x");
        check("app.py --API-Token=abc --port 80", "app.py --API-Token=*** --port 80");
        check("app.py --key --verbose", "app.py --key --verbose");
    }

    #[test]
    fn masks_users_in_addresses() {
        check("app.py postgres://me:pw@db/x?y=1", "app.py postgres://***@db/x?y=1");
        check("app.py http://host/a@b:c", "app.py http://host/a@b:c");
    }
}
