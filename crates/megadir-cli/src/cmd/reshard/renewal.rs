//! The directory that `--renew` replaces, and its completion after a killed run.

use std::cell::RefCell;
use std::path::Component;

use megadir::layout::Layout;
use megadir::reshard::{self, FilesOptions, FilesRenewed, complete_files, complete_renewal};
use megadir::{Dir, Error, ErrorKind, FileType};

use super::args::Args;
use crate::cmd::error_limiter::ErrorLimiter;
use crate::cmd::mass_change::{Failure, KEPT_MAX};
use crate::exit::{describe, kind};
use crate::ui::new_file::folder_of;

/// Names that stay in the old directory.
pub(super) struct Complaints {
    limiter: RefCell<ErrorLimiter>,
    pub(super) kept: RefCell<Vec<Failure>>,
}

impl Complaints {
    pub(super) fn new(args: &Args) -> Self {
        Self { limiter: RefCell::new(ErrorLimiter::new(args.change.all_errors)), kept: RefCell::default() }
    }

    pub(super) fn failed(&self, error: &Error) {
        self.limiter.borrow_mut().print(&kind(error), 1, || describe(error));
        let mut kept = self.kept.borrow_mut();
        if kept.len() < KEPT_MAX {
            kept.push(Failure::of(error));
        }
    }

    pub(super) fn finish(&self) {
        self.limiter.borrow().print_rest();
    }
}

/// The directory by its name in its parent, to be replaced (`--renew`).
#[derive(Debug)]
pub(super) struct Renewal {
    pub(super) parent: Dir,
    pub(super) name: Vec<u8>,
    /// A directory of files whose renewal was killed after the exchange, and is done now.
    pub(super) completed: Option<FilesRenewed>,
}

// The last component has to be a plain name: `.` and `..` cannot be renamed, and a link would be replaced
// instead of the directory that it leads to.
impl Renewal {
    /// A dry run completes nothing.
    pub(super) fn begin(args: &Args) -> Result<Self, Error> {
        let path = &*args.directory;
        let Some(Component::Normal(name)) = path.components().next_back() else {
            let reason = "it cannot be replaced by this path; give it as PARENT/NAME";
            return Err(Error::new("renew", path, ErrorKind::BadOption, reason));
        };
        let parent = Dir::open(folder_of(path))?;
        if parent.kind_of(name.as_encoded_bytes()).is_ok_and(|kind| kind == FileType::Symlink) {
            let reason = "it is a symbolic link; name the directory that it leads to";
            return Err(Error::new("renew", path, ErrorKind::BadOption, reason));
        }
        let mut renewal = Self { parent, name: name.as_encoded_bytes().to_vec(), completed: None };
        if !args.dry_run {
            complete_renewal(&renewal.parent, &renewal.name)?;
            let complaints = Complaints::new(args);
            let options =
                &mut FilesOptions { on_failure: &|error| complaints.failed(&error), goes_on: &mut |_| false };
            renewal.completed = complete_files(&renewal.parent, &renewal.name, options)?;
            complaints.finish();
        }
        Ok(renewal)
    }

    pub(super) fn finish(&self, layout: &Layout) -> Result<(), Error> {
        reshard::renew(&self.parent, &self.name, layout)
    }
}
