//! Ctrl-C during `genba bench`.
//! Owns: the thread that waits for signals. Never: ends genba: what was measured is shown first.

use std::sync::Arc;
use std::time::Duration;

use genba_bench::interrupt::Interrupt;
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::words::failure::{self, Failure};

/// A command that does not end by the signal has so long for it.
const GRACE: Duration = Duration::from_secs(1);

/// The command gets the signal that genba got, and is killed if it goes on.
pub fn watch(interrupt: &Arc<Interrupt>) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::ours(format!("cannot catch signals: {}", failure::of_system(&error)));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(cannot)?;
    let interrupt = Arc::clone(interrupt);
    let watch = move || {
        for signal in signals.forever() {
            let hit = interrupt.interrupt(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
            if let Some(running) = hit.filter(|running| !interrupt.ends_within(*running, GRACE)) {
                interrupt.kill(running);
            }
        }
    };
    std::thread::Builder::new().spawn(watch).map(drop).map_err(cannot)
}
