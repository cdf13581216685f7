//! Specification of the disk below an image: `image`, `memory:limit=4G`, `rotating:rpm=5400`.
//!
//! The plan holds a disk by its name with all parameters, and the record repeats it, so parsing and
//! printing are inverse to each other: a record is resumed on the same disk even if a default has changed
//! since.

use std::fmt;

use megadir::nearest::choices;
use megadir_record::LabDisk;

/// One row of [`DISKS`].
#[derive(Debug, PartialEq, Eq)]
pub struct DiskKind {
    pub name: &'static str,
    pub about: &'static str,
    pub parameters: &'static [Parameter],
}

/// Number that may follow the name of a disk, with its limits. The table of kinds holds these rows, so that the
/// parser, the help and the messages about unknown words have the same names.
#[derive(Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: &'static str,
    pub about: &'static str,
    pub takes: Measure,
    /// In the unit of `takes`; `None` if the plan chooses it.
    pub default: Option<u64>,
    pub least: u64,
    pub most: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Written `512M` or `1T`, powers of 1024.
    Bytes,
    /// A whole number without a unit.
    Count,
    /// Written `8.5`, at most three decimals; in microseconds.
    Milliseconds,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;
const UNITS: [(char, u64); 4] = [('T', TIB), ('G', 1 << 30), ('M', MIB), ('K', KIB)];

static IMAGE: DiskKind = DiskKind {
    name: "image",
    about: "a sparse file in the directory of --dir, on a loop device",
    parameters: &[],
};

static MEMORY: DiskKind = DiskKind {
    name: "memory",
    about: "a compressed device in memory (zram; without it, a file in memory on a loop device)",
    parameters: &[Parameter {
        name: "limit",
        about: "most memory for each file system",
        takes: Measure::Bytes,
        default: None,
        least: 64 * MIB,
        most: 64 * TIB,
    }],
};

const fn parameter(
    name: &'static str,
    about: &'static str,
    takes: Measure,
    default: u64,
    (least, most): (u64, u64),
) -> Parameter {
    Parameter { name, about, takes, default: Some(default), least, most }
}

/// The defaults are those of a 3.5-inch drive of 1 TB with 7200 revolutions a minute, as its manufacturers publish them.
pub(crate) static ROTATING: DiskKind = DiskKind {
    name: "rotating",
    about: "a MODEL of a rotating disk below an image in the directory of --dir (needs FUSE)",
    parameters: &[
        parameter("rpm", "revolutions a minute", Measure::Count, 7200, (1000, 30_000)),
        parameter("seek_ms", "average seek", Measure::Milliseconds, 8500, (0, 100_000)),
        parameter("settle_ms", "shortest seek, to the next track", Measure::Milliseconds, 800, (0, 100_000)),
        parameter(
            "size",
            "whole disk; the image lies at its beginning",
            Measure::Bytes,
            TIB,
            (1 << 30, 64 * TIB),
        ),
        parameter("queue", "requests from which the disk chooses the next", Measure::Count, 32, (1, 1024)),
        parameter("rate", "transfer in a second", Measure::Bytes, 172 * MIB, (MIB, TIB)),
        parameter("cache", "write cache, 0 for none", Measure::Bytes, 64 * MIB, (0, 1 << 30)),
        parameter("rotational", "1 or 0: how the kernel reports it to programs", Measure::Count, 1, (0, 1)),
    ],
};

/// Connections of file systems to their server processes.
#[cfg(target_os = "linux")]
pub(crate) const FUSE: &str = "/dev/fuse";

/// The first is the default.
pub static DISKS: &[&DiskKind] = &[&IMAGE, &MEMORY, &ROTATING];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSpec {
    pub kind: &'static DiskKind,
    /// For each parameter of the kind.
    values: Vec<Option<u64>>,
    /// Reason why a disk in memory must be a file; not part of its name. All file systems of a run lie on disks of one sort, or their
    /// comparison would be one of disks.
    pub no_zram: Option<String>,
}

impl Default for DiskSpec {
    fn default() -> Self {
        Self { kind: DISKS[0], values: Vec::new(), no_zram: None }
    }
}

