//! Sections of the page.
//!
//! Sections take their pictures out of the page; whatever no section took is shown with the checks of trust
//! at the end, so that no chart is lost. Sentences, tables and lines are the ones of the terminal and of
//! Markdown.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::chart::{Picture, Width, main_picture};
use crate::finding::FindingKind;
use crate::page::{Page, escape};
use crate::render::grid::{Align, Grid};
use crate::render::machine::{
    cache_lines, families_line, file_system_lines, machine_details, machine_line, resolution_details,
    resolution_lines, run_line, self_check_line, stand_in_lines,
};
use crate::render::paint::Tone;
use crate::render::{COLUMNS, groups, operations, overview, published, use_lines, write_csv};
use crate::report::Report;
use crate::summary::GroupSummary;
use crate::text;
use crate::warning::{DisplayedWarning, displayed, incomplete_line};

pub(crate) const LOUD: &str = "p class=\"loud\"";
pub(crate) const FAINT: &str = "p class=\"faint\"";

/// No address: the page is in every copy of the source.
const READING: &str = "Bars of times: shorter is faster. The thin line at the end of a bar, and the line through a point, is the interval in which the \
     true value lies with 95 % confidence. How to read the rest: `docs/how-to-read-a-report.md` of megadir.";

/// Element of an answer; one that is not to be relied on is not emphasised.
pub(crate) fn answer(is_doubtful: bool) -> &'static str {
    if is_doubtful { "p class=\"answer doubtful\"" } else { "p class=\"answer\"" }
}

/// First screen, or a section below a caller's conclusion.
///
/// Everything that could forbid the use of the numbers stands above the answer, because many readers stop
/// there. The main picture is shown here and removed from its section.
pub(super) fn section_answer(page: &mut Page, report: &Report, is_below: bool) {
    page.push("<header>\n");
    page.element(if is_below { "h2" } else { "h1" }, &report.question());
    page.elements(LOUD, incomplete_line(&report.warnings));
    page.elements(LOUD, stand_in_lines(&report.summary));
    let loud = report.findings.iter().filter(|finding| finding.loud);
    page.elements(LOUD, loud.map(|finding| &finding.text));
    page.elements(
        LOUD,
        displayed(&report.warnings)
            .iter()
            .filter(|displayed| displayed.loud)
            .map(|displayed| &displayed.text),
    );
    // The answer is the same as on a screen.
    let answers = report.first_findings();
    // A comparison that a finding or a warning above calls unusable is not emphasised.
    let doubtful = report.has_alarm()
        || report.findings.iter().any(|finding| finding.loud && finding.kind == FindingKind::FileSystems);
    page.elements(answer(doubtful), answers.iter().map(|finding| &finding.text));
    if answers.is_empty() {
        page.element("p class=\"answer\"", &report.without_answer());
    }
    page.push("</header>\n");
    // The main picture is drawn again to learn which one it is, since pictures of the page are pairs.
    if let Some(main) = main_picture(report, Width::Wide) {
        page.picture(|picture| {
            picture.title == main.title && picture.chart == main.chart && picture.group == main.group
        });
    }
    page.element(FAINT, &run_line(report));
    page.elements(FAINT, cache_lines(&report.summary).iter().map(|(_, line)| line));
    page.element(FAINT, READING);
    if report.has_alarm() || report.findings.iter().any(|finding| finding.loud) {
        page.paragraph("Do not act on these numbers before the warnings above are dealt with.");
    }
}

/// With more groups, each has its main chart only.
/// The others are a command away.
const GROUPS_MAX: usize = 12;
const NINES_MAX: usize = 3;

/// A section for each group, in the plan's order: findings, pictures, table, published figures. Findings of
/// the first screen are not repeated. With many groups each gets one picture, so that the page stays of a
/// size that a telephone can load.
pub(super) fn sections(page: &mut Page, report: &Report) {
    let summary = &report.summary;
    let first = report.first_findings();
    let many = summary.groups.len() > GROUPS_MAX;
    for group in &summary.groups {
        page.element("h2", &group.title);
        let findings = report.of_group(group).filter(|finding| !first.contains(finding));
        page.list(findings.map(|finding| finding.text.clone()));
        let of_group = |picture: &Picture| picture.group.as_ref() == Some(&group.name);
        if many {
            page.picture(of_group);
            page.leave_out(of_group);
        } else {
            while page.picture(of_group) {}
        }
        match groups::grid(summary, group) {
            Some(_) if page.is_full() => {
                page.paragraph("Its table is omitted to keep the page small; `--format markdown` has it.");
            }
            Some(grid) => push_grid(page, &grid, false),
            None => page.paragraph("This group cannot be read; the findings at the top say why."),
        }
        figures(page, report, Some(group));
    }
    figures(page, report, None);
    while page.picture(|picture| picture.chart == "main-effects" || picture.chart == "scaling") {}
    if let Some(grid) = operations::grid(summary) {
        page.element("h2", operations::TITLE);
        // A few pictures of quantiles are enough; the table has all arms.
        for _ in 0..NINES_MAX {
            page.picture(|picture| picture.chart == "nines");
        }
        page.leave_out(|picture| picture.chart == "nines");
        while page.picture(|picture| picture.chart == "stalls") {}
        every(page, "All quantiles", &grid);
    }
    if let Some(grid) = operations::grid_hosts(summary) {
        page.element("h2", operations::HOSTS_TITLE);
        push_grid(page, &grid, false);
    }
}

