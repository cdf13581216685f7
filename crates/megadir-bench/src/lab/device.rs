//! A device of the user's: what must hold before it may be erased. Nothing is written to one that is refused.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::disk::Disk;
use super::{FILE_SYSTEMS, LABEL, LabError, Spec, program};
use crate::words::words;
use crate::workload::Signals;

/// blkid(8) found nothing that it knows.
const NOTHING_FOUND: i32 = 2;

/// Opens a device that may be erased: its owner has said so, nobody uses it, and it carries nothing or what the lab made.
pub(super) fn open(spec: &Spec, path: &Path, erase: bool, signals: Signals<'_>) -> Result<Disk, LabError> {
    let refused = |reason: String| LabError::Device { path: path.to_owned(), reason };
    // Links such as those of /dev/disk are followed once, and never again.
    let own = path.canonicalize().map_err(|error| refused(words(&error)))?;
    let claimed = check(spec, &own, erase, signals).map_err(|error| match error {
        LabError::Device { reason, .. } => refused(reason),
        other => other,
    })?;
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let device = rustix::fs::open(&own, flags, Mode::empty());
    let device = File::from(device.map_err(|error| refused(words(&error.into())))?);
    let disk = Disk::of_device(&own, device);
    // The claim ends here: it would keep out mkfs and mount as well, which claim it themselves.
    match disk.is_same(&claimed) {
        true => Ok(disk),
        false => Err(refused("its path means another device now".into())),
    }
}

/// Refuses a device once more just before it is erased: others may have used it or written to it since it was let pass.
pub(super) fn check_again(disk: &Disk, signals: Signals<'_>) -> Result<(), LabError> {
    let refused = |reason: String| LabError::Device { path: disk.path.clone(), reason };
    let claimed = claim(&disk.path).map_err(&refused)?;
    match disk.is_same(&claimed) {
        true => check_content(&disk.path, signals).and_then(|found| found.map_err(&refused)),
        false => Err(refused("its path means another device now".into())),
    }
}

/// Refuses a device that must not be erased; returns the claim of one that may be.
pub(super) fn check(spec: &Spec, path: &Path, erase: bool, signals: Signals<'_>) -> Result<File, LabError> {
    let refused = |reason: String| LabError::Device { path: path.to_owned(), reason };
    if spec.entry.in_memory() {
        return Err(refused(format!("{spec} lies in memory and takes no device")));
    }
    if !erase {
        return Err(refused("all that is on it would be lost; allow that with --erase-device".into()));
    }
    let claimed = claim(path).map_err(&refused)?;
    check_content(path, signals).and_then(|found| found.map_err(&refused))?;
    Ok(claimed)
}

/// Claims a block device: the kernel refuses that while it, or a part of it, is mounted, swapped to, or part of another device.
fn claim(path: &Path) -> Result<File, String> {
    let words = |error: Errno| words(&error.into());
    // A path is looked at before it is opened, since opening some devices does something.
    let status = rustix::fs::stat(path).map_err(words)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::BlockDevice {
        return Err("it is no block device".into());
    }
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
    let device = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(device) => File::from(device),
        Err(Errno::BUSY) => {
            return Err("it is in use: mounted, swapped to, or part of another device".into());
        }
        Err(Errno::ROFS | Errno::ACCESS | Errno::PERM) => return Err("it cannot be written to".into()),
        Err(error) => return Err(words(error)),
    };
    let opened = rustix::fs::fstat(device.as_fd()).map_err(words)?;
    match opened.st_rdev == status.st_rdev {
        true => Ok(device),
        false => Err("its path means another device now".into()),
    }
}

/// Refuses what carries anything but a file system with the lab's label.
fn check_content(path: &Path, signals: Signals<'_>) -> Result<Result<(), String>, LabError> {
    if program::find("blkid").is_none() {
        return Ok(Err("what is on it cannot be told without blkid (Debian package util-linux)".into()));
    }
    // Of a partition it would tell what its table says of it, as if that were something on it.
    let arguments = ["-p", "--no-part-details", "-o", "export"].map(std::ffi::OsStr::new);
    let arguments: Vec<&std::ffi::OsStr> = arguments.into_iter().chain([path.as_os_str()]).collect();
    let ended = program::run::<&std::ffi::OsStr>("blkid", &arguments, signals)?;
    Ok(judge(ended.status.code(), &ended.said))
}

/// Judges what `blkid -p -o export` ended with and said.
fn judge(code: Option<i32>, said: &[String]) -> Result<(), String> {
    let of = |key: &str| said.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    match code {
        Some(NOTHING_FOUND) if said.is_empty() => Ok(()),
        Some(0) => match (of("TYPE"), of("PTTYPE")) {
            (Some(kind), None) if of("LABEL") == Some(LABEL) && is_made_here(kind) => Ok(()),
            (Some(kind), _) => {
                let label = of("LABEL")
                    .map_or_else(|| "without a label".to_owned(), |label| format!("labelled '{label}'"));
                Err(format!(
                    "it carries {kind} {label}, which the lab has not made (its label is '{LABEL}'); erase it yourself with wipefs if it may go"
                ))
            }
            (None, Some(table)) => {
                Err(format!("it carries a partition table ({table}); name one of its partitions"))
            }
            (None, None) => Err("it carries something that blkid has no type for".into()),
        },
        _ => Err(format!("what is on it cannot be told: blkid says '{}'", said.join("; "))),
    }
}

/// Returns whether the lab makes file systems of a type, as blkid calls it.
fn is_made_here(kind: &str) -> bool {
    kind == "ntfs" || FILE_SYSTEMS.iter().any(|entry| !entry.in_memory() && entry.kind == kind)
}

#[cfg(test)]
mod tests {
    use super::judge;

    fn said(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn only_nothing_and_what_the_lab_made_may_go() {
        assert_eq!(judge(Some(2), &[]), Ok(()));
        for kind in ["ext4", "xfs", "btrfs", "ntfs", "f2fs"] {
            let lines = said(&[
                "DEVNAME=/dev/sdz1",
                "LABEL=megadir-lab",
                &format!("TYPE={kind}"),
                "USAGE=filesystem",
            ]);
            assert_eq!(judge(Some(0), &lines), Ok(()), "{kind}");
        }
        for (code, lines, reason) in [
            (Some(0), &["TYPE=ext4", "LABEL=home"][..], "it carries ext4 labelled 'home'"),
            (Some(0), &["TYPE=ext4"], "it carries ext4 without a label"),
            (Some(0), &["TYPE=LVM2_member", "LABEL=megadir-lab"], "it carries LVM2_member labelled"),
            (Some(0), &["TYPE=ext4", "LABEL=megadir-lab", "PTTYPE=dos"], "it carries ext4 labelled"),
            (Some(0), &["PTTYPE=gpt"], "it carries a partition table (gpt)"),
            (Some(0), &["LABEL=megadir-lab"], "it carries something"),
            (Some(8), &["ambivalent"], "what is on it cannot be told: blkid says 'ambivalent'"),
            (Some(2), &["blkid: error"], "what is on it cannot be told"),
            (None, &[], "what is on it cannot be told"),
        ] {
            let error = judge(code, &said(lines)).unwrap_err();
            assert!(error.starts_with(reason), "{error}");
        }
    }
}
