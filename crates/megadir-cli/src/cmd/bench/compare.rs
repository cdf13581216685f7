//! `megadir bench compare`: new runs against old runs, arm by arm, and the gate of `--fail-if`.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use megadir_report::Report;
use megadir_report::between::{
    Between, Condition, FORMATS, Gate, GateVerdict, MachineRuns, Run, between, format_named, is_same,
    machines, render_machines,
};

use super::record_file::{Opened, open, refuse};
use super::report::{AT_LENGTH, FIRST_SCREEN, view};
use crate::exit::{self, CliError, refuse_if};
use crate::ui::message::reason;
use crate::ui::output::print;

/// Compare new runs of a study with old runs
///
/// Arms are matched by operation, data and cache state. The table has the ratio new / old of each arm with its confidence interval,
/// adjusted for the number of arms; its last row is the geometric mean. With three or more runs on each side, each run is one observation,
/// and the intervals hold for the versions. A single run on each side shows the difference of these two runs, not of the versions. Runs on
/// different machines, file systems or data are rejected, unless --across is given.
///
/// Two or more folders of 'bench run all' from several machines are compared by their verdicts: which ratios are the
/// same everywhere, and how far the times lie apart.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done, and with --fail-if no arm is slower; 1 a record is damaged; 2 usage; 3 the runs cannot be compared; \
10 --fail-if: an arm is slower; 11 --fail-if: not judged, because arms are missing, incomplete or did unequal work, \
a side has a single run, or the records have warnings.")]
pub(crate) struct Args {
    /// Record of the old run, or a directory of records
    #[arg(value_name = "OLD", requires = "new", conflicts_with_all = ["old_runs", "new_runs"])]
    old: Option<PathBuf>,
    /// Record of the new run, or a directory of records
    #[arg(value_name = "NEW")]
    new: Option<PathBuf>,
    /// Folders of 'bench run all' from further machines
    #[arg(value_name = "FOLDER", requires = "new", conflicts_with_all = ["old_runs", "new_runs"])]
    more: Vec<PathBuf>,
    /// Records of the old version, or directories of records (*.jsonl)
    #[arg(long = "old", value_name = "RECORD", num_args = 1.., required_unless_present = "old", requires = "new_runs")]
    old_runs: Vec<PathBuf>,
    /// Records of the new version, or directories of records (*.jsonl)
    #[arg(long = "new", value_name = "RECORD", num_args = 1.., requires = "old_runs")]
    new_runs: Vec<PathBuf>,
    /// Compare runs on different machines and file systems, and list the differences
    #[arg(long)]
    across: bool,
    /// Exit with code 10 if an arm is slower, with 11 if that cannot be judged
    ///
    /// An arm is slower if its interval lies beyond the equivalence band or, with slower:3%, beyond 3 %.
    #[arg(long, value_name = "slower[:N%]", value_parser = parse_condition)]
    fail_if: Option<Slower>,
    /// Let --fail-if judge a single run on each side
    ///
    /// Two runs of the same version differ, too.
    #[arg(long, requires = "fail_if")]
    single_run: bool,
    /// Let --fail-if judge records that have warnings
    #[arg(long, requires = "fail_if")]
    despite_warnings: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = FIRST_SCREEN, value_parser = formats())]
    format: String,
    /// Print every arm and warning, as --format table
    #[arg(short, long, conflicts_with = "format")]
    verbose: bool,
    /// Print only the reasons why --fail-if does not pass, and errors
    #[arg(short, long, requires = "fail_if", conflicts_with_all = ["verbose", "format"])]
    pub(super) quiet: bool,
}

/// Fraction; `None`: the equivalence band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slower(pub(super) Option<f64>);

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(
        FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.description)),
    )
}

pub(super) fn parse_condition(text: &str) -> Result<Slower, String> {
    let wrong = || "expected slower, or slower:3% for a threshold of 3 %".to_owned();
    let by = text.strip_prefix("slower").ok_or_else(wrong)?;
    if by.is_empty() {
        return Ok(Slower(None));
    }
    let percent = by.strip_prefix(':').and_then(|by| by.strip_suffix('%')).ok_or_else(wrong)?;
    let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
    if percent.is_finite() && percent >= 0.0 { Ok(Slower(Some(percent / 100.0))) } else { Err(wrong()) }
}

