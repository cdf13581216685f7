//! List of attributes, and comparison of two rows by attribute.

use megadir::{Attributes, FileType, Want};

pub const FIELDS: [Want; 14] = [
    Want::TYPE,
    Want::SIZE,
    Want::MODIFIED,
    Want::CHANGED,
    Want::BORN,
    Want::MODE,
    Want::OWNER,
    Want::LINKS,
    Want::INODE,
    Want::DEVICE,
    Want::MOUNT,
    Want::ALLOCATED,
    Want::ACCESSED,
    Want::SPECIAL,
];

/// Panics if `field` is not a single attribute.
pub fn agree(one: &Attributes, other: &Attributes, field: Want) -> bool {
    match field {
        Want::TYPE => one.kind == other.kind,
        Want::SIZE => one.size_bytes == other.size_bytes,
        Want::MODIFIED => one.modified == other.modified,
        Want::CHANGED => one.changed == other.changed,
        Want::BORN => one.born == other.born,
        Want::MODE => one.mode == other.mode,
        Want::OWNER => (one.user, one.group) == (other.user, other.group),
        Want::LINKS => one.links == other.links,
        Want::INODE => one.inode == other.inode,
        Want::DEVICE => one.device == other.device,
        Want::MOUNT => one.mount == other.mount,
        Want::ALLOCATED => one.allocated_bytes == other.allocated_bytes,
        // Listing a directory and reading a link are accesses, which may come between the two rows.
        Want::ACCESSED if matches!(one.kind, FileType::Directory | FileType::Symlink) => true,
        Want::ACCESSED => one.accessed == other.accessed,
        Want::SPECIAL => one.special == other.special,
        several => panic!("{several:?} is not one attribute"),
    }
}

/// A row must have all of `want` that `truth` has except `lacking`, nothing else, and agree with `truth`.
pub fn wrong(row: &Attributes, truth: &Attributes, want: Want, lacking: Want) -> Option<String> {
    if row.error != 0 {
        return Some(format!("error {} ({})", row.error, std::io::Error::from_raw_os_error(row.error)));
    }
    for field in FIELDS {
        let has = row.have.contains(field);
        let must = want.contains(field) && truth.have.contains(field) && !lacking.contains(field);
        let may = want.contains(field) && truth.have.contains(field);
        if must && !has {
            return Some(format!("{field:?} is missing"));
        }
        if has && !may {
            return Some(format!("{field:?} is returned, but not requested or unavailable"));
        }
        if has && !agree(row, truth, field) {
            return Some(format!("{field:?} differs: {row:?} instead of {truth:?}"));
        }
    }
    None
}
