//! Disks in memory: zram, which compresses each block, or an image in a tmpfs of its own.
//!
//! A zram device belongs to no process. So a keeper, a shell that waits until the run closes a pipe, adds it and removes it,
//! also after `kill -9` of the run. If the keeper is killed too, the next run removes the device: a mark in `/run/megadir` has its
//! sequence number (`diskseq`), which no other disk gets before the next boot. The kernel refuses to remove a device that anything has open.
//! The keeper is in the run's mount namespace, which would keep the file system mounted, so it also unmounts it.
//!
//! ```text
//! run -- pipe --> keeper (sh) -- hot_add --> /dev/zramN, and the mark /run/megadir/zram-BOOT-SEQUENCE
//!  |                 |
//!  ends or dies      end of the pipe: umount, hot_remove, mark removed
//!                    |
//!                    killed too: the mark stays, and `leftovers` of the next run removes the device
//! ```

use std::ffi::OsStr;
use std::fs::{DirEntry, File};
use std::io::{self, PipeWriter};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::control::{RunControl, words};
use crate::image::make_image;
use crate::mount;
use crate::program::Running;
use crate::{LabError, Spec};

const KEEPER: &str = include_str!("memory.sh");
const CONTROL: &str = "/sys/class/zram-control";
const MARKS: &str = "/run/megadir";
/// Fields of `/sys/block/zramN/mm_stat`, from 0, bytes: the memory in use, the limit, and the most used so far.
const USED_FIELD: usize = 2;
const LIMIT_FIELD: usize = 3;
const USED_MAX_FIELD: usize = 4;
/// Field of `/sys/block/zramN/io_stat`: writes that failed, nearly always because of the limit.
const FAILED_WRITES_FIELD: usize = 1;

/// Removed on drop. Close the device before.
#[derive(Debug)]
pub(crate) struct Zram {
    // First field, so that the pipe is closed before the keeper is waited for.
    lives: Option<PipeWriter>,
    keeper: Running,
    number: u32,
}

/// Reason why zram cannot be used here, in words.
///
/// The checks have no side effect: asking whether zram works by adding a device would leave one behind
/// wherever it cannot be removed.
pub(crate) fn no_zram() -> Option<String> {
    let control = Path::new(CONTROL);
    match () {
        () if !control.exists() => {
            Some("this kernel has no zram, or its module is not loaded (modprobe zram)".into())
        }
        // Reading `hot_add` adds a device even where /sys is read-only, as in most containers, and nothing could remove it.
        () if File::options().write(true).open(control.join("hot_remove")).is_err() => {
            Some(format!("'{CONTROL}' cannot be written here"))
        }
        // Only this number distinguishes a device of ours from a later one with the same name.
        () if !has_sequence_numbers() => Some("this kernel does not number its disks (Linux 5.15)".into()),
        () => None,
    }
}

/// Reason why disks of these file systems must be files in a tmpfs, in words.
pub fn no_zram_for(specs: &[Spec]) -> Option<String> {
    let small = || specs.iter().find(|spec| !spec.takes_large_sectors());
    no_zram().or_else(|| Some(format!("{} needs sectors that are smaller than those of zram", small()?)))
}

fn disks() -> impl Iterator<Item = DirEntry> {
    std::fs::read_dir("/sys/block").into_iter().flatten().flatten()
}

/// Memory that present zram devices with a limit, above all of other runs, may still take, bytes.
pub fn promised_bytes() -> u64 {
    let promised = disks().filter_map(|disk| {
        let stat = disk.path().join("mm_stat");
        Some(field(&stat, LIMIT_FIELD)?.saturating_sub(field(&stat, USED_FIELD)?))
    });
    promised.fold(0, u64::saturating_add)
}

fn field(path: &Path, number: usize) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.split_whitespace().nth(number)?.parse().ok()
}

fn has_sequence_numbers() -> bool {
    disks().any(|disk| disk.path().join("diskseq").exists())
}

impl Zram {
    /// Adds a device of `bytes` that takes at most `limit_bytes` of memory.
    pub(crate) fn add(bytes: u64, limit_bytes: u64, control: RunControl<'_>) -> Result<Self, LabError> {
        let boot = boot().map_err(LabError::failed("read the number of this boot"))?;
        let arguments = ["-c", KEEPER, "keeper", MARKS, &boot].map(OsStr::new);
        let (waits, lives) = io::pipe().map_err(LabError::failed("create a pipe"))?;
        let keeper = Running::start("sh", &arguments, Some(waits)).map_err(LabError::failed("start sh"))?;
        let mut zram = Self { lives: Some(lives), keeper, number: 0 };
        // The keeper prints the number only after it has written its mark, so a device without a mark never
        // carries data.
        zram.number = zram.keeper.watch(control, |keeper| {
            let output = keeper.output();
            if let Some(number) = output.last().and_then(|line| line.parse().ok()) {
                return Ok(Some(number));
            }
            let ended = keeper.child.try_wait().map_err(LabError::failed("wait for sh"))?;
            let last = || output.last().cloned().unwrap_or_else(|| "no reason given".to_owned());
            ended.map_or(Ok(None), |_| Err(LabError::failed("add a zram device")(io::Error::other(last()))))
        })?;
        // The limit first: it must hold before anything is written.
        zram.set("mem_limit", limit_bytes)?;
        zram.set("disksize", bytes)?;
        Ok(zram)
    }

