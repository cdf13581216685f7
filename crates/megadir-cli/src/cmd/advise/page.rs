//! HTML page about a measurement: the report's page, with the advice as the headline.

use std::path::{Path, PathBuf};

use megadir_report::page::{Conclusion, with_conclusion};

use super::{Answer, text};
use crate::exit::{self, CliError};
use crate::ui::message::{quoted, reason};
use crate::ui::new_file::NewFile;

pub(super) struct Page {
    path: PathBuf,
    file: NewFile,
}

impl Page {
    /// Before the measurement, so that errors show early.
    pub(super) fn prepare(path: &Path) -> Result<Self, CliError> {
        let file = NewFile::create(path).map_err(|error| {
            CliError::nothing_ran(format!(
                "cannot write the report {}: {}; nothing was measured",
                quoted(path),
                reason(&error)
            ))
        })?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Writes the page; returns the exit code.
    pub(super) fn write(self, answer: &Answer) -> Result<u8, CliError> {
        let run = match &answer.run {
            Ok(run) => run,
            Err(why) => {
                eprintln!("megadir: no report written, because nothing was measured: {why}");
                return Ok(exit::SOME_FAILED);
            }
        };
        let because = text::rows(answer).into_iter().map(|(label, value)| format!("{label}: {value}"));
        let because = text::below_headline(answer).into_iter().chain(because).collect();
        let conclusion = Conclusion { sentence: text::first_line(answer), because };
        let page = with_conclusion(&run.report, Some(&conclusion));
        let path = &self.path;
        self.file.finish(|file| file.write_all(page.as_bytes())).map_err(|error| {
            let message = format!("cannot write the report {}: {}", quoted(path), reason(&error));
            CliError { message, code: exit::SOME_FAILED }
        })?;
        eprintln!("megadir: wrote the report {}; open it in a browser", quoted(path));
        Ok(exit::DONE)
    }
}
