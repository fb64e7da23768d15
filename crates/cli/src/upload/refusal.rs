//! Why a request to a server failed: no connection, an answer that is none of a genba server's, or a refusal in the server's words.
//! Owns: the reasons, which of them may pass by themselves, and the words and hints of each. Never: sends; shows a token.

use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

use signal_hook::consts::SIGINT;

use super::address::Server;
use crate::words::failure::{Failure, of_system};

#[derive(Debug)]
pub enum Refusal {
    NoName,
    /// Nobody listens there.
    NobodyListens,
    Unreachable(String),
    /// The certificate, or no TLS at all.
    Tls(String),
    /// This machine trusts no certificate.
    NoRoots,
    TooSlow,
    Broken(String),
    /// Where it leads.
    Redirected(Option<String>),
    NotGenba(String),
    Answered(Answer),
    /// The recording cannot be read any more.
    File(String),
    /// The server takes no more of it, again after it was begun anew.
    SealedEarly,
    Stopped,
    /// By this signal.
    StoppedBy(i32),
}

/// An answer that is no success.
#[derive(Debug, Default)]
pub struct Answer {
    pub status: u16,
    /// In the server's words.
    pub title: Option<String>,
    pub detail: Option<String>,
    pub hint: Option<String>,
    pub retry_after: Option<Duration>,
    pub had_token: bool,
}

impl Refusal {
    pub fn of_request(error: &reqwest::Error) -> Refusal {
        if error.is_connect() && error.is_timeout() {
            return Refusal::Unreachable("it does not answer".to_owned());
        }
        let mut next: Option<&(dyn Error + 'static)> = error.source();
        let mut last = error.to_string();
        while let Some(found) = next {
            last = found.to_string();
            if found.is::<rustls::Error>() {
                return Refusal::Tls(last);
            }
            if let Some(system) = found.downcast_ref::<std::io::Error>() {
                if let Some(inner) = system.get_ref().filter(|inner| inner.is::<rustls::Error>()) {
                    return Refusal::Tls(inner.to_string());
                }
                match system.kind() {
                    ErrorKind::ConnectionRefused => return Refusal::NobodyListens,
                    _ if error.is_dns() => return Refusal::NoName,
                    ErrorKind::TimedOut => return Refusal::TooSlow,
                    _ if error.is_connect() && system.raw_os_error().is_some() => {
                        return Refusal::Unreachable(of_system(system));
                    }
                    _ => last = of_system(system),
                }
            }
            next = found.source();
        }
        if error.is_timeout() {
            return Refusal::TooSlow;
        }
        if error.is_dns() {
            return Refusal::NoName;
        }
        Refusal::Broken(last)
    }

    /// Trying again may help.
    pub const fn is_passing(&self) -> bool {
        match self {
            Refusal::NobodyListens
            | Refusal::NoName
            | Refusal::Unreachable(_)
            | Refusal::TooSlow
            | Refusal::Broken(_) => true,
            Refusal::Answered(answer) => matches!(answer.status, 408 | 425 | 429 | 500 | 502..=504),
            _ => false,
        }
    }

    /// Of a piece: a smaller one may get through.
    pub const fn may_be_of_the_size(&self) -> bool {
        matches!(self, Refusal::TooSlow | Refusal::Broken(_) | Refusal::Answered(Answer { status: 408 | 413, .. }))
    }

    pub const fn status(&self) -> Option<u16> {
        match self {
            Refusal::Answered(answer) => Some(answer.status),
            _ => None,
        }
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Refusal::Answered(answer) => answer.retry_after,
            _ => None,
        }
    }

