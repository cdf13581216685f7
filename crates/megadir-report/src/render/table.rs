//! Terminal table: the question, the answer, then the numbers.
//!
//! `--verbose` prints this table. Parts that are too wide or too long for a terminal are left to Markdown, and
//! a line names that format.

use super::data::use_lines;
use super::grid::{Grid, Legends, lay_out};
use super::machine::{
    cache_lines, families_line, file_system_lines, machine_line, resolution_lines, run_line, self_check_line,
    stand_in_lines,
};
use super::markdown::READING;
use super::paint::{Tone, clean, fitting, paint};
use super::{Style, groups, operations, overview, published};
use crate::finding::{Finding, FindingKind};
use crate::render::grid::course;
use crate::report::Report;
use crate::summary::{GroupSummary, Overview, Summary};
use crate::text;
use crate::warning::{DisplayedWarning, displayed, incomplete_line};

const WIDTH_MIN: usize = 40;
const COURSE_WIDTH: usize = 24;
/// With a table of file systems, further groups are omitted.
const GROUPS_MAX: usize = 8;

/// The course of the noisiest baseline, as a line of block characters: a drift or a stall is visible at a
/// glance.
fn course_line(report: &Report, style: Style) -> Option<String> {
    let baseline = report.summary.widest_resolution()?.baseline;
    let times_ns = report.rounds().times(baseline);
    let least = times_ns.iter().copied().reduce(f64::min)?;
    let most = times_ns.iter().copied().reduce(f64::max)?;
    (times_ns.len() > 1).then(|| {
        format!(
            "Course of {} over {}: {} ({} to {}).",
            report.summary.arm_name(baseline),
            text::counted(times_ns.len() as u64, "round"),
            course(&times_ns, COURSE_WIDTH, style),
            text::time(least),
            text::time(most)
        )
    })
}

/// With an overview of many groups, the table of file systems is the result, and the tables of single groups
/// would push it off the terminal. They are left to the full report then, and only the findings on published
/// claims remain of them. Trust in the run comes after the numbers, and the machine last.
pub fn table(report: &Report, width: usize, style: Style) -> String {
    let summary = &report.summary;
    let mut page = Page::new(width, style);
    page.paragraph(&report.question(), "", Tone::Heading);
    page.gap();
    add_answer(&mut page, report);
    page.gap();
    page.paragraph(&run_line(report), "", Tone::Faint);
    page.paragraphs(cache_lines(summary).iter().map(|(_, line)| line), "", Tone::Faint);
    if let Some(overview) = &summary.overview {
        page.gap();
        file_systems(&mut page, summary, overview);
    }
    page.titled(published::SOURCE_TABLE_TITLE, published::grid_source_table(summary));
    // Among many tables a reader would miss the overall one.
    let brief = summary.overview.is_some() && summary.groups.len() > GROUPS_MAX;
    // Claims on file systems are judged by the table above, so their findings follow it even if groups are
    // omitted.
    let on_claims = |finding: &&Finding| finding.kind == FindingKind::FileSystems && finding.group.is_some();
    let mut on_claims = report.findings.iter().filter(on_claims).filter(|_| brief).peekable();
    if on_claims.peek().is_some() {
        page.gap();
    }
    page.paragraphs(on_claims.map(|finding| &finding.text), "", Tone::Plain);
    for group in summary.groups.iter().filter(|_| !brief) {
        page.gap();
        one_group(&mut page, report, group);
    }
    if brief {
        page.gap();
        let groups = text::count(summary.groups.len() as u64);
        let line = format!(
            "{groups} groups of comparisons, within each file system and between them, all resolutions and the times of single operations are in the full report (--format markdown)."
        );
        page.paragraph(&line, "", Tone::Plain);
    }
    page.titled(operations::TITLE, operations::grid(summary).filter(|_| !brief));
    page.titled(operations::HOSTS_TITLE, operations::grid_hosts(summary));
    page.gap();
    page.paragraphs(resolution_lines(summary), "", Tone::Plain);
    page.paragraphs(families_line(summary), "", Tone::Plain);
    page.paragraphs(course_line(report, style), "", Tone::Plain);
    page.paragraphs(use_lines(summary).iter().filter(|_| !brief), "", Tone::Plain);
    page.paragraphs(self_check_line(summary), "", Tone::Plain);
    page.paragraphs(published::sentence(summary, None), "", Tone::Plain);
    displayed(&report.warnings).iter().for_each(|displayed| warning(&mut page, displayed));
    page.paragraphs(file_system_lines(summary), "", Tone::Faint);
    page.paragraph(&machine_line(summary), "", Tone::Faint);
    page.paragraph(&READING.replace('`', ""), "", Tone::Faint);
    page.text
}

