//! Rule of a layout in terms that every language has: comparisons, slices, a digest. A test compares it with `Placer`.
//!
//! * `directories`: parts of a text (the name, its digest, the padded number), or quotients of a number.
//! * `file`: the whole name, or the rest of it.
//! * `refused`: names without a path, each as a test that is safe after the earlier ones.

use megadir::layout::{Layout, NAME_BYTES_MAX, PRESETS, Source};

use super::NoCode;

/// The same for all languages, so that a layout is understood once and only written several times. `refused`
/// is in the order in which the code tests it. `growth` is present if the depth depends on the number of
/// files, and is a parameter of the code then.
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) title: String,
    /// Each assumes that the earlier ones do not apply.
    pub(super) refused: Vec<Refusal>,
    pub(super) directories: Directories,
    pub(super) label: String,
    pub(super) file: File,
    pub(super) growth: Option<Depths>,
    pub(super) example: Example,
}

/// `from..to`, counted from the start or the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// `to` is then the left edge.
    pub(super) backwards: bool,
    pub(super) from: usize,
    pub(super) to: Option<usize>,
}

/// `LikeDirectory`: possible name of a directory next to the file: the label at offset `after`, in either case, and
/// one of these numbers of bytes.
pub(super) enum Refusal {
    Length(usize, usize),
    Dots,
    Separator,
    NotDecimal,
    LeadingZero,
    NotHex,
    OtherEnding(String),
    Part(&'static str, Vec<Slice>),
    Rest(Slice),
    LikeDirectory { after: usize, widths: Vec<usize> },
}

pub(super) enum Directories {
    Cut(Text, Vec<Slice>),
    /// Upper-case hex, at least two digits.
    Numbered(Vec<Number>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    Name,
    /// SHA-256 in lower-case hex.
    Digest,
    Padded(usize),
}

/// The number divided by `divisor`, modulo `count`.
pub(super) struct Number {
    /// `None`: the divisor exceeds every number.
    pub(super) divisor: Option<u32>,
    pub(super) count: u16,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
    Whole,
    Rest(Slice),
    RestAtDepth,
}

pub(super) struct Depths {
    pub(super) least: usize,
    pub(super) most: usize,
    /// (files, depth), ascending: below `files` files the depth applies.
    pub(super) below: Vec<(u64, usize)>,
    pub(super) last: usize,
}

pub(super) struct Example {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) depth: usize,
}

impl Number {
    pub(super) fn or_zero(&self, part: impl Fn(u32, u16) -> String) -> String {
        self.divisor.map_or_else(|| "0".to_owned(), |divisor| part(divisor, self.count))
    }
}

impl Rule {
    /// The parameter of the depth, and its argument in the example, if the depth grows.
    pub(super) fn depth<'p>(&self, parameter: &'p str, between: &str) -> (&'p str, String) {
        match self.growth {
            Some(_) => (parameter, format!("{between}{}", self.example.depth)),
            None => ("", String::new()),
        }
    }

    pub(super) fn about_depth(&self, comment: &str) -> String {
        let about = |Depths { least, most, .. }: &Depths| {
            format!(
                "{comment}The depth is {least} to {most}. Existing files stay at the depth they were created \
                 at.\n"
            )
        };
        self.growth.as_ref().map(about).unwrap_or_default()
    }

    pub(super) fn reasons(
        &self,
        of_depth: impl Fn(&Depths) -> String,
        of_name: impl Fn(&Refusal, &str) -> Vec<String>,
    ) -> Vec<String> {
        let names = self.refused.iter().flat_map(|refusal| of_name(refusal, &self.label));
        self.growth.iter().map(of_depth).chain(names).collect()
    }

    pub(super) fn new(layout: &Layout) -> Result<Self, NoCode> {
        let widths: Vec<usize> = layout.levels().iter().map(|width| usize::from(*width)).collect();
        let all: usize = widths.iter().sum();
        let growth = depths(layout, &widths);
        let rest = Slice { backwards: false, from: all, to: None };
        let file = match layout.source() {
            Source::Decimal => File::Rest(Slice { from: all - widths.last().unwrap_or(&0), ..rest }),
            _ if layout.is_trimmed() && growth.is_some() => File::RestAtDepth,
            _ if layout.is_trimmed() => File::Rest(rest),
            _ => File::Whole,
        };
        Ok(Self {
            name: name(layout),
            title: title(layout),
            refused: refused(layout, &widths),
            directories: directories(layout, &widths)?,
            label: layout.label().to_owned(),
            file,
            growth,
            example: example(layout).ok_or(NoCode::RefusesAll)?,
        })
    }
}

fn name(layout: &Layout) -> String {
    let preset = PRESETS.iter().find(|preset| preset.layout == *layout);
    preset.map_or_else(|| layout.to_string(), |preset| preset.name.to_owned())
}

fn title(layout: &Layout) -> String {
    let (name, text) = (name(layout), layout.to_string());
    if name == text { text } else { format!("{name} ({text})") }
}

fn slices(layout: &Layout, widths: &[usize]) -> Vec<Slice> {
    let source = layout.source();
    let backwards = matches!(source, Source::Suffix | Source::NextToLast);
    let mut next = usize::from(source == Source::NextToLast) + layout.ending().len();
    let slice = |width: &usize| {
        let from = next;
        next += width;
        Slice { backwards, from, to: Some(next) }
    };
    widths.iter().map(slice).collect()
}

