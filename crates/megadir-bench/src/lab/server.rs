//! Programs that serve a file system from user space, through FUSE, so that they go with the run.
//!
//! A server must not be the last process in the mount namespace: it would unmount while it ends, and wait for an answer of its
//! own for ever (`fuse_send_destroy` on the way out of `do_exit`; nothing but an abort of the connection ends that). So a
//! keeper starts it, a shell that waits until the run closes a pipe, be it by being killed; it then kills the server, waits
//! for its end, and is the last.

use std::ffi::OsStr;
use std::io::PipeWriter;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::LabError;
use super::program::Running;
use crate::control::RunControl;

/// A server that has not mounted by now will not.
const START_MAX: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(5);

/// What the keeper does: `$@` is the server with its arguments, standard input the pipe.
const KEEPER: &str = r#"exec 3<&0
"$@" 3<&- </dev/null &
server=$!
{ read -r _ <&3; kill -KILL $server; } 2>/dev/null &
reader=$!
wait $server
code=$?
kill $reader 2>/dev/null
exit $code"#;

/// A server with its keeper; both end when this is dropped.
#[derive(Debug)]
pub(super) struct Server {
    // First, so that the keeper is let go before it is waited for.
    lives: Option<PipeWriter>,
    keeper: Running,
}

impl Server {
    /// Starts a server and waits until `is_mounted` says so; else gives the reason.
    pub(super) fn start(
        words: &[&str],
        options: &[String],
        device: &Path,
        point: &Path,
        is_mounted: impl Fn() -> bool,
        control: RunControl<'_>,
    ) -> Result<Result<Self, String>, LabError> {
        let Some((name, own)) = words.split_first() else { return Ok(Err("it has no server".into())) };
        let options = format!("{},no_detach", options.join(","));
        let mut arguments: Vec<&OsStr> = ["-c", KEEPER, "keeper", *name].map(AsRef::as_ref).to_vec();
        arguments.extend(own.iter().map(|word| OsStr::new(*word)));
        arguments.extend([OsStr::new("-o"), options.as_ref(), device.as_os_str(), point.as_os_str()]);
        let started = Instant::now();
        let (waits, lives) = std::io::pipe().map_err(LabError::failed("make a pipe"))?;
        let keeper = Running::keep("sh", &arguments, waits.into());
        let keeper = keeper.map_err(LabError::failed(format!("start {name}")))?;
        let mut server = Self { lives: Some(lives), keeper };
        loop {
            if is_mounted() {
                return Ok(Ok(server));
            }
            let ended =
                server.keeper.child.try_wait().map_err(LabError::failed(format!("wait for {name}")))?;
            if ended.is_some() || started.elapsed() > START_MAX {
                let last = server.keeper.said().pop().unwrap_or_else(|| "it does not say why".to_owned());
                return Ok(Err(format!("{name}: {last}")));
            }
            if control.stop.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            control.heartbeat.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until the server has written everything and ended, as it does when its file system was unmounted; also when the
    /// run is to end.
    pub(super) fn end(mut self, control: RunControl<'_>) -> Result<(), LabError> {
        let never = AtomicBool::new(false);
        self.keeper.wait(RunControl { stop: &never, heartbeat: control.heartbeat }).map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.lives = None;
        // It ends by itself, last, once the server has; killed it would leave the server to be the last.
        let _ = self.keeper.child.wait();
    }
}

/// `true` if something is mounted on the entry `name` of `directory`.
pub(super) fn is_mounted(directory: impl AsFd, name: &str) -> bool {
    let of = |path: &str| rustix::fs::statat(directory.as_fd(), path, rustix::fs::AtFlags::NO_AUTOMOUNT);
    match (of(name), of(".")) {
        (Ok(point), Ok(parent)) => point.st_dev != parent.st_dev,
        _ => false,
    }
}
