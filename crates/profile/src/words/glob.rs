//! Names with `*` and `?` in them, as a shell writes them. Without either a name means itself.
//! Never: looks at the file system.

use regex::Regex;

#[derive(Clone, Debug)]
pub struct Glob {
    text: String,
    whole: Regex,
}

impl Glob {
    /// Err: too long to be carried out, in words.
    pub fn new(text: &str) -> Result<Glob, String> {
        let pattern: String = text
            .chars()
            .map(|character| match character {
                '*' => ".*".to_string(),
                '?' => ".".to_string(),
                other => regex::escape(other.encode_utf8(&mut [0; 4])),
            })
            .collect();
        let whole = Regex::new(&format!("(?s)^(?:{pattern})$")).map_err(|error| error.to_string())?;
        Ok(Glob { text: text.to_string(), whole })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn matches(&self, name: &str) -> bool {
        self.whole.is_match(name)
    }

    /// The whole path or what follows one of its slashes: `app.py` and `src/*.py` match `/home/me/src/app.py`.
    pub fn matches_end_of_path(&self, path: &str) -> bool {
        self.matches(path) || path.match_indices('/').any(|(slash, _)| self.matches(&path[slash + 1..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        let matches = |glob: &str, name: &str| Glob::new(glob).expect("a short glob").matches(name);
        for (glob, name) in [("worker", "worker"), ("work*", "worker-1"), ("w?rk", "wörk"), ("*", ""), ("a.b", "a.b")]
        {
            assert!(matches(glob, name), "{glob} {name}");
        }
        for (glob, name) in [("work", "worker"), ("a.b", "axb"), ("w?rk", "wrk"), ("[a]", "a"), ("Work*", "worker")] {
            assert!(!matches(glob, name), "{glob} {name}");
        }
    }

    #[test]
    fn a_path_is_matched_from_one_of_its_slashes_to_its_end() {
        let matches = |glob: &str| Glob::new(glob).expect("a short glob").matches_end_of_path("/home/me/src/app.py");
        for glob in ["app.py", "src/app.py", "src/*.py", "*.py", "/home/*", "/home/me/src/app.py"] {
            assert!(matches(glob), "{glob}");
        }
        for glob in ["pp.py", "src", "me/app.py", "app"] {
            assert!(!matches(glob), "{glob}");
        }
    }
}
