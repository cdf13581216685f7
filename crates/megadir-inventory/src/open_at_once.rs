//! Opening of files that may be named pipes. open(2) waits on a pipe until another program opens its other end, which may never happen; here
//! the wait ends after [`PATIENCE`]. Everything else is opened as usual. On Windows a pipe has a path of its own, and open does not wait.
//!
//! Reference: fifo(7), open(2) on `O_NONBLOCK`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;
#[cfg(unix)]
use std::time::{Duration, Instant};

use megadir::{Error, ErrorKind, Result};

/// Time for the program at the other end, which a shell started in the same line, to open it.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_millis(500);
#[cfg(unix)]
const PAUSE: Duration = Duration::from_millis(5);
/// Size of a pipe: the beginning decides about the format, and is read in one piece.
#[cfg(unix)]
const PIPE_BYTES: usize = 64 << 10;

const NOT_A_FILE: &str = "a named pipe (expected a file)";
#[cfg(unix)]
const NO_WRITER: &str = "no program writes into this named pipe: start its writer first, or name a file";
#[cfg(unix)]
const NO_READER: &str = "no program reads this named pipe: start its reader first, or name a file";

/// Opens a file whose reader may seek.
///
/// Errors: [`ErrorKind::BadOption`] for a named pipe; as [`File::open`].
pub fn open_to_read(path: &Path) -> Result<File> {
    open_file(path, File::options().read(true)).map_err(|error| failed("open", path, error))
}

/// Opens a file, a device or a pipe, to be read from its beginning to its end.
///
/// Errors: [`ErrorKind::BadOption`] for a named pipe without a writer, after half a second; as [`File::open`].
pub fn open_stream(path: &Path) -> Result<Box<dyn Read + Send>> {
    let opened = system::open(path, File::options().read(true)).and_then(system::stream);
    opened.map_err(|error| failed("open", path, error))
}

/// Opens a file, a device or a pipe to write to, as `options` say, without reading.
///
/// Errors: [`ErrorKind::BadOption`] for a named pipe without a reader, after half a second; as [`OpenOptions::open`].
pub fn open_to_write(path: &Path, options: &OpenOptions) -> Result<File> {
    let opened = system::open_to_write(path, options).and_then(system::waits);
    opened.map_err(|error| failed("write", path, error))
}

/// Opens a file as `options` say; for callers with errors of their own.
///
/// Errors: [`io::ErrorKind::InvalidInput`] for a named pipe; as [`OpenOptions::open`].
pub fn open_file(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let file = system::open(path, options)?;
    match system::is_pipe(&file)? {
        true => Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_A_FILE)),
        false => system::waits(file),
    }
}

/// Refusals of this module are the only errors of this kind that have no number of the system.
pub(crate) fn failed(operation: &'static str, path: &Path, error: io::Error) -> Error {
    match error.kind() == io::ErrorKind::InvalidInput && error.raw_os_error().is_none() {
        true => Error::new(operation, path, ErrorKind::BadOption, error.to_string()),
        false => Error::io(operation, path, error),
    }
}

#[cfg(unix)]
mod system {
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::io::Errno;

    use super::{
        File, Instant, NO_READER, NO_WRITER, OpenOptions, PATIENCE, PAUSE, PIPE_BYTES, Path, Read, io,
    };

    pub(super) fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
        let at_once = options.clone().custom_flags(OFlags::NONBLOCK.bits() as i32).open(path);
        match at_once {
            // A lease of another program, such as a file server, has to be broken first, which takes a moment.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && path.is_file() => options.open(path),
            opened => opened,
        }
    }

    pub(super) fn is_pipe(file: &File) -> io::Result<bool> {
        Ok(file.metadata()?.file_type().is_fifo())
    }

    /// Later calls wait for data and for room, as usual.
    pub(super) fn waits(file: File) -> io::Result<File> {
        fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
        Ok(file)
    }

    /// Without a writer reading ends at once, with one it fails until there are data.
    pub(super) fn stream(mut file: File) -> io::Result<Box<dyn Read + Send>> {
        if !is_pipe(&file)? {
            return Ok(Box::new(waits(file)?));
        }
        let mut first = vec![0; PIPE_BYTES];
        let begun = patiently(NO_WRITER, || match file.read(&mut first) {
            Ok(0) => Ok(None),
            Ok(read) => Ok(Some(first[..read].to_vec())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Some(Vec::new())),
            Err(error) => Err(error),
        })?;
        Ok(Box::new(io::Cursor::new(begun).chain(waits(file)?)))
    }

    pub(super) fn open_to_write(path: &Path, options: &OpenOptions) -> io::Result<File> {
        let is_pipe = || path.metadata().is_ok_and(|status| status.file_type().is_fifo());
        patiently(NO_READER, || match open(path, options) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) && is_pipe() => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn patiently<T>(refusal: &str, mut attempt: impl FnMut() -> io::Result<Option<T>>) -> io::Result<T> {
        let begun = Instant::now();
        loop {
            if let Some(done) = attempt()? {
                return Ok(done);
            }
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, refusal));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

#[cfg(windows)]
mod system {
    use super::{File, OpenOptions, Path, Read, io};

    pub(super) use self::open as open_to_write;

    pub(super) fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
        options.open(path)
    }

    #[expect(clippy::unnecessary_wraps, reason = "on Unix there is what fails")]
    pub(super) fn is_pipe(_file: &File) -> io::Result<bool> {
        Ok(false)
    }

    #[expect(clippy::unnecessary_wraps, reason = "on Unix there is what fails")]
    pub(super) fn waits(file: File) -> io::Result<File> {
        Ok(file)
    }

    #[expect(clippy::unnecessary_wraps, reason = "on Unix there is what fails")]
    pub(super) fn stream(file: File) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(file))
    }
}
