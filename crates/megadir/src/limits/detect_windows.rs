//! Reads the facts about a directory on Windows, by its handle, without privileges, at a bounded cost.

use std::os::windows::io::AsHandle;

use megadir_sys::windows::{facts as sys, volume};

use super::answer::Asked;
use super::basis::{Fact, Known, Span};
use super::facts::{Contents, Details, Facts, Space};
use super::sample::{Sample, counted, of_size};
use crate::dir::Dir;
use crate::error::{Error, Result};
use crate::file_system::FileSystem;

const COUNTED_MAX: u64 = 10_000;
const NAME_UNITS_MAX: u64 = 255;

pub(super) fn visible(directory: &Dir, asked: &Asked<'_>) -> Result<Facts> {
    let failed = |error| Error::io("stat", directory.path(), error);
    let status = sys::of_open(directory.as_handle()).map_err(failed)?;
    let space = space(volume::size(directory.as_handle()).map_err(failed)?);
    let file_system = directory.file_system();
    let entries = counted(directory, if asked.count { u64::MAX } else { COUNTED_MAX })?;
    let sample = match asked.like {
        Some(like) => Sample::of(like, Known::Given, &space)?,
        None => Sample::of(directory, Known::Measured, &space)?,
    };
    Ok(Facts {
        path: directory.path().to_owned(),
        file_system,
        seen_as: None,
        is_upper_layer: false,
        details: Details::None,
        directory_bytes: status.size_bytes,
        links: status.links.into(),
        inode: status.index,
        entries: entries.map(|entries| Fact::new(Span::exact(entries), Known::Measured, "counted")),
        names: match asked.names {
            Some(names) => Fact::new(names.clone(), Known::Given, "as requested"),
            None => sample.names,
        },
        directory_share: sample.directory_share,
        contents: asked
            .contents_bytes
            .map_or(sample.contents, |bytes| given_contents(bytes, file_system, &space)),
        // Free space already accounts for quotas.
        quotas: Vec::new(),
        space,
        mount: None,
    })
}

fn space(told: volume::Size) -> Space {
    let clusters = |number: i64| u64::try_from(number).unwrap_or(0);
    Space {
        block_bytes: told.cluster_bytes(),
        unit_bytes: told.cluster_bytes(),
        blocks: clusters(told.clusters),
        blocks_free: clusters(told.free),
        blocks_available: clusters(told.free_to_caller),
        inodes: 0,
        inodes_free: 0,
        name_bytes_max: NAME_UNITS_MAX,
        inline_bytes_max: 0,
        packed_bytes_max: 0,
    }
}

fn given_contents(bytes: u64, file_system: FileSystem, space: &Space) -> Fact<Contents> {
    let mean_bytes = of_size(bytes, file_system, space) as f64;
    let how = format!("contents of {bytes} bytes, as requested");
    Fact::new(Contents::exact(mean_bytes), Known::Given, how)
}

#[cfg(test)]
mod tests {
    use super::Asked;
    use crate::dir::Dir;
    use crate::limits::{Limit, limits};

    #[test]
    fn the_volume_bounds_a_directory_of_ntfs() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["a", "bcd", "e"] {
            std::fs::write(scratch.path().join(name), "x").unwrap();
        }
        let directory = Dir::open(scratch.path()).unwrap();
        let asked = Asked { contents_bytes: Some(10_000), ..Asked::MORE_OF_THE_SAME };
        let told = limits(&directory, &asked).unwrap();
        let entries = told.facts.entries.as_ref().unwrap();
        assert_eq!((entries.value.likely, told.facts.names.value.longest()), (3, 3));
        let space = &told.facts.space;
        assert!(space.blocks >= space.blocks_free && space.blocks_free >= space.blocks_available / 2);
        let blocks = told.ceilings.iter().find(|ceiling| ceiling.limit == Limit::Blocks).unwrap();
        let room = space.blocks_available * space.unit_bytes;
        // Contents of 10 000 bytes take clusters, plus a record and a name.
        assert!(blocks.more.likely <= room / 10_000 && blocks.more.likely >= room / 200_000, "{blocks:?}");
        if told.facts.file_system == crate::FileSystem::Ntfs {
            let numbers = told.ceilings.iter().find(|ceiling| ceiling.limit == Limit::Numbers).unwrap();
            assert_eq!(numbers.more.likely, u64::from(u32::MAX) - 3);
        }
    }
}
