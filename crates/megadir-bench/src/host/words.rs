//! Text for the numbers of Windows, its volumes and services; tested on every system. References:
//! `GetVolumeInformationByHandleW`, `fsutil behavior`, `fsutil 8dot3name`, `STORAGE_BUS_TYPE`.

/// Volume flags, with their names in `fsutil fsinfo volumeinfo` and the documentation.
const VOLUME_FLAGS: &[(u32, &str)] = &[
    (0x1, "case-sensitive-search"),
    (0x2, "case-preserved-names"),
    (0x4, "unicode-on-disk"),
    (0x8, "persistent-acls"),
    (0x10, "file-compression"),
    (0x20, "quotas"),
    (0x40, "sparse-files"),
    (0x80, "reparse-points"),
    (0x100, "remote-storage"),
    (0x200, "cleanup-result-info"),
    (0x400, "posix-unlink-rename"),
    (0x800, "bypass-io"),
    (0x1000, "stream-snapshots"),
    (0x2000, "case-sensitive-dirs"),
    (0x1_0000, "object-ids"),
    (0x2_0000, "encryption"),
    (0x4_0000, "named-streams"),
    (0x10_0000, "sequential-write-once"),
    (0x20_0000, "transactions"),
    (0x40_0000, "hard-links"),
    (0x80_0000, "extended-attributes"),
    (0x100_0000, "open-by-file-id"),
    (0x200_0000, "usn-journal"),
    (0x400_0000, "integrity-streams"),
    (0x800_0000, "block-refcounting"),
    (0x1000_0000, "sparse-vdl"),
    (0x2000_0000, "dax"),
    (0x4000_0000, "ghosting"),
];
const VOLUME_COMPRESSED: u32 = 0x8000;
const VOLUME_READ_ONLY: u32 = 0x8_0000;

const DIRECTORY_ATTRIBUTES: &[(u32, &str)] = &[
    (0x1, "read-only"),
    (0x400, "reparse point"),
    (0x800, "compressed"),
    (0x1000, "offline"),
    (0x2000, "not indexed"),
    (0x4000, "encrypted"),
    (0x8000, "integrity stream"),
    (0x2_0000, "no scrub data"),
];

const BUSES: &[&str] = &[
    "",
    "SCSI",
    "ATAPI",
    "ATA",
    "IEEE 1394",
    "SSA",
    "Fibre Channel",
    "USB",
    "RAID",
    "iSCSI",
    "SAS",
    "SATA",
    "SD",
    "MMC",
    "virtual",
    "file-backed virtual",
    "Storage Spaces",
    "NVMe",
    "SCM",
    "UFS",
];

/// GUIDs, because names depend on the display language.
const POWER_PLANS: &[(&str, &str)] = &[
    ("381b4222-f694-41f0-9685-ff5bb260df2e", "Balanced"),
    ("8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c", "High performance"),
    ("a1841308-3541-4fab-bc81-f71556f20b4a", "Power saver"),
    ("e9a42b02-d5df-448d-aa00-03f14749eb61", "Ultimate performance"),
];

#[derive(Clone, Debug, Default)]
pub(crate) struct Version {
    pub(crate) numbers: Option<(u32, u32, u32)>,
    pub(crate) revision: Option<u32>,
    /// E.g. `Windows 10 Pro`; Windows 11 says 10 too.
    pub(crate) product: Option<String>,
    pub(crate) release: Option<String>,
}

/// First build of Windows 11, whose registry still names the product Windows 10.
const BUILD_OF_11: u32 = 22_000;

pub(crate) fn system(version: &Version) -> String {
    let product = version.product.clone().unwrap_or_else(|| "Windows".to_owned());
    let is_11 = version.numbers.is_some_and(|(_, _, build)| build >= BUILD_OF_11);
    let product = match product.strip_prefix("Windows 10") {
        Some(edition) if is_11 => format!("Windows 11{edition}"),
        _ => product,
    };
    let release = version.release.as_ref().map(|release| format!(" {release}")).unwrap_or_default();
    let numbers = version.numbers.map_or_else(
        || "version unknown".to_owned(),
        |(major, minor, build)| {
            let revision = version.revision.map(|revision| format!(".{revision}")).unwrap_or_default();
            format!("{major}.{minor}.{build}{revision}")
        },
    );
    format!("{product}{release} ({numbers})")
}

pub(crate) fn power_plan(guid: &str, own_name: Option<String>, on_battery: Option<bool>) -> String {
    let bare = guid.trim_matches(['{', '}']);
    let known = POWER_PLANS.iter().find(|(known, _)| known.eq_ignore_ascii_case(bare));
    // A name may be a resource reference with the English text after it.
    let own = own_name.map(|name| name.rsplit(',').next().unwrap_or_default().trim().to_owned());
    let name = known.map(|(_, name)| (*name).to_owned()).or(own).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| "unknown".to_owned());
    match on_battery {
        Some(true) => format!("{name}, on battery"),
        _ => name,
    }
}

pub(crate) fn features(flags: u32) -> Vec<String> {
    super::named(flags & !(VOLUME_COMPRESSED | VOLUME_READ_ONLY), VOLUME_FLAGS)
}

