//! Checks that a user's device may be erased. Nothing is written to a refused device.
//!
//! All of these must hold, and again just before each mkfs, because hours may lie between:
//!
//! * the user allowed it (`--erase-device`), and it is a block device that can be claimed exclusively;
//! * it is empty, or has a file system with the lab's label and nothing else;
//! * emptiness is a finding, not an assumption: blkid must find no signature, and samples of the content
//!   must be blank.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::control::{RunControl, words};
use crate::disk::Disk;
use crate::{FILE_SYSTEMS, LABEL, LabError, Spec, program};

/// The device has no known signature.
const NOTHING_FOUND: i32 = 2;
/// If blkid finds nothing, this much is read at both ends of the device, where headers are, ...
const ENDS_BYTES: u64 = 1 << 20;
/// ... and this many blocks between, for content without a header (raw database volumes, plain encryption).
const SAMPLES: u64 = 1024;
const BLOCK_BYTES: usize = 4096;

const OTHER_DEVICE: &str = "its path now names another device";

/// Opens a device that the user allowed to be erased, that is unused, and empty or formatted by the lab.
pub fn open(spec: &Spec, path: &Path, erase: bool, control: RunControl<'_>) -> Result<Disk, LabError> {
    let refused = |reason: String| LabError::Device { path: path.to_owned(), reason };
    // Resolve links such as /dev/disk/by-id once: a changed link cannot redirect later steps.
    let own = path.canonicalize().map_err(|error| refused(words(&error)))?;
    let claimed = check(spec, (&own, path), erase, control)?;
    let device = File::options().read(true).write(true).open(&own);
    let device = device.map_err(|error| refused(words(&error)))?;
    let disk = Disk::of_device(&own, device);
    // mkfs and mount claim the device themselves, and would fail.
    if disk.is_same(&claimed) { Ok(disk) } else { Err(refused(OTHER_DEVICE.into())) }
}

/// Just before erasing: another process may have used or written the device meanwhile.
pub fn check_again(disk: &Disk, control: RunControl<'_>) -> Result<(), LabError> {
    claim_erasable((&disk.path, &disk.path), |claimed| disk.is_same(claimed), control).map(drop)
}

/// A refusal names the device by the path `shown`.
pub fn check(
    spec: &Spec,
    (path, shown): (&Path, &Path),
    erase: bool,
    control: RunControl<'_>,
) -> Result<File, LabError> {
    let refused = |reason: String| Err(LabError::Device { path: shown.to_owned(), reason });
    if spec.entry.in_memory() {
        return refused(format!("{spec} is in memory and uses no device"));
    }
    if !erase {
        return refused("all its data would be lost; allow that with --erase-device".into());
    }
    claim_erasable((path, shown), |_| true, control)
}

/// The exclusive claim is held while the content is examined, so that nothing can be mounted between the
/// two. The caller drops the claim before mkfs and mount, which claim the device themselves; `is_expected`
/// compares the device with the one that was approved.
fn claim_erasable(
    (path, shown): (&Path, &Path),
    is_expected: impl FnOnce(&File) -> bool,
    control: RunControl<'_>,
) -> Result<File, LabError> {
    let refused = |reason: String| LabError::Device { path: shown.to_owned(), reason };
    let claimed = claim(path).map_err(refused)?;
    if !is_expected(&claimed) {
        return Err(refused(OTHER_DEVICE.into()));
    }
    check_content(path, &claimed, control)?.map_err(refused)?;
    Ok(claimed)
}

