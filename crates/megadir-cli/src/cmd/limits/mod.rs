//! `megadir limits`: how many more entries fit, which limit comes first, and what to do.

mod formats;
pub(super) mod text;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use megadir::limits::{Assumptions, Limit, Limits, NameLengths, Stated, limits};
use megadir::{Dir, Time};

use crate::cmd::amount::{self, interval};
use crate::cmd::interrupt::{Interrupt, interruptible};
use crate::cmd::progress::Progress;
use crate::cmd::prometheus::{Metrics, Prometheus, Textfile};
use crate::cmd::times::{TimeStyle, now_s};
use crate::cmd::values;
use crate::exit::{self, CliError};
use crate::ui::message::quoted;
use crate::ui::output::{Ended, Output};

const NAP: Duration = Duration::from_millis(100);

/// Show how many more entries fit, and which limit comes first
///
/// Writes nothing and needs no write permission. The cost does not depend on the size of the directory: entries are estimated, and names are sampled.
/// Every number comes with its basis (measured, read from the file system, given by an option, or assumed) and its bounds in brackets.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done; 1 some directories could not be checked; 2 usage; 3 none could be checked; 10 --warn-at was reached; \
130 --watch was interrupted.")]
pub(crate) struct Args {
    /// Directories to check
    #[arg(value_name = "DIR", default_value = ".", value_parser = exit::directory_parser())]
    directories: Vec<PathBuf>,

    /// Lengths of the names to come, bytes: 32, 8-64, 8,32,255 (in equal shares) or 8:60,32:40
    ///
    /// Default: the lengths of the first entries present; 32 in an empty directory.
    #[arg(long, value_name = "LENGTHS", help_heading = "Entries to come")]
    name_length: Option<NameLengths>,
    /// Assume entries like those in this directory
    #[arg(long, value_name = "DIR", value_parser = exit::directory_parser(), help_heading = "Entries to come")]
    like: Option<PathBuf>,
    /// Content size of each entry to come, e.g. 0, 10 or 50kB [default: sampled]
    #[arg(long, alias = "sizes", value_name = "SIZE", value_parser = values::bytes, help_heading = "Entries to come")]
    size: Option<u64>,
    /// Assume that the entries to come are directories, whose number the link count may limit
    #[arg(long = "directories", conflicts_with = "size", help_heading = "Entries to come")]
    are_directories: bool,
    /// Assume that names come and go, as in a cache or a mail queue, instead of staying
    #[arg(long, help_heading = "Entries to come")]
    churn: bool,

    /// Assume that DIR is on this file system, such as the server's behind NFS or Lustre: ext4:block=4k,large_dir or xfs
    ///
    /// A name (ext4, xfs, btrfs, tmpfs, vfat, exfat, ntfs, zfs, wafl), then options: block=SIZE (of ext4, and directory blocks
    /// of xfs), maxdirsize=SIZE of wafl, and of ext4 dir_index, large_dir, metadata_csum, dir_nlink, casefold and encrypt, each as mke2fs sets it
    /// unless named, and ^large_dir etc. without it. Entries, names, blocks and inodes are those that the client sees.
    #[arg(long = "as", value_name = "FS")]
    stated: Option<Stated>,
    /// Count the entries instead of estimating; reads the whole directory
    #[arg(long)]
    count: bool,
    /// Print one JSON object per directory
    ///
    /// Fields: v (format version, 1), dir, entries_until_full, subdirectories_until_full, runs_out_first, limits, traps and others, each with its basis.
    #[arg(long)]
    json: bool,
    /// On a terminal, print every hazard and remedy, and all evidence, even if they do not fit 25 lines
    #[arg(short, long, conflicts_with_all = ["json", "quiet", "watch"])]
    verbose: bool,
    /// Exit with code 10 if this share of any limit is used, e.g. 80%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    warn_at: Option<f64>,
    /// Print only errors and limits that reached --warn-at
    #[arg(short, long, requires = "warn_at", conflicts_with = "json")]
    pub(super) quiet: bool,
    /// Repeat every INTERVAL, one line each time [default: 60s]
    ///
    /// Ends when --warn-at is reached, if given.
    #[arg(long, value_name = "INTERVAL", num_args = 0..=1, require_equals = true, default_missing_value = "60s")]
    #[arg(value_parser = interval_s)]
    watch: Option<u64>,
    #[command(flatten)]
    prometheus: Prometheus,
}

