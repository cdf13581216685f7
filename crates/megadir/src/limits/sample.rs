//! A sample of a directory's entries: name lengths, share of directories, content sizes.

use super::answer::Assumptions;
use super::basis::{Fact, Known, Span};
use super::facts::{Contents, Details, Facts, Space};
use super::name_lengths::{NAME_BYTES_MAX, NameLengths};
use crate::dir::Dir;
use crate::error::Result;
use crate::file_system::FileSystem;
use crate::file_type::FileType;

/// About a thousand entries.
const SAMPLE_BYTES: usize = 64 << 10;
/// Sample of a larger directory: uncached, each entry may cost a disk read, 128 KiB on ext4. The inodes of a
/// small directory lie close together.
const EXAMINED_MAX: usize = 32;
/// For file systems that do not count inodes: Agrawal et al., "A Five-Year Study of File-System Metadata", FAST 2007 (the mean of 2004).
const TYPICAL_BYTES: f64 = 189e3;
const NAME_BYTES_ASSUMED: u16 = 32;

pub(super) struct Sample {
    pub(super) names: Fact<NameLengths>,
    pub(super) directory_share: f64,
    pub(super) contents: Fact<Contents>,
}

#[derive(Default)]
pub(super) struct Sampled {
    lengths: Vec<u64>,
    directories: u64,
    names: Vec<Vec<u8>>,
    pub(super) is_whole: bool,
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

/// `None` if there are more than `most`.
pub(super) fn counted(directory: &Dir, most: u64) -> Result<Option<Fact<Span>>> {
    let options = crate::ReadOptions::serial(256 << 10);
    let mut reader = crate::backend(system::BACKEND)?.open(directory, &options)?;
    let mut entries = 0;
    while let Some(batch) = reader.next_batch()? {
        entries += batch.len() as u64;
        if entries > most {
            return Ok(None);
        }
    }
    Ok(Some(Fact::new(Span::exact(entries), Known::Measured, "counted")))
}

/// With the values of the sample and of the caller; the rest is empty.
pub(super) fn facts(directory: &Dir, assumptions: &Assumptions<'_>, sample: Sample, space: Space) -> Facts {
    // What the caller states precedes what was sampled. Fields that need the system are empty here and filled
    // in by each system's module, so that both systems treat assumptions alike.
    let file_system = directory.file_system();
    let given = |bytes| given_contents(bytes, file_system, &space);
    Facts {
        path: directory.path().to_owned(),
        file_system,
        seen_as: None,
        is_upper_layer: false,
        details: Details::None,
        directory_bytes: 0,
        links: 0,
        inode: 0,
        entries: None,
        merged_entries: None,
        absent_names: None,
        names: match assumptions.names {
            Some(names) => Fact::new(names.clone(), Known::Given, "as requested"),
            None => sample.names,
        },
        directory_share: if assumptions.directories { 1.0 } else { sample.directory_share },
        contents: match assumptions.contents_bytes {
            Some(bytes) => given(bytes),
            None if assumptions.directories => directory_contents(file_system, &space),
            None => sample.contents,
        },
        quotas: Vec::new(),
        space,
        mount: None,
        is_read_only: false,
    }
}

/// May fit in an ext4 inode of 256 bytes.
const INLINE_BYTES_POSSIBLE: u64 = 160;

fn given_contents(bytes: u64, file_system: FileSystem, space: &Space) -> Fact<Contents> {
    let mut contents = Contents::exact(system::allocated(bytes, file_system, space) as f64);
    // Between the two sizes it depends on the inode's size and extended attributes.
    if space.inline_bytes_max > 0 && bytes <= INLINE_BYTES_POSSIBLE && contents.mean_bytes > 0.0 {
        contents.low_bytes = 0.0;
    }
    Fact::new(contents, Known::Given, format!("contents of {bytes} bytes, as requested"))
}

/// On other file systems than ext4 an empty directory may be kept in its inode, or take none.
fn directory_contents(file_system: FileSystem, space: &Space) -> Fact<Contents> {
    let block = space.unit_bytes as f64;
    let is_block = file_system == FileSystem::Ext4 && space.inline_bytes_max == 0;
    let low_bytes = if is_block { block } else { 0.0 };
    let contents = Contents { mean_bytes: block, low_bytes, high_bytes: block };
    Fact::new(contents, Known::Assumed, "a block for each directory")
}

impl Sample {
    pub(super) fn of(directory: &Dir, known: Known, space: &Space) -> Result<Self> {
        let options = crate::ReadOptions { resolve_types: true, ..crate::ReadOptions::serial(SAMPLE_BYTES) };
        let mut reader = crate::backend(system::BACKEND)?.open(directory, &options)?;
        let mut sampled = Sampled::default();
        while sampled.entries() == 0 {
            let Some(batch) = reader.next_batch()? else { break };
            for entry in batch.entries() {
                sampled.add(entry.name, entry.kind.d_type());
            }
        }
        sampled.is_whole = sampled.entries() > 0 && reader.next_batch()?.is_none();
        Ok(Self::made(directory, &sampled, known, space))
    }

