//! Estimated number of entries of a directory: within a few per cent, in milliseconds.
//!
//! | file system | evidence |
//! |---|---|
//! | any, if the first buffer holds the whole directory | counted |
//! | tmpfs | the directory's size is 20 bytes an entry, including `.` and `..`: exact |
//! | btrfs | the directory's size is twice the bytes of all names; their mean length is sampled. Counted if that reads no more |
//! | ext4 with an index, XFS | the density of entries over the positions is sampled |
//!
//! Other file systems offer no cheap evidence.

use std::os::fd::AsFd;
use std::sync::atomic::AtomicU64;

use rustix::fs::{SeekFrom, seek};

use crate::backend::linux_getdents;
use crate::backend::linux_split::space::Space;
use crate::decode::Records;
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::file_system::FileSystem;
use crate::options::RECORD_BYTES_MAX;

/// An estimated number of entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Most likely number of entries, without `.` and `..`.
    pub entries: u64,
    /// 95 % interval; both ends equal `entries` if the number is exact. It does not hold for crafted names:
    /// on ext4, samples may miss a minority of names with one hash.
    pub interval: (u64, u64),
    /// Evidence, in one sentence.
    pub basis: String,
}

const STRATA: i64 = 32;
/// About a thousand entries.
const SAMPLE_BYTES: usize = 64 << 10;
const TMPFS_ENTRY_BYTES: u64 = 20;
/// As a fraction. Samples end at entries, not at chosen positions.
const ERROR_MIN: f64 = 0.001;
/// Filled share of an ext4 directory that only grew: 0.59 to 0.81 in simulated splits of more than 64 blocks with 3 to 340 entries each.
const FILLED_MIN: f64 = 0.58;
/// Blocks of a small directory split at about the same time.
const FILLED_MIN_SMALL: f64 = 0.5;
const SMALL_BYTES: u64 = 64 * 4096;
/// More entries with one hash are no coincidence: positions have 63 bits, or 31 with the legacy hash.
const CROWDED: usize = 16;
const EXT4_BLOCK_TAIL: u64 = 12;
const AVERAGED_MIN: u64 = 64;
/// 97.5 % quantile of Student's t with `STRATA - 1` degrees of freedom.
const T: f64 = 2.040;

/// Estimates the number of entries of a directory.
/// Errors: [`ErrorKind::Unavailable`] with the reason if the file system offers no cheap evidence.
pub fn estimate(directory: &Dir) -> Result<Estimate> {
    if is_read_whole(directory) {
        let reason = "overlayfs reads a merged directory as a whole before it returns an entry: use --count";
        return Err(Error::new("estimate", directory.path(), ErrorKind::Unavailable, reason));
    }
    let mut sampler = Sampler::new(directory)?;
    let first = sampler.read()?;
    if first.ended {
        let basis = "counted: one buffer held the whole directory".into();
        return Ok(exact(first.entries, basis));
    }
    match directory.file_system() {
        FileSystem::Tmpfs => {
            let entries = (directory.size_bytes()? / TMPFS_ENTRY_BYTES).saturating_sub(2);
            Ok(exact(entries, "tmpfs counts 20 bytes an entry into the directory's size".into()))
        }
        FileSystem::Btrfs => by_name_length(directory, &mut sampler, &first),
        FileSystem::Ext4 | FileSystem::Xfs => by_density(directory, &mut sampler, &first),
        other => {
            let reason = format!("no cheap evidence of the number of entries on {other}: use --count");
            Err(Error::new("estimate", directory.path(), ErrorKind::Unavailable, reason))
        }
    }
}

/// A directory of several layers has one link, one of a single layer has as many as in that layer. A million entries take seconds, and 192 MB of
/// kernel memory.
fn is_read_whole(directory: &Dir) -> bool {
    let links = || rustix::fs::fstat(directory).map_or(1, |status| status.st_nlink);
    directory.file_system() == FileSystem::Overlay && links() == 1
}

fn exact(entries: u64, basis: String) -> Estimate {
    Estimate { entries, interval: (entries, entries), basis }
}

struct Sampler<'a> {
    directory: &'a Dir,
    descriptor: std::os::fd::OwnedFd,
    buffer: Vec<u8>,
}

/// One buffer from some position on. Offsets are positions after the records; a sample that goes beyond its
/// stratum is cut by them. `ext4_bytes` is the space that the entries take in ext4's blocks, to see how full
/// these are.
#[derive(Default)]
struct Sample {
    entries: u64,
    name_bytes: u64,
    ext4_bytes: u64,
    last_offset: i64,
    /// Offsets of all records but `.` and `..`, to cut the sample at a bound.
    offsets: Vec<i64>,
    /// Lengths of their names.
    lengths: Vec<u16>,
    ended: bool,
}

