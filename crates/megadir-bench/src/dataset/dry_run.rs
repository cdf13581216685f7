//! Dry run of filling a directory: determines what would be made, and writes nothing.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use megadir_record::SizeLaw;

use super::fill::{Entered, Failed, FileOutcome, Sweep, Task, Tree, existing};
use super::{Content, FilePlace, Files, FillError, FillProgress, Filled, Rehearsed};
use crate::os::{self, At, Borrowed};

/// Missing directories counted; each takes about ten bytes of memory.
const DIRECTORIES_MAX: usize = 1 << 20;

/// Returns the result that filling `path` would have, and writes nothing. Errors: as from filling.
///
/// Uses the sweep of the filling with a function that only looks, so the two cannot come to different
/// results. In a directory that does not exist every file is missing, so flat sets of one size are computed
/// at once instead of asked for one by one. Only the names of missing directories are remembered, as hashes.
pub fn rehearse(
    path: &Path,
    files: &Files,
    progress: &mut dyn FnMut(FillProgress),
    stop: &AtomicBool,
) -> Result<Rehearsed, FillError> {
    let open = |source: io::Error| FillError::Open { path: path.to_owned(), source };
    os::check_path(path).map_err(open)?;
    let directory = match os::open_directory(path) {
        Ok(directory) => Some(directory),
        // It would be made, unless it is a dangling link or its parent is missing.
        Err(error) if error.kind() == ErrorKind::NotFound && std::fs::symlink_metadata(path).is_err() => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = std::fs::metadata(parent.unwrap_or(Path::new("."))).map_err(open)?;
            if !parent.is_dir() {
                return Err(open(os::not_a_directory()));
            }
            None
        }
        Err(error) => return Err(open(error)),
    };
    if directory.is_none() && files.is_flat() && files.sizes().law == SizeLaw::Fixed {
        let filled = Filled { made: files.entries(), ..Filled::default() };
        let bytes = files.entries().saturating_mul(files.sizes().size_bytes);
        return Ok(Rehearsed { filled, more_directories: false, bytes });
    }
    let tree = directory.as_ref().map(|directory| Tree::new(directory.at()));
    let (missing, hasher) = (HashSet::new(), RandomState::new());
    let mut rehearsal = Rehearsal { tree, missing, hasher, more_directories: false };
    let (mut sweep, mut bytes) = (Sweep::new(files), 0_u64);
    sweep.to(files.entries(), progress, stop, |placed, content, task| {
        let (found, more) = rehearsal.look(placed, content, task)?;
        bytes = bytes.saturating_add(more);
        Ok(found)
    })?;
    let Rehearsal { missing, more_directories, .. } = rehearsal;
    let filled = Filled { directories_made: missing.len() as u64, ..sweep.filled };
    Ok(Rehearsed { filled, more_directories, bytes })
}

/// State of a dry run. `tree` is `None` if the directory does not exist. `missing` has a hash for each
/// directory that would be made, up to `DIRECTORIES_MAX`; beyond that the count is a lower bound.
struct Rehearsal<'a> {
    tree: Option<Tree<'a>>,
    missing: HashSet<u64>,
    hasher: RandomState,
    more_directories: bool,
}

impl Rehearsal<'_> {
    fn look(
        &mut self,
        placed: &FilePlace<'_>,
        content: Content,
        task: &mut Task<'_>,
    ) -> Result<(FileOutcome, u64), Failed> {
        let there = match &mut self.tree {
            None => 0,
            Some(tree) => match tree.enter(placed.directory(), false)? {
                Entered::Directory(leaf) => return look_at(leaf, placed.file(), content, task),
                Entered::Taken(end) => return Ok((FileOutcome::InTheWay(end), 0)),
                Entered::Missing(end) => end,
            },
        };
        self.miss(placed.directory(), there);
        Ok((FileOutcome::Nothing, task.size_bytes))
    }

    /// Notes all directories of a path beyond its first `there` bytes.
    fn miss(&mut self, path: &[u8], there: usize) {
        let ends = (there + 1..path.len()).filter(|end| path[*end] == b'/').chain([path.len()]);
        for end in ends.filter(|end| *end > there) {
            let hash = self.hasher.hash_one(&path[..end]);
            if self.missing.len() < DIRECTORIES_MAX {
                self.missing.insert(hash);
            } else if !self.missing.contains(&hash) {
                self.more_directories = true;
            }
        }
    }
}

/// Outcome for a file in an existing directory, and the bytes that would be written.
fn look_at(
    leaf: Borrowed<'_>,
    name: &[u8],
    content: Content,
    task: &mut Task<'_>,
) -> Result<(FileOutcome, u64), Failed> {
    if os::if_there(os::status(leaf, name))?.is_none() {
        return Ok((FileOutcome::Nothing, task.size_bytes));
    }
    let (found, file) = existing(leaf, name, content, task)?;
    Ok((found, file.map_or(0, |(_, there)| task.size_bytes - there)))
}
