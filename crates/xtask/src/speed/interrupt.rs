//! Ctrl-C as a question to ask between runs, so that all that was made is removed on the way out.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the run was told to end.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes the signals that end a program from now on.
    pub(crate) fn register() -> Result<Self, String> {
        let told = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&told))
                .map_err(|error| format!("cannot handle signal {signal}: {error}"))?;
        }
        Ok(Self(told))
    }

    /// Returns an error once a signal has come.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.0.load(Ordering::Relaxed) { Err("interrupted".to_owned()) } else { Ok(()) }
    }
}
