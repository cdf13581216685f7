//! A file system that the caller states, such as the server's behind NFS or Lustre.

use std::str::FromStr;

use super::basis::{Fact, Known};
use super::facts::{Details, Ext4, Ext4Features, Facts};
use super::model_of;
use crate::file_system::FileSystem;
use crate::nearest::choices;
use crate::quantity::bytes;

/// Default of mke2fs and mkfs.xfs for all but tiny file systems.
const BLOCK_BYTES: u64 = 4096;
const HOW: &str = "as stated";

/// File system in place of the one that the client sees, such as `ext4:block=4k,large_dir`.
///
/// The text is a name, then comma-separated options after a colon: `block=SIZE` (the block size of ext4, the
/// directory block size of XFS), `maxdirsize=SIZE` of WAFL, and features of ext4 by their names in mke2fs; `^feature` is a missing one.
/// Other features are as mke2fs sets them.
///
/// ```
/// use megadir::limits::Stated;
/// let stated: Stated = "ext4:block=1k,^dir_nlink".parse()?;
/// assert_eq!(stated.file_system(), megadir::FileSystem::Ext4);
/// let error = "ext4:large_dirs".parse::<Stated>().unwrap_err();
/// assert!(error.starts_with("unknown option 'large_dirs' of ext4: did you mean 'large_dir'?"), "{error}");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stated {
    file_system: FileSystem,
    details: Details,
    block_bytes: Option<u64>,
}

/// File systems whose limits a model knows without seeing them.
const NAMES: [&str; 9] = ["ext4", "xfs", "btrfs", "tmpfs", "vfat", "exfat", "ntfs", "zfs", "wafl"];
/// Default of ONTAP.
const MAXDIRSIZE_BYTES: u64 = 320 << 20;

const FEATURES: [&str; 6] = ["dir_index", "large_dir", "metadata_csum", "dir_nlink", "casefold", "encrypt"];

/// The drivers accept powers of two.
fn block(text: &str, least: u64) -> Result<u64, String> {
    match bytes(text)? {
        size if size.is_power_of_two() && (least..=64 << 10).contains(&size) => Ok(size),
        size => {
            Err(format!("block={text}: {size} bytes are no block size: write a power of two, {least} to 64k"))
        }
    }
}

/// A directory has at least a block, and ONTAP takes no more than 4 GiB.
fn directory_size(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        size if (BLOCK_BYTES..=4 << 30).contains(&size) => Ok(size),
        size => Err(format!("maxdirsize={text}: {size} bytes: write 4k to 4g, e.g. 320m")),
    }
}

/// Options behind the name of a file system, as they are read; those of other file systems keep their defaults.
struct Options<'n> {
    name: &'n str,
    file_system: FileSystem,
    ext4: Ext4,
    block_bytes: u64,
    maxdirsize: Fact<u64>,
}

impl Options<'_> {
    fn has_blocks(&self) -> bool {
        matches!(self.file_system, FileSystem::Ext4 | FileSystem::Xfs)
    }

    /// One option, with `^` before a feature that is missing. Errors: the file system does not have the option, or its value is
    /// out of bounds.
    fn set(&mut self, option: &str) -> Result<(), String> {
        let plain = option.strip_prefix('^').unwrap_or(option);
        let (is_set, of) = (plain == option, self.file_system);
        match plain.split_once('=') {
            Some(("block", size)) if self.has_blocks() && is_set => {
                self.block_bytes = block(size, if of == FileSystem::Ext4 { 1024 } else { 512 })?;
            }
            Some(("maxdirsize", size)) if of == FileSystem::Wafl && is_set => {
                self.maxdirsize = Fact::new(directory_size(size)?, Known::Given, HOW);
            }
            None if of == FileSystem::Ext4 && FEATURES.contains(&plain) => {
                let features = &mut self.ext4.features.value;
                *match plain {
                    "dir_index" => &mut features.dir_index,
                    "large_dir" => &mut features.large_dir,
                    "metadata_csum" => &mut features.metadata_csum,
                    "dir_nlink" => &mut features.dir_nlink,
                    "casefold" => &mut self.ext4.casefolded,
                    _ => &mut self.ext4.encrypted,
                } = is_set;
            }
            _ => return Err(self.unknown(option, plain)),
        }
        Ok(())
    }

    fn unknown(&self, option: &str, plain: &str) -> String {
        let (value, features): (_, &[&str]) = match self.file_system {
            FileSystem::Ext4 => ("block=SIZE", &FEATURES),
            FileSystem::Xfs => ("block=SIZE", &[]),
            FileSystem::Wafl => ("maxdirsize=SIZE", &[]),
            _ => return format!("{} has no options, so '{option}' says nothing", self.name),
        };
        let known = std::iter::once(value).chain(features.iter().copied());
        let key = plain.split_once('=').map_or(plain, |(key, _)| key);
        let given = if value.split_once('=').is_some_and(|(name, _)| name == key) { value } else { plain };
        format!("unknown option '{option}' of {}: {}", self.name, choices(given, known))
    }
}

