//! `megadir bench report`: records as tables, HTML, SVG, Markdown, CSV, JSON or HdrHistogram logs.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use megadir_inventory::open_file;
use megadir_report::chart::{self, CHARTS, chart_named};
use megadir_report::{FORMATS, Format, Report, Style, View, format_named};

use super::record_file::{open, refuse};
use crate::exit::{self, CliError, refuse_if};
use crate::ui::message::reason;
use crate::ui::new_file::{NewFile, folder_of};
use crate::ui::output::print_with;
use crate::ui::{is_unicode, uses_color};

/// Columns of text in a file or a pipe; fixed, so that the same record gives the same bytes everywhere.
const WIDTH: usize = 100;
pub(super) const FIRST_SCREEN: &str = "screen";
/// Text of every comparison and warning.
pub(super) const AT_LENGTH: &str = "table";

/// Print or write reports of records
///
/// A report depends only on its record: the same record gives the same bytes on every machine. Of a damaged
/// record, the part before the damage is reported, and the exit code is 1.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Records of runs, also compressed by gzip
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// Output format [default: by the ending of --output, e.g. page.html, else screen]
    #[arg(short, long, value_name = "FORMAT", value_parser = formats())]
    format: Option<String>,
    /// Print every comparison and warning, as --format table
    #[arg(short, long, conflicts_with = "format")]
    verbose: bool,
    /// Chart for --format svg, and the number of its picture if it has several
    #[arg(long, value_name = "NAME[:N]", value_parser = parse_chart, long_help = chart_help())]
    chart: Option<(String, usize)>,
    /// Write to this new file, or for several records into this directory [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    pub(super) output: Option<PathBuf>,
    /// Omit identifying data: host and user names, paths, devices
    #[arg(long)]
    share: bool,
}

pub(crate) fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(
        FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.description)),
    )
}

fn chart_help() -> String {
    let mut help = "Chart for --format svg, and the number of its picture if it has several, e.g. nines:2 [default: the chart that \
         answers the study's question best]. Charts:\n"
        .to_owned();
    CHARTS.iter().for_each(|chart| help.push_str(&format!("\n{:14} {}", chart.name, chart.question)));
    help
}

fn parse_chart(text: &str) -> Result<(String, usize), String> {
    let (name, number) = text.split_once(':').unwrap_or((text, "1"));
    let number = number.parse().ok().filter(|number| *number > 0);
    let number = number.ok_or("pictures are numbered from 1, e.g. nines:2")?;
    if chart_named(name).is_none() {
        let names: Vec<&str> = CHARTS.iter().map(|chart| chart.name).collect();
        return Err(format!("unknown chart; expected one of {}", names.join(", ")));
    }
    Ok((name.to_owned(), number))
}

/// All checks of the options come first, then each record is opened after its output file: reading a large record
/// takes seconds, and a file that cannot be created should be known before. Several records go to standard output
/// only as text or Markdown, because other formats have no way to follow each other. A damaged record is reported as
/// far as it could be read, with another exit code.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let name = match (&args.format, args.verbose) {
        (Some(name), _) => name,
        (None, true) => AT_LENGTH,
        (None, false) => args.output.as_deref().and_then(named_by).unwrap_or(FIRST_SCREEN),
    };
    let format = format_named(name).ok_or_else(|| CliError::usage(format!("unknown format '{name}'")))?;
    refuse_if(&[(args.chart.is_some() && format.name != "svg", "--chart needs --format svg")])?;
    if let Some(missing) = format.missing {
        return Err(CliError::usage(format!("--format {}: {missing}", format.name)));
    }
    if !format.is_text && args.output.is_none() && io::stdout().is_terminal() {
        return Err(CliError::usage(format!(
            "--format {} cannot be printed on a terminal; name a file with --output",
            format.name
        )));
    }
    let several = args.records.len() > 1;
    if several && args.output.is_none() && ![FIRST_SCREEN, AT_LENGTH, "markdown"].contains(&format.name) {
        let name = format.name;
        return Err(CliError::usage(format!("several records as {name}: name a directory with --output")));
    }
    let (mut code, mut written) = (exit::DONE, Vec::new());
    for (place, path) in args.records.iter().enumerate() {
        // Large records take seconds: first check that the report can be written.
        let to = args.output.as_deref().map(|output| target(output, path, format, several, &written));
        let to = to.transpose()?;
        let file = to.as_deref().map(new_file).transpose()?;
        let opened = open(path, args.share)?;
        if opened.damaged {
            code = exit::SOME_FAILED;
        }
        let write = writer(path, &opened.report, format, args.chart.as_ref())?;
        match to.zip(file) {
            None => print_with(|output| {
                if place > 0 {
                    output.write_all(b"\n")?;
                }
                write(output)
            })?,
            Some((to, file)) => {
                file.finish(write).map_err(|error| cannot_write(&to, &error))?;
                eprintln!("megadir: wrote the report '{}'", to.display());
                written.push(to);
            }
        }
    }
    Ok(code)
}

