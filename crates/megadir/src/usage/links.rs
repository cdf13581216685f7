//! Files with several hard links. Their bytes count in the directory whose path and name are the first in
//! byte order, so that every run gives the same answer.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::tree_path::TreePath;

type Id = (u64, (u64, u64));

#[derive(Debug, Default)]
pub(super) struct Links {
    files: HashMap<Id, Linked>,
    names: u64,
}

/// The first name seen so far of one file, with the bytes that count there. It is replaced if another thread
/// finds an earlier name. The inode and device are the key in the table.
#[derive(Debug)]
pub(super) struct Linked {
    pub(super) root: u32,
    pub(super) directory: TreePath,
    pub(super) name: Box<[u8]>,
    pub(super) allocated: u64,
    pub(super) apparent: u64,
}

impl Linked {
    pub(super) fn new(
        root: u32,
        directory: &TreePath,
        name: &[u8],
        (allocated, apparent): (u64, u64),
    ) -> Self {
        Self { root, directory: directory.clone(), name: name.into(), allocated, apparent }
    }

    fn key(&self) -> (u32, &TreePath, &[u8]) {
        (self.root, &self.directory, &self.name)
    }
}

impl Links {
    pub(super) fn see(&mut self, id: Id, file: Linked) -> bool {
        self.names += 1;
        match self.files.entry(id) {
            Entry::Vacant(empty) => {
                empty.insert(file);
                true
            }
            Entry::Occupied(mut known) => {
                if file.key() < known.get().key() {
                    known.insert(file);
                }
                false
            }
        }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Linked> {
        self.files.values()
    }

    pub(super) fn further_names(&self) -> u64 {
        self.names - self.files.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{Id, Linked, Links};
    use crate::tree_path::TreePath;

    #[test]
    fn the_first_name_by_path_counts_and_a_file_takes_little() {
        let mut links = Links::default();
        let names = [("b/c", "x"), ("a", "z"), ("a", "y"), ("a/a", "a"), ("a", "y1")];
        for (at, (directory, name)) in names.into_iter().enumerate() {
            let file = Linked::new(0, &TreePath::from(directory.as_bytes()), name.as_bytes(), (1, 2));
            assert_eq!(links.see((1, (2, 3)), file), at == 0);
        }
        let first = links.files().next().map(|file| (file.directory.to_vec(), file.name.to_vec()));
        assert_eq!(first, Some((b"a".to_vec(), b"y".to_vec())));
        assert_eq!(links.further_names(), 4);
        // With its name and its share of the table's free places about 150 bytes.
        assert_eq!(size_of::<(Id, Linked)>(), 88);
    }
}
