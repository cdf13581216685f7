//! Differences between two states of an entry, and file identity.

use megadir::FileType;
use megadir::mount_traits::DirectoryRename;

use super::proof::Proof;
use crate::named_set::named_set;
use crate::row::Facts;

/// Set of facts that differ.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fields(u16);

const NAMES: [(Fields, &str); 8] = [
    (Fields::CONTENTS, "contents"),
    (Fields::SIZE, "size"),
    (Fields::MODIFIED, "mtime"),
    (Fields::CHANGED, "ctime"),
    (Fields::INODE, "inode"),
    (Fields::MODE, "mode"),
    (Fields::OWNER, "owner"),
    (Fields::LINKS, "links"),
];

impl Fields {
    /// Empty set.
    pub const NOTHING: Self = Self(0);
    /// Contents, compared by hash.
    pub const CONTENTS: Self = Self(1);
    /// Size.
    pub const SIZE: Self = Self(1 << 1);
    /// mtime.
    pub const MODIFIED: Self = Self(1 << 2);
    /// ctime.
    pub const CHANGED: Self = Self(1 << 3);
    /// Another file: inode number, device or birth time differs.
    pub const INODE: Self = Self(1 << 4);
    /// Permission bits.
    pub const MODE: Self = Self(1 << 5);
    /// User or group.
    pub const OWNER: Self = Self(1 << 6);
    /// Number of hard links.
    pub const LINKS: Self = Self(1 << 7);