fn directories(layout: &Layout, widths: &[usize]) -> Result<Directories, NoCode> {
    let most = *layout.depths().end();
    let text = match layout.source() {
        Source::Flat | Source::Prefix | Source::Suffix | Source::NextToLast => Text::Name,
        Source::Digest => Text::Digest,
        Source::Decimal => Text::Padded(widths.iter().sum()),
        Source::Sequence => return Ok(Directories::Numbered(numbers(layout.levels()))),
        _ => return Err(NoCode::Source),
    };
    Ok(Directories::Cut(text, slices(layout, &widths[..most])))
}

/// From the file upwards: the last count is the files of a directory, and each divisor is the product of
/// the counts below its level.
fn numbers(counts: &[u16]) -> Vec<Number> {
    let mut next = counts.last().map(|count| u32::from(*count));
    let number = |count: &u16| {
        let divisor = next;
        next = next.and_then(|divisor| divisor.checked_mul(u32::from(*count)));
        Number { divisor, count: *count }
    };
    let mut numbers: Vec<Number> = counts.iter().rev().map(number).collect();
    numbers.reverse();
    numbers
}

/// Names that a layout has no path for, in an order in which each test is safe after the ones before: lengths
/// first. A test compares the result with `Placer` for many names, since a name that the code accepts and the
/// library refuses would get a path that the library never finds.
fn refused(layout: &Layout, widths: &[usize]) -> Vec<Refusal> {
    let all: usize = widths.iter().sum();
    let takes_name = matches!(layout.source(), Source::Prefix | Source::Suffix | Source::NextToLast);
    let least = match layout.source() {
        Source::Decimal => return decimal(all),
        Source::Sequence => return vec![Refusal::Length(8, 8), Refusal::NotHex],
        _ if takes_name => layout.name_bytes_min(),
        _ => 1,
    };
    let mut refused = vec![Refusal::Length(least, NAME_BYTES_MAX)];
    if least <= 2 {
        refused.push(Refusal::Dots);
    }
    refused.push(Refusal::Separator);
    if !layout.ending().is_empty() {
        refused.push(Refusal::OtherEnding(layout.ending().to_owned()));
    }
    if takes_name && layout.label().is_empty() {
        let slices = slices(layout, widths);
        for dots in [".", ".."] {
            let parts = slices.iter().zip(widths).filter(|(_, width)| **width == dots.len());
            let parts: Vec<Slice> = parts.map(|(slice, _)| *slice).collect();
            if !parts.is_empty() {
                refused.push(Refusal::Part(dots, parts));
            }
        }
    }
    if layout.is_trimmed() {
        // Sufficient at every depth: a shallower rest is longer, or begins with a refused directory.
        refused.push(Refusal::Rest(Slice { backwards: false, from: all, to: None }));
    }
    refused.extend(like_directories(layout, widths, least));
    refused
}

fn decimal(digits: usize) -> Vec<Refusal> {
    let mut refused = vec![Refusal::Length(1, digits), Refusal::NotDecimal];
    if digits > 1 {
        refused.push(Refusal::LeadingZero);
    }
    refused
}

/// If the depth grows, files of a shallow depth lie next to directories of a deeper one. A file whose name
/// could be such a directory's would block its creation later, so the layout refuses it from the start.
fn like_directories(layout: &Layout, widths: &[usize], least: usize) -> Vec<Refusal> {
    let Some(growth) = layout.growth() else { return Vec::new() };
    let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
    for depth in growth.from_levels..widths.len() {
        let after = if layout.is_trimmed() { widths[..depth].iter().sum() } else { 0 };
        let width = widths[depth];
        let bytes = after + layout.label().len() + width;
        if !(least..=NAME_BYTES_MAX).contains(&bytes) {
            continue;
        }
        match found.iter_mut().find(|(known, _)| *known == after) {
            Some((_, known)) if known.contains(&width) => {}
            Some((_, known)) => known.push(width),
            None => found.push((after, vec![width])),
        }
    }
    found.into_iter().map(|(after, widths)| Refusal::LikeDirectory { after, widths }).collect()
}

/// Numbers of files up to which each depth applies: `under_files` in each directory, times 16 for each
/// digit of the levels. Depths that more than 2^64 files would need are left out.
fn depths(layout: &Layout, widths: &[usize]) -> Option<Depths> {
    let growth = layout.growth()?;
    let (least, most) = (growth.from_levels, widths.len());
    let mut below = Vec::new();
    for depth in least..most {
        let bits: usize = widths[..depth].iter().map(|width| 4 * width).sum();
        let shift = u32::try_from(bits).ok().filter(|bits| *bits < 64);
        let files = shift.map(|bits| u128::from(growth.under_files) << bits);
        let Some(files) = files.and_then(|files| u64::try_from(files).ok()) else {
            return Some(Depths { least, most, below, last: depth });
        };
        below.push((files, depth));
    }
    Some(Depths { least, most, below, last: most })
}

/// A plain name if possible.
fn example(layout: &Layout) -> Option<Example> {
    let plain = ["abcdef", "1234", "12", "7", "00012345"].map(str::to_owned);
    // At most one of two texts begins with the label, and one of two lengths is a directory's, if there is a choice.
    let long = (1..=NAME_BYTES_MAX).flat_map(|bytes| {
        ["abcdefghij", "0123456789"].map(|digits| digits.chars().cycle().take(bytes).collect::<String>())
    });
    let placer = layout.at(1_000_000);
    plain.into_iter().chain(long).map(|name| name + layout.ending()).find_map(|name| {
        let path = placer.path_for(name.as_bytes()).ok()?;
        let path = path.into_os_string().into_string().ok()?;
        Some(Example { name, path, depth: placer.depth() })
    })
}
