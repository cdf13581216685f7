//! Windows: the machine, its volumes and file-access filters, from system calls and the registry, without
//! administrator rights. Under Wine the answers are Wine's, and the description says so.

use std::time::Duration;

use megadir_record::{FileSystem, Machine, Pressure};
use megadir_sys::processor;
use megadir_sys::windows::disk::Disk;
use megadir_sys::windows::service::{Services, State};
use megadir_sys::windows::system::{self, ProcessorTimes};
use megadir_sys::windows::{facts, volume};
use windows_registry::LOCAL_MACHINE;

use super::Program;
use super::words::{self, Runs};
use crate::os::{self, Borrowed};

const CURRENT_VERSION: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";
const PROCESSOR: &str = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0";
const BIOS: &str = r"HARDWARE\DESCRIPTION\System\BIOS";
const HOST: &str = r"SYSTEM\CurrentControlSet\Control\ComputerName\ActiveComputerName";
const POWER_SCHEMES: &str = r"SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes";
const FILE_SYSTEM: &str = r"SYSTEM\CurrentControlSet\Control\FileSystem";
const SERVICES: &str = r"SYSTEM\CurrentControlSet\Services";
const DEFENDER: &str = r"SOFTWARE\Microsoft\Windows Defender\Real-Time Protection";
const DEFENDER_POLICY: &str = r"SOFTWARE\Policies\Microsoft\Windows Defender\Real-Time Protection";

/// Values of the registry that change the cost of file operations on NTFS.
const SETTINGS: [&str; 7] = [
    "NtfsDisable8dot3NameCreation",
    "NtfsDisableLastAccessUpdate",
    "NtfsDisableCompression",
    "NtfsDisableEncryption",
    "NtfsMemoryUsage",
    "NtfsMftZoneReservation",
    "LongPathsEnabled",
];

/// Many of the 10 to 16 ms ticks at which processor times advance.
const WATCHED: Duration = Duration::from_millis(200);

