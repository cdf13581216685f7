//! Ctrl-C as a flag that is checked between runs, so that everything created is removed on the way out.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by a termination signal.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Handles termination signals from now on.
    pub(crate) fn register() -> Result<Self, String> {
        let signalled = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&signalled))
                .map_err(|error| format!("cannot handle signal {signal}: {error}"))?;
        }
        Ok(Self(signalled))
    }

    /// Returns an error after a signal.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.0.load(Ordering::Relaxed) { Err("interrupted".to_owned()) } else { Ok(()) }
    }
}