fn figures(page: &mut Page, report: &Report, group: Option<&GroupSummary>) {
    let Some(grid) = published::grid(&report.summary, group) else { return };
    page.element("h3", published::TITLE);
    // Without a figure of our own next to a published one, the group's first finding stands for it.
    let matched = grid.rows.iter().any(|row| row.get(2).is_some_and(|here| !here.text.is_empty()));
    push_grid(page, &grid, false);
    let of_group = |finding: &&crate::Finding| finding.group.as_ref() == group.map(|group| &group.name);
    let ours = report.findings.iter().filter(|finding| !finding.loud).find(of_group);
    if let Some(ours) = ours.filter(|_| !matched) {
        page.paragraph(&format!("Here: {}", ours.text));
    }
}

pub(super) fn section_method(page: &mut Page, report: &Report) {
    let summary = &report.summary;
    page.element("h2", "How to repeat it");
    page.push(&format!("<pre><code>{}</code></pre>\n", crate::chart::escape(&command(&summary.command))));
    page.element("h2", "How it was measured");
    let source = [format!("Source: {}.", report.record.header.plan.source.trim_end_matches('.'))];
    let kept = summary.reproduces.iter().map(|line| format!("Reproduced: {line}"));
    let mended = summary.fixes.iter().map(|line| format!("Fixed: {line}"));
    let rules = [
        format!(
            "Every arm once in each round, in random order; ratios and differences are taken within rounds. Intervals {}, equivalence band {}.",
            text::chosen(summary.rules.confidence),
            text::chosen(summary.rules.equivalence_band)
        ),
        format!("Seed {}; megadir {}.", summary.seed, summary.machine.version),
    ];
    page.list(source.into_iter().chain(kept).chain(mended).chain(rules));
    page.element("h2", "The machine");
    let mitigations = &summary.machine.mitigations;
    let mitigations = (!mitigations.is_empty()).then(|| format!("Mitigations: {}.", mitigations.join("; ")));
    let made = file_system_lines(summary).into_iter();
    page.list(made.chain([machine_line(summary)]).chain(machine_details(summary)).chain(mitigations));
    page.element("h2", "All arms");
    every(page, "Every arm by itself", &groups::arms(summary));
}

/// For a POSIX shell: words with any other character are quoted.
fn command(words: &[String]) -> String {
    let plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./:=,+@%".contains(c))
    };
    let quoted = |word: &String| match plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// More samples are left to `--format csv`, to keep the page small.
const SAMPLES_MAX: usize = 50_000;

pub(super) fn section_samples(page: &mut Page, report: &Report) {
    let samples = report.record.samples.len();
    page.element("h2", "The raw samples");
    let number = text::counted(samples as u64, "sample");
    match (samples <= SAMPLES_MAX).then(|| compressed(report)).flatten() {
        Some(data) => {
            let name: String = report.record.header.plan.study.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            page.push(&format!(
                "<p><a download=\"{name}-samples.csv.gz\" href=\"data:application/gzip;base64,{data}\">All {number} as CSV</a>, warm-up and voided ones \
                 included, compressed by gzip; {} columns, one row a block.</p>\n",
                COLUMNS.len()
            ));
        }
        None => page.paragraph(&format!(
            "{number} are too many for a page; `megadir bench report RECORD --format csv` writes them from the record."
        )),
    }
}

/// Base64 of a gzip member: a link that works without a network and without scripts.
fn compressed(report: &Report) -> Option<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    write_csv(report, &mut encoder).ok()?;
    Some(STANDARD.encode(encoder.finish().ok()?))
}

