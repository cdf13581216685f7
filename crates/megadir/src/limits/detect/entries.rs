//! Number of entries and a sample of the first, at a bounded cost. Samples with full buffers would read a
//! huge, almost empty ext4 directory as a whole, so small buffers detect that case first.

use std::os::fd::AsFd;

use super::span;
use crate::backend::linux_getdents;
use crate::decode::Records;
use crate::dir::Dir;
use crate::error::{ErrorKind, Result};
use crate::estimate::estimate;
use crate::limits::basis::{Fact, Known, Span};
use crate::limits::facts::{Details, Space};
use crate::limits::sample::{Sample, Sampled, counted};

/// About 15 entries.
const LOOK_BYTES: usize = 1 << 10;
/// In a hollow directory.
const BLOCKS_MAX: f64 = 512.0;
/// Distinguishes a hollow directory from a full one.
const ENTRIES_ENOUGH: u64 = 64;
/// Blocks of a hollow directory are filled less.
const FILLED_MIN: f64 = 0.1;
/// Without the name.
const EXT4_ENTRY_BYTES: f64 = 10.0;
const HASHES: f64 = i64::MAX as f64;

pub(super) struct Looked {
    pub(super) entries: Option<Fact<Span>>,
    hollow: Option<Sampled>,
}

impl Looked {
    pub(super) fn sample(&mut self, directory: &Dir, space: &Space) -> Result<Sample> {
        match self.hollow.take() {
            Some(sampled) => Ok(Sample::made(directory, &sampled, Known::Measured, space)),
            None => Sample::of(directory, Known::Measured, space),
        }
    }
}

pub(super) fn look(
    directory: &Dir,
    count: bool,
    details: &Details,
    directory_bytes: u64,
    block_bytes: u64,
) -> Result<Looked> {
    if count {
        return Ok(Looked { entries: counted(directory, u64::MAX)?, hollow: None });
    }
    let indexed = matches!(details, Details::Ext4(ext4) if ext4.indexed == Some(true));
    if indexed
        && let Some(looked) =
            hollow(directory, directory_bytes as f64 / block_bytes.max(1) as f64, block_bytes)?
    {
        return Ok(looked);
    }
    let entries = match estimate(directory) {
        Ok(estimate) => Some(Fact::new(span(&estimate), Known::Measured, estimate.basis)),
        Err(error) if error.kind() == ErrorKind::Unavailable => None,
        Err(error) => return Err(error),
    };
    Ok(Looked { entries, hollow: None })
}

/// Reads with a small buffer from the start, and stops as soon as the directory is shown to be either dense
/// (`None`) or hollow. The position of the last entry is its part of the range of hashes, and this part of
/// all blocks was searched by the kernel. So the number of blocks passed bounds the cost, even if they hold
/// nothing. The interval is of a Poisson count.
fn hollow(directory: &Dir, blocks: f64, block_bytes: u64) -> Result<Option<Looked>> {
    let descriptor = directory.reopen_for_reader()?;
    let mut buffer = [0; LOOK_BYTES];
    let mut sampled = Sampled::default();
    loop {
        let filled = linux_getdents::read(descriptor.as_fd(), &mut buffer, directory.path())?;
        linux_getdents::check(&buffer[..filled], directory.path())?;
        let mut last_offset = i64::MAX;
        for record in Records::new(&buffer[..filled]) {
            last_offset = record.offset;
            if !record.is_dot() {
                sampled.add(record.name, record.kind);
            }
        }
        let entries = sampled.entries();
        if filled == 0 {
            let entries = Fact::new(Span::exact(entries), Known::Measured, "counted");
            sampled.is_whole = true;
            return Ok(Some(Looked { entries: Some(entries), hollow: Some(sampled) }));
        }
        let part = (last_offset as f64 / HASHES).clamp(f64::MIN_POSITIVE, 1.0);
        let passed = part * blocks;
        let bytes = sampled.name_bytes() as f64 + EXT4_ENTRY_BYTES * entries as f64;
        let filled_part = bytes / (passed * block_bytes as f64);
        if entries >= ENTRIES_ENOUGH && filled_part >= FILLED_MIN {
            return Ok(None);
        }
        if passed >= BLOCKS_MAX && part < 1.0 {
            // About Poisson.
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
