//! Leaked descriptors and threads. Other tests run in the same process, so only descriptors below the test's
//! directory and threads with megadir's names count.

use std::path::Path;

use crate::patiently;

#[cfg(target_os = "linux")]
pub fn descriptors_below(directory: &Path) -> usize {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    links
        .filter_map(|link| std::fs::read_link(link.ok()?.path()).ok())
        .filter(|target| target.starts_with(&directory))
        .count()
}

/// 1 if any process has a handle of the directory (it cannot be opened exclusively), else 0.
#[cfg(windows)]
pub fn descriptors_below(directory: &Path) -> usize {
    use std::os::windows::fs::OpenOptionsExt;
    const LIST: u32 = 1;
    const BACKUP_SEMANTICS: u32 = 0x0200_0000;
    const SHARING_VIOLATION: i32 = 32;
    let mut options = std::fs::OpenOptions::new();
    let opened = options.access_mode(LIST).share_mode(0).custom_flags(BACKUP_SEMANTICS).open(directory);
    usize::from(opened.is_err_and(|error| error.raw_os_error() == Some(SHARING_VIOLATION)))
}

#[cfg(target_os = "linux")]
/// The library names its threads; others belong to the harness.
pub fn library_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .filter(|name| name.starts_with("megadir-"))
        .count()
}

/// Waits until the count is 0 (a joined thread stays visible for a moment); returns the last count.
pub fn settled(count: impl Fn() -> usize) -> usize {
    patiently(|| match count() {
        0 => Ok(0),
        left => Err(left),
    })
    .unwrap_or_else(|left| left)
}
