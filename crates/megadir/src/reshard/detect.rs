//! Layout of a tree, from a sample, and the files that do not fit a layout.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::Progress;
use super::tree::{self, At, READ, Visit};
use crate::backend;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::layout::{Layout, NameBuffer, PRESETS, PathBuffer, Source};

const FILES: [usize; 2] = [1000, 40];
/// Subdirectories of the top, of its subdirectories, and of each deeper directory.
const BELOW: [usize; 3] = [32, 4, 2];
const DIRECTORIES_MAX: usize = 1000;
/// With fewer files in a sample, all directories are read, up to a number: directories of the sample may be empty.
const FEW: usize = 20;
const ALL_DIRECTORIES_MAX: usize = 10_000;
/// Longer directories are names, not beginnings of names.
const SHORTENED_MAX: u16 = 4;

/// Result of [`detect`].
///
/// A sample proves no layout: several may fit it, so other fitting ones are returned too, and the caller
/// decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected {
    /// Layout that most sampled files fit; `None` if no layout fits half of them.
    pub layout: Option<Layout>,
    /// Sampled files.
    pub sampled: u64,
    /// Sampled files that fit the layout.
    pub fit: u64,
    /// Sampled files that fit the layout only if names were shortened by the characters of their directories:
    /// the layout is a guess, since any name fits.
    pub is_guess: bool,
    /// Few files are in the first 10 000 directories, and there are more directories.
    pub is_cut: bool,
    /// Sampled files that fit `besides`; `sampled` does not count them.
    pub moved: u64,
    /// If all sampled files fit `besides`: another layout that they fit, and that names can contradict.
    pub alike: Option<Layout>,
    /// Another layout that as many sampled files fit, and that names can contradict as well, or as little.
    pub tie: Option<Layout>,
    /// Layout that `fit` sampled files fit without an ending that they share, such as the digest of the name before `.data`. Then `layout`
    /// is `None`: only layouts by the end of the name have endings, and one that shortens names would fit them with wrong names.
    pub without_ending: Option<(Layout, Ending)>,
}

/// Ending of names with its dot, such as `.data`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    bytes: [u8; ENDING_MAX],
    length: usize,
}

const ENDING_MAX: usize = 16;

impl Ending {
    /// `None` for a name without a dot between two other characters, and for long endings.
    fn of(path: &[u8]) -> Option<Self> {
        let name = path.rsplit(|byte| *byte == b'/').next()?;
        let dot = name.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 0)?;
        let ending = &name[dot..];
        let mut bytes = [0; ENDING_MAX];
        bytes.get_mut(..ending.len()).filter(|_| ending.len() > 1)?.copy_from_slice(ending);
        Some(Self { bytes, length: ending.len() })
    }

    /// The ending that more than half of the paths have.
    fn most_common(paths: &[Vec<u8>]) -> Option<Self> {
        let mut counts = BTreeMap::<[u8; ENDING_MAX], (Self, usize)>::new();
        for ending in paths.iter().filter_map(|path| Self::of(path)) {
            counts.entry(ending.bytes).or_insert((ending, 0)).1 += 1;
        }
        let (ending, count) = counts.into_values().max_by_key(|(_, count)| *count)?;
        (2 * count > paths.len()).then_some(ending)
    }

    /// The ending.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().escape_ascii().fmt(f)
    }
}

impl fmt::Debug for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ending({self})")
    }
}

