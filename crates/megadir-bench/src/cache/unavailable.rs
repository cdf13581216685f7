//! States of the cache where none but warm can be had.

use megadir::Dir;
use megadir_record::CacheState;

use crate::plan::CacheFact;

/// Returns every state of the cache with its name in reports, and why it cannot be had on this system.
pub fn cache_facts(_directory: &Dir) -> Vec<CacheFact> {
    let unavailable = |state: CacheState| state.is_cold().then(|| "this system drops no caches".to_owned());
    let fact =
        |state: CacheState| CacheFact { state, name: state.name().into(), unavailable: unavailable(state) };
    CacheState::ALL.into_iter().map(fact).collect()
}
