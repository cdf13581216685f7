//! Stat backend `listed`: attributes from the listing. Stat backends `attributes-each` and `open-each`: a system call per entry, to
//! compare with them.

use std::os::windows::io::AsHandle;

use megadir_sys::windows::facts::{self, Facts};
use megadir_sys::windows::open::Purpose;

use crate::attributes::{Attributes, StatMask};
use crate::batch::Batch;
use crate::dir::Dir;
use crate::directory_information::Found;
use crate::error::{At, Result};
use crate::file_type::FileType;
use crate::names;
use crate::stat::{Examine, Plain};

const OF_PATH: StatMask = StatMask::TYPE
    .union(StatMask::SIZE)
    .union(StatMask::MODIFIED)
    .union(StatMask::ACCESSED)
    .union(StatMask::BORN);
const OF_OPEN: StatMask = OF_PATH.union(StatMask::CHANGED).union(StatMask::INODE).union(StatMask::LINKS);

pub(super) static LISTED: Plain = Plain {
    name: "listed",
    about: "attributes from the listing: types, sizes, times, file IDs; no links",
    lacks: StatMask::NOTHING,
    is_listed: true,
    start: |want| Box::new(Copying { otherwise: Opening { want: want.without(StatMask::LINKS) } }),
};

/// Entries of other batches, such as names of an inventory, are opened one by one.
struct Copying {
    otherwise: Opening,
}

impl Examine for Copying {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        let Some(brought) = batch.attributes() else {
            return self.otherwise.examine(directory, batch, rows);
        };
        rows.clear();
        rows.extend_from_slice(brought);
        Ok(())
    }
}

pub(super) static ATTRIBUTES_EACH: Plain = Plain {
    name: "attributes-each",
    about: "GetFileAttributesExW of each entry by path: types, sizes, times",
    lacks: StatMask::NOTHING,
    is_listed: false,
    start: |want| Box::new(ByPath { want }),
};

struct ByPath {
    want: StatMask,
}

impl Examine for ByPath {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        rows.clear();
        let below = directory.readable_path()?.join("");
        let mut path: Vec<u16> = std::os::windows::ffi::OsStrExt::encode_wide(below.as_os_str()).collect();
        let below_units = path.len();
        for entry in batch {
            path.truncate(below_units);
            path.extend(names::to_wide(entry.name).unwrap_or_default());
            rows.push(match facts::of_path(&path) {
                Ok(facts) => {
                    let mut row = Found::from(&facts).attributes(self.want, OF_PATH);
                    // The call does not return the reparse tag.
                    if row.have.contains(StatMask::TYPE) && facts.attributes & REPARSE_POINT != 0 {
                        row.kind = directory.kind_of(entry.name).unwrap_or(FileType::Unknown);
                        if row.kind == FileType::Unknown {
                            row.have = row.have.without(StatMask::TYPE);
                        }
                    }
                    row
                }
                Err(error) => Attributes::failed(error.raw_os_error().unwrap_or(i32::MAX)),
            });
        }
        Ok(())
    }
}

const REPARSE_POINT: u32 = 0x400;

pub(super) static OPEN_EACH: Plain = Plain {
    name: "open-each",
    about: "opens each entry relative to the directory: all attributes including links, slowest",
    lacks: StatMask::NOTHING,
    is_listed: false,
    start: |want| Box::new(Opening { want }),
};

struct Opening {
    want: StatMask,
}

impl Examine for Opening {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        rows.clear();
        for entry in batch {
            let queried = directory
                .open_entry(entry.name, Purpose::Query)
                .map_err(|error| error.code())
                .and_then(|file| facts::of_open(file.as_handle()).map_err(|error| error.raw_os_error()));
            rows.push(match queried {
                Ok(facts) => of_open(&facts, self.want),
                Err(code) => Attributes::failed(code.unwrap_or(i32::MAX)),
            });
        }
        Ok(())
    }
}

pub(super) fn of_directory(directory: &Dir, want: StatMask) -> Result<Attributes> {
    let facts = facts::of_open(directory.as_handle()).at("stat", directory.dir_path())?;
    let mut row = of_open(&facts, want);
    row.device = (0, facts.volume);
    row.have = row.have | (want & StatMask::DEVICE);
    Ok(row)
}

pub(crate) fn of_open(facts: &Facts, want: StatMask) -> Attributes {
    let mut row = Found::from(facts).attributes(want, OF_OPEN);
    row.links = facts.links.into();
    row
}