/// Determines the layout of a tree from a sample of about a thousand files, usually within milliseconds. If fewer than 20 are met, it
/// reads up to 10 000 directories. Files that fit `besides` count apart: they were moved there. Errors: the directory cannot be read.
pub fn detect(directory: &Dir, besides: Option<&Layout>) -> Result<Detected> {
    let mut sample = Sample::of(directory, besides, false)?;
    if sample.met() < FEW {
        sample = Sample::of(directory, besides, true)?;
    }
    let whole = best(&sample.paths, besides);
    let without_ending = best_without_ending(&sample.paths, besides, whole);
    let best = without_ending.map(|(best, _)| best).or(whole);
    let moved = sample.moved.len() as u64;
    let alike = best_of_moved(&sample).filter(|_| sample.paths.is_empty());
    Ok(Detected {
        layout: whole.filter(|_| without_ending.is_none()).map(|best| best.layout),
        sampled: sample.paths.len() as u64,
        fit: best.map_or(0, |best| best.fit),
        is_guess: best.is_some_and(|best| best.is_guess),
        is_cut: sample.of_all && sample.met() < FEW && sample.directories >= ALL_DIRECTORIES_MAX,
        moved,
        alike,
        tie: best.and_then(|best| best.tie),
        without_ending: without_ending.map(|(best, ending)| (best.layout, ending)),
    })
}

/// A file that gets another name, not only another directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// Path below the directory.
    pub from: Vec<u8>,
    /// Its path in the new layout.
    pub to: Vec<u8>,
}

/// Returns the first file of a sample whose last component differs in the two layouts. One of them shortens names then: the other has
/// the characters of the directories in the name. Errors: the directory cannot be read.
pub fn renamed(directory: &Dir, from: &Layout, to: &Layout) -> Result<Option<Renamed>> {
    // Only these take characters from a name, or give them back.
    if !from.is_trimmed() && !to.is_trimmed() {
        return Ok(None);
    }
    fn last(path: &[u8]) -> Option<&[u8]> {
        path.rsplit(|byte| *byte == b'/').next()
    }
    let sample = Sample::of(directory, None, false)?;
    let (mut names, mut places) = (NameBuffer::new(), PathBuffer::new());
    // A layout that grows gives a file the same name at each of its depths.
    let Some(placer) = to.placers().next() else { return Ok(None) };
    let mut of = |path: &Vec<u8>| {
        let name = from.name_of(path, &mut names)?;
        let new = placer.place(name, &mut places).ok()?.path();
        (last(new) != last(path)).then(|| Renamed { from: path.clone(), to: new.to_vec() })
    };
    Ok(sample.paths.iter().find_map(&mut of))
}

/// Layout that names can contradict, and that more paths fit without their ending than any such layout with it.
fn best_without_ending(
    paths: &[Vec<u8>],
    besides: Option<&Layout>,
    whole: Option<Best>,
) -> Option<(Best, Ending)> {
    let ending = Ending::most_common(paths)?;
    let stems: Vec<Vec<u8>> =
        paths.iter().filter_map(|path| path.strip_suffix(ending.as_bytes()).map(<[u8]>::to_vec)).collect();
    let found = best(&stems, besides).filter(|best| !best.is_guess && 2 * best.fit >= paths.len() as u64)?;
    let fit = whole.filter(|whole| !whole.is_guess).map_or(0, |whole| whole.fit);
    (found.fit > fit).then_some((found, ending))
}

/// Another layout that most moved files fit at least as well, if their names can contradict it.
fn best_of_moved(sample: &Sample<'_>) -> Option<Layout> {
    let best = best(&sample.moved, None).filter(|best| !best.is_guess)?;
    Some(best.layout).filter(|layout| Some(layout) != sample.besides)
}

#[derive(Clone, Copy)]
struct Best {
    layout: Layout,
    fit: u64,
    is_guess: bool,
    tie: Option<Layout>,
}

/// Layout that at least half of the paths fit, and most of all layouts.
fn best(paths: &[Vec<u8>], except: Option<&Layout>) -> Option<Best> {
    let mut names = NameBuffer::new();
    let mut fit = |layout: &Layout| {
        paths.iter().filter(|path| layout.name_of(path, &mut names).is_some()).count() as u64
    };
    let mut best: Option<Best> = None;
    let (all, guesses) = candidates(paths);
    for layout in all.iter().chain(&guesses).filter(|layout| Some(*layout) != except) {
        let (fit, is_guess) = (fit(layout), guesses.contains(layout));
        let is_half = !paths.is_empty() && 2 * fit >= paths.len() as u64;
        if !is_half {
            continue;
        }
        match &mut best {
            // A guess counts only if no layout that names can contradict fits.
            Some(best) if is_guess && !best.is_guess => {}
            Some(best) if fit < best.fit => {}
            // A layout that grows fits all that the same one does at a fixed depth.
            Some(best) if fit == best.fit => {
                if layout.growth().is_none() && *layout != best.layout && best.tie.is_none() {
                    best.tie = Some(*layout);
                }
            }
            _ => best = Some(Best { layout: *layout, fit, is_guess, tie: None }),
        }
    }
    best
}

