//! Description of a whole inventory.

use megadir::mount_traits::InodeNumbers;
use megadir::{
    BadGlob, Conditions, Error, ErrorKind, FileSystem, FileType, Globs, MountTraits, Result, StatMask,
};
use serde::{Deserialize, Serialize};

/// Version of the format that is written. Older versions are read, newer ones are refused.
pub const FORMAT_VERSION: u32 = 1;

/// Description of a whole inventory.
///
/// Written at the end of the file, so it describes what was read and not what was intended. Counts are of the
/// whole inventory; for a folder of parts they are added. A field of a later version is optional here,
/// because older inventories remain readable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// See [`FORMAT_VERSION`].
    pub version: u32,
    /// Program and version that wrote it.
    pub program: String,
    /// Roots, in the order of their rows.
    pub roots: Vec<Root>,
    /// Start of the scan, before anything was read: nanoseconds since 1970-01-01 UTC by this machine's clock.
    pub started_ns: i64,
    /// Time after the last entry was read, nanoseconds since 1970-01-01 UTC.
    pub ended_ns: i64,
    /// Settings of the scan.
    pub scanned: Scanned,
    /// Number of rows, roots included.
    pub rows: u64,
    /// Number of rows with an error.
    pub failed: u64,
    /// Number of directories that could not be listed completely; their contents are unknown.
    pub unread_directories: u64,
    /// File systems and btrfs subvolumes behind the rows' device numbers; `None` in older inventories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Vec<Volume>>,
}

/// Root of a scanned tree.
///
/// Everything that a later comparison must know about the mount of then: which numbers and times identify a
/// file there, and how exact its clock is. The same path may be on another file system by now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RootText", into = "RootText")]
pub struct Root {
    /// Absolute path in bytes (see [`megadir::names`]); symbolic links are not resolved.
    pub path: Vec<u8>,
    /// File system of the root, e.g. `ext4`.
    pub file_system: String,
    /// Type of the root's mount in the mount table, e.g. `fuse.sshfs`, which [`megadir::MountTraits`] describes; `None` in older
    /// inventories and on other systems.
    pub driver: Option<String>,
    /// `true` if inode numbers of this mount identify files, by the table of mounts or as observed at the scan; `None` in older inventories.
    pub lasting_inodes: Option<bool>,
    /// Interval after which two changes always have different times, nanoseconds; `None` for a server's clock
    /// or if unknown.
    pub granule_ns: Option<u64>,
    /// Newest ctime in the tree, nanoseconds since 1970-01-01 UTC: a lower bound for a server's clock.
    pub newest_ns: Option<i64>,
}

/// Settings of a scan.
///
/// Serves a later comparison: it enters mounts as the scan did, and applies the same conditions, so that only
/// changes of the tree are differences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scanned {
    /// `true` if other file systems mounted below the roots were entered.
    pub cross_mounts: bool,
    /// Source of attributes, e.g. `statx`.
    #[serde(alias = "examiner")]
    pub stat_backend: String,
    /// Number of reading threads.
    pub threads: usize,
    /// Number of directories on other file systems that were not entered.
    pub mounts_not_entered: u64,
    /// Conditions that the rows meet; `None` if every entry has a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Selected>,
}

/// Conditions of a scan, as far as they can be applied to the tree later.
///
/// An inventory with conditions lacks rows on purpose, and a comparison must not report those as added.
/// Conditions that depend on names and types can be applied again; those on attributes cannot, so such an
/// inventory is refused where that matters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Selected {
    /// Globs of [`Conditions::exclude`].
    pub exclude: Vec<String>,
    /// [`Conditions::depth_max`].
    pub depth_max: Option<u32>,
    /// Globs of [`Conditions::names`].
    pub names: Vec<String>,
    /// Globs of [`Conditions::paths`].
    pub paths: Vec<String>,
    /// Names of the types in [`Conditions::types`].
    pub types: Vec<String>,
    /// There were conditions on times, sizes or owners, which depend on the moment of the scan.
    pub by_attributes: bool,
}

impl Selected {
    /// Records conditions; `None` if there are none.
    pub fn of(conditions: &Conditions) -> Option<Self> {
        (!conditions.is_none()).then(|| Self {
            exclude: conditions.exclude.texts().to_vec(),
            depth_max: conditions.depth_max,
            names: conditions.names.texts().to_vec(),
            paths: conditions.paths.texts().to_vec(),
            types: conditions.types.iter().map(|kind| kind.name().to_owned()).collect(),
            by_attributes: conditions.want() != StatMask::NOTHING,
        })
    }

    /// The recorded conditions, without those on attributes. Errors: [`ErrorKind::Malformed`] if a recorded
    /// glob or type is invalid.
    pub fn conditions(&self) -> Result<Conditions> {
        let malformed = |reason: String| Error::new("read", "".as_ref(), ErrorKind::Malformed, reason);
        let globs =
            |globs: std::result::Result<Globs, BadGlob>| globs.map_err(|bad| malformed(bad.to_string()));
        let kind = |name: &String| {
            FileType::from_name(name).ok_or_else(|| malformed(format!("the inventory has no type '{name}'")))
        };
        // Earlier versions also recorded globs that match no entry, and left nothing out because of them.
        let matches_some = |glob: &&String| !matches!(glob.as_str(), "" | "." | "..");
        let exclude: Vec<&String> = self.exclude.iter().filter(matches_some).collect();
        Ok(Conditions {
            exclude: globs(Globs::of_names_or_paths(&exclude))?,
            depth_max: self.depth_max,
            names: globs(Globs::of_names(&self.names))?,
            paths: globs(Globs::of_paths(&self.paths))?,
            types: self.types.iter().map(kind).collect::<Result<_>>()?,
            ..Conditions::default()
        })
    }
}

