//! The block devices below a file system, from `/sys`; never their serial numbers.

use std::path::{Path, PathBuf};

const DEPTH_MAX: usize = 8;

/// Describes the device with this number and the devices below it: name, kind, size, rotational or not, and
/// scheduler.
pub(crate) fn block_stack(major: u32, minor: u32) -> Vec<String> {
    let mut words = Vec::new();
    if let Ok(path) = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) {
        add(&path, &mut words, 0);
    }
    words
}

fn add(path: &Path, words: &mut Vec<String>, depth: usize) {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
    let described = describe(path, name);
    if depth >= DEPTH_MAX || words.contains(&described) {
        return;
    }
    words.push(described);
    if path.join("partition").exists() {
        path.parent().into_iter().for_each(|disk| add(disk, words, depth + 1));
    }
    let slaves = std::fs::read_dir(path.join("slaves")).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> =
        slaves.filter_map(|slave| std::fs::canonicalize(slave.path()).ok()).collect();
    below.sort_unstable();
    below.iter().for_each(|device| add(device, words, depth + 1));
    if let Some(file) = super::read(path.join("loop/backing_file"))
        && let Ok(status) = rustix::fs::stat(file.as_str())
    {
        let (major, minor) = (rustix::fs::major(status.st_dev), rustix::fs::minor(status.st_dev));
        match std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) {
            Ok(device) => add(&device, words, depth + 1),
            Err(_) => words.push("a file system without a block device".to_owned()),
        }
    }
}

fn describe(path: &Path, name: &str) -> String {
    let told = |file: &str| super::read(path.join(file));
    let of_disk = |file: &str| told(file).or_else(|| super::read(path.parent()?.join(file)));
    let kind = if path.join("loop").exists() {
        Some("loop device on a file".to_owned())
    } else if path.join("partition").exists() {
        Some("partition".to_owned())
    } else {
        // device-mapper UUIDs: `LVM-...`, `CRYPT-LUKS2-...`; the kind comes first, the rest is an identifier.
        let mapped = told("dm/uuid").and_then(|uuid| Some(uuid.split('-').next()?.to_lowercase()));
        mapped.or_else(|| told("md/level")).or_else(|| told("device/model"))
    };
    let sectors = told("size").and_then(|sectors| sectors.parse::<u64>().ok());
    let size = sectors.map(|sectors| format!("{:.1} GiB", sectors as f64 / f64::from(1 << 21)));
    let turns =
        of_disk("queue/rotational").map(|turns| if turns == "1" { "rotational" } else { "not rotational" });
    let chosen = |list: String| Some(list.split_once('[')?.1.split_once(']')?.0.to_owned());
    let scheduler = of_disk("queue/scheduler").and_then(|list| Some(format!("scheduler {}", chosen(list)?)));
    let facts = [kind, size, turns.map(str::to_owned), scheduler];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    format!("{name} ({})", facts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::block_stack;
    use megadir_testkit::mount::{EXT4, Mount};
    use megadir_testkit::require;

    #[test]
    fn a_loop_device_is_told_with_what_is_below_it() {
        let mount = require!(Mount::make(&EXT4));
        let device = rustix::fs::stat(mount.path()).unwrap().st_dev;
        let stack = block_stack(rustix::fs::major(device), rustix::fs::minor(device));
        assert!(stack.len() >= 2 && stack[0].starts_with("loop"), "{stack:?}");
        assert!(stack[0].contains("loop device on a file, ") && stack[0].contains("GiB"), "{stack:?}");
        assert!(stack.iter().all(|device| !device.contains('/')), "{stack:?}");
        assert!(block_stack(0, 0).is_empty());
    }
}