/// Layouts with most paths' directories: one list that a path can contradict, and one that any path fits.
fn candidates(paths: &[Vec<u8>]) -> (Vec<Layout>, Vec<Layout>) {
    let mut widths: BTreeMap<Vec<u16>, usize> = BTreeMap::new();
    for path in paths {
        let parts: Vec<u16> = path.split(|byte| *byte == b'/').map(|part| part.len() as u16).collect();
        *widths.entry(parts[..parts.len() - 1].to_vec()).or_default() += 1;
    }
    let mut found = vec![Layout::FLAT];
    found.extend(PRESETS.iter().map(|preset| preset.layout));
    if let Some((levels, _)) = widths.iter().max_by_key(|(_, count)| **count) {
        let sources = [Source::Digest, Source::Prefix, Source::Suffix, Source::NextToLast];
        found.extend(sources.iter().filter_map(|source| Layout::new(*source, levels).ok()));
        if let Some(ending) =
            Ending::most_common(paths).and_then(|ending| String::from_utf8(ending.as_bytes().to_vec()).ok())
        {
            let ended =
                |source: &Source| Layout::new(*source, levels).and_then(|layout| layout.ended(&ending)).ok();
            found.extend([Source::Suffix, Source::NextToLast].iter().filter_map(ended));
        }
        if levels.iter().all(|width| *width <= SHORTENED_MAX) {
            found.extend(Layout::new(Source::Prefix, levels).and_then(Layout::trimmed));
        }
    }
    found.sort_by_key(|layout| usize::from(layout.growth().is_some()));
    found.into_iter().partition(|layout| !layout.is_trimmed() && layout.source() != Source::Decimal)
}

/// Paths relative to the directory, of a few files of each directory that is entered, and of directories
/// spread over the listing. With `of_all`, whole directories are read up to limits, and not only their first
/// buffer.
struct Sample<'a> {
    paths: Vec<Vec<u8>>,
    /// Files that fit `besides`.
    moved: Vec<Vec<u8>>,
    directories: usize,
    besides: Option<&'a Layout>,
    of_all: bool,
    names: NameBuffer,
}

impl<'a> Sample<'a> {
    fn of(directory: &Dir, besides: Option<&'a Layout>, of_all: bool) -> Result<Self> {
        let names = NameBuffer::new();
        let (paths, moved) = (Vec::new(), Vec::new());
        let mut sample = Self { paths, moved, directories: 0, besides, of_all, names };
        sample.add(directory.again()?, &mut Vec::new(), 0)?;
        Ok(sample)
    }

    fn met(&self) -> usize {
        self.paths.len() + self.moved.len()
    }

    fn is_enough(&self) -> bool {
        match self.of_all {
            true => self.directories >= ALL_DIRECTORIES_MAX || self.met() >= FILES[0],
            false => self.directories >= DIRECTORIES_MAX,
        }
    }

    fn add(&mut self, directory: Dir, path: &mut Vec<u8>, level: usize) -> Result<()> {
        self.directories += 1;
        let directory = Arc::new(directory);
        let [files, below] = self.read(&directory)?;
        for file in spread(&files, FILES[level.min(1)]) {
            let file = [&path[..], file].concat();
            let is_moved =
                self.besides.is_some_and(|layout| layout.name_of(&file, &mut self.names).is_some());
            if is_moved { self.moved.push(file) } else { self.paths.push(file) }
        }
        let most = if self.of_all { usize::MAX } else { BELOW[level.min(2)] };
        for name in spread(&below, most) {
            if self.is_enough() || level > crate::layout::LEVELS_MAX {
                break;
            }
            let Ok(Some(child)) = directory.open_below_on_this_mount(name) else { continue };
            let length = path.len();
            path.extend_from_slice(name);
            path.push(b'/');
            let _ = self.add(child, path, level + 1);
            path.truncate(length);
        }
        Ok(())
    }

