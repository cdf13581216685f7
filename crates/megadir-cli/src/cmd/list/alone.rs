//! Lists a path that is not a directory as a single entry, as `ls` does.

use std::path::{Path, PathBuf};

use megadir::{Attributes, BatchBuilder, Dir, Error, ErrorKind, FileType, STAT_BACKENDS, StatMask, names};

use super::lines::Lines;
use super::{Run, Stop};

pub(super) struct Alone {
    parent: PathBuf,
    name: Vec<u8>,
}

impl Alone {
    /// `None` unless `error` says that the path is not a directory or a dangling link.
    pub(super) fn find(path: &Path, error: &Error) -> Option<Self> {
        let is_there = match error.kind() {
            ErrorKind::NotADirectory => true,
            ErrorKind::NotFound => path.symlink_metadata().is_ok(),
            _ => false,
        };
        // A trailing separator requires a directory.
        let last = *names::from_os(path.as_os_str()).last()?;
        if !is_there || std::path::is_separator(char::from(last)) {
            return None;
        }
        let name = names::from_os(path.file_name()?).to_vec();
        Some(Self { parent: path.parent()?.to_owned(), name })
    }

    pub(super) fn list(&self, run: &mut Run<'_>) -> Result<(), Stop> {
        let with_path = !self.parent.as_os_str().is_empty();
        let label = Lines { with_path, ..run.lines }.label(self.parent.as_path().into());
        let parent = if with_path { self.parent.as_path() } else { Path::new(".") };
        let directory = Dir::open(parent)?;
        let want = run.want().unwrap_or(StatMask::NOTHING) | StatMask::TYPE | StatMask::INODE;
        let rows = self.examine(run, &directory, want)?;
        let row = rows.first().copied().unwrap_or(Attributes::NOTHING);
        if row.has_vanished() {
            let path = self.parent.join(&*names::to_os(&self.name)?);
            return Err(Error::io("open", &path, std::io::Error::from_raw_os_error(row.error)).into());
        }
        let built = self.built(row.inode, row.kind);
        match run.want() {
            Some(_) => run.rows(built.batch().entries().zip(&rows), &label, directory.dir_path()),
            None => run.batch(built.batch(), &label),
        }
    }

    fn examine(&self, run: &Run<'_>, directory: &Dir, want: StatMask) -> Result<Vec<Attributes>, Stop> {
        let able =
            || STAT_BACKENDS.iter().copied().find(|able| !able.is_listed() && able.probe(directory).is_ok());
        let Some(stat_backend) = run.args.stat_backend.or_else(able) else { return Ok(Vec::new()) };
        let mut rows = Vec::new();
        stat_backend.start(directory, want)?.examine(
            directory,
            self.built(0, FileType::Unknown).batch(),
            &mut rows,
        )?;
        Ok(rows)
    }

    fn built(&self, inode: u64, kind: FileType) -> BatchBuilder {
        let mut built = BatchBuilder::new(self.name.len() + 64, false);
        built.push(&self.name, inode, kind, 0);
        built
    }
}