    /// In one line.
    pub fn why(&self, server: &Server) -> String {
        let at = server.shown();
        match self {
            Refusal::NoName => format!("no machine has the name in {at}"),
            Refusal::NobodyListens => format!("cannot reach {at}: connection refused"),
            Refusal::Unreachable(why) => format!("cannot reach {at}: {why}"),
            Refusal::Tls(why) => format!("no secure connection to {at}: {why}"),
            Refusal::NoRoots => {
                format!("no secure connection to {at}: this machine has no list of certificates to trust")
            }
            Refusal::TooSlow => format!("{at} did not answer in time"),
            Refusal::Broken(why) => format!("the connection to {at} broke: {why}"),
            Refusal::Redirected(_) => format!("{at} leads to another address, and a token is not sent there"),
            Refusal::NotGenba(_) => format!("{at} is not a genba server"),
            Refusal::File(why) => format!("the recording cannot be read: {why}"),
            Refusal::SealedEarly => format!("{at} sealed it twice before its end"),
            Refusal::Stopped => "the upload was ended".to_owned(),
            Refusal::StoppedBy(SIGINT) => "Ctrl-C ended the upload".to_owned(),
            Refusal::StoppedBy(signal) => {
                let name = signal_hook::low_level::signal_name(*signal);
                format!("{} ended the upload", name.map_or_else(|| format!("signal {signal}"), str::to_owned))
            }
            Refusal::Answered(answer) => answer.why(at),
        }
    }

    /// `what`: `app.genba was not pushed`.
    pub fn failure(&self, what: &str, server: &Server) -> Failure {
        let failure = Failure::no(format!("{what}: {}", self.why(server)));
        match self {
            Refusal::NoName => failure.hint("look for a mistake in the name"),
            Refusal::NobodyListens => failure.hint("genba serve --listen ADDR:PORT starts a server on that machine"),
            Refusal::Tls(_) if !server.is_encrypted() => failure,
            Refusal::Tls(_) => failure.hint(
                "a certificate of your own goes into the system's list, or into a file that SSL_CERT_FILE names; \
                 a server without TLS has an address with http://",
            ),
            Refusal::NoRoots => {
                failure.hint("install ca-certificates, or name a file with certificates in SSL_CERT_FILE")
            }
            Refusal::Redirected(Some(to)) => failure.hint(format!("if you trust it, push to {to}")),
            Refusal::NotGenba(found) => failure
                .detail(found)
                .hint("the address of genba serve, with its path if it has one: http://127.0.0.1:8970"),
            Refusal::Answered(answer) => answer.advice(failure),
            _ => failure,
        }
    }
}

impl Answer {
    fn why(&self, at: &str) -> String {
        let known = match self.status {
            401 if self.had_token => "the server does not accept this token",
            401 => "the server wants a token",
            403 => "the server does not allow that",
            413 => "the recording is larger than the server takes",
            422 => "the server cannot read it as a recording",
            429 => "the server asks to come back later",
            507 => "the server's disk is full",
            _ => "",
        };
        match (known, &self.title) {
            ("", Some(title)) => format!("{at} answered {}: {title}", self.status),
            ("", None) => format!("{at} answered {}", self.status),
            (known, _) => known.to_owned(),
        }
    }

    fn advice(&self, failure: Failure) -> Failure {
        let titled = matches!(self.status, 401 | 403 | 413 | 422 | 429 | 507).then_some(self.title.as_ref()).flatten();
        let failure = titled.into_iter().chain(&self.detail).fold(failure, Failure::detail);
        let own = match self.status {
            401 if self.had_token => {
                Some("it may be mistyped, expired or revoked; genba serve token list, on the server, tells")
            }
            401 => Some(
                "put one into GENBA_TOKEN, or into a file that --token-file names; genba serve token add NAME, on the server, makes one",
            ),
            // Such as a token that has as many recordings as it may have.
            403 if self.hint.is_some() => None,
            403 => Some("a token that may upload has the scope write: genba serve token add NAME --scope read,write"),
            413 => Some(
                "genba serve --max-recording SIZE takes larger ones; a shorter run, or --source none, makes a smaller one",
            ),
            429 => Some("try again in a few minutes"),
            507 => Some("genba serve prune --older 30d, on the server, makes room"),
            _ => None,
        };
        match own.or(self.hint.as_deref()) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
