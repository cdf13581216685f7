//! The data sets of a plan: how many files, and the laws of their names, sizes, contents and places.
//!
//! Everything about the i-th file is a function of the plan's seed and i alone, so a data set of any size is described by
//! the few numbers here and can be made again from the record. What the functions are is the engine's to say
//! (`megadir_bench::dataset`); numbers only, so no name of a user's directory is ever in here. As in the plan, nothing has a
//! default but what older records did not know: for them it is what they did.

use serde::{Deserialize, Serialize};

use crate::file_systems::FsId;
use crate::ids::DataId;

/// A data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Data {
    /// The data set's index.
    pub id: DataId,
    /// Files of the data set (for [`DataSource::Existing`], entries as counted before the run).
    pub entries: u64,
    /// What [`Counted::hash`](crate::Counted::hash) of a listing must be: of made data computed from the names
    /// that were made, of an existing directory as listed before the run. `None` in a plan not yet carried out
    /// and in records of older programs, and of data in many directories the sum over all files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<u64>,
    /// The file system that it lies on; `None` in the directory that was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<FsId>,
    /// Where the entries come from.
    pub source: DataSource,
}

/// Where the entries of a data set come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "from")]
pub enum DataSource {
    /// The user's own directory, only ever read.
    Existing {
        /// The directory as the user named it (lossy where it is not UTF-8).
        path: String,
    },
    /// Made for the run and removed after it.
    Made(Made),
}

impl DataSource {
    /// Returns how the files are made; `None` of a directory that was there already.
    #[must_use]
    pub fn made(&self) -> Option<&Made> {
        match self {
            Self::Made(made) => Some(made),
            Self::Existing { .. } => None,
        }
    }
}

/// How the files of a data set are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Made {
    /// How the names are computed.
    pub names: NameScheme,
    /// The mean size of a file, bytes: with [`SizeLaw::Fixed`] the size of each.
    pub size_bytes: u64,
    /// How sizes are distributed about their mean.
    #[serde(default = "SizeLaw::fixed", skip_serializing_if = "SizeLaw::is_fixed")]
    pub sizes: SizeLaw,
    /// What is in the files.
    #[serde(default = "ContentKind::pseudorandom", skip_serializing_if = "ContentKind::is_pseudorandom")]
    pub content: ContentKind,
    /// How the files are spread over directories.
    #[serde(default = "Spread::flat", skip_serializing_if = "Spread::is_flat")]
    pub spread: Spread,
    /// When the directories are made.
    #[serde(default = "MakeDirectories::on_demand", skip_serializing_if = "MakeDirectories::is_on_demand")]
    pub directories: MakeDirectories,
    /// Who makes the files.
    #[serde(default = "When::before_run", skip_serializing_if = "When::is_before_run")]
    pub when: When,
    /// Further files that are made among the data set's own and removed again before the first block: the directory is aged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub aged_files: u64,
}

impl Made {
    /// Returns files of one size with pseudorandom content in one directory, made before the run.
    #[must_use]
    pub fn flat(names: NameScheme, size_bytes: u64) -> Self {
        Self {
            names,
            size_bytes,
            sizes: SizeLaw::Fixed,
            content: ContentKind::Pseudorandom,
            spread: Spread::Flat,
            directories: MakeDirectories::OnDemand,
            when: When::BeforeRun,
            aged_files: 0,
        }
    }
}

/// How many lengths a scheme of names by length has.
pub const NAME_LENGTHS: usize = 32;

/// How the names of made entries are computed from the seed and an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NameScheme {
    /// The MD5 digest of seed and index in hex, 32 characters.
    Md5,
    /// A pseudorandom 64-bit permutation of the index in hex, 16 characters.
    Hex,
    /// `file` and the index, padded with zeros to 12 digits.
    Sequence,
    /// The index in decimal, as layouts by decimal number take it.
    Decimal,
    /// The index in upper-case hex, 8 digits or more, as layouts in sequence take it.
    UpperHex,
    /// Names of these lengths, each for as many files; longer where a length has not enough different names.
    Lengths {
        /// The lengths in bytes, ascending: means of equally large classes of the names that they were taken from.
        bytes: [u8; NAME_LENGTHS],
    },
}