impl DiskSpec {
    /// Parses `KIND[:NAME=VALUE,...]`. Errors: one line with the unknown word and the known ones.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let Some(&kind) = DISKS.iter().find(|kind| kind.name == name) else {
            let known = choices(name, DISKS.iter().map(|kind| kind.name));
            return Err(format!("unknown disk '{name}': {known}"));
        };
        let mut values = vec![None; kind.parameters.len()];
        for word in rest.into_iter().flat_map(|rest| rest.split(',')) {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let Some(place) = kind.parameters.iter().position(|parameter| parameter.name == name) else {
                let known = match kind.parameters {
                    [] => "it has no parameters".to_owned(),
                    all => choices(name, all.iter().map(|parameter| parameter.name)),
                };
                return Err(format!("unknown parameter '{name}' of '{}': {known}", kind.name));
            };
            if values[place].is_some() {
                return Err(format!("'{}': '{name}' is given twice", kind.name));
            }
            let parameter = &kind.parameters[place];
            let value =
                parameter.parse(value).map_err(|wanted| format!("'{}:{word}': {wanted}", kind.name))?;
            values[place] = Some(value);
        }
        let defaults = kind.parameters.iter().map(|parameter| parameter.default);
        let values = values.into_iter().zip(defaults).map(|(value, default)| value.or(default)).collect();
        Ok(Self { kind, values, no_zram: None })
    }

    /// With the reason why a disk in memory must be a file, if it must.
    #[must_use]
    pub fn without_zram(self, no_zram: Option<String>) -> Self {
        Self { no_zram, ..self }
    }

    /// In the parameter's unit; `None` if the plan chooses it.
    pub fn value(&self, name: &str) -> Option<u64> {
        let place = self.kind.parameters.iter().position(|parameter| parameter.name == name)?;
        self.values[place]
    }

    pub fn is_default(&self) -> bool {
        self.kind == DISKS[0]
    }

    pub fn is_in_memory(&self) -> bool {
        self.kind == &MEMORY
    }

    /// `true` if its times are those of a model.
    pub fn is_model(&self) -> bool {
        self.kind == &ROTATING
    }

    /// Reason why this machine has no such disk, in words.
    #[cfg(target_os = "linux")]
    pub fn unavailable(&self) -> Option<String> {
        let lacks_fuse = self.is_model() && !std::path::Path::new(FUSE).exists();
        lacks_fuse
            .then(|| format!("the model of a rotating disk needs {FUSE} (kernel option CONFIG_FUSE_FS; in a container, give it the device)"))
    }

    /// As a record describes it before it is made.
    pub fn recorded(&self) -> LabDisk {
        LabDisk {
            name: self.to_string(),
            memory_bytes: None,
            expected_bytes: None,
            compression: None,
            no_zram: None,
            is_model: self.is_model(),
        }
    }
}

/// With every parameter, so that [`DiskSpec::parse`] returns the same whatever the defaults are then.
impl fmt::Display for DiskSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name)?;
        let all = self.kind.parameters.iter().zip(&self.values);
        let known = all.filter_map(|(parameter, value)| Some((parameter, (*value)?)));
        for (place, (parameter, value)) in known.enumerate() {
            let before = if place == 0 { ':' } else { ',' };
            write!(f, "{before}{}={}", parameter.name, parameter.takes.text(value))?;
        }
        Ok(())
    }
}

impl Parameter {
    fn parse(&self, text: &str) -> Result<u64, String> {
        let allowed = self.least..=self.most;
        let value = self.takes.parse(text).filter(|value| allowed.contains(value));
        let text = |value| self.takes.text(value);
        value.ok_or_else(|| format!("'{}=': expected {} to {}", self.name, text(self.least), text(self.most)))
    }
}

impl Measure {
    fn parse(self, text: &str) -> Option<u64> {
        match self {
            Self::Bytes => {
                let unit =
                    UNITS.iter().find(|(letter, _)| text.ends_with([*letter, letter.to_ascii_lowercase()]));
                let (digits, unit) = unit.map_or((text, 1), |(_, unit)| (&text[..text.len() - 1], *unit));
                whole(digits)?.checked_mul(unit)
            }
            Self::Count => whole(text),
            Self::Milliseconds => {
                let (before, after) = text.split_once('.').unwrap_or((text, "0"));
                let places = u32::try_from(after.len()).ok().filter(|places| (1..=3).contains(places))?;
                let after = whole(after)? * 10_u64.pow(3 - places);
                whole(before)?.checked_mul(1000)?.checked_add(after)
            }
        }
    }