impl Sample {
    /// Leaves the entries up to a position.
    fn cut(&mut self, end: i64) {
        let inside = self.offsets.partition_point(|offset| *offset <= end);
        self.offsets.truncate(inside);
        self.lengths.truncate(inside);
        self.entries = inside as u64;
        self.name_bytes = self.lengths.iter().map(|length| u64::from(*length)).sum();
    }

    fn is_crowded(&self) -> bool {
        self.offsets.windows(2).filter(|pair| pair[0] == pair[1]).count() >= CROWDED
    }
}

impl<'a> Sampler<'a> {
    fn new(directory: &'a Dir) -> Result<Self> {
        let descriptor = directory.reopen_for_reader()?;
        Ok(Self { directory, descriptor, buffer: vec![0; SAMPLE_BYTES] })
    }

    fn seek(&self, position: i64) -> Result<()> {
        let to = SeekFrom::Start(u64::try_from(position).unwrap_or(0));
        seek(&self.descriptor, to).at("seek in", self.directory.dir_path()).map(drop)
    }

    fn read(&mut self) -> Result<Sample> {
        let path = self.directory.path();
        let filled = linux_getdents::read(self.descriptor.as_fd(), &mut self.buffer, path)?;
        let bytes = &self.buffer[..filled];
        linux_getdents::check(bytes, path)?;
        let mut sample = Sample { ended: filled == 0, ..Sample::default() };
        for record in Records::new(bytes) {
            sample.last_offset = record.offset;
            if !record.is_dot() {
                sample.entries += 1;
                sample.name_bytes += record.name.len() as u64;
                sample.ext4_bytes += (record.name.len() as u64 + 8).next_multiple_of(4);
                sample.offsets.push(record.offset);
                sample.lengths.push(record.name.len() as u16);
            }
        }
        if filled > 0 && filled + RECORD_BYTES_MAX < SAMPLE_BYTES {
            let mut rest = [0; 512];
            sample.ended = linux_getdents::read(self.descriptor.as_fd(), &mut rest, path)? == 0;
        }
        Ok(sample)
    }
}

fn strata(directory: &Dir, sampler: &mut Sampler<'_>, first: &Sample) -> Result<Vec<(Stratum, Sample)>> {
    let space = Space::of_read(directory, first.last_offset).map_err(|error| {
        let reason = format!("{}: use --count", error.reason());
        Error::new("estimate", directory.path(), ErrorKind::Unavailable, reason)
    })?;
    let calls = AtomicU64::new(0);
    let end = space.end(sampler.descriptor.as_fd(), first.last_offset, directory.path(), &calls)?;
    let width = end.saturating_sub(first.last_offset) / STRATA;
    let mut samples = Vec::new();
    for index in 0..STRATA {
        let start = first.last_offset + width * index;
        // Reproducible.
        let from = start + width / STRATA * ((index * 7) % STRATA) / 2;
        sampler.seek(from)?;
        samples.push((Stratum { from, end: start + width, width }, sampler.read()?));
    }
    Ok(samples)
}

struct Stratum {
    from: i64,
    end: i64,
    width: i64,
}

/// Positions are hashes of names on ext4 and places in the directory's data on XFS. Entries spread evenly over
/// both, but for chance and for the fill of blocks. So the range of positions after the first buffer is divided
/// into strata, one buffer is read in each, and the density there is taken for the whole stratum. The interval comes from the differences
/// between strata (Student's t); on ext4 it is widened by the known facts about the blocks. Places are the same
/// in each run, so that the result is reproducible.
fn by_density(directory: &Dir, sampler: &mut Sampler<'_>, first: &Sample) -> Result<Estimate> {
    let samples = strata(directory, sampler, first)?;
    let mut seen = first.entries;
    let counts: Vec<f64> = samples
        .iter()
        .map(|(stratum, sample)| {
            let reach = if sample.ended { stratum.end } else { sample.last_offset.min(stratum.end) };
            let inside = sample.offsets.iter().filter(|offset| **offset <= reach).count();
            seen += inside as u64;
            let covered = (reach - stratum.from).max(1) as f64;
            inside as f64 * stratum.width as f64 / covered
        })
        .collect();
    let total: f64 = counts.iter().sum();
    let mean = total / counts.len() as f64;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (counts.len() - 1) as f64;
    let error = T * (variance * counts.len() as f64).sqrt();
    let basis = format!(
        "density of {seen} entries sampled at {} places over the positions of {}",
        STRATA + 1,
        directory.file_system()
    );
    let mut estimate = with_error(first.entries as f64 + total, error, seen, basis);
    if directory.file_system() == FileSystem::Ext4 {
        let all: Vec<&Sample> =
            std::iter::once(first).chain(samples.iter().map(|(_, sample)| sample)).collect();
        let block_bytes = rustix::fs::fstatvfs(directory).map_or(4096, |space| space.f_bsize).max(1024);
        widen(&mut estimate, directory.size_bytes()?, block_bytes, &all, seen);
    }
    Ok(estimate)
}

