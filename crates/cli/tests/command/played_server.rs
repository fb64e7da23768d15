//! A server that plays the routes of an upload on a port of its own, and can fail at each of them.
//! Owns: what it was sent. Never: is more than what `genba push` asks for (crates/server is the real one).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

pub const CHUNK_BYTES_MAX: usize = 400;

/// What happens to a request, once.
#[derive(Clone)]
pub enum Fault {
    /// The connection ends before the request is carried out.
    Cut,
    /// It is carried out, and the connection ends before the answer.
    CutAfter,
    /// Nothing is carried out: status line's rest, more headers (each with its line end), body.
    Answer(&'static str, &'static str, &'static str),
    /// The recording is cut to so many bytes first.
    Lose(usize),
    /// No answer as long as the test runs.
    Hang,
}

#[derive(Default, Clone)]
pub struct Recording {
    pub words: String,
    pub bytes: Vec<u8>,
    pub sealed: Option<String>,
    pub is_deleted: bool,
}

#[derive(Default)]
pub struct Seen {
    pub connections: usize,
    /// `PATCH /api/recordings/id-0/content 0`
    pub requests: Vec<String>,
    pub tokens: Vec<String>,
    pub recordings: Vec<Recording>,
    /// The beginning of a request, and what happens to the next such.
    faults: Vec<(&'static str, Fault)>,
}

#[derive(Clone)]
pub struct Played {
    pub address: String,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

impl Played {
    pub fn start(faults: &[(&'static str, Fault)]) -> Played {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("its address"));
        let played = Played { address, seen: Arc::default() };
        played.look(|seen| seen.faults = faults.to_vec());
        let server = played.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = server.clone();
                std::thread::spawn(move || server.answer(stream));
            }
        });
        played
    }

    pub fn look<T>(&self, at: impl FnOnce(&mut Seen) -> T) -> T {
        at(&mut self.seen.0.lock().expect("no test failed with it"))
    }

    /// Until such a request has come, and was carried out.
    pub fn wait_for(&self, begin: &str) {
        let seen = self.seen.0.lock().expect("no test failed with it");
        let is_missing = |seen: &mut Seen| !seen.requests.iter().any(|request| request.starts_with(begin));
        drop(self.seen.1.wait_while(seen, is_missing).expect("no test failed with it"));
    }

    pub fn recordings(&self) -> Vec<Recording> {
        self.look(|seen| seen.recordings.iter().filter(|one| !one.is_deleted).cloned().collect())
    }

    /// How many requests begin so.
    pub fn count(&self, begin: &str) -> usize {
        self.look(|seen| seen.requests.iter().filter(|request| request.starts_with(begin)).count())
    }