fn add_answer(page: &mut Page, report: &Report) {
    page.paragraphs(incomplete_line(&report.warnings), "! ", Tone::Alarm);
    page.paragraphs(stand_in_lines(&report.summary), "! ", Tone::Alarm);
    let loud = report.findings.iter().filter(|finding| finding.loud);
    page.paragraphs(loud.map(|finding| &finding.text), "! ", Tone::Alarm);
    if report.has_alarm() {
        let text = "Do not use these numbers before reading the warnings marked WARNING below.";
        page.paragraph(text, "! ", Tone::Alarm);
    }
    let first = report.first_findings();
    page.paragraphs(first.iter().map(|finding| &finding.text), "", Tone::Plain);
    if first.is_empty() {
        page.paragraph(&report.without_answer(), "", Tone::Plain);
    }
    // Findings about all groups, e.g. about file systems, which no group prints.
    let of_all = |finding: &&Finding| !finding.loud && finding.group.is_none() && !first.contains(finding);
    page.paragraphs(report.findings.iter().filter(of_all).map(|finding| &finding.text), "", Tone::Plain);
}

fn file_systems(page: &mut Page, summary: &Summary, overview: &Overview) {
    page.paragraph(&overview::title(summary), "", Tone::Heading);
    page.paragraphs(overview::legend(summary, overview), "  ", Tone::Faint);
    overview::tables(overview, page.width).iter().for_each(|grid| page.grid(grid));
    if let Some(bars) = overview::bars(overview, page.width, page.style) {
        page.gap();
        page.paragraph(overview::BARS, "", Tone::Plain);
        page.grid(&bars);
    }
}

fn one_group(page: &mut Page, report: &Report, group: &GroupSummary) {
    let summary = &report.summary;
    page.paragraph(&group.title, "", Tone::Heading);
    let first = report.first_findings();
    let others = report.of_group(group).filter(|finding| !first.contains(finding));
    page.paragraphs(others.map(|finding| &finding.text), "  ", Tone::Plain);
    match groups::grid(summary, group) {
        Some(grid) => page.grid(&grid),
        None => page.paragraph("cannot be read, see above", "  ", Tone::Alarm),
    }
    page.paragraphs(published::sentence(summary, Some(group)), "  ", Tone::Plain);
}

/// The parts of a merged warning are too many for a terminal.
fn warning(page: &mut Page, displayed: &DisplayedWarning) {
    let (mark, tone) = if displayed.loud { ("WARNING: ", Tone::Alarm) } else { ("Note: ", Tone::Plain) };
    let more = if displayed.each.is_empty() { "" } else { " Each: --format markdown." };
    page.paragraph(&format!("{mark}{}{more}", displayed.text), "", tone);
}

/// Text of a terminal while it is written: lines of at most `width` characters, the style of the terminal,
/// and the legends that were printed.
pub(crate) struct Page {
    pub(crate) text: String,
    pub(crate) width: usize,
    style: Style,
    legends: Legends,
}

impl Page {
    pub(crate) fn new(width: usize, style: Style) -> Self {
        Self { text: String::new(), width: width.max(WIDTH_MIN), style, legends: Legends::default() }
    }

    pub(crate) fn paragraphs(
        &mut self,
        texts: impl IntoIterator<Item = impl AsRef<str>>,
        mark: &str,
        tone: Tone,
    ) {
        self.each_within(texts, mark, tone, usize::MAX);
    }

    /// Each in at most `lines` lines.
    pub(crate) fn each_within(
        &mut self,
        texts: impl IntoIterator<Item = impl AsRef<str>>,
        mark: &str,
        tone: Tone,
        lines: usize,
    ) {
        for text in texts {
            self.sentences(text.as_ref(), mark, tone, lines);
        }
    }

    /// Only the first line starts with `mark`.
    pub(crate) fn paragraph(&mut self, text: &str, mark: &str, tone: Tone) {
        self.sentences(text, mark, tone, usize::MAX);
    }

    /// Returns the number of lines. The indent of the further lines is as wide as the mark.
    pub(crate) fn sentences(&mut self, text: &str, mark: &str, tone: Tone, lines: usize) -> usize {
        let text = clean(text, self.style);
        let indent = " ".repeat(mark.len());
        let lines = fitting(&text, self.width - mark.len(), lines);
        for (place, line) in lines.iter().enumerate() {
            let start = if place == 0 { mark } else { &indent };
            let line = format!("{start}{}", paint(line, tone, self.style));
            self.line(&line);
        }
        lines.len()
    }

    pub(crate) fn titled(&mut self, title: &str, grid: Option<Grid>) {
        if let Some(grid) = grid {
            self.gap();
            self.paragraph(title, "", Tone::Heading);
            self.grid(&grid);
        }
    }

    pub(crate) fn grid(&mut self, grid: &Grid) {
        for line in lay_out(grid, self.width, self.style) {
            self.line(&line);
        }
        let legend = self.legends.unprinted(&grid.legend);
        self.paragraphs(legend, "  ", Tone::Faint);
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(crate) fn gap(&mut self) {
        self.text.push('\n');
    }

    /// Parts of a screen are written apart, to count their lines, and then joined.
    pub(crate) fn append(&mut self, other: &Self) {
        self.text.push_str(&other.text);
    }

    pub(crate) fn lines(&self) -> usize {
        self.text.lines().count()
    }
}
