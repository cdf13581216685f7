//! Data sets of a plan: number of files, and the laws of their names, sizes, contents and locations.
//!
//! The i-th file is a function of the plan's seed and i, defined in `megadir_bench::dataset`, so this recipe
//! recreates a data set of any size. It holds no name from a user's directory. Only fields unknown to older
//! programs have defaults: the former behaviour.

use serde::{Deserialize, Serialize};

use crate::machine::FsId;

/// Index of a data set in [`Plan::data`](crate::Plan::data).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct DataId(pub u32);

// A recipe and not a list of files: names, sizes and places follow from the plan's seed and an index, so the
// record of a million files has a few hundred bytes. `hash` makes the recipe testable, since every arm that
// lists the set must find it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Data {
    /// Index in the list of data sets.
    pub id: DataId,
    /// For [`DataSource::Existing`], number of entries before the run.
    pub entries: u64,
    /// Expected [`Counted::hash`](crate::Counted::hash), computed from the generated names or, for an
    /// existing directory, from a listing before the run. For several directories, the sum over all files.
    /// `None` before the run and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<u64>,
    /// `None` for the given directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<FsId>,
    /// Created for the run, or existing before.
    pub source: DataSource,
}

impl Data {
    pub fn is_made_before_run(&self) -> bool {
        self.source.made().is_some_and(|made| made.when == When::BeforeRun)
    }

    pub fn is_made_by_arms(&self) -> bool {
        self.source.made().is_some_and(|made| made.when == When::ByArms)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "from")]
pub enum DataSource {
    /// Existing directory of the user, only read.
    Existing {
        /// Path as given by the user (lossy unless UTF-8).
        path: String,
    },
    /// Created for the run and removed after it.
    Made(Made),
}

impl DataSource {
    pub fn made(&self) -> Option<&Made> {
        match self {
            Self::Made(made) => Some(made),
            Self::Existing { .. } => None,
        }
    }
}

// Parameters of one generated set, independent of each other. Fields that were added later are left out of
// the record at their defaults, so that plans of older programs and of the present one are equal where
// they mean the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Made {
    /// Scheme of the names.
    pub names: NameScheme,
    /// Mean size of a file, bytes; with [`SizeLaw::Fixed`] the size of each file.
    pub size_bytes: u64,
    /// Distribution around the mean.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sizes: SizeLaw,
    /// Kind of the contents.
    #[serde(default, skip_serializing_if = "is_default")]
    pub content: ContentKind,
    /// Distribution over directories.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spread: Spread,
    /// When directories are created.
    #[serde(default, skip_serializing_if = "is_default")]
    pub directories: MakeDirectories,
    /// Creator of the files: the engine before the run, or the arms.
    #[serde(default, skip_serializing_if = "is_default")]
    pub when: When,
    /// Extra files, created among the data set's own and removed before the first block, to age the
    /// directory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub aged_files: u64,
}

impl Made {
    /// One size, pseudorandom content, one directory, created before the run.
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

pub const NAME_LENGTHS: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NameScheme {
    /// MD5 digest of seed and index in hex, 32 characters.
    Md5,
    /// Pseudorandom 64-bit permutation of the index in hex, 16 characters.
    Hex,
    /// `file` and the index, padded with zeros to 12 digits.
    Sequence,
    /// Decimal index, for layouts by decimal number.
    Decimal,
    /// Upper-case hex index of 8 digits or more, for layouts in sequence.
    UpperHex,
    /// The same number of files for each length; names are longer if a length has too few.
    Lengths {
        /// In bytes, ascending: means of equal-sized classes of the sampled names.
        bytes: [u8; NAME_LENGTHS],
    },
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "law")]
pub enum SizeLaw {
    #[default]
    Fixed,
    /// Both bounds are included.
    Uniform { low_bytes: u64, high_bytes: u64 },
    /// exp(μ + σ Z), rounded to bytes, with Z standard normal, truncated to -6 to 6.
    ///
    /// μ = ln(mean) - σ² / 2. The truncation lowers the mean by less than 4 parts in 100 000 for σ up to 2.
    LogNormal {
        /// Standard deviation of the natural logarithm of the sizes.
        sigma: f64,
    },
    /// These sizes, equally probable.
    Quantiles {
        /// In bytes, ascending: means of equal-sized classes of the sampled files, which preserve the mean.
        bytes: Vec<u64>,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ContentKind {
    /// Incompressible.
    #[default]
    Pseudorandom,
    /// Concatenated MD5 digests in hex: a file of 32 bytes holds one digest, which differs from its name.
    HexDigest,
    /// JSON document of exactly the file's size.
    Json,
}

/// Distribution of files over directories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Spread {
    #[default]
    Flat,
    /// By a layout of `megadir::layout`.
    Layout {
        /// For example `prefix:2/2`.
        layout: String,
    },
    /// In order of creation: the i-th file is in directory i / files.
    PerDirectory { files: u64 },
    /// Same shape as a sampled tree.
    Shape {
        /// From the top.
        levels: Vec<Level>,
    },
}

/// Directories at one depth of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// By number of files, ascending.
    pub classes: Vec<DirectoryClass>,
}

/// Directories with about the same number of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectoryClass {
    /// Number of directories.
    pub directories: u64,
    /// Total over all directories of the class.
    pub files: u64,
}

/// Time at which directories are created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MakeDirectories {
    /// Before the first file, in a separately timed phase.
    Before,
    /// For the first file that needs it.
    #[default]
    OnDemand,
}

/// Creator of a data set's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// The engine, before any measurement.
    #[default]
    BeforeRun,
    /// The arms: the directory is empty when a round begins.
    ByArms,
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Spread {
    pub fn is_flat(&self) -> bool {
        *self == Self::Flat
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_older_versions_round_trip() {
        let old = r#"{"from":"made","names":"md5","size_bytes":10}"#;
        let source: DataSource = serde_json::from_str(old).expect("an older record's data");
        assert_eq!(source, DataSource::Made(Made::flat(NameScheme::Md5, 10)));
        assert_eq!(serde_json::to_string(&source).expect("it is written"), old);
    }

    #[test]
    fn every_law_is_read_back_unchanged() {
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