impl FromStr for Stated {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // `NAME[:OPTION,...]`, with options as mkfs writes features: `^` before a feature takes it away. An
        // option that the named file system does not have is an error and never ignored, because the answer
        // would be about another file system. So is one that is stated twice.
        let (name, texts) = text.split_once(':').unwrap_or((text, ""));
        if !NAMES.contains(&name) {
            return Err(format!("unknown file system '{name}': {}", choices(name, NAMES)));
        }
        let file_system = FileSystem::from_name(name);
        let mut options = Options {
            name,
            file_system,
            ext4: Ext4 {
                features: Fact::new(Ext4Features::USUAL, Known::Given, HOW),
                indexed: None,
                casefolded: false,
                encrypted: false,
            },
            block_bytes: BLOCK_BYTES,
            maxdirsize: Fact::new(MAXDIRSIZE_BYTES, Known::Assumed, "the default"),
        };
        let mut seen = Vec::new();
        for option in texts.split(',').filter(|option| !option.is_empty()) {
            let plain = option.strip_prefix('^').unwrap_or(option);
            let key = plain.split_once('=').map_or(plain, |(key, _)| key);
            if seen.contains(&key) {
                return Err(format!("'{key}' is stated twice"));
            }
            seen.push(key);
            options.set(option)?;
        }
        let (has_blocks, block_bytes) = (options.has_blocks(), options.block_bytes);
        let details = match file_system {
            FileSystem::Ext4 => Details::Ext4(options.ext4),
            FileSystem::Xfs => Details::Xfs(Fact::new(block_bytes, Known::Given, HOW)),
            FileSystem::Btrfs => Details::Btrfs(None),
            FileSystem::Wafl => Details::Wafl(options.maxdirsize),
            _ => Details::None,
        };
        Ok(Self { file_system, details, block_bytes: has_blocks.then_some(block_bytes) })
    }
}

impl Stated {
    /// The file system.
    pub fn file_system(&self) -> FileSystem {
        self.file_system
    }

    /// Replaces the facts about the file system. Entries, names, blocks and inodes stay as seen.
    pub fn apply(&self, facts: &mut Facts) {
        // A server reports the size in its own file system.
        let is_servers = facts.file_system == FileSystem::Nfs;
        facts.seen_as = Some(facts.file_system);
        facts.file_system = self.file_system;
        facts.details = self.details.clone();
        facts.is_upper_layer = false;
        facts.mount = None;
        facts.space.inline_bytes_max = 0;
        facts.space.packed_bytes_max = 0;
        if let Some(block_bytes) = self.block_bytes {
            facts.space.block_bytes = block_bytes;
        }
        if !is_servers {
            facts.directory_bytes = 0;
            facts.directory_bytes = size_of_entries(facts);
        }
    }
}

/// Size of a directory that had only grown; 0 if the model knows none.
fn size_of_entries(facts: &Facts) -> u64 {
    let judgement = model_of(facts.file_system).map(|model| model.judge(facts, false));
    let (Some(entries), Some(judgement)) = (&facts.entries, judgement) else { return 0 };
    let (Some(capacity), Some(gauge)) = (judgement.capacity, judgement.gauge) else { return 0 };
    let used = entries.value.likely as f64 / capacity.value.likely.max(1) as f64;
    ((used * gauge.full_bytes as f64) as u64).next_multiple_of(facts.space.block_bytes.max(1))
}

#[cfg(test)]
mod tests {
    use super::Stated;
    use crate::file_system::FileSystem;
    use crate::limits::facts::{Details, Ext4Features};
    use crate::limits::tests::facts;
    use crate::limits::{Known, Limits};

