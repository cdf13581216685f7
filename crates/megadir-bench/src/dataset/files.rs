//! Files of a data set: name, path, size and content of the n-th, computed from seed and n alone, without allocation.

use megadir::layout::{Layout, Refused};
use megadir_record::{Made, MakeDirectories, NameScheme, Spread};
use megadir_stats::permutation::SplitMix64;

use super::names::device_among;
use super::places::{Directories, Places};
use super::{Content, FilePlace, FilesError, NAME_BYTES_MAX, Names, PlaceBuffer, Sizes};

/// The files of a data set.
///
/// ```
/// use megadir_bench::dataset::{Files, PlaceBuffer};
/// use megadir_record::{Made, NameScheme, Spread};
/// let spread = Spread::Layout { layout: "prefix:2/2".into() };
/// let made = Made { spread, ..Made::flat(NameScheme::Md5, 32) };
/// let files = Files::new(&made, 0, 10_000_000)?;
/// let mut buffer = PlaceBuffer::new();
/// let place = files.place(0, &mut buffer)?;
/// assert_eq!(place.path(), b"3e/ac/3eac1f3c2ef5215eb9bd13e28ae0975a");
/// assert_eq!(files.directories().map(|directories| directories.count()), Some(65_792));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    made: Made,
    sizes: Sizes,
    seed: u64,
    entries: u64,
    places: Places,
}

impl Files {
    /// Detects every invalid combination, before any file is made.
    pub fn new(made: &Made, seed: u64, entries: u64) -> Result<Self, FilesError> {
        let sizes = Sizes { size_bytes: made.size_bytes, law: made.sizes.clone() };
        if let Some(reason) = sizes.contradiction() {
            return Err(FilesError::Contradiction(reason));
        }
        let places = Places::new(&made.spread, entries)?;
        let files = Self { made: made.clone(), sizes, seed, entries, places };
        files.check_names()?;
        if cfg!(windows) {
            files.check_devices()?;
        }
        if made.directories == MakeDirectories::Before && files.directories().is_none() {
            return Err(FilesError::Contradiction(format!(
                "the directories of layout {} are unknown before the names: create them on demand, or use \
                 names md5 or hex, or layout digest",
                files.spread_text()
            )));
        }
        Ok(files)
    }

    /// One of several workers with sets of the same distributions; paths are relative to its [`Files::worker_directory`].
    #[must_use]
    pub(crate) fn of_worker(&self, worker: u32) -> Self {
        let seed = SplitMix64::new(self.seed ^ (u64::from(worker) + 1).rotate_left(32)).next_u64();
        Self { seed, ..self.clone() }
    }

    pub(crate) fn worker_directory(worker: u32) -> String {
        format!("w{worker}")
    }

