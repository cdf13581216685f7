//! Directories of the user on volumes that a run compares: nothing is created to examine them.

use std::path::{Path, PathBuf};

use megadir::Dir;

use super::backend_facts_below;
use crate::cache::cache_facts;
use crate::host;
use crate::method::method_facts;
use crate::os::At;
use crate::request::{Backing, FileSystemFact, FoundFileSystem};

/// Determines the capabilities of directories that will be made below each of `directories`. `labels` names them
/// in tables.
pub fn volume_facts(
    directories: &[PathBuf],
    labels: &[String],
) -> Result<Vec<FileSystemFact>, megadir::Error> {
    let fact = |(directory, label): (&PathBuf, &String)| {
        let found = look(directory, label)?;
        Ok(FileSystemFact { name: label.clone(), spec: None, found: Ok(found) })
    };
    directories.iter().zip(labels).map(fact).collect()
}

fn look(path: &Path, label: &str) -> Result<FoundFileSystem, megadir::Error> {
    let directory = Dir::open(path)?;
    let mounted = host::file_system(directory.at());
    Ok(FoundFileSystem {
        label: label.to_owned(),
        driver: mounted.kind.clone(),
        kind: mounted.kind,
        mount_options: mounted.mount_options.unwrap_or_default(),
        tool: None,
        // The same from everywhere, so that the run can be resumed.
        backing: Backing::Directory { path: host::whole_path(path).to_string_lossy().into_owned() },
        backends: backend_facts_below(&directory),
        methods: method_facts(&directory),
        caches: cache_facts(&directory),
    })
}