/// How sizes are distributed about their mean, [`Made::size_bytes`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "law")]
pub enum SizeLaw {
    /// All files have the same size.
    Fixed,
    /// Every whole number of bytes between two bounds, both included, is as likely.
    Uniform {
        /// The smallest size, bytes.
        low_bytes: u64,
        /// The largest size, bytes.
        high_bytes: u64,
    },
    /// exp(μ + σ Z), rounded to a whole number of bytes, with Z standard normal and cut to -6 to 6.
    ///
    /// μ = ln(mean) - σ² / 2, so that exp(μ + σ² / 2) is the mean; cutting Z takes less than 4 parts in 100 000 of it for σ up
    /// to 2.
    LogNormal {
        /// σ, the standard deviation of the sizes' natural logarithm.
        sigma: f64,
    },
    /// These sizes, each as likely.
    Quantiles {
        /// Bytes, ascending: means of equally large classes of the files that they were taken from, so that their mean is
        /// that of the files.
        bytes: Vec<u64>,
    },
}

/// What is in the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ContentKind {
    /// Pseudorandom bytes that no file system can compress away.
    Pseudorandom,
    /// MD5 digests in hex, one after the other: with 32 bytes a file holds one digest, which is not its name.
    HexDigest,
    /// A JSON document of exactly the file's size (an empty file holds none).
    Json,
}

/// How files are spread over directories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Spread {
    /// All in one directory.
    Flat,
    /// By a layout of `megadir::layout`.
    Layout {
        /// The layout as it is written, e.g. `prefix:2/2`.
        layout: String,
    },
    /// So many files in a directory, in order of creation: the i-th file lies in the directory of number i / files.
    PerDirectory {
        /// Files in each directory.
        files: u64,
    },
    /// As a tree that was looked at.
    Shape {
        /// The tree's levels, the top first.
        levels: Vec<Level>,
    },
}

/// The directories of a tree that are equally far from its top; their number is that of all their classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// Classes of directories by how many files they hold, ascending.
    pub classes: Vec<DirectoryClass>,
}

/// Directories that hold about equally many files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectoryClass {
    /// How many directories.
    pub directories: u64,
    /// How many files all of them hold.
    pub files: u64,
}

/// When the directories of a data set are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MakeDirectories {
    /// All of them before the first file, in a phase that is timed apart.
    Before,
    /// Each when the first file needs it.
    OnDemand,
}

/// Who makes the files of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// The engine, before anything is measured.
    BeforeRun,
    /// The arms: the data set's directory is empty when a round begins.
    ByArms,
}

// What records of older programs do not say: their files were all alike.

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl SizeLaw {
    fn fixed() -> Self {
        Self::Fixed
    }

    fn is_fixed(&self) -> bool {
        *self == Self::Fixed
    }
}

impl ContentKind {
    fn pseudorandom() -> Self {
        Self::Pseudorandom
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_pseudorandom(&self) -> bool {
        *self == Self::Pseudorandom
    }
}

impl Spread {
    fn flat() -> Self {
        Self::Flat
    }

    /// Returns whether all files lie in one directory.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        *self == Self::Flat
    }
}

impl MakeDirectories {
    fn on_demand() -> Self {
        Self::OnDemand
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_on_demand(&self) -> bool {
        *self == Self::OnDemand
    }
}

impl When {
    fn before_run() -> Self {
        Self::BeforeRun
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_before_run(&self) -> bool {
        *self == Self::BeforeRun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_older_programs_wrote_is_read_and_written_as_it_was() {
        let old = r#"{"from":"made","names":"md5","size_bytes":10}"#;
        let source: DataSource = serde_json::from_str(old).expect("an older record's data");
        assert_eq!(source, DataSource::Made(Made::flat(NameScheme::Md5, 10)));
        assert_eq!(serde_json::to_string(&source).expect("it is written"), old);
    }

    #[test]
    fn every_law_comes_back_as_it_was_written() {
        let classes = vec![DirectoryClass { directories: 2, files: 7 }];
        let laws = [
            (SizeLaw::Uniform { low_bytes: 1, high_bytes: u64::MAX }, Spread::PerDirectory { files: 200 }),
            (SizeLaw::LogNormal { sigma: 0.1 }, Spread::Layout { layout: "prefix:2/2".into() }),
            (
                SizeLaw::Quantiles { bytes: vec![0, 7, 1 << 60] },
                Spread::Shape { levels: vec![Level { classes }] },
            ),
        ];
        for (sizes, spread) in laws {
            let made = Made {
                names: NameScheme::Lengths { bytes: [9; NAME_LENGTHS] },
                size_bytes: 50_000,
                sizes,
                content: ContentKind::Json,
                spread,
                directories: MakeDirectories::Before,
                when: When::ByArms,
                aged_files: 3,
            };
            let source = DataSource::Made(made);
            let text = serde_json::to_string(&source).expect("it is written");
            assert_eq!(serde_json::from_str::<DataSource>(&text).expect("it is read"), source, "{text}");
        }
    }
}