    fn answer(&self, mut stream: TcpStream) {
        self.look(|seen| seen.connections += 1);
        let mut lines = BufReader::new(stream.try_clone().expect("a second handle"));
        let mut line = String::new();
        if lines.read_line(&mut line).is_err() || line.is_empty() {
            return;
        }
        let mut words = line.split(' ');
        let (method, path) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
        let (mut length, mut offset, mut token) = (0, None, String::new());
        loop {
            let mut header = String::new();
            lines.read_line(&mut header).expect("a header");
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().expect("a number"),
                "upload-offset" => offset = value.parse::<usize>().ok(),
                "authorization" => token = value.to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        if lines.read_exact(&mut body).is_err() {
            return;
        }
        let request = format!("{method} {path}{}", offset.map(|at| format!(" {at}")).unwrap_or_default());
        let fault = self.look(|seen| {
            seen.tokens.push(token);
            let position = seen.faults.iter().position(|(begin, _)| request.starts_with(begin));
            position.map(|position| seen.faults.remove(position).1)
        });
        let answer = match &fault {
            Some(Fault::Cut | Fault::Hang) => None,
            Some(Fault::Answer(status, headers, body)) => Some(whole(status, headers, body)),
            Some(Fault::Lose(bytes)) => {
                self.look(|seen| seen.recordings.iter_mut().for_each(|one| one.bytes.truncate(*bytes)));
                Some(self.perform(&method, &path, offset, &body))
            }
            Some(Fault::CutAfter) => {
                self.perform(&method, &path, offset, &body);
                None
            }
            None => Some(self.perform(&method, &path, offset, &body)),
        };
        self.look(|seen| seen.requests.push(request));
        self.seen.1.notify_all();
        match answer {
            Some(answer) => drop(stream.write_all(answer.as_bytes())),
            None if matches!(fault, Some(Fault::Hang)) => std::thread::park(),
            None => {}
        }
    }

    fn perform(&self, method: &str, path: &str, offset: Option<usize>, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body).into_owned();
        let (id, rest) = path
            .strip_prefix("/api/recordings/")
            .unwrap_or("-")
            .split_once('/')
            .unwrap_or((path.strip_prefix("/api/recordings/").unwrap_or("-"), ""));
        let number = id.strip_prefix("recording-").and_then(|number| number.parse::<usize>().ok());
        self.look(|seen| {
            match (method, path) {
                ("GET", "/api") => {
                    let limits = format!("\"chunk_bytes_max\":{CHUNK_BYTES_MAX},\"recording_bytes_max\":100000");
                    return whole(
                        "200 OK",
                        "",
                        &format!("{{\"name\":\"genba\",\"login\":true,\"limits\":{{{limits}}}}}"),
                    );
                }
                ("POST", "/api/recordings") => {
                    seen.recordings.push(Recording { words: text, ..Recording::default() });
                    let id = format!("{{\"id\":\"recording-{}\"}}", seen.recordings.len() - 1);
                    return whole("201 Created", "", &id);
                }
                _ => {}
            }
            let found = number.and_then(|number| seen.recordings.get_mut(number)).filter(|one| !one.is_deleted);
            let Some(found) = found else {
                return whole("404 Not Found", "", "{\"title\":\"no such recording\",\"status\":404}");
            };
            let state = |found: &Recording| {
                let complete = if found.sealed.is_some() { "?1" } else { "?0" };
                format!("Upload-Offset: {}\r\nUpload-Complete: {complete}\r\n", found.bytes.len())
            };
            match (method, rest) {
                ("HEAD", "content") => whole("200 OK", &state(found), ""),
                ("PATCH", "content") if offset != Some(found.bytes.len()) || found.sealed.is_some() => {
                    whole("409 Conflict", &state(found), "{\"title\":\"another offset\"}")
                }
                ("PATCH", "content") => {
                    assert!(body.len() <= CHUNK_BYTES_MAX, "{} bytes at once", body.len());
                    found.bytes.extend_from_slice(body);
                    whole("204 No Content", &state(found), "")
                }
                ("POST", "seal") if found.sealed.is_some() => whole("409 Conflict", "", "{\"title\":\"sealed\"}"),
                ("POST", "seal") => {
                    let expected = format!("\"bytes\":{}", found.bytes.len());
                    if !text.contains(&expected) {
                        return whole("409 Conflict", "", "{\"title\":\"other bytes\"}");
                    }
                    let sha256 = text.split("\"sha256\":\"").nth(1).and_then(|rest| rest.split('"').next());
                    found.sealed = sha256.map(str::to_owned);
                    whole("200 OK", "", "{}")
                }
                ("GET", "") => {
                    whole("200 OK", "", &format!("{{\"sha256\":\"{}\"}}", found.sealed.clone().unwrap_or_default()))
                }
                ("DELETE", "") => {
                    found.is_deleted = true;
                    whole("204 No Content", "", "")
                }
                _ => whole("405 Method Not Allowed", "", ""),
            }
        })
    }
}

fn whole(status: &str, headers: &str, body: &str) -> String {
    let length = if status.starts_with("204") { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    format!("HTTP/1.1 {status}\r\n{headers}{length}Connection: close\r\n\r\n{body}")
}
