//! Entries that a run has taken, for paths in each other: once `a` is removed, that `a/b` is missing is no error.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::system::{self, Identity};
use super::{Links, Target, is_separator};
use crate::names;

/// About 20 MB. Paths in further targets fail if they are missing.
const TAKEN_MAX: usize = 1_000_000;
/// As Linux (path_resolution(7)).
const LINKS_MAX: u32 = 40;

/// Targets that a run has removed or emptied, by the identity of their parent and their name. Keeps the first million.
#[derive(Debug, Default)]
pub struct Taken {
    hashes: HashSet<u64>,
}

impl Taken {
    /// Notes a target.
    pub fn note(&mut self, target: &Target) {
        if self.hashes.len() < TAKEN_MAX
            && let Ok(parent) = system::identity(&target.parent)
        {
            self.hashes.insert(hash(parent, &target.name));
        }
    }

    /// `true` if the path is that of a noted target or leads through one, also by symbolic links unless they are refused.
    pub fn covers(&self, path: &[u8], links: Links) -> bool {
        !self.hashes.is_empty() && self.leads_through(path, links, LINKS_MAX)
    }

    /// Looks at each name of the path, from the first: the rest may be missing.
    fn leads_through(&self, path: &[u8], links: Links, links_left: u32) -> bool {
        let mut end = 0;
        loop {
            let is_part_of_name = |byte: &u8| !is_separator(*byte);
            let Some(skipped) = path[end..].iter().position(is_part_of_name) else { return false };
            let start = end + skipped;
            end =
                path[start..].iter().position(|byte| is_separator(*byte)).map_or(path.len(), |at| start + at);
            let (above, name) = (&path[..start], &path[start..end]);
            if name == b"." || name == b".." {
                continue;
            }
            let Ok(directory) = system::open_parent(above, links) else { return false };
            let Ok(identity) = system::identity(&directory) else { return false };
            if self.hashes.contains(&hash(identity, name)) {
                return stays_below(&path[end..]);
            }
            if end < path.len()
                && links == Links::Followed
                && links_left > 0
                && let Some(to) = target_of_link(&path[..end])
            {
                let begins: &[u8] =
                    if to.first().is_some_and(|byte| is_separator(*byte)) { b"" } else { above };
                let followed = [begins, &to, b"/", &path[end..]].concat();
                return self.leads_through(&followed, links, links_left - 1);
            }
        }
    }
}

/// `false` if `..` leads out of the directory again.
fn stays_below(rest: &[u8]) -> bool {
    let mut depth = 0_usize;
    for name in rest.split(|byte| is_separator(*byte)) {
        depth = match name {
            b"" | b"." => depth,
            b".." if depth == 0 => return false,
            b".." => depth - 1,
            _ => depth + 1,
        };
    }
    true
}

fn target_of_link(path: &[u8]) -> Option<Vec<u8>> {
    let to = std::fs::read_link(&*names::to_os(path).ok()?).ok()?;
    Some(names::from_os(to.as_os_str()).to_vec())
}

/// Two of a million targets have equal hashes with a probability of 1 to 40 million; then a missing path is no error.
fn hash(parent: Identity, name: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one((parent, name))
}

#[cfg(test)]
mod tests {
    use super::Taken;
    use crate::remove::target::{Links, Resolver};

    #[test]
    fn only_paths_through_removed_entries_are_covered() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::create_dir(top.join("c")).unwrap();
        let path = |tail: &str| [crate::names::from_os(top.as_os_str()), b"/", tail.as_bytes()].concat();
        let mut taken = Taken::default();
        assert!(!taken.covers(&path("a/b"), Links::Followed));
        taken.note(&Resolver::new(Links::Followed).resolve(&path("a"), false).unwrap());
        std::fs::remove_dir_all(top.join("a")).unwrap();
        for links in [Links::Followed, Links::Refused] {
            for covered in ["a", "a/", "a/b", "a//b/c/", "./a/b", "c/../a/b", "a/b/../c"] {
                assert!(taken.covers(&path(covered), links), "{covered}");
            }
            for other in ["c", "c/a", "c/b", "missing/a", "ab", "c/../b", "a/../b", "a/b/../../c"] {
                assert!(!taken.covers(&path(other), links), "{other}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_removed_entries_unless_they_are_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path();
        std::fs::create_dir_all(top.join("d/a/b")).unwrap();
        std::os::unix::fs::symlink("d", top.join("to-d")).unwrap();
        std::os::unix::fs::symlink(top.join("d/a"), top.join("to-a")).unwrap();
        std::os::unix::fs::symlink("loop", top.join("loop")).unwrap();
        let path = |tail: &str| [crate::names::from_os(top.as_os_str()), b"/", tail.as_bytes()].concat();
        let mut taken = Taken::default();
        taken.note(&Resolver::new(Links::Followed).resolve(&path("d/a"), false).unwrap());
        std::fs::remove_dir_all(top.join("d/a")).unwrap();
        for (covered, expected) in [("to-d/a/b", true), ("to-a/b", true), ("to-a", false), ("loop/a", false)]
        {
            assert_eq!(taken.covers(&path(covered), Links::Followed), expected, "{covered}");
            assert!(!taken.covers(&path(covered), Links::Refused), "{covered}");
        }
    }
}
