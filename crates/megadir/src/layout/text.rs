//! Text form of layouts: parsing, printing, and errors.

use std::fmt;
use std::str::FromStr;

use super::presets::{PRESETS, by_name};
use super::{DIGEST_DIGITS, Growth, LEVELS_MAX, Layout, NAME_BYTES_MAX, SEQUENCE_MAX, Source};
use crate::nearest::nearest;

const SOURCES: [(&str, Source); 6] = [
    ("prefix", Source::Prefix),
    ("suffix", Source::Suffix),
    ("next-to-last", Source::NextToLast),
    ("digest", Source::Digest),
    ("decimal", Source::Decimal),
    ("sequence", Source::Sequence),
];

/// Reason why a layout is invalid, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutError {
    piece: Option<Piece<String>>,
    characters: usize,
    reason: String,
}

impl LayoutError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { piece: None, characters: 0, reason: reason.into() }
    }

    fn at(self, piece: Piece<&str>) -> Self {
        let piece = Piece { at: piece.at, text: piece.text.to_owned() };
        Self { piece: Some(piece), ..self }
    }

    /// Byte offset of the wrong part; `None` without a text.
    pub fn offset(&self) -> Option<usize> {
        self.piece.as_ref().map(|piece| piece.at)
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(piece) = &self.piece else { return f.write_str(&self.reason) };
        let number = self.characters + 1;
        match piece.text.as_str() {
            "" => write!(f, "at character {number}: {}", self.reason),
            text => write!(f, "at character {number}, '{text}': {}", self.reason),
        }
    }
}

impl std::error::Error for LayoutError {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece<T> {
    at: usize,
    text: T,
}

impl<'a> Piece<&'a str> {
    fn split(self, separator: char) -> impl Iterator<Item = Piece<&'a str>> {
        self.text.split(separator).scan(self.at, |next, text| {
            let at = *next;
            *next += text.len() + 1;
            Some(Piece { at, text })
        })
    }
}

pub(super) fn check_levels(source: Source, levels: &[u16]) -> Result<(), LayoutError> {
    let refuse = |reason: String| Err(LayoutError::new(reason));
    if source == Source::Flat {
        return if levels.is_empty() { Ok(()) } else { refuse("flat has no levels".to_owned()) };
    }
    if levels.is_empty() {
        return refuse("at least one level is needed, as in 2/2".to_owned());
    }
    if levels.len() > LEVELS_MAX {
        return refuse(format!("at most {LEVELS_MAX} levels are supported"));
    }
    let (noun, most) = match source {
        Source::Sequence => ("directories per level", usize::from(SEQUENCE_MAX)),
        _ => ("characters per level", NAME_BYTES_MAX),
    };
    if levels.iter().any(|level| *level == 0 || usize::from(*level) > most) {
        return refuse(format!("1 to {most} {noun}"));
    }
    let (all, whose) = match source {
        Source::Sequence => return Ok(()),
        Source::Digest => (DIGEST_DIGITS, "the digest"),
        _ => (NAME_BYTES_MAX, "a name"),
    };
    let sum: usize = levels.iter().map(|width| usize::from(*width)).sum();
    if sum > all {
        refuse(format!("the levels need {sum} characters, and {whose} has at most {all}"))
    } else {
        Ok(())
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        parse(text).map_err(|error| {
            let before = error.offset().and_then(|at| text.get(..at)).unwrap_or_default();
            LayoutError { characters: before.chars().count(), ..error }
        })
    }
}