    fn text(self, value: u64) -> String {
        match self {
            Self::Bytes => match UNITS.iter().find(|(_, unit)| value > 0 && value.is_multiple_of(*unit)) {
                Some((letter, unit)) => format!("{}{letter}", value / unit),
                None => value.to_string(),
            },
            Self::Count => value.to_string(),
            Self::Milliseconds => {
                let text = format!("{}.{:03}", value / 1000, value % 1000);
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
        }
    }
}

/// `parse` alone would accept a sign, as in `+1`, and one size would have two names.
fn whole(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|_| digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// For help: a line for each disk, with its parameters.
pub fn disks_in_words() -> String {
    let default = |parameter: &Parameter| match parameter.default {
        Some(value) => format!(" [default: {}]", parameter.takes.text(value)),
        None => String::new(),
    };
    let parameter = |parameter: &Parameter| {
        let Parameter { name, about, takes, .. } = parameter;
        format!("\n    {name}={}: {about}{}", takes.example(), default(parameter))
    };
    let line = |kind: &&DiskKind| {
        let parameters: String = kind.parameters.iter().map(parameter).collect();
        format!("{}: {}{parameters}", kind.name, kind.about)
    };
    DISKS.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl Measure {
    fn example(self) -> &'static str {
        match self {
            Self::Bytes => "SIZE",
            Self::Count => "N",
            Self::Milliseconds => "MS",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parsed_disk_is_printed_unchanged() {
        for text in ["image", "memory", "memory:limit=4G", "memory:limit=100000001"] {
            let parsed = DiskSpec::parse(text).unwrap();
            assert_eq!(parsed.to_string(), text);
            assert_eq!(DiskSpec::parse(&parsed.to_string()).unwrap(), parsed);
        }
        assert_eq!(DiskSpec::parse("memory:limit=1048576k").unwrap().value("limit"), Some(1 << 30));
        let rotating = DiskSpec::parse("rotating:seek_ms=3.4,rpm=15000").unwrap();
        assert_eq!(
            rotating.to_string(),
            "rotating:rpm=15000,seek_ms=3.4,settle_ms=0.8,size=1T,queue=32,rate=172M,cache=64M,rotational=1"
        );
        assert_eq!(DiskSpec::parse(&rotating.to_string()).unwrap(), rotating);
        assert_eq!((rotating.value("seek_ms"), rotating.value("cache")), (Some(3400), Some(64 << 20)));
        assert_eq!(DiskSpec::default(), DiskSpec::parse("image").unwrap());
    }

    #[test]
    fn a_misspelt_disk_has_one_line_with_the_known_words() {
        for (text, message) in [
            ("memroy", "unknown disk 'memroy': did you mean 'memory'?"),
            ("", "unknown disk '': "),
            ("image:limit=1G", "unknown parameter 'limit' of 'image': it has no parameters"),
            ("memory:", "unknown parameter '' of 'memory': "),
            ("memory:limt=1G", "unknown parameter 'limt' of 'memory': did you mean 'limit'?"),
            ("memory:limit", "'memory:limit': 'limit=': expected 64M to 64T"),
            ("memory:limit=1k", "'memory:limit=1k': 'limit=': expected 64M to 64T"),
            ("memory:limit=+1G", "'memory:limit=+1G': 'limit=': expected 64M to 64T"),
            (
                "memory:limit=99999999999999999999T",
                "'memory:limit=99999999999999999999T': 'limit=': expected",
            ),
            ("rotating:rpm=0", "'rotating:rpm=0': 'rpm=': expected 1000 to 30000"),
            ("rotating:seek_ms=8.5ms", "'rotating:seek_ms=8.5ms': 'seek_ms=': expected 0 to 100"),
            ("rotating:seek_ms=1.2345", "'rotating:seek_ms=1.2345': 'seek_ms=': expected 0 to 100"),
            ("rotating:cache=", "'rotating:cache=': 'cache=': expected 0 to 1G"),
            ("rotating:rotational=2", "'rotating:rotational=2': 'rotational=': expected 0 to 1"),
            ("memory:limit=1G,limit=2G", "'memory': 'limit' is given twice"),
        ] {
            let error = DiskSpec::parse(text).unwrap_err();
            assert!(error.starts_with(message), "{text}: {error}");
            assert!(!error.contains('\n'));
        }
    }
}
