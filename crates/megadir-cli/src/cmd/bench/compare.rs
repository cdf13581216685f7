//! `megadir bench compare`: new runs against old ones, arm by arm, and the gate of `--fail-if`.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use megadir_report::Summary;
use megadir_report::between::{Between, Condition, FORMATS, GateSays, Run, between, format_named, is_same};

use super::open::{Opened, open};
use super::report::{refuse, summary, view};
use crate::exit::{self, CliError};
use crate::ui::message::reason;
use crate::ui::output::print;

/// Compares runs of a study, arm by arm: new ones against old ones.
///
/// Arms are matched by what they do to which data in which state of the cache. Ratios are new / old with their intervals, adjusted for all
/// arms; the last row is their geometric mean. With three or more runs a side each run is one observation, so the intervals hold for the
/// versions. One run a side shows how these two runs differ and not whether the versions do. Runs on other machines, file systems or
/// data are refused, for their difference would not be that of the programs.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done, and with --fail-if every arm of the old runs was judged and none is slower; 1 a record is damaged; 2 usage; \
3 the runs cannot be compared; 10 --fail-if: an arm is slower; 11 --fail-if could not be judged: arms that are missing, not measured in full \
or on unequal work, one run a side, warnings of the records.")]
pub(crate) struct Args {
    /// The record of the old run, or a folder of records.
    #[arg(value_name = "OLD", requires = "new", conflicts_with_all = ["old_runs", "new_runs"])]
    old: Option<PathBuf>,
    /// The record of the new run, or a folder of records.
    #[arg(value_name = "NEW")]
    new: Option<PathBuf>,
    /// Records of the old version, or folders of records (their files *.jsonl).
    #[arg(long = "old", value_name = "RECORD", num_args = 1.., required_unless_present = "old", requires = "new_runs")]
    old_runs: Vec<PathBuf>,
    /// Records of the new version, or folders of records (their files *.jsonl).
    #[arg(long = "new", value_name = "RECORD", num_args = 1.., requires = "old_runs")]
    new_runs: Vec<PathBuf>,
    /// Compare runs on other machines and file systems too; what differs stands above the table.
    #[arg(long)]
    across: bool,
    /// Exit with code 10 if any arm is certainly slower: beyond the equivalence band, or with slower:3% by more than that; with code 11 if that
    /// cannot be judged.
    #[arg(long, value_name = "slower[:N%]", value_parser = parse_condition)]
    fail_if: Option<Slower>,
    /// Let --fail-if judge one run a side, though two runs of one version differ too.
    #[arg(long, requires = "fail_if")]
    single_run: bool,
    /// Let --fail-if judge although the records warn of their own numbers.
    #[arg(long, requires = "fail_if")]
    despite_warnings: bool,
    /// How to print it.
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    format: String,
}

/// How much slower is too slow, a fraction; `None`: anything beyond the equivalence band.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slower(Option<f64>);

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.what)))
}

/// Parses `slower` or `slower:3%`.
fn parse_condition(text: &str) -> Result<Slower, String> {
    let wrong = || "it is slower, or slower:3% for more than 3 %".to_owned();
    let by = text.strip_prefix("slower").ok_or_else(wrong)?;
    if by.is_empty() {
        return Ok(Slower(None));
    }
    let percent = by.strip_prefix(':').and_then(|by| by.strip_suffix('%')).ok_or_else(wrong)?;
    let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
    if percent.is_finite() && percent >= 0.0 { Ok(Slower(Some(percent / 100.0))) } else { Err(wrong()) }
}

/// A record that was opened, with its summary.
struct Loaded {
    name: String,
    opened: Opened,
    summary: Summary,
}

