//! Specification of a file system: `ext4`, `ext4:block=1k`, `xfs:ftype=0:block=1k`.
//!
//! A specification gives mkfs and mount their options, names the file system in plans, records and reports,
//! and estimates the space that an image needs. The order of the variants is part of the name, not of the
//! meaning.

use std::fmt;
use std::path::PathBuf;

use megadir::nearest::choices;

use crate::disk_spec::DiskSpec;
use crate::table::{Changes, Entry, FILE_SYSTEMS, Takes, Variant, size, sizes};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub entry: &'static Entry,
    chosen: Vec<Chosen>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Chosen {
    variant: &'static Variant,
    /// As typed; empty if the variant takes no value.
    typed: String,
    value: String,
}

impl Spec {
    /// Parses `NAME[:VARIANT[=VALUE]]...`. Errors: one line with the unknown word and the known ones.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let Some(entry) = FILE_SYSTEMS.iter().find(|entry| entry.name == name) else {
            let known = choices(name, FILE_SYSTEMS.iter().map(|entry| entry.name));
            return Err(format!("unknown file system '{name}': {known}"));
        };
        let mut spec = Self { entry, chosen: Vec::new() };
        for word in words {
            let chosen = choose(entry, word)?;
            spec.check_again(&chosen)?;
            spec.chosen.push(chosen);
        }
        Ok(spec)
    }

    /// A variant and its negation (`dir_index`, `^dir_index`) exclude each other, and so do two values of
    /// one variant. `mount` may be repeated with other options, since it stands for the whole list of
    /// mount(8).
    fn check_again(&self, new: &Chosen) -> Result<(), String> {
        let bare = |name: &'static str| name.trim_start_matches('^');
        let clashes = |old: &Chosen| match (old.variant.name, new.variant.name) {
            ("mount", "mount") => old.value == new.value,
            (old, new) => bare(old) == bare(new),
        };
        match self.chosen.iter().find(|old| clashes(old)) {
            Some(old) => Err(format!(
                "'{}': '{}' and '{}' exclude each other",
                self.entry.name,
                old.text(),
                new.text()
            )),
            None => Ok(()),
        }
    }

    /// mkfs program with its options; the caller appends the device. Empty for file systems without mkfs.
    pub fn make(&self) -> Vec<String> {
        let mut words: Vec<String> = self.entry.make.iter().map(|word| (*word).to_owned()).collect();
        let mut features = Vec::new();
        for chosen in &self.chosen {
            match chosen.variant.changes {
                Changes::Make(more) => {
                    words.extend(more.iter().map(|word| word.replace("{}", &chosen.value)));
                }
                Changes::Feature | Changes::Journal(_) => features.push(chosen.variant.name),
                Changes::Mount(_) => {}
            }
        }
        if !features.is_empty() {
            words.extend(["-O".to_owned(), features.join(",")]);
        }
        words
    }

    /// `noatime` unless another atime option was chosen, then the options of its variants.
    pub fn mount_options(&self) -> Vec<String> {
        let is_chosen = |name: &str| self.chosen.iter().any(|chosen| chosen.value == name);
        let noatime = (!is_chosen("relatime") && !is_chosen("strictatime")).then(|| "noatime".to_owned());
        let own = self.chosen.iter().filter_map(|chosen| match chosen.variant.changes {
            Changes::Mount(option) => Some(option.replace("{}", &chosen.value)),
            _ => None,
        });
        noatime.into_iter().chain(own).collect()
    }

    /// Name in tables, with the driver where it is another one: `ext2 (ext4 driver)`. A reader of a result
    /// must see that two formats were measured through one driver.
    pub fn label(&self, driver: &str) -> String {
        match driver == self.entry.name {
            true => self.to_string(),
            false => format!("{self} ({driver} driver)"),
        }
    }

    /// The driver avoids inodes freed minutes ago even across unmounts: only mkfs resets that state.
    pub fn remembers_removed(&self, driver: &str) -> bool {
        let journal = self.chosen.iter().find_map(|chosen| match chosen.variant.changes {
            Changes::Journal(there) => Some(there),
            _ => None,
        });
        self.entry.remembering_driver == Some(driver) && !journal.unwrap_or(self.entry.journal)
    }

    #[cfg(target_os = "linux")]
    pub fn needs(&self) -> Option<&'static str> {
        self.chosen.iter().find_map(|chosen| chosen.variant.needs)
    }

    /// `false` if a block or cluster is smaller than 4096 bytes, the sector of a zram device and of a loop
    /// device that does direct I/O to a disk with such sectors: a file system cannot have blocks smaller
    /// than its sectors.
    #[cfg(target_os = "linux")]
    pub fn takes_large_sectors(&self) -> bool {
        let small = |chosen: &Chosen| {
            ["block", "cluster"].contains(&chosen.variant.name)
                && chosen.value.parse::<u64>().is_ok_and(|bytes| bytes < 4096)
        };
        !self.chosen.iter().any(small)
    }

    /// Size of an image for this many inodes (files and directories) and bytes of allocated blocks, plus a quarter.
    pub fn image_bytes(&self, inodes: u64, space_bytes: u64) -> u64 {
        let for_inodes = inodes.saturating_mul(self.bytes_per_inode());
        let needed = for_inodes.max(self.taken_bytes(inodes, space_bytes));
        self.with_spare(needed).max(self.entry.smallest_bytes).next_multiple_of(1 << 20)
    }

    fn bytes_per_inode(&self) -> u64 {
        let chosen = self.chosen.iter().find(|chosen| chosen.variant.name == "inode_ratio");
        chosen.and_then(|chosen| chosen.value.parse().ok()).unwrap_or(self.entry.bytes_per_inode)
    }

    fn taken_bytes(&self, inodes: u64, space_bytes: u64) -> u64 {
        space_bytes.saturating_add(inodes.saturating_mul(self.entry.file_overhead_bytes))
    }

    /// Journals, tables and root's reserve are part of the smallest size, and grow with the whole.
    fn with_spare(&self, bytes: u64) -> u64 {
        bytes.saturating_add(bytes / 4).saturating_add(self.entry.smallest_bytes / 4)
    }

    /// Upper bound of the bytes written to an image; the rest stays a hole. On ext4 only inode tables (256 bytes an inode) and
    /// the journal (1/32 at most) are written. Other file systems, and inodes of other sizes, may write anywhere.
    pub fn written_bytes(&self, image_bytes: u64, inodes: u64, space_bytes: u64) -> u64 {
        if !self.entry.kind.starts_with("ext") || self.make().iter().any(|word| word == "-I") {
            return image_bytes;
        }
        let tables = image_bytes / self.bytes_per_inode().max(1) * 256 + image_bytes / 32;
        self.with_spare(self.taken_bytes(inodes, space_bytes)).saturating_add(tables).min(image_bytes)
    }

    /// Memory of a disk that compresses, for files whose contents do not compress: measured within 5 %, 10 % on btrfs (files of 0, 32, 1000,
    /// 10 000 and 20 000 bytes).
    pub fn packed_bytes(&self, inodes: u64, contents_bytes: u64) -> u64 {
        const FIXED_BYTES: u64 = 16 << 20;
        let is_inline = contents_bytes / inodes.max(1) <= self.entry.inline_bytes;
        let copies_percent = if is_inline { 250 } else { 105 };
        let contents = contents_bytes.saturating_mul(copies_percent) / 100;
        contents
            .saturating_add(inodes.saturating_mul(self.entry.packed_inode_bytes))
            .saturating_add(FIXED_BYTES)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        self.chosen.iter().try_for_each(|chosen| write!(f, ":{}", chosen.text()))
    }
}

