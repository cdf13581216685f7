//! Paths of recorded trees, and options that an inventory excludes: for commands that take a tree or its inventory.

use std::path::{Path, PathBuf};

use megadir_inventory::Metadata;
use megadir_inventory::Root;

use crate::exit::CliError;
use crate::ui::message::quoted;

/// Paths of the trees, as they were given to the scan.
pub(in crate::cmd) fn recorded_roots(metadata: &Metadata) -> megadir::Result<Vec<PathBuf>> {
    let path = |root: &Root| Ok(PathBuf::from(&*megadir::names::to_os(&root.path)?));
    metadata.roots.iter().map(path).collect()
}

/// Refuses the first option that is given: it would change how a tree is read, and no tree is read.
pub(in crate::cmd) fn refuse_reading_options(path: &Path, options: &[(bool, &str)]) -> Result<(), CliError> {
    let given = options.iter().find(|(is_given, _)| *is_given);
    given.map_or(Ok(()), |(_, option)| {
        let path = quoted(path);
        Err(CliError::usage(format!(
            "{option}: {path} is an inventory; the option is for reading directories"
        )))
    })
}
