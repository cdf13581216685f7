//! A running study that a test observes, also from within its namespace.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::Instant;

use megadir_testkit::PATIENCE;

use crate::support::megadir;

/// Name of a phase of a run, and whether the run has reached it.
pub(crate) type Phase<'a> = (&'a str, &'a dyn Fn(&Running) -> bool);

/// Creates a directory with an empty directory for the run.
pub(crate) fn scratch() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(scratch.path().join("below")).expect("made");
    scratch
}

/// A run; killed when dropped.
pub(crate) struct Running {
    scratch: tempfile::TempDir,
    pub(crate) child: Child,
}

impl Running {
    /// Starts `bench run` with these arguments, with images in an empty directory.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let scratch = scratch();
        let (below, record) = (scratch.path().join("below"), scratch.path().join("record"));
        let mut command = megadir(".", &["bench", "run"]);
        command.args(arguments).args(["--seed", "7", "--dir"]).arg(below).arg("-o").arg(record);
        let stderr = std::fs::File::create(scratch.path().join("said")).expect("made");
        let child = command.stdout(Stdio::null()).stderr(stderr).spawn().expect("the program starts");
        Self { scratch, child }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Directory of the images.
    pub(crate) fn below(&self) -> PathBuf {
        self.scratch.path().join("below").canonicalize().expect("there")
    }

    pub(crate) fn record(&self) -> PathBuf {
        self.scratch.path().join("record")
    }

    /// Number of blocks in the record.
    pub(crate) fn blocks(&self) -> usize {
        std::fs::read_to_string(self.record()).map_or(0, |text| text.matches("\"line\":\"sample\"").count())
    }

    /// `true` if the record says that the run has ended.
    pub(crate) fn has_ended(&self) -> bool {
        std::fs::read_to_string(self.record()).is_ok_and(|text| text.contains("\"line\":\"end\""))
    }

    /// Roots of the mounted file systems, as the run sees them.
    fn views(&self) -> Vec<PathBuf> {
        let below = self.below();
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.id())).into_iter().flatten().flatten();
        let views = tasks.map(|task| {
            let mounts = std::fs::read_to_string(task.path().join("mountinfo")).unwrap_or_default();
            let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
            let own = points.filter(|point| Path::new(point).starts_with(&below));
            own.map(|point| task.path().join("root").join(point.trim_start_matches('/'))).collect()
        });
        views.into_iter().find(|views: &Vec<PathBuf>| !views.is_empty()).unwrap_or_default()
    }

    /// Root of the first mounted file system, as the run sees it.
    pub(crate) fn view(&self) -> Option<PathBuf> {
        self.views().into_iter().next()
    }

    /// Number of mounted file systems.
    pub(crate) fn mounted(&self) -> usize {
        self.views().len()
    }

    /// Number of files created in the run's own directory on the first file system.
    pub(crate) fn files_made(&self) -> usize {
        let entries = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
        let own = self.view().into_iter().flat_map(entries);
        let own = own.filter(|entry| entry.file_name().to_string_lossy().starts_with("megadir-bench-"));
        let data = own.flat_map(|entry| entries(entry.path())).filter(|entry| entry.path().is_dir());
        data.map(|entry| entries(entry.path()).count()).sum()
    }

    /// Waits for a phase of the run.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, phase: &str, reached: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while !reached(self) {
            let ended = self.child.try_wait().expect("waitable");
            assert!(ended.is_none() || reached(self), "{phase}: the run ended before: {}", self.messages());
            assert!(started.elapsed() < PATIENCE, "{phase}: the run does not come to it");
        }
    }

    fn messages(&self) -> String {
        std::fs::read_to_string(self.scratch.path().join("said")).expect("there")
    }

    /// Waits for the end; returns the exit status and the messages.
    pub(crate) fn finish(&mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("it ended");
        (status, self.messages())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