/// `O_EXCL`: the kernel refuses while the device or a partition is mounted, used for swap, or part of another device.
fn claim(path: &Path) -> Result<File, String> {
    let words = |error: Errno| words(&error.into());
    // stat before open: opening some devices has side effects.
    let status = rustix::fs::stat(path).map_err(words)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::BlockDevice {
        return Err("it is not a block device".into());
    }
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
    let device = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(device) => File::from(device),
        Err(Errno::BUSY) => {
            return Err("it is in use: mounted, used for swap, or part of another device".into());
        }
        Err(Errno::ROFS | Errno::ACCESS | Errno::PERM) => return Err("it cannot be written to".into()),
        Err(error) => return Err(words(error)),
    };
    let opened = rustix::fs::fstat(device.as_fd()).map_err(words)?;
    if opened.st_rdev == status.st_rdev { Ok(device) } else { Err(OTHER_DEVICE.into()) }
}

/// Accepts no content but a file system with the lab's label.
fn check_content(
    path: &Path,
    claimed: &File,
    control: RunControl<'_>,
) -> Result<Result<(), String>, LabError> {
    if program::find("blkid").is_none() {
        return Ok(Err("its content is unknown without blkid (Debian package util-linux)".into()));
    }
    // Without --no-part-details, blkid reports a partition's entry in the partition table as its content.
    let options = ["-p", "--no-part-details", "-o", "export"].map(OsStr::new);
    let ended = program::run("blkid", &[&options[..], &[path.as_os_str()]].concat(), control)?;
    Ok(judge(ended.status.code(), &ended.output).and_then(|carries| match carries {
        Carries::OfTheLab => Ok(()),
        Carries::NothingKnown => match first_data(claimed) {
            Ok(None) => Ok(()),
            Ok(Some(at)) => Err(format!("it has data unknown to blkid (at byte {at}); {MAY_GO}")),
            Err(error) => Err(format!("its content is unknown: {}", words(&error))),
        },
    }))
}

const MAY_GO: &str = "to allow its erasure, label it with mkfs.ext4 -L megadir-lab";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Carries {
    OfTheLab,
    NothingKnown,
}

