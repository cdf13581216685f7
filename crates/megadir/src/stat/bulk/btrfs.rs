//! StatBackend `btrfs-search`: the inodes of a batch by `BTRFS_IOC_TREE_SEARCH_V2`, with everything stored between them. Directories are
//! read by statx, because an entry may hold the number of a subvolume. Changed inodes reach the tree late, new ones at once.

use std::os::fd::AsFd;

use megadir_sys::btrfs_search::{BtrfsDirectory, InodeItem, Search};

use super::worth::Terms;
use super::{Answer, Bulk, LACKING_OF_CALLS, Wanted, refusal};
use crate::attributes::{Attributes, StatMask, Time};
use crate::dir::Dir;
use crate::mounts::Mount;

pub(in crate::stat) struct TreeSearch {
    search: Search,
}

const EMPTY_SUBVOLUME: u64 = 2;

const ITEMS_PER_INODE: usize = 4;

impl Bulk for TreeSearch {
    const NAME: &str = "btrfs-search";
    const ABOUT: &str =
        "BTRFS_IOC_TREE_SEARCH_V2: inodes from the tree, after a sync of the file system (btrfs, root)";
    const NUMBERS_DIRECTORIES: bool = false;
    const ALL_IS_LATE: bool = true;
    const LACKING: StatMask = LACKING_OF_CALLS;
    // A call costs as much as walking over two inodes, statx as three or four.
    const TERMS: Terms = Terms { gap: 4, run_min: 2, walked_max: 3 };

    type Source = ();

    fn new() -> Self {
        Self { search: Search::new() }
    }

    fn probe(directory: &Dir, mount: &Mount) -> Result<(), String> {
        let Ok(on_btrfs) = BtrfsDirectory::check(directory.as_fd()) else {
            return Err(format!("btrfs-search is for btrfs, and this is {}", directory.file_system()));
        };
        if mount.maps_users {
            return Err("the mount is idmapped, and the tree holds unmapped users".to_owned());
        }
        match Search::new().inodes(on_btrfs, 0, u64::MAX, 1) {
            Ok(_) => Ok(()),
            // A nested subvolume's stub in a snapshot supports no ioctl.
            Err(_) if directory.id().is_ok_and(|id| id.inode == EMPTY_SUBVOLUME) => Ok(()),
            Err(error) => Err(refusal(&error, "BTRFS_IOC_TREE_SEARCH_V2", "3.16")),
        }
    }

    fn call(
        &mut self,
        directory: &Dir,
        (): &(),
        run: &[Wanted],
        mut given: impl FnMut(u64, Attributes),
    ) -> Option<Answer> {
        let on_btrfs = BtrfsDirectory::check(directory.as_fd()).ok()?;
        let (first, last) = (run.first()?.inode, run.last()?.inode);
        let items_max = ((run.len() + 8) * ITEMS_PER_INODE) as u32;
        let found = self.search.inodes(on_btrfs, first, last, items_max).ok()?;
        let mut answer = None;
        for (items, item) in (1..).zip(found) {
            if let Some(inode) = item.inode() {
                given(item.object, row(item.object, &inode));
            }
            answer = Some(Answer { last: item.object, walked: items / ITEMS_PER_INODE });
        }
        answer
    }
}

#[inline]
fn row(number: u64, inode: &InodeItem) -> Attributes {
    let time = |(seconds, nanoseconds)| Time { seconds, nanoseconds };
    Attributes {
        links: inode.links.into(),
        user: inode.user,
        group: inode.group,
        inode: number,
        size_bytes: inode.size_bytes,
        modified: time(inode.modified),
        changed: time(inode.changed),
        born: time(inode.born),
        ..Attributes::of_mode(inode.mode)
    }
}