fn parse(text: &str) -> Result<Layout, LayoutError> {
    if let Some(preset) = by_name(text) {
        return Ok(preset.layout);
    }
    if text == "flat" {
        return Ok(Layout::FLAT);
    }
    let end = text.find([':', '+']).unwrap_or(text.len());
    let word = Piece { at: 0, text: &text[..end] };
    let Some((_, source)) = SOURCES.iter().find(|(name, _)| *name == word.text) else {
        return Err(unknown(word.text, end < text.len()).at(word));
    };
    let Some(rest) = text[end..].strip_prefix(':') else {
        let example = if *source == Source::Sequence { "16/256" } else { "2/2" };
        let reason = format!("levels are missing, as in {}:{example}", word.text);
        return Err(LayoutError::new(reason).at(word));
    };
    let mut pieces = Piece { at: end + 1, text: rest }.split('+');
    let levels = match pieces.next() {
        Some(levels) => parse_levels(*source, levels)?,
        None => Vec::new(),
    };
    parse_options(Layout::new(*source, &levels)?, pieces)
}

fn unknown(word: &str, has_levels: bool) -> LayoutError {
    let sources = SOURCES.iter().map(|(name, _)| *name);
    let others = std::iter::once("flat").chain(PRESETS.iter().map(|preset| preset.name));
    let others: Vec<&str> = if has_levels { Vec::new() } else { others.collect() };
    let all = sources.clone().chain(others.iter().copied());
    let near = nearest(word, all).map(|name| format!("did you mean '{name}'? ")).unwrap_or_default();
    let sources = sources.collect::<Vec<_>>().join(", ");
    if has_levels {
        return LayoutError::new(format!("{near}levels go with {sources}"));
    }
    let others = others.join(", ");
    LayoutError::new(format!("{near}layouts are {others}, and with levels, as in prefix:2/2, {sources}"))
}

fn parse_levels(source: Source, text: Piece<&str>) -> Result<Vec<u16>, LayoutError> {
    let mut levels = Vec::new();
    for piece in text.split('/') {
        let Some(level) = number(piece.text) else {
            return Err(LayoutError::new("a level is a whole number, as in 2/2").at(piece));
        };
        levels.push(u16::try_from(level).unwrap_or(0));
        check_levels(source, &levels).map_err(|error| error.at(piece))?;
    }
    Ok(levels)
}

fn parse_options<'a>(
    mut layout: Layout,
    pieces: impl Iterator<Item = Piece<&'a str>>,
) -> Result<Layout, LayoutError> {
    // Each option names its piece of the text in an error, so that the message can point there. Options are
    // checked as they come, except `from` and `under`, which are one setting together and are put together at
    // the end in either order.
    let (mut from, mut under) = (None, None);
    for piece in pieces {
        let wrong = |reason: &str| LayoutError::new(reason).at(piece);
        let (option, value) = match piece.text.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (piece.text, None),
        };
        let there = match (option, value) {
            ("rest", None) => {
                let there = layout.trimmed;
                layout = layout.trimmed().map_err(|error| error.at(piece))?;
                there
            }
            ("label", Some(value)) => {
                let there = !layout.label().is_empty();
                layout = layout.labelled(value).map_err(|error| error.at(piece))?;
                there
            }
            ("ending", Some(value)) => {
                let there = !layout.ending().is_empty();
                layout = layout.ended(value).map_err(|error| error.at(piece))?;
                there
            }
            ("from", Some(value)) => {
                let levels = number(value).ok_or_else(|| wrong("expected a whole number, as in from=2"))?;
                from.replace((usize::try_from(levels).unwrap_or(usize::MAX), piece)).is_some()
            }
            ("under", Some(value)) => {
                let files =
                    number(value).ok_or_else(|| wrong("expected a whole number, as in under=2000"))?;
                under.replace((files, piece)).is_some()
            }
            _ => return Err(wrong("options are rest, from=LEVELS, under=FILES, label=TEXT and ending=TEXT")),
        };
        if there {
            return Err(wrong("duplicate option"));
        }
    }
    match (from, under) {
        (None, None) => Ok(layout),
        (Some((from_levels, from)), Some((under_files, under))) => {
            let piece = if under_files == 0 { under } else { from };
            layout.growing(Growth { from_levels, under_files }).map_err(|error| error.at(piece))
        }
        (Some((_, piece)), None) => Err(LayoutError::new("under=FILES is missing").at(piece)),
        (None, Some((_, piece))) => Err(LayoutError::new("from=LEVELS is missing").at(piece)),
    }
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((word, _)) = SOURCES.iter().find(|(_, source)| *source == self.source) else {
            return f.write_str("flat");
        };
        f.write_str(word)?;
        for (level, width) in self.levels().iter().enumerate() {
            write!(f, "{}{width}", if level == 0 { ':' } else { '/' })?;
        }
        if self.trimmed {
            f.write_str("+rest")?;
        }
        if let Some(Growth { from_levels, under_files }) = self.growth {
            write!(f, "+from={from_levels}+under={under_files}")?;
        }
        if !self.label().is_empty() {
            write!(f, "+label={}", self.label())?;
        }
        if !self.ending().is_empty() {
            write!(f, "+ending={}", self.ending())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Layout({self})")
    }
}

