//! What is behind each address of `genba view`: values in, a page out.
//! Owns: who may ask (the right host, the secret), the list of recordings, and the page of a file that cannot be read. Never: opens a
//! connection; makes the viewer's page (genba-page does).

use std::path::PathBuf;

use genba_profile::figures;

use crate::read::{FilterOptions, SideTimes, Sides};
use crate::verbs::html::{Room, page_of_one, page_of_two};
use crate::words::failure::Failure;

pub struct Site {
    files: Vec<PathBuf>,
    port: u16,
    secret: String,
}

/// A request, as far as an answer depends on it.
pub struct Asked {
    /// GET or HEAD.
    pub is_reading: bool,
    pub host: Option<String>,
    pub path: String,
    pub query: String,
}

pub struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    pub body: String,
}

impl Answer {
    pub fn text(status: u16, words: &str) -> Answer {
        Answer { status, content_type: "text/plain; charset=utf-8", body: format!("{words}\n") }
    }

    fn page(status: u16, body: String) -> Answer {
        Answer { status, content_type: "text/html; charset=utf-8", body }
    }
}

impl Site {
    pub fn new(files: Vec<PathBuf>, port: u16, secret: String) -> Site {
        Site { files, port, secret }
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.secret)
    }

    pub fn names(&self) -> String {
        match self.files.as_slice() {
            [file] => file.display().to_string(),
            files => format!("{} recordings", files.len()),
        }
    }

    pub fn answer(&self, asked: &Asked) -> Answer {
        // A page of another site whose name was made to lead to this machine sends its own name.
        if !asked.host.as_deref().is_some_and(|host| self.is_own_host(host)) {
            return Answer::text(421, "genba view answers to 127.0.0.1 and localhost only");
        }
        if !asked.is_reading {
            return Answer::text(405, "genba view only shows: GET or HEAD");
        }
        let not_there = || Answer::text(404, "there is nothing here; genba view prints the address");
        let Some((secret, place)) = asked.path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
            return not_there();
        };
        if !is_same(secret, &self.secret) {
            return not_there();
        }
        let file = |number: &str| number.parse::<usize>().ok().and_then(|number| self.files.get(number));
        let filters = FilterOptions::default();
        let made = match place {
            "" if self.files.len() > 1 => return Answer::page(200, self.list()),
            "" => page_of_one(&self.files, &filters, Room::Unlimited),
            "compare" => {
                let side = |name: &str| parameter(&asked.query, name).and_then(file).cloned();
                let (Some(before), Some(after)) = (side("before"), side("after")) else { return not_there() };
                let files = (std::slice::from_ref(&before), std::slice::from_ref(&after));
                Sides::open("html", files, &SideTimes::default(), &filters)
                    .and_then(|sides| page_of_two(sides, None, Room::Unlimited))
            }
            place => match place.strip_prefix("recording/").and_then(file) {
                Some(path) => page_of_one(std::slice::from_ref(path), &filters, Room::Unlimited),
                None => return not_there(),
            },
        };
        match made {
            Ok(made) => Answer::page(200, made.page),
            Err(failure) => Answer::page(500, failed(&failure)),
        }
    }

    fn is_own_host(&self, host: &str) -> bool {
        ["127.0.0.1", "localhost"].iter().any(|name| {
            let port = host.strip_prefix(name);
            port == Some(&format!(":{}", self.port)) || self.port == 80 && port == Some("")
        })
    }

    fn list(&self) -> String {
        let row = |(number, path): (usize, &PathBuf)| {
            let name = escaped(&path.display().to_string());
            let size =
                std::fs::metadata(path).map_or_else(|error| error.to_string(), |found| figures::size(found.len()));
            format!("<li><a href=\"recording/{number}\">{name}</a> <span>{}</span></li>\n", escaped(&size))
        };
        let rows: String = self.files.iter().enumerate().map(row).collect();
        let choice = |name: &str, words: &str, chosen: usize| {
            let option = |(number, path): (usize, &PathBuf)| {
                let selected = if number == chosen { " selected" } else { "" };
                format!("<option value=\"{number}\"{selected}>{}</option>", escaped(&path.display().to_string()))
            };
            let options: String = self.files.iter().enumerate().map(option).collect();
            format!("<label>{words} <select name=\"{name}\">{options}</select></label>\n")
        };
        let (before, after) = (choice("before", "A, before", 0), choice("after", "B, after", 1));
        document(
            "recordings",
            &format!(
                "<h1>Recordings</h1>\n<ul>\n{rows}</ul>\n<h2>Compare</h2>\n<form action=\"compare\">\n{before}{after}<button>Compare</button>\n</form>\n"
            ),
        )
    }
}

