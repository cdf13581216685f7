//! Volumes whose identity in statfs(2) is the number of their device, which another volume has after a remount: XFS and SquashFS.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::path::Path;
use std::process::Command;

use megadir_testkit::mount::{run as run_tool, unmount};
use megadir_testkit::require;
use megadir_testkit::require::have;
use tempfile::TempDir;

use crate::remove::witness::scratch_in_memory;
use crate::support::{root, run, text};

/// A tree `t` with two volumes mounted in it, at `a` and `b`, on loop devices of its own.
struct Two {
    folder: TempDir,
    devices: [String; 2],
    kind: &'static str,
}

impl Two {
    /// `make` writes an image `$I`; `number` is the first device's.
    fn make(kind: &'static str, number: u32, make: &str) -> Result<Self, String> {
        root()?;
        have(&format!("mk{}", if kind == "xfs" { "fs.xfs" } else { kind }))?;
        let folder = scratch_in_memory();
        for name in ["a", "b"] {
            let at = folder.path();
            std::fs::create_dir_all(at.join("t").join(name)).unwrap();
            std::fs::create_dir_all(at.join("contents").join(name)).unwrap();
            // SquashFS is recognized by its size and counts.
            let files = if name == "a" { 5 } else { 7 };
            (0..files).for_each(|file| {
                std::fs::write(at.join(format!("contents/{name}/{name}{file}")), name).unwrap();
            });
            let script = format!("N={name}; I=$N.image; {make}");
            run_tool(Command::new("sh").args(["-e", "-c", &script]).current_dir(at))?;
        }
        let devices = [number, number + 1].map(|number| format!("/dev/loop{number}"));
        let mut two = Self { folder, devices, kind };
        two.mount(false)?;
        Ok(two)
    }

    fn at(&self) -> &Path {
        self.folder.path()
    }

    /// Each volume on the device of the other one if `swapped`.
    fn mount(&mut self, swapped: bool) -> Result<(), String> {
        for (index, name) in ["a", "b"].into_iter().enumerate() {
            let device = &self.devices[if swapped { 1 - index } else { index }];
            let image = self.at().join(format!("{name}.image"));
            let attach = || run_tool(Command::new("losetup").arg(device).arg(&image));
            // Programs that look at all devices hold each for a moment.
            let is_busy = |tried: &Result<_, String>| tried.as_ref().is_err_and(|why| why.contains("busy"));
            let mut tried = attach();
            for _ in 0..40 {
                if !is_busy(&tried) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(50));
                tried = attach();
            }
            tried?;
            let mut command = Command::new("mount");
            command.args(["-t", self.kind, device]).arg(self.at().join("t").join(name));
            run_tool(&mut command)?;
        }
        Ok(())
    }

    fn unmount(&self) {
        for (index, name) in ["a", "b"].into_iter().enumerate() {
            let _ = unmount(&self.at().join("t").join(name));
            let _ = run_tool(Command::new("losetup").args(["-d", &self.devices[index]]));
        }
    }
}

impl Drop for Two {
    fn drop(&mut self) {
        self.unmount();
    }
}

fn assert_distinguished(mut two: Two) {
    let at = two.at().to_owned();
    let scan = ["scan", "-q", "--cross-mounts", "-o"];
    run(&at, &[&scan[..], &["i.parquet", "t"]].concat()).quiet();
    let none = |words: &[&str]| {
        let changes = ["changes", "--only=added,removed,modified,renamed,type-changed", "i.parquet"];
        let ran = run(&at, &[&changes, words].concat());
        assert_eq!((ran.code, text(&ran.out)), (Some(0), String::new()), "{words:?}");
    };
    none(&[]);
    two.unmount();
    two.mount(true).unwrap();
    none(&[]);
    run(&at, &[&scan[..], &["swapped.parquet", "t"]].concat()).quiet();
    none(&["swapped.parquet"]);
    // Other numbers altogether.
    two.unmount();
    let before = two.devices.clone();
    // Other programs may take a free device before it is used here.
    let first = if two.kind == "xfs" { 910 } else { 900 };
    let mounted = (0..10).map(|attempt| first + 100 * attempt).find(|number| {
        two.devices = [1, 2].map(|add| format!("/dev/loop{}", number + add));
        let mounted = two.mount(false);
        if mounted.is_err() {
            two.unmount();
        }
        mounted.is_ok()
    });
    assert!(mounted.is_some(), "no two free loop devices");
    none(&[]);
    // The volumes themselves exchanged are a change.
    two.unmount();
    two.devices = before;
    std::fs::rename(at.join("a.image"), at.join("c.image")).unwrap();
    std::fs::rename(at.join("b.image"), at.join("a.image")).unwrap();
    std::fs::rename(at.join("c.image"), at.join("b.image")).unwrap();
    two.mount(false).unwrap();
    let changed = text(&run(&at, &["changes", "i.parquet"]).out);
    assert!(changed.contains("t/a") && changed.contains("t/b"), "{changed}");
}

#[test]
fn xfs_volumes_that_swapped_their_devices_are_no_change() {
    let make = "truncate -s 320M $I; mkfs.xfs -q -f $I; mkdir m; mount -o loop $I m; cp -a contents/$N/. m; umount m; rmdir m";
    assert_distinguished(require!(Two::make("xfs", 915, make)));
}

#[test]
fn squashfs_volumes_that_swapped_their_devices_are_no_change() {
    // Of one size, and made in the same second.
    let make = "touch -d @1700000000 contents/$N; mksquashfs contents/$N $I -quiet -no-progress >/dev/null";
    assert_distinguished(require!(Two::make("squashfs", 905, make)));
}
