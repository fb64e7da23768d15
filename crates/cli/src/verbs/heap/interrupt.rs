//! Ctrl-C while genba waits for the process: what it made there is removed first.
//! Owns: the flag that the signals set. Never: ends genba by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::words::failure::{self, Failure};

const LOOKED_EVERY: Duration = Duration::from_millis(20);

pub struct Interrupt {
    has_come: Arc<AtomicBool>,
}

impl Interrupt {
    pub fn watch() -> Result<Interrupt, Failure> {
        let has_come = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&has_come))
                .map_err(|error| Failure::ours(format!("cannot catch signals: {}", failure::of_system(&error))))?;
        }
        Ok(Interrupt { has_come })
    }

    /// Set when it has come.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_come)
    }

    pub fn has_come(&self) -> bool {
        self.has_come.load(Ordering::Relaxed)
    }

    /// False: it came meanwhile.
    pub fn sleep(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        while !self.has_come() {
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return true;
            }
            std::thread::sleep(rest.min(LOOKED_EVERY));
        }
        false
    }
}