/// Facts about one volume as the system reports them, before they are put into words: kept apart so that the
/// words can be tested on every system. `None` is a value that could not be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) is_ntfs: bool,
    pub(crate) is_remote: bool,
    pub(crate) flags: u32,
    /// `NtfsDisable8dot3NameCreation` of the registry.
    pub(crate) short_names: Option<u32>,
    pub(crate) no_short_names: Option<bool>,
    /// `NtfsDisableLastAccessUpdate` of the registry.
    pub(crate) last_access: Option<u32>,
    pub(crate) dev_drive: Option<bool>,
    pub(crate) trusted: Option<bool>,
}

pub(crate) fn settings(of: &Settings) -> String {
    let when = |is: bool, word: &'static str| is.then_some(word);
    let dev_drive = match (of.dev_drive, of.trusted) {
        (Some(true), Some(true)) => Some("Dev Drive, trusted"),
        (Some(true), Some(false)) => Some("Dev Drive, not trusted"),
        (Some(true), None) => Some("Dev Drive"),
        _ => None,
    };
    // A share has the settings of its server, which are unknown here.
    let of_ntfs = of.is_ntfs && !of.is_remote;
    let words = [
        when(of.is_remote, "network share"),
        when(of.flags & VOLUME_READ_ONLY != 0, "read-only"),
        when(of.flags & VOLUME_COMPRESSED != 0, "compressed volume"),
        of_ntfs.then(|| short_names(of.short_names, of.no_short_names)),
        of_ntfs.then(|| last_access(of.last_access)),
        dev_drive,
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The registry decides for all volumes, or leaves it to each.
fn short_names(registry: Option<u32>, volume_has_none: Option<bool>) -> &'static str {
    match (registry, volume_has_none) {
        (Some(0), _) | (Some(2), Some(false)) => "8.3 names created",
        (Some(1), _) | (Some(2), Some(true)) => "8.3 names not created",
        (Some(3), _) => "8.3 names created on the system volume only",
        _ => "8.3 names unknown",
    }
}

/// The bits beyond the first say who decided.
fn last_access(registry: Option<u32>) -> &'static str {
    match registry.map(|value| value & 1) {
        Some(0) => "last-access times updated",
        Some(_) => "last-access times not updated",
        None => "last-access updates unknown",
    }
}

pub(crate) fn directory(attributes: u32, case_sensitive: Option<bool>) -> Vec<String> {
    let set = DIRECTORY_ATTRIBUTES.iter().filter(|(bit, _)| attributes & bit != 0);
    let mut words: Vec<String> = set.map(|(_, name)| (*name).to_owned()).collect();
    if case_sensitive == Some(true) {
        words.push("case-sensitive".to_owned());
    }
    words
}

/// `C:` or `\\server\share`.
pub(crate) fn place(path: &str) -> Option<String> {
    let path = path.strip_prefix(r"\\?\").unwrap_or(path);
    if let Some(share) = path.strip_prefix(r"UNC\").or_else(|| path.strip_prefix(r"\\")) {
        let mut names = share.split('\\').filter(|name| !name.is_empty());
        return Some(format!(r"\\{}\{}", names.next()?, names.next()?));
    }
    path.split('\\').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

pub(crate) fn serial(serial: u32) -> String {
    format!("{:04X}-{:04X}", serial >> 16, serial & 0xffff)
}

pub(crate) fn disk(
    product: Option<&str>,
    bus: Option<u32>,
    seek_penalty: Option<bool>,
    trim: Option<bool>,
) -> Option<String> {
    let bus = bus.and_then(|bus| BUSES.get(bus as usize)).filter(|bus| !bus.is_empty());
    let facts = [
        bus.map(|bus| format!("{bus} bus")),
        seek_penalty.map(|seeks| if seeks { "rotational" } else { "not rotational" }.to_owned()),
        trim.map(|trim| if trim { "TRIM" } else { "no TRIM" }.to_owned()),
    ];
    let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    match (product, facts.is_empty()) {
        (None, true) => None,
        (Some(product), true) => Some(product.to_owned()),
        (product, false) => Some(format!("{} ({facts})", product.unwrap_or("disk"))),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    Yes,
    No,
    Absent,
    Unknown,
}

impl Runs {
    fn words(self) -> &'static str {
        match self {
            Self::Yes => "runs",
            Self::No => "does not run",
            Self::Absent => "not installed",
            Self::Unknown => "unknown",
        }
    }
}

/// `off` is the registry value that disables real-time protection.
pub(crate) fn defender(service: Runs, off: Option<u32>) -> String {
    let protection = match (service, off) {
        (Runs::Yes, Some(0)) => ", real-time protection on",
        (Runs::Yes, Some(_)) => ", real-time protection off",
        (Runs::Yes, None) => ", real-time protection on unless a policy says otherwise",
        _ => "",
    };
    format!("Windows Defender: {}{protection}", service.words())
}

pub(crate) fn indexing(service: Runs) -> String {
    format!("indexing (WSearch): {}", service.words())
}

/// Names of filter drivers with their groups, sorted, so that two records can be compared.
pub(crate) fn filters(running: Option<Vec<(String, String)>>) -> String {
    const OF: &str = "file system filters that run";
    let Some(mut running) = running else { return format!("{OF}: unknown") };
    running.sort();
    let kind = |group: &str| group.strip_prefix("FSFilter ").unwrap_or(group).to_owned();
    let words: Vec<String> =
        running.iter().map(|(name, group)| format!("{name} ({})", kind(group))).collect();
    if words.is_empty() { format!("{OF}: none") } else { format!("{OF}: {}", words.join(", ")) }
}

#[cfg(test)]
mod tests;
