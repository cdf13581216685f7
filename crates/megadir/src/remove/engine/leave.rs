//! Removes emptied directories and returns to their parents.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::node::{FAILED, KEPT, Node, UNMATCHED};
use super::system::{self, Directory, Errno};
use super::window::Names;
use super::worker::{Frame, Worker};
use crate::error::{Error, ErrorKind};
use crate::file_type::FileType;

pub(super) const PASSES_MAX: u8 = 10;

pub(super) const KEEPS_MATCHING: &str =
    "still had entries to remove after 10 passes: another process keeps creating entries in it";
const MOVED: &str = "moved or replaced while it was being removed";

enum Left {
    Done,
    NotEmpty,
}

impl Worker<'_, '_, '_> {
    /// Ends a part of the top directory, and of its ancestors as long as it was their last part; the worker that ends
    /// the last part removes the directory, so that no other can come back to it. Ancestors that are not on this
    /// worker's stack belong to other workers' jobs and are opened again, from the directory below or by names. If
    /// one cannot be opened, its directory stays, and so do all above it: the loop continues upwards, so that each of
    /// them ends a part and knows that it stays. Where a directory must be closed before its removal, its identity is
    /// noted first, because another of this name could otherwise be removed. A directory that has new entries gets
    /// its part back and is read once more.
    pub(super) fn leave(&mut self) {
        let Some(Frame { mut node, mut descriptor, is_part, .. }) = self.pop() else { return };
        if !system::GOES_WHILE_OPEN
            && let Err(error) = close(&node, &mut descriptor)
        {
            // Another directory of this name could be removed in its place.
            self.fail(&node, b"", "remove", error.into());
        }
        if is_part {
            self.last = descriptor.clone().map(|descriptor| (Arc::clone(&node), descriptor));
        }
        while node.end_part() {
            self.look_for_open(&node, descriptor.as_deref());
            self.report_still_open(&node);
            let Some(parent) = node.parent.clone() else { return };
            let is_on_stack = self.stack.last().is_some_and(|top| Arc::ptr_eq(&top.node, &parent));
            let below = descriptor.as_deref();
            let above = match is_on_stack {
                true => self.open_top(below),
                false => self.reach(&parent, below),
            };
            let Ok(above) = above else {
                node.stay(FAILED);
                parent.stay(FAILED);
                if is_on_stack {
                    parent.end_part();
                    return;
                }
                (node, descriptor) = (parent, None);
                continue;
            };
            if let Left::NotEmpty = self.remove_directory(&node, &parent, &above) {
                node.add_part();
                return self.push(Frame::new(node, descriptor, true));
            }
            if is_on_stack {
                parent.end_part();
                return;
            }
            (node, descriptor) = (parent, Some(above).filter(|_| system::GOES_WHILE_OPEN));
        }
    }

    /// Removes an emptied directory by its name in `above`. A directory in which something stays is not tried,
    /// because rmdir(2) would fail; its parent stays too, though without `UNMATCHED`, which concerns the directory
    /// alone. If conditions protect others, the identity is compared first. `NOTEMPTY` means that another process
    /// created entries, and the directory is read again, up to `PASSES_MAX` times. A rate applies to directories as
    /// to any entry.
    fn remove_directory(&mut self, node: &Node, parent: &Node, above: &Directory) -> Left {
        let stays = node.stays();
        if stays != 0 {
            parent.stay(stays & !UNMATCHED);
            self.counts.directories_kept += u64::from(stays & FAILED != 0);
            self.counts.directories_filled += u64::from(stays == KEPT && !self.shared.is_repeated);
            return Left::Done;
        }
        if !self.may_remove(parent, node.name.to_bytes(), FileType::Directory) {
            return Left::Done;
        }
        // Without conditions, any empty directory of this name may go.
        let expected = node.identity().filter(|_| !self.shared.unconditional || !system::GOES_WHILE_OPEN);
        let removed = match self.shared.options.dry_run {
            true => self.would_remove(parent, above, &node.name),
            false => system::remove_directory(above, &node.name, expected),
        };
        match removed {
            Ok(()) => {
                self.counts.directories += 1;
                self.counts.bytes += node.bytes;
                self.shared.note_counted(above, &node.name);
                self.count();
            }
            Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                let pass = node.passes.fetch_add(1, Ordering::Relaxed);
                if pass < PASSES_MAX {
                    system::wait_for_others(pass);
                    return Left::NotEmpty;
                }
                let path = node.path(&self.shared.path, b"");
                self.report_failure(
                    parent,
                    Error::new("remove", &path, ErrorKind::NotEmpty, system::KEEPS_FILLING),
                );
            }
            Err(Errno::NOTDIR) => {
                let path = node.path(&self.shared.path, b"");
                self.report_failure(parent, Error::new("remove", &path, ErrorKind::NotFound, MOVED));
            }
            Err(error) => self.fail(parent, node.name.to_bytes(), "remove", error.into()),
        }
        Left::Done
    }

    /// Fails as the removal of an empty directory would.
    fn would_remove(&self, parent: &Node, above: &Directory, name: &CStr) -> Result<(), Errno> {
        let facts = system::facts(above, name)?;
        match parent.permit(above, self.shared.is_read_only).refusal(&facts) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// On failure, which was reported, the directory is finished.
    pub(super) fn reopen_top(&mut self) -> Result<(), ()> {
        self.open_top(None).map(drop)
    }

    fn open_top(&mut self, below: Option<&Directory>) -> Result<Arc<Directory>, ()> {
        let Some(top) = self.stack.last() else { return Err(()) };
        if let Some(descriptor) = &top.descriptor {
            return Ok(Arc::clone(descriptor));
        }
        let node = Arc::clone(&top.node);
        let reached = self.reach(&node, below);
        let Some(top) = self.stack.last_mut() else { return Err(()) };
        match &reached {
            Ok(descriptor) => {
                (top.descriptor, top.astray) = (Some(Arc::clone(descriptor)), true);
                self.open += 1;
            }
            Err(()) => {
                (top.below, top.ended) = (Names::default(), true);
            }
        }
        reached
    }

    /// By `..` of a directory in it, or by names from the root; checks the identity.
    fn reach(&mut self, node: &Node, below: Option<&Directory>) -> Result<Arc<Directory>, ()> {
        let Some(identity) = node.identity() else {
            unreachable!("closed or returned directories have an identity")
        };
        if let Some(below) = below
            && let Ok(Some(above)) = self.with_descriptors(|_| system::open_above(below, &identity))
        {
            return Ok(Arc::new(above));
        }
        let reached = self.reach_by_names(node).and_then(|reached| match system::identity(&reached)? {
            found if found == identity => Ok(reached),
            _ => Err(Errno::NOENT),
        });
        reached.map_err(|error| {
            if node.stays() & FAILED != 0 {
                return;
            }
            let path = node.path(&self.shared.path, b"");
            let failure = match error {
                Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV => {
                    Error::new("remove", &path, ErrorKind::NotFound, MOVED)
                }
                error => Error::io("open", &path, error.into()),
            };
            self.report_failure(node, failure);
        })
    }

    /// From the parent of the last part if the node is below it, else from the root.
    fn reach_by_names(&mut self, node: &Node) -> Result<Arc<Directory>, Errno> {
        if let Some((last, descriptor)) = self.last.clone()
            && let Some(names) = node.names_below(Some(&last))
            && let Ok(reached) = self.go_down(descriptor, &names)
        {
            return Ok(reached);
        }
        self.go_down(Arc::clone(&self.shared.root), &node.names_below(None).unwrap_or_default())
    }

    fn go_down(&mut self, from: Arc<Directory>, names: &[&CStr]) -> Result<Arc<Directory>, Errno> {
        let mut reached = from;
        for name in names {
            let opened = self.with_descriptors(|worker| worker.shared.open_below(&reached, name))?;
            reached = Arc::new(opened);
        }
        Ok(reached)
    }
}

fn close(node: &Node, descriptor: &mut Option<Arc<Directory>>) -> Result<(), Errno> {
    let Some(open) = descriptor.take() else { return Ok(()) };
    if node.identity().is_none() {
        node.identify(system::identity(&open)?);
    }
    Ok(())
}
