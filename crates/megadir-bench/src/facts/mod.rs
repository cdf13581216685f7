//! Capabilities of backends, file systems and volumes, determined before planning.
//!
//! ```text
//!  directory of the user --+                                  +--> backends, methods, cache states
//!  volumes of the user   --+--> probe each backend there  ----+
//!  file systems to make  --> a small image of each, mounted --+--> (`file_systems.rs`)
//! ```
//!
//! Planning is pure, so everything that it must know of the machine is asked here, once, by trying it: a
//! kernel's version or a type of file system is no proof that a call works there.

#[cfg(target_os = "linux")]
mod file_systems;

use std::path::{Path, PathBuf};

use megadir::{BACKENDS, BUFFER_BYTES_MAX, BUFFER_BYTES_MIN, Dir, THREADS_MAX, policy};
use megadir_record::{FsId, LabFileSystem, Place};

use crate::cache::cache_facts;
use crate::host;
use crate::method::method_facts;
use crate::os::At;
use crate::request::{BackendFact, FileSystemFact, FoundFileSystem};

#[cfg(target_os = "linux")]
pub use file_systems::file_system_facts;

#[derive(Debug)]
pub struct LabFacts {
    pub file_systems: Vec<FileSystemFact>,
    pub room_bytes: u64,
}

/// Buffer of glibc's readdir, which a caller cannot change.
const C_LIBRARY_BUFFER_BYTES: u64 = 32 << 10;

pub fn backend_facts(directory: &Dir) -> Vec<BackendFact> {
    facts(directory, |backend| backend.probe(directory).err().map(|error| error.reason()))
}

/// Capabilities of every backend on directories that will be made below `directory`. ext4 indexes a directory when it outgrows
/// a block, so threaded backends are not probed on the small parent; the run probes the real directories.
pub fn backend_facts_below(directory: &Dir) -> Vec<BackendFact> {
    let splits = policy::row(directory.file_system()).split_from_bytes.is_some();
    facts(directory, |backend| {
        let is_probed = !(splits && backend.uses_threads());
        is_probed.then(|| backend.probe(directory).err().map(|error| error.reason())).flatten()
    })
}

fn facts(directory: &Dir, unavailable: impl Fn(&dyn megadir::Backend) -> Option<String>) -> Vec<BackendFact> {
    let shares = policy::row(directory.file_system()).shares_per_thread;
    let facts = BACKENDS.iter().map(|backend| BackendFact {
        name: backend.name(),
        unavailable: unavailable(*backend),
        threads_max: if backend.uses_threads() { THREADS_MAX as u32 } else { 1 },
        shares_per_thread: backend.uses_threads().then_some(shares as u32),
        buffer_fixed: (!backend.uses_buffer()).then_some(C_LIBRARY_BUFFER_BYTES),
        buffer_bytes: (BUFFER_BYTES_MIN as u64, BUFFER_BYTES_MAX as u64),
    });
    facts.collect()
}

/// Capabilities of directories that will be made below each of `directories`; `labels` names them in tables.
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

/// A directory of the user as a place of the plan, like file systems that are made.
fn look(path: &Path, label: &str) -> Result<FoundFileSystem, megadir::Error> {
    let directory = Dir::open(path)?;
    let mounted = host::file_system(directory.at());
    let file_system = LabFileSystem {
        id: FsId(0),
        name: label.to_owned(),
        label: label.to_owned(),
        driver: mounted.kind.clone(),
        kind: mounted.kind,
        make: Vec::new(),
        tool: None,
        mount_options: mounted.mount_options.unwrap_or_default(),
        place: Place::Directory { path: host::whole_path(path).to_string_lossy().into_owned() },
        disk: None,
        reformatted: false,
    };
    Ok(FoundFileSystem {
        file_system,
        bytes_max: u64::MAX,
        backends: backend_facts_below(&directory),
        methods: method_facts(&directory),
        caches: cache_facts(&directory),
    })
}

#[cfg(not(target_os = "linux"))]
pub fn file_system_facts(
    _directory: &Path,
    specs: &[(crate::lab::Spec, Option<&Path>)],
    _disk: &crate::lab::DiskSpec,
    _control: crate::control::RunControl<'_>,
) -> Result<LabFacts, crate::lab::LabError> {
    let fact = |(spec, _): &(crate::lab::Spec, Option<&Path>)| FileSystemFact {
        name: spec.to_string(),
        spec: Some(spec.clone()),
        found: Err(crate::lab::LINUX_ONLY.to_owned()),
    };
    Ok(LabFacts { file_systems: specs.iter().map(fact).collect(), room_bytes: 0 })
}
