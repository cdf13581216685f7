//! Capabilities of backends, file systems and volumes, determined before planning.

#[cfg(target_os = "linux")]
mod file_systems;
#[cfg(not(target_os = "linux"))]
mod unsupported;
mod volumes;

#[cfg(target_os = "linux")]
pub use file_systems::file_system_facts;
use megadir::{BACKENDS, BUFFER_BYTES_MAX, BUFFER_BYTES_MIN, Dir, THREADS_MAX, policy};
#[cfg(not(target_os = "linux"))]
pub use unsupported::file_system_facts;
pub use volumes::volume_facts;

use crate::request::{BackendFact, FileSystemFact};

#[derive(Debug)]
pub struct LabFacts {
    pub file_systems: Vec<FileSystemFact>,
    /// Bytes free for their images.
    pub room_bytes: u64,
}

/// Buffer of glibc's readdir, bytes; fixed.
const C_LIBRARY_BUFFER_BYTES: u64 = 32 << 10;

/// Returns the capabilities of every backend of this system on `directory` itself.
pub fn backend_facts(directory: &Dir) -> Vec<BackendFact> {
    facts(directory, |backend| backend.probe(directory).err().map(|error| error.reason()))
}

/// Capabilities of every backend on directories that will be made below `directory`. ext4 indexes a directory
/// when it outgrows a block, so threaded backends are not probed on the small parent; the run probes the real
/// directories.
pub fn backend_facts_below(directory: &Dir) -> Vec<BackendFact> {
    let splits = policy::row(directory.file_system()).split_from_bytes.is_some();
    facts(directory, |backend| {
        let asked = !(splits && backend.uses_threads());
        asked.then(|| backend.probe(directory).err().map(|error| error.reason())).flatten()
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
