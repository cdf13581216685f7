//! Value parsers for options: counts, sizes, ages and interval widths, and values that several commands take.

use std::num::NonZeroU32;

use megadir::{
    BUFFER_BYTES_MAX, BUFFER_BYTES_MIN, Backend, FileType, ReadAhead, StatBackend, THREADS_MAX,
    attribute_policy,
};
use megadir_bench::dataset::{CONTENTS, SIZE_LAWS};
use megadir_bench::plan::{AgedBy, HalfWidth};

pub(in crate::cmd) use megadir::quantity::{age_s, bytes, count, kib_per_second as read_rate};

const TOP_MAX: u64 = 1_000_000;

pub(in crate::cmd) fn top(text: &str) -> Result<usize, String> {
    match count(text)? {
        places @ ..=TOP_MAX => Ok(places as usize),
        _ => Err("too many: each takes its path in memory (write 1M or fewer)".into()),
    }
}

pub(in crate::cmd) fn rate(text: &str) -> Result<NonZeroU32, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    let rate = count(number).ok().map(|rate| u32::try_from(rate).unwrap_or(u32::MAX));
    rate.and_then(NonZeroU32::new)
        .ok_or_else(|| "expected entries per second, 1/s or more, such as 500/s or 10k/s".to_owned())
}

pub(in crate::cmd) fn memory(text: &str) -> Result<usize, String> {
    match bytes(text)? {
        bytes if bytes < 1 << 20 => Err("too small (write 1MiB or more)".into()),
        bytes => usize::try_from(bytes).map_err(|_| "more than this machine can address".into()),
    }
}

pub(in crate::cmd) fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=THREADS_MAX) => Ok(threads),
        _ => Err(format!("write a number from 1 to {THREADS_MAX}")),
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ReadAheadWord {
    /// Directories of 4 MiB or more that are mostly uncached, if the device may be read
    Auto,
    Never,
    /// All directories of more than one buffer; refused where it is impossible
    Always,
}

/// Option --read-ahead of the commands that read directories.
#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct ReadAheadOption {
    /// Read a directory's blocks ahead from the device (root; ext2, ext3, ext4) [default: auto]
    ///
    /// The entries are the same. ext4 lists a directory in the order of its index, so that an uncached directory waits for one block after the other.
    #[arg(long, value_name = "WHEN", value_enum, help_heading = "Reading")]
    read_ahead: Option<ReadAheadWord>,
}

impl ReadAheadOption {
    pub(in crate::cmd) fn is_given(&self) -> bool {
        self.read_ahead.is_some()
    }

    pub(in crate::cmd) fn choice(&self) -> ReadAhead {
        match self.read_ahead {
            Some(ReadAheadWord::Auto) | None => ReadAhead::Auto,
            Some(ReadAheadWord::Never) => ReadAhead::Never,
            Some(ReadAheadWord::Always) => ReadAhead::Always,
        }
    }
}

/// Options of the commands that read attributes of whole trees.
#[derive(clap::Args)]
pub(in crate::cmd) struct Readers {
    #[command(flatten)]
    pub(in crate::cmd) read_ahead: ReadAheadOption,
    /// Number of threads, 1 to 256 [default: one per processor, up to 8; 32 on FUSE]
    ///
    /// By default, up to 8 threads (4 per processor) read a tree on ext4, XFS or btrfs while it is not cached.
    #[arg(short = 'j', long, value_name = "N", value_parser = threads, help_heading = "Reading")]
    pub(in crate::cmd) threads: Option<usize>,
    /// Stat backend that queries attributes ('megadir backends' lists them) [default: by file system]
    #[arg(long, alias = "examiner", value_name = "NAME", value_parser = stat_backend, help_heading = "Reading")]
    pub(in crate::cmd) stat_backend: Option<&'static dyn StatBackend>,
    /// Ask the server of a network file system for attributes, not the cache of this machine
    #[arg(long, conflicts_with = "stat_backend", help_heading = "Reading")]
    pub(in crate::cmd) fresh: bool,
}

impl Readers {
    /// `--stat-backend` or `--fresh`.
    pub(in crate::cmd) fn stat_backend(&self) -> megadir::Result<Option<&'static dyn StatBackend>> {
        if self.fresh { attribute_policy::fresh().map(Some) } else { Ok(self.stat_backend) }
    }
}

pub(in crate::cmd) fn buffer(text: &str) -> Result<usize, String> {
    let range = || format!("write {}KiB to {}MiB", BUFFER_BYTES_MIN >> 10, BUFFER_BYTES_MAX >> 20);
    match bytes(text)? {
        bytes if bytes < BUFFER_BYTES_MIN as u64 => {
            Err(format!("too small ({}; one name of 255 bytes alone takes 280 bytes)", range()))
        }
        bytes if bytes > BUFFER_BYTES_MAX as u64 => Err(format!("too large ({})", range())),
        bytes => Ok(bytes as usize),
    }
}

pub(in crate::cmd) fn backend(text: &str) -> Result<&'static dyn Backend, String> {
    known(megadir::backend(text), &format!("unknown backend '{text}': "))
}

