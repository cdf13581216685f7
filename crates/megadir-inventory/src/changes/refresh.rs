//! Snapshots of trees: made by a scan, and refreshed by a comparison.

use std::path::PathBuf;

use megadir::{Dir, Error, ErrorKind, Result, names};

use super::compare::{CompareOptions, Compared, Watch, examiner, from_source, open};
use super::engine::{self, Comparing};
use super::keep::{metadata, snapshot};
use super::source::KeptBlocks;
use crate::metadata::Root;
use crate::scan::{granule_ns, now_ns};
use crate::snapshot::{Snapshot, Unread};

impl Snapshot {
    /// Scans trees with `threads` threads. Entries that cannot be read are missing, see
    /// [`Metadata::is_complete`](crate::Metadata::is_complete).
    ///
    /// # Errors
    ///
    /// A root cannot be opened.
    pub fn from_scan(paths: &[PathBuf], threads: usize) -> Result<Self> {
        let started_ns = now_ns();
        let (trees, unopened) = open(paths.iter().map(Dir::open).collect())?;
        if let Some(error) = unopened.into_iter().next() {
            return Err(error);
        }
        let mut roots = Vec::new();
        for (path, tree) in paths.iter().zip(&trees) {
            let Some(tree) = tree else { continue };
            let absolute = std::path::absolute(path).map_err(|error| Error::io("open", path, error))?;
            let file_system = tree.directory.file_system();
            roots.push(Root {
                path: names::from_os(absolute.as_os_str()).to_vec(),
                file_system: file_system.to_string(),
                granule_ns: granule_ns(file_system, &tree.facts),
                newest_ns: None,
            });
        }
        let examiner = examiner(&trees, None)?;
        let metadata = metadata(started_ns, roots, false, examiner.name(), threads);
        let watch = Watch::default();
        let comparing = Comparing {
            metadata: &metadata,
            unread_before: &Unread::new(),
            trees,
            is_scan: true,
            exclude: Vec::new(),
            conditions: None,
            started_ns,
            examiner,
            threads,
            skip_unchanged: false,
            any_root: true,
            keep: true,
            stop: &watch.stop,
            entries: &watch.entries,
        };
        let mut found = engine::compare(&comparing, KeptBlocks { blocks: [].iter() })?;
        Ok(snapshot(&comparing, &mut found))
    }

    /// Reads the trees again and returns the changes. Unreadable entries stay as they were; a renamed directory
    /// that cannot be read has no entries ([`Compared::lost`] counts both). After an error nothing has changed.
    ///
    /// # Errors
    ///
    /// As [`changes::compare`](crate::changes::compare()).
    pub fn refresh(&mut self, options: &CompareOptions, watch: &Watch) -> Result<Compared> {
        let roots = self.metadata.roots.iter();
        let roots = roots.map(|root| names::to_os(&root.path).and_then(|path| Dir::open(&*path))).collect();
        let source = KeptBlocks { blocks: self.blocks.iter() };
        if options.conditions.is_some() {
            let reason = "a snapshot has all entries, so that none can be left out";
            return Err(Error::new("refresh", "".as_ref(), ErrorKind::BadOption, reason));
        }
        let options = CompareOptions { keep: true, ..options.clone() };
        let mut compared = from_source((&self.metadata, &self.errors), source, roots, &options, watch)?;
        match compared.now.take() {
            Some(now) => *self = now,
            None => {
                let reason = "the new rows were not kept";
                return Err(Error::new("refresh", "".as_ref(), ErrorKind::Io, reason));
            }
        }
        Ok(compared)
    }
}
