//! Availability of the cache states on a directory.

use std::fs::OpenOptions;
use std::os::fd::AsFd;

use megadir::Dir;
use megadir_record::CacheState;

use super::names::DROP_CACHES;
use crate::cache::linux::slab_counts::{SLABINFO, is_known};
use crate::host;

/// File systems that live in the page cache.
const IN_MEMORY: &[&str] = &["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];

/// Reason for not unmounting the file system of a user's directory.
const NOT_OURS: &str = "only file systems created for the run are unmounted; name some with --fs";

/// `true` if file systems of this type live in memory.
pub(crate) fn is_memory(kind: &str) -> bool {
    IN_MEMORY.contains(&kind)
}

/// Returns a function from a state to the reason if it is unavailable on `directory`.
pub(crate) fn refusals(directory: &Dir) -> impl Fn(CacheState) -> Option<String> {
    let file_system = host::file_system(directory.as_fd()).kind;
    move |state| unavailable(state, &file_system)
}

fn unavailable(state: CacheState, file_system: &str) -> Option<String> {
    if !state.drops() {
        return None;
    }
    if is_memory(file_system) {
        return Some(format!("{file_system} has no cold state: it stores its data in the cache"));
    }
    if !is_known(file_system) {
        return Some(format!("it is unknown what {file_system} has cached, so nothing could be verified"));
    }
    match state {
        CacheState::Warm | CacheState::Unseen | CacheState::DataCold => None,
        CacheState::VfsCold => may_drop().err(),
        CacheState::FsCold => Some(NOT_OURS.to_owned()),
    }
}

/// Checks that this process may drop the machine's caches and read the slab counts.
fn may_drop() -> Result<(), String> {
    OpenOptions::new().write(true).open(DROP_CACHES).map_err(|error| {
        format!(
            "{DROP_CACHES} cannot be written ({error}): it needs root, and containers usually do not allow it"
        )
    })?;
    OpenOptions::new()
        .read(true)
        .open(SLABINFO)
        .map_err(|error| format!("{SLABINFO} cannot be read ({error}), so nothing could be verified"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache_facts;
    use megadir_testkit::unprivileged;

    #[test]
    fn memory_has_no_cold_state_and_users_may_not_drop() {
        for state in [CacheState::DataCold, CacheState::VfsCold] {
            assert!(unavailable(state, "tmpfs").unwrap().contains("it stores its data in the cache"));
            assert!(unavailable(state, "overlay").unwrap().contains("it is unknown"));
        }
        assert_eq!(unavailable(CacheState::Warm, "tmpfs"), None);
        assert_eq!(unavailable(CacheState::DataCold, "ext4"), None);
        let refused = unprivileged::unprivileged(|| unavailable(CacheState::VfsCold, "ext4"));
        assert!(refused.unwrap().contains("it needs root"));
        let facts = cache_facts(&Dir::open("/dev/shm").unwrap());
        assert_eq!(facts.iter().filter(|fact| fact.unavailable.is_none()).count(), 2, "{facts:?}");
    }
}
