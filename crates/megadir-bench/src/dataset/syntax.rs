//! Syntax of data-set distributions, the same in study files and on the command line.
//!
//! Written and parsed forms are inverse to each other where a form can be typed, so that a report can print
//! a command that repeats its run. Tables of sizes and shapes of trees come from a profile and cannot be
//! typed.

use megadir::layout::{Layout, Source};
use megadir::nearest::choices;
use megadir::quantity::{bytes, count};
use megadir_record::{ContentKind, Made, MakeDirectories, NameScheme, SizeLaw, Spread};

use crate::dataset::places::Places;
use crate::dataset::{Look, Sizes};

pub const SIZE_LAWS: &[(&str, &str)] = &[
    ("4KiB", "every file has this size"),
    ("uniform:1KiB-100KiB", "all sizes between the two are equally likely"),
    (
        "lognormal:50kB+sigma=1",
        "log-normal with this mean; sigma, of the natural logarithm, is at most 3 [default: 1]",
    ),
];

pub const CONTENTS: &[(&str, ContentKind, &str)] = &[
    ("pseudorandom", ContentKind::Pseudorandom, "bytes that file systems cannot compress"),
    ("hex-digest", ContentKind::HexDigest, "MD5 digests in hex, 32 bytes each"),
    ("json", ContentKind::Json, "a JSON document of exactly the file's size"),
];

/// Default of the scatter of a log-normal law.
const SIGMA: f64 = 1.0;

/// Parses e.g. `4KiB`, `uniform:0-100KiB` or `lognormal:50kB+sigma=1`. Errors: the mistake and the allowed values, in one line.
///
/// A law without its numbers has a message of its own with an example, because that is the usual mistake. The
/// mean of the bounds becomes the size of a uniform law, for estimates of space and time.
pub fn parse_sizes(text: &str) -> Result<Sizes, String> {
    let no_size = |form: &str| Err(format!("'{text}' has no size: write {form}"));
    let sizes = match text.split_once(':') {
        None if text == "fixed" => return no_size("fixed:4KiB"),
        None if text == "uniform" => return no_size("uniform:1KiB-100KiB"),
        None if matches!(text, "lognormal" | "log-normal") => return no_size("lognormal:50kB"),
        None => Sizes::fixed(bytes(text)?),
        Some(("fixed", size)) => Sizes::fixed(bytes(size)?),
        Some(("uniform", bounds)) => {
            let (low, high) = bounds
                .split_once('-')
                .ok_or_else(|| format!("'{text}' has no two bounds: write uniform:1KiB-100KiB"))?;
            let (low_bytes, high_bytes) = (bytes(low)?, bytes(high)?);
            let size_bytes = low_bytes.midpoint(high_bytes);
            Sizes { size_bytes, law: SizeLaw::Uniform { low_bytes, high_bytes } }
        }
        Some(("lognormal" | "log-normal", law)) => {
            let (mean, sigma) = match law.split_once('+') {
                None => (law, SIGMA),
                Some((mean, option)) => {
                    let sigma = option.strip_prefix("sigma=").and_then(|sigma| sigma.parse().ok());
                    let wrong = || format!("unknown option '+{option}' of lognormal: write +sigma=1");
                    (mean, sigma.ok_or_else(wrong)?)
                }
            };
            Sizes { size_bytes: bytes(mean)?, law: SizeLaw::LogNormal { sigma } }
        }
        Some((law, _)) => {
            let known = ["fixed", "uniform", "lognormal"];
            return Err(format!("unknown distribution of sizes '{law}': {}", choices(law, known)));
        }
    };
    sizes.contradiction().map_or(Ok(sizes), |reason| Err(format!("'{text}': {reason}")))
}

pub fn parse_content(text: &str) -> Result<ContentKind, String> {
    let found = CONTENTS.iter().find(|(name, ..)| *name == text);
    found.map(|(_, kind, _)| *kind).ok_or_else(|| {
        let known = CONTENTS.iter().map(|(name, ..)| *name);
        format!("unknown content '{text}': {}", choices(text, known))
    })
}

