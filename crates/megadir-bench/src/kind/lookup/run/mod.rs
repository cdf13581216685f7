//! Look-ups: `fstatat` relative to the directory on Linux, the plan's call on Windows, never following links.
//! At most [`NAMES_MAX`] names are drawn before a block. Random absent names all differ, because the kernel
//! answers a repeated one from a negative entry; they have the length and randomness of present ones.
//!
//! ```text
//!  setup (untimed)  keys -> indices -> names as the call takes them
//!  run   (timed)    name[0], name[1] ... name[n - 1], name[0] ...     one call each
//! ```

use std::collections::HashSet;
use std::ffi::CString;

use megadir::{Dir, Listing as Entries};
use megadir_record::{Counted, Keys, LookupCall, NameScheme, Presence};
use megadir_stats::permutation::{Permutation, SplitMix64};
use rand_distr::{Distribution, Zipf};

use crate::control::{Result, RunControl, WorkError};
use crate::dataset::{NAME_BYTES_MAX, Names};
use crate::kind::{BlockKey, WorkBlock, Workload};
use crate::measure::Stopwatch;
use crate::os::At;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

/// 4096 names of 32 bytes and their pointers fit in the L2 cache.
pub(crate) const NAMES_MAX: u64 = 4096;
/// Absent names to draw from: far more than a run uses, and within the range of all schemes.
pub(crate) const ABSENT_NAMES: u64 = 1 << 38;
/// Names of an existing directory that are kept in memory; names of generated files are computed.
pub(crate) const SAMPLE_MAX: usize = 65_536;