/// Device number in the rows of an inventory, and the file system or subvolume behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Device number, as in [`Facts::device`](crate::Facts::device).
    pub device: u64,
    /// Id that stays the same after a remount: 16 hex digits as printed by `stat -f -c %i`.
    pub fsid: String,
    /// Where `fsid` is the number of the device, which another volume may have after a remount (XFS, F2FS, SquashFS): the file system's
    /// UUID, or what else identifies it. Where there is no ID (NFS, FUSE servers): type and source of the mount, in one spelling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Facts about another mount that was entered below a root, as of a root; its path is the one where it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<Root>,
}

impl Metadata {
    /// `true` if every directory was read and every entry examined.
    pub fn is_complete(&self) -> bool {
        self.unread_directories == 0 && self.failed == 0
    }
}

/// Form of a root in the metadata: JSON, in which a path that is not UTF-8 has its bytes as hex digits in
/// `path_hex`. One of the two paths is present.
#[derive(Serialize, Deserialize)]
struct RootText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    file_system: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lasting_inodes: Option<bool>,
    granule_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    newest_ns: Option<i64>,
}

impl From<Root> for RootText {
    fn from(root: Root) -> Self {
        let Root { path, file_system, driver, lasting_inodes, granule_ns, newest_ns } = root;
        let (path, path_hex) = match String::from_utf8(path) {
            Ok(path) => (Some(path), None),
            Err(error) => (None, Some(error.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect())),
        };
        Self { path, path_hex, file_system, driver, lasting_inodes, granule_ns, newest_ns }
    }
}

impl From<RootText> for Root {
    fn from(text: RootText) -> Self {
        let RootText { path, path_hex, file_system, driver, lasting_inodes, granule_ns, newest_ns } = text;
        let path = match (path, path_hex) {
            (Some(path), _) => path.into_bytes(),
            (None, hex) => bytes_of(&hex.unwrap_or_default()),
        };
        Self { path, file_system, driver, lasting_inodes, granule_ns, newest_ns }
    }
}

impl Root {
    /// Where the table of mounts leaves it open, inode numbers of older inventories are taken to last.
    pub(crate) fn has_lasting_inodes(&self) -> bool {
        let is_made_up =
            || matches!(self.mount_traits().inode_numbers, InodeNumbers::MadeUp | InodeNumbers::OfPaths);
        self.lasting_inodes.unwrap_or_else(|| !is_made_up())
    }

    /// Facts about the root's mount, by the table alone.
    pub(crate) fn mount_traits(&self) -> MountTraits {
        MountTraits::of_mount(self.driver.as_deref(), FileSystem::from_name(&self.file_system))
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.chars().map_while(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[cfg(test)]
mod tests {
    use megadir::{Conditions, FileType, Globs};

    use super::{Metadata, Root, Selected};
    use crate::file::tests::{metadata, root};

    #[test]
    fn conditions_come_back_from_their_text() {
        let conditions = Conditions {
            exclude: Globs::of_names_or_paths(&["*.tmp", "a/b"]).unwrap(),
            depth_max: Some(3),
            names: Globs::of_names(&["x*"]).unwrap(),
            paths: Globs::of_paths(&["**/x*"]).unwrap(),
            types: vec![FileType::File, FileType::Symlink],
            ..Conditions::default()
        };
        let selected = Selected::of(&conditions).unwrap();
        let text = serde_json::to_string(&selected).unwrap();
        let back: Selected = serde_json::from_str(&text).unwrap();
        assert_eq!(back.conditions().unwrap(), conditions);
        assert!(!back.by_attributes);
        let larger = Conditions { larger_than: Some(1), ..Conditions::default() };
        assert!(
            Selected::of(&larger).unwrap().by_attributes && Selected::of(&Conditions::default()).is_none()
        );
        let older =
            Selected { exclude: vec![".".into(), "kept".into(), String::new()], ..Selected::default() };
        assert_eq!(older.conditions().unwrap().exclude.texts(), ["kept"]);
        let bad = Selected { names: vec!["a[".into()], ..Selected::default() };
        assert!(bad.conditions().is_err());
    }

    #[test]
    fn metadata_comes_back_from_its_text() {
        let root = |path, granule_ns| Root { granule_ns, newest_ns: Some(-7), ..root(path) };
        let metadata = Metadata {
            started_ns: -1,
            ended_ns: i64::MAX,
            rows: 3,
            failed: 1,
            ..metadata(vec![root(b"/a", Some(4_000_000)), root(b"/\xff", None)])
        };
        let text = serde_json::to_string(&metadata).unwrap();
        assert!(text.contains(r#""path":"/a""#) && text.contains(r#""path_hex":"2fff""#), "{text}");
        assert_eq!(serde_json::from_str::<Metadata>(&text).unwrap(), metadata);
        assert!(!metadata.is_complete());
        // Without conditions, there is no trace of them.
        assert!(!text.contains("selected"));
        // The name of a field in older inventories.
        let older = text.replace("stat_backend", "examiner");
        assert_eq!(serde_json::from_str::<Metadata>(&older).unwrap(), metadata);
        // Older inventories have no volumes.
        let (before, _) = text.split_once(r#","volumes""#).unwrap();
        assert_eq!(serde_json::from_str::<Metadata>(&format!("{before}}}")).unwrap().volumes, None);
    }
}