    pub(super) fn made(directory: &Dir, sampled: &Sampled, known: Known, space: &Space) -> Self {
        let entries = sampled.entries();
        let of = match known {
            Known::Given => format!(" of '{}'", directory.path().display()),
            Known::Measured | Known::Read | Known::Assumed => String::new(),
        };
        let counts = (0..).zip(sampled.lengths.iter().copied()).filter(|(_, count)| *count > 0);
        let Some(names) = NameLengths::counted(counts) else {
            let names = NameLengths::of(NAME_BYTES_ASSUMED);
            let contents = Contents::exact(space.unit_bytes as f64);
            return Self {
                names: Fact::new(
                    names,
                    Known::Assumed,
                    format!("no entries to sample{of}; 32 bytes, a digest in hex"),
                ),
                directory_share: 0.0,
                contents: Fact::new(contents, Known::Assumed, "a block for the contents of each"),
            };
        };
        Self {
            names: Fact::new(names, known, format!("the first {entries} entries{of}")),
            directory_share: sampled.directories as f64 / entries as f64,
            contents: contents(directory, sampled, known, space, &of),
        }
    }
}

/// All entries of a small directory, else some that are evenly spread over the sample.
fn contents(directory: &Dir, sampled: &Sampled, known: Known, space: &Space, of: &str) -> Fact<Contents> {
    let names = &sampled.names;
    let examined = if sampled.is_whole { names.len() } else { names.len().min(EXAMINED_MAX) };
    let sizes: Vec<f64> = (0..examined)
        .filter_map(|index| system::content_bytes(directory, &names[index * names.len() / examined], space))
        .collect();
    if sizes.is_empty() {
        let contents = Contents::exact(space.unit_bytes as f64);
        return Fact::new(
            contents,
            Known::Assumed,
            "a block for the contents of each; none could be examined",
        );
    }
    let value = of_sample(&sizes, typical_bytes(space));
    let (count, least, most) = (sizes.len(), least(&sizes), most(&sizes));
    let how = match count < EXAMINED_ENOUGH && least < most {
        true => format!(
            "contents of {least:.0} to {most:.0} bytes in only {count} entries{of}; directories without their contents"
        ),
        false if count == 1 => format!("contents as in only 1 entry{of}"),
        false => format!("contents as in {count} entries{of}"),
    };
    Fact::new(value, known, how)
}

const EXAMINED_ENOUGH: usize = 30;
/// 97.5 % quantile of Student's t with 29 degrees of freedom.
const T: f64 = 2.045;

fn typical_bytes(space: &Space) -> f64 {
    let used_bytes = space.blocks.saturating_sub(space.blocks_free).saturating_mul(space.unit_bytes);
    match space.inodes.saturating_sub(space.inodes_free) {
        0 => TYPICAL_BYTES,
        used => used_bytes as f64 / used as f64,
    }
}

/// A large sample gives the 95 % interval of the mean, a small one its extremes. Both are widened by the rule
/// of three: `3 / n` of all entries may differ from the `n` examined, and be as large as `typical_bytes`.
fn of_sample(sizes: &[f64], typical_bytes: f64) -> Contents {
    let count = sizes.len() as f64;
    let mean_bytes = sizes.iter().sum::<f64>() / count;
    let missed = 3.0 / count;
    let with_missed_bytes = mean_bytes + missed.min(1.0) * typical_bytes;
    if sizes.len() < EXAMINED_ENOUGH {
        return Contents {
            mean_bytes,
            low_bytes: least(sizes).min(mean_bytes * (1.0 - missed)).max(0.0),
            high_bytes: most(sizes).max(mean_bytes * (1.0 + missed)).max(with_missed_bytes),
        };
    }
    let variance = sizes.iter().map(|size| (size - mean_bytes).powi(2)).sum::<f64>() / (count - 1.0);
    let error = T * (variance / count).sqrt();
    let high_bytes = (mean_bytes + error).max(with_missed_bytes);
    Contents { mean_bytes, low_bytes: (mean_bytes - error).max(0.0), high_bytes }
}

fn least(sizes: &[f64]) -> f64 {
    sizes.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(sizes: &[f64]) -> f64 {
    sizes.iter().copied().fold(0.0, f64::max)
}

#[cfg(target_os = "linux")]
mod system {

    use std::os::fd::AsFd;

    use rustix::fs::{AtFlags, StatxFlags, statx};

    use crate::dir::Dir;
    use crate::file_system::FileSystem;
    use crate::limits::facts::Space;

    pub(super) const BACKEND: &str = "getdents";
    const STAT_BLOCK_BYTES: u64 = 512;

    /// 0 if the contents fit in the inode.
    pub(super) fn allocated(bytes: u64, _file_system: FileSystem, space: &Space) -> u64 {
        match bytes {
            _ if bytes <= space.inline_bytes_max => 0,
            _ if bytes <= space.packed_bytes_max => bytes,
            _ => bytes.next_multiple_of(space.unit_bytes.max(1)),
        }
    }

    /// It already has the blocks that it will have when it is written back, so a file without any is sparse or stored in its inode.
    fn counts_unwritten(file_system: FileSystem) -> bool {
        use FileSystem::{Btrfs, Ext4, Tmpfs, Xfs};
        matches!(file_system, Ext4 | Xfs | Btrfs | Tmpfs)
    }

    /// Bytes, divided by the number of links. `None` if the entry has vanished.
    pub(super) fn content_bytes(directory: &Dir, name: &[u8], space: &Space) -> Option<f64> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
        let want = StatxFlags::BLOCKS | StatxFlags::SIZE | StatxFlags::NLINK | StatxFlags::TYPE;
        let status = statx(directory.as_fd(), name, flags, want).ok()?;
        let kind = rustix::fs::FileType::from_raw_mode(u32::from(status.stx_mode));
        let links = if kind.is_dir() { 1 } else { status.stx_nlink.max(1) };
        let bytes = match status.stx_blocks {
            // Elsewhere a file that is not yet written back may have a size but no blocks.
            0 if kind.is_file() && !counts_unwritten(directory.file_system()) => {
                allocated(status.stx_size, directory.file_system(), space)
            }
            _ if kind.is_file() && status.stx_size <= space.packed_bytes_max => status.stx_size,
            blocks => blocks * STAT_BLOCK_BYTES,
        };
        Some(bytes as f64 / f64::from(links))
    }
}

#[cfg(windows)]
mod system {