/// Counterpart of the description on Linux, with the same fields, so that records can be compared. What
/// Windows has no counterpart for is `None` or empty. Under Wine the kernel's name begins with that fact,
/// because a reader may see no other field.
pub(crate) fn describe(directory: Borrowed<'_>, program: &Program) -> Machine {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let limits = system::job_limits();
    let wine = system::wine_version();
    let windows = words::system(&version());
    Machine {
        host: text(HOST, "ComputerName"),
        kernel: match &wine {
            Some(version) => format!("Wine {version}, which is not Windows, as {windows}"),
            None => windows,
        },
        processor: text(PROCESSOR, "ProcessorNameString"),
        processors,
        memory_bytes: system::memory().map(|memory| memory.total_bytes),
        memory_limit_bytes: limits.memory_bytes,
        processor_limit: limits.processor_share.map(|share| share * f64::from(processors)),
        hypervisor: hypervisor(),
        emulator: processor::emulator().map(str::to_owned),
        wine,
        governor: None,
        power_plan: power_plan(),
        mitigations: Vec::new(),
        clock_source: system::counter_hz().map(|hz| format!("QueryPerformanceCounter, {hz} Hz")),
        file_system: file_system(directory),
        settings: SETTINGS.iter().filter_map(|name| setting(name)).collect(),
        watchers: watchers(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: program.commit.clone(),
        build: program.by.clone(),
        pressure: pressure(),
    }
}

pub(crate) fn pressure() -> Pressure {
    let before = system::processor_times();
    std::thread::sleep(WATCHED);
    let others_busy_percent =
        before.zip(system::processor_times()).and_then(|(before, after)| busy(before, after));
    Pressure { others_busy_percent, ..Pressure::default() }
}

/// Share of all processors' time that was not idle, per cent; this process slept meanwhile.
fn busy(before: ProcessorTimes, after: ProcessorTimes) -> Option<f64> {
    let all = after.all.checked_sub(before.all).filter(|all| *all > 0)?;
    let idle = after.idle.checked_sub(before.idle)?.min(all);
    Some(100.0 * (all - idle) as f64 / all as f64)
}

pub(crate) fn is_virtual() -> bool {
    processor::hypervisor().is_some()
}

pub(crate) fn stolen_ticks() -> Option<u64> {
    None
}

pub(crate) fn file_system_number(directory: Borrowed<'_>) -> Option<u64> {
    volume::of(directory).ok().map(|volume| volume.serial.into())
}

pub(crate) fn file_system(directory: Borrowed<'_>) -> FileSystem {
    let volume = volume::of(directory).ok();
    let is_remote = facts::is_remote(directory);
    let space = os::space(directory).ok();
    let blocks = space.and_then(|space| {
        let bytes = Some(space.block_bytes).filter(|bytes| *bytes > 0)?;
        Some((space.bytes / bytes, space.free_bytes / bytes))
    });
    let attributes = facts::tag(directory).map_or(0, |(attributes, _)| attributes);
    FileSystem {
        kind: volume.as_ref().map_or_else(|| "unknown".to_owned(), |volume| volume.file_system.clone()),
        mount_options: volume
            .as_ref()
            .map(|volume| settings(directory, volume, is_remote))
            .filter(|options| !options.is_empty()),
        device: device(directory, volume.as_ref()),
        block_bytes: space.map(|space| space.block_bytes),
        blocks,
        inodes: None,
        features: volume.map(|volume| words::features(volume.flags)),
        made_unix_s: None,
        written_bytes: None,
        block_stack: disk(directory).into_iter().collect(),
        directory: words::directory(attributes, volume::is_case_sensitive(directory).ok()),
    }
}

fn settings(directory: Borrowed<'_>, volume: &volume::Volume, is_remote: bool) -> String {
    let persistent = volume::persistent(directory);
    words::settings(&words::Settings {
        is_ntfs: volume.file_system == "NTFS",
        is_remote,
        flags: volume.flags,
        short_names: number(FILE_SYSTEM, "NtfsDisable8dot3NameCreation"),
        no_short_names: persistent.no_short_names,
        last_access: number(FILE_SYSTEM, "NtfsDisableLastAccessUpdate"),
        dev_drive: persistent.dev_drive,
        trusted: persistent.trusted,
    })
}

fn device(directory: Borrowed<'_>, volume: Option<&volume::Volume>) -> Option<String> {
    let path = facts::path(directory).ok()?;
    let place = words::place(&String::from_utf16_lossy(&path))?;
    Some(match volume {
        Some(volume) => format!("{place} (serial number {})", words::serial(volume.serial)),
        None => place,
    })
}

fn disk(directory: Borrowed<'_>) -> Option<String> {
    let disk = Disk::open(&volume::device(directory).ok()?).ok()?.describe();
    words::disk(disk.product.as_deref(), disk.bus, disk.seek_penalty, disk.trim)
}

/// Programs that see every file operation: virus scanners, file system filters, the indexer. On Windows
/// they often decide a result more than the file system does.
fn watchers() -> Vec<String> {
    let services = Services::open().ok();
    let runs = |name: &str| match services.as_ref().map(|services| services.state(name)) {
        Some(Ok(State::Running)) => Runs::Yes,
        Some(Ok(State::Stopped)) => Runs::No,
        Some(Ok(State::Absent)) => Runs::Absent,
        Some(Err(_)) | None => Runs::Unknown,
    };
    let off = [DEFENDER_POLICY, DEFENDER].iter().find_map(|key| number(key, "DisableRealtimeMonitoring"));
    vec![
        words::defender(runs("WinDefend"), off),
        words::filters(filters(&runs)),
        words::indexing(runs("WSearch")),
        "antivirus software registered with the security center: not read".to_owned(),
    ]
}

/// Filter drivers that are running, with their load-order groups, from the registry, because listing them
/// by the filter manager needs an administrator.
fn filters(runs: &dyn Fn(&str) -> Runs) -> Option<Vec<(String, String)>> {
    let services = LOCAL_MACHINE.open(SERVICES).ok()?;
    let group = |name: &str| services.open(name).ok()?.get_string("Group").ok();
    let names = services.keys().ok()?.filter_map(|name| Some((group(&name)?, name)));
    let filters = names.filter(|(group, name)| group.starts_with("FSFilter ") && runs(name) == Runs::Yes);
    Some(filters.map(|(group, name)| (name, group)).collect())
}

/// Version by the kernel's own numbers; the registry has only the names.
fn version() -> words::Version {
    words::Version {
        numbers: system::version(),
        revision: number(CURRENT_VERSION, "UBR"),
        product: text(CURRENT_VERSION, "ProductName"),
        release: text(CURRENT_VERSION, "DisplayVersion"),
    }
}

fn hypervisor() -> Option<String> {
    let name = processor::hypervisor()?;
    let product = [text(BIOS, "SystemManufacturer"), text(BIOS, "SystemProductName")];
    let product = product.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Some(if product.is_empty() { name } else { format!("{name} ({product})") })
}

fn power_plan() -> Option<String> {
    let guid = text(POWER_SCHEMES, "ActivePowerScheme")?;
    let own_name = text(&format!(r"{POWER_SCHEMES}\{guid}"), "FriendlyName");
    Some(words::power_plan(&guid, own_name, system::on_battery()))
}

fn setting(name: &str) -> Option<String> {
    number(FILE_SYSTEM, name).map(|value| format!("{name} = {value:#x}"))
}

fn text(path: &str, name: &str) -> Option<String> {
    let text = LOCAL_MACHINE.open(path).ok()?.get_string(name).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn number(path: &str, name: &str) -> Option<u32> {
    LOCAL_MACHINE.open(path).ok()?.get_u32(name).ok()
}

#[cfg(test)]
mod tests {
    use super::{ProcessorTimes, busy, describe};
    use crate::host::Program;
    use crate::os::At;
    use megadir::Dir;
    use megadir_testkit::require::{is_wine, not_run, unavailable};

    #[test]
    fn this_machine_is_described() {
        let made = tempfile::tempdir().unwrap();
        let directory = Dir::open(made.path()).unwrap();
        let machine = describe(directory.at(), &Program { commit: Some("abc".into()), by: None });
        assert_eq!(machine.commit.as_deref(), Some("abc"));
        assert!(machine.kernel.contains("Windows"), "{}", machine.kernel);
        assert_eq!(machine.kernel.starts_with("Wine "), machine.wine.is_some(), "{}", machine.kernel);
        assert!(machine.processors >= 1 && machine.memory_bytes.unwrap() > 1 << 20);
        assert!(machine.clock_source.unwrap().starts_with("QueryPerformanceCounter, "));
        assert!(machine.watchers.len() == 4 && machine.watchers[1].starts_with("file system filters"));
        let file_system = machine.file_system;
        assert!(["NTFS", "ReFS"].contains(&file_system.kind.as_str()), "{file_system:?}");
        assert!(
            file_system.block_bytes.is_some_and(|bytes| bytes >= 512)
                && file_system.blocks.is_some_and(|(all, free)| free <= all)
        );
        // Unavailable values count as untested: Windows before 11 has no Dev Drives.
        if file_system.mount_options.as_ref().is_none_or(|options| options.contains("unknown")) {
            let note = if is_wine() { unavailable } else { not_run };
            note("what a volume is set to", &format!("{:?}", file_system.mount_options));
        }
        if machine.power_plan.is_none() {
            assert!(is_wine(), "the registry has no power plan");
            unavailable("the power plan", "Wine's registry has none");
        }
        assert!(file_system.device.is_some_and(|device| device.contains("serial number ")));
        assert!(file_system.features.is_some_and(|features| !features.is_empty()));
        assert!(machine.pressure.others_busy_percent.is_none_or(|percent| (0.0..=100.0).contains(&percent)));
    }

    #[test]
    fn load_of_other_processes_is_time_not_idle() {
        let times = |idle, all| ProcessorTimes { idle, all };
        assert_eq!(busy(times(100, 200), times(400, 600)), Some(25.0));
        assert_eq!(busy(times(100, 200), times(100, 200)), None);
        // The idle counter may advance before the total.
        assert_eq!(busy(times(100, 200), times(350, 400)), Some(0.0));
    }
}
