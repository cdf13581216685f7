//! Files written after long work. They have a temporary name from the start, so that an unwritable path is refused before the work.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::exit::CliError;
use crate::ui::message::{quoted, reason};

/// Directory of a path; `.` for a plain name, whose parent is empty.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(crate) fn temporary(path: &Path, prefix: &str, suffix: &str) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(suffix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files belong to the owner only; any new file has the umask.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder_of(path))
}

/// Under its temporary name, which dropping removes.
pub(crate) struct NewFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl NewFile {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        if path.symlink_metadata().is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        Ok(Self { path: path.to_owned(), file: temporary(path, ".report-", "")? })
    }

    /// The name is taken only when everything is written, and no other file is ever replaced.
    pub(crate) fn finish(mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut buffered = BufWriter::new(&mut self.file);
        write(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        match self.file.persist_noclobber(&self.path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Err(error.error),
            // Some file systems support neither renaming without replacing nor hard links.
            Err(error) => {
                let mut written = error.file;
                written.rewind()?;
                io::copy(&mut written, &mut File::create_new(&self.path)?).map(drop)
            }
        }
    }
}

pub(crate) struct NewPage {
    kind: &'static str,
    file: NewFile,
}

impl NewPage {
    /// Errors show early: nothing was `worked` then.
    pub(crate) fn prepare(kind: &'static str, worked: &str, path: &Path) -> Result<Self, CliError> {
        let file = NewFile::create(path).map_err(|error| {
            let (path, reason) = (quoted(path), reason(&error));
            CliError::nothing_ran(format!("cannot write the {kind} {path}: {reason}; nothing was {worked}"))
        })?;
        Ok(Self { kind, file })
    }

    pub(crate) fn write(self, page: &str) -> Result<(), CliError> {
        let (kind, path) = (self.kind, quoted(&self.file.path));
        self.file.finish(|file| file.write_all(page.as_bytes())).map_err(|error| {
            CliError::some_failed(format!("cannot write the {kind} {path}: {}", reason(&error)))
        })?;
        eprintln!("megadir: wrote the {kind} {path}; open it in a browser");
        Ok(())
    }
}