struct Loaded {
    name: String,
    opened: Opened,
}

/// Folders with several studies are compared machine by machine; all else is one study, whose runs of each side are one sample. A run
/// that is named on both sides is mentioned, because its figures would look like a result.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let (old, new) = (load(&args.old, &args.old_runs)?, load(&args.new, &args.new_runs)?);
    if let (Some(old_path), Some(new_path)) = (&args.old, &args.new)
        && (has_several_studies(&old) || has_several_studies(&new) || !args.more.is_empty())
    {
        let more = args.more.iter().map(|path| Ok((path, load(&Some(path.clone()), &[])?)));
        let more = more.collect::<Result<Vec<_>, CliError>>()?;
        return compare_machines(args, [(old_path, old), (new_path, new)].into_iter().chain(more).collect());
    }
    [&old, &new].into_iter().try_for_each(|side| once_each(side.iter()))?;
    if !args.quiet
        && let Some(run) = old.iter().find(|run| new.iter().any(|other| is_same_run(run, other)))
    {
        eprintln!(
            "megadir: '{}' is old and new at once, so this difference is 0 whatever was measured",
            run.name
        );
    }
    let compared = between(&runs(&old), &runs(&new));
    let mut compared = compared.ok_or_else(|| CliError::usage("name at least one record on each side"))?;
    check(args, &compared)?;
    if let Some(Slower(slower_by)) = args.fail_if {
        let (single_run, despite_warnings) = (args.single_run, args.despite_warnings);
        compared.apply(Condition { slower_by, single_run, despite_warnings });
    }
    let name = if args.verbose { AT_LENGTH } else { &args.format };
    let format = format_named(name).ok_or_else(|| CliError::usage(format!("unknown format '{name}'")))?;
    if !args.quiet {
        print(&(format.render)(&compared, &view()))?;
    }
    let damaged = old.iter().chain(&new).any(|loaded| loaded.opened.damaged);
    Ok(match compared.gate {
        None if damaged => exit::SOME_FAILED,
        None => exit::DONE,
        Some(gate) if args.quiet && gate.verdict == GateVerdict::Passed => exit::DONE,
        Some(gate) => code(&gate),
    })
}

fn study(loaded: &Loaded) -> &str {
    &loaded.opened.report.record.header.plan.study
}

fn has_several_studies(side: &[Loaded]) -> bool {
    side.iter().any(|loaded| study(loaded) != study(&side[0]))
}

/// Each folder is one machine and each record in it one study, so two records of one study in a folder would leave
/// open which of them speaks for the machine, and are refused. A damaged record is compared as far as it could be
/// read, and shows in the exit code. Without a common ratio there is nothing to print, which is an error and not an
/// empty table.
fn compare_machines(args: &Args, folders: Vec<(&PathBuf, Vec<Loaded>)>) -> Result<u8, CliError> {
    let reason = "--fail-if compares runs of one study, not machines: name their records";
    refuse_if(&[(args.fail_if.is_some(), reason)])?;
    for (path, loaded) in &folders {
        let is_known =
            |(at, record): &(usize, &Loaded)| loaded[..*at].iter().any(|other| study(other) == study(record));
        if let Some((_, twice)) = loaded.iter().enumerate().find(is_known) {
            let study = study(twice);
            let reason =
                format!("it has two records of study {study}; a folder of a machine has one of each study");
            return Err(refuse(path, &reason));
        }
    }
    once_each(folders.iter().flat_map(|(_, loaded)| loaded))?;
    let damaged = folders.iter().any(|(_, loaded)| loaded.iter().any(|loaded| loaded.opened.damaged));
    let named: Vec<(String, Vec<Report>)> = folders
        .into_iter()
        .map(|(path, loaded)| {
            let reports = loaded.into_iter().map(|loaded| loaded.opened.report).collect();
            (path.display().to_string(), reports)
        })
        .collect();
    let runs: Vec<MachineRuns<'_>> =
        named.iter().map(|(name, reports)| MachineRuns { name, reports }).collect();
    let compared = machines(&runs);
    if compared.ratios.is_empty() {
        return Err(CliError::nothing_ran(
            "the folders have no ratio in common: compare runs of the same studies, sizes and file systems",
        ));
    }
    let format = if args.verbose { AT_LENGTH } else { &args.format };
    let text = render_machines(&compared, format, &view()).map_err(|known| {
        CliError::usage(format!("--format {format}: folders of several studies have the formats {known}"))
    })?;
    print(&text)?;
    Ok(if damaged { exit::SOME_FAILED } else { exit::DONE })
}