impl Chosen {
    fn text(&self) -> String {
        match self.typed.is_empty() {
            true => self.variant.name.to_owned(),
            false => format!("{}={}", self.variant.name, self.typed),
        }
    }
}

fn choose(entry: &'static Entry, word: &str) -> Result<Chosen, String> {
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let Some(&variant) = entry.variants.iter().find(|variant| variant.name == name) else {
        let known = choices(name, entry.variants.iter().map(|variant| variant.name));
        return Err(format!("unknown variant '{name}' of '{}': {known}", entry.name));
    };
    let (typed, value) =
        of_value(variant, value).map_err(|wanted| format!("'{}:{word}': {wanted}", entry.name))?;
    Ok(Chosen { variant, typed, value })
}

/// The value as displayed and as programs take it; the error lists the allowed values.
fn of_value(variant: &Variant, value: Option<&str>) -> Result<(String, String), String> {
    let name = variant.name;
    match (variant.takes, value) {
        (Takes::Nothing, None) => Ok((String::new(), String::new())),
        (Takes::Nothing, Some(_)) => Err(format!("'{name}' takes no value")),
        (Takes::Bytes(allowed), value) => {
            let bytes = value.and_then(parse_size).filter(|bytes| allowed.contains(bytes));
            let bytes =
                bytes.ok_or_else(|| format!("'{name}=': expected one of {}", sizes(allowed).join(", ")))?;
            Ok((size(bytes), bytes.to_string()))
        }
        (Takes::Words(words), Some(word)) if words.contains(&word) => Ok((word.to_owned(), word.to_owned())),
        (Takes::Words(words), _) => Err(format!("'{name}=': expected one of {}", words.join(", "))),
        (Takes::MountOption, Some(option)) if is_option(option) => Ok((option.to_owned(), option.to_owned())),
        (Takes::MountOption, _) => {
            Err(format!("'{name}=': expected one option of mount(8), such as {name}=nodiratime"))
        }
    }
}

