//! `megadir limits`: how many entries still fit a directory, what runs out first, and what can be done about it.

pub(super) mod amount;
mod json;
pub(super) mod text;
mod watch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use megadir::Dir;
use megadir::limits::{Asked, Limits, NameLengths, limits};

use crate::exit::{self, CliError};
use crate::parse;
use crate::ui::message::quoted;
use crate::ui::output::Output;

/// Tells how many entries still fit a directory before creating one fails, what runs out first, and what can be done.
///
/// Nothing is written, and permission to write is not needed. The cost does not grow with the directory: entries are
/// estimated and the names of some of them looked at. Every figure comes with what it is based on: measured, read from the
/// file system, given by an option, or assumed; and with bounds in brackets.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done; 1 some directories could not be looked at; 2 usage; 3 none could be; 10 --warn-at was reached.")]
pub(crate) struct Args {
    /// The directories to look at.
    #[arg(value_name = "DIR", default_value = ".", value_parser = exit::directory_parser())]
    directories: Vec<PathBuf>,

    /// How long the names of further entries are, bytes: 32, 8-64, 8,32,255 (in equal parts) or 8:60,32:40.
    ///
    /// Without it they are taken to be like the first entries present; 32 bytes in an empty directory.
    #[arg(long, value_name = "LENGTHS", help_heading = "Entries to come")]
    name_length: Option<NameLengths>,
    /// Further entries are like those of this directory.
    #[arg(long, value_name = "DIR", value_parser = exit::directory_parser(), help_heading = "Entries to come")]
    like: Option<PathBuf>,
    /// The size of each further entry's contents, e.g. 0, 10 or 50kB; without it, as some of those present.
    #[arg(long, value_name = "SIZE", value_parser = parse::bytes, help_heading = "Entries to come")]
    size: Option<u64>,
    /// Names come and go (a cache, a mail queue, temporary files that are renamed) instead of staying.
    #[arg(long, help_heading = "Entries to come")]
    churn: bool,

    /// Count the entries instead of estimating them, which reads the whole directory.
    #[arg(long)]
    count: bool,
    /// Print a JSON object a line: v (1), dir, entries_until_full, runs_out_first, limits, traps and what they are based on.
    #[arg(long)]
    json: bool,
    /// End with exit code 10 when this much of any limit is used, e.g. 80%.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    warn_at: Option<f64>,
    /// Print nothing but errors and what has reached --warn-at, e.g. for cron.
    #[arg(short, long, requires = "warn_at", conflicts_with = "json")]
    pub(super) quiet: bool,
    /// Look again and again, every 60 s or e.g. --watch=15m, a line a look; until --warn-at is reached, if given.
    #[arg(long, value_name = "INTERVAL", num_args = 0..=1, require_equals = true, default_missing_value = "60s")]
    #[arg(value_parser = interval_s)]
    watch: Option<u64>,
}

/// Looks at the directories, once or until something happens.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    // A directory that cannot be taken as the example is no matter of one look.
    let like = args.like.as_ref().map(Dir::open).transpose()?;
    let asked = Asked {
        names: args.name_length.as_ref(),
        like: like.as_ref(),
        contents_bytes: args.size,
        churn: args.churn,
        count: args.count,
    };
    match args.watch {
        Some(seconds) => watch::watch(args, &asked, Duration::from_secs(seconds)),
        None => once(args, &asked),
    }
}

/// Prints all there is to know of each directory.
fn once(args: &Args, asked: &Asked<'_>) -> Result<u8, CliError> {
    let mut looked = Looked::new(args);
    if args.quiet {
        for path in &args.directories {
            looked.at(path, asked);
        }
        return looked.code();
    }
    let mut output = Output::new()?;
    let look = text::Look::new(output.is_terminal());
    for (index, path) in args.directories.iter().enumerate() {
        let Some(limits) = looked.at(path, asked) else { continue };
        if args.json {
            json::object(&mut output.text, &limits, None);
        } else {
            if index > 0 && looked.seen > 1 {
                output.text.push(b'\n');
            }
            look.report(&mut output.text, &limits, args.churn);
        }
        if let Err(ended) = output.flush() {
            return ended.code();
        }
    }
    looked.code()
}

/// What the looks have come to.
struct Looked {
    warn_at: Option<f64>,
    seen: usize,
    failed: Option<u8>,
    reached: bool,
}

impl Looked {
    fn new(args: &Args) -> Self {
        Self { warn_at: args.warn_at, seen: 0, failed: None, reached: false }
    }

    /// Looks at a directory; complains and returns `None` if that cannot be done.
    fn at(&mut self, path: &Path, asked: &Asked<'_>) -> Option<Limits> {
        match Dir::open(path).and_then(|directory| limits(&directory, asked)) {
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

    /// Tells whether the condition asked for is met.
    fn warn(&mut self, path: &Path, limits: &Limits) {
        let (Some(warn_at), Some(most)) = (self.warn_at, limits.most_used()) else { return };
        if most.used >= warn_at {
            let (used, at) = (100.0 * most.used, 100.0 * warn_at);
            eprintln!("megadir: {}: {:.1} % of {} used, {at:.0} % asked for", quoted(path), used, most.limit);
            self.reached = true;
        }
    }

    /// Returns the exit code: that a condition is met matters more than that a directory is missing.
    fn code(&self) -> Result<u8, CliError> {
        Ok(match self.failed {
            _ if self.reached => exit::CONDITION_MET,
            Some(code) if self.seen == 0 => code,
            Some(_) => exit::SOME_FAILED,
            None => exit::DONE,
        })
    }
}

/// Parses a share such as `80%` or `80`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    match number.filter(|percent| *percent > 0.0 && *percent <= 100.0) {
        Some(percent) => Ok(percent / 100.0),
        None => Err("write a share above 0 % and up to 100 %, e.g. 80%".into()),
    }
}

/// Parses the time between two looks.
fn interval_s(text: &str) -> Result<u64, String> {
    match parse::age_s(text) {
        Ok(0) | Err(_) => Err("write the time between two looks as 10s, 5m or 1h".into()),
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
