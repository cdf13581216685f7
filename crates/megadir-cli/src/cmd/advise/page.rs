//! The page about a measurement: the report's own, with what is advised.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use megadir_report::Report;
use megadir_report::page::{Conclusion, with_conclusion};

use super::{Answer, text};
use crate::exit::{self, CliError};
use crate::ui::message::{quoted, reason};

/// Writes the page to a new file; returns the exit code.
pub(super) fn write(path: &Path, answer: &Answer) -> Result<u8, CliError> {
    let run = match &answer.run {
        Ok(run) => run,
        Err(why) => {
            eprintln!("megadir: no report was written, for nothing was measured: {why}");
            return Ok(exit::SOME_FAILED);
        }
    };
    let because = text::rows(answer).into_iter().map(|(label, value)| format!("{label}: {value}"));
    let conclusion = Conclusion {
        heading: "What is advised".into(),
        sentence: text::first_line(answer),
        because: because.collect(),
    };
    let page = with_conclusion(&Report { record: &run.record, summary: &run.summary }, Some(&conclusion));
    let written = File::create_new(path).and_then(|mut file| file.write_all(page.as_bytes()));
    written.map_err(|error| {
        CliError::nothing_ran(format!("cannot write the report {}: {}", quoted(path), reason(&error)))
    })?;
    eprintln!("megadir: the report with pictures is {}; open it in a browser", quoted(path));
    Ok(exit::DONE)
}