fn parse_size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1 << 10),
        None => (text, 1),
    };
    let plain = digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| plain)?.checked_mul(unit)
}

/// Options become items of a list.
fn is_option(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-=.+/".contains(&byte);
    !text.is_empty() && text.bytes().all(plain)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backing {
    /// On a disk made for it, or in memory.
    Image {
        bytes: u64,
        /// This much must be free, see [`Spec::written_bytes`](super::Spec::written_bytes), of the directory or the memory that `disk` is made of.
        written_bytes: u64,
        disk: DiskSpec,
    },
    Device {
        path: PathBuf,
        erase: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::Spec;

    fn parse(text: &str) -> Spec {
        Spec::parse(text).unwrap()
    }

    #[test]
    fn variants_become_options_of_the_program_that_makes_it() {
        let line = |text| parse(text).make().join(" ");
        let plain = line("ext4");
        assert_eq!(plain, "mke2fs -q -F -t ext4 -L megadir-lab -E lazy_itable_init=0,lazy_journal_init=0");
        assert_eq!(line("ext4:block=1k"), format!("{plain} -b 1024"));
        assert_eq!(
            line("ext4:large_dir:^has_journal:inode=128"),
            format!("{plain} -I 128 -O large_dir,^has_journal")
        );
        assert_eq!(line("ext4:inode_ratio=4k"), format!("{plain} -i 4096"));
        assert_eq!(line("xfs:ftype=0"), format!("{} -m crc=0 -n ftype=0", line("xfs")));
        assert_eq!(line("xfs:dirblock=16384"), format!("{} -n size=16384", line("xfs")));
        assert_eq!(line("btrfs:nodatacow"), line("btrfs"));
        assert_eq!(line("tmpfs"), "");
    }

    #[test]
    fn mount_options_are_noatime_and_the_requested_ones() {
        assert_eq!(parse("ext4").mount_options(), ["noatime"]);
        assert_eq!(
            parse("btrfs:nodatacow:mount=compress=zstd").mount_options(),
            ["noatime", "nodatacow", "compress=zstd"]
        );
    }

    #[test]
    fn specification_prints_as_parsed() {
        for text in ["ext4", "ext4:block=1k:^dir_index", "xfs:inode=512", "btrfs:mount=ssd:mount=nodiratime"]
        {
            assert_eq!(parse(text).to_string(), text);
        }
        assert_eq!(parse("ext4:block=4096").to_string(), "ext4:block=4k");
        assert_eq!(parse("ext4:block=4096"), parse("ext4:block=4k"));
        assert_ne!(parse("ext4:block=4096"), parse("ext4"));
        assert_eq!(parse("ext2:block=1k").label("ext4"), "ext2:block=1k (ext4 driver)");
        assert_eq!(parse("xfs").label("xfs"), "xfs");
    }

    #[test]
    fn one_driver_keeps_removed_names_without_a_journal() {
        for (text, driver, remembers) in [
            ("ext2", "ext4", true),
            ("ext2:block=1k", "ext4", true),
            ("ext2", "ext2", false),
            ("ext3", "ext4", false),
            ("ext4", "ext4", false),
            ("ext4:has_journal", "ext4", false),
            ("ext4:block=1k:^has_journal", "ext4", true),
            ("xfs", "xfs", false),
            ("tmpfs", "tmpfs", false),
        ] {
            assert_eq!(parse(text).remembers_removed(driver), remembers, "{text} by {driver}");
        }
    }

    #[test]
    fn unknown_names_are_refused_in_one_line_with_the_nearest() {
        for (text, message) in [
            ("", "unknown file system '': expected one of ext2, ext3, ext4,"),
            ("etx4", "unknown file system 'etx4': did you mean 'ext4'? expected one of ext2,"),
            (
                "ext4:large_dri",
                "unknown variant 'large_dri' of 'ext4': did you mean 'large_dir'? expected one of block,",
            ),
            ("ext4:", "unknown variant '' of 'ext4': expected one of block,"),
            ("tmpfs:block=1k", "unknown variant 'block' of 'tmpfs': expected one of mount"),
            ("ext4:block", "'ext4:block': 'block=': expected one of 1k, 2k, 4k,"),
            ("ext4:block=3k", "'ext4:block=3k': 'block=': expected one of 1k,"),
            (
                "ext4:block=18014398509481985k",
                "'ext4:block=18014398509481985k': 'block=': expected one of 1k,",
            ),
            ("ext4:block=+1k", "'ext4:block=+1k': 'block=': expected one of 1k,"),
            ("xfs:ftype=1", "'xfs:ftype=1': 'ftype=': expected one of 0"),
            ("ext4:large_dir=1", "'ext4:large_dir=1': 'large_dir' takes no value"),
            ("ext4:dir_index:^dir_index", "'ext4': 'dir_index' and '^dir_index' exclude each other"),
            ("ext4:block=1k:block=2k", "'ext4': 'block=1k' and 'block=2k' exclude each other"),
            ("ext4:mount=a b", "'ext4:mount=a b': 'mount=': expected one option of mount(8)"),
        ] {
            let error = Spec::parse(text).unwrap_err();
            assert!(error.starts_with(message), "{text}: {error}");
            assert!(!error.contains('\n'));
        }
    }

    #[test]
    fn images_have_room_for_inodes_and_for_content() {
        assert_eq!(parse("ext4").image_bytes(10, 4096), 1 << 30);
        // A million empty files need a million inodes; ext4 has one inode per 16 KiB.
        assert!(parse("ext4").image_bytes(1_000_000, 0) >= 16_384_000_000);
        assert!(parse("ext4:inode_ratio=4k").image_bytes(1_000_000, 0) < 6 << 30);
        assert!(parse("xfs").image_bytes(1_000_000, 0) < 4 << 30);
        assert!(parse("xfs").image_bytes(10, 10 << 30) > 12 << 30);
    }

    #[test]
    fn of_an_image_for_many_small_files_little_is_written() {
        let (ext4, inodes, space_bytes) = (parse("ext4"), 1_000_000, 600 << 20);
        let image_bytes = ext4.image_bytes(inodes, space_bytes);
        let written_bytes = ext4.written_bytes(image_bytes, inodes, space_bytes);
        assert!(written_bytes < image_bytes / 5, "{written_bytes} of {image_bytes}");
        // Inode tables and the requested content.
        assert!(written_bytes > image_bytes / 64 + space_bytes);
        let dense = parse("ext4:inode_ratio=4k");
        assert!(dense.written_bytes(40 << 30, inodes, space_bytes) < 8 << 30);
        assert_eq!(ext4.written_bytes(1 << 30, 10, 10 << 30), 1 << 30);
        let f2fs = parse("f2fs");
        assert_eq!(f2fs.written_bytes(1 << 30, 10, 4096), 1 << 30);
        assert_eq!(parse("ext4:inode=1024").written_bytes(1 << 40, 10, 4096), 1 << 40);
    }
}