/// Parses `flat`, `per-directory:200`, or a layout. Errors: the mistake and the allowed values, in one line.
pub fn parse_spread(text: &str) -> Result<Spread, String> {
    if let Some(files) = text.strip_prefix("per-directory:") {
        let spread = Spread::PerDirectory { files: count(files)? };
        return Places::new(&spread, 0).map(|_| spread).map_err(|error| error.to_string());
    }
    if text == "per-directory" {
        return Err(format!("'{text}' has no number of files: write per-directory:200"));
    }
    match text.parse::<Layout>() {
        Ok(layout) if layout == Layout::FLAT => Ok(Spread::Flat),
        // Store the expanded layout: a preset's definition may change.
        Ok(layout) => Ok(Spread::Layout { layout: layout.to_string() }),
        Err(error) => Err(error.to_string()),
    }
}

/// In the syntax of [`parse_sizes`], except a table of sizes.
pub fn write_sizes(sizes: &Sizes) -> String {
    match &sizes.law {
        SizeLaw::Fixed => sizes.size_bytes.to_string(),
        SizeLaw::Uniform { low_bytes, high_bytes } => format!("uniform:{low_bytes}-{high_bytes}"),
        SizeLaw::LogNormal { sigma } => format!("lognormal:{}+sigma={sigma}", sizes.size_bytes),
        SizeLaw::Quantiles { bytes } => format!("{} sizes, {} on average", bytes.len(), sizes.size_bytes),
    }
}

pub fn write_content(content: ContentKind) -> &'static str {
    CONTENTS.iter().find(|(_, kind, _)| *kind == content).map_or("", |(name, ..)| *name)
}

/// In the syntax of [`parse_spread`], except the shape of a tree.
pub fn write_spread(spread: &Spread) -> String {
    match spread {
        Spread::Flat => "flat".into(),
        Spread::Layout { layout } => layout.clone(),
        Spread::PerDirectory { files } => format!("per-directory:{files}"),
        Spread::Shape { levels } => {
            let directories = |level: &megadir_record::Level| -> u64 {
                level.classes.iter().map(|class| class.directories).sum()
            };
            let all: u64 = levels.iter().map(directories).sum();
            format!("{} directories on {} levels, as in the copied tree", all, levels.len())
        }
    }
}

/// Choices of the user that replace the study's data. A profile of a tree is the base, and single options
/// refine it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// Name lengths, sizes and spread of a profiled tree; the other fields take precedence.
    pub look: Option<Look>,
    pub sizes: Option<Sizes>,
    pub content: Option<ContentKind>,
    pub spread: Option<Spread>,
}

impl Chosen {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// The study's data with the choices. A layout by number needs names that are numbers, which follow
    /// from it.
    #[must_use]
    pub fn over(&self, made: &Made) -> Made {
        let mut chosen = made.clone();
        if let Some(look) = &self.look {
            chosen.names = look.names;
            chosen.spread = look.spread.clone();
            // Directories made on demand would omit those without files.
            if !look.spread.is_flat() {
                chosen.directories = MakeDirectories::Before;
            }
        }
        if let Some(sizes) = self.sizes.as_ref().or(self.look.as_ref().map(|look| &look.sizes)) {
            (chosen.size_bytes, chosen.sizes) = (sizes.size_bytes, sizes.law.clone());
        }
        if let Some(spread) = &self.spread {
            chosen.spread = spread.clone();
            chosen.directories = made.directories;
            chosen.names = names_of(spread).unwrap_or(chosen.names);
        }
        chosen.content = self.content.unwrap_or(chosen.content);
        chosen
    }
}

