//! Value parsers for the options of `megadir list`, partly shared with other commands.

use std::num::NonZeroU32;

use megadir::{
    BUFFER_BYTES_MAX, BUFFER_BYTES_MIN, Backend, FileType, ReadAhead, StatBackend, THREADS_MAX,
    attribute_policy,
};

use crate::parse;

const TOP_MAX: u64 = 1_000_000;

pub(in crate::cmd) fn top(text: &str) -> Result<usize, String> {
    match parse::count(text)? {
        places @ ..=TOP_MAX => Ok(places as usize),
        _ => Err("too many: each takes its path in memory (write 1M or fewer)".into()),
    }
}

pub(in crate::cmd) fn rate(text: &str) -> Result<NonZeroU32, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    let rate = parse::count(number).ok().map(|rate| u32::try_from(rate).unwrap_or(u32::MAX));
    rate.and_then(NonZeroU32::new)
        .ok_or_else(|| "expected entries per second, 1/s or more, such as 500/s or 10k/s".to_owned())
}

pub(in crate::cmd) fn memory(text: &str) -> Result<usize, String> {
    match parse::bytes(text)? {
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

/// Words of --read-ahead.
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
    /// Have the device read a directory's blocks before they are listed (root; ext2 to ext4) [default: auto]
    ///
    /// The entries are the same. ext4 lists a directory in the order of its index, so that an uncached directory waits for one block after
    /// the other.
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

pub(in crate::cmd) fn buffer(text: &str) -> Result<usize, String> {
    let range = || format!("write {}KiB to {}MiB", BUFFER_BYTES_MIN >> 10, BUFFER_BYTES_MAX >> 20);
    match parse::bytes(text)? {
        bytes if bytes < BUFFER_BYTES_MIN as u64 => {
            Err(format!("too small ({}; one name of 255 bytes alone takes 280 bytes)", range()))
        }
        bytes if bytes > BUFFER_BYTES_MAX as u64 => Err(format!("too large ({})", range())),
        bytes => Ok(bytes as usize),
    }
}

pub(in crate::cmd) fn backend(text: &str) -> Result<&'static dyn Backend, String> {
    megadir::backend(text).map_err(|error| {
        let reason = error.reason();
        // The prefix already contains the name.
        reason.strip_prefix(&format!("unknown backend '{text}': ")).unwrap_or(&reason).to_owned()
    })
}

pub(in crate::cmd) fn stat_backend(text: &str) -> Result<&'static dyn StatBackend, String> {
    megadir::stat_backend(text).map_err(|error| {
        let reason = error.reason();
        // The prefix already contains the name.
        reason.strip_prefix(&format!("unknown stat backend '{text}': ")).unwrap_or(&reason).to_owned()
    })
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
            true => (&mut limits.bytes, parse::bytes(part)?),
            false => (&mut limits.entries, parse::count(part)?),
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

/// `--stat-backend` or `--fresh`.
pub(in crate::cmd) fn asked_backend(
    named: Option<&'static dyn StatBackend>,
    fresh: bool,
) -> megadir::Result<Option<&'static dyn StatBackend>> {
    if fresh { attribute_policy::fresh().map(Some) } else { Ok(named) }
}

#[cfg(test)]
mod tests {
    use super::{buffer, file_type, threads};

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
}
