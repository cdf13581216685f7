//! Pictures, and their list `CHARTS`. To add a chart: a file with a function, and a row there.
//! The SVG writer (`drawing`) is our own. `plotters` colours every element (so no dark mode), has no hatching
//! and no descriptions for screen readers, and measures text by the machine's fonts, so bytes differ between
//! machines. `charming` needs a JavaScript engine.
//! A chart is a pure function of a report. Axes are never cut off, and bars start at zero.
//!
//! ```text
//! CHARTS: name, question, function -> pictures(report, width): of a group, one, or several
//! rows.rs   label | marks on one axis | value      forest, shares, overview, dumbbell, refusal, main-effects
//! lines.rs  curves over a number                   growth, fill, break-even, scaling, nines
//! own       heatmap, stalls, run-order             style.rs: colours and type; picture.rs: the result
//! ```
//!
//! A function returns no picture where the report has no data for it. It never draws an empty one.

mod axis;
mod drawing;
mod dumbbell;
mod forest;
mod growth;
mod heatmap;
mod lines;
mod main_effects;
mod overview;
mod picture;
mod rows;
mod run_order;
mod scaling;
mod shares;
mod stalls;
mod style;

pub use drawing::PlacedText;
pub(crate) use drawing::{escape, push_escaped};
pub use picture::{Picture, Width};
pub(crate) use style::{PAGE_COLOURS, page_css};

use axis::{Axis, Unit, bounds};
use drawing::{Anchor, Drawing, Shape, spread, text_width, wrap};
use style::{FONT_PX, LINE_PX, SERIES};

use crate::finding::FindingKind;
use crate::report::Report;
use crate::summary::GroupSummary;
use Draw::{Group, One, Several};

#[derive(Clone, Copy, Debug)]
pub struct Chart {
    pub name: &'static str,
    pub question: &'static str,
    draw: Draw,
}

// Three signatures: a chart of one group, one of the whole report, and one that decides by its data how
// many pictures it needs.
#[derive(Clone, Copy, Debug)]
enum Draw {
    Group(fn(&Report, &GroupSummary, Width) -> Option<Picture>),
    One(fn(&Report, Width) -> Option<Picture>),
    Several(fn(&Report, Width) -> Vec<Picture>),
}

/// The first chart that draws a group is its main picture.
/// So causes and limits come before comparisons, as in the findings.
pub const CHARTS: &[Chart] = &[
    chart(
        "shares",
        "How much of the difference between two programs does each factor explain?",
        Several(shares::shares),
    ),
    chart(
        "refusal",
        "After how many entries is one refused, and was that predicted?",
        Group(growth::refused),
    ),
    chart(
        "break-even",
        "From what share of the entries is listing faster than querying each?",
        Group(growth::break_even_curves),
    ),
    chart("fill", "How much does creating a file cost as a directory fills?", Group(growth::filling)),
    chart(
        "overall",
        "Which file system takes the least time over all kinds of work?",
        One(overview::overall),
    ),
    chart("overview", "How fast is each file system at each kind of work?", Several(overview::overview)),
    chart("heatmap", "Flat or sharded?", One(heatmap::heatmap)),
    chart("dumbbell", "How much does a cold cache cost?", Group(dumbbell::dumbbell)),
    chart("scaling", "How much do more threads or processes help?", Several(scaling::scaling)),
    chart("durability", "How much does writing files to the disk cost?", Group(dumbbell::durability)),
    chart("forest", "Which way is faster, and is the difference more than noise?", Group(forest::forest)),
    chart("growth", "How does the time grow with entries?", Group(growth::growth_lines)),
    chart("main-effects", "Which factor matters most?", One(main_effects::main_effects)),
    chart("nines", "How long do the slowest operations take?", Several(stalls::nines)),
    chart("stalls", "When did operations stall?", One(stalls::stalls)),
    chart("run-order", "Can the run be trusted?", One(run_order::run_order)),
];

const fn chart(name: &'static str, question: &'static str, draw: Draw) -> Chart {
    Chart { name, question, draw }
}

pub fn chart_named(name: &str) -> Option<&'static Chart> {
    CHARTS.iter().find(|chart| chart.name == name)
}

/// Picture `number` of a chart, from 1, as a document, and their number. The error is the end of a sentence.
/// Numbers count from 1, because users write them (`NAME:N`).
pub fn document(report: &Report, chart: &Chart, number: usize) -> Result<(String, usize), String> {
    let pictures = chart.pictures(report, Width::Wide);
    let all = pictures.len();
    match (number.checked_sub(1).and_then(|place| pictures.get(place)), all) {
        (Some(picture), _) => Ok((picture.document(), all)),
        (None, 0) => Err(format!("has nothing that the chart '{}' shows", chart.name)),
        (None, _) => {
            Err(format!("has {all} pictures of the chart '{}', and no picture {number}", chart.name))
        }
    }
}

pub fn pictures(report: &Report, width: Width) -> Vec<Picture> {
    CHARTS.iter().flat_map(|chart| chart.pictures(report, width)).collect()
}

impl Chart {
    /// Pictures are shown without the report too, so they carry their own caveats.
    pub fn pictures(&self, report: &Report, width: Width) -> Vec<Picture> {
        let mut pictures: Vec<Picture> = match self.draw {
            Group(draw) => {
                report.summary.groups.iter().filter_map(|group| draw(report, group, width)).collect()
            }
            One(draw) => draw(report, width).into_iter().collect(),
            Several(draw) => draw(report, width),
        };
        // A picture may be copied out of its page, and must not lose what forbids its figures.
        let machine = &report.summary.machine;
        let caveats = [
            machine.wine.is_some().then_some(" (under Wine: says nothing of Windows)"),
            machine.emulator.is_some().then_some(" (on an emulated processor)"),
        ];
        for picture in &mut pictures {
            caveats.iter().flatten().for_each(|caveat| picture.title.push_str(caveat));
        }
        pictures
    }
}

pub fn main_picture(report: &Report, width: Width) -> Option<Picture> {
    // The picture should show what the first finding states: the group of that finding, or no group, if it
    // is about all file systems.
    let mut pictures = pictures(report, width);
    let mut findings = report.findings.iter().filter(|finding| !finding.loud);
    let of_all = findings.clone().next().is_some_and(|main| main.kind == FindingKind::FileSystems);
    // The finding over all file systems has no group; one without a picture gives way to the next.
    let group = findings.find_map(|finding| finding.group.as_ref()).filter(|_| !of_all);
    let of_group = |group: &String| pictures.iter().position(|picture| picture.group.as_ref() == Some(group));
    let of_none = || pictures.iter().position(|picture| picture.group.is_none());
    let place = group.map_or_else(of_none, of_group).unwrap_or(0);
    // Taken out and not cloned: a drawing may have many elements.
    (place < pictures.len()).then(|| pictures.swap_remove(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_have_unique_names_and_questions() {
        for (place, chart) in CHARTS.iter().enumerate() {
            assert!(CHARTS[..place].iter().all(|other| other.name != chart.name), "{}", chart.name);
            assert!(chart.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", chart.name);
            assert!(chart.question.ends_with('?'), "{}", chart.name);
            assert_eq!(chart_named(chart.name).map(|chart| chart.name), Some(chart.name));
        }
        assert!(chart_named("pie").is_none());
    }
}
