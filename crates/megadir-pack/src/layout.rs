//! Names of the files of a pack, and the note in its index about the shards.
//!
//! ```text
//! pack-00000.tar, pack-00001.tar, ...   shards
//! index.parquet                         index, written last
//! .pack-00000.members                   journal of a finished shard, until the index is there
//! pack-00001.tar.partial                shard that is being written
//! .megadir-pack.json                    marker of an unfinished pack, locked by its process
//! ```

use std::path::{Path, PathBuf};

use megadir::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// Name of the index in the directory of a pack.
pub const INDEX: &str = "index.parquet";

pub(crate) const MARKER: &str = ".megadir-pack.json";
/// Key of [`Note`] in the index.
pub(crate) const NOTE_KEY: &str = "megadir.pack";
const NOTE_VERSION: u32 = 1;

/// Two blocks of zeros.
pub(crate) const END_BYTES: u64 = 1024;
pub(crate) const BLOCK_BYTES: u64 = 512;

pub(crate) fn shard_name(number: u32) -> String {
    format!("pack-{number:05}.tar")
}

pub(crate) fn partial_name(number: u32) -> String {
    format!("pack-{number:05}.tar.partial")
}

pub(crate) fn journal_name(number: u32) -> String {
    format!(".pack-{number:05}.members")
}

/// Number of the shard whose name has this form.
pub(crate) fn number_in(name: &[u8], before: &str, after: &str) -> Option<u32> {
    let digits = name.strip_prefix(before.as_bytes())?.strip_suffix(after.as_bytes())?;
    let is_number = digits.len() >= 5 && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

/// Length with the padding to whole blocks; `None` beyond 64 bits.
pub(crate) fn padded(bytes: u64) -> Option<u64> {
    bytes.checked_next_multiple_of(BLOCK_BYTES)
}

/// Path of the index of a pack, which may be given as the index or its directory.
pub fn index_path(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(INDEX) } else { path.to_owned() }
}

/// Sizes of the shards, bytes, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Note {
    version: u32,
    pub(crate) shards: Vec<u64>,
}

impl Note {
    pub(crate) fn new(shards: Vec<u64>) -> Self {
        Self { version: NOTE_VERSION, shards }
    }

    pub(crate) fn read(index: &Path) -> Result<Self> {
        let malformed = |reason: String| Error::new("read", index, ErrorKind::Malformed, reason);
        let Some(text) = megadir_inventory::note(index, NOTE_KEY)? else {
            return Err(malformed(
                "not the index of a pack (expected one written by `megadir pack`)".to_owned(),
            ));
        };
        let note: Self = serde_json::from_str(&text)
            .map_err(|error| malformed(format!("damaged note about its shards ({error}); pack again")))?;
        match note.version {
            NOTE_VERSION => Ok(note),
            version => {
                let reason = format!(
                    "pack version {version}, but this program reads {NOTE_VERSION}: use a newer program"
                );
                Err(Error::new("read", index, ErrorKind::Unavailable, reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{journal_name, number_in, padded, partial_name, shard_name};

    #[test]
    fn names_come_back_as_numbers() {
        for number in [0, 7, 99_999, 100_000, u32::MAX] {
            assert_eq!(number_in(shard_name(number).as_bytes(), "pack-", ".tar"), Some(number));
            assert_eq!(number_in(partial_name(number).as_bytes(), "pack-", ".tar.partial"), Some(number));
            assert_eq!(number_in(journal_name(number).as_bytes(), ".pack-", ".members"), Some(number));
        }
        for name in ["pack-1.tar", "pack-0000x.tar", "pack-+0001.tar", "pack-.tar", "pack-00001.tar.gz"] {
            assert_eq!(number_in(name.as_bytes(), "pack-", ".tar"), None, "{name}");
        }
        assert_eq!(
            (padded(0), padded(1), padded(512), padded(u64::MAX)),
            (Some(0), Some(512), Some(512), None)
        );
    }
}
