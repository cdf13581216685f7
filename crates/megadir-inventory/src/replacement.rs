//! A file that takes the place of another when it is whole, and not before.
//!
//! ```text
//! create: .NAME.megadir-partial beside NAME, locked -> write -> finish: fsync, rename to NAME, fsync of the directory
//!                                                                      (on Windows of the file once more)
//! ```
//!
//! Killed at any moment, the file NAME is what it was. What a killed process has left is taken over by the next: its
//! lock is free, it is this user's (or of whose the old file is) and has no other name, and what it holds begins as the
//! files that are written here do; anything else by that name is left alone: in a directory where others may write, they
//! could wait there for what only this user may read. What is no regular file (a pipe, `/dev/null`, `NUL`) is written to directly.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use megadir::{Error, ErrorKind, Result};

pub(crate) use self::system::excluded;
use crate::scan::Excluded;

#[cfg(unix)]
#[path = "replacement/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "replacement/windows.rs"]
mod system;

/// What is appended to the name of a file that is not whole.
const SUFFIX: &str = ".megadir-partial";
/// How files begin that are written here: Parquet, JSON lines, CSV.
const HEADS: [&[u8]; 3] = [b"PAR1", b"{\"v\":1,", b"root,parent,name"];
/// The longest of them, bytes.
const HEAD_BYTES: u64 = 16;
/// The temporary file may be renamed by its owner between opening and locking it: it is tried again so often.
const TRIES_MAX: usize = 100;

/// A file being written; dropped without [`Replacement::finish`] it leaves nothing behind.
#[derive(Debug)]
pub struct Replacement {
    file: Option<File>,
    /// Where the file will lie, for messages.
    path: PathBuf,
    /// The temporary file and the path it is renamed to; `None` where there is none.
    rename: Option<(PathBuf, PathBuf)>,
    written_bytes: u64,
    /// Up to where the system was asked to store what has been written.
    #[cfg(target_os = "linux")]
    sent_bytes: u64,
}

