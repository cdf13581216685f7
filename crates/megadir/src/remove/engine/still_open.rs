//! Files that were removed while a process has them open: FUSE servers, NFS clients and SMB servers keep them with a name in the
//! directory, which is therefore not empty. Without this, passes would remove them again and again under new names.

use std::ffi::CStr;
use std::sync::atomic::Ordering;

use super::node::Node;
use super::system::{self, Directory, Errno, Reader};
use super::worker::Worker;
use crate::decode::Records;
use crate::error::{Error, ErrorKind};
use crate::mount_traits::RemovedOpen;
use crate::threads::lock;

const LOOK_BYTES: usize = 32 << 10;

impl Worker<'_, '_, '_> {
    /// In a second pass, `true` for a file that the first one removed and that still has a name.
    pub(super) fn is_still_open(&self, node: &Node, directory: &Directory, name: &CStr) -> bool {
        // With conditions, such a name may be one that is to stay.
        if !self.is_second_pass(node) || self.shared.options.dry_run || !self.shared.unconditional {
            return false;
        }
        match node.removed_open(directory) {
            RemovedOpen::Renamed(prefix) if name.to_bytes().starts_with(prefix.as_bytes()) => {
                // Closed since it was listed?
                if !matches!(system::facts(directory, name), Err(Errno::NOENT)) {
                    node.keeps_open(name);
                }
                true
            }
            RemovedOpen::Listed if system::is_removed_at_the_server(directory, name) => {
                node.keeps_open(name);
                true
            }
            _ => false,
        }
    }

    /// `true` if the removal failed because a process still has the removed file open.
    pub(super) fn is_open_and_busy(
        &self,
        node: &Node,
        directory: &Directory,
        name: &CStr,
        error: Errno,
    ) -> bool {
        let removed_open = node.removed_open(directory);
        // On SMB, other clients' files are busy too: only those that are gone at the server were removed.
        let is_kept = error == Errno::BUSY
            && is_kept_busy(removed_open, name.to_bytes())
            && (removed_open != RemovedOpen::Listed || system::is_removed_at_the_server(directory, name));
        if is_kept {
            node.keeps_open(name);
        }
        is_kept
    }

    pub(super) fn is_second_pass(&self, node: &Node) -> bool {
        self.shared.is_repeated || node.passes.load(Ordering::Relaxed) > 0
    }

    /// Looks for such files in a directory that gets no second pass because others below it stay.
    pub(super) fn look_for_open(&self, node: &Node, directory: Option<&Directory>) {
        let (is_below, is_found) = {
            let found = lock(&node.still_open);
            (found.is_below, found.first.is_some())
        };
        if is_below && let Some(parent) = &node.parent {
            parent.holds_open_below();
        }
        // A second pass has found them, and conditions may keep files of such names.
        let looks = is_below && !is_found && self.shared.unconditional;
        let (Some(directory), Some(open_again)) = (directory.filter(|_| looks), system::OPEN_AGAIN) else {
            return;
        };
        let prefix = match node.removed_open(directory) {
            RemovedOpen::Renamed(prefix) | RemovedOpen::Busy(prefix) => prefix.as_bytes(),
            RemovedOpen::Nameless | RemovedOpen::Listed => return,
        };
        let Ok(directory) = open_again(directory) else { return };
        let (mut reader, mut buffer) = (Reader::new(), vec![0; LOOK_BYTES]);
        while let Ok(filled @ 1..) = reader.read(&directory, None, &mut buffer) {
            let records = Records::new(&buffer[..filled]);
            records
                .filter(|record| record.name.starts_with(prefix))
                .for_each(|record| node.keeps_open(record.c_name()));
        }
    }

    /// Reports the files of a finished directory that are still open, in one line.
    pub(super) fn report_still_open(&mut self, node: &Node) {
        let (first, count, again) = {
            let mut still_open = lock(&node.still_open);
            let Some(first) = still_open.first.take() else { return };
            let again = still_open.count.min(still_open.hidden);
            still_open.hidden -= again;
            (first, std::mem::take(&mut still_open.count), again)
        };
        // They were there before under another such name, and counted when that was removed.
        self.counts.entries = self.counts.entries.wrapping_sub(again);
        self.counts.failures += count - 1;
        if let Some(parent) = &node.parent {
            parent.holds_open_below();
        }
        let path = node.path(&self.shared.path, b"");
        self.report_failure(node, Error::new("remove", &path, ErrorKind::NotEmpty, reason(&first, count)));
    }
}

fn is_kept_busy(removed_open: RemovedOpen, name: &[u8]) -> bool {
    match removed_open {
        RemovedOpen::Busy(prefix) => name.starts_with(prefix.as_bytes()),
        RemovedOpen::Listed => true,
        RemovedOpen::Renamed(_) | RemovedOpen::Nameless => false,
    }
}

fn reason(first: &CStr, count: u64) -> String {
    let first = first.to_string_lossy();
    match count {
        1 => format!(
            "a removed file is still open by a process; the server keeps it as '{first}' until it is closed"
        ),
        _ => format!(
            "{count} removed files are still open by processes; the server keeps them as '{first}' and the like until they are closed"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_kept_busy, reason};
    use crate::mount_traits::MountTraits;

    #[test]
    fn a_busy_entry_is_a_removed_file_only_under_the_names_of_its_client() {
        for (driver, name, is_kept) in [
            ("nfs4", ".nfs000000000000019f00000002", true),
            ("nfs", "f", false),
            ("cifs", "f", true),
            ("ext4", ".nfs000000000000019f00000002", false),
            ("fuse.sshfs", ".fuse_hidden0000000500000001", false),
        ] {
            let removed_open = MountTraits::of_type(driver).removed_open;
            assert_eq!(is_kept_busy(removed_open, name.as_bytes()), is_kept, "{driver} {name}");
        }
    }

    #[test]
    fn one_line_names_the_first_file() {
        assert!(reason(c".nfs1", 1).contains("still open by a process; the server keeps it as '.nfs1'"));
        assert!(reason(c".nfs1", 3).starts_with("3 removed files are still open"));
    }
}