/// `names` are drawn before a block and reused cyclically within it, if the block has more operations than
/// names. `blocks` counts the blocks so far, so that absent names are new in each of them: a repeated one
/// would be answered from a negative entry.
pub(crate) struct Lookup<'a> {
    presence: Presence,
    keys: Keys,
    call: LookupCall,
    source: &'a NameSource,
    seed: u64,
    names: Vec<system::Name>,
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

    /// Indices of the names of a block. Drawing is seeded by the block's place in the plan, so that all
    /// arms with the same keys look up the same names, and a resumed run does too.
    fn draw(&self, block: BlockKey, count: u64) -> Vec<u64> {
        let entries = self.source.entries().max(1);
        let mut random = SplitMix64::new(self.seed ^ block.number());
        // The popularity of names is the same in all blocks, and independent of the files' age.
        let shuffled = Permutation::new(entries, self.seed);
        let at = |rank| shuffled.get(rank).unwrap_or(0);
        match self.keys {
            Keys::Fixed => vec![at(0)],
            Keys::Random if self.presence == Presence::Absent => {
                // Names must be new in every block: the kernel has cached the absence of earlier ones.
                let mut fresh = SplitMix64::new(random.next_u64() ^ self.blocks.rotate_left(32));
                (0..count).map(|_| entries + fresh.below(ABSENT_NAMES).unwrap_or(0)).collect()
            }
            Keys::Random if block.distinct => {
                let own = Permutation::new(entries, random.next_u64());
                (0..count.min(entries)).map(|rank| own.get(rank).unwrap_or(0)).collect()
            }
            Keys::Random => (0..count).map(|_| random.below(entries).unwrap_or(0)).collect(),
            Keys::Zipf => {
                let Ok(zipf) = Zipf::new(entries as f64, 1.0) else { return vec![at(0)] };
                let mut random = RandomSource(random);
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

    fn setup(&mut self, block: &WorkBlock<'_>) -> Result<()> {
        let fresh = self.presence == Presence::Absent && self.keys == Keys::Random;
        self.blocks += 1;
        let count = if fresh { block.operations } else { block.operations.min(NAMES_MAX) };
        let indices = self.draw(block.key, count);
        let name = |index| self.source.name(self.presence, index, self.seed);
        let prepared = system::prepare(self.call, block.directory, indices.into_iter().map(name));
        self.names = prepared.map_err(WorkError::at("the names"))?;
        Ok(())
    }

    fn run(&mut self, block: &WorkBlock<'_>, stopwatch: &mut Stopwatch) -> Result<Counted> {
        let WorkBlock { directory, operations, control, .. } = *block;
        let (call, names) = (self.call, self.names.as_slice());
        let (at, mut next) = (directory.at(), 0);
        let look_up = |_| {
            // A division would take longer than the rest of this function.
            if next == names.len() {
                next = 0;
            }
            let name = &names[next];
            next += 1;
            system::exists(call, at, name).map(u64::from).map_err(WorkError::at(call.name()))
        };
        let found = stopwatch.time(operations, look_up, || Ok(control.check()?))?;
        // Present names must all be found and absent ones never; a mixture is recorded as unequal work.
        let all = found == operations;
        let mixed = if all { 0 } else { found };
        Ok(Counted { entries: u64::from(all), hash: mixed, calls: Some(1), written_bytes: 0 })
    }
}

/// The plan's generator, for the crate that draws by Zipf's law.
struct RandomSource(SplitMix64);

impl rand_core::TryRng for RandomSource {
    type Error = rand_core::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok((self.0.next_u64() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        rand_core::utils::fill_bytes_via_next_word(bytes, || Ok(self.0.next_u64()))
    }
}

#[cfg(target_os = "linux")]
mod linux {

    use std::ffi::CString;
    use std::io;

    use megadir::Dir;
    use megadir_record::LookupCall;
    use rustix::fs::{AtFlags, statat};
    use rustix::io::Errno;

    use crate::os::Borrowed;

    pub(crate) type Name = CString;

    pub(crate) fn unavailable(
        call: LookupCall,
        _directory: &Dir,
        _present: Option<CString>,
    ) -> Option<String> {
        (call != LookupCall::Fstatat).then(|| "a Windows call".to_owned())
    }

    pub(crate) fn prepare(
        _call: LookupCall,
        _directory: &Dir,
        names: impl Iterator<Item = CString>,
    ) -> io::Result<Vec<Name>> {
        Ok(names.collect())
    }

    #[inline]
    pub(crate) fn exists(_call: LookupCall, directory: Borrowed<'_>, name: &Name) -> io::Result<bool> {
        match statat(directory, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(windows)]
mod windows {
    //! Windows: `GetFileAttributesExW` by whole path, or `NtQueryFullAttributesFile` relative to the
    //! directory's handle. Neither opens a handle in this process, nor follows a link.

    use std::ffi::{CString, OsString};
    use std::io;
    use std::os::windows::ffi::{OsStrExt, OsStringExt};

    use megadir::Dir;
    use megadir::names::{refused_by_windows, to_wide};
    use megadir_record::LookupCall;
    use megadir_sys::windows::facts;

    use crate::os::{self, At, Borrowed};

    /// In the call's format: whole path with NUL, or the name alone.
    pub(crate) type Name = Box<[u16]>;

    /// Longer paths, in UTF-16 units with NUL, need the prefix `\\?\` (`MAX_PATH`).
    const PLAIN_UNITS_MAX: usize = 260;
    const BACKSLASH: u16 = b'\\' as u16;

    pub(crate) fn unavailable(call: LookupCall, directory: &Dir, present: Option<CString>) -> Option<String> {
        match call {
            LookupCall::Fstatat => Some("a Linux call".to_owned()),
            LookupCall::AttributesByPath => None,
            LookupCall::AttributesByHandle => {
                let name = present?;
                let is_there = os::status(directory.at(), name.as_bytes()).is_ok();
                let is_found = os::facts_of(directory.at(), name.as_bytes()).is_ok();
                // Wine 8 looks in the current directory instead.
                (is_there && !is_found)
                    .then(|| format!("{} does not work relative to a handle here", call.name()))
            }
        }
    }

    pub(crate) fn prepare(
        call: LookupCall,
        directory: &Dir,
        names: impl Iterator<Item = CString>,
    ) -> io::Result<Vec<Name>> {
        let wide = |name: &CString| to_wide(name.as_bytes()).ok_or(io::ErrorKind::InvalidFilename.into());
        if call != LookupCall::AttributesByPath {
            return names.map(|name| wide(&name).map(Vec::into_boxed_slice)).collect();
        }
        let top: Vec<u16> = directory.present_path()?.as_os_str().encode_wide().collect();
        names.map(|name| Ok(whole(&top, &wide(&name)?).into_boxed_slice())).collect()
    }

    /// With `\\?\` only if the path is too long or would be misparsed.
    fn whole(top: &[u16], name: &[u16]) -> Vec<u16> {
        let text = OsString::from_wide(name);
        let plain_name = text.to_str().is_some_and(|text| refused_by_windows(text).is_none());
        let verbatim: Vec<u16> = r"\\?\".encode_utf16().collect();
        let drive =
            top.strip_prefix(verbatim.as_slice()).filter(|rest| rest.get(1) == Some(&u16::from(b':')));
        let top = match drive {
            Some(rest) if plain_name && rest.len() + name.len() + 2 <= PLAIN_UNITS_MAX => rest,
            _ => top,
        };
        let separator = (top.last() != Some(&BACKSLASH)).then_some(BACKSLASH);
        top.iter().copied().chain(separator).chain(name.iter().copied()).chain([0]).collect()
    }

    #[inline]
    pub(crate) fn exists(call: LookupCall, directory: Borrowed<'_>, name: &Name) -> io::Result<bool> {
        let status = match call {
            LookupCall::AttributesByPath => facts::of_terminated(name),
            LookupCall::AttributesByHandle | LookupCall::Fstatat => facts::of_name(directory, name),
        };
        Ok(os::if_file_there(status)?.is_some())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn paths_are_written_as_programs_write_them_where_they_can_be() {
            let of = |top: &str, name: &str| {
                let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
                let path = whole(&units(top), &units(name));
                assert_eq!(path.last(), Some(&0));
                String::from_utf16(&path[..path.len() - 1]).unwrap()
            };
            assert_eq!(of(r"\\?\C:\cache", "abc"), r"C:\cache\abc");
            assert_eq!(of(r"\\?\C:\", "abc"), r"C:\abc");
            assert_eq!(of(r"C:\cache", "abc"), r"C:\cache\abc");
            assert_eq!(of(r"\\?\UNC\server\share", "abc"), r"\\?\UNC\server\share\abc");
            assert_eq!(of(r"\\?\Volume{1}\d", "abc"), r"\\?\Volume{1}\d\abc");
            assert_eq!(of(r"\\?\C:\cache", "end."), r"\\?\C:\cache\end.");
            let long = "d".repeat(250);
            assert_eq!(of(&format!(r"\\?\C:\{long}"), "abc"), format!(r"C:\{long}\abc"));
            assert_eq!(of(&format!(r"\\?\C:\{long}"), "abcdef"), format!(r"\\?\C:\{long}\abcdef"));
        }
    }
}

#[cfg(test)]
mod tests;

/// Names of made files are computed; files exist for indices below `entries`.
#[derive(Debug)]
pub(crate) enum NameSource {
    Made { names: Names, entries: u64 },
    Listed(Vec<CString>),
}

impl NameSource {
    /// Draws at most `at_most` names of an existing directory by reservoir sampling (Vitter's algorithm R).
    pub(crate) fn sample(
        directory: &Dir,
        seed: u64,
        at_most: usize,
        control: RunControl<'_>,
    ) -> Result<Self> {
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

    /// A name that exists or does not. Absent names of generated data continue their numbers, so they look
    /// like the present ones; in a user's directory they are digests, which no directory has by chance.
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
