//! Linux: the machine as described by `/proc` and `/sys`. A missing value is `None`, never guessed.

mod block_stack;

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use megadir_record::{FileSystem, Machine, Pressure};
use megadir_sys::processor;

use super::Program;

/// Kernel settings that decide when data is written back, and how long names and inodes stay cached.
const SETTINGS: [&str; 8] = [
    "vm.dirty_ratio",
    "vm.dirty_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_background_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_writeback_centisecs",
    "vm.vfs_cache_pressure",
    "vm.swappiness",
];

pub(crate) fn describe(directory: BorrowedFd<'_>, program: &Program) -> Machine {
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
        processor_limit: processor_limit(),
        hypervisor: hypervisor(&cpu),
        emulator: processor::emulator().map(str::to_owned),
        wine: None,
        governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        power_plan: None,
        mitigations: mitigations(),
        clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        file_system: file_system(directory),
        settings: SETTINGS.iter().filter_map(|name| setting(name)).collect(),
        watchers: Vec::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: program.commit.clone(),
        build: program.by.clone(),
        pressure: pressure(),
    }
}

pub(crate) fn pressure() -> Pressure {
    let load = read("/proc/loadavg");
    Pressure {
        load_1m: load.and_then(|text| text.split(' ').next()?.parse().ok()),
        cpu_some_10s_percent: stall("/proc/pressure/cpu"),
        io_some_10s_percent: stall("/proc/pressure/io"),
        memory_some_10s_percent: stall("/proc/pressure/memory"),
        dirty_bytes: meminfo_bytes("Dirty"),
        others_busy_percent: None,
        taken_percent: None,
    }
}

/// Bytes that are dirty or under write-back on all devices.
pub(crate) fn unwritten_bytes() -> Option<u64> {
    Some(meminfo_bytes("Dirty")? + meminfo_bytes("Writeback")?)
}

/// Memory that may be used without swapping, bytes: the kernel's estimate, within the limit of the control
/// group.
pub(crate) fn available_bytes() -> Option<u64> {
    Some(meminfo_bytes("MemAvailable")?.min(memory_limit_bytes().unwrap_or(u64::MAX)))
}

pub(crate) fn is_virtual() -> bool {
    hypervisor(&read("/proc/cpuinfo").unwrap_or_default()).is_some()
}

