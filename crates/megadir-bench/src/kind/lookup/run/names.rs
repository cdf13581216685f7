//! Source of the names for look-ups: computed by the data set's scheme, or drawn from a listing.

use std::ffi::CString;

use megadir::{Dir, Listing as Entries};
use megadir_record::{NameScheme, Presence};
use megadir_stats::permutation::SplitMix64;

use crate::control::{RunControl, WorkError};
use crate::dataset::{NAME_BYTES_MAX, Names};

#[derive(Debug)]
pub(crate) enum NameSource {
    /// Computed; files exist for indices below `entries`.
<<<<<<< HEAD
    Made { names: Names, entries: u64 },
    /// Drawn from a listing, each name equally likely.
=======
    Made {
        names: Names,
        entries: u64,
    },
>>>>>>> h5
    Listed(Vec<CString>),
}

impl NameSource {
    /// Draws at most `at_most` names of an existing directory by reservoir sampling (Vitter's algorithm R).
    pub(crate) fn sample(
        directory: &Dir,
        seed: u64,
        at_most: usize,
        control: RunControl<'_>,
    ) -> Result<Self, WorkError> {
        let mut random = SplitMix64::new(seed);
        let (mut kept, mut seen) = (Vec::new(), 0_u64);
        let mut listing = Entries::open(directory.path())?;
        while let Some(batch) = listing.next_batch()? {
            control.check()?;
            for entry in batch.entries() {
                seen += 1;
                // Names in a directory have no NUL.
                let Ok(name) = CString::new(entry.name) else { continue };
                if kept.len() < at_most {
                    kept.push(name);
                } else if let Some(place) = kept.get_mut(random.below(seen).unwrap_or(0) as usize) {
                    *place = name;
                }
            }
        }
        Ok(Self::Listed(kept))
    }

    /// Returns the scheme of computed names; for listed names, the scheme of the published studies.
    pub(crate) fn scheme(&self) -> NameScheme {
        match self {
            Self::Made { names, .. } => names.scheme,
            Self::Listed(_) => NameScheme::Md5,
        }
    }

    pub(crate) fn entries(&self) -> u64 {
        match self {
            Self::Made { entries, .. } => *entries,
            Self::Listed(kept) => kept.len() as u64,
        }
    }

    pub(crate) fn name(&self, presence: Presence, index: u64, seed: u64) -> CString {
        let computed = |names: Names, index| {
            let mut buffer = [0; NAME_BYTES_MAX];
            CString::new(names.write(index, &mut buffer)).unwrap_or_default()
        };
        match (self, presence) {
            (Self::Made { names, .. }, Presence::Present) => computed(*names, index),
            (Self::Made { names, entries }, Presence::Absent) => computed(*names, entries + index),
            (Self::Listed(kept), Presence::Present) => kept.get(index as usize).cloned().unwrap_or_default(),
            (Self::Listed(_), Presence::Absent) => {
                computed(Names { scheme: NameScheme::Md5, seed: seed ^ 0x6162_7365_6e74 }, index)
            }
        }
    }
}
