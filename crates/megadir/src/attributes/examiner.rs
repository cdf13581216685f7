//! The ways of asking for attributes, as backends are the ways of listing.
//!
//! Adding one is a file beside this one and two lines here; lists, help and the conformance suite follow.

use crate::attributes::{Attributes, Want};
use crate::batch::Batch;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::nearest::choices;

/// Every way of asking on this system, the oracle first.
pub static EXAMINERS: &[&dyn Examiner] = &[
    &super::std_metadata::StdMetadata,
    #[cfg(target_os = "linux")]
    &super::statx::Statx,
    #[cfg(unix)]
    &super::fstatat::Fstatat,
    #[cfg(target_os = "linux")]
    &super::bulk::XfsBulkstat,
    #[cfg(target_os = "linux")]
    &super::bulk::BtrfsSearch,
    #[cfg(all(target_os = "linux", feature = "io-uring"))]
    &super::uring::Uring,
    #[cfg(windows)]
    &super::listed::Listed,
    #[cfg(windows)]
    &super::windows_each::AttributesEach,
    #[cfg(windows)]
    &super::windows_each::OpenEach,
];

/// A way of asking the operating system for attributes.
pub trait Examiner: Sync {
    /// Returns the name used in options and reports, e.g. `statx`.
    fn name(&self) -> &'static str;

    /// Returns one line on what it is.
    fn about(&self) -> &'static str;

    /// Tells whether it can examine entries of this directory; `Err` says why not.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] with the reason.
    fn probe(&self, directory: &Dir) -> Result<()>;

    /// Tells whether it takes what the listing brings along, for which the directory is to be opened by
    /// [`Backend::open_with_attributes`](crate::Backend::open_with_attributes).
    fn is_listed(&self) -> bool {
        false
    }

    /// Tells whether threads get on better far apart in a directory than side by side.
    fn works_apart(&self) -> bool {
        false
    }

    /// Returns something that one thread can examine entries of a directory with.
    ///
    /// # Errors
    ///
    /// As from [`Examiner::probe`], or whatever the system gives.
    fn start(&self, directory: &Dir, want: Want) -> Result<Box<dyn Examine>>;

    /// Returns what so many threads can examine entries with, one for each: of one directory, or of those below it
    /// too. What has to be done once for a listing is done here.
    ///
    /// # Errors
    ///
    /// As from [`Examiner::start`].
    fn start_threads(&self, directory: &Dir, want: Want, threads: usize) -> Result<Vec<Box<dyn Examine>>> {
        (0..threads).map(|_| self.start(directory, want)).collect()
    }
}

/// Examines entries for one thread.
pub trait Examine: Send {
    /// Replaces `rows` by the attributes of each entry of the batch, in its order.
    ///
    /// An entry that cannot be examined gets a row with its error; that is no error of the call.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] if the directory lies where it cannot be had, which other directories may not do;
    /// else only what makes every further call useless.
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()>;
}

/// Returns the way of asking with a name.
///
/// # Errors
///
/// [`ErrorKind::UnknownBackend`], naming the nearest.
pub fn by_name(name: &str) -> Result<&'static dyn Examiner> {
    EXAMINERS.iter().copied().find(|examiner| examiner.name() == name).ok_or_else(|| {
        let choices = choices(name, EXAMINERS.iter().map(|examiner| examiner.name()));
        let reason = format!("unknown examiner '{name}': {choices}");
        Error::new("examine", "".as_ref(), ErrorKind::UnknownBackend, reason)
    })
}

/// Returns the best way of asking that works in this directory.
pub(crate) fn preferred(directory: &Dir) -> Result<&'static dyn Examiner> {
    for name in ["listed", "statx", "fstatat"] {
        if let Ok(examiner) = by_name(name)
            && examiner.probe(directory).is_ok()
        {
            return Ok(examiner);
        }
    }
    by_name("std")
}
