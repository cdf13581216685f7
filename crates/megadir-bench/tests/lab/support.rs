//! A lab for one test.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use megadir_bench::RunControl;
use megadir_bench::lab::{Backing, DiskSpec, Lab, LabError, Mounted, Spec};

pub(crate) static STOP: AtomicBool = AtomicBool::new(false);
pub(crate) static BEAT: AtomicU64 = AtomicU64::new(0);
pub(crate) const SIGNALS: RunControl<'static> = RunControl { stop: &STOP, heartbeat: &BEAT };

pub(crate) fn spec(text: &str) -> Spec {
    Spec::parse(text).unwrap()
}

/// Opens a lab in a directory on disk, not in memory; otherwise returns the reason.
pub(crate) fn open(directory: &Path) -> Result<Lab, String> {
    Lab::open(directory, SIGNALS).map_err(|error| error.to_string())
}

/// Makes a file system of the smallest size.
pub(crate) fn make(lab: &Lab, text: &str) -> Result<Mounted, LabError> {
    make_on(lab, text, "image", spec(text).entry.smallest_bytes)
}

/// On this disk, to which at most `written_bytes` are written.
pub(crate) fn make_on(lab: &Lab, text: &str, disk: &str, written_bytes: u64) -> Result<Mounted, LabError> {
    let (spec, disk) = (spec(text), DiskSpec::parse(disk).unwrap());
    let bytes = spec.entry.smallest_bytes;
    lab.make(&spec, &Backing::Image { bytes, written_bytes, disk }, SIGNALS)
}

/// Returns the loop devices that stay attached, with their files. Retries, since a process that mounts
/// something opens every loop device for a moment and so keeps it attached.
pub(crate) fn left(of: &Path) -> Vec<String> {
    let deadline = Instant::now() + megadir_testkit::PATIENCE;
    while !attached(of).is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    attached(of)
}

/// Returns the attached loop devices, with their files.
pub(crate) fn attached(of: &Path) -> Vec<String> {
    let devices = std::fs::read_dir("/sys/block").unwrap();
    let backing = |name: String| std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok();
    let files = devices.filter_map(|device| backing(device.ok()?.file_name().into_string().ok()?));
    let of = of.canonicalize().unwrap();
    files.filter(|file| Path::new(file.trim()).starts_with(&of)).collect()
}

/// The device of a mounted file system, as this thread's mount namespace has it.
pub(crate) fn device_of(path: &Path) -> String {
    let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    let line = mounts.lines().find(|line| line.contains(path.to_str().unwrap())).unwrap();
    line.rsplit(' ').nth(1).unwrap().trim_start_matches("/dev/").to_owned()
}