/// The first format with this ending. Text of a terminal has the ending of several, and is the default anyway.
fn named_by(output: &Path) -> Option<&'static str> {
    let ending = output.extension()?.to_str()?.to_ascii_lowercase();
    FORMATS.iter().find(|format| format.extension == ending).map(|format| format.name)
}

pub(crate) fn check_export(name: &str) -> Result<(), CliError> {
    match format_named(name).and_then(|format| format.missing) {
        Some(missing) => Err(CliError::usage(format!("--export {name}: {missing}"))),
        None => Ok(()),
    }
}

pub(crate) fn export(path: &Path, report: &Report, name: &str) -> Result<PathBuf, CliError> {
    let format = format_named(name).ok_or_else(|| CliError::usage(format!("unknown format '{name}'")))?;
    let write = writer(path, report, format, None)?;
    // The page of a run has the plain name.
    let mut file = path.with_extension(format.extension);
    if file.symlink_metadata().is_ok() {
        file = path.with_extension(format!("{}.{}", format.name, format.extension));
    }
    new_file(&file)?.finish(write).map_err(|error| cannot_write(&file, &error))?;
    Ok(file)
}

pub(crate) fn show(path: &Path, report: &Report, name: &str) -> Result<(), CliError> {
    let format = format_named(name).ok_or_else(|| CliError::usage(format!("unknown format '{name}'")))?;
    print_with(writer(path, report, format, None)?)
}

/// Writes RECORD.html next to RECORD.jsonl, and names the file if `loud`.
pub(crate) fn write_page(path: &Path, report: &Report, loud: bool) -> Result<(), CliError> {
    let mut name = stem(path).to_owned();
    name.push(".html");
    write_page_as(path, Path::new(&name), report, loud)
}

/// Replaces only an earlier page of this record.
pub(super) fn write_page_as(path: &Path, name: &Path, report: &Report, loud: bool) -> Result<(), CliError> {
    let format = format_named("html").ok_or_else(|| CliError::usage("unknown format 'html'"))?;
    let (text, mark) = (format.render(report, &view()), megadir_report::page::record_mark(report));
    let file = path.with_file_name(name);
    if text_of(&file).is_ok_and(|page| page.contains(&mark)) {
        // The run was resumed: update its report.
        replace(&file, &text)?;
    } else if file.symlink_metadata().is_ok() {
        eprintln!(
            "megadir: no HTML report was written, because '{}' is another file; 'megadir bench report --format html' writes one",
            file.display()
        );
        return Ok(());
    } else {
        let written = new_file(&file)?.finish(|output| output.write_all(text.as_bytes()));
        written.map_err(|error| cannot_write(&file, &error))?;
    }
    if loud {
        eprintln!("megadir: the HTML report is '{}'; open it in a browser", file.display());
    }
    Ok(())
}

