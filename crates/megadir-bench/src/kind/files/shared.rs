//! Directory that all ranks see.
//!
//! ```text
//!  rank 0: workspace, marker synced -> its name to all -> every rank reads the marker by its own path
//!  rank 0: the marker's bytes to all -> equal on every rank? -> all agree, or all fail with a reason
//! ```
//!
//! Without this proof, ranks on hosts with a local directory of the same path would each measure their own
//! disk, and the result would look like a good one. A marker on a network file system is synced first,
//! because other clients see only written data.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use megadir::Dir;
use megadir_mpi::{Error, World};

use crate::os::{self, At};
use crate::workspace::{Workspace, marker_below};

const FOLDER: &str = "files";
/// A rank that is being stopped may still create a file.
const REMOVALS_MAX: u32 = 20;
const REMOVE_EVERY: Duration = Duration::from_millis(50);

/// Private directory that rank 0 created in a directory of all ranks. What a killed job left, [`clean`](crate::clean) removes.
#[derive(Debug)]
pub struct SharedDirectory {
    parent: Dir,
    /// On rank 0.
    own: Option<Workspace>,
}

impl SharedDirectory {
    /// Creates it in `parent`, and proves that all ranks see it. The error is the same on all ranks; then nothing is left.
    pub fn create(world: &World, parent: &Path, heartbeat: &AtomicU64) -> Result<Self, Error> {
        let mut own = None;
        let mut open = || -> Result<Dir, String> {
            let opened = Dir::open(parent).map_err(|error| cannot(parent, &error.reason()))?;
            if world.rank() == 0 {
                let own = own.insert(Workspace::create(parent).map_err(|error| cannot(parent, &error))?);
                own.show_marker().map_err(|error| cannot(parent, &error))?;
            }
            Ok(opened)
        };
        let opened = open();
        let name = own.as_ref().map_or("", Workspace::name);
        let ready = opened.as_ref().map(|_| ()).map_err(String::clone);
        let seen = world.agree(ready).and_then(|()| prove(world, (parent, opened.as_ref().ok()), name));
        match (seen, opened) {
            (Ok(()), Ok(parent)) => Ok(Self { parent, own }),
            (seen, opened) => {
                if let Some(own) = own {
                    let _ = own.remove(heartbeat);
                }
                seen?;
                Err(Error::Disagreement(opened.err().unwrap_or_default()))
            }
        }
    }

    /// A new directory in it, for files of all ranks. `None` on other ranks than 0.
    pub fn folder(&self) -> io::Result<Option<PathBuf>> {
        let Some(own) = &self.own else { return Ok(None) };
        own.data_directory(FOLDER)?;
        Ok(Some(own.path().join(FOLDER)))
    }

    /// Removes it with everything in it, also if other ranks still create files there.
    pub fn remove(self, heartbeat: &AtomicU64) -> io::Result<()> {
        let Some(own) = self.own else { return Ok(()) };
        let remove = || os::if_there(own.remove_data_directory(FOLDER, heartbeat));
        let mut removed = remove();
        for _ in 1..REMOVALS_MAX {
            if removed.is_ok() {
                break;
            }
            heartbeat.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(REMOVE_EVERY);
            removed = remove();
        }
        removed?;
        own.remove(heartbeat)
    }
}

/// Proves that all ranks see the directory at `path`, and opens it. The error is the same on all ranks.
pub fn prove_shared(world: &World, path: &Path, heartbeat: &AtomicU64) -> Result<Dir, Error> {
    let SharedDirectory { parent, own } = SharedDirectory::create(world, path, heartbeat)?;
    let removed = own.map_or(Ok(()), |own| own.remove(heartbeat));
    world.agree(removed.map_err(|error| cannot(path, &error)))?;
    Ok(parent)
}

fn cannot(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("cannot use '{}': {error}; name a directory that all ranks can write", path.display())
}

/// `name`: rank 0's private directory in `parent`.
fn prove(world: &World, (path, parent): (&Path, Option<&Dir>), name: &str) -> Result<(), Error> {
    let name = String::from_utf8_lossy(&world.send_to_all(name.as_bytes())?).into_owned();
    let read = match parent {
        Some(parent) => marker_below(parent.at(), &name),
        None => Err(io::ErrorKind::NotFound.into()),
    };
    let first = world.send_to_all(read.as_deref().unwrap_or_default())?;
    let shown = path.display();
    world.agree(match read {
        Ok(bytes) if bytes == first && !bytes.is_empty() => Ok(()),
        Ok(_) => Err(format!("'{shown}' is another directory than on rank 0; all ranks need the same one")),
        Err(error) => Err(format!(
            "does not see in '{shown}' what rank 0 created there ({error}); all ranks need the same directory: name a shared one"
        )),
    })
}