/// Samples between positions miss entries that share a hash. A directory that only grew is filled to a known
/// share; if its size allows for more entries, it was emptied or its names crowd at some hashes.
fn widen(estimate: &mut Estimate, size_bytes: u64, block_bytes: u64, samples: &[&Sample], seen: u64) {
    let entry_bytes = samples
        .iter()
        .filter(|sample| sample.entries >= AVERAGED_MIN)
        .map(|sample| sample.ext4_bytes as f64 / sample.entries as f64)
        .fold(f64::INFINITY, f64::min);
    if !entry_bytes.is_finite() {
        return;
    }
    let entries_a_block = ((block_bytes - EXT4_BLOCK_TAIL) as f64 / entry_bytes).floor().max(1.0);
    let entries_max = (size_bytes / block_bytes) as f64 * entries_a_block;
    let filled_min = if size_bytes < SMALL_BYTES { FILLED_MIN_SMALL } else { FILLED_MIN };
    let is_crowded = samples.iter().any(|sample| sample.is_crowded());
    if is_crowded {
        // A sample in a crowd misjudges its whole stratum.
        estimate.entries = estimate.entries.min(entries_max as u64);
        estimate.interval = (seen.min(estimate.entries), entries_max as u64);
        estimate.basis += "; unreliable: many entries share a hash, so the bounds are the entries seen and what the directory's \
            size has room for; --count counts";
    } else if (estimate.entries as f64) < filled_min * entries_max {
        estimate.interval.1 = estimate.interval.1.max(entries_max as u64);
        estimate.basis += "; the directory's size has room for more: it was emptied, or names crowd at some hashes, so the upper \
            bound is that room; --count counts";
    }
}

fn by_name_length(directory: &Dir, sampler: &mut Sampler<'_>, first: &Sample) -> Result<Estimate> {
    let name_bytes_all = directory.size_bytes()? as f64 / 2.0;
    // Samples of a smaller directory would read more than counting does, and each entry several times.
    let buffers = name_bytes_all / first.name_bytes.max(1) as f64;
    if buffers <= (STRATA + 1) as f64 {
        return count(sampler, first);
    }
    let mut samples = strata(directory, sampler, first)?;
    samples.iter_mut().for_each(|(stratum, sample)| sample.cut(stratum.end));
    let all = || std::iter::once(first).chain(samples.iter().map(|(_, sample)| sample));
    let means: Vec<f64> = all()
        .filter(|sample| sample.entries > 0)
        .map(|sample| sample.name_bytes as f64 / sample.entries as f64)
        .collect();
    let seen: u64 = all().map(|sample| sample.entries).sum();
    let names: u64 = all().map(|sample| sample.name_bytes).sum();
    let mean = names as f64 / seen as f64;
    let spread = means.iter().map(|each| (each - mean).powi(2)).sum::<f64>() / means.len() as f64;
    let entries = name_bytes_all / mean;
    let error = entries * T * (spread / means.len() as f64).sqrt() / mean;
    let basis = format!(
        "btrfs keeps twice the bytes of all names as the directory's size; mean length of {seen} sampled names {mean:.2}"
    );
    Ok(with_error(entries, error, 0, basis))
}

fn count(sampler: &mut Sampler<'_>, first: &Sample) -> Result<Estimate> {
    let (mut entries, mut last_offset, mut ended) = (first.entries, first.last_offset, first.ended);
    while !ended {
        sampler.seek(last_offset)?;
        let sample = sampler.read()?;
        entries += sample.entries;
        (last_offset, ended) = (sample.last_offset, sample.ended);
    }
    Ok(exact(entries, "counted: samples would have read as much".into()))
}

fn with_error(entries: f64, error: f64, at_least: u64, basis: String) -> Estimate {
    let error = error.max(entries * ERROR_MIN);
    let low = ((entries - error).max(0.0) as u64).max(at_least);
    Estimate {
        entries: (entries.round() as u64).max(at_least),
        interval: (low, (entries + error).ceil() as u64),
        basis,
    }
}