#[cfg(test)]
mod tests {
    use crate::layout::{Growth, Layout, Source};

    fn error(text: &str) -> String {
        text.parse::<Layout>().unwrap_err().to_string()
    }

    #[test]
    fn parsing_inverts_writing() {
        let layout: Layout = "prefix:1/1/1/1+rest+from=2+under=2000".parse().unwrap();
        assert_eq!(layout.source(), Source::Prefix);
        assert_eq!(layout.levels(), [1, 1, 1, 1]);
        assert!(layout.is_trimmed());
        assert_eq!(layout.growth(), Some(Growth { from_levels: 2, under_files: 2000 }));
        assert_eq!(layout.depths(), 2..=4);
        assert_eq!("prefix:2+label=DIR_".parse::<Layout>().unwrap().label(), "DIR_");
        let kubo: Layout = "next-to-last:2+ending=.data".parse().unwrap();
        assert_eq!((kubo.ending(), kubo.to_string().as_str()), (".data", "next-to-last:2+ending=.data"));
        assert_eq!(
            "prefix:2+from=0+under=9+rest".parse::<Layout>().unwrap().to_string(),
            "prefix:2+rest+from=0+under=9"
        );
        assert_eq!("flat".parse::<Layout>().unwrap(), Layout::FLAT);
        assert_eq!(Layout::new(Source::Flat, &[]).unwrap(), Layout::FLAT);
        assert_eq!("git".parse::<Layout>().unwrap().to_string(), "prefix:2+rest");
        assert_eq!(format!("{:?}", Layout::FLAT), "Layout(flat)");
    }

