//! Look-ups: `fstatat` relative to the directory on Linux, the plan's call on Windows, never following links.
//! At most [`NAMES_MAX`] names are drawn before a block. Random absent names all differ, because the kernel
//! answers a repeated one from a negative entry in its cache; they have the length and randomness of present
//! ones.

use std::collections::HashSet;
use std::ffi::CString;

use megadir::{Dir, Listing as Entries};
use megadir_record::{Counted, Keys, LookupCall, NameScheme, Presence};
use megadir_stats::permutation::{Permutation, SplitMix64};
use rand_distr::{Distribution, Zipf};

use crate::control::{RunControl, WorkError};
use crate::dataset::{NAME_BYTES_MAX, Names};
use crate::kind::{BlockKey, Workload};
use crate::measure::{Operation, Stopwatch};
use crate::os::{At, Borrowed};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

/// Maximum number of names in a block: 4096 of 32 bytes and their pointers fit in the L2 cache.
pub(crate) const NAMES_MAX: u64 = 4096;
/// Number of absent names to draw from, 2^38: far more than a run uses, and within the range of all schemes.
pub(crate) const ABSENT_NAMES: u64 = 1 << 38;
/// Number of names sampled from an existing directory, unless an arm needs more at once.
pub(crate) const SAMPLE_MAX: usize = 65_536;

pub(crate) struct Lookup<'a> {
    presence: Presence,
    keys: Keys,
    call: LookupCall,
    source: &'a NameSource,
    seed: u64,
    names: Vec<system::Name>,
    /// Blocks prepared so far.
    blocks: u64,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(
        presence: Presence,
        keys: Keys,
        call: LookupCall,
        source: &'a NameSource,
        seed: u64,
    ) -> Self {
        Self { presence, keys, call, source, seed, names: Vec::new(), blocks: 0 }
    }

    fn draw(&self, block: BlockKey, count: u64) -> Vec<u64> {
        let entries = self.source.entries().max(1);
        let mut random = SplitMix64::new(self.seed ^ block.number());
        // The constant name and the popularity of names are the same in all blocks, and independent of the
        // files' age.
        let shuffled = Permutation::new(entries, self.seed);
        let at = |rank| shuffled.get(rank).unwrap_or(0);
        match self.keys {
            Keys::Fixed => vec![at(0)],
            Keys::Random if self.presence == Presence::Absent => {
                // Names must be new in every block: the kernel has cached the absence of earlier ones.
                let mut fresh = SplitMix64::new(random.next_u64() ^ self.blocks.rotate_left(32));
                (0..count).map(|_| entries + fresh.below(ABSENT_NAMES).unwrap_or(0)).collect()
            }
            // The first ranks of a permutation specific to the block.
            Keys::Random if block.distinct => {
                let own = Permutation::new(entries, random.next_u64());
                (0..count.min(entries)).map(|rank| own.get(rank).unwrap_or(0)).collect()
            }
            Keys::Random => (0..count).map(|_| random.below(entries).unwrap_or(0)).collect(),
            Keys::Zipf => {
                let Ok(zipf) = Zipf::new(entries as f64, 1.0) else { return vec![at(0)] };
                let mut random = Source(random);
                let rank = |_| (zipf.sample(&mut random) as u64).clamp(1, entries) - 1;
                if block.distinct {
                    let mut seen = HashSet::new();
                    let ranks = std::iter::repeat(0).map(rank).filter(|rank| seen.insert(*rank));
                    return ranks.take(count.min(entries) as usize).map(at).collect();
                }
                (0..count).map(rank).map(at).collect()
            }
        }
    }
}

impl Workload for Lookup<'_> {
    fn unavailable(&self, directory: &Dir) -> Option<String> {
        let none = self.presence == Presence::Present && self.source.entries() == 0;
        let none = none.then(|| "the directory has no name to look up".to_owned());
        let present = (self.source.entries() > 0).then(|| self.source.name(Presence::Present, 0, self.seed));
        none.or_else(|| system::unavailable(self.call, directory, present))
    }

    fn setup(
        &mut self,
        directory: &Dir,
        block: BlockKey,
        operations: u64,
        _signals: RunControl<'_>,
    ) -> Result<(), WorkError> {
        let fresh = self.presence == Presence::Absent && self.keys == Keys::Random;
        self.blocks += 1;
        let indices = self.draw(block, if fresh { operations } else { operations.min(NAMES_MAX) });
        let name = |index| self.source.name(self.presence, index, self.seed);
        let prepared = system::prepare(self.call, directory, indices.into_iter().map(name));
        self.names = prepared.map_err(|source| WorkError::Stage { stage: "the names", source })?;
        Ok(())
    }

    fn run(
        &mut self,
        directory: &Dir,
        operations: u64,
        stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<Counted, WorkError> {
        let (call, names) = (self.call, self.names.as_slice());
        let mut ask = Ask { call, directory: directory.at(), names, next: 0, control };
        let found = stopwatch.time(&mut ask, operations)?;
        let all = found == operations;
        let mixed = if all { 0 } else { found };
        Ok(Counted { entries: u64::from(all), hash: mixed, calls: Some(1), written_bytes: 0 })
    }
}

/// Looks up the names of a block, one after the other.
struct Ask<'a> {
    call: LookupCall,
    directory: Borrowed<'a>,
    names: &'a [system::Name],
    next: usize,
    control: RunControl<'a>,
}

impl Operation for Ask<'_> {
    type Error = WorkError;

    /// Returns 1 for a name that exists.
    #[inline]
    fn run(&mut self, _index: u64) -> Result<u64, WorkError> {
        // A division would take longer than the rest of this function.
        if self.next == self.names.len() {
            self.next = 0;
        }
        let name = &self.names[self.next];
        self.next += 1;
        let exists = system::exists(self.call, self.directory, name);
        exists.map(u64::from).map_err(|source| WorkError::Stage { stage: self.call.name(), source })
    }

    fn between(&mut self) -> Result<(), WorkError> {
        Ok(self.control.check()?)
    }
}

struct Source(SplitMix64);

impl rand_core::TryRng for Source {
    type Error = rand_core::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok((self.0.next_u64() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.0.next_u64().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

#[derive(Debug)]
pub(crate) enum NameSource {
    /// Computed; files exist for indices below `entries`.
    Made {
        names: Names,
        entries: u64,
    },
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
