//! Data sets, the cost of making them and their disk usage, for table and Markdown.
//!
//! The JSON form of a report is here as well, because both describe the work rather than how it
//! compares.

use std::borrow::Cow;
use std::io;
use std::io::Write;

use megadir_record::{
    ContentKind, Data, DataId, DataSource, Level, Made, MakeDirectories, SizeLaw, Spread, Used, When, axes,
};
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::finding::Finding;
use crate::report::Report;
use crate::summary::Summary;
use crate::text;
use crate::warning::Advisory;

/// Sets that differ only in size or location share one sentence.
/// The directories are described apart, so the key has them replaced by one value.
pub(super) fn data_sets(summary: &Summary) -> String {
    let by_source = summary.data.iter().map(|check| match &check.data.source {
        DataSource::Existing { .. } => (check.data.source.clone(), &check.data),
        DataSource::Made(made) => {
            let (spread, directories) = (Spread::Flat, MakeDirectories::OnDemand);
            (DataSource::Made(Made { spread, directories, ..made.clone() }), &check.data)
        }
    });
    text::list(text::grouped(by_source).iter().map(|(source, sets)| data_set(source, sets)))
}

/// Describes all data sets of the same recipe in one phrase. Studies that sweep the number of entries have
/// dozens of such sets, which differ in this number or in their directories alone. The number 0 stands for
/// directories that are filled until a file is refused.
fn data_set(source: &DataSource, sets: &[&Data]) -> String {
    let sizes = text::distinct(sets.iter().map(|data| data.entries));
    let all = match sizes.as_slice() {
        [only] => text::entries(*only),
        several => format!("{} entries", text::list(several.iter().copied().map(text::count))),
    };
    match source {
        DataSource::Existing { path } => format!("{all} found in {path}"),
        DataSource::Made(made) => {
            let mut laws = laws(made);
            let made_in = sets.iter().filter_map(|data| data.source.made());
            match text::distinct(made_in.map(|made| places(made).join(", "))).as_slice() {
                [only] if only.is_empty() => {}
                [only] => laws.push(only.clone()),
                several => {
                    let name = |place: &String| if place.is_empty() { "flat".into() } else { place.clone() };
                    laws.push(format!("in turn {}", several.iter().map(name).collect::<Vec<_>>().join("; ")));
                }
            }
            let by_arms = if made.when == When::ByArms { " by the arms" } else { "" };
            // More sets than sizes: some sizes exist several times, e.g. in different layouts.
            let times = match sets.len() {
                number if number > sizes.len() => format!("{} times ", text::count(number as u64)),
                _ => String::new(),
            };
            match sizes.as_slice() {
                [0] => format!("directories filled until one file was refused ({})", laws.join(", ")),
                _ => format!("{times}{all} made{by_arms} ({})", laws.join(", ")),
            }
        }
    }
}

/// Properties of a file: name, size, content, age. Pseudorandom contents are the ordinary case and not named.
fn laws(made: &Made) -> Vec<String> {
    let names = text::names(made.names);
    let mean = text::bytes(made.size_bytes);
    let sizes = match &made.sizes {
        SizeLaw::Fixed => format!("{mean} each"),
        SizeLaw::Uniform { low_bytes, high_bytes } => {
            format!("{} to {}, uniform", text::bytes(*low_bytes), text::bytes(*high_bytes))
        }
        SizeLaw::LogNormal { sigma } => format!("{mean} on average, log-normal with sigma {sigma}"),
        SizeLaw::Quantiles { .. } => format!("{mean} on average, sizes as in a tree that was looked at"),
    };
    let content = match made.content {
        ContentKind::Pseudorandom => None,
        ContentKind::HexDigest => Some("digests".to_owned()),
        ContentKind::Json => Some("JSON".to_owned()),
    };
    let aged = (made.aged_files > 0)
        .then(|| format!("aged by {} more that were removed", text::count(made.aged_files)));
    [Some(names), Some(sizes), content, aged].into_iter().flatten().collect()
}

/// Places of the files: flat directories have no phrase.
fn places(made: &Made) -> Vec<String> {
    let spread = match &made.spread {
        Spread::Flat => None,
        Spread::Layout { layout } => Some(format!("layout {layout}")),
        Spread::PerDirectory { files } => Some(format!("{} a directory", text::count(*files))),
        Spread::Shape { levels } => {
            let of = |level: &Level| level.classes.iter().map(|class| class.directories).sum::<u64>();
            let directories = levels.iter().map(of).sum();
            Some(format!("{} directories as in a tree that was looked at", text::count(directories)))
        }
    };
    let before = made.directories == MakeDirectories::Before;
    let before = before.then(|| "directories made before".to_owned());
    [spread, before].into_iter().flatten().collect()
}

