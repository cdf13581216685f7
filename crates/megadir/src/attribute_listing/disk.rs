//! Detects file systems on rotating disks. Virtual disks and loop devices report `queue/rotational` as 1, so
//! only SCSI and ATA disks of real vendors count, also through partitions, LVM, encryption and software RAID.

use std::fs;
use std::path::Path;

use crate::dir::Dir;

const SYSFS: &str = "/sys";
const VIRTUAL: [&str; 5] = ["qemu", "vbox", "virtual", "vmware", "xen"];
const DEPTH_MAX: usize = 8;

pub(crate) fn is_rotating(directory: &Dir) -> bool {
    let Ok(status) = rustix::fs::fstat(directory) else { return false };
    let (major, minor) = (rustix::fs::major(status.st_dev), rustix::fs::minor(status.st_dev));
    is_device_rotating(Path::new(SYSFS), major, minor)
}

fn is_device_rotating(sysfs: &Path, major: u32, minor: u32) -> bool {
    match fs::canonicalize(sysfs.join(format!("dev/block/{major}:{minor}"))) {
        Ok(device) => block_turns(&device, DEPTH_MAX),
        Err(_) => false,
    }
}

fn block_turns(device: &Path, depth: usize) -> bool {
    if depth == 0 {
        return false;
    }
    if device.join("partition").exists() {
        return device.parent().is_some_and(|whole| block_turns(whole, depth - 1));
    }
    let beneath: Vec<_> = fs::read_dir(device.join("slaves"))
        .into_iter()
        .flatten()
        .filter_map(|slave| fs::canonicalize(slave.ok()?.path()).ok())
        .collect();
    if !beneath.is_empty() {
        return beneath.iter().any(|slave| block_turns(slave, depth - 1));
    }
    let text = |file: &str| fs::read_to_string(device.join(file)).unwrap_or_default().to_lowercase();
    let is_scsi = fs::canonicalize(device.join("device/subsystem"))
        .is_ok_and(|subsystem| subsystem.file_name().is_some_and(|name| name == "scsi"));
    let maker = text("device/vendor") + &text("device/model");
    is_scsi && text("queue/rotational").trim() == "1" && !VIRTUAL.iter().any(|name| maker.contains(name))
}

#[cfg(test)]
mod tests {
    use super::is_device_rotating;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    /// Creates the sysfs files of a disk with device number `number`.
    fn disk(sysfs: &Path, name: &str, number: &str, files: &[(&str, &str)], subsystem: &str) {
        let device = sysfs.join("devices").join(name);
        for (file, text) in files {
            let file = device.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        fs::create_dir_all(sysfs.join("bus").join(subsystem)).unwrap();
        fs::create_dir_all(device.join("device")).unwrap();
        fs::create_dir_all(sysfs.join("dev/block")).unwrap();
        symlink(sysfs.join("bus").join(subsystem), device.join("device/subsystem")).unwrap();
        symlink(&device, sysfs.join("dev/block").join(number)).unwrap();
    }

    const TURNING: &[(&str, &str)] =
        &[("queue/rotational", "1\n"), ("device/vendor", "ATA     \n"), ("device/model", "ST4000VN008\n")];

    #[test]
    fn disks_turn_beneath_partitions_and_mapped_devices_too() {
        let sysfs = tempfile::tempdir().unwrap();
        let sysfs = fs::canonicalize(sysfs.path()).unwrap();
        disk(&sysfs, "sda", "8:0", TURNING, "scsi");
        fs::create_dir(sysfs.join("devices/sda/sda1")).unwrap();
        fs::write(sysfs.join("devices/sda/sda1/partition"), "1\n").unwrap();
        symlink(sysfs.join("devices/sda/sda1"), sysfs.join("dev/block/8:1")).unwrap();
        fs::create_dir_all(sysfs.join("devices/dm-0/slaves")).unwrap();
        symlink(sysfs.join("devices/sda/sda1"), sysfs.join("devices/dm-0/slaves/sda1")).unwrap();
        symlink(sysfs.join("devices/dm-0"), sysfs.join("dev/block/253:0")).unwrap();
        for (major, minor) in [(8, 0), (8, 1), (253, 0)] {
            assert!(is_device_rotating(&sysfs, major, minor), "{major}:{minor}");
        }
        assert!(!is_device_rotating(&sysfs, 0, 42), "no device at all");
    }

    #[test]
    fn a_flag_that_means_nothing_is_not_believed() {
        let sysfs = tempfile::tempdir().unwrap();
        let sysfs = fs::canonicalize(sysfs.path()).unwrap();
        disk(&sysfs, "vda", "254:0", TURNING, "virtio");
        disk(&sysfs, "nvme0n1", "259:0", &[("queue/rotational", "0\n")], "nvme");
        disk(&sysfs, "sda", "8:0", &[("queue/rotational", "0\n"), ("device/vendor", "ATA")], "scsi");
        let qemu = [("queue/rotational", "1\n"), ("device/vendor", "QEMU    \n")];
        disk(&sysfs, "sdb", "8:16", &qemu, "scsi");
        for (major, minor) in [(254, 0), (259, 0), (8, 0), (8, 16)] {
            assert!(!is_device_rotating(&sysfs, major, minor), "{major}:{minor}");
        }
    }

    #[test]
    fn circular_device_chains_end() {
        let sysfs = tempfile::tempdir().unwrap();
        let sysfs = fs::canonicalize(sysfs.path()).unwrap();
        fs::create_dir_all(sysfs.join("dev/block")).unwrap();
        fs::create_dir_all(sysfs.join("devices/dm-0/slaves")).unwrap();
        symlink(sysfs.join("devices/dm-0"), sysfs.join("devices/dm-0/slaves/dm-0")).unwrap();
        symlink(sysfs.join("devices/dm-0"), sysfs.join("dev/block/253:0")).unwrap();
        assert!(!is_device_rotating(&sysfs, 253, 0));
    }
}
