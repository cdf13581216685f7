//! Directories renamed aside first (`--detach`, `--renew`), and leftovers of interrupted runs.
//!
//! A large directory takes minutes to remove, but only one rename to free its name:
//!
//! ```text
//! --detach   DIR ── rename ──► hidden name next to it ── removed
//! --renew    DIR ◄─ exchange ─► empty copy with the same metadata; then as above
//!             killed before the end ──► leftover, found and finished by the next run of the same command
//! ```

use megadir::names;
use megadir::remove::aside::{Aside, Why, check, detach, leftovers, renew};
use megadir::remove::target::Target;
use megadir::remove::{remove_contents, remove_tree};
use megadir::{Error, ErrorKind};

use super::run::Removing;
use crate::ui::message::quoted;

impl Removing<'_> {
    pub(super) fn put_aside(&self, target: &Target) -> Result<(), Error> {
        let Self { args, options, progress } = self;
        let (parent, name) = (&*target.parent, target.name.as_slice());
        // Searched before this run renames anything, so that only leftovers of earlier runs are in it.
        let left = self.left(target)?;
        // The name is free, or the directory empty, at once: leftovers of earlier runs are removed after that.
        let now = match (target.is_directory, args.renew) {
            (true, true) => Some(self.renewed(target)?),
            (true, false) => Some(detach(parent, name)?),
            (false, _) => None,
        };
        for aside in now.iter().chain(&left) {
            if !aside.remove(options, progress)?.complete {
                let path = parent.path().join(names::to_os(aside.name())?);
                let (rest, shown) = (quoted(&path), quoted(&target.path));
                eprintln!(
                    "megadir: the rest of {shown} is in {rest} ('megadir remove' of that path removes only the rest)"
                );
            }
        }
        if !target.is_directory && !target.is_missing {
            remove_tree(parent, name, options, progress)?;
        }
        Ok(())
    }

    /// An empty copy needs an inode, which a full file system lacks until something is removed.
    fn renewed<'t>(&self, target: &'t Target) -> Result<Aside<'t>, Error> {
        match renew(&target.parent, &target.name) {
            Err(error) if error.kind() == ErrorKind::NoSpace => {
                let path = quoted(&target.path);
                eprintln!("megadir: no room for an empty copy of {path}: its contents are removed first");
                remove_contents(&target.open()?, &self.options, self.progress)?;
                renew(&target.parent, &target.name)
            }
            renewed => renewed,
        }
    }

    /// The dry run does all checks of a removal but the rename, and reads the directory under its present
    /// name.
    pub(super) fn would_put_aside(&self, target: &Target) -> Result<(), Error> {
        let left = self.left(target)?;
        if target.is_directory {
            let why = if self.args.renew { Why::Renewed } else { Why::Detached };
            check(&target.parent, &target.name, why)?;
        }
        let now = (!target.is_missing).then_some(target.name.as_slice());
        for name in now.into_iter().chain(left.iter().map(Aside::name)) {
            remove_tree(&target.parent, name, &self.options, self.progress)?;
        }
        Ok(())
    }

    /// Leftovers of a directory that no longer exists are still finished: a run that was killed after the
    /// rename leaves exactly this state. Only if there are none either, the path is an error.
    fn left<'t>(&self, target: &'t Target) -> Result<Vec<Aside<'t>>, Error> {
        let left = match leftovers(&target.parent, &target.name) {
            // If the parent cannot be listed, the target itself can still be renamed aside.
            Err(_) if !target.is_missing => Vec::new(),
            left => left?,
        };
        let reason = "No such file or directory";
        if target.is_missing && left.is_empty() {
            return Err(Error::new("remove", &target.path, ErrorKind::NotFound, reason));
        }
        if target.is_missing && self.args.renew {
            return Err(Error::new("renew", &target.path, ErrorKind::NotFound, reason));
        }
        Ok(left)
    }
}
