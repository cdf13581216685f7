//! Programs that serve a file system from user space, through FUSE: started in the foreground as children, so that they go
//! with the run.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::LabError;
use super::program::Running;
use crate::workload::Signals;

/// A server that has not mounted by now will not.
const START_MAX: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(5);

/// A server; killed when dropped.
#[derive(Debug)]
pub(super) struct Server(Running);

impl Server {
    /// Starts a server and waits until `is_mounted` says so; else gives the reason.
    pub(super) fn start(
        words: &[&str],
        options: &[String],
        device: &Path,
        point: &Path,
        is_mounted: impl Fn() -> bool,
        signals: Signals<'_>,
    ) -> Result<Result<Self, String>, LabError> {
        let Some((name, own)) = words.split_first() else { return Ok(Err("it has no server".into())) };
        let options = format!("{},no_detach", options.join(","));
        let mut arguments: Vec<&std::ffi::OsStr> = own.iter().map(|word| (*word).as_ref()).collect();
        arguments.extend(["-o".as_ref(), options.as_ref(), device.as_os_str(), point.as_os_str()]);
        let started = Instant::now();
        let mut running =
            Running::start(name, &arguments).map_err(LabError::failed(format!("start {name}")))?;
        loop {
            if is_mounted() {
                return Ok(Ok(Self(running)));
            }
            let ended = running.child.try_wait().map_err(LabError::failed(format!("wait for {name}")))?;
            if ended.is_some() || started.elapsed() > START_MAX {
                let last = running.said().pop().unwrap_or_else(|| "it does not say why".to_owned());
                return Ok(Err(format!("{name}: {last}")));
            }
            if signals.stop.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            signals.beat.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until the server has written everything and ended, as it does when its file system was unmounted.
    pub(super) fn end(mut self, signals: Signals<'_>) -> Result<(), LabError> {
        self.0.wait(signals).map(drop)
    }
}

/// Returns whether something is mounted on the entry `name` of `directory`.
pub(super) fn is_mounted(directory: impl AsFd, name: &str) -> bool {
    let of = |path: &str| rustix::fs::statat(directory.as_fd(), path, rustix::fs::AtFlags::NO_AUTOMOUNT);
    match (of(name), of(".")) {
        (Ok(point), Ok(parent)) => point.st_dev != parent.st_dev,
        _ => false,
    }
}
