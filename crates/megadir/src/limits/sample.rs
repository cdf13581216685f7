//! A sample of a directory's entries: the lengths of their names, how many are directories, what they hold.

use super::basis::{Fact, Known};
use super::facts::{Contents, Space};
use super::name_lengths::{NAME_BYTES_MAX, NameLengths};
use crate::dir::Dir;
use crate::error::Result;
use crate::file_type::FileType;

#[cfg(target_os = "linux")]
#[path = "sample/linux.rs"]
mod system;
#[cfg(windows)]
#[path = "sample/windows.rs"]
mod system;

#[cfg(windows)]
pub(super) use self::system::of_size;

/// The buffer for the sample, bytes: about a thousand entries.
const SAMPLE_BYTES: usize = 64 << 10;
/// So many entries are examined at most: uncached, each may be a read of the disk, on ext4 of 128 KiB.
const EXAMINED_MAX: usize = 32;
/// What is assumed of names where none are present: a digest in hex.
const NAME_BYTES_ASSUMED: u16 = 32;

/// What is known of further entries.
pub(super) struct Sample {
    pub(super) names: Fact<NameLengths>,
    pub(super) directory_share: f64,
    pub(super) contents: Fact<Contents>,
}

/// Entries as the directory gives them.
#[derive(Default)]
pub(super) struct Sampled {
    /// Entries of each length of name.
    lengths: Vec<u64>,
    directories: u64,
    /// Every name, for examining some.
    names: Vec<Vec<u8>>,
}

impl Sampled {
    pub(super) fn add(&mut self, name: &[u8], d_type: u8) {
        self.lengths.resize(usize::from(NAME_BYTES_MAX) + 1, 0);
        self.lengths[name.len().min(usize::from(NAME_BYTES_MAX))] += 1;
        self.directories += u64::from(FileType::from_d_type(d_type) == FileType::Directory);
        self.names.push(name.to_vec());
    }

    pub(super) fn entries(&self) -> u64 {
        self.names.len() as u64
    }

    #[cfg(target_os = "linux")]
    pub(super) fn name_bytes(&self) -> u64 {
        (0..).zip(&self.lengths).map(|(bytes, count)| bytes * count).sum()
    }
}

impl Sample {
    /// Takes the first entries of a directory for a sample.
    pub(super) fn of(directory: &Dir, known: Known, space: &Space) -> Result<Self> {
        let options =
            crate::ReadOptions { buffer_bytes: SAMPLE_BYTES, threads: 1, shares: 1, resolve_types: true };
        let mut reader = crate::backend(system::BACKEND)?.open(directory, &options)?;
        let mut sampled = Sampled::default();
        // The first buffer alone may hold nothing but the two dots.
        while sampled.entries() == 0 {
            let Some(batch) = reader.next_batch()? else { break };
            for entry in batch.entries() {
                sampled.add(entry.name, entry.kind.d_type());
            }
        }
        Ok(Self::made(directory, &sampled, known, space))
    }

    /// Makes what there is to know of a sample.
    pub(super) fn made(directory: &Dir, sampled: &Sampled, known: Known, space: &Space) -> Self {
        let entries = sampled.entries();
        let of = match known {
            Known::Given => format!(" of '{}'", directory.path().display()),
            Known::Measured | Known::Read | Known::Assumed => String::new(),
        };
        let counts = (0..).zip(sampled.lengths.iter().copied()).filter(|(_, count)| *count > 0);
        let Some(names) = NameLengths::counted(counts) else {
            let names = NameLengths::of(NAME_BYTES_ASSUMED);
            let contents = Contents { mean_bytes: space.unit_bytes as f64, error_bytes: 0.0 };
            return Self {
                names: Fact::new(
                    names,
                    Known::Assumed,
                    format!("no entries to look at{of}; 32 bytes, a digest in hex"),
                ),
                directory_share: 0.0,
                contents: Fact::new(contents, Known::Assumed, "a block for the contents of each"),
            };
        };
        Self {
            names: Fact::new(names, known, format!("the first {entries} entries{of}")),
            directory_share: sampled.directories as f64 / entries as f64,
            contents: contents(directory, &sampled.names, known, space, &of),
        }
    }
}

/// Examines some of the entries, evenly spread over the sample.
fn contents(directory: &Dir, names: &[Vec<u8>], known: Known, space: &Space, of: &str) -> Fact<Contents> {
    let step = names.len().div_ceil(EXAMINED_MAX);
    let sizes: Vec<f64> =
        names.iter().step_by(step).filter_map(|name| system::content_bytes(directory, name, space)).collect();
    if sizes.is_empty() {
        let contents = Contents { mean_bytes: space.unit_bytes as f64, error_bytes: 0.0 };
        return Fact::new(contents, Known::Assumed, "a block for the contents of each; none may be examined");
    }
    let count = sizes.len() as f64;
    let mean_bytes = sizes.iter().sum::<f64>() / count;
    let variance = sizes.iter().map(|size| (size - mean_bytes).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let error_bytes = if sizes.len() == names.len() { 0.0 } else { 1.96 * (variance / count).sqrt() };
    let how = format!("contents as in {} entries{of}", sizes.len());
    Fact::new(Contents { mean_bytes, error_bytes }, known, how)
}
