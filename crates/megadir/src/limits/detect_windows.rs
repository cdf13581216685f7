//! Reads the facts about a directory on Windows, by its handle, without privileges, at a bounded cost.

use std::os::windows::io::AsHandle;

use megadir_sys::windows::{facts as sys, volume};

use super::answer::Assumptions;
use super::basis::Known;
use super::facts::{Facts, Space};
use super::sample::{Sample, counted, facts};
use crate::dir::Dir;
use crate::error::{At, Result};

const COUNTED_MAX: u64 = 10_000;
const NAME_UNITS_MAX: u64 = 255;

pub(super) fn visible(directory: &Dir, assumptions: &Assumptions<'_>) -> Result<Facts> {
    let status = sys::of_open(directory.as_handle()).at("stat", directory.dir_path())?;
    let space = space(volume::size(directory.as_handle()).at("stat", directory.dir_path())?);
    let entries = counted(directory, if assumptions.count { u64::MAX } else { COUNTED_MAX })?;
    let sample = match assumptions.like {
        Some(like) => Sample::of(like, Known::Given, &space)?,
        None => Sample::of(directory, Known::Measured, &space)?,
    };
    Ok(Facts {
        directory_bytes: status.size_bytes,
        links: status.links.into(),
        inode: status.index,
        entries,
        // Free space already accounts for quotas.
        ..facts(directory, assumptions, sample, space)
    })
}

fn space(size: volume::Size) -> Space {
    let clusters = |number: i64| u64::try_from(number).unwrap_or(0);
    Space {
        block_bytes: size.cluster_bytes(),
        unit_bytes: size.cluster_bytes(),
        blocks: clusters(size.clusters),
        blocks_free: clusters(size.free),
        blocks_available: clusters(size.free_to_caller),
        name_bytes_max: NAME_UNITS_MAX,
        ..Space::default()
    }
}

#[cfg(test)]
mod tests {
    use super::Assumptions;
    use crate::dir::Dir;
    use crate::limits::{Limit, limits};

    #[test]
    fn the_volume_bounds_a_directory_of_ntfs() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["a", "bcd", "e"] {
            std::fs::write(scratch.path().join(name), "x").unwrap();
        }
        let directory = Dir::open(scratch.path()).unwrap();
        let assumptions = Assumptions { contents_bytes: Some(10_000), ..Assumptions::MORE_OF_THE_SAME };
        let limits = limits(&directory, &assumptions).unwrap();
        let entries = limits.facts.entries.as_ref().unwrap();
        assert_eq!((entries.value.likely, limits.facts.names.value.longest()), (3, 3));
        let space = &limits.facts.space;
        assert!(space.blocks >= space.blocks_free && space.blocks_free >= space.blocks_available / 2);
        let blocks = limits.ceilings.iter().find(|ceiling| ceiling.limit == Limit::Blocks).unwrap();
        let room = space.blocks_available * space.unit_bytes;
        // Contents of 10 000 bytes take clusters, plus a record and a name.
        assert!(blocks.more.likely <= room / 10_000 && blocks.more.likely >= room / 200_000, "{blocks:?}");
        if limits.facts.file_system == crate::FileSystem::Ntfs {
            let numbers = limits.ceilings.iter().find(|ceiling| ceiling.limit == Limit::Numbers).unwrap();
            assert_eq!(numbers.more.likely, u64::from(u32::MAX) - 3);
        }
    }
}