    fn set(&self, attribute: &str, value: u64) -> Result<(), LabError> {
        let path = self.attribute(attribute);
        let doing = || format!("set {}", path.display());
        std::fs::write(&path, value.to_string()).map_err(LabError::failed(doing()))
    }

    fn attribute(&self, name: &str) -> PathBuf {
        Path::new("/sys/block").join(format!("zram{}", self.number)).join(name)
    }

    pub(crate) fn path(&self) -> PathBuf {
        Path::new("/dev").join(format!("zram{}", self.number))
    }

    /// As the kernel marks it in its list, e.g. `lzo-rle`.
    pub(crate) fn algorithm(&self) -> Option<String> {
        let all = std::fs::read_to_string(self.attribute("comp_algorithm")).ok()?;
        let chosen = all.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        chosen.map(str::to_owned)
    }

    pub(crate) fn memory_used_max(&self) -> Option<u64> {
        field(&self.attribute("mm_stat"), USED_MAX_FIELD)
    }

    /// `true` if something that was written is lost.
    pub(crate) fn has_failed_writes(&self) -> bool {
        field(&self.attribute("io_stat"), FAILED_WRITES_FIELD).is_some_and(|failed| failed > 0)
    }
}

impl Drop for Zram {
    /// Closing the pipe is the message to the keeper, and waiting for it makes sure that the memory is free
    /// again before the caller makes the next disk. The keeper is not killed: it would leave the device.
    fn drop(&mut self) {
        self.lives = None;
        let _ = self.keeper.child.wait();
    }
}

fn boot() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// An image in a tmpfs of its own, which nothing but the image holds.
pub(crate) fn image(
    directory: impl AsFd,
    path: &Path,
    (bytes, limit_bytes): (u64, u64),
) -> Result<File, LabError> {
    const NAME: &str = "memory";
    let doing = || "make an image in memory";
    let point = path.join(NAME);
    let failed = |error: Errno| LabError::failed(doing())(error);
    rustix::fs::mkdirat(directory.as_fd(), NAME, rustix::fs::Mode::RWXU).map_err(failed)?;
    let image = mount::mount(Path::new("none"), &point, "tmpfs", &[format!("size={limit_bytes}")])
        .map_err(failed)
        // The image is unnamed and open, so it outlives the lazy unmount: the tmpfs has no path from then
        // on, and the kernel frees it with the last descriptor of the image.
        .and_then(|()| {
            let inside = File::open(&point).map_err(LabError::failed(doing()));
            let image =
                inside.and_then(|inside| make_image(inside, bytes).map_err(LabError::failed(doing())));
            mount::detach(&point).map_err(failed).and(image)
        });
    let removed = rustix::fs::unlinkat(directory.as_fd(), NAME, rustix::fs::AtFlags::REMOVEDIR);
    removed.map_err(failed).and(image)
}

/// Devices of killed runs whose keepers were killed too, by path, and others that should have been removed, with the reason. Only
/// counts them unless `remove` is set.
pub fn leftovers(remove: bool) -> (Vec<String>, Vec<(String, String)>) {
    let (mut removed, mut left) = (Vec::new(), Vec::new());
    let Ok(boot) = boot() else { return (removed, left) };
    for mark in std::fs::read_dir(MARKS).into_iter().flatten().flatten() {
        let name = mark.file_name().to_string_lossy().into_owned();
        let Some((of, sequence)) = name.strip_prefix("zram-").and_then(|rest| rest.rsplit_once('-')) else {
            continue;
        };
        let mark = mark.path();
        if let Some(number) = Some(of).filter(|of| *of == boot).and_then(|_| number_of(sequence)) {
            let path = format!("/dev/zram{number}");
            match (is_kept(&mark, &path), remove) {
                (true, _) => continue,
                (false, false) => removed.push(path),
                (false, true) => match std::fs::write(format!("{CONTROL}/hot_remove"), number.to_string()) {
                    Ok(()) => removed.push(path),
                    // Its keeper has removed it since the look.
                    Err(error) if error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => {}
                    Err(error) => {
                        left.push((path, words(&error)));
                        continue;
                    }
                },
            }
        }
        if remove {
            let _ = std::fs::remove_file(mark);
        }
    }
    (removed, left)
}

/// `true` if the keeper that wrote the mark still has the device open.
///
/// Descriptor 4 is the one on which the keeper's script (`memory.sh`) opens its device. A process number
/// alone would not do, since another process may have it by now.
fn is_kept(mark: &Path, device: &str) -> bool {
    let process = std::fs::read_to_string(mark).unwrap_or_default();
    let open = std::fs::read_link(format!("/proc/{}/fd/4", process.trim()));
    open.is_ok_and(|open| open == Path::new(device))
}

/// Number of the zram device with this `diskseq`, if it still exists. The name `zramN` alone is no
/// identity: the kernel gives the lowest free number again, and that device may be another user's swap.
fn number_of(sequence: &str) -> Option<u32> {
    disks().find_map(|disk| {
        let number = disk.file_name().to_str()?.strip_prefix("zram")?.parse().ok()?;
        let own = std::fs::read_to_string(disk.path().join("diskseq")).ok()?;
        (own.trim() == sequence).then_some(number)
    })
}
