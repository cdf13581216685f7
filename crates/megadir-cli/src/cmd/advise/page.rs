//! HTML page about a measurement: the report's page, with the advice as the headline.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use megadir_report::Report;
use megadir_report::page::{Conclusion, with_conclusion};
use tempfile::NamedTempFile;

use super::{Answer, text};
use crate::exit::{self, CliError};
use crate::ui::message::{quoted, reason};

/// Dropping it removes the temporary file.
pub(super) struct Page {
    path: PathBuf,
    file: NamedTempFile,
}

impl Page {
    /// Before the measurement, so that errors show early.
    pub(super) fn prepare(path: &Path) -> Result<Self, CliError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".report-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As for any new file; temporary files default to owner only.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).map_err(|error| {
            CliError::nothing_ran(format!(
                "cannot write the report {}: {}; nothing was measured",
                quoted(path),
                reason(&error)
            ))
        })?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Writes the page; returns the exit code.
    pub(super) fn write(mut self, answer: &Answer) -> Result<u8, CliError> {
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
        let page = with_conclusion(&Report { record: &run.record, summary: &run.summary }, Some(&conclusion));
        let path = &self.path;
        let written =
            self.file.write_all(page.as_bytes()).and_then(|()| place(self.file, path, page.as_bytes()));
        written.map_err(|error| {
            let message = format!("cannot write the report {}: {}", quoted(path), reason(&error));
            CliError { message, code: exit::SOME_FAILED }
        })?;
        eprintln!("megadir: wrote the report {}; open it in a browser", quoted(path));
        Ok(exit::DONE)
    }
}

/// Fails if `path` exists.
fn place(file: NamedTempFile, path: &Path, page: &[u8]) -> io::Result<()> {
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Err(error.error),
        // Some file systems support neither renaming without replacing nor hard links.
        Err(_) => File::create_new(path)?.write_all(page),
    }
}