impl Replacement {
    /// Begins a file that will lie at `path`, which is left alone until then.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] where another process is writing the same file or something else has the temporary
    /// name, or whatever the system gives.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = |error| Error::io("write", path, error);
        let made = |file, rename| Self {
            file: Some(file),
            path: path.to_owned(),
            rename,
            written_bytes: 0,
            #[cfg(target_os = "linux")]
            sent_bytes: 0,
        };
        if system::is_device(path) {
            let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            return Ok(made(file, None));
        }
        // What a link points to is replaced, not the link.
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match std::fs::metadata(&target) {
            Ok(status) if status.is_dir() => {
                let reason = "a directory has this name: name a file";
                return Err(Error::new("write", path, ErrorKind::BadOption, reason));
            }
            Ok(status) if !status.is_file() => {
                let file = OpenOptions::new().write(true).open(&target).map_err(failed)?;
                return Ok(made(file, None));
            }
            // Better now than when all is written.
            Ok(status) => system::may_replace(&target, &status).map_err(failed)?,
            Err(_) => {}
        }
        let Some(name) = target.file_name() else {
            let reason = "this is not the name of a file";
            return Err(Error::new("write", path, ErrorKind::BadOption, reason));
        };
        let mut partial = OsString::from(".");
        partial.push(name);
        partial.push(SUFFIX);
        let partial = target.with_file_name(partial);
        let old = std::fs::metadata(&target).ok();
        let file = take(path, &partial, old.as_ref())?;
        let made = made(file, Some((partial, target)));
        made.permit(old.as_ref()).map_err(failed)?;
        Ok(made)
    }

    /// Lets those read the new file who may read the old one.
    fn permit(&self, old: Option<&Metadata>) -> io::Result<()> {
        let (Some(file), Some((partial, target))) = (&self.file, &self.rename) else { return Ok(()) };
        match old {
            Some(status) => system::permit_as((file, partial), (status, target)),
            None => Ok(()),
        }
    }

    /// Returns what a scan has to leave out: this file, and the one whose place it takes.
    pub fn excluded(&self) -> Vec<Excluded> {
        let Some((partial, target)) = &self.rename else { return Vec::new() };
        [partial, target].into_iter().filter_map(|path| excluded(path)).collect()
    }

    /// Has the system begin to store what has been written, so that there is little to wait for at the end.
    pub(crate) fn store(&mut self) {
        #[cfg(target_os = "linux")]
        if let (Some(file), Some(_), Some(length)) =
            (&self.file, &self.rename, std::num::NonZeroU64::new(self.written_bytes - self.sent_bytes))
        {
            // Linux starts to write dirty pages that are not needed any more (`mm/fadvise.c`), and keeps them meanwhile. Where
            // it does not, all is stored at the end.
            let _ = rustix::fs::fadvise(file, self.sent_bytes, Some(length), rustix::fs::Advice::DontNeed);
            self.sent_bytes = self.written_bytes;
        }
    }

    /// Puts the file into its place, on stable storage; returns its size, bytes.
    ///
    /// # Errors
    ///
    /// Whatever the system gives; the file that was there before is there still. Where the new one is whole and only cannot be given its
    /// name, it is kept by its temporary one, which the error names.
    pub fn finish(mut self) -> Result<u64> {
        self.put()
    }

    /// Puts the file into its place while others hold it; nothing may be written after it.
    pub(crate) fn put(&mut self) -> Result<u64> {
        self.sync_and_rename().map_err(|error| Error::io("write", &self.path, error))?;
        Ok(self.written_bytes)
    }

    fn sync_and_rename(&mut self) -> io::Result<()> {
        let (Some(file), Some((partial, target))) = (&self.file, &self.rename) else { return Ok(()) };
        file.sync_all()?;
        // It is open and locked meanwhile, so that nobody takes it for left behind.
        if let Err(error) = std::fs::rename(partial, target) {
            let why = Error::io("write", target, io::Error::new(error.kind(), error.to_string())).reason();
            let kept = format!("{why}; it is whole in '{}': give it its name", partial.display());
            self.rename = None;
            return Err(io::Error::new(error.kind(), kept));
        }
        system::sync_name(file, target);
        self.rename = None;
        // Whoever holds it on shall not keep others from reading it.
        self.file = None;
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.file else { return Err(io::Error::other("the file is closed")) };
        let written = file.write(bytes)?;
        self.written_bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some((partial, _)) = &self.rename {
            // It is locked still, so that it is ours.
            let _ = std::fs::remove_file(partial);
        }
    }
}

/// Opens the temporary file of the one that replaces `old`, empty and locked.
fn take(path: &Path, partial: &Path, old: Option<&Metadata>) -> Result<File> {
    let failed = |error| Error::io("write", path, error);
    let refused = |reason: String| Error::new("write", path, ErrorKind::Unavailable, reason);
    for _ in 0..TRIES_MAX {
        let mut file = system::open(partial, old).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(refused("another process is writing this file: wait for it".to_owned()));
            }
            // Some network file systems have no locks.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        if !system::is_at(&file, partial) {
            // Its owner has put it into its place meanwhile.
            continue;
        }
        if !is_ours(&mut file, partial, old).map_err(failed)? {
            let name = partial.display();
            return Err(refused(format!("something else has the name of its temporary file: move '{name}'")));
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
        return Ok(file);
    }
    Err(refused("its temporary file is taken again and again by others: try later".to_owned()))
}

/// Tells whether a file may be written over: it is one that a killed process of this user can have left, and it is empty, or
/// begins as a file that was not finished here.
fn is_ours(file: &mut File, partial: &Path, old: Option<&Metadata>) -> io::Result<bool> {
    let status = file.metadata()?;
    if !status.is_file() || !system::is_own(partial, &status, old) {
        return Ok(false);
    }
    let mut head = Vec::new();
    Read::by_ref(file).take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head.is_empty() || HEADS.iter().any(|known| head.starts_with(known) || known.starts_with(&head)))
}