pub(super) fn code(gate: &Gate) -> u8 {
    gate.lines().iter().for_each(|line| eprintln!("megadir: {line}"));
    match gate.verdict {
        GateVerdict::Passed => exit::DONE,
        GateVerdict::Slower => exit::CONDITION_MET,
        GateVerdict::NotJudged => exit::NOT_JUDGED,
    }
}

fn runs(side: &[Loaded]) -> Vec<Run<'_>> {
    side.iter().map(|loaded| Run { name: &loaded.name, report: &loaded.opened.report }).collect()
}

fn load(single: &Option<PathBuf>, several: &[PathBuf]) -> Result<Vec<Loaded>, CliError> {
    let mut loaded = Vec::new();
    for named in single.iter().chain(several) {
        for path in records_of(named)? {
            loaded.push(Loaded { opened: open(&path, false)?, name: path.display().to_string() });
        }
    }
    Ok(loaded)
}

fn records_of(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let cannot = |error: std::io::Error| refuse(path, &reason(&error));
    let mut records = Vec::new();
    for entry in std::fs::read_dir(path).map_err(cannot)? {
        let file = entry.map_err(cannot)?.path();
        let name = file.file_name().unwrap_or_default().as_encoded_bytes();
        if (name.ends_with(b".jsonl") || name.ends_with(b".jsonl.gz")) && !file.is_dir() {
            records.push(file);
        }
    }
    records.sort();
    if records.is_empty() {
        let reason = "the directory has no records (*.jsonl, *.jsonl.gz); name records or another directory";
        return Err(refuse(path, reason));
    }
    Ok(records)
}

/// Two copies would hide the variance between runs.
fn once_each<'l>(mut runs: impl Iterator<Item = &'l Loaded> + Clone) -> Result<(), CliError> {
    while let Some(run) = runs.next() {
        if let Some(other) = runs.clone().find(|other| is_same_run(run, other)) {
            return Err(CliError::nothing_ran(format!(
                "'{}' and '{}' are the same run; name each run once",
                run.name, other.name
            )));
        }
    }
    Ok(())
}

fn is_same_run(run: &Loaded, other: &Loaded) -> bool {
    is_same(&run.opened.report.record, &other.opened.report.record)
}

fn check(args: &Args, compared: &Between) -> Result<(), CliError> {
    let quoted = |runs: &[String]| runs.iter().map(|run| format!("'{run}'")).collect::<Vec<_>>().join(", ");
    let sides = format!("{} and {}", quoted(&compared.old_runs), quoted(&compared.new_runs));
    // --across does not help across studies, so the message does not offer it.
    if compared.rows.is_empty() {
        let study = compared.differences.iter().find(|difference| difference.starts_with("study: "));
        let why = study.map(|study| format!(" ({study})")).unwrap_or_default();
        return Err(CliError::nothing_ran(format!(
            "{sides} have no arm in common{why}: compare runs of one study with the same sizes and options"
        )));
    }
    if !compared.differences.is_empty() && !args.across {
        let differences = compared.differences.join("; ");
        return Err(CliError::nothing_ran(format!(
            "{sides} are not comparable ({differences}); --across compares them anyway"
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
