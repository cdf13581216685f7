//! Options of mount(8) in the form that mount(2) takes: flags, and a list for the file system.

use std::ffi::CString;

use rustix::mount::MountFlags;

/// Options that are mount flags.
const FLAGS: &[(&str, MountFlags)] = &[
    ("noatime", MountFlags::NOATIME),
    ("nodiratime", MountFlags::NODIRATIME),
    ("relatime", MountFlags::RELATIME),
    ("strictatime", MountFlags::STRICTATIME),
    ("lazytime", MountFlags::LAZYTIME),
    ("sync", MountFlags::SYNCHRONOUS),
    ("dirsync", MountFlags::DIRSYNC),
    ("nodev", MountFlags::NODEV),
    ("nosuid", MountFlags::NOSUID),
    ("noexec", MountFlags::NOEXEC),
];

pub(super) fn split(options: &[String]) -> (MountFlags, CString) {
    let (mut flags, mut others) = (MountFlags::empty(), Vec::new());
    for option in options {
        match FLAGS.iter().find(|(name, _)| name == option) {
            Some((_, flag)) => flags |= *flag,
            None => others.push(option.as_str()),
        }
    }
    // Options of a Spec contain no NUL byte.
    (flags, CString::new(others.join(",")).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{MountFlags, split};

    #[test]
    fn flags_are_taken_out() {
        let options = ["noatime", "nodatacow", "dirsync", "compress=zstd"].map(str::to_owned);
        let (flags, data) = split(&options);
        assert_eq!(flags, MountFlags::NOATIME | MountFlags::DIRSYNC);
        assert_eq!(data.to_str(), Ok("nodatacow,compress=zstd"));
    }
}
