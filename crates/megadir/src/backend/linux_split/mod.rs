//! Backend `split`: several threads read *one* directory, each a share of its positions.
//!
//! ```text
//! positions  0 ......P.........|.........|.........|.........end
//! first batch ^^^^^^^                                             read by the caller's thread
//! shares              [   0    )[   1   )[   2    )[   3    ...   taken by threads, one after another
//! ```
//!
//! getdents64 takes the directory's lock shared. Only on the file systems of [`space`] is a position a plain
//! number. The first batch is read alone, so that short directories need no threads and positions that do not
//! ascend are read serially. [`share`] explains the end of a share.
//!
//! The caller's thread reads shares too, and takes batches of other threads first, so that no thread exists only to
//! pass on data. The rest of a share is estimated, so that little is read beyond its end. If a position descends after
//! the threads have started, the listing ends with an error of its own kind, and is never silently wrong.
//!
//! While the first batch had to wait for the device, more threads than processors are started
//! (`ReadOptions::threads_max`): the reasons and measurements are in the rows of `policy.rs`.

mod buffer;
mod contention;
mod range;
mod reader;
mod share;
pub(crate) mod space;

pub(crate) use self::range::{divide, open_range};
pub(crate) use self::reader::SplitReader;
use self::space::Space;
use super::resolve::resolving;
use super::{Backend, Reader};
use crate::dir::Dir;
use crate::error::Result;
use crate::options::ReadOptions;

pub(crate) struct Split;

impl Backend for Split {
    fn name(&self) -> &'static str {
        "split"
    }

    fn about(&self) -> &'static str {
        "getdents64 by several threads, each in its share of the directory (ext4, XFS, btrfs)"
    }

    fn uses_threads(&self) -> bool {
        true
    }

    fn uses_buffer(&self) -> bool {
        true
    }

    fn probe(&self, directory: &Dir) -> Result<()> {
        Space::of(directory).map(|_| ())
    }

    fn open(&self, directory: &Dir, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        resolving(SplitReader::open(directory, options, None)?, directory, options)
    }
}