impl Args {
    pub(super) fn writes(&self) -> bool {
        self.prometheus.is_given()
    }
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    // An unreadable example directory fails at once, even with --watch.
    let like = args.like.as_ref().map(Dir::open).transpose()?;
    let assumptions = Assumptions {
        names: args.name_length.as_ref(),
        like: like.as_ref(),
        contents_bytes: args.size,
        directories: args.are_directories,
        churn: args.churn,
        count: args.count,
        stated: args.stated.as_ref(),
    };
    match args.watch {
        Some(seconds) => {
            let every = Duration::from_secs(seconds);
            interruptible(|interrupt| watch(args, &assumptions, every, interrupt))
        }
        None => once(args, &assumptions),
    }
}

fn once(args: &Args, assumptions: &Assumptions<'_>) -> Result<u8, CliError> {
    let _mentioned = Progress::without_number(args.quiet);
    let mut pass = Pass::new(args)?;
    let mut output = if args.quiet { None } else { Some(Output::new()?) };
    let is_terminal = output.as_ref().is_some_and(Output::is_terminal);
    let mut is_first = true;
    let write = |text: &mut Vec<u8>, limits: &Limits| {
        if args.json {
            return formats::json(text, limits, None);
        }
        if !is_first {
            text.push(b'\n');
        }
        is_first = false;
        text::write(text, limits, args, is_terminal);
    };
    pass.check_all(&args.directories, assumptions, output.as_mut(), || {}, write);
    pass.end()
}

/// Each pass looks at all directories and writes its metrics at its end. The next pass is due a fixed time after the
/// last one was due, not after its end; a pass that took longer is followed at once, without catching up. The wait is
/// divided into naps, because an interrupt must be noticed. The loop ends at the threshold, at a closed output, or if
/// no directory was ever readable, which is probably a wrong path.
fn watch(
    args: &Args,
    assumptions: &Assumptions<'_>,
    every: Duration,
    interrupt: &Interrupt,
) -> Result<u8, CliError> {
    let mut output = if args.quiet { None } else { Some(Output::new()?) };
    let mut next = Instant::now();
    let mut ever_seen = false;
    loop {
        let mut pass = Pass::new(args)?;
        let write = |text: &mut Vec<u8>, limits: &Limits| {
            let time = TimeStyle::IsoSeconds.text(Time { seconds: now_s(), nanoseconds: 0 });
            match args.json {
                true => formats::json(text, limits, Some(&time)),
                false => text.extend_from_slice(line(&time, limits).as_bytes()),
            }
        };
        pass.check_all(&args.directories, assumptions, output.as_mut(), || interrupt.beats(), write);
        ever_seen |= pass.seen > 0;
        // A directory that was never readable ends the loop; one that vanishes may return.
        let is_last = pass.reached || !ever_seen || pass.ended.is_some();
        let code = pass.end()?;
        if is_last {
            return Ok(code);
        }
        next = (next + every).max(Instant::now());
        while Instant::now() < next {
            if interrupt.is_requested() {
                return Ok(exit::INTERRUPTED);
            }
            interrupt.beats();
            std::thread::sleep(NAP.min(next.saturating_duration_since(Instant::now())));
        }
    }
}

fn line(time: &str, limits: &Limits) -> String {
    let place = quoted(&limits.facts.path);
    let most = limits.most_used();
    let used = most
        .map_or_else(String::new, |most| format!("  {} of {} used", amount::percent(most.used), most.limit));
    let more = match (limits.entries_until_full(), limits.runs_out_first()) {
        (_, Some(Limit::ReadOnly)) => return format!("{time}  {place}  mounted read-only\n"),
        (Some(more), Some(limit)) => format!("  {} more entries, then {limit}", interval(more)),
        _ => "  no known limit".into(),
    };
    format!("{time}  {place}{used}{more}\n")
}

