//! The file of a record while a run writes it: it appears with its first line, others may read it meanwhile, and only one run writes it.
//!
//! ```text
//! prepare the data ... -> .megadir-record-XXXXXX.partial: header, fsync -> rename to NAME, never over a file -> fsync of the directory
//!                                                                          -> one line a block
//! ```
//!
//! Killed before the rename a run leaves no record; killed after it, one that can be resumed. On Linux the file is locked, which readers do not
//! ask for. A lock of Windows would keep them from reading, so there the file is opened in a way that lets no other process write.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use megadir_bench::Durable;

const TAKEN: &str = "another run is writing it";
/// How the name of a record begins and ends before it has its own.
const PREFIX: &str = ".megadir-record-";
const SUFFIX: &str = ".partial";
/// How a record begins.
const HEAD: &[u8] = b"{\"line\":\"header\",";

/// Where a run writes its record.
#[derive(Debug)]
pub(super) enum RecordFile {
    /// Has no file yet.
    New(New),
    Open(File),
}

/// A record before its first line.
#[derive(Debug)]
pub(super) struct New {
    /// The paths it may get: the first that is free.
    paths: Vec<PathBuf>,
    /// The empty file that stands for the record, locked, where the run looks at the directory that it lies in before the record begins.
    reserved: Option<(File, PathBuf)>,
    got: Arc<OnceLock<PathBuf>>,
}

impl Drop for New {
    fn drop(&mut self) {
        if let Some((_, path)) = self.reserved.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl RecordFile {
    /// Returns a new record at the first of these paths that is free once the record begins, and where to find out which that was.
    ///
    /// Refuses at once what could not be made then: a path that is taken, a directory that cannot be written to. In the directory
    /// `listed` the record's name is there from now on: the run holds every listing against the names that it found before.
    pub(super) fn create(
        paths: Vec<PathBuf>,
        listed: Option<&Path>,
    ) -> io::Result<(Self, Arc<OnceLock<PathBuf>>)> {
        let free = paths.iter().find(|path| path.symlink_metadata().is_err());
        let path = free.ok_or(io::ErrorKind::AlreadyExists)?;
        drop(temporary(path)?);
        let is_listed = match listed {
            Some(listed) => listed.canonicalize()? == directory(path).canonicalize()?,
            None => false,
        };
        let reserved = match is_listed {
            true => Some((alone(path, File::options().write(true).create_new(true))?, path.clone())),
            false => None,
        };
        let got = Arc::default();
        Ok((Self::New(New { paths, reserved, got: Arc::clone(&got) }), got))
    }
}

impl Write for RecordFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Open(file) => file.write(bytes),
            Self::New(new) => {
                *self = Self::Open(new.begin(bytes)?);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Durable for RecordFile {
    fn make_durable(&mut self) -> io::Result<()> {
        match self {
            Self::Open(file) => file.make_durable(),
            Self::New(_) => Ok(()),
        }
    }
}

impl New {
    /// Makes the file with its first line, whole and on stable storage before it has its name.
    fn begin(&mut self, line: &[u8]) -> io::Result<File> {
        if let Some((file, path)) = self.reserved.take() {
            // Windows renames over no file that is open.
            #[cfg(windows)]
            drop(file);
            let begun = replace(&path, line);
            #[cfg(unix)]
            drop(file);
            let _ = self.got.set(path);
            return begun;
        }
        let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
        for path in &self.paths {
            match place(path, line) {
                Ok(file) => {
                    let _ = self.got.set(path.clone());
                    return Ok(file);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
                Err(error) => return Err(error),
            }
        }
        Err(taken)
    }
}

/// Replaces the empty file of this run.
fn replace(path: &Path, line: &[u8]) -> io::Result<File> {
    let mut file = temporary(path)?;
    file.write_all(line)?;
    file.as_file().sync_all()?;
    let file = file.persist(path).map_err(|error| error.error)?;
    sync_directory(path);
    keep(file, path)
}

/// Makes a file at a path where none is.
fn place(path: &Path, line: &[u8]) -> io::Result<File> {
    let mut file = temporary(path)?;
    file.write_all(line)?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(file) => {
            sync_directory(path);
            keep(file, path)
        }
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(error.error),
        // Some file systems neither rename without replacing nor know hard links.
        Err(_) => {
            let mut file = alone(path, File::options().write(true).create_new(true))?;
            file.write_all(line)
                .and_then(|()| file.sync_all())
                .inspect_err(|_| drop(std::fs::remove_file(path)))?;
            Ok(file)
        }
    }
}

/// Returns a file beside a path, locked, which is removed when dropped.
fn temporary(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: what the umask takes is taken.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(directory(path))?;
    match file.as_file().try_lock() {
        Err(std::fs::TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => Err(error),
        _ => Ok(file),
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Keeps the lock of a file that got its name.
#[cfg(unix)]
fn keep(file: File, _path: &Path) -> io::Result<File> {
    Ok(file)
}

/// Opens a file that got its name again, such that no other process writes it.
#[cfg(windows)]
fn keep(file: File, path: &Path) -> io::Result<File> {
    drop(file);
    let mut file = open(path)?;
    io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
    Ok(file)
}

/// Makes the name of a file durable; some file systems know no fsync of a directory.
fn sync_directory(path: &Path) {
    if cfg!(unix)
        && let Ok(directory) = File::open(directory(path))
    {
        let _ = directory.sync_all();
    }
}

/// Opens a record that is there, to resume it.
pub(super) fn open(path: &Path) -> io::Result<File> {
    // Appending alone would not let Windows cut a line off.
    alone(path, File::options().read(true).write(true).append(cfg!(unix)))
}

/// Returns the names of the files in a directory that runs left which were killed while they began their record.
pub(super) fn abandoned(directory: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let ours = name.starts_with(PREFIX) && name.ends_with(SUFFIX);
        if ours && entry.file_type()?.is_file() && is_abandoned(&entry.path()) {
            found.push(name);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns `true` if a file is the beginning of a record that no run writes.
fn is_abandoned(path: &Path) -> bool {
    let mut head = Vec::new();
    let mut begins = |file: &mut File| {
        file.take(HEAD.len() as u64).read_to_end(&mut head)?;
        Ok::<_, io::Error>(HEAD.starts_with(&head))
    };
    File::open(path).is_ok_and(|mut file| file.try_lock().is_ok() && begins(&mut file).unwrap_or(false))
}

/// Opens a file that no other process writes; file systems without locks are taken as they are.
#[cfg(unix)]
fn alone(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(io::Error::other(TAKEN)),
        Err(std::fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Opens a file that no other process writes.
#[cfg(windows)]
fn alone(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    /// `FILE_SHARE_READ`
    const SHARE_READ: u32 = 1;
    /// `ERROR_SHARING_VIOLATION`
    const SHARING_VIOLATION: i32 = 32;
    options.share_mode(SHARE_READ).open(path).map_err(|error| match error.raw_os_error() {
        Some(SHARING_VIOLATION) => io::Error::other(TAKEN),
        _ => error,
    })
}
