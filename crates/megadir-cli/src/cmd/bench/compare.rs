//! `megadir bench compare`: a new run against an old one, arm by arm.

use std::path::PathBuf;

use megadir_report::between::{Between, Run, between, table};
use megadir_report::render::pretty;

use super::open::open;
use super::report::{summary, view};
use crate::exit::{self, CliError};
use crate::ui::output::print;

/// Compares two runs of a study, arm by arm.
///
/// Arms are matched by what they do to which data in which state of the cache. Ratios are new / old with their intervals, adjusted for all
/// arms; the last row is their geometric mean. Runs on other machines, file systems or data are refused, for their difference
/// would not be that of the programs.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The record of the old run.
    old: PathBuf,
    /// The record of the new run.
    new: PathBuf,
    /// Compare runs on other machines and file systems too; what differs stands above the table.
    #[arg(long)]
    across: bool,
    /// Exit with code 10 if any arm is slower, certainly and not negligibly; with slower:3% only if by more than that.
    #[arg(long, value_name = "slower[:N%]", value_parser = parse_condition)]
    fail_if: Option<f64>,
    /// How to print it.
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = ["table", "json"])]
    format: String,
}

/// Parses `slower` or `slower:3%` as a fraction.
fn parse_condition(text: &str) -> Result<f64, String> {
    let wrong = || "it is slower, or slower:3% for more than 3 %".to_owned();
    let by = text.strip_prefix("slower").ok_or_else(wrong)?;
    if by.is_empty() {
        return Ok(0.0);
    }
    let percent = by.strip_prefix(':').and_then(|by| by.strip_suffix('%')).ok_or_else(wrong)?;
    let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
    if percent.is_finite() && percent >= 0.0 { Ok(percent / 100.0) } else { Err(wrong()) }
}

/// Prints the comparison and returns the exit code.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let (old, new) = (open(&args.old, false)?, open(&args.new, false)?);
    let (of_old, of_new) = (summary(&args.old, &old)?, summary(&args.new, &new)?);
    let compared =
        between(Run { record: &old.record, summary: &of_old }, Run { record: &new.record, summary: &of_new });
    refuse(args, &compared)?;
    let view = view();
    print(&match args.format.as_str() {
        "json" => pretty(&compared),
        _ => table(&compared, view.width, view.style),
    })?;
    if let Some(by) = args.fail_if {
        let slower: Vec<&str> = compared.slower(by).iter().map(|row| row.arm.as_str()).collect();
        if !slower.is_empty() {
            eprintln!("megadir: slower than before: {}", slower.join("; "));
            return Ok(exit::CONDITION_MET);
        }
    }
    Ok(if old.damaged || new.damaged { exit::SOME_FAILED } else { exit::DONE })
}

/// Refuses what is not comparable.
fn refuse(args: &Args, compared: &Between) -> Result<(), CliError> {
    let (old, new) = (args.old.display(), args.new.display());
    if !compared.differences.is_empty() && !args.across {
        let what = compared.differences.join("; ");
        return Err(CliError::nothing_ran(format!(
            "'{old}' and '{new}' are not comparable ({what}); --across compares them all the same"
        )));
    }
    if compared.rows.is_empty() {
        return Err(CliError::nothing_ran(format!(
            "'{old}' and '{new}' have no arm in common: compare runs of one study with the same sizes and options"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parse_condition;

    #[test]
    fn conditions_are_words_with_a_percentage() {
        assert_eq!(parse_condition("slower"), Ok(0.0));
        assert_eq!(parse_condition("slower:3%"), Ok(0.03));
        for wrong in ["faster", "slower:", "slower:3", "slower:-1%", "slower:nan%", "slower3%"] {
            assert!(parse_condition(wrong).is_err(), "{wrong}");
        }
    }
}