/// Result of one look at all directories. `seen` counts the directories that could be read, `failed` has
/// the exit code of a failure, `reached` is set if a directory is at the threshold, and `ended` if the
/// output ended. Metrics are completed even then, because another program reads them.
struct Pass {
    warn_at: Option<f64>,
    metrics: Option<(Textfile, Metrics)>,
    seen: usize,
    failed: Option<u8>,
    reached: bool,
    ended: Option<Ended>,
}

impl Pass {
    fn new(args: &Args) -> Result<Self, CliError> {
        let metrics = args.prometheus.prepare()?.map(|file| (file, Metrics::default()));
        Ok(Self { warn_at: args.warn_at, metrics, seen: 0, failed: None, reached: false, ended: None })
    }

    /// Calls `before` for each directory. If no one reads the output any more, only the metrics are completed.
    fn check_all(
        &mut self,
        paths: &[PathBuf],
        assumptions: &Assumptions<'_>,
        mut output: Option<&mut Output>,
        before: impl Fn(),
        mut write: impl FnMut(&mut Vec<u8>, &Limits),
    ) {
        for path in paths {
            before();
            if self.ended.is_some() && self.metrics.is_none() {
                return;
            }
            let Some(limits) = self.check(path, assumptions) else { continue };
            if self.ended.is_none()
                && let Some(output) = &mut output
            {
                write(&mut output.text, &limits);
                self.ended = output.flush().err();
            }
        }
    }

    fn check(&mut self, path: &Path, assumptions: &Assumptions<'_>) -> Option<Limits> {
        let checked = Dir::open(path).and_then(|directory| limits(&directory, assumptions));
        if let Some((_, metrics)) = &mut self.metrics {
            formats::add_to(metrics, path, checked.as_ref().ok(), self.warn_at);
        }
        match checked {
            Ok(limits) => {
                self.seen += 1;
                self.warn(path, &limits);
                Some(limits)
            }
            Err(error) => {
                let error = CliError::from(error);
                eprintln!("megadir: {error}");
                self.failed = Some(error.code);
                None
            }
        }
    }

    fn warn(&mut self, path: &Path, limits: &Limits) {
        let (Some(warn_at), Some(most)) = (self.warn_at, limits.most_used()) else { return };
        if most.limit == Limit::ReadOnly {
            eprintln!("megadir: {}: mounted read-only, nothing can be created (--warn-at)", quoted(path));
            self.reached = true;
        } else if most.used >= warn_at {
            let (used, at) = (100.0 * most.used, 100.0 * warn_at);
            eprintln!("megadir: {}: {:.1} % of {} used (--warn-at {at:.0}%)", quoted(path), used, most.limit);
            self.reached = true;
        }
    }

    fn end(self) -> Result<u8, CliError> {
        if let Some((file, metrics)) = self.metrics {
            file.write(&metrics)?;
        }
        if let Some(ended) = self.ended {
            return ended.code();
        }
        Ok(match self.failed {
            _ if self.reached => exit::CONDITION_MET,
            Some(code) if self.seen == 0 => code,
            Some(_) => exit::SOME_FAILED,
            None => exit::DONE,
        })
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    let percent = number.filter(|percent| *percent > 0.0 && *percent <= 100.0);
    let expected = || "expected a share above 0 % and up to 100 %, e.g. 80%".to_owned();
    percent.map(|percent| percent / 100.0).ok_or_else(expected)
}

fn interval_s(text: &str) -> Result<u64, String> {
    match values::age_s(text) {
        Ok(0) | Err(_) => Err("expected an interval such as 10s, 5m or 1h".into()),
        seconds => seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::{interval_s, percent};

    #[test]
    fn shares_and_intervals_are_parsed_or_refused() {
        assert_eq!((percent("80%"), percent(" 12.5 % "), percent("100")), (Ok(0.8), Ok(0.125), Ok(1.0)));
        for bad in ["0", "101%", "-1", "x", "", "%", "NaN", "inf"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
        assert_eq!((interval_s("10s"), interval_s("2m")), (Ok(10), Ok(120)));
        assert!(interval_s("0s").is_err() && interval_s("10").is_err());
    }
}
