//! FUSE servers that end with the run. A server must not be the last process in the mount namespace: on exit it
//! would unmount, and wait forever for its own answer (`fuse_send_destroy` in `do_exit`). So a keeper, a shell
//! that waits until the run closes a pipe, kills the server and is the last process.

use std::ffi::OsStr;
use std::io::PipeWriter;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::LabError;
use crate::control::RunControl;
use crate::program::Running;

/// Timeout for a server to mount.
const START_MAX: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(5);

/// Script of the keeper: `$@` is the server with its arguments, standard input the pipe.
const KEEPER: &str = r#"exec 3<&0
"$@" 3<&- </dev/null &
server=$!
{ read -r _ <&3; kill -KILL $server; } 2>/dev/null &
reader=$!
wait $server
code=$?
kill $reader 2>/dev/null
exit $code"#;

/// A server with its keeper; both end on drop.
#[derive(Debug)]
pub(crate) struct Server {
    // First field, so that the pipe is closed before the keeper is waited for.
    lives: Option<PipeWriter>,
    keeper: Running,
}

impl Server {
    /// Starts a server and waits until `is_mounted` returns `true`; otherwise returns the reason.
    pub(crate) fn start(
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
        let (waits, lives) = std::io::pipe().map_err(LabError::failed("create a pipe"))?;
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
                let last = server.keeper.said().pop().unwrap_or_else(|| "no reason given".to_owned());
                return Ok(Err(format!("{name}: {last}")));
            }
            if control.stop.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            control.heartbeat.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until the server has written everything and exited, which it does after its file system is
    /// unmounted. Waits even if the run is being stopped.
    pub(crate) fn end(mut self, control: RunControl<'_>) -> Result<(), LabError> {
        let never = AtomicBool::new(false);
        self.keeper.wait(RunControl { stop: &never, heartbeat: control.heartbeat }).map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.lives = None;
        // The keeper exits by itself after the server. Killing it would make the server the last process.
        let _ = self.keeper.child.wait();
    }
}