/// Prints the comparison and returns the exit code.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let (old, new) = (load(&args.old, &args.old_runs)?, load(&args.new, &args.new_runs)?);
    [&old, &new].into_iter().try_for_each(|side| once_each(side))?;
    let compared = between(&runs(&old), &runs(&new));
    let mut compared = compared.ok_or_else(|| CliError::usage("name at least one record a side"))?;
    check(args, &compared)?;
    if let Some(Slower(slower_by)) = args.fail_if {
        let (single_run, despite_warnings) = (args.single_run, args.despite_warnings);
        compared.ask(Condition { slower_by, single_run, despite_warnings });
    }
    let format = format_named(&args.format)
        .ok_or_else(|| CliError::usage(format!("there is no format '{}'", args.format)))?;
    print(&(format.render)(&compared, &view()))?;
    let damaged = old.iter().chain(&new).any(|loaded| loaded.opened.damaged);
    Ok(match compared.gate {
        None if damaged => exit::SOME_FAILED,
        None => exit::DONE,
        Some(gate) => {
            gate.lines().iter().for_each(|line| eprintln!("megadir: {line}"));
            match gate.says {
                GateSays::Passed => exit::DONE,
                GateSays::Slower => exit::CONDITION_MET,
                GateSays::NotJudged => exit::NOT_JUDGED,
            }
        }
    })
}

fn runs(side: &[Loaded]) -> Vec<Run<'_>> {
    side.iter().map(Loaded::run).collect()
}

impl Loaded {
    fn run(&self) -> Run<'_> {
        Run { name: &self.name, record: &self.opened.record, summary: &self.summary }
    }
}

/// Opens the records of a side.
fn load(one: &Option<PathBuf>, several: &[PathBuf]) -> Result<Vec<Loaded>, CliError> {
    let mut loaded = Vec::new();
    for named in one.iter().chain(several) {
        for path in records_of(named)? {
            let opened = open(&path, false)?;
            let summary = summary(&path, &opened)?;
            loaded.push(Loaded { name: path.display().to_string(), opened, summary });
        }
    }
    Ok(loaded)
}

/// Returns the records that a path names: itself, or those in a folder, by name.
fn records_of(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let cannot = |error: std::io::Error| refuse(path, &reason(&error));
    let mut records = Vec::new();
    for entry in std::fs::read_dir(path).map_err(cannot)? {
        let file = entry.map_err(cannot)?.path();
        if file.extension().is_some_and(|ending| ending == "jsonl") && !file.is_dir() {
            records.push(file);
        }
    }
    records.sort();
    match records.is_empty() {
        true => {
            Err(refuse(path, "no record (*.jsonl) is in this folder; name records or a folder that has some"))
        }
        false => Ok(records),
    }
}

/// Refuses a run that is there twice: its two copies would scatter less than two runs do.
fn once_each(side: &[Loaded]) -> Result<(), CliError> {
    for (place, one) in side.iter().enumerate() {
        let same = |other: &&Loaded| is_same(&one.opened.record, &other.opened.record);
        if let Some(other) = side[place + 1..].iter().find(same) {
            return Err(CliError::nothing_ran(format!(
                "'{}' and '{}' are one run; name each run once",
                one.name, other.name
            )));
        }
    }
    Ok(())
}

/// Refuses what cannot be compared.
fn check(args: &Args, compared: &Between) -> Result<(), CliError> {
    let quoted = |runs: &[String]| runs.iter().map(|run| format!("'{run}'")).collect::<Vec<_>>().join(", ");
    let sides = format!("{} and {}", quoted(&compared.old_runs), quoted(&compared.new_runs));
    // Nothing can be compared across studies, so the option is not offered.
    if compared.rows.is_empty() {
        let study = compared.differences.iter().find(|difference| difference.starts_with("study: "));
        let why = study.map(|study| format!(" ({study})")).unwrap_or_default();
        return Err(CliError::nothing_ran(format!(
            "{sides} have no arm in common{why}: compare runs of one study with the same sizes and options"
        )));
    }
    if !compared.differences.is_empty() && !args.across {
        let what = compared.differences.join("; ");
        return Err(CliError::nothing_ran(format!(
            "{sides} are not comparable ({what}); --across compares them all the same"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Slower, parse_condition};

    #[test]
    fn conditions_are_words_with_a_percentage() {
        assert_eq!(parse_condition("slower"), Ok(Slower(None)));
        assert_eq!(parse_condition("slower:3%"), Ok(Slower(Some(0.03))));
        for wrong in ["faster", "slower:", "slower:3", "slower:-1%", "slower:nan%", "slower3%"] {
            assert!(parse_condition(wrong).is_err(), "{wrong}");
        }
    }
}