    fn stated(text: &str) -> Stated {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn options_are_the_given_ones_or_the_defaults_of_mke2fs() {
        let Details::Ext4(ext4) = stated("ext4:block=1KiB,large_dir,^metadata_csum,casefold").details else {
            panic!("not ext4");
        };
        let expected = Ext4Features { large_dir: true, metadata_csum: false, ..Ext4Features::USUAL };
        assert_eq!((ext4.features.value, ext4.casefolded, ext4.encrypted), (expected, true, false));
        assert_eq!((ext4.features.basis.known, stated("ext4").block_bytes), (Known::Given, Some(4096)));
        assert_eq!((stated("xfs:block=64k").block_bytes, stated("zfs").block_bytes), (Some(65536), None));
    }

    #[test]
    fn invalid_values_get_one_line_with_a_suggestion() {
        for (text, words) in [
            ("exr4", "unknown file system 'exr4': did you mean 'ext4'?"),
            ("", "expected one of ext4, xfs"),
            ("ext4:large-dir", "did you mean 'large_dir'?"),
            ("ext4:bock=4k", "unknown option 'bock=4k' of ext4"),
            ("ext4:block", "did you mean 'block=SIZE'?"),
            ("ext4:^block=4k", "unknown option '^block=4k'"),
            ("ext4:block=3k", "no block size"),
            ("ext4:block=512", "1024 to 64k"),
            ("ext4:block=x", "'x' is not a size"),
            ("xfs:large_dir", "expected one of block=SIZE"),
            ("zfs:block=4k", "zfs has no options"),
            ("wafl:block=4k", "expected one of maxdirsize=SIZE"),
            ("wafl:maxdirsize=8g", "write 4k to 4g"),
            ("ext4:maxdirsize=8g", "unknown option 'maxdirsize=8g' of ext4"),
            ("ext4:large_dir,^large_dir", "'large_dir' is stated twice"),
        ] {
            let error = text.parse::<Stated>().unwrap_err();
            assert!(error.contains(words) && error.lines().count() == 1, "{text}: {error}");
        }
    }

    #[test]
    fn entries_of_wafl_follow_from_maxdirsize_and_the_size_of_the_directory() {
        let judged = |text: &str, entries: u64, directory_bytes: u64| {
            let mut facts = facts("32");
            facts.file_system = FileSystem::Nfs;
            facts.directory_bytes = directory_bytes;
            facts.entries.as_mut().unwrap().value = crate::limits::Span::exact(entries);
            stated(text).apply(&mut facts);
            Limits::judge(facts, false)
        };
        let few = judged("wafl", 100, 8192).judgement.capacity.unwrap();
        assert_eq!((few.value.low, few.value.high, few.basis.known), (4_000_000, 5_000_000, Known::Assumed));
        let twice = judged("wafl:maxdirsize=640m", 100, 8192).judgement.capacity.unwrap();
        assert_eq!((twice.value.low, twice.value.high), (8_000_000, 10_000_000));
        // A million entries of 100 bytes each: at least 3 355 443 fit, and no more than are documented.
        let many = judged("wafl:maxdirsize=320m", 1_000_000, 100_000_000);
        let capacity = many.judgement.capacity.as_ref().unwrap();
        assert_eq!((capacity.value.low, capacity.value.high), (3_355_443, 5_000_000));
        assert_eq!(many.judgement.gauge.as_ref().unwrap().full_bytes, 320 << 20);
        assert!(many.judgement.traps[0].text.contains("EFBIG"));
    }

    #[test]
    fn a_servers_directory_keeps_its_size_and_other_sizes_are_computed() {
        for seen in [FileSystem::Nfs, FileSystem::Tmpfs] {
            let mut facts = facts("32");
            facts.file_system = seen;
            facts.directory_bytes = 40 << 20;
            facts.entries.as_mut().unwrap().value = crate::limits::Span::exact(500_000);
            facts.space.block_bytes = 1 << 20;
            stated("ext4").apply(&mut facts);
            assert_eq!((facts.seen_as, facts.space.block_bytes), (Some(seen), 4096));
            let (bytes, capacity) = (facts.directory_bytes, Limits::judge(facts, false).judgement.capacity);
            let computed = 500_000.0 / capacity.unwrap().value.likely as f64;
            match seen {
                FileSystem::Nfs => assert_eq!(bytes, 40 << 20),
                // A directory of 500 000 names of 32 characters has about 30 MB of blocks.
                _ => assert!((20 << 20..60 << 20).contains(&bytes) && computed < 0.06, "{bytes} {computed}"),
            }
        }
    }
}