    use std::os::windows::io::AsHandle;

    use megadir_sys::windows::facts;
    use megadir_sys::windows::open::Purpose;

    use crate::dir::Dir;
    use crate::directory_information::Found;
    use crate::file_system::FileSystem;
    use crate::file_type::FileType;
    use crate::limits::facts::Space;

    pub(super) const BACKEND: &str = "by-handle";
    /// NTFS stores smaller contents in the file's own 1 KiB record.
    const RESIDENT_BYTES_MAX: u64 = 600;

    /// Without the record, divided by the number of links. `None` if the entry has vanished or must not be opened.
    pub(super) fn content_bytes(directory: &Dir, name: &[u8], space: &Space) -> Option<f64> {
        let entry = directory.open_entry(name, Purpose::Query).ok()?;
        let status = facts::of_open(entry.as_handle()).ok()?;
        let bytes = match Found::kind_of((status.attributes, status.reparse_tag)) {
            FileType::File => allocated(status.size_bytes, directory.file_system(), space),
            // A directory's first entries are stored in its record; links have no contents.
            _ => 0,
        };
        Some(bytes as f64 / f64::from(status.links.max(1)))
    }

    pub(super) fn allocated(bytes: u64, file_system: FileSystem, space: &Space) -> u64 {
        match file_system {
            FileSystem::Ntfs if bytes <= RESIDENT_BYTES_MAX => 0,
            _ => bytes.next_multiple_of(space.unit_bytes.max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Contents, of_sample};

    #[test]
    fn few_entries_give_bounds_from_the_smallest_to_the_largest() {
        let mut sizes = vec![0.0; 9];
        sizes.push(300e6);
        let found = of_sample(&sizes, 1e5);
        assert_eq!((found.low_bytes, found.mean_bytes, found.high_bytes), (0.0, 30e6, 300e6));
        // Applies also if all entries were examined: entries to come may differ.
        sizes.extend([0.0; 22]);
        let found = of_sample(&sizes, 1e5);
        assert!(found.low_bytes == 0.0 && found.high_bytes > 2.0 * found.mean_bytes, "{found:?}");
        // One entry bounds little, ten equal ones bound more, and many equal ones are the rule.
        let single = Contents { mean_bytes: 4096.0, low_bytes: 0.0, high_bytes: 4.0 * 4096.0 };
        assert_eq!(of_sample(&[4096.0], 0.0), single);
        let ten = of_sample(&[4096.0; 10], 0.0);
        assert!((ten.high_bytes / 4096.0 - 1.3).abs() < 1e-9 && (ten.low_bytes / 4096.0 - 0.7).abs() < 1e-9);
        assert_eq!(of_sample(&[4096.0; 32], 0.0), Contents::exact(4096.0));
    }

    #[test]
    fn entries_that_were_missed_may_be_typical_files() {
        let high = |sizes: &[f64]| of_sample(sizes, 1e5).high_bytes;
        assert_eq!(
            (high(&[0.0]), high(&[0.0; 3]), high(&[0.0; 30]), high(&[0.0; 3000])),
            (1e5, 1e5, 1e4, 100.0)
        );
    }
}