    /// Names of files and of directories in the first batch, or in as many as are of use.
    fn read(&self, directory: &Arc<Dir>) -> Result<[Vec<Vec<u8>>; 2]> {
        let (mut files, mut below) = (Vec::new(), Vec::new());
        let mut reader = backend::by_name("getdents")?.open_once(directory, &READ)?;
        while let Some(batch) = reader.next_batch()? {
            for entry in batch {
                match entry.kind {
                    FileType::File => files.push(entry.name.to_vec()),
                    FileType::Directory => below.push(entry.name.to_vec()),
                    _ => {}
                }
            }
            if !self.of_all || files.len() >= FILES[0] || below.len() >= ALL_DIRECTORIES_MAX {
                break;
            }
        }
        Ok([files, below])
    }
}

fn spread(items: &[Vec<u8>], most: usize) -> impl Iterator<Item = &Vec<u8>> {
    items.iter().step_by(items.len().div_ceil(most).max(1))
}

/// Levels of directories, each of which takes a descriptor and a buffer.
const ENTERED_MAX: usize = 64;

/// Result of [`verify`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// Regular files that lie where the layout has them.
    pub fit: u64,
    /// Regular files elsewhere, in directories that the layout does not have too. Each was reported.
    pub misfits: u64,
    /// Directories that the layout does not have. Each was reported.
    pub directories: u64,
    /// Directories that could not be read.
    pub failures: u64,
}

/// Compares the path of every regular file, down to 64 levels, with a layout. `on_misfit` gets the relative paths of files and directories that do not fit.
/// Errors: the directory cannot be read. Failures below it are reported to `on_failure`.
pub fn verify(
    directory: &Dir,
    layout: &Layout,
    progress: &Progress,
    on_misfit: &dyn Fn(&[u8], FileType),
    on_failure: &dyn Fn(Error),
) -> Result<Fit> {
    let names = NameBuffer::new();
    let mut verifier = Verifier { layout, fit: Fit::default(), names, progress, on_misfit, on_failure };
    tree::visit(directory, None, &mut verifier)?;
    Ok(verifier.fit)
}

/// Visits the whole tree with the layout known, in memory that does not grow. Files that do not fit are
/// passed on at once.
struct Verifier<'a> {
    layout: &'a Layout,
    fit: Fit,
    names: NameBuffer,
    progress: &'a Progress,
    on_misfit: &'a dyn Fn(&[u8], FileType),
    on_failure: &'a dyn Fn(Error),
}

impl Visit for Verifier<'_> {
    fn enters(&self, level: usize, _name: &[u8]) -> bool {
        level < ENTERED_MAX
    }

    fn found(&mut self, path: &[u8]) {
        if !self.layout.has_directory_path(path, *self.layout.depths().end()) {
            self.fit.directories += 1;
            (self.on_misfit)(path, FileType::Directory);
        }
    }

    fn is_ended(&self) -> bool {
        self.progress.is_cancelled()
    }

    fn entry(&mut self, at: &At<'_>, _name: &[u8], kind: FileType) {
        match kind {
            FileType::Directory => self.found(at.path),
            FileType::File if self.layout.name_of(at.path, &mut self.names).is_some() => {
                self.fit.fit += 1;
                self.progress.more(1);
            }
            FileType::File => {
                self.fit.misfits += 1;
                (self.on_misfit)(at.path, kind);
            }
            // Only files are moved.
            _ => {}
        }
    }

    fn fail(&mut self, failure: Error) {
        if failure.kind() != ErrorKind::NotFound {
            self.fit.failures += 1;
            (self.on_failure)(failure);
        }
    }
}
