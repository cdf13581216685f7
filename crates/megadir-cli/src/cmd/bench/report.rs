//! `megadir bench report`: a record as a table, Markdown, CSV, JSON or an HdrHistogram log.

use std::fs::File;
use std::io::{BufReader, IsTerminal};
use std::path::{Path, PathBuf};

use megadir_record::jsonl::read;
use megadir_report::{FORMATS, Report, Style, View, format_named, summarize};

use crate::exit::{self, CliError};
use crate::ui::is_unicode;
use crate::ui::output::print;

/// The width of reports that no terminal shows, columns.
const WIDTH: usize = 100;

/// Prints the report of a record.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The record that a run wrote.
    record: PathBuf,
    /// How to print it.
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    format: String,
    /// Leave out what tells whose machine it was: host and user names, paths, devices.
    #[arg(long)]
    share: bool,
}

fn formats() -> clap::builder::PossibleValuesParser {
    let values =
        FORMATS.iter().map(|format| clap::builder::PossibleValue::new(format.name).help(format.what));
    clap::builder::PossibleValuesParser::new(values)
}

/// Prints the report.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    show(&args.record, &args.format, args.share)?;
    Ok(exit::DONE)
}

/// Prints the report of the record at `path`.
pub(crate) fn show(path: &Path, format: &str, share: bool) -> Result<(), CliError> {
    let refuse = |reason: String| CliError::nothing_ran(format!("'{}': {reason}", path.display()));
    let format =
        format_named(format).ok_or_else(|| CliError::usage(format!("there is no format '{format}'")))?;
    let file = File::open(path).map_err(|error| refuse(error.to_string()))?;
    let mut record = read(BufReader::new(file)).map_err(|error| refuse(error.to_string()))?;
    if share {
        megadir_record::share::record(&mut record);
    }
    if let Some(cut) = record.cut {
        let (line, bytes) = (cut.line, cut.bytes);
        eprintln!(
            "megadir: '{}' is cut off in line {line} ({bytes} bytes of it are there); the rest is reported",
            path.display()
        );
    } else if record.end.is_none() {
        eprintln!(
            "megadir: '{}' has no end: the run was killed; what was measured is reported",
            path.display()
        );
    }
    let summary = summarize(&record).map_err(|error| refuse(error.to_string()))?;
    let report = Report { record: &record, summary: &summary };
    match (format.refuses)(&report) {
        Some(why) => Err(refuse(why.into())),
        None => print(&(format.render)(&report, &view())),
    }
}

/// Returns how reports may look where they go.
fn view() -> View {
    let terminal = std::io::stdout().is_terminal();
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let style = Style { color: terminal && !set("NO_COLOR") && !dumb, unicode: !terminal || is_unicode() };
    View { width: if terminal { width.unwrap_or(WIDTH) } else { WIDTH }, style }
}

#[cfg(test)]
mod tests {
    use megadir_bench::note::NOTE_KINDS;
    use megadir_report::Warning;

    #[test]
    fn the_report_knows_what_to_do_about_every_note_that_a_run_writes() {
        for kind in NOTE_KINDS {
            let noted = Warning::Noted { note: kind.name().into(), text: "Something.".into() };
            let advice = noted.advisory().advice;
            assert!(!advice.contains("newer megadir"), "{}: {advice}", kind.name());
        }
    }
}
