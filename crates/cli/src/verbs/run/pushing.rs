//! `genba run --push`: where the recording goes while the program runs, and what is said about it at the end.
//! Owns: the options, and those words. Never: changes the program's exit code; sends (`upload/live.rs` does).

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::recording::output::Output;
use crate::upload::{Interrupt, Live, New, Refusal, Server, Token, host_name, name_of};
use crate::words::failure::{Failure, say};
use crate::words::progress::during_change;
use genba_profile::shell;

/// Where `genba serve` listens unless it is told another address.
const SERVER_HERE: &str = "http://127.0.0.1:8970";

#[derive(Args)]
pub struct PushOptions {
    /// Send the recording to a genba server while the program runs, as genba push does: http://127.0.0.1:8970
    #[arg(long, value_name = "URL", overrides_with = "no_push")]
    push: Option<String>,

    /// Takes a setting back
    #[arg(long, hide = true, overrides_with = "push")]
    no_push: bool,

    /// `--push` as vmprof's users type it
    #[arg(long, hide = true, conflicts_with = "push")]
    web: bool,

    /// Where `--web` pushes to
    #[arg(long, value_name = "URL", hide = true, requires = "web", default_value = SERVER_HERE)]
    web_url: String,

    /// Read the server's token from a file [default: the variable GENBA_TOKEN]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    token_file: Option<PathBuf>,
}

/// Where to push to, looked at before the program starts.
pub struct Plan {
    server: Server,
    token: Option<Token>,
}

/// An upload beside the program.
pub struct Pushing {
    live: Live,
    shown: String,
}

impl PushOptions {
    /// None: nothing is pushed.
    pub fn plan(&self) -> Result<Option<Plan>, Failure> {
        let web = self.web.then_some(self.web_url.as_str());
        let Some(address) = self.push.as_deref().or(web).filter(|_| !self.no_push) else {
            return Ok(None);
        };
        let server = Server::parse(address)?;
        let token = Token::find(self.token_file.as_deref())?;
        Ok(Some(Plan { server, token }))
    }
}

impl Plan {
    pub fn start(self, output: &Output) -> Pushing {
        // The recording holds its own tags.
        let new = New { name: name_of(&output.path), host: host_name(), tags: Vec::new(), is_live: true };
        let live = Live::start(self.server, self.token, output.path.clone(), new);
        Pushing { live, shown: output.shown.clone() }
    }
}

impl Pushing {
    pub fn interrupt(&self) -> Interrupt {
        self.live.interrupt()
    }

    /// `genba push app.genba http://127.0.0.1:8970`
    pub fn later(&self) -> String {
        format!("genba push {} {}", shell::word(&self.shown), self.live.server().shown())
    }

    /// The recording is complete: waits for the rest of the upload, and says where it is.
    pub fn finish(&self, is_quiet: bool) {
        let progress = self.live.progress();
        // A terminal shows that already.
        let is_told = !is_quiet && !std::io::stderr().is_terminal();
        let when_long = || {
            if is_told {
                say(&format!("waiting for {} to take the rest of {}", self.live.server().shown(), self.shown));
            }
        };
        match during_change(move || progress.in_words(), || self.live.finish(when_long)) {
            Ok(pages) => {
                say(&format!("pushed {}: {}", self.shown, pages.whole));
                if let Some(early) = pages.sealed_early {
                    say(&format!(
                        "note: somebody sealed {early} while the program ran; it holds the recording up to then"
                    ));
                }
            }
            Err(refusal) => self.warn(&refusal),
        }
    }

    /// The recording has become another file, `shown`: what the server has of the first one is taken back.
    pub fn give_up(&self, shown: &str) {
        self.live.abandon();
        say(&format!("warning: {} was not pushed: it was removed while the program ran", self.shown));
        say(&format!("hint: genba push {} {}", shell::word(shown), self.live.server().shown()));
    }

    /// Nothing was recorded.
    pub fn abandon(&self) {
        self.live.abandon();
    }

    /// What passes by itself needs the later push alone; anything else has to be mended before it.
    fn warn(&self, refusal: &Refusal) {
        let (what, server) = (format!("{} was not pushed", self.shown), self.live.server());
        let failure = match refusal.is_passing() {
            true => Failure::no(format!("{what}: {}", refusal.why(server))),
            false => refusal.failure(&what, server),
        };
        let later = match refusal {
            // Not to the same address.
            Refusal::Redirected(_) | Refusal::NotGenba(_) => format!("genba push {} URL", shell::word(&self.shown)),
            _ => self.later(),
        };
        failure.hint(later).warn();
    }
}