/// The message of an unknown value already contains its name.
fn known<T>(found: megadir::Result<T>, prefix: &str) -> Result<T, String> {
    found.map_err(|error| {
        let reason = error.reason();
        reason.strip_prefix(prefix).unwrap_or(&reason).to_owned()
    })
}

pub(in crate::cmd) fn stat_backend(text: &str) -> Result<&'static dyn StatBackend, String> {
    known(megadir::stat_backend(text), &format!("unknown stat backend '{text}': "))
}

pub(in crate::cmd) fn file_type(text: &str) -> Result<FileType, String> {
    FileType::from_name(text).ok_or_else(|| {
        let known: Vec<_> = FileType::names().collect();
        format!("expected one of {}, or its letter", known.join(", "))
    })
}

#[cfg(unix)]
pub(in crate::cmd) use megadir_inventory::ListLimits;

#[cfg(not(unix))]
#[derive(Clone, Copy, Debug)]
pub(in crate::cmd) enum ListLimits {}

#[cfg(unix)]
pub(in crate::cmd) fn list_limits(text: &str) -> Result<ListLimits, String> {
    let mut limits = ListLimits { entries: None, bytes: None };
    for part in text.split(',') {
        let (limit, parsed) = match part.ends_with('B') {
            true => (&mut limits.bytes, bytes(part)?),
            false => (&mut limits.entries, count(part)?),
        };
        if parsed == 0 || limit.replace(parsed).is_some() {
            return Err("expected a number of entries, a size or both, each above 0: 100k,100GB".to_owned());
        }
    }
    Ok(limits)
}

#[cfg(not(unix))]
pub(in crate::cmd) fn list_limits(_text: &str) -> Result<ListLimits, String> {
    Err("lists can only be written on Linux and other Unix systems".to_owned())
}

/// `500k`, or a multiple such as `10x`.
pub(in crate::cmd) fn aged(text: &str) -> Result<AgedBy, String> {
    match text.strip_suffix('x') {
        None => count(text).map(AgedBy::Files),
        Some(times) => {
            let times = times.parse().ok().filter(|times| *times > 0);
            times
                .map(AgedBy::Times)
                .ok_or_else(|| format!("'{text}' is not a multiple: write 10x, or a number such as 500k"))
        }
    }
}

/// `1%` of a ratio; `5ns`, `0.2us` or `1ms` of a time difference.
pub(in crate::cmd) fn width(text: &str) -> Result<HalfWidth, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let value = number.parse::<f64>().ok().filter(|value| *value > 0.0);
    match (value, unit.trim_start()) {
        (Some(value), "%") => Ok(HalfWidth::Fraction(value / 100.0)),
        (Some(value), "ns") => Ok(HalfWidth::Absolute(value)),
        (Some(value), "us") => Ok(HalfWidth::Absolute(1e3 * value)),
        (Some(value), "ms") => Ok(HalfWidth::Absolute(1e6 * value)),
        _ => Err(format!("'{text}' is not a width: write 1% (of a ratio) or 5ns, 0.2us (of a difference)")),
    }
}

pub(in crate::cmd) fn sizes_help() -> String {
    let lines = SIZE_LAWS.iter().map(|(form, about)| format!("{form:<24} {about}"));
    format!("Distribution of file sizes.\n\n{}", lines.collect::<Vec<_>>().join("\n"))
}

pub(in crate::cmd) fn content_help() -> String {
    let lines = CONTENTS.iter().map(|(name, _, about)| format!("{name:<14} {about}"));
    format!("Content of the files.\n\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{AgedBy, HalfWidth, aged, buffer, file_type, threads, width};

    #[test]
    fn values_out_of_range_are_refused() {
        assert_eq!(buffer("4KiB"), Ok(4096));
        assert_eq!(buffer("16MiB"), Ok(16 << 20));
        for text in ["0", "4095", "16777217", "1e3", "18446744073709551615"] {
            assert!(buffer(text).is_err(), "{text}");
        }
        assert_eq!(threads("256"), Ok(256));
        for text in ["0", "257", "-1", "two", ""] {
            assert!(threads(text).is_err(), "{text}");
        }
        assert!(file_type("").is_err() && file_type("flie").is_err());
    }

    #[test]
    fn ages_are_counts_or_multiples() {
        assert_eq!(aged("500k"), Ok(AgedBy::Files(500_000)));
        assert_eq!(aged("10x"), Ok(AgedBy::Times(10)));
        for text in ["", "x", "0x", "-1x", "1.5x", "many"] {
            assert!(aged(text).is_err(), "{text}");
        }
    }

    #[test]
    fn widths_have_a_unit() {
        assert_eq!(width("0.5%"), Ok(HalfWidth::Fraction(0.005)));
        assert_eq!(width("5ns"), Ok(HalfWidth::Absolute(5.0)));
        assert_eq!(width("0.2 us"), Ok(HalfWidth::Absolute(200.0)));
        for text in ["", "5", "0%", "-1%", "%", "5s", "1.2.3ns"] {
            assert!(width(text).is_err(), "{text}");
        }
    }
}
