//! Evidence for a single entry: are its facts of today those that were recorded, and does that prove that its contents are?

use megadir::{Dir, FileType, MountTraits, Result};

use super::proof::{Proof, Racy};
use crate::metadata::{Metadata, Root};
use crate::row::Facts;

/// Result of [`Evidence::compare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sameness {
    /// The same entry with the same contents.
    Same,
    /// Nothing differs that would show a change, but a change could have left no trace: only the contents decide.
    Unproven,
    /// Another entry, or one that has changed.
    Changed,
}

/// Value of the facts that were recorded below a root, on the mount of its directory today: the rules of [`compare`](super::compare) for
/// inode numbers, times of change and files that changed in the moment when they were recorded.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    proof: Proof,
    racy: Racy,
    /// Device of the root, recorded and today. Numbers of devices do not last, so only that an entry is on the root's is compared.
    devices: (Option<u64>, Option<u64>),
}

impl Evidence {
    /// Evidence of rows of the first root of an inventory; `recorded` is the row of that root. Errors: as [`Dir::attributes`].
    pub fn of(metadata: &Metadata, recorded: &Facts, directory: &Dir) -> Result<Self> {
        let traits = MountTraits::of(directory);
        let had_numbers = metadata.roots.first().is_none_or(Root::has_lasting_inodes);
        let numbers = traits.has_lasting_inodes() && had_numbers;
        let proof = Proof { numbers, ..Proof::of(directory.file_system(), &traits) };
        let now = Facts::new(FileType::Directory, &directory.attributes(Facts::WANT)?);
        let racy = Racy::of_root(metadata, 0, metadata.started_ns);
        Ok(Self { proof, racy, devices: (recorded.device, now.device) })
    }

    /// Compares an entry as it was recorded with what has its path now.
    ///
    /// Size, mtime, mode and owner must be equal, and where the mount can be trusted with them the inode number, the ctime and
    /// the time of birth; of directories neither size nor times, which follow from their entries. A ctime that differs proves a change, except where
    /// a file has lost a name since, which sets it. Without lasting numbers, without a stored ctime, or if the
    /// recorded ctime is so near to the start of the scan that a later write may have kept it, equal facts prove nothing.
    pub fn compare(&self, recorded: &Facts, now: &Facts) -> Sameness {
        let is_directory = recorded.kind == FileType::Directory;
        let of = |facts: &Facts| {
            let contents = (!is_directory).then_some((facts.size_bytes, facts.modified_ns));
            (facts.kind, contents, facts.mode, facts.user, facts.group)
        };
        let is_at_root = |facts: &Facts, root: Option<u64>| facts.device == root;
        let numbers = |facts: &Facts| (facts.inode, facts.inode_high);
        let born = |facts: &Facts| facts.born_ns.filter(|_| !is_directory || self.proof.directory_births);
        let is_other = of(recorded) != of(now)
            || is_at_root(recorded, self.devices.0) != is_at_root(now, self.devices.1)
            || self.proof.numbers && numbers(recorded) != numbers(now)
            || matches!((born(recorded), born(now)), (Some(before), Some(now)) if before != now);
        if is_other {
            return Sameness::Changed;
        }
        if is_directory {
            return if self.proof.numbers { Sameness::Same } else { Sameness::Unproven };
        }
        if self.proof.change_times && recorded.changed_ns != now.changed_ns {
            let has_lost_a_name = recorded.links > Some(1) && now.links < recorded.links;
            return if has_lost_a_name { Sameness::Unproven } else { Sameness::Changed };
        }
        let is_proven = self.proof.numbers && self.proof.change_times && !self.racy.is_racy(recorded);
        if is_proven { Sameness::Same } else { Sameness::Unproven }
    }
}

#[cfg(test)]
mod tests {
    use megadir::FileType;

    use super::{Evidence, Sameness};
    use crate::changes::proof::{Proof, Racy};
    use crate::row::Facts;

    const SECOND_NS: i64 = 1_000_000_000;

    fn file() -> Facts {
        Facts {
            kind: FileType::File,
            size_bytes: Some(10),
            modified_ns: Some(5 * SECOND_NS + 1),
            changed_ns: Some(6 * SECOND_NS + 1),
            inode: Some(7),
            device: Some(8),
            mode: Some(0o644),
            user: Some(1),
            group: Some(1),
            links: Some(1),
            ..Facts::NOTHING
        }
    }

    fn evidence(proof: Proof) -> Evidence {
        let racy = Racy::new(100 * SECOND_NS, Some(1), None);
        Evidence { proof, racy, devices: (Some(8), Some(9)) }
    }

    #[test]
    fn a_fact_that_differs_is_a_change_where_the_mount_keeps_it() {
        let common = evidence(Proof::COMMON);
        let now = Facts { device: Some(9), ..file() };
        assert_eq!(common.compare(&file(), &now), Sameness::Same, "the number of a device does not last");
        for changed in [
            Facts { size_bytes: Some(11), ..now },
            Facts { modified_ns: Some(5 * SECOND_NS), ..now },
            Facts { changed_ns: Some(6 * SECOND_NS + 2), ..now },
            Facts { inode: Some(6), ..now },
            Facts { device: Some(8), ..now },
            Facts { mode: Some(0o600), ..now },
            Facts { user: Some(2), ..now },
            Facts { kind: FileType::Symlink, ..now },
        ] {
            assert_eq!(common.compare(&file(), &changed), Sameness::Changed, "{changed:?}");
        }
        let made_up = evidence(Proof { numbers: false, ..Proof::COMMON });
        assert_eq!(made_up.compare(&file(), &Facts { inode: Some(6), ..now }), Sameness::Unproven);
        let no_ctime = evidence(Proof { change_times: false, ..Proof::COMMON });
        assert_eq!(no_ctime.compare(&file(), &Facts { changed_ns: Some(1), ..now }), Sameness::Unproven);
    }

    #[test]
    fn equal_facts_prove_nothing_for_a_file_that_changed_when_it_was_recorded_or_lost_a_name() {
        let common = evidence(Proof::COMMON);
        let late = Facts { changed_ns: Some(100 * SECOND_NS + 1), ..file() };
        assert_eq!(common.compare(&late, &Facts { device: Some(9), ..late }), Sameness::Unproven);
        let linked = Facts { links: Some(3), ..file() };
        let now = Facts { changed_ns: Some(7 * SECOND_NS), device: Some(9), ..linked };
        assert_eq!(common.compare(&linked, &now), Sameness::Changed);
        assert_eq!(common.compare(&linked, &Facts { links: Some(2), ..now }), Sameness::Unproven);
    }

    #[test]
    fn sizes_and_times_of_directories_do_not_count() {
        let directory = Facts { kind: FileType::Directory, ..file() };
        let now = Facts {
            size_bytes: Some(1),
            modified_ns: Some(9),
            changed_ns: Some(9),
            device: Some(9),
            ..directory
        };
        let common = evidence(Proof::COMMON);
        assert_eq!(common.compare(&directory, &now), Sameness::Same);
        assert_eq!(common.compare(&directory, &Facts { mode: Some(0o700), ..now }), Sameness::Changed);
        assert_eq!(common.compare(&directory, &Facts { inode: Some(6), ..now }), Sameness::Changed);
    }
}
