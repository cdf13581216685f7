//! Windows: which states can be had, and why not.

use megadir::Dir;
use megadir_record::CacheState;

/// Returns what says why a state cannot be had on `directory`, if it cannot.
pub(super) fn refusals(_directory: &Dir) -> impl Fn(CacheState) -> Option<String> {
    |state| match state {
        CacheState::Warm => None,
        CacheState::DataCold | CacheState::VfsCold | CacheState::FsCold => {
            Some("this system drops no caches".to_owned())
        }
    }
}