    /// This set without the fields of `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

named_set!(Fields, NAMES);

fn differ<T: PartialEq>(old: Option<T>, new: Option<T>) -> bool {
    matches!((old, new), (Some(old), Some(new)) if old != new)
}

/// As far as known: type, inode if it identifies files, device and, if inode numbers are reused, birth time if it lasts.
pub(crate) fn is_same_file(old: &Facts, new: &Facts, proof: Proof) -> bool {
    let same_number = || !differ(old.inode, new.inode) && old.inode_high == new.inode_high;
    old.kind == new.kind
        && (!proof.numbers || same_number())
        && !differ(old.device, new.device)
        && (is_enough(old, proof) && is_enough(new, proof) || !differ(birth(old, proof), birth(new, proof)))
}

fn birth(facts: &Facts, proof: Proof) -> Option<i64> {
    facts.born_ns.filter(|_| proof.directory_births || facts.kind != FileType::Directory)
}

fn is_enough(facts: &Facts, proof: Proof) -> bool {
    proof.unique_numbers && facts.inode.is_some()
}

pub(crate) fn of_file(old: &Facts, new: &Facts, proof: Proof) -> Fields {
    let own = differing([
        (differ(old.size_bytes, new.size_bytes), Fields::SIZE),
        (proof.links && differ(old.links, new.links), Fields::LINKS),
    ]);
    of_anything(old, new, proof).with(own).with(of_times(old, new, proof))
}

fn differing<const N: usize>(fields: [(bool, Fields); N]) -> Fields {
    let differing = fields.into_iter().filter(|(differs, _)| *differs);
    differing.fold(Fields::NOTHING, |all, (_, field)| all.with(field))
}

/// Ignores size and links, which follow from the entries. Times count only if no entry came or went, and
/// where listings report them without delay.
pub(crate) fn of_directory(old: &Facts, new: &Facts, entries_are_the_same: bool, proof: Proof) -> Fields {
    let has_proof = entries_are_the_same && proof.directory_times;
    let times = if has_proof { of_times(old, new, proof) } else { Fields::NOTHING };
    of_anything(old, new, proof).with(times)
}

pub(crate) fn of_either(old: &Facts, new: &Facts, entries_are_the_same: bool, proof: Proof) -> Fields {
    match new.kind {
        FileType::Directory => of_directory(old, new, entries_are_the_same, proof),
        _ => of_file(old, new, proof),
    }
}

fn of_anything(old: &Facts, new: &Facts, proof: Proof) -> Fields {
    differing([
        (differ(old.mode, new.mode), Fields::MODE),
        (differ(old.user, new.user) || differ(old.group, new.group), Fields::OWNER),
        (!is_same_file(old, new, proof), Fields::INODE),
    ])
}

fn of_times(old: &Facts, new: &Facts, proof: Proof) -> Fields {
    differing([
        (differ(old.modified_ns, new.modified_ns), Fields::MODIFIED),
        (proof.change_times && differ(old.changed_ns, new.changed_ns), Fields::CHANGED),
    ])
}

/// Identity that survives a rename. Birth time distinguishes files with a reused inode number, otherwise size and mtime. Where a rename
/// sets the mtime of a directory, its number alone identifies it, which its entries have to confirm. Where inode numbers are made up, birth time, size and mtime are all there is: such an
/// identity may belong to several files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    kind: FileType,
    device: Option<u64>,
    inode: Option<(u64, Option<u64>)>,
    birth: Birth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Birth {
    Known(i64),
    Needless,
    Unknown { size_bytes: Option<u64>, modified_ns: Option<i64> },
    Unnumbered { born_ns: Option<i64>, size_bytes: Option<u64>, modified_ns: Option<i64> },
}

impl Identity {
    pub(crate) fn of(facts: &Facts, proof: Proof) -> Option<Self> {
        // An inode number alone is no identity, because it is given to a new file after a removal. The birth
        // time distinguishes the two. Where it is unknown, size and mtime stand in for it, which an entry
        // keeps when it is renamed; for directories the size is no evidence, and the mtime only where a rename
        // does not change it.
        let Facts { kind, device, inode_high, size_bytes, modified_ns, born_ns, .. } = *facts;
        let is_directory = kind == FileType::Directory;
        let size_bytes = size_bytes.filter(|_| !is_directory);
        if !proof.numbers {
            // The mtime of a directory that was born at a known time may follow from later entries.
            let modified_ns = modified_ns.filter(|_| !is_directory || born_ns.is_none());
            born_ns.or(modified_ns)?;
            let birth = Birth::Unnumbered { born_ns, size_bytes, modified_ns };
            return Some(Self { kind, device, inode: None, birth });
        }
        let birth = match born_ns {
            _ if proof.unique_numbers => Birth::Needless,
            Some(born_ns) => Birth::Known(born_ns),
            None if is_directory && proof.directory_rename != DirectoryRename::KeepsTimes => Birth::Needless,
            None => Birth::Unknown { size_bytes, modified_ns },
        };
        Some(Self { kind, device, inode: Some((facts.inode?, inode_high)), birth })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REUSED: Proof = Proof { directory_times: true, ..Proof::COMMON };
    const UNIQUE: Proof = Proof { unique_numbers: true, directory_times: false, ..Proof::COMMON };

    fn facts() -> Facts {
        Facts {
            kind: FileType::File,
            size_bytes: Some(1),
            modified_ns: Some(2),
            changed_ns: Some(3),
            born_ns: Some(4),
            inode: Some(5),
            device: Some(6),
            mode: Some(0o644),
            user: Some(7),
            group: Some(8),
            links: Some(1),
            ..Facts::NOTHING
        }
    }

    #[test]
    fn every_fact_that_differs_is_named() {
        let old = facts();
        let cases = [
            (Facts { size_bytes: Some(0), ..old }, "size"),
            (Facts { modified_ns: Some(0), ..old }, "mtime"),
            (Facts { changed_ns: Some(0), ..old }, "ctime"),
            (Facts { born_ns: Some(0), ..old }, "inode"),
            (Facts { inode: Some(0), ..old }, "inode"),
            (Facts { device: Some(0), ..old }, "inode"),
            (Facts { mode: Some(0), ..old }, "mode"),
            (Facts { user: Some(0), ..old }, "owner"),
            (Facts { group: Some(0), ..old }, "owner"),
            (Facts { links: Some(0), ..old }, "links"),
        ];
        for (new, name) in cases {
            assert_eq!(of_file(&old, &new, REUSED).names().collect::<Vec<_>>(), [name]);
        }
        assert!(of_file(&old, &old, REUSED).is_empty());
        // Unknown facts do not differ.
        assert!(of_file(&old, &Facts { kind: FileType::File, ..Facts::NOTHING }, REUSED).is_empty());
    }

    #[test]
    fn numbers_of_links_that_listings_bring_are_no_change() {
        // SMB lists one link for every file, and lstat returns the server's number.
        let smb = Proof { links: false, ..REUSED };
        let old = facts();
        assert!(of_file(&old, &Facts { links: Some(2), ..old }, smb).is_empty());
        assert_eq!(of_file(&old, &Facts { links: Some(2), size_bytes: Some(9), ..old }, smb), Fields::SIZE);
    }

    #[test]
    fn a_directory_is_not_modified_by_its_entries() {
        let old = Facts { kind: FileType::Directory, ..facts() };
        let new = Facts { size_bytes: Some(9), links: Some(9), modified_ns: Some(9), ..old };
        assert!(of_directory(&old, &new, false, REUSED).is_empty());
        assert_eq!(of_directory(&old, &new, true, REUSED), Fields::MODIFIED);
        assert_eq!(of_directory(&old, &Facts { mode: Some(0), ..new }, false, REUSED), Fields::MODE);
    }

    #[test]
    fn without_a_time_of_birth_size_and_mtime_identify() {
        let of = |facts: Facts| Identity::of(&facts, REUSED);
        let old = facts();
        assert_eq!(of(old), of(Facts { size_bytes: Some(9), modified_ns: Some(9), mode: Some(0), ..old }));
        assert_ne!(of(old), of(Facts { born_ns: Some(9), ..old }));
        let unborn = Facts { born_ns: None, ..old };
        assert_eq!(of(unborn), of(Facts { changed_ns: Some(9), ..unborn }));
        for other in [
            Facts { size_bytes: Some(9), ..unborn },
            Facts { modified_ns: Some(9), ..unborn },
            Facts { inode: Some(9), ..unborn },
            Facts { device: Some(9), ..unborn },
            Facts { kind: FileType::Symlink, ..unborn },
            old,
        ] {
            assert_ne!(of(unborn), of(other));
        }
        assert_eq!(of(Facts { inode: None, ..old }), None);
    }

    #[test]
    fn a_directory_whose_mtime_a_rename_changes_is_identified_by_its_number() {
        let sets_mtime = Proof { directory_rename: DirectoryRename::SetsMtime, ..REUSED };
        let of = |facts: Facts| Identity::of(&facts, sets_mtime);
        let directory = Facts { kind: FileType::Directory, born_ns: None, ..facts() };
        assert_eq!(of(directory), of(Facts { modified_ns: Some(9), size_bytes: Some(9), ..directory }));
        assert_ne!(of(directory), of(Facts { inode: Some(9), ..directory }));
    }

    #[test]
    fn ctime_that_is_not_stored_is_no_change() {
        let exfat = Proof { change_times: false, ..REUSED };
        let old = facts();
        assert!(of_file(&old, &Facts { changed_ns: Some(2), ..old }, exfat).is_empty());
        let written = Facts { modified_ns: Some(9), changed_ns: Some(9), ..old };
        assert_eq!(of_file(&old, &written, exfat), Fields::MODIFIED);
    }

    #[test]
    fn birth_time_of_a_directory_that_renames_set_takes_no_part() {
        let exfat = Proof { numbers: false, directory_births: false, ..REUSED };
        let old = Facts { kind: FileType::Directory, ..facts() };
        let reborn = Facts { born_ns: Some(9), ..old };
        assert!(is_same_file(&old, &reborn, exfat));
        assert_eq!(of_directory(&old, &reborn, false, exfat), Fields::NOTHING);
        let file = facts();
        assert!(!is_same_file(&file, &Facts { born_ns: Some(9), ..file }, exfat));
    }

    #[test]
    fn made_up_inode_numbers_take_no_part() {
        let proof = Proof { numbers: false, ..REUSED };
        let old = facts();
        let renumbered = Facts { inode: Some(99), ..old };
        assert!(is_same_file(&old, &renumbered, proof) && of_file(&old, &renumbered, proof).is_empty());
        assert!(!is_same_file(&old, &Facts { born_ns: Some(9), ..renumbered }, proof));
        let of = |facts: Facts| Identity::of(&facts, proof);
        assert_eq!(of(old), of(renumbered));
        for other in [
            Facts { born_ns: Some(9), ..renumbered },
            Facts { size_bytes: Some(9), ..renumbered },
            Facts { modified_ns: Some(9), ..renumbered },
        ] {
            assert_ne!(of(old), of(other));
        }
        assert_eq!(of(Facts { born_ns: None, modified_ns: None, ..old }), None);
    }

    #[test]
    fn birth_time_is_ignored_where_inode_numbers_are_unique() {
        let of = |facts: Facts| Identity::of(&facts, UNIQUE);
        let old = facts();
        let reborn = Facts { born_ns: Some(9), size_bytes: Some(9), modified_ns: Some(9), ..old };
        assert_eq!(of(old), of(reborn));
        assert!(is_same_file(&old, &reborn, UNIQUE) && !is_same_file(&old, &reborn, REUSED));
        assert_eq!(of_file(&old, &reborn, UNIQUE), Fields::SIZE.with(Fields::MODIFIED));
        let other = Facts { inode: Some(9), ..old };
        assert_ne!(of(old), of(other));
        assert!(!is_same_file(&old, &other, UNIQUE));
        // Without an inode number only the birth time is left.
        let unnumbered = Facts { inode: None, ..old };
        assert_eq!(of(unnumbered), None);
        assert!(!is_same_file(&unnumbered, &Facts { born_ns: Some(9), ..unnumbered }, UNIQUE));
    }

    #[test]
    fn times_of_directories_that_may_be_late_are_no_change() {
        let old = Facts { kind: FileType::Directory, ..facts() };
        let new = Facts { modified_ns: Some(9), changed_ns: Some(9), ..old };
        assert!(of_directory(&old, &new, true, UNIQUE).is_empty());
        assert_eq!(of_directory(&old, &Facts { mode: Some(0), ..new }, true, UNIQUE), Fields::MODE);
    }
}
