//! What is behind each address of `genba view`: values in, a page out.
//! Owns: who may ask (the right host, the secret), which page that is and of which state of its files, that state as a word, the list of
//! recordings, and the page of a file that cannot be read. Never: opens a connection (genba-server does); makes the viewer's page (genba-page does).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use genba_page::{Beside, FOLLOW, comparing, followed};
use genba_profile::figures;
use genba_server::{Answer, Asked, Found, Site};
use genba_text::html::escaped;

use crate::files::growing_file::FileState;
use crate::read::{FilterOptions, SideTimes, Sides};
use crate::verbs::gc::cycles::kept_files;
use crate::verbs::html::{Made, Room, page_of_one, page_of_two};
use crate::words::failure::Failure;

/// Of the list, which sends a form, and of words.
const LIST_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Behind the address of each page but the list's: whether its files are still as they were.
const STATE: &str = "state";
/// Of files of which one is not there: a page that is shown is better than one that says so.
const MISSING: &str = "-";

/// The recordings that are shown, each behind an address.
pub struct Recordings {
    files: Vec<PathBuf>,
    port: u16,
    secret: String,
}

/// What somebody asked for who may have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Page {
    List,
    /// The only recording: where the list would be.
    Only,
    /// By its number in the list.
    One(usize),
    /// Of one recording twice, too: two times of it.
    Two {
        before: usize,
        after: usize,
        /// As `genba html` has them.
        flags: Vec<String>,
    },
    /// A comparison of recordings that there are, which cannot keep what its address says: why.
    Refused(String),
}

/// What a comparison keeps of each side.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Kept {
    #[command(flatten)]
    times: SideTimes,

    #[command(flatten)]
    filters: FilterOptions,
}

/// Those of its options that the address of a comparison may have.
const KEPT: [&str; 6] = ["before-time", "after-time", "process", "thread", "focus", "hide"];

/// A page, and the state of its files: two that are equal are the same page.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Versioned {
    page: Page,
    files: Vec<Option<FileState>>,
}