/// As long for a wrong secret as for the right one.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

fn parameter<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name)).map(|(_, value)| value)
}

/// The words that the terminal would show.
fn failed(failure: &Failure) -> String {
    let words = escaped(&failure.to_string());
    document(
        "cannot be shown",
        &format!(
            "<h1>This recording cannot be shown</h1>\n<pre>{words}</pre>\n<p>Reload the page when that is mended.</p>\n"
        ),
    )
}

const STYLE: &str = ":root{color-scheme:light dark}body{font:14px/1.6 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}h1{font-size:1.2em}h2{font-size:1em;margin-top:2em}\
ul{padding:0;list-style:none}li span{opacity:.75}pre{white-space:pre-wrap;overflow-wrap:anywhere}a{overflow-wrap:anywhere}form{display:flex;flex-wrap:wrap;gap:.5em 1em}select{max-width:100%}";

fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
        <link rel=\"icon\" href=\"data:,\">\n<title>{title} · genba</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: &str, path: &str) -> Asked {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        Asked { is_reading: true, host: Some(host.to_owned()), path: path.to_owned(), query: query.to_owned() }
    }

    fn site() -> Site {
        let files = ["a <b>.genba", "c.genba"].map(|name| PathBuf::from("/nowhere").join(name));
        Site::new(files.to_vec(), 4127, "secret".to_owned())
    }

    #[test]
    fn only_this_machine_and_the_secret_are_answered() {
        let status = |host: &str, path: &str| site().answer(&asked(host, path)).status;
        for host in ["127.0.0.1:4127", "localhost:4127"] {
            assert_eq!(status(host, "/secret/"), 200, "{host}");
        }
        for host in
            ["evil.example", "evil.example:4127", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:4127", ""]
        {
            assert_eq!(status(host, "/secret/"), 421, "{host}");
        }
        assert_eq!(site().answer(&Asked { host: None, ..asked("", "/secret/") }).status, 421);
        for path in [
            "/",
            "/secret",
            "/Secret/",
            "/secre/",
            "/secret1/",
            "//secret/",
            "/secret/nothing",
            "/secret/recording/2",
            "/secret/recording/",
            "/secret/compare?before=0",
            "/secret/compare?before=0&after=9",
        ] {
            assert_eq!(status("127.0.0.1:4127", path), 404, "{path}");
        }
        assert_eq!(site().answer(&Asked { is_reading: false, ..asked("localhost:4127", "/secret/") }).status, 405);
    }

    #[test]
    fn names_of_files_are_no_html() {
        let list = site().answer(&asked("localhost:4127", "/secret/")).body;
        assert!(list.contains("a &lt;b&gt;.genba") && !list.contains("<b>"), "{list}");
        assert!(list.contains("<option value=\"1\" selected>/nowhere/c.genba</option>"), "{list}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_with_the_hint() {
        let answer = site().answer(&asked("localhost:4127", "/secret/recording/0"));
        assert_eq!(answer.status, 500);
        assert!(
            answer.body.contains("error: cannot open /nowhere/a &lt;b&gt;.genba: there is no such file"),
            "{}",
            answer.body
        );
    }
}