    pub fn made(&self) -> &Made {
        &self.made
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    pub fn names(&self) -> Names {
        Names { scheme: self.made.names, seed: self.seed }
    }

    pub fn layout(&self) -> Option<&Layout> {
        match &self.places {
            Places::Layout(placer) => Some(placer.layout()),
            Places::Flat | Places::PerDirectory(_) | Places::Shape(_) => None,
        }
    }

    pub fn is_flat(&self) -> bool {
        match &self.places {
            Places::Flat => true,
            Places::Layout(placer) => placer.depth() == 0,
            Places::PerDirectory(_) => false,
            Places::Shape(shape) => shape.directories() == 0,
        }
    }

    /// Writes a file's path, relative to the top. After [`Files::new`] only names that differ in more than length can fail.
    pub fn place<'a>(&self, index: u64, buffer: &'a mut PlaceBuffer) -> Result<FilePlace<'a>, Refused> {
        self.places.place(self.names(), index, buffer)
    }

    /// As [`Files::place`], with an error that has the name.
    pub(crate) fn placed<'a>(
        &self,
        index: u64,
        buffer: &'a mut PlaceBuffer,
    ) -> Result<FilePlace<'a>, FilesError> {
        self.place(index, buffer).map_err(|reason| {
            let mut name = [0; NAME_BYTES_MAX];
            let name = String::from_utf8_lossy(self.names().write(index, &mut name)).into_owned();
            FilesError::Refused { name, layout: self.spread_text(), reason }
        })
    }

    #[inline]
    pub fn size_bytes(&self, index: u64) -> u64 {
        self.sizes.of(self.seed, index)
    }

    pub fn content(&self, index: u64) -> Content {
        Content::new(self.made.content, self.seed, index, self.size_bytes(index))
    }

    /// `None` if finding them requires all names. For hexadecimal names: all directories of the layout, used or not.
    pub fn directories(&self) -> Option<Directories<'_>> {
        Directories::of(&self.places, self.made.names, self.entries)
    }

    /// Number of directories that are made before the files, if they are.
    pub(crate) fn directories_before(&self) -> Option<u64> {
        let before = self.made.directories == MakeDirectories::Before;
        self.directories().filter(|_| before).map(|directories| directories.count())
    }

    /// Number of directories below the top; its expectation if it depends on the names.
    pub(crate) fn directories_expected(&self) -> f64 {
        match (&self.places, self.directories_before()) {
            (Places::Layout(placer), None) => {
                placer.layout().shape(self.entries, values(self.made.names)).directories
            }
            _ => self.directories().map_or(0.0, |directories| directories.count() as f64),
        }
    }

    pub fn files_per_directory(&self) -> f64 {
        match &self.places {
            Places::Flat => self.entries as f64,
            Places::Layout(placer) => {
                placer.layout().shape(self.entries, values(self.made.names)).files_per_leaf
            }
            Places::PerDirectory(files) => (*files).min(self.entries) as f64,
            Places::Shape(shape) => self.entries as f64 / shape.leaves().max(1) as f64,
        }
    }

    pub(crate) fn files_in_one_directory_max(&self) -> u64 {
        match &self.places {
            Places::Flat => self.entries,
            Places::Layout(placer) if placer.depth() == 0 => self.entries,
            // Four standard deviations above the mean: hashed names are spread randomly.
            Places::Layout(_) => {
                let mean = self.files_per_directory();
                ((mean + 4.0 * mean.sqrt()).ceil() as u64).min(self.entries)
            }
            Places::PerDirectory(files) => (*files).min(self.entries),
            Places::Shape(shape) => shape.files_max(),
        }
    }

    fn spread_text(&self) -> String {
        match &self.made.spread {
            Spread::Layout { layout } => layout.clone(),
            Spread::Flat | Spread::PerDirectory { .. } | Spread::Shape { .. } => "flat".into(),
        }
    }

    /// Only names by length can be reserved device names of Windows.
    fn check_devices(&self) -> Result<(), FilesError> {
        let NameScheme::Lengths { bytes } = &self.made.names else { return Ok(()) };
        let numbers = match self.places {
            Places::Flat | Places::Layout(_) => self.entries,
            Places::PerDirectory(_) | Places::Shape(_) => self.files_in_one_directory_max(),
        };
        match device_among(bytes, numbers) {
            Some(device) => Err(FilesError::Contradiction(format!(
                "one of {numbers} names this short is '{device}', which names a device on Windows: use fewer files per directory"
            ))),
            None => Ok(()),
        }
    }

    /// Layouts accept or refuse the names of a scheme by length, so one name of each length is tried.
    fn check_names(&self) -> Result<(), FilesError> {
        let mut buffer = PlaceBuffer::new();
        let powers = |base: u64| std::iter::successors(Some(1_u64), move |power| power.checked_mul(base));
        let indices = powers(10).chain(powers(16)).filter(|index| *index < self.entries);
        for index in std::iter::once(0).chain(indices).chain(self.entries.checked_sub(1)) {
            self.placed(index, &mut buffer)?;
        }
        Ok(())
    }
}

/// Different characters that names have at a position: the factor of directories for each digit of a layout.
fn values(names: NameScheme) -> u64 {
    match names {
        NameScheme::Md5 | NameScheme::Hex | NameScheme::UpperHex => 16,
        NameScheme::Sequence | NameScheme::Decimal => 10,
        NameScheme::Lengths { .. } => 32,
    }
}
