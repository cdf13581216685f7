//! One entry: removing it, or going into it.

use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::time::Duration;

use super::names::Names;
use super::node::{KEPT, Node};
use super::system::{self, Directory, Errno, Facts};
use super::worker::{Frame, Worker};
use crate::error::{Error, ErrorKind};
use crate::file_type::FileType;

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Became {
    /// Gone, to stay, or told as a failure.
    Done,
    /// It is a directory.
    Directory,
}

impl Became {
    pub(super) fn is_directory(self) -> bool {
        self == Self::Directory
    }
}

/// An entry that is a directory when removed and none when opened is looked at this often, if somebody swaps it all the time.
const SWAPS_MAX: u32 = 16;
/// How long to wait for a descriptor when all are in use elsewhere, and how often.
const WAIT: Duration = Duration::from_millis(10);
const WAITS_MAX: u32 = 500;

impl Worker<'_, '_, '_> {
    /// Removes an entry that is not known to be a directory.
    pub(super) fn remove_entry(
        &mut self,
        node: &Node,
        directory: &Directory,
        name: &CStr,
        kind: FileType,
    ) -> Became {
        let options = self.shared.options;
        let mut space = Space::default();
        let examines = options.dry_run || !self.shared.unconditional;
        if examines {
            match self.examine(node, directory, name, kind) {
                Examined::Goes(of_entry) => space = of_entry,
                Examined::Stays => return Became::Done,
                Examined::Directory => return Became::Directory,
            }
        }
        if !self.take_place() {
            return Became::Done;
        }
        let removed = match (options.dry_run, examines) {
            (true, _) => Ok(()),
            (false, false) => system::remove_file(directory, name, kind),
            (false, true) => {
                let still = |facts: &Facts| options.conditions.accept(facts.kind, facts.modified);
                match system::remove_examined(directory, name, kind, &still) {
                    Ok(true) => Ok(()),
                    Ok(false) => return self.keep(node),
                    Err(error) => Err(error),
                }
            }
        };
        match removed {
            Ok(()) => {
                self.counts.entries += 1;
                self.counts.bytes += space.bytes;
                self.counts.linked += u64::from(space.linked);
                self.count();
            }
            // Somebody else has removed it.
            Err(Errno::NOENT) => {}
            Err(Errno::ISDIR) => return Became::Directory,
            // What POSIX gives for directories, and Linux for what may not be removed.
            Err(Errno::PERM)
                if kind == FileType::Unknown
                    && system::kind_of(directory, name.to_bytes()) == FileType::Directory =>
            {
                return Became::Directory;
            }
            Err(error) => self.fail(node, name.to_bytes(), "remove", error.into()),
        }
        Became::Done
    }

    fn keep(&self, node: &Node) -> Became {
        node.stay(KEPT);
        Became::Done
    }

    /// Holds an entry against the conditions; asks for its attributes only if they matter. Its type does: the listing may be hours old.
    fn examine(&mut self, node: &Node, directory: &Directory, name: &CStr, kind: FileType) -> Examined {
        let (options, conditions) = (self.shared.options, &self.shared.options.conditions);
        let may_go = conditions.accepts_name(name.to_bytes())
            && (kind == FileType::Unknown || conditions.accepts_type(kind));
        // Before it is looked at: what takes the name during the wait is another entry, which may have to stay.
        if may_go && !self.have_place() {
            return Examined::Stays;
        }
        // The type must be known even of what stays, which would be entered if it were a directory.
        let facts = if (may_go && (options.dry_run || conditions.needs_look())) || kind == FileType::Unknown {
            match system::facts(directory, name) {
                Ok(facts) => Some(facts),
                Err(Errno::NOENT) => return Examined::Stays,
                Err(error) => {
                    self.fail(node, name.to_bytes(), "stat", error.into());
                    return Examined::Stays;
                }
            }
        } else {
            None
        };
        let kind = facts.map_or(kind, |facts| facts.kind);
        if kind == FileType::Directory {
            return Examined::Directory;
        }
        if may_go && conditions.older_than.is_some() && facts.is_some_and(|facts| facts.modified.is_none()) {
            self.fail(node, name.to_bytes(), "stat", no_time());
            return Examined::Stays;
        }
        let goes = may_go && conditions.accept(kind, facts.and_then(|facts| facts.modified));
        if !goes {
            node.stay(KEPT);
            return Examined::Stays;
        }
        // Of directories the space is known then too, else of nothing.
        let all_known = options.dry_run || conditions.older_than.is_some();
        Examined::Goes(facts.filter(|_| all_known).map_or(Space::default(), |facts| Space::of(&facts)))
    }

    /// Goes into a directory below the one on top of the stack.
    pub(super) fn enter(&mut self, name: CString) {
        if self.reopen_top().is_err() {
            return;
        }
        let Some(Frame { node, descriptor: Some(descriptor), .. }) = self.stack.last() else { return };
        let (parent, directory) = (Arc::clone(node), Arc::clone(descriptor));
        for _ in 0..SWAPS_MAX {
            let opened = self.with_descriptors(|worker| worker.shared.opener.below(&directory, &name));
            match opened {
                Ok(opened) => return self.go_into(parent, name, opened),
                Err(Errno::NOENT) => return,
                Err(Errno::XDEV) => {
                    let path = parent.path(&self.shared.path, name.to_bytes());
                    let reason = "another file system is mounted there, which is not entered";
                    return self
                        .tell_failure(&parent, Error::new("enter", &path, ErrorKind::MountPoint, reason));
                }
                // No directory, or no longer.
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    if !self.remove_entry(&parent, &directory, &name, FileType::Unknown).is_directory() {
                        return;
                    }
                }
                Err(error) => return self.not_opened(&parent, &directory, &name, error),
            }
        }
        self.fail(&parent, name.to_bytes(), "open", Errno::LOOP.into());
    }

    fn go_into(&mut self, parent: Arc<Node>, name: CString, opened: Directory) {
        let (mut stays, mut bytes) = (0, 0);
        if self.shared.options.dry_run || !self.shared.unconditional {
            let conditions = &self.shared.options.conditions;
            let mut goes =
                conditions.accepts_name(name.to_bytes()) && conditions.accepts_type(FileType::Directory);
            if goes && (self.shared.options.dry_run || conditions.older_than.is_some()) {
                match system::facts_of_open(&opened) {
                    Ok(Facts { modified: None, .. }) if conditions.older_than.is_some() => {
                        return self.fail(&parent, name.to_bytes(), "stat", no_time());
                    }
                    Ok(facts) => {
                        goes = conditions.accept(FileType::Directory, facts.modified);
                        bytes = facts.bytes;
                    }
                    Err(error) => {
                        return self.fail(&parent, name.to_bytes(), "stat", error.into());
                    }
                }
            }
            stays = if goes { 0 } else { KEPT };
        }
        let node = Arc::new(Node::new(Some(parent), name, stays, bytes));
        if !self.shared.unconditional
            && let Ok(identity) = system::identity(&opened)
        {
            // Another that takes its name has met no condition.
            node.identify(identity);
        }
        self.push(Frame {
            node,
            descriptor: Some(Arc::new(opened)),
            below: Names::default(),
            ended: false,
            position: 0,
            astray: false,
            is_part: false,
        });
    }

    /// Deals with a directory that cannot be opened: an empty one may be removed all the same.
    fn not_opened(&mut self, parent: &Node, directory: &Directory, name: &CStr, error: Errno) {
        if self.shared.unconditional && !self.shared.options.dry_run {
            if !self.take_place() {
                return;
            }
            match system::remove_directory(directory, name, None) {
                Ok(()) => {
                    self.counts.directories += 1;
                    return self.count();
                }
                Err(Errno::NOENT) => return,
                Err(_) => {}
            }
        }
        self.fail(parent, name.to_bytes(), "open", error.into());
    }

    /// Opens something; where descriptors are lacking, closes those that are least needed and waits for others to.
    pub(super) fn with_descriptors<T>(
        &mut self,
        mut open: impl FnMut(&mut Self) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let mut waits = 0;
        loop {
            match open(self) {
                Err(Errno::MFILE | Errno::NFILE) if self.close_oldest() => {}
                Err(Errno::MFILE | Errno::NFILE)
                    if waits < WAITS_MAX && !self.shared.progress.is_cancelled() =>
                {
                    waits += 1;
                    std::thread::sleep(WAIT);
                }
                opened => return opened,
            }
        }
    }
}

/// What is said of an entry that an age is asked of which nobody tells.
fn no_time() -> std::io::Error {
    std::io::Error::other("the file system does not tell when it was modified, so it stays")
}

/// The space of an entry on the disk, as far as it was looked at.
#[derive(Clone, Copy, Default)]
struct Space {
    bytes: u64,
    /// It has other links, so that its space may stay in use.
    linked: bool,
}

impl Space {
    fn of(facts: &Facts) -> Self {
        match facts.links {
            0 | 1 => Self { bytes: facts.bytes, linked: false },
            _ => Self { bytes: 0, linked: true },
        }
    }
}

/// What the conditions say to an entry.
enum Examined {
    Goes(Space),
    Stays,
    Directory,
}