/// Time stolen by the hypervisor from all processors since boot, in ticks of 10 ms.
pub(crate) fn stolen_ticks() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn meminfo_bytes(name: &str) -> Option<u64> {
    let value = field(&read("/proc/meminfo")?, name)?;
    Some(value.strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Share of the last ten seconds in which some task was stalled, per cent.
fn stall(path: &str) -> Option<f64> {
    let text = read(path)?;
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split(' ').find_map(|word| word.strip_prefix("avg10="))?.parse().ok()
}

fn setting(name: &str) -> Option<String> {
    Some(format!("{name} = {}", read(Path::new("/proc/sys").join(name.replace('.', "/")))?))
}

/// Values of a control file in the process's group and all groups above it: the narrowest limit applies.
fn of_groups(file: &str) -> Vec<String> {
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let Some(group) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else { return Vec::new() };
    let root = Path::new("/sys/fs/cgroup");
    Path::new(group).ancestors().filter_map(|path| read(root.join(path).join(file))).collect()
}

fn memory_limit_bytes() -> Option<u64> {
    of_groups("memory.max").iter().filter_map(|limit| limit.parse().ok()).min()
}

fn processor_limit() -> Option<f64> {
    of_groups("cpu.max").iter().filter_map(|limit| quota(limit)).min_by(f64::total_cmp)
}

/// Parses a quota, `MICROSECONDS PERIOD`; `None` for `max PERIOD` (unlimited).
fn quota(limit: &str) -> Option<f64> {
    let (quota, period) = limit.split_once(' ')?;
    let period: f64 = period.parse().ok()?;
    (period > 0.0).then_some(quota.parse::<f64>().ok()? / period)
}

/// Name of the hypervisor, by the processor's flag; the product name of the machine if it has no better
/// one.
fn hypervisor(cpu: &str) -> Option<String> {
    let is_guest = field(cpu, "flags")?.split(' ').any(|flag| flag == "hypervisor");
    let product = ["/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"].map(read);
    let product = product.into_iter().flatten().collect::<Vec<_>>().join(" ");
    is_guest
        .then(|| read("/sys/hypervisor/type").unwrap_or(product))
        .map(|name| if name.is_empty() { "a hypervisor without a name".to_owned() } else { name })
}

fn mitigations() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else { return Vec::new() };
    let state = |path: PathBuf| Some(format!("{}: {}", path.file_name()?.to_str()?, read(&path)?));
    let mut states: Vec<String> = entries
        .filter_map(|entry| state(entry.ok()?.path()))
        .filter(|state| !state.ends_with(": Not affected"))
        .collect();
    states.sort_unstable();
    states
}

pub(crate) fn file_system(directory: BorrowedFd<'_>) -> FileSystem {
    let space = rustix::fs::fstatvfs(directory).ok();
    let mount = mount(directory);
    let number = mount.as_ref().and_then(device_number);
    FileSystem {
        kind: mount.as_ref().map_or_else(|| kind_by_magic(directory), |mount| mount.kind.clone()),
        mount_options: mount.as_ref().map(|mount| mount.options.clone()),
        device: mount.as_ref().map(|mount| mount.device.clone()),
        block_bytes: space.as_ref().map(|space| space.f_frsize),
        blocks: space.as_ref().map(|space| (space.f_blocks, space.f_bavail)),
        inodes: space.filter(|space| space.f_files > 0).map(|space| (space.f_files, space.f_favail)),
        features: block_stack::features(directory),
        made_unix_s: mount.as_ref().and_then(|mount| made_unix_s(mount, directory)),
        written_bytes: number.and_then(ever_written_bytes),
        block_stack: number.map(|(major, minor)| block_stack::block_stack(major, minor)).unwrap_or_default(),
        directory: Vec::new(),
    }
}

/// In a chroot whose root is no mount point, mountinfo does not show the mount.
fn kind_by_magic(directory: BorrowedFd<'_>) -> String {
    let magic = rustix::fs::fstatfs(directory).map_or(0, |status| status.f_type as u64 & 0xffff_ffff);
    megadir::FileSystem::from_magic(magic).to_string()
}

pub(crate) fn file_system_number(directory: BorrowedFd<'_>) -> Option<u64> {
    mount(directory).map(|mount| rustix::fs::makedev(mount.number.0, mount.number.1))
}

/// Number of the block device, the key to its description in `/sys`.
fn device_number(mount: &Mount) -> Option<(u32, u32)> {
    if mount.number.0 != 0 {
        return Some(mount.number);
    }
    // btrfs reports anonymous device numbers; the mount source is the real device.
    let source = rustix::fs::stat(mount.device.as_str()).ok()?;
    let is_block = rustix::fs::FileType::from_raw_mode(source.st_mode) == rustix::fs::FileType::BlockDevice;
    is_block.then(|| (rustix::fs::major(source.st_rdev), rustix::fs::minor(source.st_rdev)))
}

/// From the root directory; `None` if only a subtree is mounted.
fn made_unix_s(mount: &Mount, directory: BorrowedFd<'_>) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let of = |at, path: &str, flags| statx(at, path, flags, StatxFlags::BTIME | StatxFlags::BASIC_STATS).ok();
    let root = of(CWD, (mount.root == "/").then_some(mount.point.as_str())?, AtFlags::SYMLINK_NOFOLLOW)?;
    let own = of(directory.as_fd(), "", AtFlags::EMPTY_PATH)?;
    // Another file system may be mounted over it.
    let same = (root.stx_dev_major, root.stx_dev_minor) == (own.stx_dev_major, own.stx_dev_minor);
    let has_time = root.stx_mask & StatxFlags::BTIME.bits() != 0;
    u64::try_from(root.stx_btime.tv_sec).ok().filter(|seconds| same && has_time && *seconds > 0)
}

/// Bytes that were ever written to an ext4 file system, a measure of its age.
fn ever_written_bytes((major, minor): (u32, u32)) -> Option<u64> {
    let device = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let kib = read(Path::new("/sys/fs/ext4").join(device.file_name()?).join("lifetime_write_kbytes"))?;
    kib.parse::<u64>().ok()?.checked_mul(1024)
}

/// A line of `/proc/self/mountinfo`, see proc(5). `number` is the device number, major and minor; `root` is
/// the part of the file system that is mounted, other than "/" for subvolumes and bind mounts.
struct Mount {
    number: (u32, u32),
    root: String,
    point: String,
    kind: String,
    options: String,
    device: String,
}

fn mount(directory: BorrowedFd<'_>) -> Option<Mount> {
    let id = megadir::mount_id(directory)?.to_string();
    // Of this thread: the lab's mounts are visible only in its namespace.
    read("/proc/thread-self/mountinfo")?.lines().find_map(|line| parse_mount(line, &id))
}

/// A mount point of each mounted block device.
pub(crate) fn mounted_devices() -> Vec<String> {
    let mounts = read("/proc/thread-self/mountinfo").unwrap_or_default();
    let mut found: Vec<Mount> = Vec::new();
    for line in mounts.lines() {
        let mount = line.split_once(' ').and_then(|(id, _)| parse_mount(line, id));
        let Some(mount) = mount.filter(|mount| mount.device.starts_with("/dev/")) else { continue };
        if found.iter().all(|known| known.number != mount.number) {
            found.push(mount);
        }
    }
    found.into_iter().map(|mount| mount.point).collect()
}

/// Parses a line of mountinfo: `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELD...] - TYPE SOURCE SUPER_OPTIONS`.
fn parse_mount(line: &str, id: &str) -> Option<Mount> {
    let (of_mount, of_super) = line.split_once(" - ")?;
    let mut of_mount = of_mount.split(' ');
    if of_mount.next() != Some(id) {
        return None;
    }
    let (major, minor) = of_mount.nth(1)?.split_once(':')?;
    let (root, point) = (of_mount.next()?.to_owned(), of_mount.next()?.to_owned());
    let mut options: Vec<&str> = of_mount.next()?.split(',').collect();
    let mut of_super = of_super.split(' ');
    let (kind, device) = (of_super.next()?, of_super.next()?);
    for option in of_super.next().unwrap_or("").split(',') {
        if !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    Some(Mount {
        number: (major.parse().ok()?, minor.parse().ok()?),
        root,
        point,
        kind: kind.to_owned(),
        options: options.join(","),
        device: device.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::{Program, describe, file_system, kind_by_magic, mounted_devices, parse_mount, quota};
    use megadir_testkit::mount::{EXT4, Mount};
    use megadir_testkit::require;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_mounted_device_is_found_once() {
        let mount = require!(Mount::make(&EXT4));
        let device = |path: &std::path::Path| path.metadata().map(|status| status.dev()).ok();
        let found = mounted_devices();
        let of_mount = found.iter().filter(|point| device(point.as_ref()) == device(&mount.path()));
        assert_eq!(of_mount.count(), 1, "{found:?}");
    }

    #[test]
    fn a_line_of_mountinfo_is_understood() {
        let line = "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = parse_mount(line, "36").unwrap();
        assert_eq!(mount.kind, "ext3");
        assert_eq!(mount.device, "/dev/root");
        assert_eq!((mount.number, mount.root.as_str(), mount.point.as_str()), ((98, 0), "/mnt1", "/mnt2"));
        assert_eq!(mount.options, "rw,noatime,errors=continue");
        assert!(parse_mount(line, "35").is_none());
    }

    #[test]
    fn this_machine_is_described() {
        let directory = std::fs::File::open("/").unwrap();
        let program = Program { commit: Some("abc".into()), by: None };
        let machine = describe(directory.as_fd(), &program);
        assert_eq!(machine.commit.as_deref(), Some("abc"));
        assert!(machine.settings.iter().any(|setting| setting.starts_with("vm.vfs_cache_pressure = ")));
        assert!(machine.kernel.starts_with("Linux "));
        assert!(machine.processors >= 1 && machine.memory_bytes.unwrap() > 1 << 20);
    }

    #[test]
    fn a_file_system_without_a_line_in_mountinfo_has_its_name() {
        let mount = require!(Mount::make(&EXT4));
        let directory = std::fs::File::open(mount.path()).unwrap();
        assert_eq!(kind_by_magic(directory.as_fd()), "ext4");
        assert_eq!(file_system(directory.as_fd()).kind, "ext4");
    }

    #[test]
    fn quotas_are_processors() {
        assert_eq!((quota("150000 100000"), quota("max 100000"), quota("5 0")), (Some(1.5), None, None));
    }

    #[test]
    fn file_system_description_has_age_and_device() {
        let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let mount = require!(Mount::make(&EXT4));
        let directory = std::fs::File::open(mount.path()).unwrap();
        let described = file_system(directory.as_fd());
        let made = described.made_unix_s.expect("ext4 reports its creation time");
        assert!((before - 1..before + 600).contains(&made), "{made} {before}");
        assert!(described.written_bytes.is_some() && described.block_stack.len() >= 2, "{described:?}");
        assert!(described.features.is_some_and(|features| !features.is_empty()));
        assert_eq!(file_system(std::fs::File::open("/proc").unwrap().as_fd()).block_stack, [""; 0]);
    }
}