/// Equal lines of several data sets become one with their numbers. Ordinary flat sets are left out: their
/// cost of creation and space is no result of the study, while the cost of nested and aged ones is.
pub(crate) fn use_lines(summary: &Summary) -> Vec<String> {
    // Compared as a whole with an ordinary set, so that a field that is added makes a set unusual.
    let usual = |id: DataId| {
        let made = summary.data_set(id).and_then(|data| data.source.made());
        made.is_none_or(|made| *made == Made::flat(made.names, made.size_bytes))
    };
    let built = summary.built.iter().flat_map(|built| &built.sets);
    let built = built.map(|set| {
        let directories =
            set.directories_ns.map(|ns| format!("directories made in {}, ", text::time(ns as f64)));
        let files = text::time(set.files_ns as f64);
        let aged = set.aged.map(|aged| {
            format!(
                "; {} made among them were removed in {}, and the directory, of {} when it held them, is of {}",
                text::counted(aged.files, "file"),
                text::time(aged.removed_ns as f64),
                text::bytes(aged.directory_bytes),
                set.directory_bytes.map_or_else(|| "unknown size".into(), text::bytes),
            )
        });
        let (directories, aged) = (directories.unwrap_or_default(), aged.unwrap_or_default());
        let line = format!("{directories}files in {files}; {}{aged}", uses(set.used));
        (set.data, line)
    });
    // Sets that the arms created have no record of being built, but of the space that they took.
    let by_arms = summary.used.iter().map(|used| (used.data, uses(used.used)));
    let mut lines: Vec<(DataId, String)> = built.chain(by_arms).filter(|(id, _)| !usual(*id)).collect();
    lines.sort_by_key(|(id, _)| *id);
    let by_line = lines.into_iter().map(|(id, line)| ((kind(summary, id), line), id.0.to_string()));
    let line = |((kind, line), ids): ((String, String), Vec<String>)| {
        let each = if ids.len() > 1 { ", each" } else { "" };
        format!("Data {} ({kind}{each}): {line}.", text::list(&ids))
    };
    text::grouped(by_line).into_iter().map(line).collect()
}

fn uses(used: Used) -> String {
    format!(
        "{} and {} take {} inodes and {} for {} of content",
        text::counted(used.files, "file"),
        axes::directories(used.directories),
        text::count(used.inodes),
        text::bytes(used.bytes),
        text::bytes(used.content_bytes)
    )
}

/// Short name of the recipe, for a line that begins with the numbers of several sets.
fn kind(summary: &Summary, id: DataId) -> String {
    let Some(made) = summary.data_set(id).and_then(|data| data.source.made()) else { return "found".into() };
    let spread = match &made.spread {
        Spread::Flat => "flat".to_owned(),
        Spread::Layout { layout } => layout.clone(),
        Spread::PerDirectory { files } => format!("per-directory:{files}"),
        Spread::Shape { .. } => "as the tree that was looked at".to_owned(),
    };
    let before = match made.directories {
        MakeDirectories::Before => ", directories made before",
        MakeDirectories::OnDemand => "",
    };
    let aged = if made.aged_files > 0 { ", aged" } else { "" };
    format!("{spread}{before}{aged}")
}

/// Version of the JSON form. Fields may be added to it; a field that changes its meaning needs the next
/// number.
const VERSION: u32 = 1;

/// The JSON form of a report.
// The fields of the summary are at the top level of the JSON, next to the fields that a reader looks for first.
// Borrowed when written and owned when read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// Version of this form.
    pub version: u32,
    /// Name of the study.
    pub study: Cow<'a, str>,
    /// Question that the run answers, a sentence.
    pub question: Cow<'a, str>,
    /// Published source that the study reproduces.
    pub source: Cow<'a, str>,
    /// The most important first.
    pub findings: Cow<'a, [Finding]>,
    /// The most serious first.
    pub warnings: Cow<'a, [Advisory]>,
    #[serde(flatten)]
    pub summary: Cow<'a, Summary>,
}

pub fn json(report: &Report) -> String {
    let plan = &report.record.header.plan;
    pretty(&Document {
        version: VERSION,
        study: Cow::from(&plan.study),
        question: Cow::from(report.question()),
        source: Cow::from(&plan.source),
        findings: Cow::from(&report.findings),
        warnings: Cow::from(&report.warnings),
        summary: Cow::Borrowed(&report.summary),
    })
}

/// JSON with two spaces of indentation and a final newline.
pub fn pretty(data: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Rounded(PrettyFormatter::new()));
    let written = data.serialize(&mut serializer);
    debug_assert!(written.is_ok(), "a summary has string keys only and memory cannot refuse a write");
    bytes.push(b'\n');
    String::from_utf8(bytes).unwrap_or_default()
}

/// To nine significant digits.
/// No figure of a run is known to more digits, and shorter numbers keep the file readable.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// The formatter of the library with another form of numbers; all its other functions are passed on.
struct Rounded(PrettyFormatter<'static>);

macro_rules! pretty {
    ($($name:ident($($first:ident: bool)?);)*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $first: bool)?) -> io::Result<()> {
            self.0.$name(writer $(, $first)?)
        })*
    };
}

impl Formatter for Rounded {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        self.0.write_f64(writer, rounded(value))
    }

    pretty! {
        begin_array(); end_array(); begin_array_value(first: bool); end_array_value();
        begin_object(); end_object(); begin_object_key(first: bool); begin_object_value(); end_object_value();
    }
}
