//! The attributes one by one: which there are, and whether two rows agree in one.

use megadir::{Attributes, Want};

/// Every attribute.
pub const FIELDS: [Want; 11] = [
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
];

/// Tells whether two rows have the same value of one attribute.
///
/// # Panics
///
/// When `field` is not one attribute.
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
        several => panic!("{several:?} is not one attribute"),
    }
}

/// Returns what is wrong with a row: it must have all of `want` that `truth` has, bar what is known to be `lacking`,
/// have nothing else, and agree with `truth` in all that it has.
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
            return Some(format!("{field:?} is claimed, but not wanted or not to be had"));
        }
        if has && !agree(row, truth, field) {
            return Some(format!("{field:?} differs: {row:?} instead of {truth:?}"));
        }
    }
    None
}