pub fn names_of(spread: &Spread) -> Option<NameScheme> {
    let Spread::Layout { layout } = spread else { return None };
    match layout.parse::<Layout>().ok()?.source() {
        Source::Decimal => Some(NameScheme::Decimal),
        Source::Sequence => Some(NameScheme::UpperHex),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_are_read_as_they_are_written() {
        for text in
            ["0", "4096", "uniform:0-100", "uniform:7-7", "lognormal:50000+sigma=1", "lognormal:1+sigma=0.25"]
        {
            assert_eq!(write_sizes(&parse_sizes(text).unwrap()), text);
        }
        for text in ["flat", "per-directory:200", "prefix:2/2", "digest:1/1"] {
            assert_eq!(write_spread(&parse_spread(text).unwrap()), text);
        }
        for (name, kind, _) in CONTENTS {
            assert_eq!(parse_content(name), Ok(*kind));
            assert_eq!(write_content(*kind), *name);
        }
        assert_eq!(parse_sizes("lognormal:50kB").unwrap(), parse_sizes("lognormal:50000+sigma=1").unwrap());
        assert_eq!(parse_sizes("uniform:1KiB-3KiB").unwrap().size_bytes, 2048);
        for (form, _) in SIZE_LAWS {
            assert!(parse_sizes(form).is_ok(), "{form}");
        }
    }

    #[test]
    fn invalid_size_syntax_is_refused_with_an_example() {
        for (text, message) in [
            ("", "is not a size"),
            ("-1", "is not a size"),
            ("uniform:5", "uniform:1KiB-100KiB"),
            ("uniform", "'uniform' has no size: write uniform:1KiB-100KiB"),
            ("lognormal", "'lognormal' has no size: write lognormal:50kB"),
            ("uniform:9-5", "the smallest size (9"),
            ("lognormal:0", "at least 1 byte"),
            ("lognormal:5+sigma=9", "at most 3"),
            ("lognormal:5+sigma=x", "write +sigma=1"),
            ("lognormal:5+mu=1", "write +sigma=1"),
            ("lognormla:5", "did you mean 'lognormal'"),
        ] {
            let error = parse_sizes(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
        assert!(parse_content("jsn").unwrap_err().contains("did you mean 'json'"));
        for text in ["per-directory:0", "per-directory:x", "prefx:2/2", "prefix:"] {
            assert!(parse_spread(text).is_err(), "{text}");
        }
        assert!(parse_spread("per-directory").unwrap_err().ends_with("write per-directory:200"));
    }
}

#[cfg(test)]
mod tests_of_overrides {
    use crate::dataset::syntax::*;
    use crate::dataset::{parse_sizes, parse_spread};

    #[test]
    fn options_override_the_study() {
        let study = Made::flat(NameScheme::Md5, 10);
        assert_eq!(Chosen::default().over(&study), study);
        let chosen = Chosen {
            sizes: Some(parse_sizes("uniform:0-8").unwrap()),
            content: Some(ContentKind::Json),
            spread: Some(parse_spread("decimal:2/2").unwrap()),
            look: None,
        };
        let made = chosen.over(&study);
        assert_eq!((made.names, made.size_bytes, made.content), (NameScheme::Decimal, 4, ContentKind::Json));
        let names = NameScheme::Lengths { bytes: [5; 32] };
        let spread = Spread::PerDirectory { files: 3 };
        let look = Look { entries: 9, names, sizes: Sizes::fixed(7), spread, unread: 0, unexamined: 0 };
        let like = Chosen { look: Some(look), ..Chosen::default() };
        assert_eq!((like.over(&study).names, like.over(&study).size_bytes), (names, 7));
        let flat = Chosen { spread: Some(Spread::Flat), ..like };
        assert_eq!((flat.over(&study).spread, flat.over(&study).names), (Spread::Flat, names));
        assert_eq!(flat.over(&study).directories, MakeDirectories::OnDemand);
        assert!(!flat.is_nothing() && Chosen::default().is_nothing());
    }
}
