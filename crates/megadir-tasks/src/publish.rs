//! Parts of an inventory in their folder. The first process that finishes a task names the part. It holds
//! the outcome too, so that a process that runs the task again finds both.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use megadir::{Error, ErrorKind, Result};
use megadir_inventory::{PARTS_FILE, open_file};

use crate::job::{Outcome, Part};

pub(crate) const NOTE: &str = "megadir.task";

static ATTEMPTS: AtomicU64 = AtomicU64::new(0);

/// Outcome of a part that is there; `None` if there is none.
pub(crate) fn published(part: &Path) -> Result<Option<Outcome>> {
    if !part.exists() {
        return Ok(None);
    }
    let malformed = |reason: String| Error::new("read", part, ErrorKind::Malformed, reason);
    let Some(text) = megadir_inventory::note(part, NOTE)? else {
        return Err(malformed("not the part of a task: remove it".to_owned()));
    };
    serde_json::from_str(&text).map(Some).map_err(|error| malformed(error.to_string()))
}

/// Hidden, so that no reader takes it for a part; of this attempt alone.
pub(crate) fn attempt_name(part: &str) -> String {
    let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!(".{part}.{}-{}-{attempt}", std::process::id(), now.as_nanos())
}

/// Names a finished part. If another process was faster, its part stays, and its outcome is returned.
pub(crate) fn publish(attempt: &Path, part: &Path) -> Result<Option<Outcome>> {
    match rename_to_free_name(attempt, part) {
        Ok(()) => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let _ = fs::remove_file(attempt);
            published(part)
        }
        Err(error) => Err(Error::io("name", part, error)),
    }
}

#[cfg(target_os = "linux")]
fn rename_to_free_name(from: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Network file systems do not know the flag; a link does not replace either.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => link(from, to)?,
        renamed => renamed?,
    }
    match to.parent() {
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_to_free_name(from: &Path, to: &Path) -> std::io::Result<()> {
    link(from, to)
}

fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::hard_link(from, to)?;
    fs::remove_file(from)
}

fn is_attempt(name: &[u8]) -> bool {
    name.starts_with(b".part-") || name.starts_with(b"..part-")
}

fn is_part(name: &[u8]) -> bool {
    name.ends_with(b".parquet") && !name.starts_with(b".")
}

fn names(folder: &Path) -> Result<Vec<std::ffi::OsString>> {
    let failed = |error| Error::io("read", folder, error);
    let entries = fs::read_dir(folder).map_err(failed)?;
    entries.map(|entry| Ok(entry.map_err(failed)?.file_name())).collect()
}

/// Checks that a folder has no parts yet. Errors: it cannot be read, or has parts.
pub fn check_folder(folder: &Path) -> Result<()> {
    for name in names(folder)? {
        let bytes = name.as_encoded_bytes();
        if is_part(bytes) || bytes == PARTS_FILE.as_bytes() {
            let reason = "it has parts of another scan: name an empty folder";
            return Err(Error::new("scan into", folder, ErrorKind::BadOption, reason));
        }
    }
    Ok(())
}

/// Ends a folder of parts: removes leftovers of lost tasks, and parts that are not among `parts`, then writes their number:
/// readers take the folder for complete from then on. Errors: a part is missing, or the folder cannot be written.
pub fn finish_folder(folder: &Path, parts: &[Part]) -> Result<()> {
    let parts: std::collections::HashSet<&[u8]> = parts.iter().map(|part| part.file.as_bytes()).collect();
    let mut found = 0;
    for name in names(folder)? {
        let bytes = name.as_encoded_bytes();
        if parts.contains(bytes) {
            found += 1;
        } else if is_attempt(bytes) || is_part(bytes) {
            let path = folder.join(&name);
            fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
        }
    }
    if found != parts.len() {
        let reason = format!("{found} parts instead of {}: some were removed; scan again", parts.len());
        return Err(Error::new("finish", folder, ErrorKind::Malformed, reason));
    }
    let (path, attempt) = (folder.join(PARTS_FILE), folder.join(format!(".{PARTS_FILE}")));
    let text = format!("{{\"version\":1,\"parts\":{}}}\n", parts.len());
    let written = open_file(&attempt, fs::File::options().write(true).create(true).truncate(true))
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&attempt, &path));
    written.map_err(|error| Error::io("write", &path, error))
}