impl Versioned {
    /// The same for the same state, as long as genba runs.
    fn state(&self) -> String {
        if self.files.iter().any(Option::is_none) {
            return MISSING.to_owned();
        }
        let mut hasher = DefaultHasher::new();
        self.files.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

impl Recordings {
    pub fn new(files: Vec<PathBuf>, port: u16, secret: String) -> Recordings {
        Recordings { files, port, secret }
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

    fn page_at(&self, place: &str, query: &str) -> Option<Page> {
        let number = |word: &str| word.parse().ok().filter(|number| *number < self.files.len());
        let side = |name: &str| parameter(query, name).and_then(number);
        match place {
            "" if self.files.len() > 1 => Some(Page::List),
            "" => Some(Page::Only),
            "compare" => {
                let (before, after, flags) = (side("before")?, side("after")?, flags(query)?);
                let kept = Kept::try_parse_from(&flags);
                Some(kept.map_or_else(|refusal| Page::Refused(why(&refusal)), |_| Page::Two { before, after, flags }))
            }
            place => place.strip_prefix("recording/").and_then(number).map(Page::One),
        }
    }

    /// The page whose state is asked for.
    fn page_behind(&self, place: &str, query: &str) -> Option<Page> {
        let of = match place.strip_suffix(STATE)? {
            "" => "",
            of => of.strip_suffix('/').filter(|of| !of.is_empty())?,
        };
        self.page_at(of, query).filter(|page| !matches!(page, Page::List | Page::Refused(_)))
    }

    /// With the state that its files are in now.
    fn version(&self, page: Page) -> Versioned {
        let files: Vec<&PathBuf> = match page {
            Page::List => self.files.iter().collect(),
            Page::Only => vec![&self.files[0]],
            Page::One(file) => vec![&self.files[file]],
            Page::Two { before, after, .. } => vec![&self.files[before], &self.files[after]],
            Page::Refused(_) => Vec::new(),
        };
        // A page is made without those that are gone by then.
        let beside = if let Page::Only | Page::One(_) = page { kept_files::paths(files[0]) } else { Vec::new() };
        let beside = beside.iter().filter_map(|file| FileState::of(file)).map(Some);
        Versioned { files: files.into_iter().map(|file| FileState::of(file)).chain(beside).collect(), page }
    }

    fn is_own_host(&self, host: &str) -> bool {
        ["127.0.0.1", "localhost"].iter().any(|name| {
            let port = host.strip_prefix(name);
            port == Some(&format!(":{}", self.port)) || self.port == 80 && port == Some("")
        })
    }

    /// `up`: from the page's own address to that of the list.
    fn one(&self, file: usize, up: &str) -> Result<Made, Failure> {
        let mut made =
            page_of_one(std::slice::from_ref(&self.files[file]), &FilterOptions::default(), Room::Unlimited)?;
        let address = format!("{up}compare?before={file}&after={file}");
        made.page = comparing(&made.page, &escaped(&address));
        Ok(made)
    }

    fn two(&self, before: usize, after: usize, flags: &[String]) -> Result<Made, Failure> {
        let asked = Kept::try_parse_from(flags).map_err(|error| Failure::usage(error.to_string()))?;
        let Kept { times, filters } = asked;
        let side = |file: usize| std::slice::from_ref(&self.files[file]);
        // A recording whose times are compared is named once.
        let other = if before == after && times.before_time.is_some() { &[][..] } else { side(after) };
        page_of_two(Sides::open("html", (side(before), other), &times, &filters)?, None, Room::Unlimited)
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

impl Site for Recordings {
    type Page = Versioned;

    fn judge(&self, asked: &Asked) -> Result<Found<Versioned>, Answer> {
        // A page of another site whose name was made to lead to this machine sends its own name.
        if !asked.host.as_deref().is_some_and(|host| self.is_own_host(host)) {
            return Err(Answer::text(421, "genba view answers to 127.0.0.1 and localhost only"));
        }
        if !asked.is_reading {
            return Err(Answer::text(405, "genba view only shows: GET or HEAD"));
        }
        let place = asked.path.strip_prefix('/').and_then(|path| path.split_once('/'));
        let place = place.filter(|(secret, _)| is_same(secret, &self.secret)).map(|(_, place)| place);
        let found = place.and_then(|place| {
            let page = self.page_at(place, &asked.query).map(|page| Found::Page(self.version(page)));
            page.or_else(|| {
                let page = self.page_behind(place, &asked.query)?;
                Some(Found::Known(Answer::text(200, &self.version(page).state())))
            })
        });
        found.ok_or_else(|| Answer::text(404, "there is nothing here; genba view prints the address"))
    }

    fn make(&self, versioned: &Versioned) -> Answer {
        let began = Instant::now();
        let made = match &versioned.page {
            Page::List => return Answer::page(200, LIST_POLICY, self.list()),
            Page::Refused(why) => return Answer::page(400, LIST_POLICY, refused(why)),
            Page::Only => self.one(0, ""),
            Page::One(file) => self.one(*file, "../"),
            Page::Two { before, after, flags } => self.two(*before, *after, flags),
        };
        let (status, page) = match made {
            Ok(made) if made.is_final => return Answer::page(200, genba_page::policy(), made.page),
            Ok(made) => (200, made.page),
            Err(failure) => (500, failed(&failure)),
        };
        // The state before the files were read: what was written meanwhile is news, though the page may have it.
        let made_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (page, policy) = followed(&page, FOLLOW, Some(Beside { state: &versioned.state(), made_ms }));
        Answer::page(status, policy, page)
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

/// What the address of a comparison asks to keep. None: no browser writes such an address.
fn flags(query: &str) -> Option<Vec<String>> {
    let flag = |name: &&str| {
        let value = parameter(query, name)?;
        Some(decoded(value).map(|value| format!("--{name}={value}")))
    };
    KEPT.iter().filter_map(flag).collect()
}

/// Of a value that is wrong the reason, without the words around it that are for a command line.
fn why(refusal: &clap::Error) -> String {
    let said = |kind: ContextKind| match refusal.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    if let Some(reason) = std::error::Error::source(refusal) {
        let option = said(ContextKind::InvalidArg).split(' ').next().unwrap_or_default();
        return format!("{option} {}: {reason}", said(ContextKind::InvalidValue));
    }
    let words = refusal.to_string();
    let first: Vec<&str> = words.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    first.join(" ").trim_start_matches("error: ").to_owned()
}

/// As it was before a browser wrote it into a query. None: it is no text.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The words that the terminal would show.
fn failed(failure: &Failure) -> String {
    let words = escaped(&failure.to_string());
    document(
        "cannot be shown",
        &format!(
            "<h1>This recording cannot be shown</h1>\n<pre>{words}</pre>\n<p>The page reloads when the file changes.</p>\n"
        ),
    )
}

/// The patterns of a page are the browser's, and its links have them as they are.
fn refused(why: &str) -> String {
    let why = escaped(why);
    document(
        "cannot be shown",
        &format!(
            "<h1>This comparison cannot be shown</h1>\n<pre>error: {why}</pre>\n<p>Its address says what to keep. Patterns there have no look-around (<code>(?=…)</code>, \
            <code>(?&lt;!…)</code>) and no backreferences (<code>\\1</code>).</p>\n"
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

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: &str, path: &str) -> Asked {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        Asked { is_reading: true, host: Some(host.to_owned()), path: path.to_owned(), query: query.to_owned() }
    }

    fn site() -> Recordings {
        let files = ["a <b>.genba", "c.genba"].map(|name| PathBuf::from("/nowhere").join(name));
        Recordings::new(files.to_vec(), 4127, "secret".to_owned())
    }

    fn answer(asked: &Asked) -> Answer {
        let site = site();
        answer_of(&site, asked)
    }

    fn answer_of(site: &Recordings, asked: &Asked) -> Answer {
        match site.judge(asked) {
            Ok(Found::Page(page)) => site.make(&page),
            Ok(Found::Known(answer)) | Err(answer) => answer,
        }
    }

    fn body(path: &str) -> String {
        String::from_utf8(answer(&asked("localhost:4127", path)).body().to_vec()).expect("text")
    }

    #[test]
    fn only_this_machine_and_the_secret_are_answered() {
        let status = |host: &str, path: &str| answer(&asked(host, path)).status();
        for host in ["127.0.0.1:4127", "localhost:4127"] {
            assert_eq!(status(host, "/secret/"), 200, "{host}");
        }
        for host in
            ["evil.example", "evil.example:4127", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:4127", ""]
        {
            assert_eq!(status(host, "/secret/"), 421, "{host}");
        }
        assert_eq!(answer(&Asked { host: None, ..asked("", "/secret/") }).status(), 421);
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
            "/secret/compare?before=0&after=1&focus=%f",
            "/secret/compare?before=0&after=1&focus=%+f",
            "/secret/compare?before=0&after=1&focus=%ff",
            // The list has no state.
            "/secret/state",
            "/secret//state",
            "/secret/recording/0state",
            "/secret/recording/0//state",
            "/secret/recording/2/state",
            "/secret/compare/state?before=0",
            "/secret/compare/state?before=0&after=1&focus=(",
            "/secre/recording/0/state",
        ] {
            assert_eq!(status("127.0.0.1:4127", path), 404, "{path}");
        }
        assert_eq!(answer(&Asked { is_reading: false, ..asked("localhost:4127", "/secret/") }).status(), 405);
    }

    #[test]
    fn names_of_files_are_no_html() {
        let list = body("/secret/");
        assert!(list.contains("a &lt;b&gt;.genba") && !list.contains("<b>"), "{list}");
        assert!(list.contains("<option value=\"1\" selected>/nowhere/c.genba</option>"), "{list}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_with_the_hint() {
        assert_eq!(answer(&asked("localhost:4127", "/secret/recording/0")).status(), 500);
        let body = body("/secret/recording/0");
        assert!(body.contains("error: cannot open /nowhere/a &lt;b&gt;.genba: there is no such file"), "{body}");
    }

    #[test]
    fn the_state_of_a_page_is_another_one_when_any_of_its_files_grew() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = ["a.txt", "b.txt"].map(|name| folder.path().join(name));
        files.iter().for_each(|file| std::fs::write(file, "main;a 3\n").expect("written"));
        let site = Recordings::new(files.to_vec(), 4127, "secret".to_owned());
        let state = |place: &str| {
            let answer = answer_of(&site, &asked("localhost:4127", &format!("/secret/{place}")));
            assert_eq!((answer.status(), answer.policy()), (200, None), "{place}");
            String::from_utf8(answer.body().to_vec()).expect("text").trim().to_owned()
        };
        let states = || ["recording/0/state", "recording/1/state", "compare/state?before=0&after=1"].map(state);
        let before = states();
        assert_eq!(states(), before, "nothing changed");
        std::fs::write(&files[1], "main;a 3\nmain;b 4\n").expect("written");
        let after = states();
        assert_eq!(after[0], before[0]);
        assert!(after[1] != before[1] && after[2] != before[2], "{before:?} {after:?}");
        std::fs::remove_file(&files[0]).expect("removed");
        assert_eq!(states(), [MISSING, after[1].as_str(), MISSING]);
        std::fs::write(folder.path().join("b.cycles-1.json"), "{}").expect("written");
        let with_cycles = state("recording/1/state");
        assert!(with_cycles != after[1] && with_cycles != MISSING, "it is on the page of its recording");

        let refused = |asked: &Asked| answer_of(&site, asked).status();
        let place = "/secret/recording/1/state";
        assert_eq!(refused(&asked("evil.example:4127", place)), 421);
        assert_eq!(refused(&Asked { is_reading: false, ..asked("localhost:4127", place) }), 405);
        assert_eq!(refused(&asked("localhost:4127", "/secreT/recording/1/state")), 404);
    }

    #[test]
    fn a_comparison_keeps_what_its_address_says() {
        let flags_of = |query: &str| match site().page_at("compare", query) {
            Some(Page::Two { before: 0, after: 0, flags }) => flags,
            other => panic!("{query}: {other:?}"),
        };
        assert_eq!(flags_of("before=0&after=0"), [""; 0]);
        let asked = "before=0&after=0&before-time=0ms..1.5ms&after-time=1.5ms..3ms&process=7&focus=%5Ea+b%7Cc%24";
        let flags = flags_of(asked);
        assert_eq!(flags, ["--before-time=0ms..1.5ms", "--after-time=1.5ms..3ms", "--process=7", "--focus=^a b|c$"]);
        let kept = Kept::try_parse_from(&flags).expect("it was judged");
        assert!(kept.filters.are_any() && kept.times.after_time.is_some_and(|time| time.start_ns == 1_500_000));
    }

    #[test]
    fn a_comparison_that_cannot_keep_what_its_address_says_tells_why() {
        let look_around = "look-around, including look-ahead and look-behind, is not supported";
        for (kept, words) in [
            ("focus=(%3F%3Dmain)load", &format!("--focus (?=main)load: not a regular expression: {look_around}")),
            ("hide=load(%3F!_)", &format!("--hide load(?!_): not a regular expression: {look_around}")),
            ("focus=%3Cb%3E(", &"--focus &lt;b&gt;(: not a regular expression: unclosed group".to_owned()),
            ("before-time=1s&after-time=1s..2s", &"--before-time 1s: expected a time".to_owned()),
            ("before-time=..1s", &"not provided: --after-time".to_owned()),
        ] {
            let answer = answer(&asked("localhost:4127", &format!("/secret/compare?before=0&after=1&{kept}")));
            assert_eq!((answer.status(), answer.policy()), (400, Some(LIST_POLICY)), "{kept}");
            let body = String::from_utf8_lossy(answer.body());
            assert!(body.contains(words.as_str()) && !body.contains("--help"), "{body}");
        }
        // Only for whoever may have it, and of recordings that there are.
        for path in ["/secreT/compare?before=0&after=1&focus=(", "/secret/compare?before=0&after=9&focus=("] {
            assert_eq!(answer(&asked("localhost:4127", path)).status(), 404, "{path}");
        }
    }

    #[test]
    fn the_state_of_the_only_recording_is_beside_its_page() {
        let site = Recordings::new(vec![PathBuf::from("/nowhere/a.genba")], 4127, "secret".to_owned());
        let answer = answer_of(&site, &asked("localhost:4127", "/secret/state"));
        assert_eq!((answer.status(), answer.body()), (200, b"-\n".as_slice()));
        assert_eq!(answer_of(&site, &asked("localhost:4127", "/secret//state")).status(), 404);
    }

    #[test]
    fn a_page_follows_files_to_which_more_may_come() {
        let answer = answer(&asked("localhost:4127", "/secret/recording/0"));
        let (body, policy) = (String::from_utf8_lossy(answer.body()), answer.policy().expect("a page"));
        assert!(body.contains("data-state=\"-\" data-made-ms=\"") && policy.contains("connect-src 'self'"), "{policy}");

        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.txt");
        std::fs::write(&file, "main;a 3\n").expect("written");
        let imported = Recordings::new(vec![file], 4127, "secret".to_owned());
        let answer = answer_of(&imported, &asked("localhost:4127", "/secret/"));
        assert_eq!((answer.status(), answer.policy()), (200, Some(genba_page::policy())));
        let body = String::from_utf8_lossy(answer.body());
        assert!(!body.contains("data-state=\""), "nothing more comes to an imported file");
        assert!(body.contains("<body data-times=\"compare?before=0&amp;after=0\">"));
    }
}