#[cfg(test)]
mod tests {
    use super::Replacement;
    use std::fs;
    use std::io::Write;

    #[test]
    fn the_old_file_stays_until_the_new_one_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("inventory");
        fs::write(&path, "old").unwrap();
        let names = || fs::read_dir(directory.path()).unwrap().count();
        let mut file = Replacement::create(&path).unwrap();
        file.write_all(b"PAR1 new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let error = Replacement::create(&path).unwrap_err();
        assert!(error.to_string().contains("another process is writing"), "{error}");
        drop(file);
        assert_eq!((fs::read(&path).unwrap(), names()), (b"old".to_vec(), 1));
        let mut file = Replacement::create(&path).unwrap();
        file.write_all(b"PAR1 new").unwrap();
        assert_eq!(file.finish().unwrap(), 8);
        assert_eq!((fs::read(&path).unwrap(), names()), (b"PAR1 new".to_vec(), 1));
    }

    #[test]
    fn what_others_have_open_is_replaced_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("inventory");
        fs::write(&path, "old").unwrap();
        let mut file = Replacement::create(&path).unwrap();
        file.write_all(b"PAR1 new").unwrap();
        let excluded = file.excluded();
        assert_eq!(excluded.len(), 2, "{excluded:?}");
        assert!(excluded.iter().all(|file| file.inode.is_some()) && excluded[0].inode != excluded[1].inode);
        let reader = fs::File::open(&path).unwrap();
        match file.finish() {
            Ok(8) => assert_eq!(fs::read(&path).unwrap(), b"PAR1 new"),
            // Wine 8 replaces nothing that is open, and says so: what was written is kept.
            Err(error) if megadir_testkit::require::is_wine() => {
                megadir_testkit::require::unavailable("what_others_have_open", &error.to_string());
                assert_eq!(fs::read(&path).unwrap(), b"old");
                let partial = directory.path().join(".inventory.megadir-partial");
                assert_eq!(fs::read(&partial).unwrap(), b"PAR1 new");
                assert!(error.to_string().contains("it is whole in"), "{error}");
                fs::remove_file(partial).unwrap();
            }
            other => panic!("{other:?}"),
        }
        drop(reader);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn what_cannot_be_put_into_its_place_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("inventory");
        let mut file = Replacement::create(&path).unwrap();
        file.write_all(b"PAR1 new").unwrap();
        // A directory takes the name meanwhile.
        fs::create_dir(&path).unwrap();
        let error = file.finish().unwrap_err().to_string();
        let partial = directory.path().join(".inventory.megadir-partial");
        assert!(error.contains("it is whole in '") && error.contains(".megadir-partial"), "{error}");
        assert_eq!(fs::read(&partial).unwrap(), b"PAR1 new");
    }

    #[cfg(windows)]
    #[test]
    fn what_is_marked_as_read_only_is_refused_before_anything_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("inventory");
        fs::write(&path, "old").unwrap();
        let before = fs::metadata(&path).unwrap().permissions();
        let mut marked = before.clone();
        marked.set_readonly(true);
        fs::set_permissions(&path, marked).unwrap();
        let error = Replacement::create(&path).unwrap_err().to_string();
        assert!(error.contains("read-only"), "{error}");
        fs::set_permissions(&path, before).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[cfg(windows)]
    #[test]
    fn who_may_read_the_old_file_may_read_the_new_one() {
        use megadir::AccessList;
        let directory = tempfile::tempdir().unwrap();
        let [path, beside] = ["inventory", "beside"].map(|name| directory.path().join(name));
        fs::write(&path, "old").unwrap();
        fs::write(&beside, "old").unwrap();
        let list = |path: &std::path::Path| AccessList::of(&fs::File::open(path).unwrap()).unwrap();
        assert_eq!(list(&path), list(&beside));
        let command = |program: &str| {
            let mut command = std::process::Command::new(program);
            command.current_dir(directory.path()).stdin(std::process::Stdio::null());
            command
        };
        if megadir_testkit::require::is_wine() {
            // Lists are the modes of the system below it, whose programs it starts, but neither tells that it has nor waits for.
            let _ = command("Z:\\bin\\chmod").args(["0606", "inventory"]).status();
            let begun = std::time::Instant::now();
            while list(&path) == list(&beside) {
                assert!(begun.elapsed().as_secs() < 60, "the mode stays as it was");
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        } else {
            // What was handed down becomes its own.
            let made = command("icacls").args(["inventory", "/inheritance:d"]).output().unwrap();
            assert!(made.status.success(), "{made:?}");
        }
        let narrow = list(&path);
        assert_ne!(narrow, list(&beside));
        let mut file = Replacement::create(&path).unwrap();
        assert_eq!(
            list(&directory.path().join(".inventory.megadir-partial")),
            narrow,
            "before anything is written"
        );
        file.write_all(b"PAR1 new").unwrap();
        file.finish().unwrap();
        assert_eq!((list(&path), fs::read(&path).unwrap()), (narrow, b"PAR1 new".to_vec()));
    }

    #[cfg(unix)]
    #[test]
    fn whose_the_old_file_is_the_new_one_is() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
        if !rustix::process::geteuid().is_root() {
            return megadir_testkit::require::not_run(
                "whose_the_old_file_is",
                "root alone can give files away",
            );
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("inventory");
        let partial = directory.path().join(".inventory.megadir-partial");
        fs::write(&path, "old").unwrap();
        chown(&path, Some(65534), Some(65533)).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        for killed in [false, true] {
            if killed {
                fs::write(&partial, "PAR1").unwrap();
                chown(&partial, Some(65534), Some(65533)).unwrap();
            }
            Replacement::create(&path).unwrap().finish().unwrap();
            let status = fs::metadata(&path).unwrap();
            assert_eq!((status.uid(), status.gid(), status.mode() & 0o7777), (65534, 65533, 0o640));
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_waits_under_the_temporary_name_for_others_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("inventory");
        let partial = directory.path().join(".inventory.megadir-partial");
        let refused = |what: &str| {
            let error = Replacement::create(&path).unwrap_err().to_string();
            assert!(error.contains("something else has the name"), "{what}: {error}");
        };
        let precious = directory.path().join("precious");
        fs::write(&precious, "PAR1 precious").unwrap();
        fs::hard_link(&precious, &partial).unwrap();
        refused("another name of a file");
        assert_eq!(fs::read(&precious).unwrap(), b"PAR1 precious");
        fs::remove_file(&partial).unwrap();
        std::os::unix::fs::symlink(&precious, &partial).unwrap();
        Replacement::create(&path).unwrap_err();
        assert_eq!(fs::read(&precious).unwrap(), b"PAR1 precious");
        fs::remove_file(&partial).unwrap();
        if !rustix::process::geteuid().is_root() {
            return megadir_testkit::require::not_run("what_waits", "root alone can give files away");
        }
        for _replaced in [false, true] {
            fs::write(&partial, "").unwrap();
            std::os::unix::fs::chown(&partial, Some(65534), None).unwrap();
            refused("a file of another user");
            assert_eq!(fs::read(&partial).unwrap(), b"");
            fs::remove_file(&partial).unwrap();
            fs::write(&path, "old").unwrap();
        }
    }

    #[test]
    fn what_a_killed_process_left_is_taken_over_and_what_others_left_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("inventory");
        let partial = directory.path().join(".inventory.megadir-partial");
        for left in ["", "PA", "PAR1 and much more than a head is long"] {
            fs::write(&partial, left).unwrap();
            let mut file = Replacement::create(&path).unwrap();
            file.write_all(b"PAR1").unwrap();
            file.finish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"PAR1", "after {left:?}");
        }
        fs::write(&partial, "my notes").unwrap();
        let error = Replacement::create(&path).unwrap_err();
        assert!(error.to_string().contains("something else has the name"), "{error}");
        assert_eq!(fs::read(&partial).unwrap(), b"my notes");
    }
}
