//! `--device`: only with `--erase-device`, and only devices that may be erased; the disk is a loop device
//! created by the test.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use megadir_testkit::mount::run;
use megadir_testkit::require;
use rustix::fs::SeekFrom;

use super::running::scratch;
use super::support::privileged;
use crate::support::{output_of, text};

/// A disk created by the test; detached when dropped.
struct Disk {
    image: PathBuf,
    device: String,
}

impl Disk {
    fn new(directory: &Path) -> Result<Self, String> {
        let image = directory.join("disk");
        std::fs::File::create(&image).and_then(|file| file.set_len(2 << 30)).expect("made");
        let attached = Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
        let attached = attached.map_err(|error| format!("cannot run losetup: {error}"))?;
        match attached.status.success() {
            true => Ok(Self { image, device: text(&attached.stdout).trim().to_owned() }),
            false => Err(text(&attached.stderr)),
        }
    }

    /// Its contents by page, without pages of zeroes.
    fn content(&self) -> Vec<(u64, Vec<u8>)> {
        let file = std::fs::File::open(&self.image).expect("there");
        let (mut at, mut content, mut page) = (0, Vec::new(), [0; 4096]);
        // Skip holes: reading two gigabytes would take long.
        while let Ok(start) = rustix::fs::seek(&file, SeekFrom::Data(at)) {
            at = rustix::fs::seek(&file, SeekFrom::Hole(start)).expect("every piece has an end");
            for place in (start..at).step_by(page.len()) {
                file.read_exact_at(&mut page, place).expect("readable");
                if page != [0; 4096] {
                    content.push((place, page.to_vec()));
                }
            }
        }
        content
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = run(Command::new("losetup").arg("--detach").arg(&self.device));
    }
}

#[test]
fn a_device_is_erased_only_when_that_is_allowed_and_it_may_go() {
    require!(privileged());
    let scratch = scratch();
    let disk = require!(Disk::new(scratch.path()));
    let (below, record) = (scratch.path().join("below"), scratch.path().join("record"));
    let paths = ["--dir", below.to_str().expect("UTF-8"), "-o", record.to_str().expect("UTF-8")];
    let study = ["bench", "run", "lookup", "--quick", "--entries=500", "--rounds=6", "--warm-up=1", "--fs"];
    let with = |more: &[&str]| output_of(".", &[&study[..], more, &paths].concat());
    let refused = |more: &[&str], reason: &str| {
        let refused = with(more);
        let message = text(&refused.stderr);
        assert!(matches!(refused.status.code(), Some(2 | 3)), "{message}");
        assert!(message.contains(reason), "{reason}: {message}");
        let after = message.lines().filter(|line| !line.starts_with("megadir: creating")).count();
        assert_eq!(after, 1, "{message}");
        assert!(!record.exists());
        // A dry run refuses it too.
        let dry = with(&[more, &["--dry-run"]].concat());
        let last = message.lines().last().map(|line| format!("{line}\n"));
        assert_eq!((dry.status.code(), Some(text(&dry.stderr))), (refused.status.code(), last));
    };
    let device = disk.device.as_str();
    refused(&["ext4", "--device", device], "--erase-device");
    refused(&["ext4,xfs", "--device", device, "--erase-device"], "--device is given");
    refused(&["ext4", "--erase-device"], "--erase-device: no --device is given");
    refused(&["tmpfs", "--device", device, "--erase-device"], "memory");
    let file = scratch.path().join("file");
    std::fs::write(&file, "precious").expect("written");
    refused(&["ext4", "--device", file.to_str().expect("UTF-8"), "--erase-device"], "not a block device");
    assert_eq!(std::fs::read(&file).expect("there"), b"precious");
    // Nothing has been written to the disk so far.
    assert_eq!(disk.content().len(), 0);
    require!(run(Command::new("mkfs.ext4").args(["-q", "-F", "-L", "home"]).arg(device)));
    let before = disk.content();
    refused(&["ext4", "--device", device, "--erase-device"], "it has ext4 labelled 'home'");
    assert!(disk.content() == before, "it was written to");
    require!(run(Command::new("wipefs").args(["--all", "--quiet"]).arg(device)));
    // The disk holds data that blkid does not know; then data that may be erased, and data that the lab wrote.
    refused(&["ext4", "--device", device, "--erase-device"], "it has data unknown to blkid");
    require!(run(Command::new("mkfs.ext4").args(["-q", "-F", "-L", "megadir-lab"]).arg(device)));
    for name in ["ext4", "xfs"] {
        let ran = with(&[name, "--device", device, "--erase-device"]);
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
        let text = std::fs::read_to_string(&record).expect("there");
        assert!(
            text.contains(&format!("\"on\":\"device\",\"path\":\"{device}\"")),
            "the record omits the place"
        );
        std::fs::remove_file(&record).expect("removed");
    }
    let shared = with(&["ext4", "--device", device, "--erase-device", "--share"]);
    assert_eq!(shared.status.code(), Some(0), "{}", text(&shared.stderr));
    let text = std::fs::read_to_string(&record).expect("there");
    assert!(!text.contains(device), "the record names the device");
}
