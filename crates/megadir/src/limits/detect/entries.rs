//! Entries now, and the first of them as a sample, at a cost that is bounded also where a directory is hollow.
//!
//! Estimating reads samples that fill a buffer. Where a huge directory of ext4 is almost empty that would read all of it, many
//! times. So the first entries are read by small buffers, and how far they are from each other in the hash tells first.

use std::os::fd::AsFd;

use megadir_sys::getdents::getdents64;

use super::span;
use crate::backend::linux_getdents::malformed;
use crate::decode::{self, Records};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::estimate::estimate;
use crate::limits::basis::{Fact, Known, Span};
use crate::limits::facts::{Details, Space};
use crate::limits::sample::{Sample, Sampled};

/// The buffer for the first look, bytes: some 15 entries.
const LOOK_BYTES: usize = 1 << 10;
/// After so many blocks of a hollow directory the look ends.
const BLOCKS_MAX: f64 = 512.0;
/// So many entries are enough to tell a hollow directory from others.
const ENTRIES_ENOUGH: u64 = 64;
/// Blocks that are filled less than this are those of a hollow directory.
const FILLED_MIN: f64 = 0.1;
/// Bytes of an entry of ext4 beside its name.
const EXT4_ENTRY_BYTES: f64 = 10.0;
/// Positions of an indexed directory are hashes below this.
const HASHES: f64 = i64::MAX as f64;

/// What a look at a directory's entries gave.
pub(super) struct Looked {
    /// How many there are; `None` where nothing cheap tells.
    pub(super) entries: Option<Fact<Span>>,
    /// The first entries of a hollow directory, which are not read again.
    hollow: Option<Sampled>,
}

impl Looked {
    /// Returns the sample of the directory's entries.
    pub(super) fn sample(&mut self, directory: &Dir, space: &Space) -> Result<Sample> {
        match self.hollow.take() {
            Some(sampled) => Ok(Sample::made(directory, &sampled, Known::Measured, space)),
            None => Sample::of(directory, Known::Measured, space),
        }
    }
}

/// Looks at the directory's entries: how many there are, and the first ones where it is hollow.
pub(super) fn look(
    directory: &Dir,
    count: bool,
    details: &Details,
    directory_bytes: u64,
    block_bytes: u64,
) -> Result<Looked> {
    if count {
        let entries = counted(directory)?;
        return Ok(Looked {
            entries: Some(Fact::new(Span::exact(entries), Known::Measured, "counted")),
            hollow: None,
        });
    }
    let indexed = matches!(details, Details::Ext4(ext4) if ext4.indexed == Some(true));
    if indexed
        && let Some(looked) =
            hollow(directory, directory_bytes as f64 / block_bytes.max(1) as f64, block_bytes)?
    {
        return Ok(looked);
    }
    match estimate(directory) {
        Ok(estimate) => {
            let entries = Fact::new(span(&estimate), Known::Measured, estimate.basis);
            Ok(Looked { entries: Some(entries), hollow: None })
        }
        Err(error) if error.kind() == ErrorKind::Unavailable => Ok(Looked { entries: None, hollow: None }),
        Err(error) => Err(error),
    }
}

/// Reads the first entries by small buffers; `None` if the directory is not hollow.
fn hollow(directory: &Dir, blocks: f64, block_bytes: u64) -> Result<Option<Looked>> {
    let descriptor = directory.reopen_for_reader()?;
    let mut buffer = [0; LOOK_BYTES];
    let mut sampled = Sampled::default();
    loop {
        let filled = getdents64(descriptor.as_fd(), &mut buffer)
            .map_err(|error| Error::io("read", directory.path(), error))?;
        decode::check(&buffer[..filled]).map_err(|bad| malformed(directory.path(), bad))?;
        let mut last_offset = i64::MAX;
        for record in Records::new(&buffer[..filled]) {
            last_offset = record.offset;
            if !record.is_dot() {
                sampled.add(record.name, record.kind);
            }
        }
        let entries = sampled.entries();
        // The position behind the last entry of all is no hash.
        if filled == 0 {
            let entries = Fact::new(Span::exact(entries), Known::Measured, "counted");
            return Ok(Some(Looked { entries: Some(entries), hollow: Some(sampled) }));
        }
        let part = (last_offset as f64 / HASHES).clamp(f64::MIN_POSITIVE, 1.0);
        let passed = part * blocks;
        let bytes = sampled.name_bytes() as f64 + EXT4_ENTRY_BYTES * entries as f64;
        let filled_part = bytes / (passed * block_bytes as f64);
        if entries >= ENTRIES_ENOUGH && filled_part >= FILLED_MIN {
            return Ok(None);
        }
        // Behind the last entry there is only the end, which makes it exact.
        if passed >= BLOCKS_MAX && part < 1.0 {
            // Entries in a stretch of the hash are as good as counted at random: a 95 % interval by the root of the count.
            let count = entries as f64;
            let low = (count.sqrt() - 1.0).max(0.0).powi(2) / part;
            let high = ((count + 1.0).sqrt() + 1.0).powi(2) / part;
            let how =
                format!("{entries} entries in {:.1} % of the hash, the directory being hollow", 100.0 * part);
            let span = Span::rounded(count / part, low.max(count), high);
            return Ok(Some(Looked {
                entries: Some(Fact::new(span, Known::Measured, how)),
                hollow: Some(sampled),
            }));
        }
    }
}

/// Counts all entries.
fn counted(directory: &Dir) -> Result<u64> {
    let options = crate::ReadOptions { buffer_bytes: 256 << 10, threads: 1, shares: 1, resolve_types: false };
    let mut reader = crate::backend("getdents")?.open(directory, &options)?;
    let mut entries = 0;
    while let Some(batch) = reader.next_batch()? {
        entries += batch.len() as u64;
    }
    Ok(entries)
}