    #[test]
    fn errors_name_the_position_and_the_allowed_values() {
        for (text, message) in [
            ("prefix:2/0/2", "at character 10, '0': 1 to 255 characters per level"),
            ("prefix:2/x", "at character 10, 'x': a level is a whole number, as in 2/2"),
            ("prefix:", "at character 8: a level is a whole number, as in 2/2"),
            ("prefix:2/", "at character 10: a level is a whole number, as in 2/2"),
            ("prefix:-1", "at character 8, '-1': a level is a whole number, as in 2/2"),
            (
                "prefix:99999999999999999999",
                "at character 8, '99999999999999999999': a level is a whole number, as in 2/2",
            ),
            ("suffix:65537", "at character 8, '65537': 1 to 255 characters per level"),
            (
                "suffix:200/56",
                "at character 12, '56': the levels need 256 characters, and a name has at most 255",
            ),
            (
                "digest:32/33",
                "at character 11, '33': the levels need 65 characters, and the digest has at most 64",
            ),
            ("sequence:16/70000", "at character 13, '70000': 1 to 65535 directories per level"),
            ("prefix", "at character 1, 'prefix': levels are missing, as in prefix:2/2"),
            ("sequence+rest", "at character 1, 'sequence': levels are missing, as in sequence:16/256"),
            (
                "prefix:2+",
                "at character 10: options are rest, from=LEVELS, under=FILES, label=TEXT and ending=TEXT",
            ),
            (
                "prefix:2+rest=",
                "at character 10, 'rest=': options are rest, from=LEVELS, under=FILES, label=TEXT and ending=TEXT",
            ),
            ("prefix:2+rest+rest", "at character 15, 'rest': duplicate option"),
            ("prefix:2+from=1", "at character 10, 'from=1': under=FILES is missing"),
            ("prefix:2+under=1", "at character 10, 'under=1': from=LEVELS is missing"),
            (
                "prefix:2+under=1+from=1",
                "at character 18, 'from=1': from must be less than the number of levels: 0 to 0",
            ),
            ("prefix:2+under=0+from=0", "at character 10, 'under=0': under must be at least 1"),
            (
                "prefix:2+under=+from=0",
                "at character 10, 'under=': expected a whole number, as in under=2000",
            ),
            (
                "decimal:3+from=0+under=1",
                "at character 11, 'from=0': only prefix, suffix, next-to-last and digest support from and under",
            ),
            ("digest:2+rest", "at character 10, 'rest': only prefix supports rest"),
            (
                "digest:2+label=a/b",
                "at character 10, 'label=a/b': a label is 1 to 8 of A-Z, a-z, 0-9, '_' and '-'",
            ),
            (
                "sequence:2+label=a",
                "at character 12, 'label=a': only prefix, suffix, next-to-last and digest take a label",
            ),
            (
                "prefix:2+ending=.x",
                "at character 10, 'ending=.x': only suffix and next-to-last take an ending",
            ),
            (
                "suffix:2+ending=é",
                "at character 10, 'ending=é': an ending is 1 to 16 of A-Z, a-z, 0-9, '_', '-' and '.'",
            ),
            (
                "suffix:253+ending=.gz",
                "at character 12, 'ending=.gz': with this ending a name has at least 256 characters, and the maximum is 255",
            ),
            ("suffix:2+ending=.a+ending=.a", "at character 20, 'ending=.a': duplicate option"),
            ("prefix:2/2/ü", "at character 12, 'ü': a level is a whole number, as in 2/2"),
        ] {
            assert_eq!(error(text), message, "{text}");
        }
        assert_eq!("prefix:2/ü/x".parse::<Layout>().unwrap_err().offset(), Some(9));
        let deep = format!("sequence:{}1", "1/".repeat(32));
        assert_eq!(error(&deep), "at character 74, '1': at most 32 levels are supported");
    }

    #[test]
    fn an_unknown_word_gets_the_nearest_and_all() {
        assert!(
            error("prefx:2").starts_with("at character 1, 'prefx': did you mean 'prefix'? levels go with")
        );
        let error = error("gti");
        assert!(
            error.starts_with("at character 1, 'gti': did you mean 'git'? layouts are flat, bazel, "),
            "{error}"
        );
        assert!(error.ends_with("prefix, suffix, next-to-last, digest, decimal, sequence"), "{error}");
        assert!("".parse::<Layout>().unwrap_err().to_string().starts_with("at character 1: "));
        // Presets take no levels, and `flat` no options.
        assert!("git:2".parse::<Layout>().is_err() && "flat+rest".parse::<Layout>().is_err());
    }

    #[test]
    fn options_that_a_source_lacks_are_refused_without_text_too() {
        let refused = Layout::new(Source::Prefix, &[]).unwrap_err();
        assert_eq!(
            (refused.to_string().as_str(), refused.offset()),
            ("at least one level is needed, as in 2/2", None)
        );
        assert!(Layout::new(Source::Flat, &[2]).is_err());
        assert!(Layout::FLAT.trimmed().is_err() && Layout::FLAT.labelled("x").is_err());
        assert!(Layout::FLAT.growing(Growth { from_levels: 0, under_files: 1 }).is_err());
        assert!(Layout::new(Source::Prefix, &[2]).unwrap().labelled("").is_err());
    }
}
