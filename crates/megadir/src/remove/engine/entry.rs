//! One entry: removes it or enters it.

use std::ffi::{CStr, CString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Shared;
use super::node::{KEPT, Node, UNMATCHED};
use super::system::{self, Directory, Errno};
use super::worker::{Frame, Worker};
use crate::attributes::{Attributes, StatMask};
use crate::error::{Error, ErrorKind};
use crate::file_type::FileType;
use crate::remove::progress::Linked;
use crate::remove::{Progress, RemoveOptions};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Became {
    Done,
    Directory,
}

impl Became {
    pub(super) fn is_directory(self) -> bool {
        self == Self::Directory
    }
}

/// Another process keeps swapping the entry between directory and file.
const SWAPS_MAX: u32 = 16;
/// For a free descriptor.
const WAIT: Duration = Duration::from_millis(10);
const WAITS_MAX: u32 = 500;

impl Worker<'_, '_, '_> {
    /// Removes without a look if it may: an examination takes a system call more for each of millions of entries. The
    /// type of the listing may be old or unknown, so a directory is found out by the failure of the removal, and the
    /// caller then enters it. With conditions, Windows compares the attributes once more by the handle that removes;
    /// on Linux no call can check what it removes. An entry that another process has removed is no failure; its
    /// announcement, if any, is taken back.
    pub(super) fn remove_entry(
        &mut self,
        node: &Node,
        directory: &Directory,
        name: &CStr,
        kind: FileType,
    ) -> Became {
        let options = self.shared.options;
        if self.is_still_open(node, directory, name) {
            return Became::Done;
        }
        let (mut freed, mut refusal) = (Freed::default(), None);
        let examines = options.dry_run || !self.shared.unconditional;
        if examines {
            match self.examine(node, directory, name, kind) {
                Examined::Goes(of_entry, error) => (freed, refusal) = (of_entry, error),
                Examined::Stays => return Became::Done,
                Examined::Directory => return Became::Directory,
            }
        }
        if !self.may_remove(node, name.to_bytes(), kind) {
            return Became::Done;
        }
        let started = options.back_off.then(Instant::now);
        let removed = match (options.dry_run, examines) {
            (true, _) => refusal.map_or(Ok(()), Err),
            (false, false) => system::remove_file(directory, name, kind),
            (false, true) => {
                let still = |facts: &Attributes| options.accepts_facts(facts);
                match system::remove_examined(directory, name, kind, &still) {
                    Ok(true) => Ok(()),
                    Ok(false) => {
                        node.stay(KEPT);
                        self.note_stay(node, name, "stays: it no longer meets the conditions");
                        return Became::Done;
                    }
                    Err(error) => Err(error),
                }
            }
        };
        self.turn.pause_after(started);
        match removed {
            Ok(()) => {
                self.counts.entries += 1;
                self.counts.bytes += freed.bytes;
                self.counts.linked += u64::from(freed.linked);
                self.shared.note_counted(directory, name);
                node.removed_hidden(name);
                if let Some(names) = freed.linked_file.filter(|_| options.dry_run) {
                    self.shared.call.unlink(names, &mut self.counts);
                }
                self.count();
            }
            Err(Errno::NOENT) => self.note_stay(node, name, "another process has moved or removed it"),
            Err(Errno::ISDIR) => return Became::Directory,
            // In POSIX the entry is a directory, in Linux it may not be removed.
            Err(Errno::PERM)
                if kind == FileType::Unknown
                    && system::kind_of(directory, name.to_bytes()) == FileType::Directory =>
            {
                return Became::Directory;
            }
            Err(error) if self.is_open_and_busy(node, directory, name, error) => {}
            Err(error) => self.fail(node, name.to_bytes(), "remove", error.into()),
        }
        Became::Done
    }

    /// Takes back the announcement of an entry that is not removed.
    fn note_stay(&self, node: &Node, name: &CStr, why: &str) {
        let Shared { options, path, .. } = self.shared;
        options.take_back(|| node.path(path, name.to_bytes()), why);
    }

    /// Waits for the entry's turn and announces its removal; `false` if it stays.
    pub(super) fn may_remove(&mut self, node: &Node, name: &[u8], kind: FileType) -> bool {
        let Shared { options, progress, path, .. } = self.shared;
        self.turn.take_place() && announce(options, progress, || node.path(path, name), kind)
    }

    /// Reads attributes only if they matter, but always the type: the listing may be old.
    ///
    /// The wait for a slot of the rate comes before the look: while a worker waits, the name may pass to another
    /// entry, and attributes read earlier would be those of the old one. An attribute that a condition needs and the
    /// file system does not return makes the entry stay, with a failure. An entry that the conditions keep marks its
    /// directory, so that rmdir(2) is not tried on it.
    fn examine(&mut self, node: &Node, directory: &Directory, name: &CStr, kind: FileType) -> Examined {
        let options = self.shared.options;
        let may_go = options.accepts_name(node.place(options.conditions), name.to_bytes())
            && (kind == FileType::Unknown || options.accepts_type(kind));
        // The name may belong to another entry by now, one that has to stay.
        if may_go && !self.turn.have_place() {
            return Examined::Stays;
        }
        if self.shared.is_counted(directory, name) {
            return Examined::Stays;
        }
        // Directories that stay are entered.
        let looks = (may_go && (options.dry_run || options.needs_look())) || kind == FileType::Unknown;
        let (facts, refusal) = match looks.then(|| system::facts(directory, name)).transpose() {
            Ok(Some(found)) if options.dry_run => {
                let refusal = node.permit(directory, self.shared.is_read_only).refusal(&found);
                (Some(found.0), refusal)
            }
            Ok(found) => (found.map(|(facts, _)| facts), None),
            Err(Errno::NOENT) => return Examined::Stays,
            Err(error) => {
                self.fail(node, name.to_bytes(), "stat", error.into());
                return Examined::Stays;
            }
        };
        let kind = facts.map_or(kind, |facts| facts.kind);
        if kind == FileType::Directory {
            return Examined::Directory;
        }
        let lacks = facts.map_or(StatMask::NOTHING, |facts| options.want().without(facts.have));
        if may_go && lacks != StatMask::NOTHING {
            self.fail(node, name.to_bytes(), "stat", unknown(lacks));
            return Examined::Stays;
        }
        let goes =
            may_go && options.accepts_facts(&facts.unwrap_or(Attributes { kind, ..Attributes::NOTHING }));
        if !goes || self.is_newest(node, directory, facts.as_ref()) {
            node.stay(KEPT);
            return Examined::Stays;
        }
        let all_known = options.dry_run || options.want() != StatMask::NOTHING;
        let freed = facts.filter(|_| all_known).map_or(Freed::default(), |facts| Freed::of(&facts));
        Examined::Goes(freed, refusal)
    }

    /// Opens a subdirectory and pushes it. Another process may exchange the entry between a directory and a file at
    /// any time: opening then fails with `NOTDIR` or `LOOP`, removing it as a file fails again, and the two are tried
    /// in turn up to `SWAPS_MAX` times. A mount point is reported and stays. A directory that may not be opened can
    /// still be empty, so `not_opened` tries to remove it.
    pub(super) fn enter(&mut self, name: CString) {
        if self.reopen_top().is_err() {
            return;
        }
        let Some(Frame { node, descriptor: Some(descriptor), .. }) = self.stack.last() else { return };
        let (parent, directory) = (Arc::clone(node), Arc::clone(descriptor));
        let options = self.shared.options;
        if !options.opens(parent.place(options.conditions), name.to_bytes()) {
            parent.stay(KEPT);
            return;
        }
        if self.shared.is_counted(&*directory, &name) {
            return;
        }
        for _ in 0..SWAPS_MAX {
            let opened = self.with_descriptors(|worker| {
                worker.shared.ahead.observe(|| worker.shared.open_below(&directory, &name))
            });
            match opened {
                Ok(opened) => return self.go_into(parent, name, opened),
                Err(Errno::NOENT) => return,
                Err(Errno::XDEV) => {
                    let path = parent.path(&self.shared.path, name.to_bytes());
                    let reason = "another file system is mounted there and is not entered";
                    return self
                        .report_failure(&parent, Error::new("enter", &path, ErrorKind::MountPoint, reason));
                }
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
            let (options, want) = (self.shared.options, self.shared.options.want());
            let mut goes = options.accepts_name(parent.place(options.conditions), name.to_bytes())
                && options.accepts_type(FileType::Directory)
                // A directory is newer, and may be smaller, after removals from it.
                && !(self.shared.is_repeated && want != StatMask::NOTHING);
            if goes && (options.dry_run || want != StatMask::NOTHING) {
                match system::facts_of_open(&opened) {
                    Ok(facts) if !facts.have.contains(want) => {
                        let lacks = want.without(facts.have);
                        return self.fail(&parent, name.to_bytes(), "stat", unknown(lacks));
                    }
                    Ok(facts) => {
                        goes = options.accepts_facts(&Attributes { kind: FileType::Directory, ..facts });
                        bytes = facts.allocated_bytes;
                    }
                    Err(error) => return self.fail(&parent, name.to_bytes(), "stat", error.into()),
                }
            }
            stays = if goes { 0 } else { KEPT | UNMATCHED };
        }
        let node = Arc::new(Node::new(Some(parent), name, stays, bytes));
        if !self.shared.unconditional
            && let Ok(identity) = system::identity(&opened)
        {
            // Another entry of this name has not been checked against the conditions.
            node.identify(identity);
        }
        self.push(Frame::new(node, Some(Arc::new(opened)), false));
    }

    fn not_opened(&mut self, parent: &Node, directory: &Directory, name: &CStr, error: Errno) {
        if self.shared.unconditional && !self.shared.options.dry_run {
            if !self.may_remove(parent, name.to_bytes(), FileType::Directory) {
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

    /// If descriptors run out, closes those needed last and waits for other workers.
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

/// `false` if the caller ends the removal, and the entry stays.
pub(in crate::remove) fn announce(
    options: &RemoveOptions<'_>,
    progress: &Progress,
    path: impl FnOnce() -> PathBuf,
    kind: FileType,
) -> bool {
    let goes = options.on_removal.is_none_or(|announce| announce(&path(), kind));
    if !goes {
        progress.cancel();
    }
    goes
}

fn unknown(lacks: StatMask) -> std::io::Error {
    let names = [
        (StatMask::MODIFIED, "modification time"),
        (StatMask::ACCESSED, "access time"),
        (StatMask::CHANGED, "change time"),
        (StatMask::BORN, "creation time"),
        (StatMask::SIZE, "size"),
    ];
    let name = names.iter().find(|(want, _)| lacks.contains(*want)).map_or("owner", |(_, name)| name);
    std::io::Error::other(format!("its {name} is unknown, so it stays"))
}

#[derive(Clone, Copy, Default)]
struct Freed {
    bytes: u64,
    linked: bool,
    /// The file, if it has several names.
    linked_file: Option<Linked>,
}

impl Freed {
    fn of(facts: &Attributes) -> Self {
        match facts.links {
            0 | 1 => Self { bytes: facts.allocated_bytes, linked: false, linked_file: None },
            names => {
                let file = (facts.device, facts.inode);
                let linked = Linked { file, names, bytes: facts.allocated_bytes };
                Self { bytes: 0, linked: true, linked_file: Some(linked) }
            }
        }
    }
}

enum Examined {
    /// With the error that its removal would return, in a dry run.
    Goes(Freed, Option<Errno>),
    Stays,
    Directory,
}