/// Offset of the first sampled block with data; `None` if every block is all zeros or all ones: never written, or discarded.
fn first_data(device: &File) -> io::Result<Option<u64>> {
    let mut block = vec![0; BLOCK_BYTES];
    let bytes = (&*device).seek(SeekFrom::End(0))?;
    for at in looked_at(bytes) {
        let part =
            &mut block[..usize::try_from(bytes - at).map_or(BLOCK_BYTES, |left| left.min(BLOCK_BYTES))];
        device.read_exact_at(part, at)?;
        if part.iter().any(|&byte| byte != part[0]) || !matches!(part.first(), Some(0 | 0xff) | None) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Offsets of the blocks to read, in ascending order and without repetition: both ends whole, and `SAMPLES`
/// blocks at equal distances between. 1536 reads take moments on any device; a whole disk would take hours.
fn looked_at(bytes: u64) -> impl Iterator<Item = u64> {
    let block = BLOCK_BYTES as u64;
    let blocks = bytes.div_ceil(block);
    let ends = (ENDS_BYTES / block).min(blocks);
    let between = blocks - ends;
    let samples = (0..SAMPLES)
        .map(move |sample| ends + (u128::from(sample) * u128::from(between) / u128::from(SAMPLES)) as u64);
    (0..ends)
        .chain(samples.filter(move |_| between > 0))
        .chain(blocks - ends..blocks)
        .map(move |number| number * block)
}

/// Judges the exit code and the lines `KEY=VALUE` of `blkid -p`. Whatever is not understood is a refusal:
/// an ambivalent result (8), output in addition to "nothing found", and a type without a label of ours.
fn judge(code: Option<i32>, lines: &[String]) -> Result<Carries, String> {
    let of = |key: &str| lines.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    match code {
        Some(NOTHING_FOUND) if lines.is_empty() => Ok(Carries::NothingKnown),
        Some(0) => match (of("TYPE"), of("PTTYPE")) {
            (Some(kind), None) if of("LABEL") == Some(LABEL) && is_made_here(kind) => Ok(Carries::OfTheLab),
            (Some(kind), _) => {
                let label = of("LABEL")
                    .map_or_else(|| "without a label".to_owned(), |label| format!("labelled '{label}'"));
                Err(format!("it has {kind} {label}, not created by this program; {MAY_GO}"))
            }
            (None, Some(table)) => {
                Err(format!("it has a partition table ({table}); name one of its partitions"))
            }
            (None, None) => Err("it has content without a type known to blkid".into()),
        },
        _ => Err(format!("its content is unknown: blkid says '{}'", lines.join("; "))),
    }
}

/// blkid reports NTFS as `ntfs`, whichever of the two drivers of the table mounts it.
fn is_made_here(kind: &str) -> bool {
    kind == "ntfs" || FILE_SYSTEMS.iter().any(|entry| !entry.in_memory() && entry.kind == kind)
}

#[cfg(test)]
mod tests {
    use super::{Carries, first_data, judge, looked_at};
    use std::os::unix::fs::FileExt;

    fn owned(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn only_empty_devices_and_devices_of_the_lab_may_be_erased() {
        assert_eq!(judge(Some(2), &[]), Ok(Carries::NothingKnown));
        for kind in ["ext4", "xfs", "btrfs", "ntfs", "f2fs"] {
            let lines = owned(&[
                "DEVNAME=/dev/sdz1",
                "LABEL=megadir-lab",
                &format!("TYPE={kind}"),
                "USAGE=filesystem",
            ]);
            assert_eq!(judge(Some(0), &lines), Ok(Carries::OfTheLab), "{kind}");
        }
        for (code, lines, reason) in [
            (Some(0), &["TYPE=ext4", "LABEL=home"][..], "it has ext4 labelled 'home'"),
            (Some(0), &["TYPE=ext4"], "it has ext4 without a label"),
            (Some(0), &["TYPE=LVM2_member", "LABEL=megadir-lab"], "it has LVM2_member labelled"),
            (Some(0), &["TYPE=ext4", "LABEL=megadir-lab", "PTTYPE=dos"], "it has ext4 labelled"),
            (Some(0), &["PTTYPE=gpt"], "it has a partition table (gpt)"),
            (Some(0), &["LABEL=megadir-lab"], "it has content without a type"),
            (Some(8), &["ambivalent"], "its content is unknown: blkid says 'ambivalent'"),
            (Some(2), &["blkid: error"], "its content is unknown"),
            (None, &[], "its content is unknown"),
        ] {
            let error = judge(code, &owned(lines)).unwrap_err();
            assert!(error.starts_with(reason), "{error}");
        }
    }

    #[test]
    fn data_is_found_at_both_ends_and_between() {
        for bytes in [0, 1, 4096, 5000, (1 << 20) + 1, 3 << 20, 1 << 30, (1 << 30) + 77] {
            let disk = tempfile::tempfile().unwrap();
            disk.set_len(bytes).unwrap();
            assert_eq!(first_data(&disk).unwrap(), None, "{bytes} bytes of zeros");
            let places = [0, bytes / 2 / 4096 * 4096, bytes.saturating_sub(1)];
            for at in places.into_iter().filter(|at| *at < bytes) {
                // A contiguous run of a thousandth of the device contains at least one sampled block.
                let length = (bytes / 1000).max(1).min(bytes - at);
                disk.write_all_at(&vec![7; length as usize], at).unwrap();
                let found = first_data(&disk).unwrap().unwrap();
                assert!(found + 4096 > at && found < at + length + 4096, "{bytes}, at {at}: {found}");
                disk.write_all_at(&vec![0; length as usize], at).unwrap();
            }
        }
        let disk = tempfile::tempfile().unwrap();
        disk.write_all_at(&[0xff; 8192], 0).unwrap();
        assert_eq!(first_data(&disk).unwrap(), None, "as some flash is when it was never written");
        let places: Vec<u64> = looked_at(u64::MAX / 2).collect();
        assert!(places.is_sorted() && places.len() == 256 + 1024 + 256, "{places:?}");
    }
}