/// Everything that can fail for a reason of the report is done here; the closure only writes. Thus an
/// output file is finished or it was never begun, and a page is not left half-written.
fn writer(
    path: &Path,
    report: &Report,
    format: &Format,
    picked: Option<&(String, usize)>,
) -> Result<impl FnOnce(&mut dyn Write) -> io::Result<()>, CliError> {
    let mut picture = None;
    if let Some((chart, number)) = picked.and_then(|(name, number)| Some((chart_named(name)?, *number))) {
        let (text, all) = chart::document(report, chart, number).map_err(|reason| refuse(path, &reason))?;
        if all > 1 {
            eprintln!("megadir: picture {number} of {all}; --chart {}:N selects another", chart.name);
        }
        picture = Some(text);
    } else if let Some(why) = (format.refuses)(report) {
        return Err(refuse(path, why));
    }
    Ok(move |output: &mut dyn Write| match picture {
        Some(picture) => output.write_all(picture.as_bytes()),
        None => (format.write)(report, &view(), output),
    })
}

/// Name without its ending, or both endings of `.jsonl.gz`.
fn stem(path: &Path) -> &std::ffi::OsStr {
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    match path.extension() {
        Some(ending) if ending == "gz" => Path::new(stem).file_stem().unwrap_or(stem),
        _ => stem,
    }
}

fn target(
    output: &Path,
    record: &Path,
    format: &Format,
    several: bool,
    written: &[PathBuf],
) -> Result<PathBuf, CliError> {
    if !several && !output.is_dir() {
        return Ok(output.to_owned());
    }
    std::fs::create_dir_all(output).map_err(|error| {
        let (output, reason) = (output.display(), reason(&error));
        CliError::nothing_ran(format!("cannot create the directory '{output}': {reason}"))
    })?;
    // Published records are all called `record.jsonl`.
    let parent = record.parent().and_then(Path::file_name).filter(|_| stem(record) == "record");
    // Two records of the same name from different folders get numbers, and no report of this call replaces
    // another.
    let name = parent.unwrap_or(stem(record)).to_string_lossy().into_owned();
    let numbered = |number: usize| if number < 2 { name.clone() } else { format!("{name}-{number}") };
    let mut files = (1..).map(|number| output.join(format!("{}.{}", numbered(number), format.extension)));
    files.find(|file| !written.contains(file)).ok_or_else(|| CliError::usage("no file name is free"))
}

/// Text of a file of this program, or of another that has its name.
pub(super) fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_file(path, File::options().read(true))?.read_to_string(&mut text)?;
    Ok(text)
}

fn new_file(path: &Path) -> Result<NewFile, CliError> {
    NewFile::create(path).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &io::Error) -> CliError {
    CliError::nothing_ran(format!("cannot write the report '{}': {}", path.display(), reason(error)))
}

/// By a temporary file and a rename: a browser that reloads the page sees the earlier or the new one. The
/// permissions of the earlier file are kept, since a temporary file is private to its owner.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), CliError> {
    let cannot = |error: io::Error| cannot_write(path, &error);
    let mut file =
        tempfile::Builder::new().prefix(".report-").tempfile_in(folder_of(path)).map_err(cannot)?;
    file.write_all(text.as_bytes()).map_err(cannot)?;
    if let Ok(status) = path.metadata() {
        file.as_file().set_permissions(status.permissions()).map_err(cannot)?;
    }
    file.persist(path).map(|_| ()).map_err(|error| cannot(error.error))
}

/// Only a terminal has a width of its own; a pipe gets the fixed one, and Unicode, which files may always
/// have.
pub(crate) fn view() -> View {
    let terminal = io::stdout().is_terminal();
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let style = Style { color: uses_color(terminal), unicode: !terminal || is_unicode() };
    View { width: if terminal { width.unwrap_or(WIDTH) } else { WIDTH }, style }
}

#[cfg(test)]
mod tests {
    use megadir_bench::note::NoteKind;
    use megadir_report::Warning;

    #[test]
    fn every_note_of_a_run_has_advice() {
        for kind in NoteKind::ALL {
            let noted = Warning::Noted { note: kind.name().into(), text: "Something.".into() };
            let advice = noted.advisory().advice;
            assert!(!advice.contains("newer megadir"), "{}: {advice}", kind.name());
        }
    }
}