pub(super) fn section_side_by_side(page: &mut Page, report: &Report) {
    let summary = &report.summary;
    let Some(table) = &summary.overview else { return };
    page.element("h2", &overview::title(summary));
    // Pictures first: they show the order of magnitude, and the table has the figures.
    while page.picture(|picture| picture.chart == "overview") {}
    if let Some(grid) = overview::each_against_each(table) {
        page.element("h3", "Each against each, over all kinds of work");
        push_grid(page, &grid, false);
    }
    page.element("h3", "The figures");
    page.elements(FAINT, overview::legend(summary, table));
    for grid in overview::tables(table, usize::MAX) {
        push_grid(page, &grid, false);
    }
}

const ARMS_MAX: usize = 250;

/// Folded up, because few readers need every arm; left out if the page is full.
pub(super) fn every(page: &mut Page, title: &str, grid: &Grid) {
    if grid.rows.len() > ARMS_MAX || page.is_full() {
        let arms = grid.rows.len();
        return page.paragraph(&format!(
            "{title}: {arms} are too many for a page; `megadir bench report RECORD --format markdown` has them."
        ));
    }
    page.push(&format!("<details>\n<summary>{title}</summary>\n"));
    push_grid(page, grid, true);
    page.push("</details>\n");
}

/// `cards`: rows are cards on wide screens too.
///
/// Columns without any text are not written. A row of one field is a heading over all columns. The class of
/// the table names its columns for narrow screens, where the style sheet turns each row into a card with a
/// label before each field.
pub(crate) fn push_grid(page: &mut Page, grid: &Grid, cards: bool) {
    let has_text = |place: usize| {
        place == 0 || grid.rows.iter().any(|row| row.get(place).is_some_and(|field| !field.text.is_empty()))
    };
    let shown: Vec<usize> = (0..grid.columns.len()).filter(|place| has_text(*place)).collect();
    let labels = page.labels(shown.iter().map(|&place| &*grid.columns[place].heading));
    let cards_too = if cards { " cards" } else { "" };
    page.push(&format!("<table class=\"{labels}{cards_too}\">\n<thead><tr>"));
    for &place in &shown {
        let column = &grid.columns[place];
        let class = if column.align == Align::Right && !cards { " class=\"r\"" } else { "" };
        page.push(&format!("<th scope=\"col\"{class}>{}</th>", escape(&column.heading)));
    }
    page.push("</tr></thead>\n<tbody>\n");
    for row in &grid.rows {
        // In a table of cards a single field is an ordinary row.
        if let ([heading], false) = (&row[..], cards) {
            let (class, text, width) = (class(heading.tone), escape(&heading.text), shown.len());
            page.push(&format!("<tr><td class=\"{class}\" colspan=\"{width}\">{text}</td></tr>\n"));
            continue;
        }
        page.push("<tr>");
        for &place in &shown {
            let Some(field) = row.get(place).filter(|field| !field.text.is_empty()) else {
                page.push("<td></td>");
                continue;
            };
            let side = if grid.columns[place].align == Align::Right && !cards { "r" } else { "" };
            let classes = [side, class(field.tone)].join(" ");
            let classes = classes.trim();
            let class = if classes.is_empty() { String::new() } else { format!(" class=\"{classes}\"") };
            page.push(&format!("<td{class}>{}</td>", escape(&field.text)));
        }
        page.push("</tr>\n");
    }
    page.push("</tbody>\n</table>\n");
    let legend = page.legends.unprinted(&grid.legend);
    page.elements(FAINT, legend);
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Heading => "head",
        Tone::Faint => "dim",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Alarm => "alarm",
    }
}

pub(super) fn section_trust(page: &mut Page, report: &Report) {
    let summary = &report.summary;
    page.element("h2", "How far to trust it");
    let checks = families_line(summary).into_iter().chain(self_check_line(summary));
    page.list(resolution_lines(summary).into_iter().chain(checks));
    page.details(resolution_details(summary));
    if report.warnings.is_empty() {
        page.paragraph("No warnings.");
    }
    let displayed = displayed(&report.warnings);
    // Alarms are repeated here with each arm, since the top of the page has them merged.
    for loud in displayed.iter().filter(|displayed| displayed.loud) {
        page.element(LOUD, &loud.text);
        page.details(loud.each.iter().cloned());
    }
    let quiet: Vec<&DisplayedWarning> = displayed.iter().filter(|displayed| !displayed.loud).collect();
    if !quiet.is_empty() {
        page.push("<ul>\n");
        for warning in quiet {
            page.push("<li>");
            page.element("p", &warning.text);
            page.details(warning.each.iter().cloned());
            page.push("</li>\n");
        }
        page.push("</ul>\n");
    }
    // All pictures that are left, e.g. the course of the run.
    while page.picture(|_| true) {}
    page.list_left_out();
    page.list(use_lines(summary));
}
