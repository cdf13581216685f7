//! The machine as its own files describe it: what a reader of a record must know.
//!
//! Reads `/proc` and `/sys` only; what is not there is `None`, never guessed.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

use megadir_record::{FileSystem, Machine, Pressure};

/// Describes the machine, with the file system that `directory` lies on.
pub(crate) fn describe(directory: BorrowedFd<'_>) -> Machine {
    let cpu = read("/proc/cpuinfo").unwrap_or_default();
    Machine {
        host: read("/proc/sys/kernel/hostname"),
        kernel: [read("/proc/sys/kernel/ostype"), read("/proc/sys/kernel/osrelease")]
            .map(|text| text.unwrap_or_else(|| "unknown".into()))
            .join(" "),
        processor: field(&cpu, "model name"),
        processors: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        memory_bytes: meminfo_bytes("MemTotal"),
        memory_limit_bytes: memory_limit_bytes(),
        hypervisor: hypervisor(&cpu),
        governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        mitigations: mitigations(),
        clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        file_system: file_system(directory),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pressure: pressure(),
    }
}

/// Returns load and pressure as they are now.
pub(crate) fn pressure() -> Pressure {
    let load = read("/proc/loadavg");
    Pressure {
        load_1m: load.and_then(|text| text.split(' ').next()?.parse().ok()),
        cpu_some_10s_percent: stall("/proc/pressure/cpu"),
        io_some_10s_percent: stall("/proc/pressure/io"),
        dirty_bytes: meminfo_bytes("Dirty"),
    }
}

/// Returns what waits to be written to all devices, and what is being written, bytes.
pub(crate) fn unwritten_bytes() -> Option<u64> {
    Some(meminfo_bytes("Dirty")? + meminfo_bytes("Writeback")?)
}

/// Returns whether this is a virtual machine: what it reads from its disks may come from its host's memory.
pub(crate) fn is_virtual() -> bool {
    hypervisor(&read("/proc/cpuinfo").unwrap_or_default()).is_some()
}

/// Returns the time stolen by the hypervisor from all processors since the machine started, in ticks of 10 ms.
pub(crate) fn stolen_ticks() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the value of the first line `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn meminfo_bytes(name: &str) -> Option<u64> {
    let value = field(&read("/proc/meminfo")?, name)?;
    Some(value.strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Returns the average share of time over ten seconds in which some task was stalled, per cent.
fn stall(path: &str) -> Option<f64> {
    let text = read(path)?;
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split(' ').find_map(|word| word.strip_prefix("avg10="))?.parse().ok()
}

/// Returns the smallest memory limit of the control group and those above it (version 2).
fn memory_limit_bytes() -> Option<u64> {
    let groups = read("/proc/self/cgroup")?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let of_group =
        |path: &Path| read(Path::new("/sys/fs/cgroup").join(path).join("memory.max"))?.parse().ok();
    Path::new(group).ancestors().filter_map(of_group).min()
}

fn hypervisor(cpu: &str) -> Option<String> {
    let told = field(cpu, "flags")?.split(' ').any(|flag| flag == "hypervisor");
    let product = ["/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"].map(read);
    let product = product.into_iter().flatten().collect::<Vec<_>>().join(" ");
    told.then(|| read("/sys/hypervisor/type").unwrap_or(product))
        .map(|name| if name.is_empty() { "a hypervisor without a name".to_owned() } else { name })
}

fn mitigations() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else {
        return Vec::new();
    };
    let state = |path: PathBuf| Some(format!("{}: {}", path.file_name()?.to_str()?, read(&path)?));
    let mut states: Vec<String> = entries
        .filter_map(|entry| state(entry.ok()?.path()))
        .filter(|state| !state.ends_with(": Not affected"))
        .collect();
    states.sort_unstable();
    states
}

/// Describes the file system of an open directory.
pub(crate) fn file_system(directory: BorrowedFd<'_>) -> FileSystem {
    let space = rustix::fs::fstatvfs(directory).ok();
    let mount = mount(directory);
    let (kind, mount_options, device) = match mount {
        Some(mount) => (mount.kind, Some(mount.options), Some(mount.device)),
        None => ("unknown".to_owned(), None, None),
    };
    FileSystem {
        kind,
        mount_options,
        device,
        block_bytes: space.as_ref().map(|space| space.f_frsize),
        blocks: space.as_ref().map(|space| (space.f_blocks, space.f_bavail)),
        inodes: space.filter(|space| space.f_files > 0).map(|space| (space.f_files, space.f_favail)),
    }
}

struct Mount {
    kind: String,
    options: String,
    device: String,
}

/// Finds the mount of an open directory by the number that the kernel gives it.
fn mount(directory: BorrowedFd<'_>) -> Option<Mount> {
    let info = read(format!("/proc/self/fdinfo/{}", directory.as_fd().as_raw_fd()))?;
    let id = field(&info, "mnt_id")?;
    let mounts = read("/proc/self/mountinfo")?;
    mounts.lines().find_map(|line| parse_mount(line, &id))
}

/// Parses a line of mountinfo: `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELD...] - TYPE SOURCE SUPER_OPTIONS`.
fn parse_mount(line: &str, id: &str) -> Option<Mount> {
    let (of_mount, of_super) = line.split_once(" - ")?;
    let mut of_mount = of_mount.split(' ');
    if of_mount.next() != Some(id) {
        return None;
    }
    let mut options: Vec<&str> = of_mount.nth(4)?.split(',').collect();
    let mut of_super = of_super.split(' ');
    let (kind, device) = (of_super.next()?, of_super.next()?);
    for option in of_super.next().unwrap_or("").split(',') {
        if !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    Some(Mount { kind: kind.to_owned(), options: options.join(","), device: device.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{describe, parse_mount};
    use std::os::fd::AsFd;

    #[test]
    fn a_line_of_mountinfo_is_understood() {
        let line = "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = parse_mount(line, "36").unwrap();
        assert_eq!(mount.kind, "ext3");
        assert_eq!(mount.device, "/dev/root");
        assert_eq!(mount.options, "rw,noatime,errors=continue");
        assert!(parse_mount(line, "35").is_none());
    }

    #[test]
    fn this_machine_is_described() {
        let directory = std::fs::File::open("/").unwrap();
        let machine = describe(directory.as_fd());
        assert!(machine.kernel.starts_with("Linux "));
        assert_ne!(machine.file_system.kind, "unknown");
        assert!(machine.processors >= 1 && machine.memory_bytes.unwrap() > 1 << 20);
    }
}
