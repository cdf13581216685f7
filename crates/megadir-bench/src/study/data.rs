//! `[data]` of a study file: the files that a study creates.
//!
//! ```toml
//! [data]
//! names = "md5"                       # md5, hex, sequence, decimal, upper-hex
//! sizes = "lognormal:50kB+sigma=1"    # or size_bytes = 10, for files of one size
//! content = "json"                    # pseudorandom if left out
//! spread = "prefix:2/2"               # flat if left out
//! directories = "before"              # on-demand if left out
//! when = "by-arms"                    # before-run if left out
//! ```

use megadir_record::{ContentKind, Made, MakeDirectories, NameScheme, Spread, When};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::dataset::{Files, Sizes, parse_content, parse_sizes, parse_spread};

/// The section as written; it becomes a `Made`, which has no optional fields. `size_bytes` and `sizes`
/// exclude each other, and one of them is required.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DataSpec {
    names: NameScheme,
    size_bytes: Option<u64>,
    #[serde(default, deserialize_with = "sizes")]
    sizes: Option<Sizes>,
    #[serde(default, deserialize_with = "content")]
    content: Option<ContentKind>,
    #[serde(default, deserialize_with = "spread")]
    spread: Option<Spread>,
    directories: Option<MakeDirectories>,
    when: Option<When>,
}

pub(super) fn made<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Made, D::Error> {
    let spec = DataSpec::deserialize(deserializer)?;
    let sizes = match (spec.size_bytes, spec.sizes) {
        (Some(size_bytes), None) => Sizes::fixed(size_bytes),
        (None, Some(sizes)) => sizes,
        (None, None) => return Err(D::Error::custom("data has neither size_bytes nor sizes")),
        (Some(_), Some(_)) => return Err(D::Error::custom("data has both size_bytes and sizes")),
    };
    let flat = Made::flat(spec.names, sizes.size_bytes);
    let made = Made {
        sizes: sizes.law,
        content: spec.content.unwrap_or(flat.content),
        spread: spec.spread.unwrap_or(flat.spread),
        directories: spec.directories.unwrap_or(flat.directories),
        when: spec.when.unwrap_or(flat.when),
        ..flat
    };
    // One file suffices: its fields do not depend on the number of files.
    Files::new(&made, 0, 1).map(|_| made).map_err(|error| D::Error::custom(format!("data: {error}")))
}

fn sizes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Sizes>, D::Error> {
    parsed(deserializer, parse_sizes)
}

fn content<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ContentKind>, D::Error> {
    parsed(deserializer, parse_content)
}

fn spread<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Spread>, D::Error> {
    parsed(deserializer, parse_spread)
}

fn parsed<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, D::Error> {
    parse(&String::deserialize(deserializer)?).map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use megadir_record::{ContentKind, Made, MakeDirectories, NameScheme, SizeLaw, Spread, When};

    use crate::study::{BUILT_IN, from_text};

    /// Reads the first built-in study with other fields of `[data]`, and returns the line of the first field.
    fn read(fields: &str) -> (Result<Made, String>, usize) {
        let own = BUILT_IN[0].text;
        let start = own.find("[data]\n").unwrap() + "[data]\n".len();
        let end = start + own[start..].find("\n[").unwrap();
        let text = format!("{}{fields}\n{}", &own[..start], &own[end..]);
        let line = own[..start].matches('\n').count() + 1;
        (from_text("own.toml", &text).map(|study| study.data).map_err(|error| error.to_string()), line)
    }

    #[test]
    fn data_defaults_to_a_flat_directory() {
        assert_eq!(read("names = \"hex\"\nsize_bytes = 7").0, Ok(Made::flat(NameScheme::Hex, 7)));
    }

    #[test]
    fn every_data_field_is_parsed() {
        let fields = "names = \"md5\"\nsizes = \"lognormal:50kB\"\ncontent = \"json\"\nspread = \"prefix:2/2\"\ndirectories = \"before\"\nwhen = \"by-arms\"";
        let expected = Made {
            names: NameScheme::Md5,
            size_bytes: 50_000,
            sizes: SizeLaw::LogNormal { sigma: 1.0 },
            content: ContentKind::Json,
            spread: Spread::Layout { layout: "prefix:2/2".into() },
            directories: MakeDirectories::Before,
            when: When::ByArms,
            aged_files: 0,
        };
        assert_eq!(read(fields).0, Ok(expected));
    }

    #[test]
    fn errors_name_line_and_column() {
        let md5 = "names = \"md5\"\n";
        for (fields, line, column, message) in [
            (format!("{md5}size = 7"), 1, 1, "size_bytes"),
            (format!("{md5}size_bytes = -7"), 1, 14, "-7"),
            (format!("{md5}sizes = \"lognormla:5\""), 1, 9, "did you mean 'lognormal'"),
            (format!("{md5}size_bytes = 1\ncontent = \"jsn\""), 2, 11, "did you mean 'json'"),
            (format!("{md5}size_bytes = 1\nspread = \"prefx:2\""), 2, 10, "prefx"),
            (format!("{md5}size_bytes = 1\nwhen = \"later\""), 2, 8, "by-arms"),
        ] {
            let (read, first) = read(&fields);
            let error = read.unwrap_err();
            assert!(error.starts_with(&format!("own.toml:{}:{column}: ", first + line)), "{first} {error}");
            assert!(error.contains(message), "{error}");
        }
        for (fields, message) in [
            (md5.to_owned(), "neither"),
            (format!("{md5}size_bytes = 1\nsizes = \"1\""), "both"),
            (format!("{md5}size_bytes = 1\nspread = \"decimal:3/3\""), "does not accept the name"),
            (
                "names = \"sequence\"\nsize_bytes = 1\nspread = \"prefix:2\"\ndirectories = \"before\""
                    .into(),
                "on demand",
            ),
        ] {
            let error = read(&fields).0.unwrap_err();
            assert!(error.starts_with("own.toml:") && error.contains(message), "{error}");
        }
    }
}
