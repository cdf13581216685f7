//! What holds for a whole inventory: which trees, when, by which clock, how, and whether all could be read.

use serde::{Deserialize, Serialize};

use crate::volumes::Volume;

/// The version of the format that is written; older ones are read, newer ones are refused.
pub const FORMAT_VERSION: u32 = 1;

/// What holds for all rows of an inventory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// The version of the format, see [`FORMAT_VERSION`].
    pub version: u32,
    /// The program that wrote it, with its version.
    pub program: String,
    /// The trees, in the order of their rows.
    pub roots: Vec<Root>,
    /// When the scan began, before anything was read: nanoseconds since 1970-01-01 UTC by this machine's clock.
    pub started_ns: i64,
    /// When the last entry had been read, likewise.
    pub ended_ns: i64,
    /// How it was scanned.
    pub scanned: Scanned,
    /// Rows, those of the roots among them.
    pub rows: u64,
    /// Rows with an error.
    pub failed: u64,
    /// Directories that could not be opened, or not be read to their ends. What they hold is not known.
    pub unread_directories: u64,
    /// The file systems and btrfs subvolumes that the device numbers of the rows stand for, as far as they have an id; `None` in
    /// inventories of versions that did not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Vec<Volume>>,
}

/// A tree that was scanned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RootText", into = "RootText")]
pub struct Root {
    /// The absolute path, as bytes (see [`megadir::names`]); symbolic links in it are as they were given.
    pub path: Vec<u8>,
    /// The file system that the root lies on, e.g. `ext4`.
    pub file_system: String,
    /// How far apart two changes must be for their times to differ for sure: the width of a step of the clock that
    /// the root's file system takes times from, or of what it can store, whichever is wider; nanoseconds. `None` where
    /// another machine's clock is used, or nothing is known.
    pub granule_ns: Option<u64>,
    /// The newest time of change in the tree, nanoseconds since 1970-01-01 UTC: what is known of another machine's clock.
    pub newest_ns: Option<i64>,
}

/// How trees were scanned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scanned {
    /// Whether other file systems mounted below the roots were entered.
    pub cross_mounts: bool,
    /// Who was asked for attributes, e.g. `statx`.
    pub examiner: String,
    /// Threads that read.
    pub threads: usize,
    /// Directories on other file systems that were not entered.
    pub mounts_not_entered: u64,
}

impl Metadata {
    /// Returns whether every directory could be read and every entry examined.
    pub fn is_complete(&self) -> bool {
        self.unread_directories == 0 && self.failed == 0
    }
}

/// A root in JSON: a path that is not UTF-8 is given as the hex digits of its bytes.
#[derive(Serialize, Deserialize)]
struct RootText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    file_system: String,
    granule_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    newest_ns: Option<i64>,
}

impl From<Root> for RootText {
    fn from(root: Root) -> Self {
        let Root { path, file_system, granule_ns, newest_ns } = root;
        let (path, path_hex) = match String::from_utf8(path) {
            Ok(path) => (Some(path), None),
            Err(error) => (None, Some(error.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect())),
        };
        Self { path, path_hex, file_system, granule_ns, newest_ns }
    }
}

impl From<RootText> for Root {
    fn from(text: RootText) -> Self {
        let RootText { path, path_hex, file_system, granule_ns, newest_ns } = text;
        let path = match (path, path_hex) {
            (Some(path), _) => path.into_bytes(),
            (None, hex) => bytes_of(&hex.unwrap_or_default()),
        };
        Self { path, file_system, granule_ns, newest_ns }
    }
}

/// Returns the bytes that hex digits stand for, as far as they are any.
fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.chars().map_while(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[cfg(test)]
mod tests {
    use super::{FORMAT_VERSION, Metadata, Root, Scanned, Volume};

    #[test]
    fn metadata_comes_back_from_its_text() {
        let root = |path: &[u8], granule_ns| Root {
            path: path.to_vec(),
            file_system: "ext4".into(),
            granule_ns,
            newest_ns: Some(-7),
        };
        let metadata = Metadata {
            version: FORMAT_VERSION,
            program: "megadir 0".into(),
            roots: vec![root(b"/a", Some(4_000_000)), root(b"/\xff", None)],
            started_ns: -1,
            ended_ns: i64::MAX,
            scanned: Scanned {
                cross_mounts: false,
                examiner: "statx".into(),
                threads: 2,
                mounts_not_entered: 1,
            },
            rows: 3,
            failed: 1,
            unread_directories: 0,
            volumes: Some(vec![Volume { device: 41, fsid: "90d27687133a8f6d".into() }]),
        };
        let text = serde_json::to_string(&metadata).unwrap();
        assert!(text.contains(r#""path":"/a""#) && text.contains(r#""path_hex":"2fff""#), "{text}");
        assert_eq!(serde_json::from_str::<Metadata>(&text).unwrap(), metadata);
        assert!(!metadata.is_complete());
        // Written before volumes were recorded.
        let (before, _) = text.split_once(r#","volumes""#).unwrap();
        assert_eq!(serde_json::from_str::<Metadata>(&format!("{before}}}")).unwrap().volumes, None);
    }
}
